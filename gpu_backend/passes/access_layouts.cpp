#include "gpu_backend/passes/access_layouts.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/passes/access_width.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/equal_runs.h"
#include "gpu_backend/passes/reduced_dims.h"
#include "gpu_backend/passes/shape_transfer.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// How many bytes an element has that a dot multiplies, as it is loaded or after other ops; 0 where
/// none does.
int multipliedBytes(tl::LoadOp load) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Value> open{load.getResult()};
  while (!open.empty())
    for (OpOperand &use : open.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<tl::DotOp>(user) && use.getOperandNumber() < 2)
        return tlg::elementBytes(use.get().getType());
      if (isa<scf::YieldOp>(user) && isa<scf::IfOp>(user->getParentOp()))
        open.push_back(user->getParentOp()->getResult(use.getOperandNumber()));
      else if ((tl::isElementwise(user) || isa<tl::TransOp>(user)) && seen.insert(user).second)
        llvm::append_range(open, user->getResults());
    }
  return 0;
}

/// Whether an access is an operand of a dot that a loop loads for each of its iterations. Where a
/// mask has it loaded element by element, neighbours of a thread share an address, which the loop
/// carries; lanes side by side would have one for each row of the tile.
bool isOperandOfLoop(Operation *access) {
  auto load = dyn_cast<tl::LoadOp>(access);
  return load && isa<scf::ForOp>(load->getParentOp()) &&
         blockType(load.getPointer()).getRank() > 1 && multipliedBytes(load) != 0;
}

/// Whether what is loaded is scales of a dot's operands.
bool isOfScales(tl::LoadOp load) {
  constexpr unsigned kFirstScales = 3;
  llvm::SmallVector<Value> open{load.getResult()};
  while (!open.empty())
    for (OpOperand &use : open.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<tl::DotOp>(user) && use.getOperandNumber() >= kFirstScales)
        return true;
      if (isa<tl::TransOp, tl::ReshapeOp>(user))
        open.push_back(user->getResult(0));
    }
  return false;
}

/// Whether a load's elements are scanned, as they are or after other ops.
bool isScanned(tl::LoadOp load) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Value> open{load.getResult()};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isa<tl::ScanOp>(user))
        return true;
      if (tl::isElementwise(user) && seen.insert(user).second)
        llvm::append_range(open, user->getResults());
    }
  return false;
}

/// The ops that repeat a vector, or what is computed of it.
llvm::SmallVector<tl::BroadcastOp> repetitionsOf(Value vector) {
  llvm::SmallVector<tl::BroadcastOp> found;
  llvm::SmallPtrSet<Operation *, 8> seen;
  llvm::SmallVector<Value> open{vector};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (user->getNumResults() != 1 || !isBlock(user->getResult(0)) || !seen.insert(user).second)
        continue;
      if (auto repetition = dyn_cast<tl::BroadcastOp>(user))
        found.push_back(repetition);
      else if (isa<tl::ExpandDimsOp>(user) || tl::isElementwise(user))
        open.push_back(user->getResult(0));
    }
  return found;
}

/// How many times more often than a tile vectors are loaded for its rows and columns, where these
/// decide about its layout.
constexpr int64_t kManyVectors = 8;

/// Vectors that are loaded for the rows and columns of a tile.
struct VectorLoads {
  int64_t times = 0;
  llvm::SmallVector<int64_t, 3> widths;    ///< along each dimension, of the narrowest load; 0: none
  llvm::SmallVector<bool, 3> areScattered; ///< along each dimension, elements of some load

  /// Adds a load, `width` elements at a time, of what `repetition` repeats.
  void add(tl::BroadcastOp repetition, int64_t timesLoaded, int64_t width, bool isScattered) {
    times += timesLoaded;
    widths.resize(blockType(repetition).getRank(), 0);
    areScattered.resize(widths.size(), false);
    const llvm::ArrayRef<int64_t> vector = blockType(repetition->getOperand(0)).getShape();
    for (auto [dim, size] : llvm::enumerate(vector))
      if (size > 1) {
        widths[dim] = widths[dim] == 0 ? width : std::min(widths[dim], width);
        areScattered[dim] |= isScattered;
      }
  }
};

