// Reductions: the registers of a thread first, then lanes by shuffles, then warps through shared
// memory, each only as far as the layout has bits along the axis.
//
// Bits are taken from the highest coordinate to the lowest, so that element i meets i + n/2 first,
// as in the evaluator; but registers go before lanes and lanes before warps, whatever their bits,
// so sums of floats may differ from the CPU's in the last bits. In the end every thread has the
// result of its elements: scalars are the same everywhere.
#include "gpu_backend/lowering/combine.h"
#include "gpu_backend/lowering/families.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/shape_layouts.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

#include <functional>

using namespace mlir;

namespace blockscope::gpu {
namespace {

class Reduction {
public:
  Reduction(Lowering &lowering, tl::ReduceOp op, const LinearLayout &layout)
      : lowering_(lowering), op_(op), layout_(layout), free_(freeBits(layout)),
        shape_(cast<RankedTensorType>(op.getOperand(0).getType()).getShape()),
        axis_(static_cast<int>(op.getAxis())), combine_(lowering, op) {}

  /// The registers of each result, for the registers of each operand; `along` are the bits of the
  /// layout along the axis.
  FailureOr<llvm::SmallVector<Registers>> run(llvm::ArrayRef<Registers> operands,
                                              const InputBits &along) {
    along_ = along;
    elements_ = elementsOf(operands);
    reduceRegisters();
    reduceLanes();
    if (along_.warps != 0)
      reduceWarps();
    if (combine_.hasFailed())
      return failure();
    llvm::SmallVector<Registers> results(operands.size());
    const bool isScalar = shape_.rank() == 1;
    const int count = isScalar ? 1 : sliced(layout_, shape_, axis_).registerCount();
    llvm::SmallVector<uint32_t> places(layout_.registerCount(), 0);
    if (!isScalar)
      places = slicedRegisters(layout_, shape_, axis_);
    for (auto [i, result] : llvm::enumerate(results)) {
      result.resize(count);
      for (const uint32_t reg : kept())
        result[places[reg]] = elements_[reg][i];
    }
    return results;
  }

private:
  /// The registers that hold partial results after those of the thread are combined.
  llvm::SmallVector<uint32_t> kept() const { return registersWithout(along_.registers, layout_); }

  void reduceRegisters() {
    const auto bits = inOrderOfAxis(along_.registers, layout_.registers, shape_, axis_);
    uint32_t done = 0;
    for (const int bit : llvm::reverse(bits)) {
      done |= 1U << bit;
      for (const uint32_t reg : registersWithout(done, layout_))
        elements_[reg] = combine_(elements_[reg], elements_[reg | (1U << bit)]);
    }
  }

  void reduceLanes() {
    if (along_.lanes == 0)
      return;
    const auto bits = inOrderOfAxis(along_.lanes, layout_.lanes, shape_, axis_);
    for (const uint32_t reg : kept()) {
      if (llvm::Value *whole = reduceWarpAtOnce(elements_[reg])) {
        elements_[reg] = {whole};
        continue;
      }
      for (const int bit : llvm::reverse(bits))
        elements_[reg] = combine_(elements_[reg], shuffled(elements_[reg], [&](llvm::Value *value) {
                                    return lowering_.shuffleXor(value, 1 << bit);
                                  }));
      if (combine_.isCommutative() || along_.warps != 0)
        continue;
      // Only the lanes at the start of the axis have combined in order: all take their result.
      llvm::Value *first =
          lowering_.builder().CreateAnd(lowering_.laneId(), lowering_.i32(31 & ~along_.lanes));
      elements_[reg] = shuffled(
          elements_[reg], [&](llvm::Value *value) { return lowering_.shuffle(value, first); });
    }
  }

  /// Integers of up to 32 bits over all lanes of a warp in one instruction; null if this is
  /// something else.
  llvm::Value *reduceWarpAtOnce(const Elements &elements) {
    using namespace llvm::Intrinsic;
    const auto intrinsic = llvm::StringSwitch<ID>(combine_.onlyOp())
                               .Case("arith.addi", nvvm_redux_sync_add)
                               .Case("arith.andi", nvvm_redux_sync_and)
                               .Case("arith.maxsi", nvvm_redux_sync_max)
                               .Case("arith.maxui", nvvm_redux_sync_umax)
                               .Case("arith.minsi", nvvm_redux_sync_min)
                               .Case("arith.minui", nvvm_redux_sync_umin)
                               .Case("arith.ori", nvvm_redux_sync_or)
                               .Case("arith.xori", nvvm_redux_sync_xor)
                               .Default(not_intrinsic);
    llvm::Type *type = elements[0]->getType();
    if (along_.lanes != 31 || intrinsic == not_intrinsic || type->getIntegerBitWidth() > 32)
      return nullptr;
    llvm::IRBuilder<> &builder = lowering_.builder();
    const bool isSigned = intrinsic == nvvm_redux_sync_max || intrinsic == nvvm_redux_sync_min;
    llvm::Value *wide = isSigned ? builder.CreateSExt(elements[0], builder.getInt32Ty())
                                 : builder.CreateZExt(elements[0], builder.getInt32Ty());
    return builder.CreateTrunc(builder.CreateIntrinsic(intrinsic, {}, {wide, lowering_.i32(-1)}),
                               type);
  }

