// What cp.async needs: pieces of 4, 8 or 16 bytes, zeros elsewhere, no order with other accesses.
#include "gpu_backend/pipelining/async_copy.h"

#include "gpu_backend/passes/shared_operands.h"

using namespace mlir;

namespace blockscope::gpu {

AsyncCopy asyncCopyOf(tl::LoadOp load, bool withOther) {
  constexpr int kLeastBytes = 4;
  const auto type = dyn_cast<RankedTensorType>(load.getType());
  const auto vector = load->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
  const llvm::StringRef cache = load.getCacheModifier();
  const auto no = [](LoadReason why) { return AsyncCopy{{}, why}; };
  if (!type || !vector || (load.getMask() && !tlg::hasLayout(load.getMask().getType())))
    return no(LoadReason::NotATile);
  const SharedLayout layout = sharedForOperand(type, vector[0]);
  // Memory and the buffer may be in another order: what follows in both.
  const int bytes = contiguousBytes(layout, ShapeBits(type.getShape()), vector[0],
                                    vector[1] * layout.elementBytes);
  const int pieceBytes = vectorStore(tlg::layoutOf(type), layout, bytes).vectorBytes;
  if (pieceBytes < kLeastBytes)
    return {{}, LoadReason::Narrow, pieceBytes};
  if (load.getIsVolatile())
    return no(LoadReason::Volatile);
  if (!cache.empty() && cache != ".ca" && cache != ".cg")
    return no(LoadReason::CacheModifier);
  if (hasOther(load) && !withOther)
    return no(LoadReason::Other);
  return {tlg::sharedType(type.getShape(), type.getElementType(), layout)};
}

} // namespace blockscope::gpu
