// What ptxas translates wrongly, said in other words.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace blockscope::gpu {

/// PTX that means the same without the instructions that ptxas 13.0 gets wrong:
///
/// - neg.s16 and abs.s16 of -32768 stay 32768 when the result is widened: ptxas does not cut the
///   result to 16 bits. A multiplication by -1 is cut.
/// - selp.f32 of -0.0 and -1.0 becomes a conversion of 0 or -1 from an integer, which gives +0.0.
///   selp.b32 stays a selection. That of 1.0 and 0.0 becomes one instruction with the comparison.
/// - lop3.b32 and a branch where its result is 0 end ptxas with a crash: the comparison with 0
///   becomes one with 1.
///
/// An abs.s16 in place stays: LLVM writes none. All were found by random kernels on an H200.
std::string withoutPtxasMistakes(llvm::StringRef ptx);

} // namespace blockscope::gpu
