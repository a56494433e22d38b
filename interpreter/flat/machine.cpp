// The interpreter loop. An instruction is one call through a pointer that was chosen when the
// program was built; its operands are read from the frame's pointer table.
#include "interpreter/flat/machine.h"

#include "interpreter/flat/frame_memory.h"
#include "interpreter/flat/shown_values.h"
#include "interpreter/stuck.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace blockscope::interpreter {
namespace {

using Kind = Instruction::Kind;

template <bool kShows>
void runFused(const FlatProgram &program, const Instruction &instruction, void *const *pointers,
              int64_t elements, const ExecutionContext &context) {
  const FusedMember *members = program.members.data() + instruction.first;
  const PointerPlan *plans = program.pointers.data();
  for (int64_t begin = 0; begin < elements; begin += instruction.strip) {
    const int64_t n = std::min(instruction.strip, elements - begin);
    for (uint32_t m = 0; m < instruction.count; ++m) {
      const FusedMember &member = members[m];
      const uint32_t first = member.pointers;
      const uint32_t count = member.numResults + member.numOperands;
      void *strip[kMostFusedPointers];
      for (uint32_t i = 0; i < count; ++i)
        strip[i] =
            static_cast<std::byte *>(pointers[first + i]) + begin * plans[first + i].stepBytes;
      member.function(n, begin, strip, strip + member.numResults, member.scalarOperands,
                      member.payload);
      if constexpr (kShows)
        flat::showValues(context, program, member.op, begin, n, strip);
    }
  }
}

int64_t readCounter(const void *from, int bytes, bool isUnsigned) {
  if (bytes == 8) {
    int64_t value;
    std::memcpy(&value, from, 8);
    return value;
  }
  int32_t value;
  std::memcpy(&value, from, 4);
  return isUnsigned ? static_cast<int64_t>(static_cast<uint32_t>(value)) : value;
}

void writeCounter(void *to, int64_t value, int bytes) { std::memcpy(to, &value, bytes); }

// Counts the iterations first, so that a counter that wraps around cannot make a loop endless.
bool beginFor(const FlatProgram &program, const Instruction &instruction, void *const *pointers,
              ExecutionContext &context) {
  const int bytes = instruction.counterBytes;
  const bool isUnsigned = instruction.isUnsigned;
  const int64_t begin = readCounter(pointers[2], bytes, isUnsigned);
  const int64_t end = readCounter(pointers[3], bytes, isUnsigned);
  const int64_t step = readCounter(pointers[4], bytes, isUnsigned);
  const bool any =
      isUnsigned ? static_cast<uint64_t>(begin) < static_cast<uint64_t>(end) : begin < end;
  uint64_t trips = 0;
  if (any) {
    if (step == 0 || (!isUnsigned && step < 0)) {
      if (context.launch)
        endInEndlessLoop(*context.launch,
                         {&program.ops[instruction.op], context.linearProgram,
                          context.loopIterations, EndlessLoop::Bounds{begin, end, step}});
      return false;
    }
    const uint64_t distance = static_cast<uint64_t>(end) - static_cast<uint64_t>(begin);
    trips = (distance - 1) / static_cast<uint64_t>(step) + 1;
  }
  std::memcpy(pointers[0], &trips, 8);
  writeCounter(pointers[1], begin, bytes);
  context.loopIterations.push_back(0);
  return true;
}

bool isStopped(const ExecutionContext &context) {
  return context.launch && context.launch->stop.load(std::memory_order_relaxed);
}

enum class Repeats : uint8_t { No, AtOnce, InCycle };

/// Of a number that wraps, and changes by the same step in each iteration, what it counts from, to
/// and by, where it never comes to its goal: the step has a power of two that the distance has not.
std::optional<EndlessLoop::Bounds> missedGoal(const LoopWatch &watch, void *const *pointers) {
  if (!watch.count)
    return std::nullopt;
  const unsigned bits = watch.count->bits;
  const auto read = [&](uint32_t operand) {
    uint64_t value = 0;
    std::memcpy(&value, pointers[operand], std::max(1U, bits / 8));
    return llvm::SignExtend64(value, bits);
  };
  const int64_t at = read(watch.count->at), goal = read(watch.count->goal);
  const int64_t step = read(watch.count->step);
  const auto distance = static_cast<uint64_t>(goal) - static_cast<uint64_t>(at);
  const auto powers = static_cast<unsigned>(llvm::countr_zero(static_cast<uint64_t>(step)));
  if ((distance & llvm::maskTrailingOnes<uint64_t>(std::min(powers, bits))) == 0)
    return std::nullopt;
  return EndlessLoop::Bounds{at, goal, watch.count->isDown ? -step : step};
}

/// Whether a loop is in the state of an iteration before, so that only memory can end it. Looks at
/// two iterations of each 64, and behind each power of two at a sixteenth as many, which are
/// compared with its own: cycles of any length are seen. All of it is late enough to cost nothing
/// elsewhere.
Repeats repeats(const Instruction &whileNext, void *const *pointers, ExecutionContext &context) {
  constexpr int64_t kIterationsBefore = 1024, kPeriod = 64, kPart = 16;
  const int64_t iteration = context.loopIterations.back();
  if (iteration < kIterationsBefore)
    return Repeats::No;
  const auto power = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(iteration)));
  const bool isBehindPower = iteration - power <= power / kPart;
  if (!isBehindPower && iteration % kPeriod > 1)
    return Repeats::No;
  const auto &watch = *static_cast<const LoopWatch *>(whileNext.payload);
  if (missedGoal(watch, pointers))
    return Repeats::AtOnce;
  uint64_t state = reinterpret_cast<uint64_t>(&watch);
  if (watch.countsChanges && context.launch)
    state += context.launch->progress.load(std::memory_order_acquire) * 0x9e3779b97f4a7c15ULL;
  for (size_t i = 0; i < watch.bytes.size(); ++i)
    state = 31 * state + llvm::xxh3_64bits(llvm::ArrayRef(static_cast<const uint8_t *>(pointers[i]),
                                                          watch.bytes[i]));
  const uint64_t last = std::exchange(context.loopState, state);
  if (isBehindPower ? iteration == power : iteration % kPeriod == 0) {
    context.loopAnchor = state;
    return Repeats::No;
  }
  if (last == state) // at one atomic the scheduler looks after it
    return watch.hasAtomics ? Repeats::No : Repeats::AtOnce;
  return context.loopAnchor == state ? Repeats::InCycle : Repeats::No;
}

