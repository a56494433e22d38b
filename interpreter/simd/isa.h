// Which instruction set the kernels use. Every variant gives the same bits. Processors that are not
// x86-64 have one, Baseline (cmake/Blockscope.cmake says what it is).
#pragma once

#include <cstdint>

namespace blockscope::interpreter {

enum class Isa : uint8_t { Baseline, Avx2, Avx512 };

/// Returns the widest instruction set that this processor has.
Isa bestIsa();

/// Returns the one in use: the best, unless the environment variable BLOCKSCOPE_ISA (`baseline`,
/// `avx2` or `avx512`) or `setIsa` says less.
Isa activeIsa();

/// Chooses for evaluators made from now on; for tests. More than `bestIsa` is cut to it.
void setIsa(Isa isa);

} // namespace blockscope::interpreter
