// The findings of `precision`: how exact an output is, and what its error comes from.
#include "sanitizer/precision/precision_sanitizer.h"

#include "sanitizer/describe.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace blockscope::sanitizer {
namespace {

/// An output has no more error than its dtype brings.
constexpr double kAsExact = 1.5;
/// What has a cause of its own brings, or lets through, this part of the error of an output ...
constexpr double kMost = 0.5;
/// ... that has so many times the error of one rounding. Sums in fp32 soon have 4 times that, and
/// nobody minds.
constexpr double kManyOfNarrow = 4, kManyOfWide = 16;
constexpr double kLeastShare = 0.01;
constexpr size_t kMostShares = 8;

bool isLarge(const OutputErrors &errors, const TensorInfo &output) {
  return errors.times() >= (output.elementBytes <= 2 ? kManyOfNarrow : kManyOfWide);
}

std::string text(const char *format, double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

std::string numberText(double value) { return text("%.7g", value); }

/// As many digits as tell the number from its neighbours of float32, or of float64 if it is none.
std::string exactText(double value) {
  const auto narrow = static_cast<float>(value);
  std::array<char, 32> digits;
  const auto end = static_cast<double>(narrow) == value
                       ? std::to_chars(digits.begin(), digits.end(), narrow).ptr
                       : std::to_chars(digits.begin(), digits.end(), value).ptr;
  return {digits.begin(), end};
}

std::string timesText(double times) { return text(times < 9.95 ? "%.1f" : "%.0f", times); }

std::string percentText(double share) { return text("%.0f %%", share * 100); }

/// "3 - 2.99", "log(1.00001)"; empty of ops over whole blocks.
std::string expressionOf(const Cause &cause) {
  llvm::SmallVector<std::string, 3> x;
  for (const double operand : cause.example.operands)
    x.push_back(exactText(operand));
  const llvm::StringRef op = cause.op;
  const auto infix = [&](llvm::StringRef sign) {
    const bool isNegative = llvm::StringRef(x[1]).starts_with("-");
    return (x[0] + sign + (isNegative ? "(" + x[1] + ")" : x[1])).str();
  };
  if (op == "arith.addf")
    return infix(" + ");
  if (op == "arith.subf")
    return infix(" - ");
  if (op == "math.fma")
    return x[0] + " * " + x[1] + " + " + x[2];
  return x.empty() ? "" : (op.split('.').second + "(" + llvm::join(x, ", ") + ")").str();
}

bool isCancellation(const Cause &cause) {
  return cause.op == "arith.addf" || cause.op == "arith.subf" || cause.op == "math.fma" ||
         cause.example.operands.empty();
}

std::string messageOf(const Cause &cause, llvm::StringRef output, double share) {
  const std::string through = percentText(share) + " of the error of '" + output.str() + "'";
  const std::string expression = expressionOf(cause);
  if (expression.empty())
    return "the result is much smaller than what is summed: " + through + " comes through here";
  return expression + " is " + numberText(cause.example.result) + ", exact operands give " +
         numberText(cause.example.exact) + ": " + through + " comes through here";
}

/// Shares of the lines that an error comes from, largest first.
std::vector<std::pair<CauseId, double>> lineShares(const OutputErrors &errors) {
  double all = 0;
  std::vector<std::pair<CauseId, double>> shares;
  for (const auto &[cause, energy] : errors.parts)
    if (!isGrowth(cause)) {
      shares.emplace_back(cause, energy);
      all += energy;
    }
  for (auto &[cause, share] : shares)
    share /= all;
  llvm::sort(shares, [](const auto &a, const auto &b) {
    return std::pair(b.second, a.first) < std::pair(a.second, b.first);
  });
  return shares;
}

} // namespace

void PrecisionSanitizer::report(const Allocation &output, const OutputErrors &errors) {
  const bool isMuch = isLarge(errors, output.info);
  if (tellsAll_ || isMuch)
    add("error-shares " + launch_->kernel + " " + output.info.name, errors.times(),
        [&] { return describeShares(output, errors); });
  if (isMuch)
    reportCauses(output, errors, lineShares(errors));
}

/// Keeps the launch with the largest error.
void PrecisionSanitizer::add(const std::string &cause, double weight,
                             llvm::function_ref<Finding()> describe) {
  const auto [told, isNew] = told_.try_emplace(cause, weight);
  if (!isNew && weight <= 2 * told->second)
    return;
  if (!isNew)
    collector_.withdraw(cause);
  told->second = weight;
  collector_.add(cause, {launch_->launchIndex}, 1, describe);
}

Finding PrecisionSanitizer::describeShares(const Allocation &output,
                                           const OutputErrors &errors) const {
  Finding finding = beginFinding(FindingCode::ErrorShares, *launch_);
  const std::string relative = "relative error " + text("%.1e", errors.relative());
  const std::string &name = output.info.name, &dtype = output.info.dtype;
  finding.message = errors.times() <= kAsExact
                        ? "'" + name + "' is as exact as " + dtype + " can be: " + relative
                        : "'" + name + "' has " + timesText(errors.times()) +
                              " times the error of one rounding to " + dtype + ": " + relative;
  const auto &stores = stores_.at(output.storage);
  const auto most =
      std::max_element(stores.begin(), stores.end(), [](const auto &a, const auto &b) {
        return std::pair(a.second, b.first->location.line) <
               std::pair(b.second, a.first->location.line);
      });
  finding.site.location = withoutVariable(most->first->location);
  finding.element = describeElement(output, static_cast<int64_t>(errors.address - output.address));
  finding.values = {{"kernel", numberText(errors.kernel)}, {"float64", numberText(errors.wanted)}};
  if (!follower_.unknown().empty())
    finding.values.emplace_back(
        "not followed through lines",
        llvm::join(
            llvm::map_range(follower_.unknown(), [](int32_t line) { return std::to_string(line); }),
            ", "));
  for (const auto &[id, share] : lineShares(errors)) {
    if (share < kLeastShare || finding.shares.size() == kMostShares || id == kOtherLines)
      continue;
    const Cause::Rounding &rounding = causes_[id].main();
    finding.shares.push_back({rounding.location, rounding.what, share});
  }
  return finding;
}

void PrecisionSanitizer::reportCauses(const Allocation &output, const OutputErrors &errors,
                                      const std::vector<std::pair<CauseId, double>> &shares) {
  const std::string &name = output.info.name;
  const auto element =
      describeElement(output, static_cast<int64_t>(errors.address - output.address));
  if (!shares.empty() && shares.front().first != kOtherLines && shares.front().second >= kMost) {
    const Cause::Rounding &rounding = causes_[shares.front().first].main();
    if (rounding.isNarrowSum)
      add("narrow-sum " + placeKey(rounding.location), errors.times(), [&] {
        Finding finding = beginFinding(FindingCode::NarrowSum, *launch_);
        finding.message = rounding.what + " brings " + percentText(shares.front().second) +
                          " of the error of '" + name + "', " + timesText(errors.times()) +
                          " times that of one rounding to " + output.info.dtype;
        finding.site.location = rounding.location;
        finding.element = element;
        finding.hint = "sum in fp32, and cast the sum once";
        return finding;
      });
  }
  for (const auto &[id, energy] : errors.parts) {
    const double share = std::min(1.0, energy / errors.error);
    if (!isGrowth(id) || share < kMost)
      continue;
    const Cause &cause = causes_[id];
    const bool cancels = isCancellation(cause);
    add(std::string(cancels ? "cancellation " : "error-growth ") + placeKey(cause.location),
        errors.times(), [&, share = share] {
          Finding finding = beginFinding(
              cancels ? FindingCode::Cancellation : FindingCode::ErrorGrowth, *launch_);
          finding.message = messageOf(cause, name, share);
          finding.site.location = cause.location;
          const GrowthExample &example = cause.example;
          Execution &ran = finding.site.execution.emplace();
          ran.program = programIndex(example.program, launch_->grid);
          ran.loopIterations.assign(example.loopIterations.begin(), example.loopIterations.end());
          ran.lane = example.lane;
          ran.blockShape.assign(example.type.shape.begin(), example.type.shape.end());
          ran.laneIndex = laneIndex(example.lane, example.type.shape);
          finding.element = element;
          finding.hint = cancels ? "subtract before summing or rounding (a variance is the mean of "
                                   "(x - mean) squared), or compute the operands in a wider type"
                                 : "compute the operand in a wider type, or bring it to where this "
                                   "function changes slowly";
          return finding;
        });
  }
}

} // namespace blockscope::sanitizer
