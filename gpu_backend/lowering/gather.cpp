// tl.gather: where each warp holds what its threads ask for, lanes ask one another; else the source
// goes to shared memory, and every thread picks its elements from there.
#include "gpu_backend/lowering/combine.h"
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/partial_sort.h"

#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/layout/shared_layout.h"

#include "core/ir/tl_dialect.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Stores the elements with coordinates below `needed`, a power of two, along the last dimension,
/// which has `width` bits; their slots are numbered without the others.
void storeFirst(Lowering &lowering, Slots &slots, llvm::ArrayRef<llvm::Value *> registers,
                const LinearLayout &layout, int width, int64_t needed) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const int kept = static_cast<int>(llvm::Log2_64(needed));
  const ElementBits beyond = (ElementBits{1} << width) - (ElementBits{1} << kept);
  const ElementBits ofThreads = flippedBits(layout.lanes) | flippedBits(layout.warps);
  const uint32_t copies = freeBits(layout).registers;
  llvm::Value *thread = lowering.threadElement(layout);
  llvm::Value *threadBeyond = builder.CreateAnd(thread, lowering.i32(beyond));
  lowering.onlyIf(lowering.ownsElements(layout), [&] {
    for (auto [reg, value] : llvm::enumerate(registers)) {
      const ElementBits own = layout.registerElement(reg);
      if ((reg & copies) != 0 || (own & beyond & ~ofThreads) != 0)
        continue;
      llvm::Value *element = builder.CreateXor(thread, lowering.i32(own));
      llvm::Value *row = builder.CreateShl(builder.CreateLShr(element, width), kept);
      llvm::Value *slot =
          builder.CreateOr(row, builder.CreateAnd(element, lowering.i32(needed - 1)));
      lowering.onlyIf(builder.CreateICmpEQ(threadBeyond, lowering.i32(own & beyond)),
                      [&, value = value] { slots.store(slot, {value}); });
    }
  });
}

/// Where a warp holds what its threads ask for: bit b of an index along the axis is bit
/// `laneBits[b]` of a lane's number, or bits `registerBits[b]` of a register's; the other is 0.
struct WarpSource {
  Bases laneBits, registerBits;
  uint32_t lanes = 0;                    ///< all of `laneBits`
  llvm::SmallVector<uint32_t> registers; ///< for a register of the result, that of index 0

  /// How many registers hold what an index may ask for.
  int candidates() const {
    return 1 << llvm::count_if(registerBits, [](ElementBits bits) { return bits != 0; });
  }
};

/// Whether two elements of two blocks differ along no dimension but `axis`.
bool areInOneRow(ElementBits a, const ShapeBits &ofA, ElementBits b, const ShapeBits &ofB,
                 int axis) {
  for (int dim = 0; dim < ofA.rank(); ++dim)
    if (dim != axis && ofA.coordinate(a, dim) != ofB.coordinate(b, dim))
      return false;
  return true;
}

/// Nothing where a thread would ask another warp, or several lanes could be meant.
std::optional<WarpSource> sourceInWarp(const LinearLayout &source, const ShapeBits &sourceShape,
                                       const LinearLayout &result, const ShapeBits &shape,
                                       int axis) {
  const int width = sourceShape.width(axis);
  WarpSource found{Bases(width, 0), Bases(width, 0), 0, {}};
  ElementBits owned = 0;
  // A basis that moves along the axis moves along nothing else, one bit, and no other does so.
  const auto own = [&](ElementBits basis, Bases &bits, size_t number) {
    if ((basis & ~sourceShape.mask(axis)) != 0 || llvm::popcount(basis) != 1 ||
        (owned & basis) != 0)
      return false;
    owned |= basis;
    bits[llvm::countr_zero(basis) - sourceShape.shift(axis)] = ElementBits{1} << number;
    return true;
  };
  for (const auto &[has, wants] : llvm::zip_equal(source.warps, result.warps))
    if (sourceShape.coordinate(has, axis) != 0 ||
        !areInOneRow(has, sourceShape, wants, shape, axis))
      return std::nullopt;
  for (size_t i = 0; i < source.lanes.size(); ++i) {
    const ElementBits basis = source.lanes[i];
    if (!areInOneRow(basis, sourceShape, result.lanes[i], shape, axis))
      return std::nullopt;
    if (sourceShape.coordinate(basis, axis) == 0)
      continue;
    if (!own(basis, found.laneBits, i))
      return std::nullopt;
    found.lanes |= 1U << i;
  }
  for (size_t i = 0; i < source.registers.size(); ++i)
    if (sourceShape.coordinate(source.registers[i], axis) != 0 &&
        !own(source.registers[i], found.registerBits, i))
      return std::nullopt;
  if (owned != sourceShape.mask(axis))
    return std::nullopt;
  for (uint32_t reg = 0; reg < static_cast<uint32_t>(result.registerCount()); ++reg) {
    uint32_t first = 0;
    const auto isFirst = [&] {
      const ElementBits element = source.registerElement(first);
      return sourceShape.coordinate(element, axis) == 0 &&
             areInOneRow(element, sourceShape, result.registerElement(reg), shape, axis);
    };
    while (first < static_cast<uint32_t>(source.registerCount()) && !isFirst())
      ++first;
    if (first == static_cast<uint32_t>(source.registerCount()))
      return std::nullopt;
    found.registers.push_back(first);
  }
  return found;
}

