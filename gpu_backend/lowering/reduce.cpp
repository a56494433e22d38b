// Reductions: the registers of a thread first, then lanes by shuffles, then warps through shared
// memory, each only as far as the layout has bits along the axis.
//
// Bits are taken from the highest coordinate to the lowest, so that element i meets i + n/2 first,
// as in the evaluator. Where the order of two elements makes no difference, registers go before
// lanes and lanes before warps, whatever their bits, which exchanges least, and registers begin
// with neighbours; so sums of floats may differ from the CPU's in the last bits. Other combine
// functions get their elements in the order of the evaluator, to the last bit. In the end every
// thread has the result of its elements: scalars are the same everywhere. Threads and lanes look
// for the extreme value with its place in a way of its own (extreme_search.h).
#include "gpu_backend/lowering/combine.h"
#include "gpu_backend/lowering/extreme_search.h"
#include "gpu_backend/lowering/families.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/shape_layouts.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/FormatVariadic.h"

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
    if (combine_.isCommutative()) {
      if (const std::optional<Extreme> extreme = extremeOf(op_.getCombine().front()))
        search_.emplace(lowering_, *extreme, !op_.getResult(0).use_empty());
      if (search_)
        findExtremes();
      else
        reduceRegisters();
      if (along_.warps != 0 || isSharingQuicker())
        shareResults();
      reduceLanes();
      if (along_.warps != 0)
        reduceWarps();
      else
        giveResults();
    } else {
      reduceInOrder(*ownersAlong(layout_, shape_, axis_));
    }
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
      const bool isUsed = !op_.getResult(i).use_empty();
      for (const uint32_t reg : kept())
        result[places[reg]] = finished(elements_[reg][i], isUsed);
    }
    return results;
  }

