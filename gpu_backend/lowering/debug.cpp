// tl.assert and tl.print: records in the debug buffer, one for each element, by the thread that
// owns it.
//
// A print of several values is a site for each of them, so that the output has the order and form
// of the CPU's. Threads may diverge here: nothing in a record needs the others.
#include "gpu_backend/lowering/debug.h"

#include "core/ir/convert.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/lowering/casts.h"
#include "gpu_backend/lowering/families.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

// Bytes from the start of the buffer, and of a record without values (gpu_backend/gpu_kernel.h).
constexpr int kUsed = 0, kCapacity = 4, kFailedAsserts = 8, kRecords = 16;
constexpr int kRecordBytes = 24, kValueBytes = 8;

class DebugBuffer {
public:
  explicit DebugBuffer(Lowering &lowering)
      : lowering_(lowering), builder_(lowering.builder()),
        base_(lowering.function().getArg(lowering.function().arg_size() -
                                         lowering.kernel().tensorMaps.size() - 1)) {}

  void countFailure() { add(kFailedAsserts, lowering_.i32(1)); }

  /// Appends a record; `value` may be null, else it is an i64. What does not fit is only counted.
  void append(size_t site, llvm::Value *element, llvm::Value *value) {
    const int sizeBytes = kRecordBytes + (value ? kValueBytes : 0);
    llvm::Value *used = builder_.CreateLoad(builder_.getInt32Ty(), at(kUsed), /*isVolatile=*/true);
    // A count that wraps around would write over records: it stops half-way.
    lowering_.onlyIf(builder_.CreateICmpSGE(used, lowering_.i32(0)), [&] {
      llvm::Value *start = add(kUsed, lowering_.i32(sizeBytes));
      llvm::Value *record = builder_.CreateGEP(builder_.getInt8Ty(), at(kRecords),
                                               builder_.CreateZExt(start, builder_.getInt64Ty()));
      lowering_.onlyIf(fits(start, kRecordBytes), [&] {
        writeHead(record, site, element, value ? 1 : 0);
        // A head whose value is missing tells the host that the records end here.
        if (value)
          lowering_.onlyIf(fits(start, sizeBytes), [&] {
            builder_.CreateAlignedStore(
                value, builder_.CreateConstGEP1_32(builder_.getInt8Ty(), record, kRecordBytes),
                llvm::Align(8));
          });
      });
    });
  }

private:
  llvm::Value *at(int offsetBytes) {
    return builder_.CreateConstGEP1_32(builder_.getInt8Ty(), base_, offsetBytes);
  }

  llvm::Value *add(int offsetBytes, llvm::Value *amount) {
    return builder_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, at(offsetBytes), amount,
                                    llvm::Align(4), llvm::AtomicOrdering::Monotonic);
  }

  llvm::Value *program(int axis) { return lowering_.programId(axis); }

  llvm::Value *fits(llvm::Value *start, int sizeBytes) {
    llvm::Value *capacity = builder_.CreateLoad(builder_.getInt32Ty(), at(kCapacity));
    return builder_.CreateICmpULE(builder_.CreateAdd(start, lowering_.i32(sizeBytes)), capacity);
  }

  void writeHead(llvm::Value *record, size_t site, llvm::Value *element, int valueCount) {
    llvm::Value *const words[] = {lowering_.i32(static_cast<int64_t>(site)),
                                  program(0),
                                  program(1),
                                  program(2),
                                  element,
                                  lowering_.i32(valueCount)};
    for (auto [i, word] : llvm::enumerate(words))
      builder_.CreateAlignedStore(
          word, builder_.CreateConstGEP1_32(builder_.getInt32Ty(), record, i), llvm::Align(4));
  }

  Lowering &lowering_;
  llvm::IRBuilder<> &builder_;
  llvm::Value *base_;
};

/// Calls `visit(register, element number)` for each element that this thread has to tell of, where
/// `condition(register)` holds (null: always).
void forOwnElements(Lowering &lowering, Type type, llvm::function_ref<llvm::Value *(int)> condition,
                    llvm::function_ref<void(int, llvm::Value *)> visit) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const auto both = [&](llvm::Value *a, llvm::Value *b) {
    return a && b ? builder.CreateAnd(a, b) : a ? a : b;
  };
  if (!tlg::hasLayout(type)) {
    lowering.onlyIf(both(lowering.isFirstThread(), condition(0)),
                    [&] { visit(0, lowering.i32(0)); });
    return;
  }
  const LinearLayout layout = tlg::layoutOf(type);
  const uint32_t copies = freeBits(layout).registers;
  llvm::Value *owner = lowering.ownsElements(layout);
  llvm::Value *element = lowering.threadElement(layout);
  for (int reg = 0; reg < layout.registerCount(); ++reg)
    if ((static_cast<uint32_t>(reg) & copies) == 0)
      lowering.onlyIf(both(owner, condition(reg)), [&] {
        visit(reg, builder.CreateXor(element, lowering.i32(layout.registerElement(reg))));
      });
}

/// In a combine function an op runs for elements that nobody has numbered.
LogicalResult refuseInCombine(Operation *op, llvm::StringRef name) {
  if (op->getParentOfType<tl::ReduceOp>() || op->getParentOfType<tl::ScanOp>())
    return op->emitError(name + " in a combine function is not supported on the GPU; it runs on "
                                "the CPU");
  return success();
}