/// Whether some of what `accesses`, which share a layout, load is combined along `dim`, and nothing
/// along another dimension.
bool combinesOnlyAlong(llvm::ArrayRef<Operation *> accesses, int dim) {
  bool found = false;
  for (Operation *op : accesses)
    if (isa<tl::LoadOp>(op))
      for (auto [along, after] : llvm::enumerate(combinedAfter(op->getResult(0))))
        if (after != kNeverCombined) {
          if (static_cast<int>(along) != dim)
            return false;
          found = true;
        }
  return found;
}

/// Accesses of blocks, in groups.
class AccessLayouts {
public:
  AccessLayouts(func::FuncOp function, const AxisAnalysis &axes, const GpuTarget &target,
                const GpuOptions &options, llvm::function_ref<bool(Value)> isCheap)
      : axes_(axes), target_(target), options_(options), isCheap_(isCheap) {
    joinRelated(function);
    function.walk([&](Operation *op) {
      if (accessedPointer(op)) {
        accesses_.push_back(op);
        groups_[keyOf(op)].accesses.push_back(op);
      }
    });
    chooseWidths(function);
    for (auto &[key, group] : groups_)
      takeVectors(key, group);
  }

  llvm::ArrayRef<Operation *> accesses() const { return accesses_; }
  LinearLayout of(Operation *access) const;

private:
  /// Blocks that are related, by one of them, and the dimension along which an access is wide.
  using Key = std::pair<void *, int>;

  /// Accesses whose elements go from one to the other share the width of their vectors, so that
  /// what is loaded from one place can be stored to another without moving.
  struct Group {
    llvm::SmallVector<Operation *> accesses;
    int64_t width = 1;
    llvm::SmallVector<int64_t, 3> runs;
    llvm::SmallVector<int64_t, 3> neighbours; ///< that vectors ask for; none: nothing asks
    bool combinesRows = false, isScanned = false;
  };

  void joinRelated(func::FuncOp function);
  bool isScattered(Operation *load) const;
  void *leaderOf(Value block) const;
  Key keyOf(Operation *access) const {
    return {leaderOf(accessedData(access)), axes_.orderOf(access->getOperand(0))[0]};
  }
  void chooseWidths(func::FuncOp function);
  void takeVectors(Key key, Group &group);
  void giveRowsToWarps(LinearLayout &layout, Value pointer, int dim) const;
  static void giveColumnsToWarps(LinearLayout &layout, tl::LoadOp load, int dim);
  int64_t rowsForDot(Operation *access, llvm::ArrayRef<int> order, int64_t width) const;

  const AxisAnalysis &axes_;
  const GpuTarget &target_;
  const GpuOptions &options_;
  llvm::function_ref<bool(Value)> isCheap_;
  llvm::EquivalenceClasses<void *> related_;
  llvm::SmallVector<Operation *> accesses_;
  std::map<Key, Group> groups_;
  llvm::DenseMap<void *, VectorLoads> vectors_; ///< by a block that is related to the tile
};

/// Relates blocks of which one is computed from the other, or accessed at it, in the same layout.
void AccessLayouts::joinRelated(func::FuncOp function) {
  const auto join = [&](Value a, Value b) {
    if (isBlock(a) && isBlock(b) && !isCheap_(a) && !isCheap_(b))
      related_.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  };
  function.walk([&](Operation *op) {
    if (Value pointer = accessedPointer(op))
      join(pointer, accessedData(op));
    if (keepsLayout(op))
      for (Value result : op->getResults())
        for (Value operand : op->getOperands())
          join(result, operand);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
        for (Value other : {loop.getYieldedValues()[i], loop.getResult(i), loop.getInitArgs()[i]})
          join(argument, other);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      for (auto [i, result] : llvm::enumerate(branch.getResults()))
        for (Value other : {branch.thenYield().getOperand(i), branch.elseYield().getOperand(i)})
          join(result, other);
  });
}

