// Buffers in shared memory: a value of such a type is the byte offset where its buffer starts.
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/shared_access.h"

#include "gpu_backend/layout/layout_queries.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

LogicalResult lowerAllocShared(Lowering &lowering, Operation *op) {
  auto alloc = cast<tlg::AllocSharedOp>(op);
  if (!alloc.getOffset())
    return op->emitError("was given no memory (a mistake in blockscope)");
  if (lowering.sharedPlaces().isReused(op))
    lowering.barrier(); // the buffer that was here has been read
  lowering.set(alloc, lowering.i32(*alloc.getOffset()));
  return success();
}

LogicalResult lowerStage(Lowering &lowering, Operation *op) {
  auto stage = cast<tlg::StageOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const uint32_t size = tlg::sharedLayoutOf(stage.getType()).sizeBytes();
  llvm::Value *offset =
      builder.CreateMul(lowering.scalar(stage.getIndex()), lowering.i32(size), "", true, true);
  lowering.set(stage, builder.CreateAdd(lowering.scalar(stage.getRing()), offset, "", true, true));
  return success();
}

LogicalResult lowerView(Lowering &lowering, Operation *op) {
  lowering.set(op->getResult(0), lowering.scalar(op->getOperand(0)));
  return success();
}

LogicalResult lowerLocalStore(Lowering &lowering, Operation *op) {
  auto store = cast<tlg::LocalStoreOp>(op);
  const Type type = store.getValue().getType();
  storeShared(lowering, lowering.get(store.getValue()), type, tlg::layoutOf(type),
              lowering.scalar(store.getDestination()),
              tlg::sharedLayoutOf(store.getDestination().getType()));
  return success();
}

LogicalResult lowerLocalLoad(Lowering &lowering, Operation *op) {
  auto load = cast<tlg::LocalLoadOp>(op);
  SharedReader reader(lowering, lowering.scalar(load.getSource()), load.getType(),
                      tlg::sharedLayoutOf(load.getSource().getType()),
                      tlg::layoutOf(load.getType()));
  Registers results;
  for (int reg = 0; reg < Lowering::registerCount(load.getType()); ++reg)
    results.push_back(reader.get(reg));
  lowering.set(load, results);
  return success();
}

LogicalResult lowerAsyncCopy(Lowering &lowering, Operation *op) {
  auto copy = cast<tlg::AsyncCopyOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const tlg::SharedType shared = copy.getDestination().getType();
  const LinearLayout layout = tlg::layoutOf(copy.getPointer().getType());
  const auto vector = op->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
  const SharedLayout buffer = tlg::sharedLayoutOf(shared);
  const int bytes = vector ? contiguousBytes(buffer, ShapeBits(shared.getShape()), vector[0],
                                             vector[1] * buffer.elementBytes)
                           : buffer.elementBytes;
  const SharedAccess access = vectorStore(layout, buffer, bytes);
  noteConflicts(lowering, "where a block is copied to shared memory", access);
  if (access.vectorBytes < 4)
    return op->emitError("has less than 4 bytes in a row (a mistake in blockscope)");
  SharedAddress address(lowering, lowering.scalar(copy.getDestination()), access.lanes,
                        access.warps);
  llvm::Value *predicate = lowering.ownsElements(inShared(layout, buffer));
  // ptxas computes the address of a predicated copy right before it, all of them in the same
  // registers, so that a copy waits until the one before has read its address. Where copies always
  // run, and only ignore their sources, it computes the addresses ahead.
  llvm::Value *leftOut = nullptr;
  if (copy.getPredicate()) {
    llvm::Value *given = lowering.scalar(copy.getPredicate());
    if (copy.getFill())
      leftOut = builder.CreateNot(given);
    else
      predicate = predicate ? builder.CreateAnd(predicate, given) : given;
  }
  // Only copies of 16 bytes may pass by the L1 cache. What the mask leaves out is filled with
  // zeros: by a predicate, as ptxas would make one of a size that is 0 or all, and one more for
  // `predicate`.
  const bool isWide = access.vectorBytes == 16, fillsZeros = copy.getMask() || leftOut;
  const std::string text =
      llvm::formatv("{0}cp.async.{1}.shared.global{2} [$0], [$1], {3}{4};", predicate ? "@$2 " : "",
                    isWide ? "cg" : "ca", isWide ? ".L2::128B" : "", access.vectorBytes,
                    !fillsZeros ? ""
                    : predicate ? ", $3"
                                : ", $2")
          .str();
  std::string constraints = "r,l";
  for (const bool has : {predicate != nullptr, fillsZeros})
    if (has)
      constraints += ",b";
  for (const SharedVector &part : access.vectors) {
    const uint32_t reg = part.registers.front();
    llvm::SmallVector<llvm::Value *> operands{
        builder.CreatePtrToInt(address.at(part.offsetBytes), builder.getInt32Ty()),
        lowering.get(copy.getPointer())[reg]};
    if (predicate)
      operands.push_back(predicate);
    if (fillsZeros) {
      llvm::Value *zeros = leftOut;
      if (copy.getMask()) {
        llvm::Value *masked = builder.CreateNot(lowering.get(copy.getMask())[reg]);
        zeros = zeros ? builder.CreateOr(zeros, masked) : masked;
      }
      operands.push_back(zeros);
    }
    lowering.assembly(builder.getVoidTy(), text, constraints, operands);
  }
  return success();
}

LogicalResult lowerAsyncCommit(Lowering &lowering, Operation *) {
  lowering.assembly(lowering.builder().getVoidTy(), "cp.async.commit_group;", "", {});
  return success();
}

LogicalResult lowerAsyncWait(Lowering &lowering, Operation *op) {
  lowering.assembly(
      lowering.builder().getVoidTy(),
      llvm::formatv("cp.async.wait_group {0};", cast<tlg::AsyncWaitOp>(op).getPending()).str(), "",
      {});
  return success();
}

LogicalResult lowerFenceAsync(Lowering &lowering, Operation *op) {
  const bool isGlobal = cast<tlg::FenceAsyncOp>(op).getGlobal();
  lowering.assembly(lowering.builder().getVoidTy(),
                    isGlobal ? "fence.proxy.async;" : "fence.proxy.async.shared::cta;", "", {});
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> sharedMemoryRows() {
  static constexpr LoweringRow kRows[] = {
      {"tlg.alloc_shared", lowerAllocShared}, {"tlg.async_commit", lowerAsyncCommit},
      {"tlg.async_copy", lowerAsyncCopy},     {"tlg.async_wait", lowerAsyncWait},
      {"tlg.fence_async", lowerFenceAsync},   {"tlg.local_load", lowerLocalLoad},
      {"tlg.local_store", lowerLocalStore},   {"tlg.stage", lowerStage},
      {"tlg.reshape_shared", lowerView},      {"tlg.trans_shared", lowerView},
  };
  return kRows;
}

} // namespace blockscope::gpu
