// The facts that each op gives of its result, and the walk over loops.
#include "gpu_backend/passes/axis_info.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>
#include <numeric>
#include <tuple>

using namespace mlir;

namespace blockscope::gpu {
namespace {

using Dim = AxisInfo::Dim;
constexpr int64_t kMost = int64_t{1} << 32;

llvm::ArrayRef<int64_t> shapeOf(Type type) {
  static constexpr int64_t kOne[] = {1};
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() > 0 ? tensor.getShape() : llvm::ArrayRef<int64_t>(kOne);
}

bool isTracked(Type type) {
  const Type element = getElementTypeOrSelf(type);
  return isa<IntegerType, tl::PtrType, IndexType>(element);
}

/// The greatest power of two that divides `value`, at most kMost.
int64_t powerIn(int64_t value) { return value == 0 ? kMost : std::min(kMost, value & -value); }

AxisInfo unknown(Type type) { return {llvm::SmallVector<Dim, 3>(shapeOf(type).size()), {}}; }

AxisInfo ofConstant(Type type, int64_t value) {
  AxisInfo info = unknown(type);
  for (auto [dim, size] : llvm::zip(info.dims, shapeOf(type)))
    dim = {1, powerIn(value), size, 1, kSame};
  info.constant = value;
  return info;
}

int64_t elementBytesOf(Type pointer) {
  auto type = dyn_cast<tl::PtrType>(getElementTypeOrSelf(pointer));
  return type ? tlg::elementBytes(type.getPointee()) : 1;
}

/// The divisibility at every value of a run, not only at the first.
int64_t everywhere(const Dim &dim) {
  return dim.contiguity > 1 ? std::gcd(dim.divisibility, int64_t{1}) : dim.divisibility;
}

/// What divides the first value of each run of `length`, when runs of `dim` may be longer and their
/// values grow by `step`.
int64_t firstOfRuns(const Dim &dim, int64_t length, int64_t step) {
  return dim.contiguity > length ? std::gcd(dim.divisibility, length * step) : dim.divisibility;
}

/// What both are known to be; values of runs grow by `step`.
Dim meet(const Dim &a, const Dim &b, int64_t step) {
  const int64_t contiguity = std::gcd(a.contiguity, b.contiguity);
  return {contiguity, std::gcd(firstOfRuns(a, contiguity, step), firstOfRuns(b, contiguity, step)),
          std::gcd(a.constancy, b.constancy),
          a.constancy == b.constancy ? std::gcd(a.steps, b.steps) : 1, meet(a.spacing, b.spacing)};
}

/// How many steps of `dim` are left where a value is added that is equal in runs of `constancy`.
int64_t stepsBeside(const Dim &dim, int64_t constancy) {
  return std::max<int64_t>(1, std::gcd(dim.constancy * dim.steps, constancy) / dim.constancy);
}

/// x + y, or x - y when `minus`; y counts elements of `elementBytes` when x is a pointer.
AxisInfo add(const AxisInfo &x, const AxisInfo &y, Type type, int64_t elementBytes, bool minus) {
  AxisInfo info = unknown(type);
  for (size_t d = 0; d < info.dims.size(); ++d) {
    const Dim &a = x.dims[d], &b = y.dims[d];
    Dim &out = info.dims[d];
    // A run of one plus a stretch where the other is constant is a run again.
    out.contiguity = std::max(std::gcd(a.contiguity, b.constancy),
                              minus ? 1 : std::gcd(a.constancy, b.contiguity));
    out.constancy = std::gcd(a.constancy, b.constancy);
    out.spacing = spacingOfSum(a.spacing, b.spacing, minus);
    out.steps = std::max(stepsBeside(a, b.constancy), minus ? 1 : stepsBeside(b, a.constancy));
    out.divisibility = std::gcd(firstOfRuns(a, out.contiguity, elementBytes),
                                std::min(kMost, firstOfRuns(b, out.contiguity, 1) * elementBytes));
  }
  if (x.constant && y.constant && !isa<tl::PtrType>(getElementTypeOrSelf(type)))
    info.constant = minus ? *x.constant - *y.constant : *x.constant + *y.constant;
  return info;
}

/// The spacing of x * y along dimension `d`.
Spacing spacingOfProduct(const AxisInfo &x, const AxisInfo &y, size_t d) {
  const Dim &a = x.dims[d], &b = y.dims[d];
  if (b.spacing.apart == 0)
    return inRuns(spacingOfMultiple(a.spacing, everywhere(b), y.constant), b.spacing.run);
  if (a.spacing.apart == 0)
    return spacingOfProduct(y, x, d);
  return spacingOfMultiple(spacingOfMultiple(kNeighbours, everywhere(a), {}), everywhere(b), {});
}

AxisInfo multiply(const AxisInfo &x, const AxisInfo &y, Type type) {
  if (x.constant && y.constant)
    return ofConstant(type, *x.constant * *y.constant);
  if (x.constant == 1)
    return y;
  if (y.constant == 1)
    return x;
  AxisInfo info = unknown(type);
  for (size_t d = 0; d < info.dims.size(); ++d) {
    const Dim &a = x.dims[d], &b = y.dims[d];
    info.dims[d].constancy = std::gcd(a.constancy, b.constancy);
    info.dims[d].divisibility = std::min(kMost, everywhere(a) * everywhere(b));
    info.dims[d].spacing = spacingOfProduct(x, y, d);
  }
  return info;
}

/// x / y where quotients are exact or rounded down, or x is not negative.
AxisInfo divide(const AxisInfo &x, const AxisInfo &y, Type type) {
  if (x.constant && y.constant && *y.constant != 0)
    return ofConstant(type, *x.constant / *y.constant);
  if (y.constant == 1)
    return x;
  AxisInfo info = unknown(type);
  for (size_t d = 0; d < info.dims.size(); ++d) {
    const Dim &a = x.dims[d], &b = y.dims[d];
    // Values of a run that starts at a multiple of the divisor share their quotient.
    int64_t constancy = std::gcd(a.constancy, b.constancy);
    if (b.constancy >= a.contiguity && a.contiguity > 1)
      constancy =
          std::max(constancy, std::gcd(a.contiguity, std::gcd(a.divisibility, b.divisibility)));
    info.dims[d].constancy = constancy;
    info.dims[d].spacing = spacingOfQuotient(a.spacing, b.spacing, y.constant);
    if (!y.constant || *y.constant <= 0 || !llvm::isPowerOf2_64(*y.constant))
      continue;
    if (a.contiguity <= *y.constant)
      info.dims[d].divisibility = std::max<int64_t>(1, a.divisibility / *y.constant);
    else if (constancy == *y.constant)
      info.dims[d].steps = a.contiguity / constancy;
  }
  return info;
}

/// Whether all quotients of x / y are exact, so that they are not rounded.
bool isExact(const AxisInfo &x, const AxisInfo &y) {
  return y.constant && *y.constant > 0 &&
         llvm::all_of(x.dims, [&](const Dim &dim) { return everywhere(dim) % *y.constant == 0; });
}

/// What is left of x / y, which is rounded as in `divide`.
AxisInfo remainder(const AxisInfo &x, const AxisInfo &y, Type type) {
  if (x.constant && y.constant && *y.constant != 0)
    return ofConstant(type, *x.constant % *y.constant);
  AxisInfo info = unknown(type);
  for (size_t d = 0; d < info.dims.size(); ++d) {
    const Dim &a = x.dims[d], &b = y.dims[d];
    info.dims[d].constancy = std::gcd(a.constancy, b.constancy);
    // The run goes on until it meets a multiple of the divisor.
    const int64_t inside = std::gcd(a.divisibility, b.divisibility);
    if (b.constancy >= a.contiguity)
      info.dims[d].contiguity = std::gcd(a.contiguity, inside);
    info.dims[d].divisibility = a.contiguity > 1 && info.dims[d].contiguity < a.contiguity
                                    ? std::gcd(inside, info.dims[d].contiguity)
                                    : inside;
    info.dims[d].spacing = spacingOfRemainder(a.spacing, b.spacing, y.constant);
  }
  return info;
}

AxisInfo compare(arith::CmpIOp op, const AxisInfo &x, const AxisInfo &y) {
  using P = arith::CmpIPredicate;
  AxisInfo info = unknown(op.getType());
  const P predicate = op.getPredicate();
  const bool less =
      predicate == P::slt || predicate == P::ult || predicate == P::sge || predicate == P::uge;
  const bool greater =
      predicate == P::sgt || predicate == P::ugt || predicate == P::sle || predicate == P::ule;
  for (size_t d = 0; d < info.dims.size(); ++d) {
    const Dim &a = x.dims[d], &b = y.dims[d];
    int64_t constancy = std::gcd(a.constancy, b.constancy);
    // A run against an aligned bound changes sides only at multiples of the alignment.
    if (less && b.constancy >= a.contiguity)
      constancy =
          std::max(constancy, std::gcd(a.contiguity, std::gcd(a.divisibility, b.divisibility)));
    if (greater && a.constancy >= b.contiguity)
      constancy =
          std::max(constancy, std::gcd(b.contiguity, std::gcd(a.divisibility, b.divisibility)));
    info.dims[d].constancy = constancy;
  }
  return info;
}

AxisInfo hinted(tl::HintOp op, AxisInfo info) {
  for (auto [dim, value, size] : llvm::zip(info.dims, op.getValues(), shapeOf(op.getType()))) {
    const int64_t power = powerIn(value), run = std::min(power, size);
    if (op.getKind() == "multiple_of")
      dim.divisibility = std::max(dim.divisibility, power); // of pointers in bytes, as in Triton
    else if (op.getKind() == "max_contiguous" && run > dim.contiguity)
      dim = {run, dim.divisibility, dim.constancy, dim.steps, kNeighbours};
    else if (op.getKind() == "max_constancy" && run > dim.constancy)
      dim = {dim.contiguity, dim.divisibility, run, 1, inRuns(kSame, run)};
  }
  return info;
}

/// An integer in another width. Runs end where values of the narrower type, taken as signed, go
/// from the largest to the smallest.
AxisInfo resized(AxisInfo info, Type from, Type to) {
  const unsigned narrower = std::min(getElementTypeOrSelf(from).getIntOrFloatBitWidth(),
                                     getElementTypeOrSelf(to).getIntOrFloatBitWidth());
  const int64_t most = int64_t{1} << std::min(31U, narrower - 1);
  for (Dim &dim : info.dims) {
    dim.contiguity = std::min(dim.contiguity, most);
    dim.divisibility = std::min(dim.divisibility, most);
  }
  return info;
}

/// Only how long values stay equal: as long as those of all operands, which have the shape of
/// `type`.
AxisInfo constancyOf(llvm::ArrayRef<const AxisInfo *> operands, Type type) {
  AxisInfo info = unknown(type);
  for (size_t d = 0; d < info.dims.size(); ++d) {
    info.dims[d].constancy = shapeOf(type)[d];
    info.dims[d].spacing = kSame;
    for (const AxisInfo *operand : operands) {
      const Dim &dim = operand->dims[d];
      info.dims[d].constancy = std::gcd(info.dims[d].constancy, dim.constancy);
      info.dims[d].spacing =
          dim.spacing.apart == 0 ? inRuns(info.dims[d].spacing, dim.spacing.run) : Spacing();
    }
  }
  return info;
}

/// One of x and y, element by element: what divides both.
AxisInfo eitherOf(const AxisInfo &x, const AxisInfo &y, Type type) {
  AxisInfo info = constancyOf({&x, &y}, type);
  for (auto [dim, a, b] : llvm::zip(info.dims, x.dims, y.dims)) {
    dim.divisibility = std::gcd(everywhere(a), everywhere(b));
    dim.spacing = spacingOfEither(a.spacing, b.spacing);
  }
  return info;
}

/// x or y as a condition says, which stays the same for `same` elements along each dimension.
AxisInfo select(llvm::ArrayRef<int64_t> same, const AxisInfo &x, const AxisInfo &y, Type type) {
  AxisInfo info = unknown(type);
  const int64_t step = elementBytesOf(type);
  for (size_t d = 0; d < info.dims.size(); ++d) {
    Dim dim = meet(x.dims[d], y.dims[d], step);
    dim.steps = stepsBeside(dim, same[d]);
    dim.constancy = std::gcd(dim.constancy, same[d]);
    const int64_t contiguity = std::gcd(dim.contiguity, same[d]);
    dim.divisibility = firstOfRuns(dim, contiguity, step);
    dim.contiguity = contiguity;
    dim.spacing = spacingOfEither(x.dims[d].spacing, y.dims[d].spacing);
    info.dims[d] = dim;
  }
  return info;
}

/// x & y where one is a constant with ones below or above some bit only.
std::optional<AxisInfo> masked(const AxisInfo &x, const AxisInfo &y, Type type) {
  if (x.constant && !y.constant)
    return masked(y, x, type);
  if (!y.constant || x.constant)
    return std::nullopt;
  const int64_t mask = *y.constant;
  if (mask > 0 && llvm::isPowerOf2_64(static_cast<uint64_t>(mask) + 1))
    return remainder(x, ofConstant(type, mask + 1), type);
  if (mask >= 0 || mask < -kMost || !llvm::isPowerOf2_64(static_cast<uint64_t>(-mask)))
    return std::nullopt;
  const AxisInfo step = ofConstant(type, -mask);
  return multiply(divide(x, step, type), step, type);
}

/// The same elements in row-major order under another shape, from or to one dimension.
AxisInfo reshape(const AxisInfo &x, Type from, Type to) {
  AxisInfo info = unknown(to);
  const llvm::ArrayRef<int64_t> shape = shapeOf(to);
  const int64_t step = elementBytesOf(to);
  const Dim &last = x.dims.back();
  if (info.dims.size() == 1) {
    info.dims[0] = last;
    info.dims[0].spacing = inRuns(last.spacing, shapeOf(from).back());
  } else if (shapeOf(from).size() == 1) {
    int64_t inner = 1; // elements from one index of a dimension to the next
    for (size_t d = info.dims.size(); d-- > 0; inner *= shape[d]) {
      Dim &dim = info.dims[d];
      dim.contiguity = inner == 1 ? std::gcd(last.contiguity, shape[d]) : 1;
      dim.constancy = std::gcd(std::max<int64_t>(1, last.constancy / inner), shape[d]);
      dim.divisibility = inner == 1 ? firstOfRuns(last, dim.contiguity, step) : everywhere(last);
      dim.spacing = spacingOfMultiple(last.spacing, inner, inner);
    }
  }
  info.constant = x.constant;
  return info;
}

} // namespace

AxisAnalysis::AxisAnalysis(func::FuncOp function) : function_(function), ranges_(function) {
  for (BlockArgument argument : function.getArguments()) {
    if (!isTracked(argument.getType()))
      continue;
    AxisInfo info = unknown(argument.getType());
    if (auto known = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                            tlg::kDivisibilityAttribute))
      info.dims[0].divisibility = powerIn(known.getInt());
    infos_[argument] = info;
  }
  visitBlock(function.getBody().front());
}

