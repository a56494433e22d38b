// What a line of PTX is, for those who move lines.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace blockscope::gpu {

constexpr llvm::StringLiteral kBeginAssembly = "// begin inline asm",
                              kEndAssembly = "// end inline asm";

/// Where the instructions of a kernel are: from behind its brace to before the one that ends it.
struct PtxBody {
  size_t begin, end;
};

/// Nothing where there is no kernel, or more than one.
std::optional<PtxBody> bodyOf(llvm::StringRef ptx);

/// The registers that a line names, in order.
llvm::SmallVector<llvm::StringRef, 8> registersOf(llvm::StringRef line);

/// Whether a line loads from global memory, in no order with other accesses.
bool isLoadLine(llvm::StringRef line);

/// Whether loads behind a line may not go in front of it: it is where branches go to, or acts.
bool endsLoads(llvm::StringRef line);

} // namespace blockscope::gpu
