// Compares the ways of converting a block.
#include "gpu_backend/layout/conversion.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/layout/swizzle.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>

namespace blockscope::gpu {
namespace {

// Prices in quarters of a wavefront: an SM issues four instructions of warps per clock, but does
// one wavefront or shuffle and two selects. A barrier of the block costs about what 30 wavefronts
// do, one of the warp much less.
//
// Source: CUDA C++ Programming Guide, "Arithmetic Instructions", throughput on 8.x and 9.0: 32
// lanes of a shuffle a clock, 64 of integer operations.
constexpr int kWavefront = 4, kSelect = 2, kInstruction = 1;
constexpr int kBlockBarrier = 30 * kWavefront, kWarpBarrier = 6 * kWavefront;

/// Whether rounds of `bytes` leave the access's instructions whole and the same in all threads.
bool isUniform(llvm::ArrayRef<ElementBits> lanes, llvm::ArrayRef<ElementBits> warps,
               uint32_t bytes) {
  const auto inside = [&](ElementBits offset) { return offset < bytes; };
  return llvm::all_of(lanes, inside) && llvm::all_of(warps, inside);
}

int instructionCount(const SharedPlan &plan) {
  return static_cast<int>(
      (plan.matrixStore ? plan.matrixStore->instructions.size() : plan.store.vectors.size()) +
      (plan.matrixLoad ? plan.matrixLoad->instructions.size() : plan.load.vectors.size()));
}

/// 32-bit registers that have to be put together from narrow elements, or split: those whose
/// elements are not neighbours among the layout's registers.
int repackCount(const SharedAccess &access, int elementBytes) {
  const size_t pack = std::max(4 / elementBytes, 1);
  if (pack == 1)
    return 0;
  size_t elements = 0, whole = 0;
  for (const SharedVector &vector : access.vectors) {
    const llvm::ArrayRef<uint32_t> registers = vector.registers;
    elements += registers.size();
    for (size_t start = 0; start + pack <= registers.size(); start += pack) {
      bool neighbours = registers[start] % pack == 0;
      for (size_t i = 1; i < pack; ++i)
        neighbours &= registers[start + i] == registers[start] + i;
      whole += neighbours ? pack : 0;
    }
  }
  return static_cast<int>((elements - whole + pack - 1) / pack);
}

/// 32-bit registers that an instruction loads beside others than those that `tupleWords` wants them
/// beside: each of them is moved.
int movedWords(llvm::ArrayRef<uint32_t> registers, int elementBytes, int tupleWords) {
  const size_t pack = std::max(4 / elementBytes, 1);
  const size_t words = registers.size() / pack, tuple = std::min<size_t>(words, tupleWords);
  int moved = 0;
  for (size_t first = 0; first < words; first += tuple) {
    const uint32_t begin = registers[first * pack];
    bool follow = begin / pack % tuple == 0;
    for (size_t word = 0; word < tuple; ++word)
      follow &= registers[(first + word) * pack] == begin + word * pack;
    moved += follow ? 0 : static_cast<int>(tuple);
  }
  return moved;
}

int movedWords(const SharedPlan &plan, int tupleWords) {
  const int bytes = plan.layout.elementBytes;
  int moved = 0;
  if (plan.matrixLoad)
    for (const MatrixInstruction &instruction : plan.matrixLoad->instructions)
      moved += movedWords(instruction.registers, bytes, tupleWords);
  else
    for (const SharedVector &vector : plan.load.vectors)
      moved += movedWords(vector.registers, bytes, tupleWords);
  return moved;
}

int repackCount(const SharedPlan &plan) {
  const int bytes = plan.layout.elementBytes;
  return (plan.matrixStore ? 0 : repackCount(plan.store, bytes)) +
         (plan.matrixLoad ? 0 : repackCount(plan.load, bytes));
}

int cost(const SharedPlan &plan, const ConversionOptions &options) {
  // Where threads differ in what a round moves, each round has all instructions, predicated.
  const int instructions = instructionCount(plan) * (plan.uniformRounds ? 1 : plan.rounds);
  // And what a round loads is chosen from what the ones before have.
  int chosen = 0;
  if (!plan.uniformRounds)
    for (const SharedVector &vector : plan.load.vectors)
      chosen += static_cast<int>(vector.registers.size()) * (plan.rounds - 1);
  return plan.wavefronts() * kWavefront + instructions * kInstruction +
         (repackCount(plan) + movedWords(plan, options.tupleWords) + chosen) * kSelect +
         plan.rounds * 2 * (plan.withinWarps ? kWarpBarrier : kBlockBarrier);
}

/// Narrow elements share a shuffle: each word is put together from them and taken apart.
int repackCount(const ShufflePlan &plan) {
  int count = 0;
  for (const ShuffleStep &step : plan.steps)
    count += 2 * (static_cast<int>(step.sent.size()) - 1);
  return count;
}

int cost(const ShufflePlan &plan, int elementBytes) {
  const int selects = plan.selectCount * std::max(elementBytes / 4, 1) + repackCount(plan);
  return plan.shuffleCount * (kWavefront + kInstruction) + selects * kSelect;
}

/// Keeps a matrix access that is possible in every round and no slower than vectors; it also puts
/// narrow elements into 32-bit registers.
void chooseMatrix(std::optional<MatrixAccess> &matrix, const SharedAccess &vectors,
                  const SharedPlan &plan) {
  if (!matrix || !isUniform(matrix->lanes, matrix->warps, plan.roundBytes) ||
      matrix->wavefronts > vectors.wavefronts ||
      matrix->instructions.size() > vectors.vectors.size())
    matrix.reset();
}

SharedPlan planThrough(const SharedLayout &shared, const LinearLayout &source,
                       const LinearLayout &destination, const ConversionOptions &options) {
  SharedPlan plan;
  plan.layout = shared;
  plan.store = vectorStore(source, shared);
  plan.load = vectorLoad(destination, shared);
  plan.roundBytes = std::min(shared.sizeBytes(), llvm::bit_floor(options.sharedLimitBytes));
  plan.rounds = static_cast<int>(shared.sizeBytes() / plan.roundBytes);
  plan.uniformRounds = isUniform(plan.store.lanes, plan.store.warps, plan.roundBytes) &&
                       isUniform(plan.load.lanes, plan.load.warps, plan.roundBytes);
  plan.withinWarps = freeBits(source).warps == 0 && staysInWarps(source, destination);
  plan.copyOf = *sourceRegisters(destination, destination);
  if (options.matrixStore)
    plan.matrixStore = matrixStore(source, shared);
  if (options.matrixLoad)
    plan.matrixLoad = matrixLoad(destination, shared);
  chooseMatrix(plan.matrixStore, plan.store, plan);
  chooseMatrix(plan.matrixLoad, plan.load, plan);
  return plan;
}

} // namespace

SharedPlan planShared(const LinearLayout &source, const LinearLayout &destination, int width,
                      int elementBytes, const ConversionOptions &options) {
  assert(options.sharedLimitBytes >= 128 && "less than a row of the banks");
  assert(isSurjective(source, width) && isSurjective(destination, width));
  using Access = SwizzleGoal::Access;
  const uint64_t rounds =
      (uint64_t(elementBytes) << width) / llvm::bit_floor(options.sharedLimitBytes);
  llvm::SmallVector<SwizzleGoal> goals;
  for (const bool forLoad : {true, false}) {
    for (int bytes = 16; bytes >= std::max(elementBytes, 4); bytes /= 2) {
      goals.push_back({Access::Vectors, forLoad, bytes});
      if (rounds > 1)
        goals.push_back({Access::Vectors, forLoad, bytes, static_cast<int>(llvm::Log2_64(rounds))});
    }
    if (forLoad ? options.matrixLoad : options.matrixStore)
      for (const Access access : {Access::Matrices, Access::TransposedMatrices})
        goals.push_back({access, forLoad});
  }
  std::optional<SharedPlan> best;
  for (const SwizzleGoal &goal : goals) {
    const auto shared = swizzleBetween(source, destination, width, elementBytes, goal);
    if (!shared)
      continue;
    SharedPlan plan = planThrough(*shared, source, destination, options);
    if (!best || cost(plan, options) < cost(*best, options))
      best = std::move(plan);
  }
  return *std::move(best);
}

ConversionPlan planConversion(const LinearLayout &source, const LinearLayout &destination,
                              int width, int elementBytes, const ConversionOptions &options) {
  assert(source.lanes.size() == destination.lanes.size() &&
         source.warps.size() == destination.warps.size());
  ConversionPlan plan;
  if (source == destination)
    return plan;
  if (const auto registers = sourceRegisters(destination, source)) {
    plan.kind = ConversionPlan::Kind::Registers;
    plan.registers = *registers;
    return plan;
  }
  SharedPlan shared = planShared(source, destination, width, elementBytes, options);
  if (options.shuffles) {
    plan.shuffles = planShuffles(source, destination, elementBytes);
    if (plan.shuffles && cost(*plan.shuffles, elementBytes) <= cost(shared, options)) {
      plan.kind = ConversionPlan::Kind::Shuffles;
      plan.cost = cost(*plan.shuffles, elementBytes);
      return plan;
    }
    plan.shuffles.reset();
  }
  plan.kind = ConversionPlan::Kind::Shared;
  plan.cost = cost(shared, options);
  plan.shared = std::move(shared);
  return plan;
}

} // namespace blockscope::gpu