private:
  llvm::Value *finished(llvm::Value *result, bool isUsed) {
    return isUsed && along_.warps != 0 ? madeHere(lowering_, result) : result;
  }

  /// The registers that hold partial results after those of the thread are combined.
  llvm::SmallVector<uint32_t> kept() const {
    return registersWithout(along_.registers | sharing_.registers, layout_);
  }

  /// Whether a function is computed for each element right before, which takes longer than to add
  /// what comes out.
  bool isOfFunctions() const {
    constexpr size_t kMostOps = 8;
    llvm::SmallSetVector<Operation *, kMostOps> ops;
    const auto add = [&](ValueRange values) {
      for (Value value : values)
        if (Operation *op = value.getDefiningOp();
            op && op->getBlock() == op_->getBlock() && tl::isElementwise(op))
          ops.insert(op);
    };
    add(op_->getOperands());
    for (size_t i = 0; i < ops.size() && i < kMostOps; ++i) {
      const OpFacts *facts = tl::factsOf(ops[i]);
      if (facts && facts->cost == OpCost::Function)
        return true;
      add(ops[i]->getOperands());
    }
    return false;
  }

  /// One after the other, as accesses bring them: few registers are needed, and what is multiplied
  /// is added in one instruction. Where a thread has few results, several sums of each, so that
  /// instructions need not wait for one another; but one sum of functions' results, or ptxas
  /// computes elements that are far apart at the same time, and waits for them.
  void reduceRegisters() {
    const uint32_t least = isOfFunctions() ? 1 : 4;
    uint32_t split = 0; // bits of registers that tell the sums of a result apart
    for (uint32_t rest = along_.registers;
         rest != 0 && sumsWithout(along_.registers & ~split) < least; rest &= rest - 1)
      split |= rest & -rest;
    const uint32_t along = along_.registers & ~split;
    const bool isInOrder = registersFollowAxis();
    for (uint32_t reg = 0; reg < elements_.size(); ++reg) {
      if ((reg & along) == 0)
        continue;
      Elements &sum = elements_[reg & ~along];
      sum = isInOrder ? combine_.inOrder(sum, elements_[reg]) : combine_(sum, elements_[reg]);
    }
    for (; split != 0; split &= split - 1) {
      const uint32_t bit = split & -split;
      for (const uint32_t reg :
           registersWithout(along_.registers & ~(split & (split - 1)), layout_))
        elements_[reg] = combine_(elements_[reg], elements_[reg | bit]);
    }
  }

  /// Registers of argmax and the like.
  void findExtremes() {
    const bool isInOrder = registersFollowAxis() && combine_.hasPlaces();
    for (const uint32_t kept : kept()) {
      llvm::SmallVector<Elements> elements;
      llvm::SmallVector<int64_t> steps;
      for (uint32_t reg = 0; reg < elements_.size(); ++reg) {
        if ((reg & ~along_.registers) != kept)
          continue;
        elements.push_back(elements_[reg]);
        if (isInOrder)
          steps.push_back(coordinateOf(reg) - coordinateOf(kept));
      }
      elements_[kept] = isInOrder && isWide() ? ofNeighbours(elements)
                                              : search_->inThread(elements, steps, combine_);
    }
  }

  /// Whether no instruction gives the larger one of two values, of floats. Of integers, LLVM makes
  /// the same of both ways.
  bool isWide() const { return elements_.front()[0]->getType()->isDoubleTy(); }

  /// Of elements in order, combined with their neighbours.
  Elements ofNeighbours(llvm::SmallVector<Elements> elements) {
    for (; elements.size() > 1; elements.resize((elements.size() + 1) / 2))
      for (size_t i = 0; i < elements.size(); i += 2)
        elements[i / 2] =
            i + 1 < elements.size() ? combine_.inOrder(elements[i], elements[i + 1]) : elements[i];
    return elements.front();
  }

  int64_t coordinateOf(uint32_t reg) const {
    return shape_.coordinate(layout_.registerElement(reg), axis_);
  }

  /// Whether a thread's registers with higher numbers have higher coordinates along the axis.
  bool registersFollowAxis() const {
    const auto owners = ownersAlong(layout_, shape_, axis_);
    int last = -1;
    for (const BitOwner &owner : owners.value_or(llvm::SmallVector<BitOwner>())) {
      if (owner.level != Level::Registers)
        continue;
      if (owner.bit < last)
        return false;
      last = owner.bit;
    }
    return owners.has_value();
  }

  size_t sumsWithout(uint32_t bits) const { return registersWithout(bits, layout_).size(); }

  /// One bit of the lanes after the other that have parts of the same results, the highest along
  /// the axis first.
  llvm::SmallVector<int> lanesInTurn() const {
    auto bits = inOrderOfAxis(along_.lanes & ~sharing_.lanes, layout_.lanes, shape_, axis_);
    std::reverse(bits.begin(), bits.end());
    return bits;
  }

  /// Whether lanes that share results exchange fewer values than lanes that each combine all, if
  /// in the end each asks for all results, and by so many that one more exchange to wait for pays.
  bool isSharingQuicker() const {
    constexpr size_t kLeastResults = 4;
    constexpr double kFewer = 0.65;
    const size_t results = kept().size();
    const auto lanes = static_cast<size_t>(llvm::popcount(along_.lanes));
    const size_t steps = std::min<size_t>(lanes, llvm::Log2_64(results));
    const size_t left = results >> steps;
    const size_t shared = (results - left) + (lanes - steps) * left + results;
    const bool isPacked = elementsTogether(elements_[kept().front()]) > 1; // few exchanges anyway
    return results >= kLeastResults && !isPacked &&
           static_cast<double>(shared) <= kFewer * static_cast<double>(lanes * results);
  }

  /// Where a thread has several results that lanes have parts of, and warps tell one another what
  /// they have anyway, or many lanes would exchange each, a lane need not have all of them: of two
  /// lanes each takes half, and gives the other one its part of the other half. Then each has as
  /// many as are left, and writes or gives them.
  void shareResults() {
    const Bases map = slicedElements(shape_, axis_);
    llvm::SmallVector<int> results; // register bits, of neighbours first
    for (const uint32_t flag : kept())
      if (llvm::isPowerOf2_32(flag))
        results.push_back(static_cast<int>(llvm::Log2_32(flag)));
    llvm::sort(results, [&](int a, int b) {
      return std::pair(combine(map, layout_.registers[a]), a) <
             std::pair(combine(map, layout_.registers[b]), b);
    });
    // Integers of a warp, and places in it, are reduced in one instruction each.
    const bool isAtOnce = along_.lanes == 31 && (search_ ? results.size() < 2 : isReducedAtOnce());
    if (isAtOnce)
      return;
    llvm::IRBuilder<> &builder = lowering_.builder();
    for (auto [lane, result] : llvm::zip(lanesInTurn(), results)) {
      const uint32_t laneFlag = 1U << lane, flag = 1U << result;
      llvm::Value *takesUpper = builder.CreateICmpNE(
          builder.CreateAnd(lowering_.laneId(), lowering_.i32(laneFlag)), lowering_.i32(0));
      sharing_.lanes |= laneFlag;
      sharing_.registers |= flag;
      shared_.emplace_back(lane, result);
      const auto chosen = [&](const Elements &ifUpper, const Elements &ifLower) {
        Elements elements;
        for (auto [upper, lower] : llvm::zip_equal(ifUpper, ifLower))
          elements.push_back(builder.CreateSelect(takesUpper, upper, lower));
        return elements;
      };
      const llvm::SmallVector<uint32_t> registers = kept();
      const size_t together = elementsTogether(elements_[registers.front()]);
      for (size_t first = 0; first < registers.size(); first += together) {
        const auto some = llvm::ArrayRef(registers).drop_front(first).take_front(together);
        llvm::SmallVector<Elements> given, own;
        for (const uint32_t reg : some) {
          given.push_back(chosen(elements_[reg], elements_[reg | flag]));
          own.push_back(chosen(elements_[reg | flag], elements_[reg]));
        }
        const auto taken = shuffledTogether(builder, given, [&](llvm::Value *value) {
          return lowering_.shuffleXor(value, 1 << lane);
        });
        for (const auto &[reg, mine, other] : llvm::zip_equal(some, own, taken))
          elements_[reg] = ofBoth(mine, other);
      }
    }
  }

  /// Gives all lanes the results that they have shared among themselves.
  void giveResults() {
    if (shared_.empty())
      return;
    llvm::IRBuilder<> &builder = lowering_.builder();
    llvm::Value *first = builder.CreateAnd(lowering_.laneId(), lowering_.i32(31 & ~sharing_.lanes));
    llvm::SmallVector<Elements> all(elements_.size());
    for (const uint32_t reg : registersWithout(along_.registers, layout_)) {
      uint32_t holder = 0;
      for (const auto &[lane, result] : shared_)
        holder |= ((reg >> result) & 1) << lane;
      llvm::Value *lane = builder.CreateOr(first, lowering_.i32(holder));
      all[reg] = shuffled(elements_[reg & ~sharing_.registers],
                          [&](llvm::Value *value) { return lowering_.shuffle(value, lane); });
    }
    elements_ = std::move(all);
    sharing_ = {};
  }

  /// One element of two, in any order.
  Elements ofBoth(const Elements &lhs, const Elements &rhs) {
    return search_ ? search_->ofTwo(lhs, rhs) : combine_(lhs, rhs);
  }

  void reduceLanes() {
    const uint32_t lanes = along_.lanes & ~sharing_.lanes;
    if (lanes == 0)
      return;
    const llvm::SmallVector<uint32_t> registers = kept();
    const bool isEach = search_ || isReducedAtOnce();
    const size_t atMost = isEach ? 1 : elementsTogether(elements_[registers.front()]);
    // For a single pair LLVM would pack all that a thread has added up for it.
    const bool isFew = along_.registers != 0 && registers.size() <= atMost;
    const size_t together = isFew ? 1 : atMost;
    for (size_t first = 0; first < registers.size(); first += together) {
      const auto some = llvm::ArrayRef(registers).drop_front(first).take_front(together);
      if (search_)
        elements_[some.front()] = search_->inLanes(elements_[some.front()], lanes);
      else if (isEach)
        elements_[some.front()] = {reduceWarpAtOnce(elements_[some.front()])};
      else
        reduceLanesOf(some, lanes);
    }
  }

  /// Of some registers, whose small values are shuffled together.
  void reduceLanesOf(llvm::ArrayRef<uint32_t> registers, uint32_t lanes) {
    for (const int bit : lanesInTurn()) {
      llvm::SmallVector<Elements> own;
      for (const uint32_t reg : registers)
        own.push_back(elements_[reg]);
      const auto others = shuffledTogether(lowering_.builder(), own, [&](llvm::Value *value) {
        return lowering_.shuffleXor(value, 1 << bit);
      });
      for (const auto &[reg, mine, other] : llvm::zip_equal(registers, own, others))
        elements_[reg] = combine_(mine, other);
    }
    if (along_.warps == 0)
      for (const uint32_t reg : registers)
        elements_[reg] = sameInLanes(elements_[reg], lanes);
  }

  /// One of what lanes have that combined what they had with what others had: of elements that
  /// compare equal, or with a NaN, they may have taken different ones.
  Elements sameInLanes(const Elements &elements, uint32_t bits) {
    return combine_.isSameInLanes() ? elements : ofFirstLane(elements, bits);
  }

  /// What the lane without `bits` has.
  Elements ofFirstLane(const Elements &elements, uint32_t bits) {
    llvm::Value *first =
        lowering_.builder().CreateAnd(lowering_.laneId(), lowering_.i32(31 & ~bits));
    return shuffled(elements, [&](llvm::Value *value) { return lowering_.shuffle(value, first); });
  }

  /// What combines integers over all lanes of a warp; `not_intrinsic` where nothing does.
  llvm::Intrinsic::ID reducingIntrinsic() const {
    using namespace llvm::Intrinsic;
    return llvm::StringSwitch<ID>(combine_.onlyOp())
        .Case("arith.addi", nvvm_redux_sync_add)
        .Case("arith.andi", nvvm_redux_sync_and)
        .Case("arith.maxsi", nvvm_redux_sync_max)
        .Case("arith.maxui", nvvm_redux_sync_umax)
        .Case("arith.minsi", nvvm_redux_sync_min)
        .Case("arith.minui", nvvm_redux_sync_umin)
        .Case("arith.ori", nvvm_redux_sync_or)
        .Case("arith.xori", nvvm_redux_sync_xor)
        .Default(not_intrinsic);
  }

  bool isReducedAtOnce() const {
    return along_.lanes == 31 && reducingIntrinsic() != llvm::Intrinsic::not_intrinsic &&
           elements_.front()[0]->getType()->getIntegerBitWidth() <= 32;
  }

  /// Integers of up to 32 bits over all lanes of a warp in one instruction.
  llvm::Value *reduceWarpAtOnce(const Elements &elements) {
    using namespace llvm::Intrinsic;
    const ID intrinsic = reducingIntrinsic();
    llvm::Type *type = elements[0]->getType();
    llvm::IRBuilder<> &builder = lowering_.builder();
    const bool isSigned = intrinsic == nvvm_redux_sync_max || intrinsic == nvvm_redux_sync_min;
    llvm::Value *wide = isSigned ? builder.CreateSExt(elements[0], builder.getInt32Ty())
                                 : builder.CreateZExt(elements[0], builder.getInt32Ty());
    return builder.CreateTrunc(builder.CreateIntrinsic(intrinsic, {}, {wide, lowering_.i32(-1)}),
                               type);
  }

  /// Each warp writes what it has, at the number of the result's element, in a table of its own;
  /// every thread then combines the tables. Many tables are read by as many lanes of those that
  /// want the same, which then combine what they have. Many results are combined by a thread each,
  /// and read by all.
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
    LinearLayout written = reads;
    for (const auto &[lane, result] : shared_)
      written.lanes[lane] = combine(map, layout_.registers[result]);
    tables.warps.resize(layout_.warps.size(), 0);
    for (auto [i, bit] : llvm::enumerate(bits))
      tables.warps[bit] = static_cast<ElementBits>(resultCount << i);
    llvm::Value *readSlot = lowering_.threadElement(reads);
    llvm::Value *table = lowering_.threadElement(tables);
    Slots slots(lowering_, op_.getOperands(), resultCount * tableCount);
    const auto numberOf = [&](uint32_t reg) {
      return builder.CreateXor(readSlot, lowering_.i32(combine(map, layout_.registerElement(reg))));
    };
    llvm::Value *writeSlot = shared_.empty() ? readSlot : lowering_.threadElement(written);
    // One lane and warp of those that hold the same.
    const uint32_t others = (along_.lanes & ~sharing_.lanes) | free_.lanes | (free_.warps << 5);
    llvm::Value *writes = nullptr;
    if (others != 0)
      writes = builder.CreateICmpEQ(builder.CreateAnd(lowering_.threadId(), lowering_.i32(others)),
                                    lowering_.i32(0));
    const auto registers = kept();
    slots.storeEach(writes, registers.size(), [&](size_t i) {
      llvm::Value *number = builder.CreateXor(
          writeSlot, lowering_.i32(combine(map, layout_.registerElement(registers[i]))));
      return std::pair(builder.CreateAdd(number, table, "", true, true), elements_[registers[i]]);
    });
    lowering_.barrier();
    sharing_ = {}; // from here on each thread has all results
    // Table i with table i + count / 2 and so on, one after the other: few are held at a time.
    const auto combinedAt = [&](llvm::Value *slot, int tablesOfOther) {
      const std::function<Elements(int, int)> combined = [&](int first, int step) -> Elements {
        if (step == tableCount)
          return slots.load(
              builder.CreateAdd(slot, lowering_.i32(first * resultCount), "", true, true));
        const Elements low = combined(first, 2 * step);
        return ofBoth(low, combined(first + step, 2 * step));
      };
      return combined(0, tablesOfOther);
    };
    if (isCombinedApart(kept().size(), resultCount, tableCount)) {
      combineApart(resultCount, [&](llvm::Value *slot) { slots.store(slot, combinedAt(slot, 1)); });
      for (const uint32_t reg : kept())
        elements_[reg] = slots.load(numberOf(reg));
      return;
    }
    const llvm::SmallVector<int> readers = lanesForTables(bits.size());
    llvm::Value *own = readers.empty() ? lowering_.i32(0) : tableOfLane(readers, resultCount);
    for (const uint32_t reg : kept()) {
      elements_[reg] =
          combinedAt(builder.CreateAdd(numberOf(reg), own, "", true, true), 1 << readers.size());
      uint32_t lanes = 0;
      for (const int bit : llvm::reverse(readers)) {
        elements_[reg] = combinedWithLane(elements_[reg], bit);
        lanes |= 1U << bit;
      }
      if (lanes != 0)
        elements_[reg] = sameInLanes(elements_[reg], lanes);
    }
  }

  // Costs are about cycles of a multiprocessor, which begins four instructions of combine functions
  // and one shuffle or load from shared memory at a time.
  static constexpr int64_t kIssues = 4, kVector = 4;

  /// What it costs that `warps` warps combine `tables` tables of one result of each thread.
  int64_t tableCost(int64_t warps, int64_t tables, int64_t tablesAtOnce) const {
    return warps * ((tables - 1) * combine_.instructions() / kIssues +
                    tables * static_cast<int64_t>(elements_.front().size()) / tablesAtOnce);
  }

  /// How many warps read a register, if each thread wants so many.
  int64_t readings(size_t registers) const {
    return static_cast<int64_t>(registers) * (int64_t{1} << layout_.warps.size());
  }

  /// Whether it is quicker that threads combine the tables of a few results each, and then read
  /// those `wanted` by each, than that each combines all that it wants.
  bool isCombinedApart(size_t wanted, int64_t resultCount, int64_t tables) const {
    constexpr size_t kLeastResults = 4;
    constexpr int64_t kBarrierCycles = 80; // and what is waited for behind it
    constexpr int64_t kWaitCycles = 4;     // of a thread for what it has begun
    const auto parts = static_cast<int64_t>(elements_.front().size());
    const int64_t apart = tableCost(llvm::divideCeil(resultCount, 32), tables, 1) +
                          tables * kWaitCycles * combine_.instructions() + kBarrierCycles +
                          readings(wanted) * parts / kVector;
    return wanted >= kLeastResults && apart < tableCost(readings(wanted), tables, kVector);
  }

  /// Has the threads do something for each result, whose number it gets; all see what that stores.
  void combineApart(int64_t resultCount, llvm::function_ref<void(llvm::Value *)> combineTables) {
    llvm::IRBuilder<> &builder = lowering_.builder();
    const int64_t threads = int64_t{32} << layout_.warps.size();
    llvm::Value *thread = lowering_.threadId();
    llvm::Value *hasOne =
        resultCount < threads
            ? builder.CreateICmpULT(thread, lowering_.i32(static_cast<uint32_t>(resultCount)))
            : nullptr;
    lowering_.onlyIf(hasOne, [&] {
      for (int64_t first = 0; first < resultCount; first += threads)
        combineTables(
            builder.CreateAdd(thread, lowering_.i32(static_cast<uint32_t>(first)), "", true, true));
    });
    lowering_.barrier();
  }

  /// The lane bits whose lanes share the reading of 2^count tables, each taking the lowest bits of
  /// a table's number; none when it is quicker that every thread reads all.
  llvm::SmallVector<int> lanesForTables(size_t count) const {
    // Where a CTA has many tables it has as many warps, and some of these run while others wait for
    // a shuffle. A vector for all lanes takes two cycles of shared memory.
    constexpr int64_t kShuffleCycles = 12, kTablesAtOnce = 2;
    llvm::SmallVector<int> lanes;
    for (int bit = 0; bit < static_cast<int>(layout_.lanes.size()); ++bit)
      if (((along_.lanes | free_.lanes) >> bit & 1) != 0 && lanes.size() < count)
        lanes.push_back(bit);
    const auto rounds = static_cast<int64_t>(count), tables = int64_t{1} << count;
    const auto parts = static_cast<int64_t>(elements_.front().size());
    const int64_t instructions = combine_.instructions();
    const int64_t times = readings(kept().size());
    const int64_t alone = tableCost(times, tables, kTablesAtOnce);
    const int64_t shared = times * (rounds * parts + rounds * instructions / kIssues + parts) +
                           rounds * kShuffleCycles; // each waits for the one before
    if (alone <= shared)
      lanes.clear();
    return lanes;
  }

  /// What this lane and the one that differs in `bit` have.
  Elements combinedWithLane(const Elements &own, int bit) {
    const Elements other =
        shuffled(own, [&](llvm::Value *value) { return lowering_.shuffleXor(value, 1 << bit); });
    return combine_(own, other);
  }

  /// Where the table of this thread's lane begins, in slots.
  llvm::Value *tableOfLane(llvm::ArrayRef<int> lanes, int64_t resultCount) {
    LinearLayout tables;
    tables.lanes.resize(layout_.lanes.size(), 0);
    for (auto [i, bit] : llvm::enumerate(lanes))
      tables.lanes[bit] = static_cast<ElementBits>(resultCount << i);
    return lowering_.threadElement(tables);
  }

  // -- in order -----------------------------------------------------------------------------------

  /// Takes the bits of the axis one by one, from the highest to the lowest.
  void reduceInOrder(llvm::ArrayRef<BitOwner> owners) {
    for (int axisBit = static_cast<int>(owners.size()) - 1; axisBit >= 0;) {
      const BitOwner owner = owners[axisBit];
      if (owner.level == Level::Warps) {
        int count = 1;
        while (count <= axisBit && owners[axisBit - count].level == Level::Warps)
          ++count;
        axisBit -= count;
        reduceWarpsInOrder(owners.slice(axisBit + 1, count), axisBit + 1);
        continue;
      }
      const uint32_t flag = 1U << owner.bit;
      if (owner.level == Level::Registers) {
        done_.registers |= flag;
        for (const uint32_t reg : registersWithout(done_.registers, layout_))
          elements_[reg] = combine_(elements_[reg], elements_[reg | flag]);
      } else {
        done_.lanes |= flag;
        for (const uint32_t reg : registersWithout(done_.registers, layout_)) {
          elements_[reg] = combinedWithLane(elements_[reg], owner.bit);
          // Only the lanes at the start of the axis combine in order: all take their result.
          if (axisBit == 0 || owners[axisBit - 1].level == Level::Registers)
            elements_[reg] = ofFirstLane(elements_[reg], done_.lanes);
        }
      }
      --axisBit;
    }
  }

  /// The warps write what they have to one table, and every thread combines what differs from its
  /// own in the bits `owners` of the axis, of which `firstBit` is the lowest.
  void reduceWarpsInOrder(llvm::ArrayRef<BitOwner> owners, int firstBit) {
    llvm::IRBuilder<> &builder = lowering_.builder();
    const int tableCount = 1 << owners.size();
    // The number of an element without the bits of the axis that are done.
    const int shift = shape_.shift(axis_), kept = firstBit + static_cast<int>(owners.size());
    const auto slotOf = [&](ElementBits element) {
      const ElementBits low = element & ((ElementBits{1} << (shift + kept)) - 1);
      return low | ((element >> (shift + shape_.width(axis_))) << (shift + kept));
    };
    uint32_t segment = 0;
    for (const BitOwner owner : owners)
      segment |= 1U << owner.bit;
    LinearLayout own, others; // in `others` the segment's bits are 0
    for (const ElementBits basis : layout_.lanes)
      own.lanes.push_back(slotOf(basis));
    for (const ElementBits basis : layout_.warps)
      own.warps.push_back(slotOf(basis));
    others = own;
    for (const BitOwner owner : owners)
      others.warps[owner.bit] = 0;
    const int64_t slotCount = int64_t{1} << (shape_.width() - shape_.width(axis_) + kept);
    Slots slots(lowering_, op_.getOperands(), slotCount);
    const uint32_t copies = done_.lanes | free_.lanes | ((done_.warps | free_.warps) << 5);
    llvm::Value *writes = nullptr;
    if (copies != 0)
      writes = builder.CreateICmpEQ(builder.CreateAnd(lowering_.threadId(), lowering_.i32(copies)),
                                    lowering_.i32(0));
    const auto registers = registersWithout(done_.registers, layout_);
    llvm::Value *ownThread = lowering_.threadElement(own);
    slots.storeEach(writes, registers.size(), [&](size_t i) {
      const ElementBits number = slotOf(layout_.registerElement(registers[i]));
      return std::pair(builder.CreateXor(ownThread, lowering_.i32(number)),
                       elements_[registers[i]]);
    });
    lowering_.barrier();
    // In the number of a slot the table's stands between those of the elements around it.
    const int tableBit = shift + firstBit;
    const auto combinedAt = [&](llvm::Value *slot) {
      const std::function<Elements(int, int)> combined = [&](int first, int step) -> Elements {
        if (step == tableCount)
          return slots.load(
              builder.CreateXor(slot, lowering_.i32(static_cast<ElementBits>(first) << tableBit)));
        const Elements low = combined(first, 2 * step);
        return combine_(low, combined(first + step, 2 * step));
      };
      return combined(0, 1);
    };
    llvm::Value *thread = lowering_.threadElement(others);
    const auto slotFor = [&](uint32_t reg) {
      return builder.CreateXor(thread, lowering_.i32(slotOf(layout_.registerElement(reg))));
    };
    const int64_t resultCount = slotCount / tableCount;
    const bool isApart = isCombinedApart(registers.size(), resultCount, tableCount);
    if (isApart)
      combineApart(resultCount, [&](llvm::Value *result) {
        llvm::Value *low = builder.CreateAnd(result, lowering_.i32((1U << tableBit) - 1));
        llvm::Value *high = builder.CreateShl(builder.CreateSub(result, low),
                                              lowering_.i32(static_cast<uint32_t>(owners.size())));
        llvm::Value *slot = builder.CreateOr(low, high);
        slots.store(slot, combinedAt(slot));
      });
    for (const uint32_t reg : registers)
      elements_[reg] = isApart ? slots.load(slotFor(reg)) : combinedAt(slotFor(reg));
    done_.warps |= segment;
  }

  Lowering &lowering_;
  tl::ReduceOp op_;
  LinearLayout layout_;
  InputBits along_, free_;
  InputBits done_; ///< of the bits that are taken in order
  ShapeBits shape_;
  int axis_;
  Combine combine_;
  std::optional<ExtremeSearch> search_;
  llvm::SmallVector<Elements> elements_; ///< by register
  /// Lane bits, and the register bits of the results among which each chooses; all of them.
  llvm::SmallVector<std::pair<int, int>> shared_;
  InputBits sharing_;
};

LogicalResult lowerReduce(Lowering &lowering, Operation *op) {
  auto reduce = cast<tl::ReduceOp>(op);
  const ShapeBits shape(cast<RankedTensorType>(op->getOperand(0).getType()).getShape());
  const auto axis = static_cast<int>(reduce.getAxis());
  const bool isOrdered = !Combine(lowering, op).isCommutative();
  return lowerAlongAxis(
      lowering, op, axis,
      [&](const LinearLayout &layout) {
        return bitsAlong(layout, shape, axis) && (!isOrdered || ownersAlong(layout, shape, axis));
      },
      [&](const LinearLayout &layout, llvm::ArrayRef<Registers> operands) {
        return Reduction(lowering, reduce, layout).run(operands, *bitsAlong(layout, shape, axis));
      });
}

} // namespace

llvm::ArrayRef<LoweringRow> reduceRows() {
  static constexpr LoweringRow kRows[] = {{"tl.reduce", lowerReduce}};
  return kRows;
}

} // namespace blockscope::gpu
