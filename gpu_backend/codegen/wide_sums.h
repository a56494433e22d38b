// Addresses as ptxas is told of them: in one instruction of PTX, or in two.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace blockscope::gpu {

/// `ptx`, as LLVM writes it, with a product and a sum in place of each mad.wide, which mean the
/// same. Of mad.wide with a power of two ptxas makes LEA and LEA.HI, of a product and a sum one
/// IMAD.WIDE: that is slower to dispatch, and takes less of a kernel that is short of registers.
std::string withWideSumsApart(llvm::StringRef ptx);

} // namespace blockscope::gpu
