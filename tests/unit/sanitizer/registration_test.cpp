// A sanitizer of this file's own: it registers itself as those of the library do, and is then a
// check like any other, in both CPU modes.
#include "core/ir/ir_emitter.h"
#include "core/passes/passes.h"
#include "interpreter/flat/builder.h"
#include "interpreter/launch.h"
#include "interpreter/step_emitter.h"
#include "sanitizer/check_session.h"
#include "sanitizer/sanitizer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

namespace blockscope::sanitizer {

namespace {

//===-- The sanitizer
//--------------------------------------------------------------------------===//

constexpr FindingCode kCodes[] = {FindingCode::Unknown}; // a real one has codes of its own
constexpr ObserverPlan kPlan = {.needs = {.values = true}, .repeat = ObserverPlan::Repeat::Accepts};
constexpr llvm::StringLiteral kChoices[] = {"signed", "all"};
constexpr SanitizerOption kDivisors = {"divisors", kChoices, "all: unsigned ones too"};

/// Finds integer divisions by zero.
class DivisionSanitizer : public Observer {
public:
  DivisionSanitizer(FindingCollector &collector, bool hasAll)
      : collector_(collector), hasAll_(hasAll) {}

  ObserverPlan plan() const override { return kPlan; }
  void onLaunchBegin(const LaunchInfo &launch) override { launch_ = &launch; }

  void onValues(const OpValues &values) override {
    const std::string &name = values.op->name;
    if (name != "arith.divsi" && !(hasAll_ && name == "arith.divui"))
      return;
    const ValueView &divisor = values.operands[1];
    const auto *elements = static_cast<const int32_t *>(divisor.data);
    const bool isOne = divisor.extent == ValueView::Extent::One;
    for (int64_t i = 0; i < (isOne ? 1 : values.count); ++i)
      if (elements[i] == 0)
        report(values, isOne ? 0 : values.begin + i);
  }

private:
  void report(const OpValues &values, int64_t lane) {
    const auto describe = [&] {
      Finding finding = beginFinding(FindingCode::Unknown, *launch_);
      finding.message = "division by zero";
      finding.site.location = values.op->location;
      Execution &ran = finding.site.execution.emplace();
      ran.program = programIndex(values.program, launch_->grid);
      ran.lane = lane;
      return finding;
    };
    collector_.add("division " + placeKey(values.op->location),
                   {launch_->launchIndex, values.program, 0, lane}, 1, describe);
  }

  FindingCollector &collector_;
  const bool hasAll_;
  const LaunchInfo *launch_ = nullptr;
};

const Registration kRegistration({
    .name = "division",
    .help = "integer divisions by zero",
    .codes = kCodes,
    .plan = kPlan,
    .options = kDivisors,
    .make = [](const SanitizerContext &context) -> std::unique_ptr<Observer> {
      return std::make_unique<DivisionSanitizer>(context.collector,
                                                 context.choice(kDivisors) == "all");
    },
});

//===-- The table
//------------------------------------------------------------------------------===//

TEST(RegistrationTest, TheTableHasThisOneAndThoseOfTheLibrary) {
  for (const llvm::StringRef name : {"asan", "division", "tsan"})
    EXPECT_TRUE(findSanitizer(name)) << name.str();
  // Those of every check first, then by name.
  EXPECT_TRUE(llvm::is_sorted(sanitizers(), [](const SanitizerInfo &a, const SanitizerInfo &b) {
    return std::tuple(!a.isInEveryCheck, a.name) < std::tuple(!b.isInEveryCheck, b.name);
  }));
  EXPECT_EQ(findSanitizer("division")->help, "integer divisions by zero");
  EXPECT_EQ(findSanitizer(""), nullptr);
  EXPECT_EQ(findOption("divisors")->choices.size(), 2U);
}

TEST(RegistrationTest, EveryRowIsWhole) {
  for (const SanitizerInfo &info : sanitizers()) {
    EXPECT_FALSE(info.help.empty() || info.codes.empty());
    FindingCollector collector;
    std::vector<HostWatcher *> hostWatchers;
    const std::unique_ptr<Observer> observer = info.make({collector, true, {}, hostWatchers});
    EXPECT_EQ(observer->plan().needs, info.plan.needs) << info.name.str();
    EXPECT_EQ(observer->plan().repeat, info.plan.repeat) << info.name.str();
  }
}

TEST(RegistrationTest, ProblemsNameWhatIsExpected) {
  const std::string none = problemOf({}), expected = none.substr(none.find(" expected "));
  EXPECT_EQ(none, "no check was named," + expected);
  for (const llvm::StringRef name : {"asan", "division", "tsan"})
    EXPECT_NE(expected.find(name), std::string::npos) << expected;
  EXPECT_EQ(problemOf({{"tsan", "none such"}}), "unknown check 'none such'," + expected);
  EXPECT_EQ(problemOf({{"division"}, {{"divisors", "few"}}}),
            "divisors is 'few', expected signed or all");
  EXPECT_EQ(problemOf({{"division"}, {{"dividends", "all"}}}),
            "unknown option 'dividends' of a check");
  EXPECT_EQ(problemOf({{"division", "asan"}, {{"divisors", "all"}, {"bounds", "view"}}}), "");
}

//===-- Runs in both modes
//---------------------------------------------------------------------===//

/// out[8 * program + lane] = lane / (lane - n) of 8 lanes, signed and unsigned.
void divide(Emitter &emitter, const Value &out, const Value &n) {
  const Type block = Type::get(DType::Int32, {8});
  const auto emit = [&](llvm::StringRef name, llvm::ArrayRef<Value> operands, const Type &type,
                        const Attributes &attributes = {}) {
    return emitter.emit({name, operands, attributes, {type}})[0];
  };
  const Value lanes = emit("tl.range", {}, block, {{"start", int64_t{0}}, {"end", int64_t{8}}});
  const Value divisors = emit("arith.subi", {lanes, emit("tl.splat", {n}, block)}, block);
  const Value quotients = emit("arith.divsi", {lanes, divisors}, block);
  const Value others = emit("arith.divui", {lanes, divisors}, block);
  const Value sums = emit("arith.addi", {quotients, others}, block);
  const Type pointers = out.type.withShape({8});
  const Value program = emit("tl.program_id", {}, Type::get(DType::Int32), {{"axis", int64_t{0}}});
  Value places = emit("tl.addptr", {emit("tl.splat", {out}, pointers), lanes}, pointers);
  for (int step = 0; step < 8; ++step)
    places = emit("tl.addptr", {places, emit("tl.splat", {program}, block)}, pointers);
  emitter.emit({"tl.store", {places, sums}, {}, {}});
}

class DivisionTest : public ::testing::Test {
protected:
  DivisionTest() {
    Allocation allocation;
    allocation.info = {"out", "int32", {24}, {1}, 4, 96, 0};
    allocation.view = allocation.storage = reinterpret_cast<std::byte *>(out.data());
    allocation.storageBytes = 96;
    address = launch.memory.add(allocation).base;
    launch.info.kernel = "divide";
    launch.info.grid = {3, 1, 1};
  }