/// Whether a vector's elements lie where loaded numbers say, each alone.
bool AccessLayouts::isScattered(Operation *load) const {
  Value pointer = load->getOperand(0);
  return axes_.loadedDims(pointer)[0] && axes_.at(pointer).dims[0].contiguity == 1;
}

void *AccessLayouts::leaderOf(Value block) const {
  const auto leader = related_.findLeader(block.getAsOpaquePointer());
  return leader != related_.member_end() ? *leader : block.getAsOpaquePointer();
}

void AccessLayouts::chooseWidths(func::FuncOp function) {
  // Blocks that are scanned along a dimension: the more neighbours a thread has there, the fewer
  // results it exchanges with others, which costs more than stores in parts of a sector.
  std::set<Key> scanned;
  function.walk([&](tl::ScanOp scan) {
    scanned.emplace(leaderOf(scan->getOperand(0)), static_cast<int>(scan.getAxis()));
  });
  for (auto &[key, group] : groups_) {
    const int dim = key.second;
    group.isScanned = scanned.contains(key);
    group.width = group.isScanned ? widestAccess(group.accesses, axes_, target_, dim)
                                  : commonWidth(group.accesses, axes_, target_, dim);
    for (Operation *op : group.accesses)
      if (isOperandOfLoop(op))
        group.width = std::max(group.width, axes_.vectorWidth(op->getOperand(0), {}, dim));
    group.runs = commonRuns(group.accesses, axes_);
    if (group.width > 1) // a vector's neighbours come first
      group.runs[dim] = 1;
    group.combinesRows = combinesOnlyAlong(group.accesses, dim);
  }
  for (Operation *op : accesses_)
    if (isa<tl::LoadOp>(op) && blockType(op->getResult(0)).getRank() == 1)
      for (tl::BroadcastOp repetition : repetitionsOf(op->getResult(0)))
        vectors_[leaderOf(repetition)].add(repetition, timesRun(op),
                                           accessWidth(op, axes_, target_, 0), isScattered(op));
}

/// What a thread loads for many rows and columns of a tile costs more than the tile's own accesses,
/// which their masks may make narrow: it has neighbours along both dimensions. Not of vectors whose
/// elements are scattered: each lane loads one, as lanes that load the same are as much work. Where
/// those of all dimensions are, that would be many of the others for a thread.
void AccessLayouts::takeVectors(Key key, Group &group) {
  const auto found = vectors_.find(key.first);
  if (found == vectors_.end())
    return;
  const VectorLoads &loads = found->second;
  int64_t times = 0, unmasked = std::numeric_limits<int64_t>::max();
  for (Operation *op : group.accesses) {
    times += timesRun(op);
    unmasked = std::min(unmasked, axes_.vectorWidth(op->getOperand(0), {}, key.second));
  }
  if (loads.times < kManyVectors * times || llvm::is_contained(loads.widths, 0))
    return;
  group.neighbours = loads.widths;
  if (loads.areScattered[key.second] && llvm::is_contained(loads.areScattered, false))
    group.width = 1;
  else
    group.width = std::max(group.width, std::min(unmasked, loads.widths[key.second]));
}