void AxisAnalysis::requireOfArguments() const {
  func::FuncOp function = function_;
  std::map<unsigned, int64_t> least = ranges_.demanded();
  if (const auto known = function->getAttrOfType<ArrayAttr>(tlg::kAtLeastAttribute))
    for (const auto pair : known.getAsRange<DenseI32ArrayAttr>()) {
      int64_t &most = least.try_emplace(pair[0], pair[1]).first->second;
      most = std::max<int64_t>(most, pair[1]);
    }
  Builder builder(function->getContext());
  llvm::SmallVector<Attribute> pairs;
  for (const auto &[number, value] : least)
    pairs.push_back(
        builder.getDenseI32ArrayAttr({static_cast<int32_t>(number), static_cast<int32_t>(value)}));
  if (!pairs.empty())
    function->setAttr(tlg::kAtLeastAttribute, builder.getArrayAttr(pairs));
}

const AxisInfo &AxisAnalysis::at(Value value) const {
  const auto found = infos_.find(value);
  if (found != infos_.end())
    return found->second;
  // Networks that sort have a dimension for each bit of a number.
  static const auto kNothing = [] {
    std::array<AxisInfo, 64> all;
    for (size_t rank = 0; rank < all.size(); ++rank)
      all[rank].dims.resize(rank);
    return all;
  }();
  return kNothing.at(shapeOf(value.getType()).size());
}

