// The findings of overflow and arith.
#include "sanitizer/integers/integer_sanitizer.h"
#include "sanitizer/integers/operand_names.h"

#include "core/numeric/scalar.h"
#include "core/report.h"
#include "sanitizer/describe.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace blockscope::sanitizer {
namespace {

std::string typeName(const Type &type, bool isUnsigned) {
  return (isUnsigned ? "uint" : "int") + std::to_string(type.elementBytes() * 8);
}

/// "product".
llvm::StringRef resultName(llvm::StringRef op) {
  return llvm::StringSwitch<llvm::StringRef>(op)
      .Case("arith.addi", "sum")
      .Case("arith.subi", "difference")
      .Case("arith.muli", "product")
      .Case("math.absi", "absolute value")
      .Case("tl.reduce", "result of a reduction")
      .Case("tl.scan", "result of a scan")
      .Case("arith.remsi", "remainder")
      .Case("arith.remui", "remainder")
      .Default("result");
}

llvm::StringRef symbolOf(llvm::StringRef op) {
  return llvm::StringSwitch<llvm::StringRef>(op)
      .Case("arith.addi", "+")
      .Case("arith.subi", "-")
      .Case("arith.muli", "*")
      .Cases({"arith.divsi", "arith.divui"}, "//")
      .Cases({"arith.remsi", "arith.remui"}, "%")
      .Case("arith.shli", "<<")
      .Cases({"arith.shrsi", "arith.shrui"}, ">>")
      .Default("");
}

std::string whatOf(const Fault &birth, const Type &type) {
  const std::string name = typeName(type, birth.op->isUnsigned);
  const bool isRemainder = llvm::StringRef(birth.op->name).starts_with("arith.rem");
  switch (birth.mistake) {
  case Mistake::SignedWrap:
  case Mistake::UnsignedWrap:
    return "this " + name + " " + resultName(birth.op->name).str() + " wraps";
  case Mistake::LostBits:
    return "this shift loses bits of an " + name;
  case Mistake::Narrowing:
    return "this cast to " + name + " loses the value";
  case Mistake::DivisionByZero:
    return isRemainder ? "this remainder is of a division by 0" : "this division is by 0";
  case Mistake::DivisionOverflow:
    return "this division of the least " + name + " by -1 wraps";
  case Mistake::ShiftTooFar:
    return "this shift is by the width of " + name + " or more";
  case Mistake::FloatToInt:
    return "this cast to " + name + " is of a float out of its range";
  case Mistake::Bits:
    break;
  }
  return "";
}

std::string useOf(IntegerUse use, std::optional<AccessKind> access) {
  const auto of = [&] {
    const llvm::StringRef name = accessKindName(access.value_or(AccessKind::Load));
    return (name.starts_with("a") ? "an " : "a ") + name.str();
  };
  switch (use) {
  case IntegerUse::Address:
    return " and reaches the address of " + of();
  case IntegerUse::Mask:
    return " and decides the mask of " + of();
  case IntegerUse::Way:
    return " and decides which way the program goes";
  case IntegerUse::Store:
    return ", and what comes of it is stored";
  case IntegerUse::AtomicOperand:
    return ", and what comes of it is an operand of an atomic";
  }
  return "";
}

using Names = OperandTexts;

bool isName(llvm::StringRef text) {
  return llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
}

std::string wrapHint(llvm::StringRef op, const Names &names) {
  std::string hint = "cast to int64 before ";
  hint += op == "arith.muli" ? "the multiplication" : symbolOf(op).empty() ? "it" : "this operator";
  if (names && isName(names->first) && !llvm::isDigit(names->first.front()))
    hint += ": " + names->first + ".to(tl.int64) " + symbolOf(op).str() + " " + names->second;
  return hint;
}

/// Of a mistake in a type that is the widest one already.
std::string hintOfWidest(Mistake mistake, IntegerUse use) {
  constexpr llvm::StringLiteral kTooFar =
      "no tensor has so many elements: is one of these numbers not what it should be?";
  switch (mistake) {
  case Mistake::SignedWrap:
    return use == IntegerUse::Address ? kTooFar.str()
                                      : "compute it in an unsigned type if it is meant to wrap";
  case Mistake::UnsignedWrap:
  case Mistake::LostBits:
    return kTooFar.str();
  case Mistake::DivisionOverflow:
    return "keep the least number out by tl.where or the mask";
  case Mistake::ShiftTooFar:
    return "keep the shift below the width";
  case Mistake::Narrowing:
  case Mistake::DivisionByZero:
  case Mistake::FloatToInt:
  case Mistake::Bits:
    break;
  }
  return "";
}

std::string hintOf(const Fault &birth, const Type &type, IntegerUse use, const Names &names) {
  if (type.elementBytes() == 8)
    if (std::string hint = hintOfWidest(birth.mistake, use); !hint.empty())
      return hint;
  switch (birth.mistake) {
  case Mistake::SignedWrap:
  case Mistake::UnsignedWrap:
    return use == IntegerUse::Address
               ? wrapHint(birth.op->name, names)
               : "compute it in int64, or in an unsigned type if it is meant to wrap";
  case Mistake::LostBits:
    return "cast to int64 before the shift";
  case Mistake::Narrowing:
    return "keep the index in int64";
  case Mistake::DivisionByZero:
    return "give the divisor another value where it is 0 (tl.where), or keep these lanes out by "
           "the mask";
  case Mistake::DivisionOverflow:
    return "divide in a wider type";
  case Mistake::ShiftTooFar:
    return "keep the shift below the width, or shift in a wider type";
  case Mistake::FloatToInt:
    return "limit the float before the cast, with tl.clamp or tl.where";
  case Mistake::Bits:
    break;
  }
  return "";
}

FindingCode codeOf(Mistake mistake, IntegerUse use) {
  switch (mistake) {
  case Mistake::SignedWrap:
  case Mistake::UnsignedWrap:
  case Mistake::LostBits:
  case Mistake::Narrowing:
  case Mistake::Bits:
    return use == IntegerUse::Address ? FindingCode::IndexWrap : FindingCode::IntegerWrap;
  case Mistake::DivisionByZero:
    return FindingCode::DivisionByZero;
  case Mistake::DivisionOverflow:
    return FindingCode::DivisionOverflow;
  case Mistake::ShiftTooFar:
    return FindingCode::ShiftTooFar;
  case Mistake::FloatToInt:
    return FindingCode::FloatToInt;
  }
  return FindingCode::Unknown;
}

NamedValues valuesOf(const Fault &birth, Names names) {
  NamedValues values;
  if (birth.mistake == Mistake::FloatToInt)
    return {{"float", numeric::shortestText(birth.number, false)}};
  const llvm::StringRef op = birth.op->name;
  if (birth.mistake == Mistake::Narrowing) {
    values.emplace_back("value", wideText(birth.left));
  } else if (!symbolOf(op).empty()) {
    values.emplace_back(names ? names->first : "left", wideText(birth.left));
    values.emplace_back(names ? names->second : "right", wideText(birth.right));
    if (values[0].first == values[1].first)
      values.pop_back(); // x * x
    llvm::erase_if(values, [](const auto &value) { return value.first == value.second; });
  } else if (op == "math.absi") {
    values.emplace_back("of", wideText(birth.left));
  }
  if (!isArithmetic(birth.mistake) || birth.mistake == Mistake::DivisionOverflow) {
    if (birth.mistake != Mistake::Narrowing)
      values.emplace_back("exact", wideText(birth.exact));
    values.emplace_back(birth.mistake == Mistake::Narrowing ? "kept" : "wrapped",
                        wideText(birth.kept));
  }
  return values;
}

} // namespace

