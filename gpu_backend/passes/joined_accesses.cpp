// Two walks: with the stores that nothing has looked at yet, all to constant distances from one
// place, and with the loads that no other op may have written to since, by their places.
#include "gpu_backend/passes/joined_accesses.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/axis_info.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <numeric>

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int64_t kMostBytes = 16;
constexpr size_t kMostOpen = 256; ///< stores that are looked at together

/// Where a store writes: at a pointer and an offset that it shares with others, and so many
/// elements behind.
struct Place {
  Value pointer, offset; ///< `offset` is null for none
  bool isUnsigned = false;
  int64_t distance = 0;

  bool isBeside(const Place &other) const {
    return pointer == other.pointer && offset == other.offset && isUnsigned == other.isUnsigned;
  }
};

/// An access that may be joined to others.
struct Open {
  Operation *op;
  int64_t distance;
};

Type dataType(Operation *access) {
  if (auto store = dyn_cast<tl::StoreOp>(access))
    return store.getValue().getType();
  return access->getResult(0).getType();
}

/// Whether an access takes its elements one by one, and is not joined yet.
bool isByElement(Operation *access) {
  const auto vector = access->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
  return (!vector || vector[1] == 1) && getElementTypeOrSelf(dataType(access)).isIntOrFloat() &&
         !access->hasAttr(kJoinedAttribute);
}

/// What divides every element of a value.
int64_t divisorOf(const AxisInfo &info) {
  int64_t divisor = 1;
  for (const AxisInfo::Dim &dim : info.dims)
    if (dim.contiguity == 1)
      divisor = std::max(divisor, dim.divisibility);
  return divisor;
}

/// Accesses at constant distances from one place.
class Row {
public:
  Row(const AxisAnalysis &axes, Place place, Operation *first) : axes_(axes), place_(place) {
    accesses_.push_back({first, place.distance});
  }

  static Place placeOf(const AxisAnalysis &axes, Value pointer) {
    Place place{pointer, nullptr};
    while (auto add = place.pointer.getDefiningOp<tl::AddPtrOp>()) {
      const std::optional<int64_t> constant = axes.at(add.getOffset()).constant;
      if (!constant || (*constant < 0 && add.getIsUnsigned()))
        break;
      place.distance += *constant;
      place.pointer = add.getPointer();
    }
    auto last = place.pointer.getDefiningOp<tl::AddPtrOp>();
    if (!last)
      return place;
    place.pointer = last.getPointer();
    place.offset = last.getOffset();
    place.isUnsigned = last.getIsUnsigned();
    // A small number that is added to a multiple of a larger power of two does not wrap around.
    if (auto sum = place.offset.getDefiningOp<arith::AddIOp>())
      if (const std::optional<int64_t> constant = axes.at(sum.getRhs()).constant;
          constant && *constant >= 0 && *constant < divisorOf(axes.at(sum.getLhs()))) {
        place.distance += *constant;
        place.offset = sum.getLhs();
      }
    return place;
  }

  llvm::ArrayRef<Open> accesses() const { return accesses_; }
  Operation *first() const { return accesses_.front().op; }
  bool isAt(const Place &place) const { return place_.isBeside(place); }
  bool has(int64_t distance) const {
    return llvm::any_of(accesses_, [&](const Open &open) { return open.distance == distance; });
  }
  void add(Operation *op, int64_t distance) { accesses_.push_back({op, distance}); }

  int64_t elementBytes() const {
    return tlg::elementBytes(getElementTypeOrSelf(dataType(first())));
  }

  /// The most elements that may be joined.
  int64_t mostWidth() const {
    return std::min(kMostBytes / elementBytes(), alignment() / elementBytes());
  }
  bool mayBe(int64_t width) const { return width > 1 && width * elementBytes() >= 4; }

  /// What the distance of two elements of the accesses can be divided by, in elements.
  int64_t spacing() const {
    auto splat = place_.pointer.getDefiningOp<tl::SplatOp>();
    return splat && place_.offset ? divisorOf(axes_.at(place_.offset))
                                  : alignment() / elementBytes();
  }