  std::vector<Finding> runFlat(const CheckOptions &options, int32_t n) {
    IrEmitter emitter;
    const ValueList arguments = emitter.beginFunction("divide", {kPointer, kInt}, {"out", "n"});
    divide(emitter, arguments[0], arguments[1]);
    emitter.finishFunction();
    std::string error;
    EXPECT_TRUE(emitter.verify(&error) && runPasses(emitter, &error)) << error;
    const interpreter::FlatProgram program =
        interpreter::buildFlatProgram(emitter, &error, {.values = true});
    EXPECT_EQ(error, "");
    CheckSession session(options);
    session.watch(launch);
    EXPECT_TRUE(launch.observers.plan().only.values);
    const interpreter::ArgumentValue values[] = {{address}, {static_cast<uint64_t>(n)}};
    EXPECT_TRUE(interpreter::launchFlat(program, launch, values).succeeded());
    return session.findings();
  }

  std::vector<Finding> runStepped(const CheckOptions &options, int32_t n) {
    CheckSession session(options);
    session.watch(launch);
    interpreter::StepEmitter emitter(launch, [] { return SourceLocation(); });
    emitter.beginLaunch(/*hasAtomics=*/false);
    for (int32_t program = 0; program < 3; ++program) {
      emitter.beginProgram({program, 0, 0});
      divide(emitter, emitter.scalarFromBits(kPointer, address), emitter.intConstant(kInt, n));
      emitter.endProgram();
    }
    emitter.endLaunch();
    EXPECT_EQ(emitter.takeFailure(), "");
    return session.findings();
  }

  const Type kInt = Type::get(DType::Int32), kPointer = kInt.pointerTo();
  std::vector<int32_t> out = std::vector<int32_t>(24);
  uint64_t address = 0;
  interpreter::LaunchState launch;
};

TEST_F(DivisionTest, FindsInTheFlatProgram) {
  const std::vector<Finding> findings = runFlat({{"division"}}, 5);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].message, "division by zero");
  EXPECT_EQ(findings[0].site.execution->lane, 5);
  EXPECT_EQ(findings[0].count, 3); // once in each program
  EXPECT_EQ(findings[0].programCount, 3);
}

TEST_F(DivisionTest, FindsStepByStep) {
  const std::vector<Finding> findings = runStepped({{"division"}}, 5);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].site.execution->lane, 5);
  EXPECT_EQ(findings[0].count, 3);
}

TEST_F(DivisionTest, AChoiceOfTheUserReachesIt) {
  EXPECT_EQ(runStepped({{"division"}, {{"divisors", "all"}}}, 5)[0].count, 6);
}

TEST_F(DivisionTest, IsSilentWhereNothingIsWrong) {
  EXPECT_TRUE(runFlat({{"division", "asan"}}, 9).empty());
  EXPECT_EQ(out[23], 7 / -2 + int32_t(7U / uint32_t(-2)));
}

} // namespace

} // namespace blockscope::sanitizer
