// Barriers, fences, waiting and hints.
#include "interpreter/ptx/decoder.h"

namespace blockscope::interpreter::ptx {
namespace {

/// Takes all modifiers and operands of an instruction that does nothing on the CPU.
void decodeNothing(Decoder &d) {
  while (d.hasModifiers())
    d.takeType();
  d.set([](const Lanes &) {}, /*hasEffects=*/true);
}

/// One thread runs the whole program: a barrier only orders what others see.
void decodeBarrier(Decoder &d) {
  while (d.hasModifiers()) {
    const std::string word = d.takeType();
    if (word != "sync" && word != "cta" && word != "aligned" && word != "warp" &&
        word != "cluster" && word != "arrive" && word != "wait" && word != "relaxed" &&
        word != "release" && word != "acquire")
      return d.fail("'." + word + "' is not supported on the CPU");
  }
  d.set(
      [](const Lanes &lanes) {
        for (Observer *observer : lanes.context->launch->observers)
          observer->onBarrier(lanes.context->linearProgram, lanes.context->worker);
      },
      /*hasEffects=*/true);
}

/// Nothing is late on the CPU: a fence only says what others may rely on.
void decodeFence(Decoder &d) {
  bool isOfProgram = false, isOfOtherMemory = false;
  while (d.hasModifiers()) {
    const std::string word = d.takeType();
    isOfProgram |= word == "cta" || word == "cluster";
    isOfOtherMemory |= word == "proxy" || word == "mbarrier_init";
  }
  if (isOfProgram || isOfOtherMemory)
    return d.set([](const Lanes &) {}, /*hasEffects=*/true);
  d.set(
      [](const Lanes &lanes) {
        for (Observer *observer : lanes.context->launch->observers)
          observer->onFence(lanes.context->linearProgram);
      },
      /*hasEffects=*/true);
}

} // namespace

void decodeControl(Decoder &d) {
  const llvm::StringRef name = d.name();
  if (name == "bar" || name == "barrier")
    return decodeBarrier(d);
  if (name == "membar" || name == "fence")
    return decodeFence(d);
  if (name == "nanosleep" || name == "prefetch" || name == "prefetchu" ||
      name == "griddepcontrol" || name == "applypriority" || name == "discard")
    return decodeNothing(d);
  if (name == "createpolicy") { // a hint for caches
    while (d.hasModifiers())
      d.takeType();
    if (d.operandCount() == 0)
      return d.fail("it has no result");
    d.out(d.operand(0), "b64");
    d.set(each<uint64_t>([]() { return uint64_t{0}; }));
    return;
  }
  static constexpr llvm::StringLiteral kOfThreads[] = {
      "shfl", "vote",  "match",     "redux", "activemask", "elect",   "ldmatrix", "stmatrix",
      "mma",  "wgmma", "movmatrix", "cp",    "mbarrier",   "tcgen05", "wmma"};
  for (const llvm::StringLiteral one : kOfThreads)
    if (one == name)
      return d.fail("'" + name.str() +
                    "' exchanges data between threads or reaches shared memory; the CPU runs a "
                    "program as one thread, and cannot interpret it");
  if (name == "trap" || name == "exit" || name == "ret" || name == "brkpt" || name == "call")
    d.fail("'" + name.str() + "' leaves the assembly, which is not supported on the CPU");
}

} // namespace blockscope::interpreter::ptx
