// The table of kernels of one instruction set.
#include "interpreter/simd/elements.h"

namespace blockscope::interpreter::BLK_ISA {

const Kernels &kernels() {
  static const Kernels table = [] {
    Kernels filled = {};
    fillIntegers(filled);
    fillFloats(filled);
    fillMath(filled);
    fillCasts(filled);
    fillReductions(filled);
    fillScans(filled);
    fillGemm(filled);
    return filled;
  }();
  return table;
}

} // namespace blockscope::interpreter::BLK_ISA