void IntegerSanitizer::report(const Found &found) {
  const Deviation deviation = deviations_[found.id];
  const Fault &birth = deviation.birth;
  const std::string cause = std::string(codeText(codeOf(birth.mistake, found.use))) + " " +
                            std::to_string(static_cast<int>(birth.mistake)) + " " +
                            placeKey(birth.op->location);
  // Source text may come from Python, which is not asked under the collector's lock.
  const auto [known, isNew] = names_.try_emplace(birth.op);
  if (isNew)
    known->second = operandTexts(birth.op->location, symbolOf(birth.op->name));
  const Names names = known->second;
  const int32_t column = found.use == IntegerUse::Way ? columnOfStatement(found.op->location) : 0;
  collector_.add(
      cause, {launch_->launchIndex, found.program, sequence_++, found.lane}, found.count,
      [&] {
        Finding finding = describe(found, birth, names);
        if (column)
          finding.related.back().location.column = column;
        return finding;
      },
      found.elements);
}

Finding IntegerSanitizer::describe(const Found &found, const Fault &birth,
                                   OperandTexts names) const {
  const Type type = types_.lookup(birth.op);
  Finding finding = beginFinding(codeOf(birth.mistake, found.use), *launch_);
  finding.message = whatOf(birth, type) + useOf(found.use, found.access);
  finding.site.location = withoutVariable(birth.op->location);
  Execution &ran = finding.site.execution.emplace();
  ran.program = programIndex(found.program, launch_->grid);
  if (type.isBlock()) {
    ran.lane = birth.lane;
    ran.blockShape.assign(type.shape.begin(), type.shape.end());
    ran.laneIndex = laneIndex(birth.lane, type.shape);
  }
  // The IR has constants on the right.
  if (names && llvm::isDigit(names->first.front()) && names->first != wideText(birth.left))
    std::swap(names->first, names->second);
  finding.values = valuesOf(birth, names);
  finding.hint = hintOf(birth, type, found.use, names);
  if (found.allocation) {
    finding.element = describeElement(*found.allocation, found.offset);
    ran.accessBytes = found.block->pointee().elementBytes();
  }
  Site used{SiteRole::UsedAt, withoutVariable(found.op->location), Execution()};
  used.execution->access = found.access;
  used.execution->program = ran.program;
  used.execution->loopIterations.assign(found.loopIterations.begin(), found.loopIterations.end());
  if (found.block && found.block->isBlock()) {
    used.execution->lane = found.lane;
    used.execution->blockShape.assign(found.block->shape.begin(), found.block->shape.end());
    used.execution->laneIndex = laneIndex(found.lane, found.block->shape);
  }
  finding.related.push_back(std::move(used));
  return finding;
}

