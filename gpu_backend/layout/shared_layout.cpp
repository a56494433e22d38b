// Swizzles as linear maps, vectors as register runs of byte offsets, conflicts as ranks.
#include "gpu_backend/layout/shared_layout.h"
#include "gpu_backend/layout/f2_matrix.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>

namespace blockscope::gpu {
namespace {

constexpr int kMaxVectorBytes = 16, kWordBytes = 4;
constexpr uint32_t kBanks = 32;

SharedAccess vectorAccess(const LinearLayout &layout, const SharedLayout &shared,
                          int maxVectorBytes, const InputBits &idle) {
  const LinearLayout offsets = inShared(layout, shared);
  Bases directions;
  for (int step = shared.elementBytes; 2 * step <= std::min(maxVectorBytes, kMaxVectorBytes);
       step *= 2)
    directions.push_back(step);
  const RegisterRuns runs = registerRuns(offsets, directions);

  SharedAccess access;
  access.vectorBytes = runs.length * shared.elementBytes;
  access.lanes = offsets.lanes;
  access.warps = offsets.warps;
  access.idle = idle;
  const llvm::ArrayRef<uint32_t> order = runs.order;
  for (int start = 0; start < runs.distinct; start += runs.length) {
    SharedVector vector{offsets.registerElement(order[start]), {}};
    llvm::append_range(vector.registers, order.slice(start, runs.length));
    access.vectors.push_back(std::move(vector));
  }
  access.wavefronts = static_cast<int>(access.vectors.size()) *
                      accessWavefronts(offsets.lanes, access.vectorBytes, idle.lanes);
  return access;
}

} // namespace

LinearLayout inShared(const LinearLayout &layout, const SharedLayout &shared) {
  return {f2::multiply(shared.offsets, layout.registers),
          f2::multiply(shared.offsets, layout.lanes), f2::multiply(shared.offsets, layout.warps)};
}

int contiguousBytes(const SharedLayout &layout, const ShapeBits &shape, int dim, int mostBytes) {
  int bytes = layout.elementBytes;
  for (int bit = 0; bit < shape.width(dim) && 2 * bytes <= mostBytes; ++bit, bytes *= 2)
    if (layout.offsets[shape.shift(dim) + bit] != static_cast<uint32_t>(bytes))
      break;
  return bytes;
}

SharedLayout plainShared(int width, int elementBytes) {
  SharedLayout shared{{}, elementBytes};
  for (int bit = 0; bit < width; ++bit)
    shared.offsets.push_back(static_cast<uint32_t>(elementBytes) << bit);
  return shared;
}

SharedLayout swizzledShared(llvm::ArrayRef<int64_t> shape, int contiguousDim, int elementBytes,
                            int swizzleBytes) {
  const ShapeBits bits(shape);
  const int last = bits.rank() - 1, rowDim = 2 * last - 1 - contiguousDim;
  assert(last >= 1 && (contiguousDim == last || contiguousDim == last - 1));
  assert((swizzleBytes == 128 || swizzleBytes == 64 || swizzleBytes == 32));
  assert(shape[contiguousDim] * elementBytes >= swizzleBytes && shape[rowDim] >= 8);

  SharedLayout shared{Bases(bits.width(), 0), elementBytes};
  uint32_t next = elementBytes; // the lowest byte offset that is not given out
  const auto place = [&](int dim, int first, int end) {
    for (int bit = first; bit < end; ++bit, next *= 2)
      shared.offsets[bits.shift(dim) + bit] = next ^ (((next >> 7) & (swizzleBytes / 16 - 1)) << 4);
  };
  const int chunkBits = static_cast<int>(llvm::Log2_32(swizzleBytes / elementBytes));
  place(contiguousDim, 0, chunkBits);
  place(rowDim, 0, bits.width(rowDim));
  place(contiguousDim, chunkBits, bits.width(contiguousDim));
  for (int dim = last - 2; dim >= 0; --dim)
    place(dim, 0, bits.width(dim));
  return shared;
}

SharedLayout withReversedSwizzle(SharedLayout layout) {
  constexpr uint32_t kChunkBytes = 16, kRowBytes = 128;
  const auto place = [](ElementBits offset) { return llvm::bit_floor(offset); };
  const auto flips = [&](ElementBits offset) {
    return offset == 0 ? 0 : (offset ^ place(offset)) & (kRowBytes - kChunkBytes);
  };
  ElementBits all = 0;
  for (const ElementBits offset : layout.offsets)
    all |= flips(offset);
  for (ElementBits &offset : layout.offsets) {
    ElementBits reversed = 0;
    for (ElementBits low = kChunkBytes, high = place(all); low <= all; low *= 2, high /= 2)
      reversed |= (flips(offset) & low) != 0 ? high : 0;
    offset = (offset ^ flips(offset)) | reversed;
  }
  return layout;
}

int phaseWavefronts(llvm::ArrayRef<ElementBits> offsets) {
  Bases words, banks;
  for (const ElementBits offset : offsets) {
    words.push_back(offset / kWordBytes);
    banks.push_back(offset / kWordBytes % kBanks);
  }
  return 1 << (f2::rank(words) - f2::rank(banks));
}

int accessWavefronts(llvm::ArrayRef<ElementBits> lanes, int vectorBytes, uint32_t idleLanes) {
  const int phaseBits = static_cast<int>(llvm::Log2_32(std::max(vectorBytes / kWordBytes, 1)));
  const int lanesPerPhase = static_cast<int>(lanes.size()) - phaseBits;
  Bases offsets;
  int phases = 1;
  for (int bit = 0; bit < static_cast<int>(lanes.size()); ++bit) {
    if ((idleLanes >> bit) & 1)
      continue;
    if (bit < lanesPerPhase)
      offsets.push_back(lanes[bit]);
    else
      phases *= 2;
  }
  for (int word = kWordBytes; word < vectorBytes; word *= 2)
    offsets.push_back(word);
  return phases * phaseWavefronts(offsets);
}

SharedAccess vectorStore(const LinearLayout &layout, const SharedLayout &shared,
                         int maxVectorBytes) {
  InputBits idle = freeBits(inShared(layout, shared));
  idle.registers = 0; // they are in no vector
  return vectorAccess(layout, shared, maxVectorBytes, idle);
}

SharedAccess vectorLoad(const LinearLayout &layout, const SharedLayout &shared,
                        int maxVectorBytes) {
  return vectorAccess(layout, shared, maxVectorBytes, {});
}

} // namespace blockscope::gpu