/// The element at `index` for a register of the result.
llvm::Value *fromWarp(Lowering &lowering, const WarpSource &source,
                      llvm::ArrayRef<llvm::Value *> registers, uint32_t reg, llvm::Value *index) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Value *lane =
      builder.CreateOr(builder.CreateAnd(lowering.laneId(), lowering.i32(31 & ~source.lanes)),
                       lowering.combined(source.laneBits, index));
  llvm::SmallVector<llvm::Value *> values{lowering.shuffle(registers[source.registers[reg]], lane)};
  llvm::SmallVector<uint32_t> offsets{0};
  for (const ElementBits basis : source.registerBits) {
    if (basis == 0)
      continue;
    for (size_t i = 0, count = offsets.size(); i < count; ++i) {
      offsets.push_back(offsets[i] ^ static_cast<uint32_t>(basis));
      values.push_back(lowering.shuffle(registers[source.registers[reg] ^ offsets.back()], lane));
    }
  }
  for (size_t bit = source.registerBits.size(); bit-- > 0;) {
    if (source.registerBits[bit] == 0)
      continue;
    llvm::Value *isSet =
        builder.CreateTrunc(builder.CreateLShr(index, uint64_t{bit}), builder.getInt1Ty());
    const size_t half = values.size() / 2;
    for (size_t i = 0; i < half; ++i)
      values[i] = builder.CreateSelect(isSet, values[half + i], values[i]);
    values.resize(half);
  }
  return values.front();
}

/// Whether an index is one of `size`, and its lowest bits as i32: those of another one lead to
/// another element, which nobody takes.
std::pair<llvm::Value *, llvm::Value *> indexInside(llvm::IRBuilder<> &builder, llvm::Value *index,
                                                    int64_t size) {
  if (index->getType()->getIntegerBitWidth() < 32)
    index = builder.CreateSExt(index, builder.getInt32Ty());
  // Negative indices are outside, too.
  llvm::Value *isInside =
      builder.CreateICmpULT(index, llvm::ConstantInt::get(index->getType(), size));
  return {isInside, builder.CreateTrunc(index, builder.getInt32Ty())};
}

LogicalResult lowerGather(Lowering &lowering, Operation *op) {
  auto gather = cast<tl::GatherOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const auto sourceType = cast<RankedTensorType>(gather.getSource().getType());
  const auto type = cast<RankedTensorType>(gather.getType());
  const ShapeBits sourceShape(sourceType.getShape());
  const int axis = static_cast<int>(gather.getAxis());
  const llvm::ArrayRef<llvm::Value *> source = lowering.get(gather.getSource());
  constexpr int kMostCandidates = 2; // of more, loads from shared memory pick quicker
  const std::optional<WarpSource> inWarp =
      sourceInWarp(tlg::layoutOf(sourceType), sourceShape, tlg::layoutOf(type),
                   ShapeBits(type.getShape()), axis);
  if (inWarp && inWarp->candidates() <= kMostCandidates) {
    Registers results;
    for (auto [reg, index] : llvm::enumerate(lowering.get(gather.getIndices()))) {
      const auto [isInside, at] = indexInside(builder, index, sourceType.getDimSize(axis));
      llvm::Value *value = fromWarp(lowering, *inWarp, source, reg, at);
      results.push_back(
          builder.CreateSelect(isInside, value, llvm::Constant::getNullValue(value->getType())));
    }
    lowering.set(gather, results);
    return success();
  }

  // Of a sort of which only the first elements are needed, these are stored alone.
  auto sort = gather.getSource().getDefiningOp<tl::SortOp>();
  const bool isAlongSort = sort && axis + 1 == sourceShape.rank();
  const int64_t size = sourceType.getDimSize(axis);
  const int64_t needed = isAlongSort ? neededOfSort(sort) : size;
  Slots slots(lowering, gather.getSource(), sourceType.getNumElements() / (size / needed));
  const int left = static_cast<int>(llvm::Log2_64(size / needed)); // out of an element's number
  if (left == 0)
    slots.storeBlock(source, tlg::layoutOf(sourceType));
  else
    storeFirst(lowering, slots, source, tlg::layoutOf(sourceType), sourceShape.width(axis), needed);
  lowering.barrier();

  llvm::SmallVector<Registers> coordinates;
  for (int dim = 0; dim < sourceShape.rank(); ++dim)
    coordinates.push_back(dim == axis ? Registers() : lowering.coordinates(type, dim));
  Registers results;
  const llvm::ArrayRef<llvm::Value *> indices = lowering.get(gather.getIndices());
  for (int reg = 0; reg < Lowering::registerCount(type); ++reg) {
    const auto [isInside, any] = indexInside(builder, indices[reg], sourceType.getDimSize(axis));
    llvm::Value *index = builder.CreateSelect(isInside, any, lowering.i32(0));
    llvm::Value *element = builder.CreateShl(index, sourceShape.shift(axis));
    for (int dim = 0; dim < sourceShape.rank(); ++dim)
      if (dim != axis)
        element = builder.CreateOr(
            element, builder.CreateShl(coordinates[dim][reg], sourceShape.shift(dim) - left));
    llvm::Value *value = slots.load(element)[0];
    results.push_back(
        builder.CreateSelect(isInside, value, llvm::Constant::getNullValue(value->getType())));
  }
  lowering.set(gather, results);
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> gatherRows() {
  static constexpr LoweringRow kRows[] = {{"tl.gather", lowerGather}};
  return kRows;
}

} // namespace blockscope::gpu
