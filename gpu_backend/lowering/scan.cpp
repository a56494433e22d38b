// Scans in index order, for any layout whose bits each move along one bit of one dimension.
//
// The bits of the axis are taken from low to high, in segments that lie all in registers, in lanes
// or in warps. Before a segment every block of elements below it is scanned, and its last element
// is its total. A segment scans the totals of its blocks and combines what came before a block with
// each element of it. In reverse all is the same with the coordinates' bits inverted: the last
// element of a block then has zeros where it has ones otherwise.
#include "gpu_backend/lowering/combine.h"
#include "gpu_backend/lowering/families.h"

#include "core/ir/tl_dialect.h"

#include "llvm/ADT/MapVector.h"

#include <utility>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Neighbouring bits of the axis of one level; `bits` ascend.
struct Segment {
  Level level;
  int firstAxisBit;
  llvm::SmallVector<int> bits;

  uint32_t mask() const {
    uint32_t all = 0;
    for (const int bit : bits)
      all |= 1U << bit;
    return all;
  }
};

llvm::SmallVector<Segment> segmentsOf(llvm::ArrayRef<BitOwner> owners) {
  llvm::SmallVector<Segment> segments;
  for (auto [i, owner] : llvm::enumerate(owners)) {
    if (segments.empty() || segments.back().level != owner.level ||
        segments.back().bits.back() > owner.bit)
      segments.push_back({owner.level, static_cast<int>(i), {}});
    segments.back().bits.push_back(owner.bit);
  }
  return segments;
}

class Scan {
public:
  Scan(Lowering &lowering, tl::ScanOp op, const LinearLayout &layout)
      : lowering_(lowering), builder_(lowering.builder()), op_(op), layout_(layout),
        free_(freeBits(layout)),
        shape_(cast<RankedTensorType>(op.getOperand(0).getType()).getShape()),
        axis_(static_cast<int>(op.getAxis())), isReverse_(op.getReverse()), combine_(lowering, op) {
  }

  FailureOr<llvm::SmallVector<Registers>> run(llvm::ArrayRef<Registers> operands,
                                              llvm::ArrayRef<BitOwner> owners) {
    elements_ = elementsOf(operands);
    const llvm::SmallVector<Segment> segments = segmentsOf(owners);
    for (auto [i, segment] : llvm::enumerate(segments)) {
      if (segment.level != Level::Registers && below_.lanes == 0 && below_.warps == 0)
        chooseNeighbours(segments.size() - i);
      switch (segment.level) {
      case Level::Registers:
        scanRegisters(segment);
        below_.registers |= segment.mask();
        break;
      case Level::Lanes:
        scanLanes(segment);
        below_.lanes |= segment.mask();
        break;
      case Level::Warps:
        scanWarps(segment, /*needsTotals=*/i + 1 < segments.size() &&
                               segments[i + 1].level == Level::Registers);
        below_.warps |= segment.mask();
        break;
      }
    }
    combineWithAllBefore();
    if (combine_.hasFailed())
      return failure();
    llvm::SmallVector<Registers> results(operands.size());
    for (int reg = 0; reg < layout_.registerCount(); ++reg)
      for (auto [i, result] : llvm::enumerate(results))
        result.push_back(elements_[reg & ~free_.registers][i]);
    return results;
  }

private:
  // -- positions ----------------------------------------------------------------------------------

  /// Those of `bits` that are set in the last element of a block.
  uint32_t last(uint32_t bits) const { return isReverse_ ? 0 : bits; }

  /// The number of a lane or warp with `bits` as in the last element of a block.
  llvm::Value *atLast(llvm::Value *number, uint32_t bits) {
    return isReverse_ ? builder_.CreateAnd(number, lowering_.i32(~bits))
                      : builder_.CreateOr(number, lowering_.i32(bits));
  }

  /// The subsets of `mask`, ascending.
  static llvm::SmallVector<uint32_t> subsets(uint32_t mask) {
    llvm::SmallVector<uint32_t> result = {0};
    for (uint32_t next = (0 - mask) & mask; next != 0; next = (next - mask) & mask)
      result.push_back(next);
    return result;
  }

  // -- totals -------------------------------------------------------------------------------------

