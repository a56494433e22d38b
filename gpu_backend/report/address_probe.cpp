// Evaluates integers and pointers of the IR, a few elements at a time.
#include "gpu_backend/report/address_probe.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/shape_layouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <functional>

using namespace mlir;

namespace blockscope::gpu {
namespace {

using Numbers = AddressProbe::Numbers;

// Tensors lie this far apart. Integers are far above what a block counts to: their product with an
// element's number stays below that distance, and no two of them are equal.
constexpr int kTensorLog2 = 52;
constexpr int64_t kInteger = 40009, kIntegerStep = 1234;
constexpr int64_t kPrograms = 1024;

ShapeBits shapeOf(Type type) { return ShapeBits(cast<RankedTensorType>(type).getShape()); }

uint64_t mixed(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  return bits ^ (bits >> 31);
}

template <typename Function>
Numbers zipped(const Numbers &x, const Numbers &y, const Function &function) {
  Numbers result;
  for (auto [a, b] : llvm::zip(x, y))
    result.push_back(function(a, b));
  return result;
}

bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using P = arith::CmpIPredicate;
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  return false;
}

int64_t divided(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a / b; }
int64_t remaining(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }

/// The binary arithmetic that addresses are made of; null for other ops.
int64_t (*binary(Operation *op))(int64_t, int64_t) {
  using Function = int64_t (*)(int64_t, int64_t);
  return llvm::TypeSwitch<Operation *, Function>(op)
      .Case<arith::AddIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return wrapped(uint64_t(a) + uint64_t(b)); };
      })
      .Case<arith::SubIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return wrapped(uint64_t(a) - uint64_t(b)); };
      })
      .Case<arith::MulIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return wrapped(uint64_t(a) * uint64_t(b)); };
      })
      .Case<arith::DivSIOp, arith::DivUIOp>([](auto) -> Function { return divided; })
      .Case<arith::RemSIOp, arith::RemUIOp>([](auto) -> Function { return remaining; })
      .Case<arith::AndIOp>(
          [](auto) -> Function { return [](int64_t a, int64_t b) { return a & b; }; })
      .Case<arith::OrIOp>(
          [](auto) -> Function { return [](int64_t a, int64_t b) { return a | b; }; })
      .Case<arith::XOrIOp>(
          [](auto) -> Function { return [](int64_t a, int64_t b) { return a ^ b; }; })
      .Case<arith::ShLIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return wrapped(uint64_t(a) << (b & 63)); };
      })
      .Case<arith::ShRSIOp, arith::ShRUIOp>(
          [](auto) -> Function { return [](int64_t a, int64_t b) { return a >> (b & 63); }; })
      .Case<arith::MinSIOp, arith::MinUIOp>(
          [](auto) -> Function { return [](int64_t a, int64_t b) { return std::min(a, b); }; })
      .Case<arith::MaxSIOp, arith::MaxUIOp>(
          [](auto) -> Function { return [](int64_t a, int64_t b) { return std::max(a, b); }; })
      .Default([](Operation *) -> Function { return nullptr; });
}

/// The value of an earlier iteration, or of before the loop, that stands for `result` of control
/// flow.
Value standIn(OpResult result) {
  const unsigned number = result.getResultNumber();
  return llvm::TypeSwitch<Operation *, Value>(result.getOwner())
      .Case([&](scf::ForOp loop) { return loop.getInitArgs()[number]; })
      .Case([&](scf::WhileOp loop) { return loop.getConditionOp().getArgs()[number]; })
      .Case([&](scf::IfOp branch) { return branch.thenYield().getOperand(number); })
      .Default(Value());
}

