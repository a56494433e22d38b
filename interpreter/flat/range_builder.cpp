// Walks the block IR once.
#include "interpreter/flat/range_builder.h"

#include "core/ir/convert.h"
#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSwitch.h"

#include <optional>

namespace blockscope::interpreter::flat {
namespace {

using Kind = RangeOp::Kind;

bool isInteger(mlir::Value value) { return fromMlirType(value.getType()).isInteger(); }

std::optional<Kind> kindOf(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Kind>>(name)
      .Case("arith.addi", Kind::Add)
      .Case("arith.subi", Kind::Sub)
      .Case("arith.muli", Kind::Mul)
      .Case("arith.shli", Kind::Shl)
      .Case("arith.shrsi", Kind::ShrS)
      .Case("arith.shrui", Kind::ShrU)
      .Case("arith.andi", Kind::And)
      .Cases({"arith.ori", "arith.xori"}, Kind::Bits)
      .Case("arith.divsi", Kind::DivS)
      .Case("arith.divui", Kind::DivU)
      .Case("arith.remsi", Kind::RemS)
      .Case("arith.remui", Kind::RemU)
      .Case("arith.minsi", Kind::MinS)
      .Case("arith.maxsi", Kind::MaxS)
      .Case("arith.minui", Kind::MinU)
      .Case("arith.maxui", Kind::MaxU)
      .Case("math.absi", Kind::Abs)
      .Case("arith.extsi", Kind::Union)
      .Case("arith.extui", Kind::ExtendU)
      .Case("arith.trunci", Kind::Truncate)
      .Case("tl.float_to_int", Kind::FloatToInt)
      .Default(std::nullopt);
}

/// What the elements of a result are elements of, one by one or combined by ops that choose.
bool isChoice(mlir::Operation &op) {
  if (op.getNumRegions() == 0) {
    const OpFacts *facts = tl::factsOf(&op);
    const llvm::StringRef name = op.getName().getStringRef();
    return (facts && facts->family == OpFamily::Shape && op.getNumOperands() != 0) ||
           name == "tl.sort" || name == "tl.hint";
  }
  if (!mlir::isa<tl::ReduceOp, tl::ScanOp>(op))
    return false;
  for (mlir::Operation &inner : op.getRegion(0).front().without_terminator()) {
    const llvm::StringRef name = inner.getName().getStringRef();
    const bool chooses = name == "arith.select" || name == "arith.cmpi" || name == "arith.cmpf" ||
                         name.contains("max") || name.contains("min");
    const bool isOfBools = llvm::all_of(
        inner.getResultTypes(), [](mlir::Type type) { return fromMlirType(type).isBool(); });
    if (!chooses && !isOfBools)
      return false;
  }
  // Each result comes from its own operand.
  for (const auto &[k, yielded] :
       llvm::enumerate(op.getRegion(0).front().getTerminator()->getOperands())) {
    llvm::SmallVector<mlir::Value> open = {yielded};
    while (!open.empty()) {
      const mlir::Value value = open.pop_back_val();
      if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value)) {
        if (argument.getArgNumber() % op.getNumOperands() != k)
          return false;
      } else if (auto select = value.getDefiningOp<mlir::arith::SelectOp>()) {
        open.append({select.getTrueValue(), select.getFalseValue()});
      } else {
        open.append(value.getDefiningOp()->operand_begin(), value.getDefiningOp()->operand_end());
      }
    }
  }
  return true;
}

/// Values that addresses are made of by sums, products and moves.
class Addressed {
public:
  explicit Addressed(mlir::func::FuncOp function) {
    function.walk([&](tl::AddPtrOp op) { push(op.getOffset()); });
    while (!open_.empty())
      follow(open_.pop_back_val());
  }
  bool contains(mlir::Value value) const { return seen_.contains(value); }

private:
  void push(mlir::Value value) {
    if (seen_.insert(value).second)
      open_.push_back(value);
  }