  /// The number of the block below axis bit `firstAxisBit` in which an element is.
  uint32_t blockOf(ElementBits element, int firstAxisBit) const {
    const int shift = shape_.shift(axis_);
    const ElementBits inner = (ElementBits{1} << shift) - 1;
    return (element & inner) | ((element >> (shift + firstAxisBit)) << shift);
  }

  /// The block's number without what the register says.
  llvm::Value *threadBlock(int firstAxisBit, uint32_t withoutWarps = 0) {
    LinearLayout blocks;
    for (const ElementBits basis : layout_.lanes)
      blocks.lanes.push_back(blockOf(basis, firstAxisBit));
    for (auto [bit, basis] : llvm::enumerate(layout_.warps))
      blocks.warps.push_back((withoutWarps >> bit) & 1 ? 0 : blockOf(basis, firstAxisBit));
    return lowering_.threadElement(blocks);
  }

  /// The total of the block of each of `registers`, in the lanes of the same warp.
  llvm::DenseMap<uint32_t, Elements> totalsInWarp(llvm::ArrayRef<uint32_t> registers) {
    llvm::DenseMap<uint32_t, Elements> totals;
    for (const uint32_t reg : registers) {
      const Elements &source = elements_[reg | last(below_.registers)];
      totals[reg] =
          below_.lanes == 0 ? source : fromLane(source, atLast(lowering_.laneId(), below_.lanes));
    }
    return totals;
  }

  /// A table with the totals of all blocks.
  Slots publishTotals(const Segment &segment) {
    Slots slots(lowering_, op_.getOperands(),
                int64_t{1} << (shape_.width() - segment.firstAxisBit));
    const auto threadBits = [](uint32_t lanes, uint32_t warps) { return lanes | (warps << 5); };
    const uint32_t fixed = threadBits(below_.lanes | free_.lanes, below_.warps | free_.warps);
    llvm::Value *writes = nullptr;
    if (fixed != 0)
      writes =
          builder_.CreateICmpEQ(builder_.CreateAnd(lowering_.threadId(), lowering_.i32(fixed)),
                                lowering_.i32(threadBits(last(below_.lanes), last(below_.warps))));
    llvm::Value *thread = threadBlock(segment.firstAxisBit);
    const auto registers = registersWithout(below_.registers, layout_);
    slots.storeEach(writes, registers.size(), [&](size_t i) {
      const ElementBits block =
          blockOf(layout_.registerElement(registers[i]), segment.firstAxisBit);
      return std::pair(builder_.CreateXor(thread, lowering_.i32(block)),
                       elements_[registers[i] | last(below_.registers)]);
    });
    lowering_.barrier();
    return slots;
  }

  /// The total of the block of each of `registers`.
  llvm::DenseMap<uint32_t, Elements> totals(const Segment &segment,
                                            llvm::ArrayRef<uint32_t> registers) {
    if (below_.warps == 0)
      return totalsInWarp(registers);
    if (segment.level == Level::Registers && !warpTotals_.empty())
      return std::exchange(warpTotals_, llvm::DenseMap<uint32_t, Elements>());
    Slots slots = publishTotals(segment);
    llvm::Value *thread = threadBlock(segment.firstAxisBit);
    llvm::DenseMap<uint32_t, Elements> result;
    for (const uint32_t reg : registers)
      result[reg] = slots.load(builder_.CreateXor(
          thread, lowering_.i32(blockOf(layout_.registerElement(reg), segment.firstAxisBit))));
    return result;
  }

  Elements fromLane(const Elements &elements, llvm::Value *lane) {
    return shuffled(elements, [&](llvm::Value *value) { return lowering_.shuffle(value, lane); });
  }

  Elements select(llvm::Value *condition, const Elements &yes, const Elements &no) {
    Elements result;
    for (auto [a, b] : llvm::zip(yes, no))
      result.push_back(builder_.CreateSelect(condition, a, b));
    return result;
  }

  void prependTo(Elements &element, const Elements &before, llvm::Value *condition) {
    const Elements combined = combine_(before, element);
    element = condition ? select(condition, combined, element) : combined;
  }