bool AxisAnalysis::meetInto(Value value, AxisInfo info) {
  const auto [place, isNew] = infos_.try_emplace(value, info);
  if (isNew)
    return true;
  AxisInfo merged = place->second;
  for (auto [dim, other] : llvm::zip(merged.dims, info.dims))
    dim = meet(dim, other, elementBytesOf(value.getType()));
  if (merged.constant != info.constant)
    merged.constant.reset();
  if (merged == place->second)
    return false;
  place->second = merged;
  return true;
}

void AxisAnalysis::visitBlock(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

// What `at` gives lies in the map: it is copied before the map may grow.
void AxisAnalysis::visitLoop(Operation *loop) {
  // Begin with what comes in, and take back what an iteration contradicts. It ends: facts only
  // shrink.
  bool changed = true;
  if (auto forOp = dyn_cast<scf::ForOp>(loop)) {
    const AxisInfo lower = at(forOp.getLowerBound()), step = at(forOp.getStep());
    infos_[forOp.getInductionVar()] = {
        {{1, std::gcd(lower.dims[0].divisibility, step.dims[0].divisibility), 1}}, {}};
    for (auto [argument, initial] : llvm::zip(forOp.getRegionIterArgs(), forOp.getInitArgs()))
      if (isTracked(argument.getType()))
        infos_[argument] = AxisInfo(at(initial));
    while (changed) {
      changed = false;
      visitBlock(*forOp.getBody());
      for (auto [argument, value] : llvm::zip(forOp.getRegionIterArgs(), forOp.getYieldedValues()))
        if (isTracked(argument.getType()))
          changed |= meetInto(argument, at(value));
    }
    for (auto [result, argument] : llvm::zip(forOp.getResults(), forOp.getRegionIterArgs()))
      if (isTracked(result.getType()))
        infos_[result] = AxisInfo(at(argument));
    return;
  }
  auto whileOp = cast<scf::WhileOp>(loop);
  for (auto [argument, initial] : llvm::zip(whileOp.getBeforeArguments(), whileOp.getInits()))
    if (isTracked(argument.getType()))
      infos_[argument] = AxisInfo(at(initial));
  while (changed) {
    changed = false;
    visitBlock(*whileOp.getBeforeBody());
    for (auto [argument, value] :
         llvm::zip(whileOp.getAfterArguments(), whileOp.getConditionOp().getArgs()))
      if (isTracked(argument.getType()))
        infos_[argument] = AxisInfo(at(value));
    visitBlock(*whileOp.getAfterBody());
    for (auto [argument, value] :
         llvm::zip(whileOp.getBeforeArguments(), whileOp.getYieldOp().getOperands()))
      if (isTracked(argument.getType()))
        changed |= meetInto(argument, at(value));
  }
  for (auto [result, value] : llvm::zip(whileOp.getResults(), whileOp.getConditionOp().getArgs()))
    if (isTracked(result.getType()))
      infos_[result] = AxisInfo(at(value));
}

void AxisAnalysis::visit(Operation *op) {
  if (isa<scf::ForOp, scf::WhileOp>(op))
    return visitLoop(op);
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Region &region : branch->getRegions())
      if (!region.empty())
        visitBlock(region.front());
    for (auto [i, result] : llvm::enumerate(branch.getResults())) {
      if (!isTracked(result.getType()))
        continue;
      infos_[result] = AxisInfo(at(branch.thenYield().getOperand(i)));
      meetInto(result, at(branch.elseYield().getOperand(i)));
    }
    return;
  }
  if (op->getNumResults() == 1 && isTracked(op->getResult(0).getType()))
    infos_[op->getResult(0)] = transfer(op);
}