Value standIn(BlockArgument argument) {
  const unsigned number = argument.getArgNumber();
  return llvm::TypeSwitch<Operation *, Value>(argument.getOwner()->getParentOp())
      .Case([&](scf::ForOp loop) -> Value {
        return number == 0 ? loop.getLowerBound() : loop.getInitArgs()[number - 1];
      })
      .Case([&](scf::WhileOp loop) -> Value {
        if (argument.getOwner() == loop.getBeforeBody())
          return loop.getInits()[number];
        return loop.getConditionOp().getArgs()[number];
      })
      .Default(Value());
}

} // namespace

Numbers AddressProbe::addresses(Value pointer, llvm::ArrayRef<uint32_t> elements) {
  elements_.emplace_back(elements.begin(), elements.end());
  return at(pointer, static_cast<unsigned>(elements_.size() - 1));
}

Numbers AddressProbe::distances(Value pointer, llvm::ArrayRef<uint32_t> elements) {
  known_.clear();
  Numbers result = addresses(pointer, elements);
  const int64_t first = result.front();
  for (int64_t &address : result)
    address -= first;
  return result;
}

AddressProbe::Dependence AddressProbe::dependsOn(Value pointer, llvm::ArrayRef<uint32_t> elements) {
  Dependence result;
  const Numbers before = distances(pointer, elements);
  for (const BlockArgument argument : argumentsOf(pointer)) {
    if (!getElementTypeOrSelf(argument.getType()).isIntOrIndex())
      continue;
    changed_ = argument;
    if (distances(pointer, elements) != before)
      result.arguments.push_back(argument);
  }
  changed_ = {};
  isDataChanged_ = true;
  result.onData = distances(pointer, elements) != before;
  isDataChanged_ = false;
  known_.clear();
  return result;
}

llvm::SmallVector<BlockArgument, 4> AddressProbe::argumentsOf(Value value) {
  llvm::SmallSetVector<Value, 32> seen;
  seen.insert(value);
  for (size_t i = 0; i < seen.size(); ++i) {
    const Value current = seen[i];
    if (auto argument = dyn_cast<BlockArgument>(current)) {
      if (Value other = standIn(argument))
        seen.insert(other);
      continue;
    }
    if (Value other = standIn(cast<OpResult>(current)))
      seen.insert(other);
    else
      seen.insert_range(current.getDefiningOp()->getOperands());
  }
  llvm::SmallVector<BlockArgument, 4> result;
  for (const BlockArgument argument : function_.getBody().getArguments())
    if (seen.contains(argument))
      result.push_back(argument);
  return result;
}

BlockArgument AddressProbe::tensorOf(Value pointer) {
  while (pointer) {
    if (auto argument = dyn_cast<BlockArgument>(pointer)) {
      if (isa<func::FuncOp>(argument.getOwner()->getParentOp()))
        return argument;
      pointer = standIn(argument);
      continue;
    }
    Operation *op = pointer.getDefiningOp();
    if (Value other = standIn(cast<OpResult>(pointer)))
      pointer = other;
    else if (isa<tl::AddPtrOp, tl::SplatOp, tl::BroadcastOp, tl::ExpandDimsOp, tl::ReshapeOp,
                 tl::TransOp, tl::HintOp, tl::BitcastOp, tlg::ConvertLayoutOp>(op))
      pointer = op->getOperand(0);
    else
      pointer = {};
  }
  return {};
}

const Numbers &AddressProbe::at(Value value, unsigned elements) {
  const auto key = std::pair(value, elements);
  if (const auto found = known_.find(key); found != known_.end())
    return numbers_[found->second];
  numbers_.push_back(compute(value, elements)); // may have grown in between
  known_[key] = numbers_.size() - 1;
  return numbers_.back();
}

int64_t AddressProbe::argument(BlockArgument argument) {
  const int64_t number = argument.getArgNumber();
  if (isa<tl::PtrType>(argument.getType()))
    return (number + 1) << kTensorLog2;
  if (argument.getType().isInteger(1))
    return 1;
  const auto known =
      function_.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), tlg::kDivisibilityAttribute);
  const int64_t value = kInteger + kIntegerStep * number + (argument == changed_ ? 42 : 0);
  return (value | 1) * (known ? known.getInt() : 1);
}