  /// Each warp writes what it has, at the number of the result's element, in a table of its own;
  /// every thread then combines the tables. Many tables are read by as many lanes of those that
  /// want the same, which then combine what they have.
  void reduceWarps() {
    llvm::IRBuilder<> &builder = lowering_.builder();
    const Bases map = slicedElements(shape_, axis_);
    const int64_t resultCount = int64_t{1} << (shape_.width() - shape_.width(axis_));
    const llvm::SmallVector<int> bits = inOrderOfAxis(along_.warps, layout_.warps, shape_, axis_);
    const int tableCount = 1 << bits.size();
    LinearLayout reads, tables;
    for (const ElementBits basis : layout_.lanes)
      reads.lanes.push_back(combine(map, basis));
    for (const ElementBits basis : layout_.warps)
      reads.warps.push_back(combine(map, basis));
    tables.warps.resize(layout_.warps.size(), 0);
    for (auto [i, bit] : llvm::enumerate(bits))
      tables.warps[bit] = static_cast<ElementBits>(resultCount << i);
    llvm::Value *readSlot = lowering_.threadElement(reads);
    llvm::Value *table = lowering_.threadElement(tables);
    Slots slots(lowering_, op_.getOperands(), resultCount * tableCount);
    const auto numberOf = [&](uint32_t reg) {
      return builder.CreateXor(readSlot, lowering_.i32(combine(map, layout_.registerElement(reg))));
    };
    // One lane and warp of those that hold the same.
    const uint32_t others = along_.lanes | free_.lanes | (free_.warps << 5);
    llvm::Value *writes = nullptr;
    if (others != 0)
      writes = builder.CreateICmpEQ(builder.CreateAnd(lowering_.threadId(), lowering_.i32(others)),
                                    lowering_.i32(0));
    lowering_.onlyIf(writes, [&] {
      for (const uint32_t reg : kept())
        slots.store(builder.CreateAdd(numberOf(reg), table, "", true, true), elements_[reg]);
    });
    lowering_.barrier();
    const llvm::SmallVector<int> readers = lanesForTables(bits.size());
    llvm::Value *own = readers.empty() ? lowering_.i32(0) : tableOfLane(readers, resultCount);
    for (const uint32_t reg : kept()) {
      llvm::Value *slot = builder.CreateAdd(numberOf(reg), own, "", true, true);
      // Table i with table i + count / 2 and so on, one after the other: few are held at a time.
      const std::function<Elements(int, int)> combined = [&](int first, int step) -> Elements {
        if (step == tableCount)
          return slots.load(
              builder.CreateAdd(slot, lowering_.i32(first * resultCount), "", true, true));
        const Elements low = combined(first, 2 * step);
        return combine_(low, combined(first + step, 2 * step));
      };
      elements_[reg] = combined(0, 1 << readers.size());
      for (const int bit : llvm::reverse(readers))
        elements_[reg] = combinedWithLane(elements_[reg], bit);
    }
  }

  /// The lane bits whose lanes share the reading of 2^count tables, each taking the lowest bits of
  /// a table's number; none when every thread reads all.
  llvm::SmallVector<int> lanesForTables(size_t count) const {
    // With fewer tables, reading all of them is as quick as shuffles, which wait for one another.
    constexpr size_t kLeastCount = 5;
    llvm::SmallVector<int> lanes;
    for (int bit = 0; bit < static_cast<int>(layout_.lanes.size()); ++bit)
      if (((along_.lanes | free_.lanes) >> bit & 1) != 0 && lanes.size() < count)
        lanes.push_back(bit);
    if (count < kLeastCount)
      lanes.clear();
    return lanes;
  }

  /// What this lane and the one that differs in `bit` have, the lane without the bit first.
  Elements combinedWithLane(const Elements &own, int bit) {
    const Elements other =
        shuffled(own, [&](llvm::Value *value) { return lowering_.shuffleXor(value, 1 << bit); });
    if (combine_.isCommutative())
      return combine_(own, other);
    llvm::IRBuilder<> &builder = lowering_.builder();
    llvm::Value *isSecond = builder.CreateICmpNE(
        builder.CreateAnd(lowering_.laneId(), lowering_.i32(1 << bit)), lowering_.i32(0));
    Elements first, second;
    for (auto [mine, theirs] : llvm::zip(own, other)) {
      first.push_back(builder.CreateSelect(isSecond, theirs, mine));
      second.push_back(builder.CreateSelect(isSecond, mine, theirs));
    }
    return combine_(first, second);
  }

  /// Where the table of this thread's lane begins, in slots.
  llvm::Value *tableOfLane(llvm::ArrayRef<int> lanes, int64_t resultCount) {
    LinearLayout tables;
    tables.lanes.resize(layout_.lanes.size(), 0);
    for (auto [i, bit] : llvm::enumerate(lanes))
      tables.lanes[bit] = static_cast<ElementBits>(resultCount << i);
    return lowering_.threadElement(tables);
  }

  Lowering &lowering_;
  tl::ReduceOp op_;
  LinearLayout layout_;
  InputBits along_, free_;
  ShapeBits shape_;
  int axis_;
  Combine combine_;
  llvm::SmallVector<Elements> elements_; ///< by register
};

} // namespace

llvm::ArrayRef<LoweringRow> reduceRows() {
  static constexpr LoweringRow kRows[] = {
      {"tl.reduce", lowerCombining<tl::ReduceOp, bitsAlong, Reduction>}};
  return kRows;
}

} // namespace blockscope::gpu
