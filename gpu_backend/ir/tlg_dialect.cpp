// The `tlg` dialect: registration, and layouts as attributes of types.
#include "gpu_backend/ir/tlg_dialect.h"

#include "core/ir/tl_dialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include "gpu_backend/ir/tlg_dialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "gpu_backend/ir/tlg_attributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "gpu_backend/ir/tlg_types.cpp.inc"
#define GET_OP_CLASSES
#include "gpu_backend/ir/tlg_ops.cpp.inc"

namespace blockscope::tlg {
namespace {

/// Printed IR names each layout once, as `#layout`, `#layout1` and so on.
class LayoutAliases : public mlir::OpAsmDialectInterface {
public:
  using mlir::OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(mlir::Attribute attribute, llvm::raw_ostream &name) const override {
    if (!mlir::isa<LayoutAttr>(attribute))
      return AliasResult::NoAlias;
    name << "layout";
    return AliasResult::FinalAlias;
  }
};

} // namespace

void TLGDialect::initialize() {
  addInterfaces<LayoutAliases>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "gpu_backend/ir/tlg_attributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "gpu_backend/ir/tlg_types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "gpu_backend/ir/tlg_ops.cpp.inc"
      >();
}

mlir::OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  return {};
}

namespace {

using Effects =
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>;

/// A dot reads those of its operands that are in shared memory.
template <typename Dot> void addReads(Dot dot, Effects &effects) {
  if (mlir::isa<SharedType>(dot.getA().getType()) || mlir::isa<SharedType>(dot.getB().getType()))
    effects.emplace_back(mlir::MemoryEffects::Read::get());
}

} // namespace

void FmaOp::getEffects(Effects &effects) { addReads(*this, effects); }

void MmaOp::getEffects(Effects &effects) { addReads(*this, effects); }

gpu::LinearLayout toLayout(LayoutAttr attribute) {
  gpu::LinearLayout layout;
  layout.registers.assign(attribute.getRegisters().begin(), attribute.getRegisters().end());
  layout.lanes.assign(attribute.getLanes().begin(), attribute.getLanes().end());
  layout.warps.assign(attribute.getWarps().begin(), attribute.getWarps().end());
  return layout;
}

LayoutAttr toAttribute(mlir::MLIRContext *context, const gpu::LinearLayout &layout) {
  return LayoutAttr::get(context, layout.registers, layout.lanes, layout.warps);
}

gpu::LinearLayout layoutOf(mlir::Type type) {
  return toLayout(mlir::cast<LayoutAttr>(mlir::cast<mlir::RankedTensorType>(type).getEncoding()));
}

bool hasLayout(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && mlir::isa_and_nonnull<LayoutAttr>(tensor.getEncoding());
}

mlir::RankedTensorType withLayout(mlir::Type type, const gpu::LinearLayout &layout) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  return mlir::RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                                     toAttribute(tensor.getContext(), layout));
}

gpu::SharedLayout sharedLayoutOf(SharedType type) {
  gpu::SharedLayout layout;
  layout.offsets.assign(type.getOffsets().begin(), type.getOffsets().end());
  layout.elementBytes = elementBytes(type.getElementType());
  return layout;
}

SharedType sharedType(llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                      const gpu::SharedLayout &layout, int stages) {
  return SharedType::get(elementType.getContext(), shape, elementType, layout.offsets, stages);
}

int elementBytes(mlir::Type type) {
  type = mlir::getElementTypeOrSelf(type);
  if (mlir::isa<tl::PtrType>(type))
    return 8;
  if (mlir::isa<tl::F8E4M3B15Type>(type))
    return 1;
  return static_cast<int>((type.getIntOrFloatBitWidth() + 7) / 8);
}

} // namespace blockscope::tlg