/// Whether a signed quotient is seen to be rounded down where runs of neighbours depend on it.
bool AxisAnalysis::isRoundedDown(Operation *op) {
  const AxisInfo &x = at(op->getOperand(0)), &y = at(op->getOperand(1));
  const bool hasRuns = llvm::any_of(llvm::zip(x.dims, y.dims), [](const auto &dims) {
    const auto &[a, b] = dims;
    return a.contiguity > 1 && std::gcd(a.divisibility, b.divisibility) > 1;
  });
  return hasRuns && ranges_.isNotNegative(op->getOperand(0), op);
}

AxisInfo AxisAnalysis::transfer(Operation *op) {
  const Type type = op->getResult(0).getType();
  llvm::APInt number;
  if (matchPattern(op, m_ConstantInt(&number)))
    return ofConstant(type, number.getSExtValue());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      if (isa<IntegerType>(splat.getElementType()))
        return ofConstant(type, splat.getSplatValue<APInt>().getSExtValue());
  const auto x = [&](int i) -> const AxisInfo & { return at(op->getOperand(i)); };
  return llvm::TypeSwitch<Operation *, AxisInfo>(op)
      .Case([&](tl::RangeOp range) {
        const int64_t size = shapeOf(type)[0];
        return AxisInfo{{{size, powerIn(range.getStart()), 1, 1, kNeighbours}}, {}};
      })
      .Case([&](tl::SplatOp) {
        AxisInfo info = unknown(type);
        for (auto [dim, size] : llvm::zip(info.dims, shapeOf(type)))
          dim = {1, x(0).dims[0].divisibility, size, 1, kSame};
        info.constant = x(0).constant;
        return info;
      })
      .Case([&](tl::ExpandDimsOp expand) {
        AxisInfo info = x(0);
        // One element along the new dimension: the divisibility that every element has.
        int64_t divisibility = kMost;
        for (const Dim &dim : info.dims)
          divisibility = std::gcd(divisibility, everywhere(dim));
        info.dims.insert(info.dims.begin() + expand.getAxis(), Dim{1, divisibility, 1, 1, kSame});
        return info;
      })
      .Case([&](tl::BroadcastOp broadcast) {
        AxisInfo info = x(0);
        for (auto [dim, from, to] :
             llvm::zip(info.dims, shapeOf(broadcast.getSource().getType()), shapeOf(type)))
          if (from != to)
            dim = {1, dim.divisibility, to, 1, kSame};
        return info;
      })
      .Case([&](tl::TransOp trans) {
        AxisInfo info = x(0);
        for (auto [i, from] : llvm::enumerate(trans.getOrder()))
          info.dims[i] = x(0).dims[from];
        return info;
      })
      .Case([&](tl::AddPtrOp) { return add(x(0), x(1), type, elementBytesOf(type), false); })
      .Case([&](arith::AddIOp) { return add(x(0), x(1), type, 1, false); })
      .Case([&](arith::SubIOp) { return add(x(0), x(1), type, 1, true); })
      .Case([&](arith::MulIOp) { return multiply(x(0), x(1), type); })
      .Case([&](arith::ShLIOp) {
        if (x(1).constant && *x(1).constant >= 0 && *x(1).constant < 32)
          return multiply(x(0), ofConstant(type, int64_t{1} << *x(1).constant), type);
        return constancyOf({&x(0), &x(1)}, type);
      })
      .Case<arith::DivUIOp>([&](auto) { return divide(x(0), x(1), type); })
      .Case<arith::RemUIOp>([&](auto) { return remainder(x(0), x(1), type); })
      .Case<arith::DivSIOp>([&](auto) {
        if (isExact(x(0), x(1)) || isRoundedDown(op))
          return divide(x(0), x(1), type);
        AxisInfo info = constancyOf({&x(0), &x(1)}, type);
        for (auto [dim, a, b] : llvm::zip(info.dims, x(0).dims, x(1).dims))
          dim.spacing = spacingOfQuotient(a.spacing, b.spacing, x(1).constant);
        return info;
      })
      .Case<arith::RemSIOp>([&](auto) {
        if (isRoundedDown(op))
          return remainder(x(0), x(1), type);
        AxisInfo info = eitherOf(x(0), x(1), type);
        for (auto [dim, a, b] : llvm::zip(info.dims, x(0).dims, x(1).dims))
          dim.spacing = spacingOfRemainder(a.spacing, b.spacing, x(1).constant);
        return info;
      })
      .Case<arith::ShRSIOp, arith::ShRUIOp>([&](auto) {
        if (x(1).constant && *x(1).constant >= 0 && *x(1).constant < 31)
          return divide(x(0), ofConstant(type, int64_t{1} << *x(1).constant), type);
        return constancyOf({&x(0), &x(1)}, type);
      })
      .Case([&](arith::AndIOp) {
        if (const std::optional<AxisInfo> info = masked(x(0), x(1), type))
          return *info;
        return constancyOf({&x(0), &x(1)}, type);
      })
      .Case<arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(
          [&](auto) { return eitherOf(x(0), x(1), type); })
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(
          [&](auto) { return resized(x(0), op->getOperand(0).getType(), type); })
      .Case([&](arith::CmpIOp cmp) { return compare(cmp, x(0), x(1)); })
      .Case([&](arith::SelectOp op) {
        llvm::SmallVector<int64_t> same(shapeOf(type)); // a scalar decides for the whole block
        if (isa<RankedTensorType>(op.getCondition().getType()))
          for (auto [size, dim] : llvm::zip(same, x(0).dims))
            size = dim.constancy;
        return select(same, x(1), x(2), type);
      })
      .Case([&](tl::ReshapeOp reshaped) { // elements that may be reordered are not
        return reshape(x(0), reshaped.getSource().getType(), type);
      })
      .Case([&](tl::CatOp cat) {
        AxisInfo info = unknown(type);
        for (auto [dim, a, b] : llvm::zip(info.dims, x(0).dims, x(1).dims))
          dim = meet(a, b, elementBytesOf(type));
        return info;
      })
      .Case([&](tl::JoinOp join) {
        AxisInfo info = unknown(type);
        const int64_t step = elementBytesOf(type);
        int64_t divisibility = kMost;
        const bool isBlock = isa<RankedTensorType>(join.getLhs().getType());
        for (size_t d = 0; d < x(0).dims.size(); ++d) {
          const Dim both = meet(x(0).dims[d], x(1).dims[d], step);
          divisibility = std::gcd(divisibility, everywhere(both));
          if (isBlock)
            info.dims[d] = both;
        }
        info.dims.back().divisibility = divisibility;
        return info;
      })
      .Case([&](tl::HintOp hint) { return hinted(hint, x(0)); })
      .Case([&](tl::LoadOp load) {
        // What lies at one address is one value: an index that neighbours share, a group's number.
        if (load.getIsVolatile())
          return unknown(type);
        llvm::SmallVector<const AxisInfo *> operands;
        for (Value operand : op->getOperands())
          if (isa<RankedTensorType>(operand.getType()))
            operands.push_back(&at(operand));
        return constancyOf(operands, type);
      })
      .Case<tl::IntToPtrOp, tl::PtrToIntOp>([&](auto) {
        AxisInfo info = x(0);
        for (Dim &dim : info.dims) {
          dim = {1, everywhere(dim), dim.constancy, 1, meet(dim.spacing, kSame)};
        }
        return info;
      })
      .Case([&](tl::BitcastOp) {
        AxisInfo info = x(0);
        const bool samePointee =
            elementBytesOf(op->getOperand(0).getType()) == elementBytesOf(type);
        for (Dim &dim : info.dims)
          if (!samePointee)
            dim = {1, everywhere(dim), dim.constancy, 1, meet(dim.spacing, kSame)};
        return info;
      })
      .Default([&](Operation *) {
        if (!tl::isElementwise(op))
          return unknown(type);
        llvm::SmallVector<const AxisInfo *> operands;
        for (Value operand : op->getOperands()) {
          if (shapeOf(operand.getType()) != shapeOf(type))
            return unknown(type);
          operands.push_back(&at(operand));
        }
        return constancyOf(operands, type);
      });
}