void IntegerSanitizer::tellLimits() {
  const IntegerRanges *known = ranges();
  if (!known)
    return;
  for (const IntegerRanges::Limit &limit : known->limits(*launch_, leastFactor_)) {
    if (limit.isConstant && leastFactor_ >= kNearFactor)
      continue;
    const OpInfo &op = known->places[static_cast<size_t>(limit.place)];
    const OperandTexts names = operandTexts(op.location, symbolOf(op.name));
    std::array<int32_t, 3> grid = launch_->grid;
    grid[limit.axis] = static_cast<int32_t>(limit.programs);
    const std::string cause = "grid-limit " + std::to_string(limit.axis) + placeKey(op.location);
    collector_.add(cause, {launch_->launchIndex}, 1, [&] {
      Finding finding = beginFinding(FindingCode::GridLimit, *launch_);
      finding.severity = Severity::Note;
      finding.message = "from grid (" + std::to_string(grid[0]) + ", " + std::to_string(grid[1]) +
                        ", " + std::to_string(grid[2]) +
                        ") on this product wraps, and an address is made of it";
      finding.site.location = withoutVariable(op.location);
      finding.values = {{"factor", wideText(limit.factor)}};
      finding.hint = wrapHint(op.name, names);
      return finding;
    });
  }
}

} // namespace blockscope::sanitizer
