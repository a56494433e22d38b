// Loads that cp.async can do.
#pragma once

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/pipelining/load_reason.h"

#include "core/ir/tl_dialect.h"

#include <optional>

namespace blockscope::gpu {

/// A load as a copy to shared memory.
struct AsyncCopy {
  std::optional<tlg::SharedType> buffer; ///< null: cp.async cannot do it
  LoadReason why = LoadReason::None;     ///< then
  int pieceBytes = 0;                    ///< what one instruction loads: of copies, or if Narrow
};

/// Returns the copy for a load. Where its mask is false the buffer has zeros; a load that gives
/// something else there counts only `withOther`: then its user puts that in.
AsyncCopy asyncCopyOf(tl::LoadOp load, bool withOther = false);

} // namespace blockscope::gpu
