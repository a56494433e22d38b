// Options of loops and functions that are taken and do nothing, and types that the target lacks.
#include "core/ir/convert.h"
#include "core/ir/option_attributes.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/report/kernel_notes.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

Finding noEffect(Location place, const llvm::Twine &message) {
  Finding note = noteAt(FindingCode::NoEffect, fromMlirLocation(place));
  note.message = message.str();
  return note;
}

bool isFp8(Value value) {
  const mlir::Type type = getElementTypeOrSelf(value);
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

} // namespace

void noteEmulation(func::FuncOp function, const GpuTarget &target, std::vector<Finding> &notes) {
  if (target.hasFp8)
    return;
  function.walk([&](tl::DotOp dot) {
    if (!isFp8(dot.getA()) && !isFp8(dot.getB()))
      return;
    Finding &note =
        notes.emplace_back(noteAt(FindingCode::EmulatedFp8, fromMlirLocation(dot.getLoc())));
    note.message = (target.arch + " has no instructions for fp8: the operands of the dot are "
                                  "converted to fp16 bit by bit, and multiplied as that")
                       .str();
    note.cost = "several instructions for each element, in every iteration of a loop";
    note.hint = "operands of fp16 or bf16; sm_89 and later multiply fp8";
  });
}

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
