// Which instruction set the kernels use.
#include "interpreter/simd/isa.h"

#include "core/settings.h"
#include "interpreter/simd/kernels.h"

#include <algorithm>
#include <atomic>
#include <string>

namespace blockscope::interpreter {
namespace {

Isa chooseAtStart() {
  const std::string wanted = textOf(Setting::Isa);
  if (wanted == "baseline")
    return Isa::Baseline;
  if (wanted == "avx2")
    return std::min(Isa::Avx2, bestIsa());
  return bestIsa();
}

std::atomic<Isa> &chosen() {
  static std::atomic<Isa> isa{chooseAtStart()};
  return isa;
}

} // namespace

Isa bestIsa() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4"))
    return Isa::Avx512;
  if (__builtin_cpu_supports("x86-64-v3"))
    return Isa::Avx2;
#endif
  return Isa::Baseline;
}

Isa activeIsa() { return chosen(); }

void setIsa(Isa isa) { chosen() = std::min(isa, bestIsa()); }

const Kernels &kernels() {
#ifdef __x86_64__
  switch (activeIsa()) {
  case Isa::Avx512:
    return avx512::kernels();
  case Isa::Avx2:
    return avx2::kernels();
  case Isa::Baseline:
    break;
  }
#endif
  return baseline::kernels();
}

} // namespace blockscope::interpreter