  /// Accesses of `width` neighbours each, by the number of the first one in units of `width`.
  std::map<int64_t, llvm::SmallVector<size_t>> groupsOf(int64_t width,
                                                        llvm::ArrayRef<bool> taken) const {
    std::map<int64_t, llvm::SmallVector<size_t>> groups;
    for (size_t i = 0; i < accesses_.size(); ++i)
      if (!taken[i])
        groups[llvm::divideFloorSigned(accesses_[i].distance, width)].push_back(i);
    std::erase_if(groups, [&](const auto &group) {
      return static_cast<int64_t>(group.second.size()) != width;
    });
    for (auto &[number, members] : groups)
      llvm::sort(members,
                 [&](size_t a, size_t b) { return accesses_[a].distance < accesses_[b].distance; });
    return groups;
  }

  /// Puts accesses before `next`, as one.
  void makeOne(llvm::ArrayRef<size_t> members, Operation *next) const {
    Builder builder(next->getContext());
    for (const auto [i, member] : llvm::enumerate(members)) {
      Operation *op = accesses_[member].op;
      op->moveBefore(next);
      op->setAttr(kJoinedAttribute,
                  builder.getI32IntegerAttr(i == 0 ? static_cast<int>(members.size()) : 0));
    }
  }

private:
  /// The bytes that every address of what they have in common can be divided by.
  int64_t alignment() const {
    const int64_t ofPointer = divisorOf(axes_.at(place_.pointer));
    return place_.offset ? std::gcd(ofPointer, divisorOf(axes_.at(place_.offset)) * elementBytes())
                         : ofPointer;
  }

  const AxisAnalysis &axes_;
  Place place_;
  llvm::SmallVector<Open> accesses_;
};

/// Calls `add` for each access of a kind, and `join` before what it must not be moved over: other
/// ops that touch memory, and the begin and end of branches and loops, which may not run.
template <typename Access>
void visitAccesses(Block &block, llvm::function_ref<void(Access)> add,
                   llvm::function_ref<void()> join) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    for (Region &region : op.getRegions())
      for (Block &inner : region) {
        join();
        visitAccesses(inner, add, join);
      }
    if (auto access = dyn_cast<Access>(&op))
      add(access);
    else if (op.getNumRegions() != 0 || !isMemoryEffectFree(&op))
      join();
  }
  join();
}

class StoreJoiner {
public:
  explicit StoreJoiner(const AxisAnalysis &axes) : axes_(axes) {}

  void visit(Block &block) {
    visitAccesses<tl::StoreOp>(block, [&](tl::StoreOp store) { add(store); }, [&] { join(); });
  }

  bool hasJoined() const { return hasJoined_; }

private:
  /// Whether one store is as the other, but for what it stores where.
  static bool areAlike(tl::StoreOp a, tl::StoreOp b) {
    return a.getMask() == b.getMask() && a.getCacheModifier() == b.getCacheModifier() &&
           a.getEvictionPolicy() == b.getEvictionPolicy() &&
           a.getPointer().getType() == b.getPointer().getType() &&
           a.getValue().getType() == b.getValue().getType();
  }

  void add(tl::StoreOp store) {
    if (!isByElement(store)) {
      join();
      return;
    }
    const Place place = Row::placeOf(axes_, store.getPointer());
    if (row_ && (row_->accesses().size() == kMostOpen || !row_->isAt(place) ||
                 !areAlike(store, cast<tl::StoreOp>(row_->first())) || row_->has(place.distance)))
      join();
    if (row_)
      row_->add(store, place.distance);
    else
      row_.emplace(axes_, place, store);
  }

  /// A store that would be put off behind one that it comes before now, and that may write the
  /// same, where each is done at `when`. The elements of one store may be at any multiple of
  /// `apart` elements from those of another.
  static std::optional<size_t> overtaken(llvm::ArrayRef<Open> stores, llvm::ArrayRef<size_t> when,
                                         int64_t apart) {
    for (size_t i = 0; i < stores.size(); ++i)
      for (size_t j = i + 1; j < stores.size(); ++j)
        if ((stores[i].distance - stores[j].distance) % apart == 0 && when[i] > when[j])
          return i;
    return std::nullopt;
  }

  void join() {
    if (row_ && row_->accesses().size() > 1)
      joinRow(*row_);
    row_.reset();
  }

