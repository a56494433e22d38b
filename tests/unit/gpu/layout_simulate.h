// Executes conversion plans on plain arrays, as the hardware would, and counts bank conflicts.
#pragma once

#include "gpu_backend/layout/conversion.h"

#include <vector>

namespace blockscope::gpu {

/// Element numbers by [warp][lane][register]; -1 where nothing was written.
using RegisterFile = std::vector<std::vector<std::vector<int64_t>>>;

/// What each thread holds by the layout's definition.
RegisterFile fill(const LinearLayout &layout);
RegisterFile emptyFile(const LinearLayout &layout);

/// Shared memory that knows which byte of which element each of its bytes is.
class SharedMemory {
public:
  SharedMemory(uint32_t sizeBytes, int elementBytes)
      : bytes_(sizeBytes, -1), elementBytes_(elementBytes) {}

  void write(uint32_t offset, int64_t element);
  /// -1 unless a whole element is at `offset`.
  int64_t read(uint32_t offset) const;
  int writes() const { return writes_; }

private:
  std::vector<int64_t> bytes_; // element * 8 + byte
  int elementBytes_, writes_ = 0;
};

/// The wavefronts of one access of a warp: `offsets[lane]`, negative for lanes that take part in
/// none.
int countWavefronts(const std::vector<int64_t> &offsets, int vectorBytes);

/// What a simulated access did: wavefronts of all warps.
struct AccessCount {
  int wavefronts = 0;
};

/// Round `round` of a shared plan's vector accesses.
AccessCount runStore(const SharedPlan &plan, int round, const RegisterFile &source,
                     SharedMemory &memory);
AccessCount runLoad(const SharedPlan &plan, int round, const SharedMemory &memory,
                    RegisterFile &destination);

/// Whole accesses by matrices; only instructions of one round when `roundBytes` is not 0.
AccessCount runMatrixStore(const MatrixAccess &access, int elementBytes, uint32_t roundBytes,
                           int round, const RegisterFile &source, SharedMemory &memory);
AccessCount runMatrixLoad(const MatrixAccess &access, int elementBytes, uint32_t roundBytes,
                          int round, const SharedMemory &memory, RegisterFile &destination);

/// What a conversion gives, and what it cost.
struct Simulated {
  RegisterFile destination;
  int storeWavefronts = 0, loadWavefronts = 0; // of all warps
  int elementsWritten = 0;
};
Simulated simulate(const ConversionPlan &plan, const RegisterFile &source,
                   const LinearLayout &destination);
Simulated simulateShared(const SharedPlan &plan, const RegisterFile &source,
                         const LinearLayout &destination);

} // namespace blockscope::gpu