int64_t AxisAnalysis::vectorWidth(Value pointer, Value mask, int dim) const {
  const Dim &known = at(pointer).dims[dim];
  const int64_t bytes = elementBytesOf(pointer.getType());
  int64_t width = std::min({known.contiguity, std::max<int64_t>(1, known.divisibility / bytes),
                            std::max<int64_t>(1, 16 / bytes)});
  if (mask && isa<RankedTensorType>(mask.getType()))
    width = std::min(width, at(mask).dims[dim].constancy);
  return width;
}

namespace {

/// What an address is the sum of, each with as many dimensions as it, 1 where it is repeated.
llvm::SmallVector<Value> addendsOf(Value address) {
  llvm::SmallVector<Value> open{address}, found;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<tl::AddPtrOp, arith::AddIOp, arith::ExtSIOp, arith::ExtUIOp,
                        tl::BroadcastOp>(op))
      open.append(op->operand_begin(), op->operand_end());
    else if (isa<RankedTensorType>(value.getType()))
      found.push_back(value);
  }
  return found;
}

/// Whether `value` is numbers that were loaded, as they are.
bool isLoaded(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<tl::ExpandDimsOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<tl::LoadOp>(op);
}

} // namespace

std::optional<int> AxisAnalysis::loadedDim(Value pointer) const {
  constexpr int64_t kSectorBytes = 32;
  const int64_t bytes = elementBytesOf(pointer.getType());
  std::optional<int> found;
  llvm::SmallVector<bool, 3> isFar(at(pointer).dims.size(), true);
  for (Value addend : addendsOf(pointer)) {
    const bool loaded = isLoaded(addend);
    for (auto [dim, size] : llvm::enumerate(shapeOf(addend.getType()))) {
      const Dim &known = at(addend).dims[dim];
      if (known.constancy >= size) // one value along the dimension
        continue;
      if (loaded && found.value_or(dim) == static_cast<int>(dim))
        found = static_cast<int>(dim);
      else
        isFar[dim] = isFar[dim] && everywhere(known) * bytes >= kSectorBytes;
    }
  }
  for (auto [dim, far] : llvm::enumerate(isFar))
    if (!far)
      return std::nullopt;
  return found;
}