/// Noise that is the same for the same element, and a multiple of 16: what is loaded mostly says
/// where a row or a sequence begins.
Numbers AddressProbe::noise(Value value, unsigned elements) {
  const unsigned id = noiseOf_.try_emplace(value, noiseOf_.size() + 1).first->second;
  const bool isPointer = isa<tl::PtrType>(getElementTypeOrSelf(value.getType()));
  const bool isBool = getElementTypeOrSelf(value.getType()).isInteger(1);
  Numbers result;
  for (const uint32_t element : elements_[elements]) {
    const uint64_t bits = mixed((uint64_t{id} << 33) + element + (isDataChanged_ ? 1ULL << 62 : 0));
    const auto number = static_cast<int64_t>(bits % 65521);
    result.push_back(isBool ? 1 : isPointer ? number << 24 : number * 16);
  }
  return result;
}

unsigned AddressProbe::moved(unsigned elements, llvm::function_ref<uint32_t(uint32_t)> map) {
  Elements result;
  for (const uint32_t element : elements_[elements])
    result.push_back(map(element));
  elements_.push_back(std::move(result));
  return static_cast<unsigned>(elements_.size() - 1);
}

Numbers AddressProbe::compute(Value value, unsigned elements) {
  const size_t count = elements_[elements].size();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (isa<func::FuncOp>(argument.getOwner()->getParentOp()))
      return isa<FloatType>(argument.getType()) ? noise(value, elements)
                                                : Numbers(count, this->argument(argument));
    if (Value other = standIn(argument))
      return at(other, elements);
    return noise(value, elements);
  }
  auto result = cast<OpResult>(value);
  if (Value other = standIn(result))
    return at(other, elements);
  return computeOp(result.getOwner(), result, elements);
}

