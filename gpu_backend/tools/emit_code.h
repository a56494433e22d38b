// The pass `tlg-emit` of blk-opt.
#pragma once

namespace blockscope::gpu {

/// Registers `tlg-emit`, which prints what the kernel of a module of the GPU level becomes.
void registerEmitCodePass();

} // namespace blockscope::gpu