llvm::SmallVector<bool, 3> AxisAnalysis::loadedDims(Value pointer) const {
  using Dims = llvm::SmallVector<size_t, 3>; // of the pointer, for those of a value
  llvm::SmallVector<bool, 3> found(at(pointer).dims.size(), false);
  llvm::SmallVector<std::pair<Value, Dims>> open{
      {pointer, llvm::to_vector<3>(llvm::seq<size_t>(0, found.size()))}};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    auto [value, dims] = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !isa<RankedTensorType>(value.getType()) || !seen.insert(value).second)
      continue;
    if (isa<tl::LoadOp>(op))
      for (auto [dim, size] : llvm::enumerate(shapeOf(value.getType())))
        found[dims[dim]] = found[dims[dim]] || at(value).dims[dim].constancy < size;
    else if (auto expand = dyn_cast<tl::ExpandDimsOp>(op))
      dims.erase(dims.begin() + expand.getAxis());
    else if (!tl::isElementwise(op) && !isa<tl::BroadcastOp>(op))
      continue;
    if (!isa<tl::LoadOp>(op))
      for (Value operand : op->getOperands())
        open.emplace_back(operand, dims);
  }
  return found;
}

llvm::SmallVector<Nearness, 3> AxisAnalysis::nearnessAlong(Value pointer) const {
  const llvm::ArrayRef<int64_t> shape = shapeOf(pointer.getType());
  llvm::SmallVector<Nearness, 3> found;
  Nearness best = Nearness::Far;
  for (auto [dim, size] : llvm::zip(at(pointer).dims, shape)) {
    found.push_back(nearness(dim.spacing, elementBytesOf(pointer.getType())));
    if (dim.constancy < size)
      best = std::max(best, found.back());
  }
  for (auto [near, dim, size] : llvm::zip(found, at(pointer).dims, shape))
    if (dim.constancy >= size)
      near = best;
  return found;
}