/// Has warps share the rows of a block that are combined along `dim`, not each row, where a thread
/// has as many rows: then a warp combines its own, by a fraction of the shuffles and without the
/// other warps. What is repeated for each row a thread has more of, so not where that costs more.
void AccessLayouts::giveRowsToWarps(LinearLayout &layout, Value pointer, int dim) const {
  constexpr int64_t kSteps = 5, kLanes = 32, kVector = 4; // shuffles of a sum over the lanes
  const llvm::ArrayRef<int64_t> size = blockType(pointer).getShape();
  const ShapeBits shape(size);
  const auto isAlong = [&](ElementBits basis) { return (basis & shape.mask(dim)) != 0; };
  llvm::SmallVector<ElementBits *> columns, rows;
  for (ElementBits &basis : layout.warps)
    if (isAlong(basis))
      columns.push_back(&basis);
  for (ElementBits &basis : layout.registers)
    if (!isAlong(basis))
      rows.push_back(&basis);
  if (columns.empty() || rows.size() < columns.size())
    return;
  llvm::SmallPtrSet<Value, 8> repeated; // for each row, other than what is cheap to make
  pointer.getParentRegion()->getParentOfType<func::FuncOp>().walk([&](tl::BroadcastOp op) {
    Value source = op->getOperand(0);
    if (blockType(op->getResult(0)).getShape() == size && !isCheap_(source) &&
        blockType(source).getDimSize(dim) == size[dim] &&
        blockType(source).getNumElements() == size[dim])
      repeated.insert(source);
  });
  const int64_t shuffles = kSteps << rows.size();
  const auto loads = static_cast<int64_t>(repeated.size()) * size[dim] / (kLanes * kVector);
  if (2 * loads > shuffles)
    return;
  // The highest rows: those of a thread lie side by side.
  llvm::sort(rows, [](const ElementBits *a, const ElementBits *b) { return *a < *b; });
  for (ElementBits *column : llvm::reverse(columns))
    std::swap(*column, *rows.pop_back_val());
}

/// Has warps share the columns, along `dim`, of few rows that are combined with each other, not the
/// rows: a thread then has all rows of a column, as long as a warp still loads whole lines. Vectors
/// become narrower for that, but nothing is exchanged.
void AccessLayouts::giveColumnsToWarps(LinearLayout &layout, tl::LoadOp load, int dim) {
  constexpr size_t kFewBits = 4; // registers
  constexpr int64_t kLanes = 32, kLineBytes = 128;
  const ShapeBits shape(blockType(load.getResult()).getShape());
  const llvm::SmallVector<int, 4> after = combinedAfter(load.getResult());
  if (layout.registers.size() > kFewBits || after[dim] != kNeverCombined)
    return;
  llvm::SmallVector<ElementBits *> rows, columns;
  int64_t width = 1;
  for (ElementBits &basis : layout.warps)
    if (basis != 0 && (basis & shape.mask(dim)) == 0)
      rows.push_back(&basis);
  for (ElementBits &basis : layout.registers)
    if ((basis & shape.mask(dim)) != 0) {
      columns.push_back(&basis);
      width *= 2;
    }
  const bool areCombined = llvm::all_of(rows, [&](const ElementBits *row) {
    return llvm::any_of(llvm::enumerate(after), [&](const auto &each) {
      return each.value() != kNeverCombined &&
             (*row & shape.mask(static_cast<int>(each.index()))) != 0;
    });
  });
  const bool areLanesAlong =
      llvm::all_of(layout.lanes, [&](ElementBits basis) { return (basis & shape.mask(dim)) != 0; });
  if (rows.empty() || !areCombined || !areLanesAlong || columns.size() < rows.size() ||
      (kLanes * width >> rows.size()) * tlg::elementBytes(load.getType()) < kLineBytes)
    return;
  // A thread's columns lie side by side, then those of a warp.
  llvm::SmallVector<ElementBits *> places(columns);
  places.pop_back_n(rows.size());
  for (ElementBits &basis : layout.lanes)
    places.push_back(&basis);
  llvm::append_range(places, rows);
  llvm::SmallVector<ElementBits> along, kept;
  for (const ElementBits *column : columns)
    along.push_back(*column);
  for (const ElementBits basis : layout.lanes)
    along.push_back(basis);
  for (const ElementBits *row : rows)
    kept.push_back(*row);
  llvm::sort(along);
  for (auto [place, basis] : llvm::zip(places, along))
    *place = basis;
  for (auto [column, basis] :
       llvm::zip(llvm::drop_begin(columns, columns.size() - rows.size()), kept))
    *column = basis;
}

