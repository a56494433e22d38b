// Computes each op again in float64: of the kernel's operands, of the exact ones, and of the
// kernel's without the part of one cause after another.
#include "sanitizer/precision/follow.h"

#include "core/numeric/scalar.h"
#include "core/op_facts.h"
#include "sanitizer/rows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

namespace blockscope::sanitizer {
namespace {

/// An error has grown where it is so many times larger than that of any operand, as a part of the
/// number.
constexpr double kManyTimes = 32;
/// What has grown is followed where it is at least this part of the error of the whole result, in
/// squares.
constexpr double kNoticed = 0.1;

double squared(const std::vector<double> &elements) {
  double sum = 0;
  for (const double each : elements)
    sum += std::isfinite(each) ? each * each : 0;
  return sum;
}

bool isSum(const OpSignature &signature) {
  const llvm::StringRef name = signature.name;
  return name == "arith.addf" || name == "arith.subf" || name == "math.fma" || name == "tl.dot" ||
         ((name == "tl.reduce" || name == "tl.scan") &&
          signature.attributes.getString("combine") == "arith.addf");
}

/// "an addition in fp32".
std::string wordsOf(const OpValues &values) {
  const OpSignature &signature = *values.signature;
  const llvm::StringRef name = signature.name;
  const std::string type = dtypeName(values.results[0].type->dtype).str();
  if (name == "tl.fp_cast" || name == "tl.int_to_float")
    return "a cast to " + type;
  if (name == "tl.dot") {
    const DType from = values.operands[0].type->dtype;
    const llvm::StringRef precision = signature.attributes.getString("input_precision", "ieee");
    const bool isCut = from == DType::Fp32 && precision != "ieee";
    return ("a dot of " + (isCut ? precision : dtypeName(from)) + " summed in " + type).str();
  }
  if (name == "tl.reduce" || name == "tl.scan") {
    const llvm::StringRef combine = signature.attributes.getString("combine");
    const Type &from = *values.operands[0].type;
    const Rows rows(from, static_cast<size_t>(signature.attributes.getInt("axis")));
    const char *made = combine == "arith.addf"   ? "sum"
                       : combine == "arith.mulf" ? "product"
                                                 : "reduction";
    return llvm::formatv("a {0}{1} of {2} in {3}", name == "tl.scan" ? "running " : "", made,
                         rows.length, type);
  }
  if (name.starts_with("tl.extern_elementwise")) {
    llvm::StringRef symbol = signature.attributes.getString("symbol");
    symbol.consume_front("__nv_");
    return (symbol + " in " + type).str();
  }
  static const llvm::StringMap<llvm::StringRef> kWords = {{"arith.addf", "an addition"},
                                                          {"arith.subf", "a subtraction"},
                                                          {"arith.mulf", "a multiplication"},
                                                          {"arith.divf", "a division"},
                                                          {"arith.remf", "a remainder"}};
  const auto found = kWords.find(name);
  const llvm::StringRef word = found == kWords.end() ? name.split('.').second : found->second;
  return (word + " in " + type).str();
}

} // namespace

/// Widens elements of a floating dtype to float64; null where no evaluator does.
static const Evaluator *wideningOf(DType dtype) {
  static const std::map<DType, Evaluator> kWidenings = [] {
    std::map<DType, Evaluator> widenings;
    for (auto i = static_cast<uint8_t>(DType::Fp8E4M3NV); i < static_cast<uint8_t>(DType::Fp64);
         ++i) {
      const auto from = static_cast<DType>(i);
      OpSignature cast;
      cast.name = "tl.fp_cast";
      cast.operands = {Type::get(from, {1})};
      cast.results = {Type::get(DType::Fp64, {1})};
      EvaluatorOrError chosen = EvaluatorTable::instance().choose(cast);
      if (chosen.error.empty() && chosen.evaluator.elementwise)
        widenings[from] = std::move(chosen.evaluator);
    }
    return widenings;
  }();
  const auto found = kWidenings.find(dtype);
  return found == kWidenings.end() ? nullptr : &found->second;
}

std::vector<double> readFloats(const ValueView &view, int64_t count) {
  const int64_t elements = view.elements(count);
  std::vector<double> floats(static_cast<size_t>(elements));
  if (const Evaluator *widening = wideningOf(view.type->dtype)) {
    void *const results[] = {floats.data()};
    widening->elementwise(elements, 0, results, &view.data, 0, widening->payload.get());
    return floats;
  }
  const auto *bytes = static_cast<const std::byte *>(view.data);
  const int size = view.type->elementBytes();
  for (int64_t i = 0; i < elements; ++i)
    floats[static_cast<size_t>(i)] = numeric::readAsDouble(view.type->dtype, bytes + i * size);
  return floats;
}

/// One op that has run.
class Follower::Step {
public:
  Step(Follower &follower, const OpValues &values)
      : follower_(follower), values_(values), op_(follower.wideOps_.of(values)) {
    for (const ValueView &operand : values.operands) {
      Input &input = inputs_.emplace_back();
      input.isFloat = operand.type->isFloating();
      if (!input.isFloat)
        continue;
      input.errors = follower.blocks_.find(operand, values.begin);
      const ExactBlock *block = input.errors.block;
      if (block && (block->parts.empty() || input.errors.first + operand.elements(values.count) >
                                                static_cast<int64_t>(block->exact.size())))
        input.errors = {};
      hasErrors_ |= input.errors.block != nullptr;
    }
  }