  void joinRow(const Row &row) {
    const llvm::ArrayRef<Open> stores = row.accesses();
    const int64_t apart = row.spacing();
    llvm::SmallVector<bool> taken(stores.size(), false);
    auto when = llvm::to_vector(llvm::seq<size_t>(0, stores.size()));
    for (int64_t width = row.mostWidth(); row.mayBe(width); width /= 2) {
      auto groups = row.groupsOf(width, taken);
      for (const auto &[number, members] : groups)
        for (const size_t member : members)
          when[member] = *llvm::max_element(members);
      while (const std::optional<size_t> store = overtaken(stores, when, apart)) {
        const auto group = groups.find(llvm::divideFloorSigned(stores[*store].distance, width));
        for (const size_t member : group->second)
          when[member] = member;
        groups.erase(group);
      }
      for (const auto &[number, members] : groups) {
        row.makeOne(members, stores[*llvm::max_element(members)].op->getNextNode());
        hasJoined_ = true;
        for (const size_t member : members)
          taken[member] = true;
      }
    }
  }

  const AxisAnalysis &axes_;
  std::optional<Row> row_; ///< of stores that follow each other
  bool hasJoined_ = false;
};

/// Loads move up to the first of them.
class LoadJoiner {
public:
  explicit LoadJoiner(const AxisAnalysis &axes) : axes_(axes) {}

  void visit(Block &block) {
    visitAccesses<tl::LoadOp>(block, [&](tl::LoadOp load) { add(load); }, [&] { join(); });
  }

  bool hasJoined() const { return hasJoined_; }

private:
  static bool areAlike(tl::LoadOp a, tl::LoadOp b) {
    return a.getMask() == b.getMask() && a.getOther() == b.getOther() &&
           a.getCacheModifier() == b.getCacheModifier() &&
           a.getEvictionPolicy() == b.getEvictionPolicy() &&
           a.getPointer().getType() == b.getPointer().getType() && a.getType() == b.getType() &&
           a->getAttrDictionary() == b->getAttrDictionary();
  }

  void add(tl::LoadOp load) {
    if (load.getIsVolatile()) {
      join();
      return;
    }
    if (!isByElement(load) || !isa<RankedTensorType>(load.getType()))
      return;
    const Place place = Row::placeOf(axes_, load.getPointer());
    const auto found = llvm::find_if(rows_, [&](const Row &row) {
      return row.isAt(place) && areAlike(load, cast<tl::LoadOp>(row.first()));
    });
    if (found == rows_.end()) {
      if (rows_.size() == kMostOpen)
        join();
      rows_.emplace_back(axes_, place, load);
    } else if (!found->has(place.distance)) {
      found->add(load, place.distance);
    }
  }

  void join() {
    for (const Row &row : rows_)
      joinRow(row);
    rows_.clear();
  }

  void joinRow(const Row &row) {
    const llvm::ArrayRef<Open> loads = row.accesses();
    llvm::SmallVector<bool> taken(loads.size(), false);
    for (int64_t width = row.mostWidth(); row.mayBe(width); width /= 2)
      for (const auto &[number, members] : row.groupsOf(width, taken)) {
        Operation *first = loads[*llvm::min_element(members)].op;
        Value pointer = loads[members.front()].op->getOperand(0);
        makeBefore(pointer, first);
        llvm::SmallPtrSet<Operation *, 16> ops;
        for (const size_t member : members) {
          loads[member].op->setOperand(0, pointer);
          ops.insert(loads[member].op);
          taken[member] = true;
        }
        while (ops.contains(first))
          first = first->getNextNode();
        row.makeOne(members, first);
        hasJoined_ = true;
      }
  }

  /// Moves what makes an address up: sums with constants, as the place is that of other loads.
  static void makeBefore(Value value, Operation *op) {
    Operation *made = value.getDefiningOp();
    if (!made || made->getBlock() != op->getBlock() || made->isBeforeInBlock(op))
      return;
    for (Value operand : made->getOperands())
      makeBefore(operand, op);
    made->moveBefore(op);
  }

  const AxisAnalysis &axes_;
  llvm::SmallVector<Row> rows_;
  bool hasJoined_ = false;
};

} // namespace

void joinAccesses(func::FuncOp function) {
  const AxisAnalysis axes(function);
  LoadJoiner loads(axes);
  loads.visit(function.getBody().front());
  StoreJoiner stores(axes);
  stores.visit(function.getBody().front());
  if (loads.hasJoined() || stores.hasJoined())
    axes.requireOfArguments();
}

} // namespace blockscope::gpu