  /// Combines what came before with every element of the block of `reg`, where `condition` holds.
  void prepend(const Elements &before, uint32_t reg, llvm::Value *condition = nullptr) {
    for (const uint32_t low : subsets(below_.registers & ~neighbours_)) {
      prependTo(elements_[reg | low | last(neighbours_)], before, condition);
      if (neighbours_ != 0)
        remember(reg | low, before, condition);
    }
  }

  // -- what came before neighbours ----------------------------------------------------------------

  /// What came before the neighbours of a register, where the condition holds; always without one.
  struct Before {
    Elements elements;
    llvm::Value *condition = nullptr;
  };

  /// Whether only the last of the elements that a thread has scanned is kept up from here on:
  /// that is less work where several segments are left.
  void chooseNeighbours(size_t segmentsLeft) {
    constexpr int kFew = 1; // bits
    if (segmentsLeft > 1 && llvm::popcount(below_.registers) > kFew)
      neighbours_ = below_.registers;
  }

  /// That this came before neighbours, too: in front of what is known already.
  void remember(uint32_t reg, const Elements &before, llvm::Value *condition) {
    const auto [place, isNew] = before_.try_emplace(reg, Before{before, condition});
    if (isNew)
      return;
    Before &known = place->second;
    Elements both = combine_(before, known.elements);
    if (known.condition)
      both = select(known.condition, both, before);
    known.elements = condition ? select(condition, both, known.elements) : both;
    known.condition =
        condition && known.condition ? builder_.CreateOr(condition, known.condition) : nullptr;
  }

  void combineWithAllBefore() {
    for (const auto &[reg, before] : before_)
      for (const uint32_t low : subsets(neighbours_))
        if (low != last(neighbours_))
          prependTo(elements_[reg | low], before.elements, before.condition);
  }

  // -- levels -------------------------------------------------------------------------------------

  void scanRegisters(const Segment &segment) {
    llvm::SmallVector<uint32_t> order = subsets(segment.mask());
    if (isReverse_)
      std::reverse(order.begin(), order.end());
    const bool areTotalsHere = below_.lanes == 0 && below_.warps == 0;
    const auto blockTotals = totals(segment, registersWithout(below_.registers, layout_));
    for (const uint32_t base : registersWithout(below_.registers | segment.mask(), layout_)) {
      Elements before = blockTotals.lookup(base | order.front());
      for (const uint32_t block : llvm::ArrayRef(order).drop_front()) {
        const uint32_t reg = base | block;
        prepend(before, reg);
        if (block == order.back())
          break;
        before = areTotalsHere ? elements_[reg | last(below_.registers)]
                               : combine_(before, blockTotals.lookup(reg));
      }
    }
  }

  void scanLanes(const Segment &segment) {
    const llvm::SmallVector<uint32_t> blocks = registersWithout(below_.registers, layout_);
    const uint32_t mask = segment.mask();
    llvm::Value *lane = lowering_.laneId();
    llvm::Value *inSegment = builder_.CreateAnd(lane, lowering_.i32(mask));
    const auto isSet = [&](uint32_t bit) {
      llvm::Value *masked = builder_.CreateAnd(lane, lowering_.i32(bit));
      return isReverse_ ? builder_.CreateICmpEQ(masked, lowering_.i32(0))
                        : builder_.CreateICmpNE(masked, lowering_.i32(0));
    };
    auto scanned = totals(segment, blocks);
    uint32_t below = 0;
    for (const int bit : segment.bits) {
      // The upper half of each pair of blocks takes the total of the lower half.
      const uint32_t flag = 1U << bit;
      llvm::Value *source = atLast(lane, below);
      source = isReverse_ ? builder_.CreateOr(source, lowering_.i32(flag))
                          : builder_.CreateAnd(source, lowering_.i32(~flag));
      llvm::Value *isUpper = isSet(flag);
      for (const uint32_t reg : blocks) {
        Elements &total = scanned[reg];
        total = select(isUpper, combine_(fromLane(total, source), total), total);
      }
      below |= flag;
    }
    if (below_.empty()) { // the blocks are single elements
      for (const uint32_t reg : blocks)
        elements_[reg] = scanned[reg];
      return;
    }
    // The lane before, in the segment's bits: the borrow or carry runs through the others.
    llvm::Value *previous =
        isReverse_
            ? builder_.CreateAdd(builder_.CreateOr(lane, lowering_.i32(~mask)), lowering_.i32(1))
            : builder_.CreateSub(inSegment, lowering_.i32(1));
    previous = builder_.CreateOr(builder_.CreateAnd(previous, lowering_.i32(mask)),
                                 builder_.CreateAnd(lane, lowering_.i32(31 & ~mask)));
    llvm::Value *hasPrevious =
        builder_.CreateICmpNE(inSegment, lowering_.i32(isReverse_ ? mask : 0));
    for (const uint32_t reg : blocks)
      prepend(fromLane(scanned[reg], previous), reg, hasPrevious);
  }