  void follow(mlir::Value value) {
    if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value)) {
      mlir::Operation *parent = argument.getOwner()->getParentOp();
      if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(parent)) {
        const unsigned number = argument.getArgNumber();
        if (number == 0)
          return pushAll({loop.getLowerBound(), loop.getUpperBound()});
        push(loop.getInitArgs()[number - 1]);
        push(loop.getBody()->getTerminator()->getOperand(number - 1));
      } else if (auto loop = mlir::dyn_cast<mlir::scf::WhileOp>(parent)) {
        pushAll(loop.getInits());
        pushAll(loop.getConditionOp().getArgs());
        pushAll(loop.getAfterBody()->getTerminator()->getOperands());
      }
      return;
    }
    mlir::Operation *op = value.getDefiningOp();
    for (mlir::Region &region : op->getRegions())
      if (mlir::isa<mlir::scf::IfOp, mlir::scf::ForOp, mlir::scf::WhileOp>(op) && !region.empty())
        pushAll(region.back().getTerminator()->getOperands());
    if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op))
      return pushAll(loop.getInitArgs());
    const OpFacts *facts = tl::factsOf(op);
    const llvm::StringRef name = op->getName().getStringRef();
    const std::optional<Kind> kind = kindOf(name);
    const bool goesOn = (kind && *kind != Kind::And && *kind != Kind::Bits && *kind != Kind::ShrU &&
                         *kind != Kind::DivU && *kind != Kind::RemU && *kind != Kind::FloatToInt) ||
                        name == "arith.select" || (facts && facts->family == OpFamily::Shape) ||
                        mlir::isa<tl::GatherOp, tl::ReduceOp, tl::ScanOp, tl::HintOp>(op) ||
                        name == "tl.sort" || name == "tl.load";
    if (goesOn)
      pushAll(op->getOperands());
  }
  void pushAll(mlir::ValueRange values) {
    for (const mlir::Value value : values)
      if (isInteger(value))
        push(value);
  }

  llvm::SmallVector<mlir::Value> open_;
  llvm::DenseSet<mlir::Value> seen_;
};

class Builder {
public:
  explicit Builder(mlir::func::FuncOp function) : addressed_(function) {
    for (mlir::BlockArgument argument : function.getArguments())
      if (isInteger(argument)) {
        RangeOp &op = add(ranges_.ops, Kind::Argument, argument);
        op.number = argument.getArgNumber();
      }
    addAll(function.getBody().front(), ranges_.ops);
  }
  IntegerRanges take() { return std::move(ranges_); }

private:
  uint32_t idOf(mlir::Value value) {
    const auto [found, isNew] = ids_.try_emplace(value, ranges_.numValues);
    if (isNew) {
      ++ranges_.numValues;
      const Type type = fromMlirType(value.getType());
      ranges_.widths.push_back(type.isBool()      ? 1
                               : type.isInteger() ? static_cast<uint8_t>(type.elementBytes() * 8)
                                                  : 64);
    }
    return found->second;
  }

  RangeOp &add(std::vector<RangeOp> &to, Kind kind, mlir::Value result) {
    RangeOp &op = to.emplace_back();
    op.kind = kind;
    op.result = idOf(result);
    op.width = ranges_.widths[op.result];
    op.isUnsigned = isMarkedUnsigned(result.getLoc());
    op.isAddressed = addressed_.contains(result);
    return op;
  }