/// How many rows, along `order[1]`, a thread takes of what it loads `width` elements at a time:
/// where that is less than a vector, and a dot multiplies it, enough to put whole vectors into
/// shared memory. `order[0]` is a guess where nothing is known of the addresses: neighbours may as
/// well lie along `order[1]`, so that lanes which a row leaves over take these first.
int64_t AccessLayouts::rowsForDot(Operation *access, llvm::ArrayRef<int> order,
                                  int64_t width) const {
  constexpr int64_t kVectorBytes = 16, kLanes = 32;
  auto load = dyn_cast<tl::LoadOp>(access);
  if (!load || order.size() < 2 || width * tlg::elementBytes(load.getType()) >= kVectorBytes)
    return 1;
  Value pointer = load.getPointer();
  if (axes_.at(pointer).dims[order[0]].contiguity == 1 &&
      blockType(pointer).getDimSize(order[0]) < kLanes)
    return 1;
  const int bytes = multipliedBytes(load);
  return bytes == 0 ? 1 : kVectorBytes / bytes;
}

/// How many elements a thread takes at least, where a vector has as many: scales are few, but no
/// copy to shared memory is smaller than 4 bytes.
int64_t leastWidth(Operation *access) {
  constexpr int kLeastBytes = 4;
  auto load = dyn_cast<tl::LoadOp>(access);
  return load && isOfScales(load) ? kLeastBytes / tlg::elementBytes(load.getType()) : 1;
}

LinearLayout AccessLayouts::of(Operation *access) const {
  Value pointer = access->getOperand(0);
  const llvm::ArrayRef<int64_t> shape = blockType(pointer).getShape();
  const Group &group = groups_.at(keyOf(access));
  llvm::SmallVector<int, 3> order = axes_.orderOf(pointer);
  const llvm::MutableArrayRef<int> others = llvm::MutableArrayRef<int>(order).drop_front();
  if (others.size() > 1) { // a thread's own addresses are more work where each has a loaded number
    const llvm::SmallVector<bool, 3> isLoaded = axes_.loadedDims(pointer);
    llvm::SmallVector<int, 3> sorted;
    for (const bool loaded : {true, false})
      llvm::copy_if(others, std::back_inserter(sorted),
                    [&](int dim) { return isLoaded[dim] == loaded; });
    llvm::copy(sorted, others.begin());
  }
  if (isa<tl::LoadOp>(access)) // neighbours go first
    combinedLast(others, access->getResult(0));
  // What an atomic touches goes through the L2 cache sector by sector: its lanes lie side by side
  // in memory, whatever loads of the same shape do.
  if (tl::isAtomic(access) && axes_.at(pointer).dims[order[0]].contiguity > 1)
    return blockedForAccess(shape, order, accessWidth(access, axes_, target_, order[0]),
                            options_.numWarps);
  // What a scan only chooses, element by element, lies side by side in lanes.
  if (auto load = dyn_cast<tl::LoadOp>(access);
      load && group.isScanned && axes_.at(pointer).dims[order[0]].contiguity > 1 &&
      accessWidth(access, axes_, target_, order[0]) == 1 && !isScanned(load))
    return blockedForAccess(shape, order, /*vector=*/1, options_.numWarps);
  int64_t rows = rowsForDot(access, order, group.width);
  if (!group.neighbours.empty())
    rows = std::max(rows, group.neighbours[order[1]]);
  LinearLayout layout = blockedForRuns(shape, order, group.width, options_.numWarps, group.runs,
                                       rows, std::min(leastWidth(access), group.width));
  if (group.combinesRows)
    giveRowsToWarps(layout, pointer, order[0]);
  else if (auto load = dyn_cast<tl::LoadOp>(access))
    giveColumnsToWarps(layout, load, order[0]);
  return layout;
}

} // namespace

llvm::MapVector<Operation *, LinearLayout>
accessLayouts(func::FuncOp function, const AxisAnalysis &axes, const GpuTarget &target,
              const GpuOptions &options, llvm::function_ref<bool(Value)> isCheap) {
  const AccessLayouts layouts(function, axes, target, options, isCheap);
  llvm::MapVector<Operation *, LinearLayout> result;
  for (Operation *access : layouts.accesses())
    result[access] = layouts.of(access);
  return result;
}

} // namespace blockscope::gpu
