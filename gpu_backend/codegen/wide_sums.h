// Addresses as ptxas is told of them: in one instruction of PTX, or in two.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace blockscope::gpu {

/// `ptx`, as LLVM writes it, with a product and a sum in place of each mad.wide, which mean the
/// same. Of mad.wide with a power of two ptxas makes LEA and LEA.HI, of a product and a sum one
/// IMAD.WIDE: that is slower to dispatch, and takes less of a kernel that is short of registers.
std::string withWideSumsApart(llvm::StringRef ptx);

/// `ptx`, as LLVM writes it, with a shift for each mul.wide by a power of two that loops with wgmma
/// use. Of the product and a sum ptxas makes IMAD.WIDE, in the loop for what it has from before,
/// too: what is dispatched behind it waits, and so do tensor cores. A product of 128 x 256 blocks
/// took 642 ns an iteration with six of them, 592 without (H200). Shifts may take more registers.
std::string withOffsetsShifted(llvm::StringRef ptx);

} // namespace blockscope::gpu