/// For a loop that goes on for ever: where it reads memory, the program waits for another one.
RunStatus endOrWait(const FlatProgram &program, const Instruction &whileNext, Repeats how,
                    void *const *pointers, ExecutionContext &context) {
  const auto &watch = *static_cast<const LoopWatch *>(whileNext.payload);
  context.op = &program.ops[whileNext.op];
  if (!watch.readsMemory) {
    if (context.launch)
      endInEndlessLoop(*context.launch, {context.op, context.linearProgram,
                                         llvm::ArrayRef(context.loopIterations).drop_back(),
                                         missedGoal(watch, pointers)});
    return RunStatus::Stopped;
  }
  context.waitsByLoads = true;
  context.waitsAt = 0;
  if (watch.hasAddress && how == Repeats::AtOnce)
    std::memcpy(&context.waitsAt, pointers[watch.bytes.size()], sizeof context.waitsAt);
  return RunStatus::Suspended;
}

void runCombine(const FlatProgram &program, const Instruction &instruction, Frame &frame,
                void *const *pointers, ExecutionContext &context) {
  const CombineProgram &combine = program.combines[instruction.first];
  const void *const *operands = pointers + instruction.numResults;
  if (combine.pack != 0)
    return frame.map(instruction.first, pointers, operands, context);
  const auto lanes = [&](int64_t n, void *const *out, const void *const *lhs,
                         const void *const *rhs) {
    frame.combine(instruction.first, n, out, lhs, rhs, context);
  };
  if (combine.isScan)
    scanBlocks(combine.operandTypes, combine.axis, combine.reverse, pointers, operands, lanes);
  else
    reduceBlocks(combine.operandTypes, combine.axis, pointers, operands, lanes);
}

} // namespace

/// The frame of a combine program; its arguments are wherever the lanes are at the moment.
struct Frame::Combine {
  explicit Combine(const CombineProgram &combine)
      : source(combine), program(*combine.program), operands(combine.operandTypes.size()),
        frame(program, std::vector<void *>(program.parameters.size(), nullptr)) {
    for (uint32_t i = 0; i < program.pointers.size(); ++i)
      if (program.pointers[i].base == PointerPlan::Base::Arguments)
        arguments.push_back({i, static_cast<uint32_t>(program.pointers[i].offset)});
    for (const Type &type : combine.operandTypes)
      elementBytes.push_back(type.elementBytes());
  }

  struct Argument {
    uint32_t pointer;
    uint32_t number;
  };
  const CombineProgram &source;
  const FlatProgram &program;
  size_t operands;
  std::vector<Argument> arguments;
  std::vector<int> elementBytes;
  Frame frame;
};