Numbers AddressProbe::computeOp(Operation *op, OpResult result, unsigned elements) {
  const size_t count = elements_[elements].size();
  const Type type = result.getType();
  const auto operand = [&](unsigned i) { return Numbers(at(op->getOperand(i), elements)); };
  llvm::APInt constant;
  if (matchPattern(op, m_ConstantInt(&constant)))
    return Numbers(count, constant.getSExtValue());
  if (const auto function = binary(op))
    return zipped(operand(0), operand(1), function);
  return llvm::TypeSwitch<Operation *, Numbers>(op)
      .Case<tl::ProgramIdOp, tlg::ClusterRankOp>([&](auto) { return Numbers(count, 0); })
      .Case([&](tl::NumProgramsOp) { return Numbers(count, kPrograms); })
      .Case([&](tl::RangeOp range) {
        Numbers numbers;
        for (const uint32_t element : elements_[elements])
          numbers.push_back(int64_t{range.getStart()} + element);
        return numbers;
      })
      .Case<tl::SplatOp, tl::UnsplatOp>([&](auto) {
        const unsigned one = moved(elements, [](uint32_t) { return 0; });
        return Numbers(at(op->getOperand(0), one));
      })
      .Case<tl::ExpandDimsOp, tl::ReshapeOp, tlg::ConvertLayoutOp, tl::IntToPtrOp, tl::PtrToIntOp,
            arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp>(
          [&](auto) { return operand(0); })
      .Case([&](tl::BitcastOp cast) {
        const Type from = getElementTypeOrSelf(cast.getSource().getType());
        return isa<tl::PtrType, IntegerType>(from) ? operand(0) : noise(result, elements);
      })
      .Case([&](tl::BroadcastOp broadcast) {
        const Bases map =
            broadcastElements(shapeOf(broadcast.getSource().getType()), shapeOf(type));
        return Numbers(at(broadcast.getSource(),
                          moved(elements, [&](uint32_t e) { return combine(map, e); })));
      })
      .Case([&](tl::TransOp trans) {
        llvm::SmallVector<int> back(trans.getOrder().size());
        for (auto [i, dim] : llvm::enumerate(trans.getOrder()))
          back[dim] = static_cast<int>(i);
        const Bases map = transposedElements(shapeOf(type), back);
        return Numbers(
            at(trans.getSource(), moved(elements, [&](uint32_t e) { return combine(map, e); })));
      })
      .Case([&](tl::JoinOp join) {
        const unsigned half = moved(elements, [](uint32_t e) { return e >> 1; });
        const bool isBlock = isa<RankedTensorType>(join.getLhs().getType());
        const unsigned from = isBlock ? half : moved(elements, [](uint32_t) { return 0; });
        const Numbers lhs = at(join.getLhs(), from), rhs = at(join.getRhs(), from);
        Numbers numbers;
        for (auto [i, element] : llvm::enumerate(elements_[elements]))
          numbers.push_back((element & 1) != 0 ? rhs[i] : lhs[i]);
        return numbers;
      })
      .Case([&](tl::SplitOp) {
        const uint32_t part = result.getResultNumber();
        return Numbers(
            at(op->getOperand(0), moved(elements, [&](uint32_t e) { return (e << 1) | part; })));
      })
      .Case([&](tl::AddPtrOp add) {
        const int64_t bytes =
            tlg::elementBytes(cast<tl::PtrType>(getElementTypeOrSelf(type)).getPointee());
        return zipped(operand(0), operand(1), [&](int64_t a, int64_t b) {
          return wrapped(uint64_t(a) + uint64_t(b) * uint64_t(bytes));
        });
      })
      .Case([&](arith::CmpIOp cmp) {
        const arith::CmpIPredicate predicate = cmp.getPredicate();
        return zipped(operand(0), operand(1),
                      [&](int64_t a, int64_t b) { return int64_t{compare(predicate, a, b)}; });
      })
      .Case([&](arith::SelectOp select) {
        const bool isBlock = isa<RankedTensorType>(select.getCondition().getType());
        const unsigned from = isBlock ? elements : moved(elements, [](uint32_t) { return 0; });
        const Numbers condition = at(select.getCondition(), from);
        Numbers x = operand(1);
        const Numbers y = operand(2);
        for (size_t i = 0; i < count; ++i)
          x[i] = condition[i] != 0 ? x[i] : y[i];
        return x;
      })
      .Case([&](tl::HintOp hint) { return hinted(hint, elements); })
      .Default([&](Operation *) { return noise(result, elements); });
}

/// A claim is believed: a scalar that is a multiple, runs that are contiguous.
Numbers AddressProbe::hinted(tl::HintOp hint, unsigned elements) {
  const llvm::ArrayRef<int64_t> claims = hint.getValues();
  const auto type = dyn_cast<RankedTensorType>(hint.getType());
  if (!type) {
    Numbers numbers = at(hint.getSource(), elements);
    for (int64_t &number : numbers)
      if (hint.getKind() == "multiple_of" && number > claims[0])
        number -= number % claims[0];
    return numbers;
  }
  if (hint.getKind() != "max_contiguous")
    return at(hint.getSource(), elements);
  const ShapeBits shape(type.getShape());
  const auto pointer = dyn_cast<tl::PtrType>(type.getElementType());
  const int64_t step = pointer ? tlg::elementBytes(pointer.getPointee()) : 1;
  Numbers inside;
  const unsigned starts = moved(elements, [&](uint32_t element) {
    inside.push_back(0);
    for (int dim = 0; dim < shape.rank(); ++dim) {
      const uint32_t place = shape.coordinate(element, dim) % static_cast<uint32_t>(claims[dim]);
      inside.back() += place * step;
      element -= place << shape.shift(dim);
    }
    return element;
  });
  return zipped(at(hint.getSource(), starts), inside, [](int64_t a, int64_t b) { return a + b; });
}

} // namespace blockscope::gpu
