// Runs decoded assembly: instruction by instruction over all lanes, and where lanes take different
// ways, the lowest instruction that a lane has come to first.
#include "interpreter/ptx/machine.h"

#include "interpreter/describe.h"

#include <algorithm>
#include <chrono>

namespace blockscope::interpreter::ptx {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLongestLoop = std::chrono::seconds(20);

void renumber(Operand &operand, llvm::ArrayRef<int> tied) {
  if (operand.reg >= 0 && operand.reg < static_cast<int>(tied.size()) && tied[operand.reg] >= 0)
    operand.reg = tied[operand.reg];
  for (Operand &part : operand.parts)
    renumber(part, tied);
}

void decodeOne(Decoder &d) {
  for (const auto family : {decodeMove, decodeInteger, decodeBits, decodeFloat, decodeCompare,
                            decodeConvert, decodeMemory, decodeControl}) {
    family(d);
    if (d.isDone())
      return;
  }
}

/// One run of the code.
class Run {
public:
  Run(const Code &code, RegisterFile &file, int64_t count, ExecutionContext *context,
      llvm::ArrayRef<PointerArgument> pointers)
      : code_(code), file_(file), count_(count), context_(context), pointers_(pointers),
        active_(count) {}

  void straight() {
    for (const Step &step : code_.steps)
      execute(step, activeLanes(step, -1));
  }

  void branching() {
    where_.assign(count_, 0);
    const int end = static_cast<int>(code_.steps.size());
    for (;;) {
      const int at = *std::min_element(where_.begin(), where_.end());
      if (at >= end)
        return;
      const Step &step = code_.steps[at];
      const int64_t active = activeLanes(step, at);
      if (step.kernel)
        execute(step, active);
      const bool jumps = !step.kernel;
      for (int64_t i = 0; i < count_; ++i)
        if (where_[i] == at)
          where_[i] = jumps && active_[i] ? step.target : at + 1;
      if (jumps && active != 0 && step.target <= at && !mayGoOn())
        return;
    }
  }

private:
  /// Fills `active_` and returns how many lanes execute the step. `at` is -1 in straight code.
  int64_t activeLanes(const Step &step, int at) {
    if (step.predicate < 0 && at < 0)
      return count_;
    const uint64_t *predicate =
        step.predicate < 0 ? nullptr : file_.row(static_cast<size_t>(step.predicate));
    int64_t active = 0;
    for (int64_t i = 0; i < count_; ++i) {
      active_[i] = (at < 0 || where_[i] == at) &&
                   (!predicate || ((predicate[i] & 1) != 0) != step.isPredicateNegated);
      active += active_[i];
    }
    return active;
  }

  void execute(const Step &step, int64_t active) {
    if (active == 0)
      return;
    Lanes lanes;
    lanes.count = count_;
    lanes.context = context_;
    lanes.pointers = pointers_;
    lanes.active = active == count_ ? nullptr : active_.data();
    results_.resize(step.outs.size() * static_cast<size_t>(count_));
    for (size_t k = 0; k < step.outs.size(); ++k)
      lanes.out[k] = results_.data() + k * static_cast<size_t>(count_);
    for (size_t k = 0; k < step.ins.size(); ++k)
      lanes.in[k] = file_.row(static_cast<size_t>(step.ins[k]));
    step.kernel(lanes);
    for (size_t k = 0; k < step.outs.size(); ++k)
      if (step.outs[k] >= 0)
        keep(lanes, lanes.out[k], static_cast<size_t>(step.outs[k]));
  }

  void keep(const Lanes &lanes, const uint64_t *from, size_t reg) {
    uint64_t *to = file_.row(reg);
    const uint64_t mask = code_.masks[reg];
    if (!lanes.active)
      for (int64_t i = 0; i < count_; ++i)
        to[i] = from[i] & mask;
    else
      for (int64_t i = 0; i < count_; ++i)
        to[i] = lanes.active[i] ? from[i] & mask : to[i];
  }

  /// A loop ends with the launch, and when it takes too long: the machine cannot set a program
  /// aside that waits inside of an instruction.
  bool mayGoOn() {
    LaunchState &launch = *context_->launch;
    if (launch.stop)
      return false;
    if (++rounds_ % 256 != 0)
      return true;
    const auto now = Clock::now();
    if (began_ == Clock::time_point())
      began_ = now;
    if (now - began_ < kLongestLoop)
      return true;
    Finding finding = beginFinding(FindingCode::Deadlock, launch.info);
    if (context_->op)
      finding.site.location = context_->op->location;
    finding.message =
        "a loop in inline assembly did not end within 20 s; it may wait for a program "
        "that cannot run meanwhile";
    finding.hint = "wait with tl.atomic_cas in a loop of the kernel: the CPU can set that aside";
    launch.fail({std::move(finding)});
    return false;
  }

  const Code &code_;
  RegisterFile &file_;
  int64_t count_;
  ExecutionContext *context_;
  llvm::ArrayRef<PointerArgument> pointers_;
  std::vector<uint8_t> active_;
  std::vector<int> where_;
  std::vector<uint64_t> results_;
  uint64_t rounds_ = 0;
  Clock::time_point began_;
};

} // namespace

CodeOrError decode(llvm::StringRef text, llvm::ArrayRef<std::string> operandTypes,
                   llvm::ArrayRef<int> tied, int64_t lanes) {
  blockscope::ptx::ProgramOrError parsed = blockscope::ptx::parse(text, operandTypes);
  if (!parsed.error.empty())
    return {nullptr, parsed.error};
  auto code = std::make_shared<Code>();
  for (Instruction &instruction : parsed.program.instructions) {
    for (Operand &operand : instruction.operands)
      renumber(operand, tied);
    Decoder decoder(parsed.program, instruction, lanes, code->constants);
    if (instruction.predicate >= 0 &&
        parsed.program.registers[instruction.predicate].type != "pred")
      return {nullptr, "in '" + instruction.text + "': what stands after '@' is no predicate"};
    if (instruction.name != "bra") {
      decodeOne(decoder);
      if (std::string error = decoder.finish(); !error.empty())
        return {nullptr, std::move(error)};
    }
    Step &step = decoder.step();
    step.predicate = instruction.predicate;
    step.isPredicateNegated = instruction.isPredicateNegated;
    step.target = instruction.target;
    code->hasBranches |= !step.kernel;
    code->hasEffects |= step.hasEffects;
    code->steps.push_back(std::move(step));
  }
  for (const blockscope::ptx::Register &reg : parsed.program.registers) {
    const int bits = blockscope::ptx::typeBits(reg.type);
    code->masks.push_back(bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
  }
  return {std::move(code), ""};
}

void RegisterFile::reset(const Code &code, int64_t lanes) {
  stride = lanes;
  words.assign(code.rows() * static_cast<size_t>(lanes), 0);
  for (size_t i = 0; i < code.constants.size(); ++i)
    std::fill_n(row(code.masks.size() + i), lanes, code.constants[i].bits);
}

void run(const Code &code, RegisterFile &file, int64_t count, ExecutionContext *context,
         llvm::ArrayRef<PointerArgument> pointers) {
  Run one(code, file, count, context, pointers);
  if (code.hasBranches)
    one.branching();
  else
    one.straight();
}

} // namespace blockscope::interpreter::ptx