Frame::Frame(const FlatProgram &program, llvm::ArrayRef<void *> arguments)
    : bytes_(program.frameBytes) {
  memory_ = flat::acquireFrameMemory(bytes_);
  if (!memory_)
    return;
  pointers_.reserve(program.pointers.size());
  for (const PointerPlan &plan : program.pointers)
    switch (plan.base) {
    case PointerPlan::Base::Frame:
      pointers_.push_back(memory_ + plan.offset);
      break;
    case PointerPlan::Base::Constants:
      pointers_.push_back(const_cast<std::byte *>(program.constants) + plan.offset);
      break;
    case PointerPlan::Base::Arguments:
      pointers_.push_back(arguments[plan.offset]);
      break;
    }
  for (const CombineProgram &combine : program.combines)
    combines_.push_back(std::make_unique<Combine>(combine));
}

Frame::~Frame() { flat::releaseFrameMemory(memory_, bytes_); }

void Frame::combine(uint32_t number, int64_t n, void *const *out, const void *const *lhs,
                    const void *const *rhs, ExecutionContext &context) {
  Combine &combine = *combines_[number];
  const FlatProgram &program = combine.program;
  const size_t k = combine.operands;
  void **pointers = combine.frame.pointers();
  for (int64_t begin = 0; begin < n; begin += program.lanes) {
    const int64_t lanes = std::min(program.lanes, n - begin);
    for (const Combine::Argument &argument : combine.arguments) {
      const size_t which = argument.number % k;
      const void *source = argument.number < k ? lhs[which] : rhs[which];
      pointers[argument.pointer] = const_cast<std::byte *>(static_cast<const std::byte *>(source) +
                                                           begin * combine.elementBytes[which]);
    }
    uint32_t pc = 0;
    run(program, combine.frame, pc, context, lanes);
    for (size_t i = 0; i < k; ++i)
      std::memmove(static_cast<std::byte *>(out[i]) + begin * combine.elementBytes[i],
                   pointers[program.returns[i]], lanes * combine.elementBytes[i]);
  }
}

void Frame::map(uint32_t number, void *const *out, const void *const *in,
                ExecutionContext &context) {
  Combine &map = *combines_[number];
  const FlatProgram &program = map.program;
  const CombineProgram &source = map.source;
  void **pointers = map.frame.pointers();
  const int64_t pack = source.pack, groups = source.operandTypes.front().numElements() / pack;
  for (int64_t begin = 0; begin < groups; begin += program.lanes) { // several where pack is 1
    const int64_t lanes = std::min(program.lanes, groups - begin);
    for (const Combine::Argument &argument : map.arguments) {
      const int64_t which = argument.number / pack, element = begin * pack + argument.number % pack;
      const auto *elements = static_cast<const std::byte *>(in[which]);
      pointers[argument.pointer] =
          const_cast<std::byte *>(elements + element * map.elementBytes[which]);
    }
    uint32_t pc = 0;
    if (run(program, map.frame, pc, context, lanes) == RunStatus::Stopped)
      return;
    for (size_t i = 0; i < program.returns.size(); ++i) {
      const int64_t which = static_cast<int64_t>(i) / pack;
      const int64_t bytes = source.resultTypes[which].elementBytes();
      const int64_t element = begin * pack + static_cast<int64_t>(i) % pack;
      std::memcpy(static_cast<std::byte *>(out[which]) + element * bytes,
                  pointers[program.returns[i]], lanes * bytes);
    }
  }
}

