// Options of loops and functions that are taken and do nothing.
#include "core/ir/convert.h"
#include "core/ir/option_attributes.h"
#include "gpu_backend/report/kernel_notes.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

Finding noEffect(Location place, const llvm::Twine &message) {
  Finding note = noteAt(FindingCode::NoEffect, fromMlirLocation(place));
  note.message = message.str();
  return note;
}

} // namespace

void noteOptions(func::FuncOp function, std::vector<Finding> &notes) {
  function.walk([&](Operation *op) {
    if (op->hasAttr(tl::kFlattenHint))
      notes.push_back(noEffect(op->getLoc(), "flatten=True of tl.range does nothing: where they "
                                             "can, the first loads of a loop in a loop begin "
                                             "early without it"));
    if (op->hasAttr(tl::kWarpSpecializeHint))
      notes.push_back(noEffect(op->getLoc(), "warp_specialize=True of tl.range does nothing: all "
                                             "warps of a program do the same work"));
  });
  if (auto calls = function->getAttrOfType<ArrayAttr>(tl::kInlinedCalls))
    for (const auto call : calls.getAsRange<NameLoc>())
      notes.push_back(noEffect(call.getChildLoc(), "noinline=True of '" + call.getName().strref() +
                                                       "' does nothing: every call has the code of "
                                                       "the function in it"));
}

} // namespace blockscope::gpu
