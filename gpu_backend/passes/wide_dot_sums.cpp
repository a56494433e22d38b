// Each dot is made wide between two casts; then casts that meet are taken out, and variables of
// loops that are only cast become wide.
#include "gpu_backend/passes/wide_dot_sums.h"

#include "core/dot_precision.h"
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

bool isNarrow(Type type) {
  return isa<RankedTensorType>(type) && getElementTypeOrSelf(type).isF16();
}

class WideSums {
public:
  explicit WideSums(func::FuncOp function) : function_(function) {}

  void run() {
    llvm::SmallVector<tl::DotOp> dots;
    function_.walk([&](tl::DotOp dot) {
      if (isNarrow(dot.getType()) && !isOfPayloads(dot.getInputPrecision()))
        dots.push_back(dot);
    });
    if (dots.empty())
      return;
    for (tl::DotOp dot : dots)
      widen(dot);
    do
      takeOutCasts();
    while (widenVariables());
    for (tl::FpCastOp cast : rounded_)
      if (cast->use_empty())
        cast->erase();
  }

private:
  static Type wideType(Type type) {
    return cast<RankedTensorType>(type).clone(Float32Type::get(type.getContext()));
  }

  static Value widened(OpBuilder &builder, Location location, Value value) {
    const auto type = cast<RankedTensorType>(wideType(value.getType()));
    DenseElementsAttr constant;
    if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
      return tl::FpCastOp::create(builder, location, type, value);
    bool losesInfo = false;
    auto number = constant.getSplatValue<llvm::APFloat>();
    number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(type, number));
  }

  /// A cast back that is gone where nothing needs it.
  Value rounded(OpBuilder &builder, Location location, Value sum, Type type) {
    auto cast = tl::FpCastOp::create(builder, location, type, sum);
    rounded_.push_back(cast);
    wide_[cast] = sum;
    return cast;
  }

  void widen(tl::DotOp dot) {
    OpBuilder builder(dot);
    Value acc = widened(builder, dot.getLoc(), dot.getAcc());
    auto made = cast<tl::DotOp>(builder.clone(*dot));
    made.getAccMutable().assign(acc);
    made.getResult().setType(cast<RankedTensorType>(acc.getType()));
    dot.replaceAllUsesWith(rounded(builder, dot.getLoc(), made, dot.getType()));
    dot.erase();
  }

  /// What casts to fp32 of rounded sums give.
  void takeOutCasts() {
    for (tl::FpCastOp rounding : rounded_)
      for (Operation *user : llvm::make_early_inc_range(rounding->getUsers()))
        if (auto cast = dyn_cast<tl::FpCastOp>(user);
            cast && getElementTypeOrSelf(cast.getType()).isF32()) {
          cast.replaceAllUsesWith(wide_[rounding]);
          cast.erase();
        }
  }

  /// Whether a loop's variable `number` is a sum that the loop only casts to fp32.
  bool isSum(scf::ForOp loop, unsigned number) {
    BlockArgument variable = loop.getRegionIterArg(number);
    return isNarrow(variable.getType()) &&
           wide_.contains(loop.getYieldedValues()[number].getDefiningOp()) &&
           llvm::all_of(variable.getUsers(), [](Operation *user) {
             auto cast = dyn_cast<tl::FpCastOp>(user);
             return cast && getElementTypeOrSelf(cast.getType()).isF32();
           });
  }

  bool widenVariables() {
    bool changed = false;
    function_.walk([&](scf::ForOp loop) {
      for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
        if (isSum(loop, i)) {
          widenVariable(loop, i);
          changed = true;
        }
    });
    return changed;
  }

  void widenVariable(scf::ForOp loop, unsigned number) {
    BlockArgument variable = loop.getRegionIterArg(number);
    OpResult result = loop->getResult(number);
    OpBuilder builder(loop);
    const Type narrow = variable.getType(), type = wideType(narrow);
    OpOperand &init = loop.getInitArgsMutable()[number];
    init.set(widened(builder, loop.getLoc(), init.get()));
    OpOperand &yielded = (*loop.getYieldedValuesMutable())[number];
    yielded.set(wide_[yielded.get().getDefiningOp()]);
    variable.setType(type);
    for (Operation *user : llvm::make_early_inc_range(variable.getUsers())) {
      user->getResult(0).replaceAllUsesWith(variable);
      user->erase();
    }
    builder.setInsertionPointAfter(loop);
    result.setType(type);
    Value back = rounded(builder, loop.getLoc(), result, narrow);
    result.replaceAllUsesExcept(back, back.getDefiningOp());
  }

  func::FuncOp function_;
  llvm::SmallVector<tl::FpCastOp> rounded_;
  llvm::DenseMap<Operation *, Value> wide_; ///< of each of them
};

} // namespace

void keepDotSumsWide(func::FuncOp function) { WideSums(function).run(); }

} // namespace blockscope::gpu