  void run() {
    const bool mayPick = op_.form() == WideOp::Form::Picks ||
                         (op_.form() == WideOp::Form::Combine &&
                          values_.signature->name == "tl.reduce" && inputs_.size() > 1);
    if (mayPick && pick())
      return;
    if (op_.form() == WideOp::Form::Unknown || op_.form() == WideOp::Form::Picks)
      return leaveOut();
    if (!hasErrors_ && isExactOp() && !isStrip())
      return dropAll();
    compute();
  }

private:
  struct Input {
    bool isFloat = false;
    ExactElements errors;
    std::vector<double> kernel;

    double exact(int64_t i) const {
      return errors.block ? errors.block->exact[static_cast<size_t>(errors.first + i)]
                          : kernel[static_cast<size_t>(i)];
    }
    /// The elements of a cause's part; null where it has none.
    const double *part(CauseId cause) const {
      const std::vector<double> *part = errors.block ? errors.block->find(cause) : nullptr;
      return part ? part->data() + errors.first : nullptr;
    }
  };
  using Results = std::vector<std::vector<double>>;

  bool isStrip() const { return values_.count < values_.results[0].type->numElements(); }
  bool isExactOp() const {
    const OpFacts *facts = findOpFacts(values_.signature->name);
    return facts && !facts->error.rounds();
  }

  void dropAll() {
    for (const ValueView &result : values_.results)
      follower_.blocks_.drop(values_, result);
  }

  void leaveOut() {
    dropAll();
    if (hasErrors_)
      follower_.unknown_.insert(values_.op->location.line);
  }

  /// Gives the op operands: for each float what `elements(input, scratch)` says.
  template <typename Elements> Results runWith(Elements elements) const {
    std::vector<std::vector<double>> scratch(inputs_.size());
    llvm::SmallVector<WideOperand, 4> operands;
    for (size_t k = 0; k < inputs_.size(); ++k)
      operands.push_back(inputs_[k].isFloat ? WideOperand{elements(inputs_[k], scratch[k]), nullptr}
                                            : WideOperand{nullptr, values_.operands[k].data});
    return op_.run(values_, operands);
  }

  void compute() {
    for (size_t k = 0; k < inputs_.size(); ++k)
      if (inputs_[k].isFloat)
        inputs_[k].kernel = readFloats(values_.operands[k], values_.count);
    const auto kernelOf = [](const Input &input, std::vector<double> &) { return &input.kernel; };
    const auto exactOf = [](const Input &input, std::vector<double> &scratch) {
      for (size_t i = 0; input.errors.block && i < input.kernel.size(); ++i)
        scratch.push_back(input.exact(static_cast<int64_t>(i)));
      return input.errors.block ? &scratch : &input.kernel;
    };
    const Results base = runWith(kernelOf);
    const Results exact = hasErrors_ ? runWith(exactOf) : base;
    std::vector<ExactBlock> made(values_.results.size());
    for (size_t k = 0; k < made.size(); ++k)
      made[k].exact = exact[k];
    if (hasErrors_)
      carryParts(base, made);
    for (size_t k = 0; k < made.size(); ++k) {
      if (!values_.results[k].type->isFloating())
        continue;
      if (hasErrors_)
        noteGrowth(base[k], made[k]);
      round(k, base[k], made[k]);
    }
  }

  void carryParts(const Results &base, std::vector<ExactBlock> &made) {
    llvm::SmallSet<CauseId, 16> causes;
    for (const Input &input : inputs_)
      if (input.errors.block)
        for (const ErrorPart &part : input.errors.block->parts)
          causes.insert(part.cause);
    std::vector<CauseId> sorted(causes.begin(), causes.end());
    llvm::sort(sorted);
    for (const CauseId cause : sorted)
      carry(cause, base, made);
  }