namespace {

/// Elements of what an instruction makes.
int64_t shownElements(const FlatProgram &program, const Instruction &instruction) {
  if (instruction.kind == Kind::Elementwise)
    return instruction.elements;
  const OpSignature &signature = program.shown[instruction.op].signature;
  if (!signature.results.empty())
    return signature.results.front().numElements();
  return signature.operands.empty() ? 1 : signature.operands.front().numElements();
}

/// `kShows`: the program shows its values to observers.
template <bool kShows>
RunStatus runProgram(const FlatProgram &program, Frame &frame, uint32_t &pc,
                     ExecutionContext &context, int64_t lanes) {
  const Instruction *const instructions = program.instructions.data();
  void *const *const table = frame.pointers();
  const Instruction *next = instructions + pc;
  const auto show = [&](const Instruction &instruction, void *const *pointers) {
    flat::showValues(context, program, instruction.op, 0, shownElements(program, instruction),
                     pointers);
  };
  for (;;) {
    const Instruction &instruction = *next++;
    void *const *pointers = table + instruction.pointers;
    switch (instruction.kind) {
    case Kind::Elementwise:
      instruction.elementwise(std::min(instruction.elements, lanes), 0, pointers,
                              pointers + instruction.numResults, instruction.scalarOperands,
                              instruction.payload);
      if constexpr (kShows)
        show(instruction, pointers);
      break;
    case Kind::Block:
      instruction.block(pointers, pointers + instruction.numResults, instruction.payload);
      if constexpr (kShows)
        show(instruction, pointers);
      break;
    case Kind::Context:
      context.op = &program.ops[instruction.op];
      instruction.context(context, pointers, pointers + instruction.numResults,
                          instruction.payload);
      if (isStopped(context)) [[unlikely]]
        return RunStatus::Stopped; // nothing runs on behind the op that ended the launch
      if constexpr (kShows)
        show(instruction, pointers);
      if (context.spinning) [[unlikely]] {
        context.spinning = false;
        pc = static_cast<uint32_t>(next - instructions);
        return RunStatus::Suspended;
      }
      break;
    case Kind::Fused:
      runFused<kShows>(program, instruction, table, std::min(instruction.elements, lanes), context);
      break;
    case Kind::Combine:
      runCombine(program, instruction, frame, pointers, context);
      if constexpr (kShows)
        show(instruction, pointers);
      break;
    case Kind::Copy:
      std::memcpy(pointers[0], pointers[1], static_cast<size_t>(instruction.elements));
      if constexpr (kShows)
        flat::showMove(context, pointers[0], pointers[1], instruction.elements);
      break;
    case Kind::Jump:
      next = instructions + instruction.target;
      break;
    case Kind::JumpIfFalse:
      if constexpr (kShows)
        flat::showDecision(context, program.ops[instruction.op], Type::get(DType::Int1),
                           {pointers[0]});
      if (!*static_cast<const uint8_t *>(pointers[0]))
        next = instructions + instruction.target;
      break;
    case Kind::ForBegin:
      if (!beginFor(program, instruction, pointers, context))
        return RunStatus::Stopped;
      if constexpr (kShows) { // the counter, made of begin, end and step
        flat::showDecision(context, program.ops[instruction.op],
                           program.shown[instruction.op].signature.operands[0],
                           {pointers[2], pointers[3], pointers[4]});
        flat::showValues(context, program, instruction.op, 0, 1, pointers + 1);
      }
      break;
    case Kind::ForTest: {
      uint64_t trips;
      std::memcpy(&trips, pointers[0], 8);
      if (trips == 0)
        next = instructions + instruction.target;
      break;
    }
    case Kind::ForNext: {
      if (isStopped(context))
        return RunStatus::Stopped;
      uint64_t trips;
      std::memcpy(&trips, pointers[0], 8);
      --trips;
      std::memcpy(pointers[0], &trips, 8);
      const int bytes = instruction.counterBytes;
      const auto counter = static_cast<uint64_t>(readCounter(pointers[1], bytes, true));
      const auto step = static_cast<uint64_t>(readCounter(pointers[2], bytes, true));
      writeCounter(pointers[1], static_cast<int64_t>(counter + step), bytes);
      ++context.loopIterations.back();
      if constexpr (kShows) {
        void *const counts[] = {pointers[1], pointers[3], pointers[4], pointers[2]};
        flat::showValues(context, program, instruction.op, 0, 1, counts);
      }
      next = instructions + instruction.target;
      break;
    }
    case Kind::WhileBegin:
      context.loopIterations.push_back(0);
      break;
    case Kind::WhileNext:
      if (isStopped(context))
        return RunStatus::Stopped;
      ++context.loopIterations.back();
      next = instructions + instruction.target;
      if (instruction.payload) {
        if (const Repeats how = repeats(instruction, pointers, context); how != Repeats::No)
            [[unlikely]] {
          pc = instruction.target;
          return endOrWait(program, instruction, how, pointers, context);
        }
      }
      break;
    case Kind::LoopEnd:
      context.loopIterations.pop_back();
      break;
    case Kind::Return:
      return RunStatus::Done;
    }
  }
}

} // namespace

RunStatus run(const FlatProgram &program, Frame &frame, uint32_t &pc, ExecutionContext &context,
              int64_t lanes) {
  return program.showsValues ? runProgram<true>(program, frame, pc, context, lanes)
                             : runProgram<false>(program, frame, pc, context, lanes);
}

} // namespace blockscope::interpreter