  /// Every thread combines the totals of the warps before its own. `needsTotals`: and of all, for
  /// a segment of registers, where these are few.
  void scanWarps(const Segment &segment, bool needsTotals) {
    Slots slots = publishTotals(segment);
    LinearLayout numbers; // of the warp within the segment
    numbers.warps.resize(layout_.warps.size(), 0);
    for (auto [i, bit] : llvm::enumerate(segment.bits))
      numbers.warps[bit] = ElementBits{1} << i;
    const uint32_t count = 1U << segment.bits.size();
    llvm::Value *number = lowering_.threadElement(numbers);
    if (isReverse_)
      number = builder_.CreateXor(number, lowering_.i32(count - 1));
    llvm::Value *thread = threadBlock(segment.firstAxisBit, segment.mask());
    const auto blocks = registersWithout(below_.registers, layout_);
    // More totals take the registers of other values: kalman_attention/moebius_scan, of several
    // operands, spills then (276 to 316 us on an H200).
    constexpr size_t kFewValues = 8;
    const bool keepsTotals = needsTotals && blocks.size() * op_.getNumOperands() <= kFewValues;
    for (const uint32_t reg : blocks) {
      const auto totalOf = [&](uint32_t i) {
        const uint32_t coordinate = isReverse_ ? count - 1 - i : i;
        return slots.load(builder_.CreateXor(
            thread, lowering_.i32(blockOf(layout_.registerElement(reg), segment.firstAxisBit) ^
                                  (coordinate << shape_.shift(axis_)))));
      };
      Elements sum = totalOf(0), before = sum;
      for (uint32_t i = 1; i + 1 < count; ++i) {
        sum = combine_(sum, totalOf(i));
        before = select(builder_.CreateICmpUGT(number, lowering_.i32(i)), sum, before);
      }
      if (keepsTotals)
        warpTotals_[reg] = combine_(sum, totalOf(count - 1));
      for (llvm::Value *&value : before)
        value = madeHere(lowering_, value);
      prepend(before, reg, builder_.CreateICmpNE(number, lowering_.i32(0)));
    }
  }

  Lowering &lowering_;
  llvm::IRBuilder<> &builder_;
  tl::ScanOp op_;
  LinearLayout layout_;
  InputBits free_;
  InputBits below_; ///< the bits of the axis below the segment
  ShapeBits shape_;
  int axis_;
  bool isReverse_;
  Combine combine_;
  llvm::SmallVector<Elements> elements_; ///< by register; those of copies are not kept up
  uint32_t neighbours_ = 0;              ///< bits of registers of which only the last is kept up
  llvm::MapVector<uint32_t, Before> before_;      ///< by the first register of such neighbours
  llvm::DenseMap<uint32_t, Elements> warpTotals_; ///< of the blocks below the next segment
};

LogicalResult lowerScan(Lowering &lowering, Operation *op) {
  auto scan = cast<tl::ScanOp>(op);
  const ShapeBits shape(cast<RankedTensorType>(op->getOperand(0).getType()).getShape());
  const auto axis = static_cast<int>(scan.getAxis());
  return lowerAlongAxis(
      lowering, op, axis,
      [&](const LinearLayout &layout) { return ownersAlong(layout, shape, axis).has_value(); },
      [&](const LinearLayout &layout, llvm::ArrayRef<Registers> operands) {
        return Scan(lowering, scan, layout).run(operands, *ownersAlong(layout, shape, axis));
      });
}

} // namespace

llvm::ArrayRef<LoweringRow> scanRows() {
  static constexpr LoweringRow kRows[] = {{"tl.scan", lowerScan}};
  return kRows;
}

} // namespace blockscope::gpu
