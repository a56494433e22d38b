// A warp at a time, lane by lane.
#include "tests/unit/gpu/layout_simulate.h"

#include <algorithm>
#include <map>
#include <set>

namespace blockscope::gpu {
namespace {

template <typename Function> void forEachThread(const RegisterFile &file, Function function) {
  for (size_t warp = 0; warp < file.size(); ++warp)
    for (size_t lane = 0; lane < file[warp].size(); ++lane)
      function(static_cast<uint32_t>(warp), static_cast<uint32_t>(lane));
}

bool isIdle(const InputBits &idle, uint32_t lane, uint32_t warp) {
  return (lane & idle.lanes) || (warp & idle.warps);
}

RegisterFile runShuffles(const ShufflePlan &plan, const RegisterFile &source,
                         const LinearLayout &destination) {
  RegisterFile first = source, second = emptyFile(destination), result = second;
  const auto exchange = [](std::vector<int64_t> &values, const RegisterExchange &swap,
                           uint32_t lane, uint32_t warp) {
    if (!swap.appliesTo(lane, warp))
      return;
    const std::vector<int64_t> before = values;
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = before[i ^ swap.flip];
  };
  forEachThread(source, [&](uint32_t warp, uint32_t lane) {
    second[warp][lane].assign(plan.receivedCount, -1);
    for (const RegisterExchange &swap : plan.before)
      exchange(first[warp][lane], swap, lane, warp);
  });
  forEachThread(source, [&](uint32_t warp, uint32_t lane) {
    for (const ShuffleStep &step : plan.steps)
      for (size_t i = 0; i < step.sent.size(); ++i)
        second[warp][lane][step.received[i]] =
            first[warp][plan.sourceLane(lane, warp) ^ step.laneFlip][step.sent[i]];
  });
  forEachThread(source, [&](uint32_t warp, uint32_t lane) {
    for (const RegisterExchange &swap : plan.after)
      exchange(second[warp][lane], swap, lane, warp);
    for (size_t reg = 0; reg < plan.results.size(); ++reg)
      result[warp][lane][reg] = second[warp][lane][plan.results[reg]];
  });
  return result;
}

/// Calls `function(warp, offsets)` per vector and warp, `offsets[lane]` within the round or -1.
template <typename Function>
void forEachVector(const SharedPlan &plan, const SharedAccess &access, int round, size_t warps,
                   Function function) {
  for (const SharedVector &vector : access.vectors) {
    if (plan.uniformRounds && vector.offsetBytes / plan.roundBytes != static_cast<uint32_t>(round))
      continue;
    for (uint32_t warp = 0; warp < warps; ++warp) {
      std::vector<int64_t> offsets(32, -1);
      for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t offset = vector.offsetBytes ^ access.threadOffsetBytes(lane, warp);
        if (!isIdle(access.idle, lane, warp) &&
            offset / plan.roundBytes == static_cast<uint32_t>(round))
          offsets[lane] = offset % plan.roundBytes;
      }
      function(vector, warp, offsets);
    }
  }
}

/// Where the units of an instruction's matrices lie: calls
/// `function(register, lane, offset)` for each element of a warp; returns wavefronts.
template <typename Function>
int forEachMatrixElement(const MatrixAccess &access, int elementBytes,
                         const MatrixInstruction &instruction, uint32_t warp, Function function) {
  int wavefronts = 0;
  const int pack = access.registersPerWord, inUnit = 2 / elementBytes; // of .trans: 16 bits
  for (int matrix = 0; matrix < access.matrices; ++matrix) {
    std::vector<int64_t> rows(32, -1);
    for (uint32_t row = 0; row < 8; ++row)
      rows[row] = instruction.offsetBytes ^ combine(access.lanes, 8 * matrix + row) ^
                  combine(access.warps, warp);
    // Eight rows of 16 bytes are one phase of vector accesses.
    wavefronts += countWavefronts(rows, 16);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      for (int part = 0; part < pack; ++part) {
        const int64_t offset =
            access.transposed
                ? rows[2 * (lane % 4) + part / inUnit] + lane / 4 * 2 + part % inUnit * elementBytes
                : rows[lane / 4] + lane % 4 * 4 + part * elementBytes;
        function(instruction.registers[matrix * pack + part], lane, offset);
      }
    }
  }
  return wavefronts;
}

template <typename Function>
AccessCount runMatrices(const MatrixAccess &access, int elementBytes, uint32_t roundBytes,
                        int round, size_t warps, Function function) {
  AccessCount count;
  for (const MatrixInstruction &instruction : access.instructions) {
    if (roundBytes && instruction.offsetBytes / roundBytes != static_cast<uint32_t>(round))
      continue;
    for (uint32_t warp = 0; warp < warps; ++warp)
      if (!isIdle(access.idle, 0, warp))
        count.wavefronts += forEachMatrixElement(
            access, elementBytes, instruction, warp,
            [&](uint32_t reg, uint32_t lane, int64_t offset) {
              function(warp, lane, reg, roundBytes ? offset % roundBytes : offset);
            });
  }
  return count;
}

} // namespace

RegisterFile fill(const LinearLayout &layout) {
  RegisterFile file = emptyFile(layout);
  forEachThread(file, [&](uint32_t warp, uint32_t lane) {
    for (int reg = 0; reg < layout.registerCount(); ++reg)
      file[warp][lane][reg] = layout.element(reg, lane, warp);
  });
  return file;
}

RegisterFile emptyFile(const LinearLayout &layout) {
  return RegisterFile(layout.warpCount(),
                      std::vector<std::vector<int64_t>>(
                          layout.laneCount(), std::vector<int64_t>(layout.registerCount(), -1)));
}