  void carry(CauseId cause, const Results &base, std::vector<ExactBlock> &made) {
    if (isOnlyAdded(cause)) {
      made[0].parts.push_back({cause, *inputs_.back().errors.block->find(cause)});
      return;
    }
    const auto withoutPart = [&](const Input &input, std::vector<double> &scratch) {
      const double *part = input.part(cause);
      scratch.resize(input.kernel.size());
      for (size_t i = 0; i < scratch.size(); ++i)
        scratch[i] =
            (op_.isMove() ? 0 : input.kernel[i]) + (part ? op_.isMove() ? part[i] : -part[i] : 0);
      return &scratch;
    };
    const Results without = runWith(withoutPart);
    if (op_.isMove()) {
      for (size_t k = 0; k < made.size(); ++k)
        made[k].parts.push_back({cause, without[k]});
      return;
    }
    for (size_t k = 0; k < made.size(); ++k) {
      std::vector<double> part(base[k].size());
      for (size_t i = 0; i < part.size(); ++i)
        part[i] = base[k][i] - without[k][i];
      made[k].parts.push_back({cause, std::move(part)});
    }
  }

  /// Whether a part comes with the sums of a dot, and with nothing that it multiplies.
  bool isOnlyAdded(CauseId cause) const {
    return values_.signature->name == "tl.dot" && inputs_.back().errors.block &&
           inputs_.back().errors.block->exact.size() == inputs_.back().kernel.size() &&
           llvm::none_of(llvm::ArrayRef(inputs_).drop_back(), [&](const Input &input) {
             return input.errors.block && input.errors.block->find(cause);
           });
  }

  /// Adds what the op itself rounds, and keeps the result.
  void round(size_t k, const std::vector<double> &base, ExactBlock &made) {
    const ValueView &result = values_.results[k];
    const std::vector<double> kernel = readFloats(result, values_.count);
    std::vector<double> rounded(kernel.size());
    bool hasRounded = false;
    for (size_t i = 0; i < kernel.size(); ++i) {
      if (!std::isfinite(kernel[i]) || !std::isfinite(made.exact[i]) || !std::isfinite(base[i])) {
        made.exact[i] = kernel[i];
        for (ErrorPart &part : made.parts)
          part.error[i] = 0;
        continue;
      }
      for (ErrorPart &part : made.parts)
        part.error[i] = std::isfinite(part.error[i]) ? part.error[i] : 0;
      rounded[i] = kernel[i] - base[i];
      hasRounded |= rounded[i] != 0;
    }
    made.line = follower_.causes_.lineOf(*values_.op);
    if (hasRounded) {
      follower_.causes_.rounding(*values_.op, wordsOf(values_), squared(rounded),
                                 isNarrowSum(result));
      std::vector<double> &part = made.part(made.line);
      for (size_t i = 0; i < part.size(); ++i)
        part[i] += rounded[i];
    }
    made.tidy();
    if (made.parts.empty() && !isStrip())
      follower_.blocks_.drop(values_, result);
    else
      follower_.blocks_.set(values_, result, std::move(made));
  }

  /// A sum in a narrow type: over a row, or with what the same line has made before.
  bool isNarrowSum(const ValueView &result) const {
    if (!isSum(*values_.signature) || result.type->elementBytes() > 2)
      return false;
    if (values_.signature->name == "tl.reduce" || values_.signature->name == "tl.scan")
      return true;
    const CauseId line = follower_.causes_.lineOf(*values_.op);
    return llvm::any_of(inputs_, [&](const Input &input) {
      return input.errors.block && input.errors.block->line == line;
    });
  }

  /// Marks elements whose error, as a part of the number, is much larger than those of the
  /// operands.
  void noteGrowth(const std::vector<double> &base, ExactBlock &made) {
    if (op_.isMove() || op_.form() == WideOp::Form::Same)
      return;
    std::vector<double> carried(base.size()), grown(base.size());
    for (size_t i = 0; i < base.size(); ++i)
      carried[i] = base[i] - made.exact[i];
    const bool isElementwise = op_.form() == WideOp::Form::Elementwise;
    size_t worst = base.size();
    if (!isElementwise && !hasGrownAsAWhole(carried, made.exact))
      return;
    for (size_t i = 0; i < base.size(); ++i) {
      if (!std::isfinite(carried[i]) || carried[i] == 0 ||
          (isElementwise && !hasGrown(static_cast<int64_t>(i), carried[i], made.exact[i])))
        continue;
      grown[i] = carried[i];
      if (worst == base.size() || std::abs(grown[i]) > std::abs(grown[worst]))
        worst = i;
    }
    if (worst == base.size() || squared(grown) < kNoticed * squared(carried))
      return;
    GrowthExample example;
    example.error = grown[worst];
    for (const Input &input : inputs_)
      if (input.isFloat && isElementwise)
        example.operands.push_back(input.kernel[input.kernel.size() == 1 ? 0 : worst]);
    example.result = base[worst];
    example.exact = made.exact[worst];
    example.program = values_.program;
    example.lane = values_.begin + static_cast<int64_t>(worst);
    example.type = *values_.results[0].type;
    example.loopIterations.assign(values_.loopIterations.begin(), values_.loopIterations.end());
    std::vector<double> &part =
        made.part(follower_.causes_.growth(*values_.op, values_.signature->name, example));
    for (size_t i = 0; i < part.size(); ++i)
      part[i] = grown[i] != 0 ? grown[i] : part[i];
  }

