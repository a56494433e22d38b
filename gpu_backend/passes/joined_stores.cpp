// A walk with the stores that nothing has looked at yet, all to constant distances from one place.
#include "gpu_backend/passes/joined_stores.h"

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

struct OpenStore {
  tl::StoreOp store;
  int64_t distance;
};

/// What divides every element of a value.
int64_t divisorOf(const AxisInfo &info) {
  int64_t divisor = 1;
  for (const AxisInfo::Dim &dim : info.dims)
    if (dim.contiguity == 1)
      divisor = std::max(divisor, dim.divisibility);
  return divisor;
}

class StoreJoiner {
public:
  explicit StoreJoiner(func::FuncOp function) : axes_(function) {}

  void visit(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visit(inner);
      if (auto store = dyn_cast<tl::StoreOp>(&op))
        add(store);
      else if (op.getNumRegions() != 0 || !isMemoryEffectFree(&op))
        join();
    }
    join();
  }

  bool hasJoined() const { return hasJoined_; }
  const AxisAnalysis &axes() const { return axes_; }

private:
  Place placeOf(Value pointer) const {
    Place place{pointer, nullptr};
    while (auto add = place.pointer.getDefiningOp<tl::AddPtrOp>()) {
      const std::optional<int64_t> constant = axes_.at(add.getOffset()).constant;
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
      if (const std::optional<int64_t> constant = axes_.at(sum.getRhs()).constant;
          constant && *constant >= 0 && *constant < divisorOf(axes_.at(sum.getLhs()))) {
        place.distance += *constant;
        place.offset = sum.getLhs();
      }
    return place;
  }

  /// The bytes that every address of what `open_` has in common can be divided by.
  int64_t alignment() {
    const int64_t ofPointer = divisorOf(axes_.at(place_.pointer));
    return place_.offset ? std::gcd(ofPointer, divisorOf(axes_.at(place_.offset)) * elementBytes())
                         : ofPointer;
  }

  /// What the distance of two elements of the stores can be divided by, in elements.
  int64_t spacing() {
    auto splat = place_.pointer.getDefiningOp<tl::SplatOp>();
    return splat && place_.offset ? divisorOf(axes_.at(place_.offset))
                                  : alignment() / elementBytes();
  }

  int64_t elementBytes() {
    return tlg::elementBytes(getElementTypeOrSelf(open_.front().store.getValue().getType()));
  }

  /// Whether one store is as the other, but for what it stores where.
  static bool areAlike(tl::StoreOp a, tl::StoreOp b) {
    return a.getMask() == b.getMask() && a.getCacheModifier() == b.getCacheModifier() &&
           a.getEvictionPolicy() == b.getEvictionPolicy() &&
           a.getPointer().getType() == b.getPointer().getType() &&
           a.getValue().getType() == b.getValue().getType();
  }

  void add(tl::StoreOp store) {
    const auto vector = store->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
    const Type element = getElementTypeOrSelf(store.getValue().getType());
    if ((vector && vector[1] != 1) || !element.isIntOrFloat() || store->hasAttr(kJoinedAttribute)) {
      join();
      return;
    }
    const Place place = placeOf(store.getPointer());
    if (!open_.empty() &&
        (open_.size() == kMostOpen || !place.isBeside(place_) ||
         !areAlike(store, open_.front().store) || llvm::any_of(open_, [&](const OpenStore &other) {
           return other.distance == place.distance;
         })))
      join();
    place_ = place;
    open_.push_back({store, place.distance});
  }

  /// Stores of `width` neighbours each, by the number of the first one in units of `width`.
  std::map<int64_t, llvm::SmallVector<size_t>> groupsOf(int64_t width,
                                                        llvm::ArrayRef<bool> taken) const {
    std::map<int64_t, llvm::SmallVector<size_t>> groups;
    for (size_t i = 0; i < open_.size(); ++i)
      if (!taken[i])
        groups[llvm::divideFloorSigned(open_[i].distance, width)].push_back(i);
    std::erase_if(groups, [&](const auto &group) {
      return static_cast<int64_t>(group.second.size()) != width;
    });
    for (auto &[number, members] : groups)
      llvm::sort(members,
                 [&](size_t a, size_t b) { return open_[a].distance < open_[b].distance; });
    return groups;
  }

  /// A store that would be put off behind one that it comes before now, and that may write the
  /// same, where each is done at `when`. The elements of one store may be at any multiple of
  /// `apart` elements from those of another.
  std::optional<size_t> overtaken(llvm::ArrayRef<size_t> when, int64_t apart) const {
    for (size_t i = 0; i < open_.size(); ++i)
      for (size_t j = i + 1; j < open_.size(); ++j)
        if ((open_[i].distance - open_[j].distance) % apart == 0 && when[i] > when[j])
          return i;
    return std::nullopt;
  }

  void join() {
    if (open_.size() > 1)
      joinOpen();
    open_.clear();
  }

  void joinOpen() {
    const int64_t bytes = elementBytes(), aligned = alignment() / bytes, apart = spacing();
    llvm::SmallVector<bool> taken(open_.size(), false);
    auto when = llvm::to_vector(llvm::seq<size_t>(0, open_.size()));
    for (int64_t width = std::min(kMostBytes / bytes, aligned); width > 1 && width * bytes >= 4;
         width /= 2) {
      auto groups = groupsOf(width, taken);
      for (const auto &[number, members] : groups)
        for (const size_t member : members)
          when[member] = *llvm::max_element(members);
      while (const std::optional<size_t> store = overtaken(when, apart)) {
        const auto group = groups.find(llvm::divideFloorSigned(open_[*store].distance, width));
        for (const size_t member : group->second)
          when[member] = member;
        groups.erase(group);
      }
      for (const auto &[number, members] : groups) {
        makeOne(members, open_[*llvm::max_element(members)].store);
        for (const size_t member : members)
          taken[member] = true;
      }
    }
  }

  void makeOne(llvm::ArrayRef<size_t> members, Operation *last) {
    Builder builder(last->getContext());
    Operation *behind = last->getNextNode();
    for (const auto [i, member] : llvm::enumerate(members)) {
      tl::StoreOp store = open_[member].store;
      store->moveBefore(behind);
      store->setAttr(kJoinedAttribute,
                     builder.getI32IntegerAttr(i == 0 ? static_cast<int>(members.size()) : 0));
    }
    hasJoined_ = true;
  }

  AxisAnalysis axes_;
  Place place_; ///< of `open_`
  llvm::SmallVector<OpenStore> open_;
  bool hasJoined_ = false;
};

} // namespace

void joinStores(func::FuncOp function) {
  StoreJoiner joiner(function);
  joiner.visit(function.getBody().front());
  if (joiner.hasJoined())
    joiner.axes().requireOfArguments();
}

} // namespace blockscope::gpu