size_t addSite(Lowering &lowering, Operation *op, Type type, DebugSite site) {
  site.location = fromMlirLocation(op->getLoc());
  if (auto block = dyn_cast_if_present<RankedTensorType>(type))
    site.shape.assign(block.getShape().begin(), block.getShape().end());
  lowering.kernel().debugSites.push_back(std::move(site));
  return lowering.kernel().debugSites.size() - 1;
}

LogicalResult lowerAssert(Lowering &lowering, Operation *op) {
  if (!lowering.options().debug)
    return success();
  if (failed(refuseInCombine(op, "device_assert")))
    return failure();
  auto assertion = cast<tl::AssertOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const Type type = assertion.getCondition().getType();
  DebugSite described;
  described.isAssert = true;
  described.text = assertion.getMessage().str();
  const size_t site = addSite(lowering, op, type, std::move(described));
  const Registers holds(lowering.get(assertion.getCondition()));
  const Registers mask =
      assertion.getMask() ? Registers(lowering.get(assertion.getMask())) : Registers();
  DebugBuffer buffer(lowering);
  forOwnElements(
      lowering, type,
      [&](int reg) {
        llvm::Value *fails = builder.CreateNot(holds[reg]);
        return mask.empty() ? fails : builder.CreateAnd(fails, mask[mask.size() == 1 ? 0 : reg]);
      },
      [&](int, llvm::Value *element) {
        buffer.countFailure();
        buffer.append(site, element, nullptr);
      });
  return success();
}

DType asUnsigned(DType dtype) {
  switch (bitWidth(dtype)) {
  case 8:
    return DType::UInt8;
  case 16:
    return DType::UInt16;
  case 32:
    return DType::UInt32;
  case 64:
    return DType::UInt64;
  }
  return dtype;
}

/// A value's registers as they are recorded, and as what the host shall read them.
struct Recorded {
  Registers registers;
  DType dtype = DType::Void;
  bool hex = false;
};

Recorded recordedForm(Lowering &lowering, Value value, bool hex, bool isSigned) {
  const Type type = getElementTypeOrSelf(value.getType());
  Recorded form{Registers(lowering.get(value)), DType::UInt64, hex || isa<tl::PtrType>(type)};
  if (isa<tl::PtrType>(type))
    return form;
  form.dtype = fromMlirType(type).dtype;
  if (isFp8(form.dtype) && !hex) { // the host has no reading of its own for fp8
    form.registers =
        castFloats(lowering, form.registers, type, Builder(type.getContext()).getF32Type());
    form.dtype = DType::Fp32;
  }
  if (hex || (isInteger(form.dtype) && !isSigned))
    form.dtype = asUnsigned(form.dtype);
  return form;
}

llvm::Value *bitsOf(Lowering &lowering, llvm::Value *value) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Type *type = value->getType();
  if (type->isPointerTy())
    return builder.CreatePtrToInt(value, builder.getInt64Ty());
  if (!type->isIntegerTy())
    value = builder.CreateBitCast(value, builder.getIntNTy(type->getPrimitiveSizeInBits()));
  return builder.CreateZExt(value, builder.getInt64Ty());
}

LogicalResult lowerPrint(Lowering &lowering, Operation *op) {
  if (failed(refuseInCombine(op, "device_print")))
    return failure();
  auto print = cast<tl::PrintOp>(op);
  DebugBuffer buffer(lowering);
  const auto always = [](int) -> llvm::Value * { return nullptr; };
  const llvm::StringRef prefix = print.getPrefix();
  if (print.getValues().empty()) {
    DebugSite described;
    described.text = prefix.ltrim(' ').str();
    const size_t site = addSite(lowering, op, Type(), std::move(described));
    lowering.onlyIf(lowering.isFirstThread(),
                    [&] { buffer.append(site, lowering.i32(0), nullptr); });
  }
  for (auto [i, value] : llvm::enumerate(print.getValues())) {
    const bool isSigned = i >= print.getIsSigned().size() || print.getIsSigned()[i];
    const Recorded form = recordedForm(lowering, value, print.getHex(), isSigned);
    DebugSite described;
    described.text = prefix.str();
    if (print.getValues().size() > 1)
      described.text += "(operand " + std::to_string(i) + ") ";
    described.values = {form.dtype};
    described.hex = form.hex;
    const size_t site = addSite(lowering, op, value.getType(), std::move(described));
    forOwnElements(lowering, value.getType(), always, [&](int reg, llvm::Value *element) {
      buffer.append(site, element, bitsOf(lowering, form.registers[reg]));
    });
  }
  return success();
}

LogicalResult lowerNothing(Lowering &, Operation *) { return success(); }

} // namespace

bool takesDebugBuffer(func::FuncOp function, const GpuOptions &options) {
  const WalkResult result = function.walk([&](Operation *op) {
    const bool says = isa<tl::PrintOp>(op) || (options.debug && isa<tl::AssertOp>(op));
    return says ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

llvm::ArrayRef<LoweringRow> debugRows() {
  static constexpr LoweringRow kRows[] = {
      {"tl.assert", lowerAssert}, {"tl.assume", lowerNothing}, {"tl.print", lowerPrint}};
  return kRows;
}

} // namespace blockscope::gpu