void SharedMemory::write(uint32_t offset, int64_t element) {
  ++writes_;
  for (int byte = 0; byte < elementBytes_; ++byte)
    bytes_.at(offset + byte) = element * 8 + byte;
}

int64_t SharedMemory::read(uint32_t offset) const {
  for (int byte = 0; byte < elementBytes_; ++byte)
    if (bytes_.at(offset + byte) < 0 || bytes_.at(offset + byte) != bytes_.at(offset) + byte)
      return -1;
  return bytes_.at(offset) % 8 == 0 ? bytes_.at(offset) / 8 : -1;
}

int countWavefronts(const std::vector<int64_t> &offsets, int vectorBytes) {
  const int lanesPerPhase = vectorBytes <= 4 ? 32 : 128 / vectorBytes;
  int wavefronts = 0;
  for (int first = 0; first < 32; first += lanesPerPhase) {
    std::map<int64_t, std::set<int64_t>> wordsOfBank;
    for (int lane = first; lane < first + lanesPerPhase; ++lane)
      for (int64_t offset = offsets[lane]; offset >= 0 && offset < offsets[lane] + vectorBytes;
           ++offset)
        wordsOfBank[offset / 4 % 32].insert(offset / 4);
    size_t most = 0;
    for (const auto &[bank, words] : wordsOfBank)
      most = std::max(most, words.size());
    wavefronts += static_cast<int>(most);
  }
  return wavefronts;
}

AccessCount runStore(const SharedPlan &plan, int round, const RegisterFile &source,
                     SharedMemory &memory) {
  AccessCount count;
  forEachVector(
      plan, plan.store, round, source.size(),
      [&](const SharedVector &vector, uint32_t warp, const std::vector<int64_t> &offsets) {
        count.wavefronts += countWavefronts(offsets, plan.store.vectorBytes);
        for (uint32_t lane = 0; lane < 32; ++lane)
          for (size_t i = 0; offsets[lane] >= 0 && i < vector.registers.size(); ++i)
            memory.write(offsets[lane] + i * plan.layout.elementBytes,
                         source[warp][lane][vector.registers[i]]);
      });
  return count;
}

AccessCount runLoad(const SharedPlan &plan, int round, const SharedMemory &memory,
                    RegisterFile &destination) {
  AccessCount count;
  forEachVector(
      plan, plan.load, round, destination.size(),
      [&](const SharedVector &vector, uint32_t warp, const std::vector<int64_t> &offsets) {
        count.wavefronts += countWavefronts(offsets, plan.load.vectorBytes);
        for (uint32_t lane = 0; lane < 32; ++lane)
          for (size_t i = 0; offsets[lane] >= 0 && i < vector.registers.size(); ++i)
            destination[warp][lane][vector.registers[i]] =
                memory.read(offsets[lane] + i * plan.layout.elementBytes);
      });
  return count;
}

AccessCount runMatrixStore(const MatrixAccess &access, int elementBytes, uint32_t roundBytes,
                           int round, const RegisterFile &source, SharedMemory &memory) {
  return runMatrices(access, elementBytes, roundBytes, round, source.size(),
                     [&](uint32_t warp, uint32_t lane, uint32_t reg, int64_t offset) {
                       memory.write(offset, source[warp][lane][reg]);
                     });
}

AccessCount runMatrixLoad(const MatrixAccess &access, int elementBytes, uint32_t roundBytes,
                          int round, const SharedMemory &memory, RegisterFile &destination) {
  return runMatrices(access, elementBytes, roundBytes, round, destination.size(),
                     [&](uint32_t warp, uint32_t lane, uint32_t reg, int64_t offset) {
                       destination[warp][lane][reg] = memory.read(offset);
                     });
}

Simulated simulateShared(const SharedPlan &plan, const RegisterFile &source,
                         const LinearLayout &destination) {
  Simulated result;
  result.destination = emptyFile(destination);
  const int bytes = plan.layout.elementBytes;
  for (int round = 0; round < plan.rounds; ++round) {
    SharedMemory memory(plan.roundBytes, bytes);
    result.storeWavefronts +=
        (plan.matrixStore
             ? runMatrixStore(*plan.matrixStore, bytes, plan.roundBytes, round, source, memory)
             : runStore(plan, round, source, memory))
            .wavefronts;
    result.elementsWritten += memory.writes();
    result.loadWavefronts +=
        (plan.matrixLoad ? runMatrixLoad(*plan.matrixLoad, bytes, plan.roundBytes, round, memory,
                                         result.destination)
                         : runLoad(plan, round, memory, result.destination))
            .wavefronts;
  }
  forEachThread(source, [&](uint32_t warp, uint32_t lane) {
    std::vector<int64_t> &registers = result.destination[warp][lane];
    const std::vector<int64_t> loaded = registers;
    for (size_t reg = 0; reg < registers.size(); ++reg)
      registers[reg] = loaded[plan.copyOf[reg]];
  });
  return result;
}

Simulated simulate(const ConversionPlan &plan, const RegisterFile &source,
                   const LinearLayout &destination) {
  Simulated result;
  switch (plan.kind) {
  case ConversionPlan::Kind::None:
    result.destination = source;
    break;
  case ConversionPlan::Kind::Registers:
    result.destination = emptyFile(destination);
    forEachThread(source, [&](uint32_t warp, uint32_t lane) {
      for (size_t reg = 0; reg < plan.registers.size(); ++reg)
        result.destination[warp][lane][reg] = source[warp][lane][plan.registers[reg]];
    });
    break;
  case ConversionPlan::Kind::Shuffles:
    result.destination = runShuffles(*plan.shuffles, source, destination);
    break;
  case ConversionPlan::Kind::Shared:
    result = simulateShared(*plan.shared, source, destination);
    break;
  }
  return result;
}

} // namespace blockscope::gpu