  void addAll(mlir::Block &block, std::vector<RangeOp> &to) {
    for (mlir::Operation &op : block.without_terminator()) {
      if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op))
        addFor(loop, to);
      else if (auto loop = mlir::dyn_cast<mlir::scf::WhileOp>(op))
        addWhile(loop, to);
      else if (auto choice = mlir::dyn_cast<mlir::scf::IfOp>(op))
        addIf(choice, to);
      else
        for (const mlir::OpResult result : op.getResults())
          if (isInteger(result))
            addOp(op, result, to);
    }
  }

  void addOp(mlir::Operation &op, mlir::OpResult result, std::vector<RangeOp> &to) {
    const llvm::StringRef name = op.getName().getStringRef();
    const Attributes attributes = attributesOf(&op);
    const auto known = [&](int64_t low, int64_t high) {
      add(to, Kind::Known, result).known = {low, high};
    };
    if (name == "arith.constant") {
      const Attribute *value = attributes.find("value");
      if (const auto *integer = value ? std::get_if<int64_t>(value) : nullptr)
        return known(*integer, *integer);
      if (const auto *flag = value ? std::get_if<bool>(value) : nullptr)
        return known(*flag, *flag);
    } else if (name == "tl.range") {
      return known(attributes.getInt("start"), attributes.getInt("end") - 1);
    } else if (name == "tl.program_id" || name == "tl.num_programs") {
      add(to, name == "tl.program_id" ? Kind::ProgramId : Kind::NumPrograms, result).number =
          attributes.getInt("axis");
      return;
    } else if (name == "tl.histogram") {
      return known(0, fromMlirType(op.getOperand(0).getType()).numElements());
    } else if (name == "arith.cmpi" || name == "arith.cmpf") {
      return known(0, 1);
    } else if (name == "arith.select") {
      return addWith(to, Kind::Union, result, {op.getOperand(1), op.getOperand(2)});
    } else if (name == "tl.gather") {
      return addWith(to, Kind::Union, result, {op.getOperand(0)});
    } else if (auto load = mlir::dyn_cast<tl::LoadOp>(op)) {
      return addLoad(load, result, to);
    } else if (const std::optional<Kind> kind = kindOf(name)) {
      return addKind(*kind, op, result, to);
    } else if (isChoice(op)) {
      if (op.getNumRegions() != 0)
        return addWith(to, Kind::Union, result, {op.getOperand(result.getResultNumber())});
      llvm::SmallVector<mlir::Value> operands;
      for (const mlir::Value operand : op.getOperands())
        if (isInteger(operand))
          operands.push_back(operand);
      if (!operands.empty())
        return addWith(to, Kind::Union, result, operands);
    } else if (isSum(op)) {
      RangeOp &sum = add(to, mlir::isa<tl::ScanOp>(op) ? Kind::Running : Kind::Sum, result);
      sum.operands = {idOf(op.getOperand(0))};
      sum.number = fromMlirType(op.getOperand(0).getType()).shape[attributes.getInt("axis")];
      return;
    }
    add(to, Kind::Unknown, result);
    if (isProduct(op)) // a running product
      addWith(to, Kind::Mul, result, {op.getResult(0), op.getResult(0)});
  }

  static bool isCombineOf(mlir::Operation &op, llvm::StringRef name) {
    if (!mlir::isa<tl::ReduceOp, tl::ScanOp>(op) || op.getNumOperands() != 1)
      return false;
    mlir::Block &body = op.getRegion(0).front();
    return body.getOperations().size() == 2 && body.front().getName().getStringRef() == name;
  }
  static bool isSum(mlir::Operation &op) { return isCombineOf(op, "arith.addi"); }
  static bool isProduct(mlir::Operation &op) { return isCombineOf(op, "arith.muli"); }

  void addWith(std::vector<RangeOp> &to, Kind kind, mlir::Value result,
               llvm::ArrayRef<mlir::Value> operands) {
    RangeOp &op = add(to, kind, result);
    for (const mlir::Value operand : operands)
      op.operands.push_back(idOf(operand));
  }

  void addKind(Kind kind, mlir::Operation &op, mlir::OpResult result, std::vector<RangeOp> &to) {
    if (kind == Kind::FloatToInt) {
      RangeOp &cast = add(to, kind, result);
      cast.isUnsigned = attributesOf(&op).getBool("is_unsigned");
      return;
    }
    const llvm::SmallVector<mlir::Value> operands(op.getOperands());
    addWith(to, kind, result, operands);
    // No tensor is so large that a right index wraps in 64 bits, in any grid.
    const bool mayGrow = kind == Kind::Mul && to.back().width < 64;
    if (mayGrow && to.back().isAddressed && !to.back().isUnsigned) {
      OpInfo place;
      place.name = op.getName().getStringRef().str();
      place.location = fromMlirLocation(op.getLoc());
      to.back().place = static_cast<int>(ranges_.places.size());
      ranges_.places.push_back(std::move(place));
      ranges_.areByConstants.push_back(llvm::any_of(operands, isConstant));
    }
  }

  static bool isConstant(mlir::Value value) {
    mlir::Operation *op = value.getDefiningOp();
    if (auto splat = mlir::dyn_cast_or_null<tl::SplatOp>(op))
      op = splat.getOperand().getDefiningOp();
    return mlir::isa_and_nonnull<mlir::arith::ConstantOp>(op);
  }

  /// Which argument a load's pointers come from, where that is easy to see.
  static std::optional<unsigned> argumentOf(mlir::Value pointer) {
    for (;;) {
      if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(pointer)) {
        mlir::Operation *parent = argument.getOwner()->getParentOp();
        if (mlir::isa<mlir::func::FuncOp>(parent))
          return argument.getArgNumber();
        auto loop = mlir::dyn_cast<mlir::scf::ForOp>(parent);
        if (!loop || argument.getArgNumber() == 0)
          return std::nullopt;
        pointer = loop.getInitArgs()[argument.getArgNumber() - 1];
        continue; // what the loop adds keeps the argument
      }
      mlir::Operation *op = pointer.getDefiningOp();
      const OpFacts *facts = tl::factsOf(op);
      const bool keeps = mlir::isa<tl::AddPtrOp>(op) ||
                         (facts && facts->family == OpFamily::Shape && op->getNumOperands() == 1);
      if (!keeps)
        return std::nullopt;
      pointer = op->getOperand(0);
    }
  }

  void addLoad(tl::LoadOp load, mlir::OpResult result, std::vector<RangeOp> &to) {
    const std::optional<unsigned> argument = argumentOf(load->getOperand(0));
    if (!argument) {
      add(to, Kind::Unknown, result);
      return;
    }
    RangeOp &op = add(to, Kind::Load, result);
    op.number = *argument;
    op.isUnsigned = false;
    if (load.getOther())
      addWith(to, Kind::Union, result, {load.getResult(), load.getOther()});
  }

  /// What each iteration adds to a carried value, where its next value is a sum with itself.
  bool addedTo(mlir::Value argument, mlir::Value yielded, RangeOp::Carried &carried) {
    while (yielded != argument) {
      mlir::Operation *op = yielded.getDefiningOp();
      if (!op)
        return false;
      if (mlir::isa<tl::HintOp>(op)) {
        yielded = op->getOperand(0);
        continue;
      }
      const bool isSum = mlir::isa<mlir::arith::AddIOp>(op);
      if (!isSum && !mlir::isa<mlir::arith::SubIOp>(op))
        return false;
      const bool isRight = isSum && reaches(op->getOperand(1), argument);
      const mlir::Value added = op->getOperand(isRight ? 0 : 1);
      if (reaches(added, argument))
        return false;
      carried.added.push_back({idOf(added), !isSum});
      yielded = op->getOperand(isRight ? 1 : 0);
    }
    return true;
  }

  /// Whether a value is made of another one, inside its block.
  static bool reaches(mlir::Value value, mlir::Value source) {
    llvm::SmallVector<mlir::Value> open = {value};
    llvm::DenseSet<mlir::Value> seen;
    while (!open.empty()) {
      const mlir::Value next = open.pop_back_val();
      if (next == source)
        return true;
      mlir::Operation *op = next.getDefiningOp();
      if (!op || !seen.insert(next).second ||
          !source.getParentRegion()->isAncestor(op->getParentRegion()))
        continue;
      if (op->getNumRegions() != 0)
        return true; // not looked into
      open.append(op->operand_begin(), op->operand_end());
    }
    return false;
  }

  void addFor(mlir::scf::ForOp loop, std::vector<RangeOp> &to) {
    RangeOp op;
    op.kind = Kind::For;
    op.result = idOf(loop.getInductionVar());
    op.operands = {idOf(loop.getLowerBound()), idOf(loop.getUpperBound()), idOf(loop.getStep())};
    addAll(*loop.getBody(), op.body);
    for (const auto &[k, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
      if (!isInteger(argument))
        continue;
      RangeOp::Carried carried{idOf(argument),
                               idOf(loop.getInitArgs()[k]),
                               idOf(loop.getBody()->getTerminator()->getOperand(k)),
                               idOf(loop.getResult(k)),
                               {}};
      carried.isSum = addedTo(argument, loop.getBody()->getTerminator()->getOperand(k), carried);
      op.carried.push_back(std::move(carried));
    }
    to.push_back(std::move(op));
  }

  void addIf(mlir::scf::IfOp choice, std::vector<RangeOp> &to) {
    RangeOp op;
    op.kind = Kind::If;
    addAll(choice.getThenRegion().front(), op.body);
    if (!choice.getElseRegion().empty())
      addAll(choice.getElseRegion().front(), op.other);
    for (const auto &[k, result] : llvm::enumerate(choice.getResults()))
      if (isInteger(result))
        op.carried.push_back({0,
                              idOf(choice.getThenRegion().front().getTerminator()->getOperand(k)),
                              idOf(choice.getElseRegion().front().getTerminator()->getOperand(k)),
                              idOf(result),
                              {}});
    to.push_back(std::move(op));
  }

  void addWhile(mlir::scf::WhileOp loop, std::vector<RangeOp> &to) {
    RangeOp op;
    op.kind = Kind::While;
    addAll(*loop.getBeforeBody(), op.body);
    addAll(*loop.getAfterBody(), op.body);
    for (const mlir::ValueRange values :
         {mlir::ValueRange(loop.getBeforeArguments()), mlir::ValueRange(loop.getAfterArguments()),
          mlir::ValueRange(loop.getResults())})
      for (const mlir::Value value : values)
        if (isInteger(value))
          op.carried.push_back({idOf(value), idOf(value), idOf(value), idOf(value), {}});
    to.push_back(std::move(op));
  }

  Addressed addressed_;
  IntegerRanges ranges_;
  llvm::DenseMap<mlir::Value, uint32_t> ids_;
};

} // namespace

IntegerRanges findIntegerRanges(mlir::func::FuncOp function) { return Builder(function).take(); }

} // namespace blockscope::interpreter::flat
