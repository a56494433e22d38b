// Dots that do not use wgmma, tensor memory or the tensor cores where the target has them.
//
// Why is read off the op: each reason is a fact of the hardware, so that it stays true when the
// passes learn to do more. An op that no reason fits gets no note.
#include "core/ir/convert.h"

#include "core/dot_precision.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/report/kernel_notes.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int64_t kWgmmaRows = 64, kWgmmaColumns = 16, kWgmmaDepthBytes = 32;
constexpr int kWarpsOfGroup = 4;

bool isDot(Operation *op) { return isa<tlg::FmaOp, tlg::MmaOp, tlg::WgmmaOp>(op); }

llvm::ArrayRef<int64_t> shapeOf(Value block) {
  if (auto shared = dyn_cast<tlg::SharedType>(block.getType()))
    return shared.getShape();
  return cast<RankedTensorType>(block.getType()).getShape();
}

Type elementOf(Value block) {
  if (auto shared = dyn_cast<tlg::SharedType>(block.getType()))
    return shared.getElementType();
  return cast<RankedTensorType>(block.getType()).getElementType();
}

struct Reason {
  std::string text, hint;
  Severity severity = Severity::Warning;
};

/// Why a dot goes by mma.sync and not by wgmma; nothing where wgmma would not do it anyway.
std::optional<Reason> whyNotWgmma(tlg::MmaOp dot, int numWarps) {
  const llvm::ArrayRef<int64_t> shape = dot.getResult().getType().getShape();
  const int64_t bytes = dot.getOperandBytes(), depth = shapeOf(dot.getA()).back();
  const llvm::StringRef precision = precisionOfFloats(dot.getInputPrecision());
  const auto small = [](char name, int64_t size, int64_t least) {
    return Reason{
        llvm::formatv("{0} is {1}, wgmma takes at least {2}", name, size, least),
        llvm::formatv("a block with {0} of {1} or more, if there is so much to do", name, least),
        Severity::Note};
  };
  if (bytes == 8)
    return std::nullopt;
  if (shape.size() == 3)
    return Reason{"a batched dot goes by mma.sync", "", Severity::Note};
  if (shape[0] < kWgmmaRows)
    return small('M', shape[0], kWgmmaRows);
  if (shape[1] < kWgmmaColumns)
    return small('N', shape[1], kWgmmaColumns);
  if (depth * bytes < kWgmmaDepthBytes)
    return small('K', depth, kWgmmaDepthBytes / bytes);
  if (numWarps % kWarpsOfGroup != 0)
    return Reason{
        llvm::formatv("num_warps is {0}, wgmma takes groups of {1} warps", numWarps, kWarpsOfGroup),
        llvm::formatv("num_warps={0}", kWarpsOfGroup)};
  if (elementOf(dot.getA()).isF32() && precision != "tf32")
    return Reason{llvm::formatv("input_precision='{0}' computes a dot as several", precision), "",
                  Severity::Note};
  if (shape[0] / kWgmmaRows * (shape[1] / 32) < numWarps / kWarpsOfGroup)
    return Reason{llvm::formatv("{0} warps are more than a block of {1} x {2} has work for",
                                numWarps, shape[0], shape[1]),
                  "fewer warps (num_warps), or a larger block"};
  if (bytes != 2)
    return Reason{llvm::formatv("the second operand does not lie along K in memory, which wgmma "
                                "wants of elements of {0}",
                                counted(bytes, "byte")),
                  "keep the transposed tensor in memory, and tl.trans what is loaded"};
  return std::nullopt;
}

/// Why a dot uses no tensor cores.
Reason whyNoTensorCores(tlg::FmaOp dot) {
  const Type type = elementOf(dot.getA());
  if (type.isF32() && precisionOfFloats(dot.getInputPrecision()) == "ieee")
    return {"fp32 in input_precision 'ieee' has more digits than they keep",
            "say input_precision='tf32', or for more digits 'tf32x3'"};
  return {llvm::formatv("K is {0}, too few for elements of {1}", shapeOf(dot.getA()).back(),
                        counted(tlg::elementBytes(type), "byte")),
          llvm::formatv("K of at least {0}", kWgmmaDepthBytes / tlg::elementBytes(type))};
}

Finding noteFor(Operation *op, FindingCode code, Reason reason) {
  Finding note = noteAt(code, fromMlirLocation(op->getLoc()));
  note.severity = reason.severity;
  note.message = std::move(reason.text);
  note.hint = std::move(reason.hint);
  return note;
}

void noteDot(Operation *op, const GpuTarget &target, int numWarps, std::vector<Finding> &notes) {
  if (auto dot = dyn_cast<tlg::FmaOp>(op)) {
    Reason reason = whyNoTensorCores(dot);
    reason.text = "the dot does not use the tensor cores: " + reason.text;
    notes.push_back(noteFor(op, FindingCode::NoTensorCores, std::move(reason)));
    notes.back().cost = "each thread multiplies by itself, which takes ten times as long and more";
  } else if (auto dot = dyn_cast<tlg::MmaOp>(op); dot && target.hasWgmma) {
    std::optional<Reason> reason = whyNotWgmma(dot, numWarps);
    if (!reason)
      return;
    reason->text = "the dot goes by mma.sync and not by wgmma: " + reason->text;
    notes.push_back(noteFor(op, FindingCode::NoWgmma, *std::move(reason)));
    notes.back().cost = "mma.sync reaches about 60% of what wgmma does";
  } else if (auto dot = dyn_cast<tlg::MmaOp>(op);
             dot && target.hasTcgen05 && dot.getOperandBytes() < 8) {
    notes.push_back(
        noteFor(op, FindingCode::NoTcgen05,
                {"the dot goes by mma.sync: tcgen05 is not used yet", "", Severity::Note}));
    notes.back().cost = "mma.sync reaches a fraction of what tcgen05 does";
  }
}

} // namespace

void noteDots(func::FuncOp function, const GpuTarget &target, const GpuOptions &options,
              std::vector<Finding> &notes) {
  function.walk([&](Operation *op) {
    if (isDot(op))
      noteDot(op, target, options.numWarps, notes);
  });
}

} // namespace blockscope::gpu