  bool hasGrown(int64_t i, double error, double exact) const {
    double before = 0;
    for (const Input &input : inputs_) {
      if (!input.errors.block)
        continue;
      const int64_t at = input.kernel.size() == 1 ? 0 : i;
      const double wanted = input.exact(at);
      before =
          std::max(before, std::abs((input.kernel[static_cast<size_t>(at)] - wanted) / wanted));
    }
    return before > 0 && std::isfinite(before) &&
           std::abs(error) > kManyTimes * before * std::abs(exact);
  }

  bool hasGrownAsAWhole(const std::vector<double> &carried,
                        const std::vector<double> &exact) const {
    double before = 0;
    for (const Input &input : inputs_) {
      if (!input.errors.block)
        continue;
      double error = 0, size = 0;
      for (size_t i = 0; i < input.kernel.size(); ++i) {
        const double wanted = input.exact(static_cast<int64_t>(i));
        const double off = input.kernel[i] - wanted;
        if (!std::isfinite(off))
          continue;
        error += off * off;
        size += wanted * wanted;
      }
      before = std::max(before, error / size);
    }
    return before > 0 && std::isfinite(before) &&
           squared(carried) > kManyTimes * kManyTimes * before * squared(exact);
  }

  /// A reduction by the user's function, or a sort: an element that has the value of one of its row
  /// is that one. False where one has not.
  bool pick() {
    std::vector<ExactBlock> made(values_.results.size());
    for (size_t k = 0; k < made.size(); ++k)
      if (values_.results[k].type->isFloating() && !pick(k, made[k]))
        return false;
    for (size_t k = 0; k < made.size(); ++k) {
      made[k].tidy();
      if (made[k].parts.empty())
        follower_.blocks_.drop(values_, values_.results[k]);
      else
        follower_.blocks_.set(values_, values_.results[k], std::move(made[k]));
    }
    return true;
  }

  bool pick(size_t k, ExactBlock &made) {
    const Type &type = *values_.operands[k].type;
    const bool isSort = values_.signature->name == "tl.sort";
    const Rows rows(type, isSort
                              ? type.shape.size() - 1
                              : static_cast<size_t>(values_.signature->attributes.getInt("axis")));
    const std::vector<double> from = readFloats(values_.operands[k], values_.count),
                              to = readFloats(values_.results[k], values_.count);
    const ExactElements &errors = inputs_[k].errors;
    made.exact = to;
    made.line = follower_.causes_.lineOf(*values_.op);
    if (errors.block)
      for (const ErrorPart &part : errors.block->parts)
        made.parts.push_back({part.cause, std::vector<double>(to.size())});
    std::vector<bool> isTaken(isSort ? from.size() : 0);
    for (size_t i = 0; i < to.size(); ++i) {
      const int64_t row = isSort ? rows.rowOf(static_cast<int64_t>(i)) : static_cast<int64_t>(i);
      int64_t at = 0;
      const auto isIt = [&](size_t element) {
        return (from[element] == to[i] || (std::isnan(from[element]) && std::isnan(to[i]))) &&
               !(isSort && isTaken[element]);
      };
      while (at < rows.length && !isIt(static_cast<size_t>(rows.at(row, at))))
        ++at;
      if (at == rows.length)
        return false;
      const auto element = static_cast<size_t>(rows.at(row, at));
      if (isSort)
        isTaken[element] = true;
      const size_t exact = static_cast<size_t>(errors.first) + element;
      if (errors.block)
        made.exact[i] = errors.block->exact[exact];
      for (size_t part = 0; part < made.parts.size(); ++part)
        made.parts[part].error[i] = errors.block->parts[part].error[exact];
    }
    return true;
  }

  Follower &follower_;
  const OpValues &values_;
  const WideOp &op_;
  llvm::SmallVector<Input, 4> inputs_;
  bool hasErrors_ = false;
};

void Follower::follow(const OpValues &values) {
  if (values.results.empty())
    return;
  if (llvm::none_of(values.results,
                    [](const ValueView &result) { return result.type->isFloating(); })) {
    for (const ValueView &result : values.results)
      blocks_.drop(values, result);
    return;
  }
  Step(*this, values).run();
}

} // namespace blockscope::sanitizer
