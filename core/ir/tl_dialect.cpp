// The `tl` dialect: registration, folding and inlining.
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#include "core/ir/tl_dialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "core/ir/tl_types.cpp.inc"
#define GET_OP_CLASSES
#include "core/ir/tl_ops.cpp.inc"

namespace blockscope::tl {
namespace {

/// Every tl op may be inlined anywhere.
struct TLInliner : mlir::DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(mlir::Operation *, mlir::Operation *, bool) const final { return true; }
  bool isLegalToInline(mlir::Region *, mlir::Region *, bool, mlir::IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(mlir::Operation *, mlir::Region *, bool, mlir::IRMapping &) const final {
    return true;
  }
};

} // namespace

void TLDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "core/ir/tl_types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "core/ir/tl_ops.cpp.inc"
      >();
  addInterfaces<TLInliner>();
}

mlir::Operation *TLDialect::materializeConstant(mlir::OpBuilder &builder, mlir::Attribute value,
                                                mlir::Type type, mlir::Location location) {
  return mlir::arith::ConstantOp::materialize(builder, value, type, location);
}

/// A constant scalar makes a constant block.
mlir::OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  mlir::Attribute source = adaptor.getSource();
  if (source && mlir::isa<mlir::IntegerAttr, mlir::FloatAttr>(source))
    return mlir::SplatElementsAttr::get(getType(), source);
  return {};
}

/// A broadcast to the same shape is its source; of equal elements it is a bigger constant.
/// A float that was made of its payload has that payload.
mlir::OpFoldResult ToPayloadOp::fold(FoldAdaptor) {
  auto made = getSource().getDefiningOp<FromPayloadOp>();
  return made && made.getSource().getType() == getType() ? made.getSource() : nullptr;
}

mlir::OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType())
    return getSource();
  if (auto splat = mlir::dyn_cast_or_null<mlir::SplatElementsAttr>(adaptor.getSource()))
    return splat.resizeSplat(getType());
  return {};
}

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<TLDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::ub::UBDialect>();
  mlir::func::registerInlinerExtension(registry);
}

void loadDialects(mlir::MLIRContext &context) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<TLDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                      mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::ub::UBDialect>();
}

} // namespace blockscope::tl
