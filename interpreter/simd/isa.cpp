// Which instruction set the kernels use.
#include "interpreter/simd/isa.h"

#include "interpreter/simd/kernels.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace blockscope::interpreter {
namespace {

Isa chooseAtStart() {
  const char *wanted = std::getenv("BLOCKSCOPE_ISA");
  if (wanted && std::strcmp(wanted, "baseline") == 0)
    return Isa::Baseline;
  if (wanted && std::strcmp(wanted, "avx2") == 0)
    return std::min(Isa::Avx2, bestIsa());
  return bestIsa();
}

std::atomic<Isa> &chosen() {
  static std::atomic<Isa> isa{chooseAtStart()};
  return isa;
}

} // namespace

Isa bestIsa() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4"))
    return Isa::Avx512;
  if (__builtin_cpu_supports("x86-64-v3"))
    return Isa::Avx2;
  return Isa::Baseline;
}

Isa activeIsa() { return chosen(); }

void setIsa(Isa isa) { chosen() = std::min(isa, bestIsa()); }

const Kernels &kernels() {
  switch (activeIsa()) {
  case Isa::Avx512:
    return avx512::kernels();
  case Isa::Avx2:
    return avx2::kernels();
  case Isa::Baseline:
    break;
  }
  return baseline::kernels();
}

} // namespace blockscope::interpreter