llvm::SmallVector<int, 3> AxisAnalysis::orderOf(Value pointer) const {
  const AxisInfo &info = at(pointer);
  llvm::SmallVector<int, 3> order(info.dims.size());
  std::iota(order.begin(), order.end(), 0);
  const std::optional<int> loaded = info.dims.size() > 1 ? loadedDim(pointer) : std::nullopt;
  const auto known = [&](int dim) {
    return std::pair(info.dims[dim].contiguity, info.dims[dim].steps);
  };
  const auto rank = [&](int dim) { // the last is the fastest among equals
    return std::tuple(known(dim), dim == loaded, dim);
  };
  llvm::sort(order, [&](int a, int b) { return rank(a) > rank(b); });
  // What is known leaves several dimensions equal: the first is chosen by guess.
  const llvm::SmallVector<Nearness, 3> near = nearnessAlong(pointer);
  const auto equals = llvm::MutableArrayRef<int>(order).take_while(
      [&](int dim) { return known(dim) == known(order[0]); });
  const auto best = llvm::max_element(equals, [&](int a, int b) { return near[a] < near[b]; });
  std::rotate(order.begin(), best, std::next(best));
  // Where the first dimension lies along memory, the whole block is turned, mostly: the others
  // follow it in their order, as rows that are far apart where nothing says which are nearer.
  if (order[0] == 0) {
    const auto distance = [&](int dim) { return std::abs(info.dims[dim].spacing.apart); };
    std::sort(std::next(order.begin()), order.end(), [&](int a, int b) {
      return known(a) != known(b) ? known(a) > known(b)
                                  : std::pair(distance(a), a) < std::pair(distance(b), b);
    });
  }
  return order;
}

} // namespace blockscope::gpu
