// Copies between tensors and shared memory by TMA, and the mbarriers that count their bytes.
//
// One thread begins copies, or one of each warp does its share of the boxes. Their branch ends
// before anything that all threads of a warp execute together. A tensor map is a parameter of the
// kernel: see lower_kernel.cpp.
#include "gpu_backend/lowering/families.h"

#include "gpu_backend/layout/tma_box.h"
#include "gpu_backend/passes/tma_access.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int kMbarrierBytes = 8;

llvm::Value *sharedAddress(Lowering &lowering, llvm::Value *offset) {
  llvm::IRBuilder<> &builder = lowering.builder();
  return builder.CreatePtrToInt(lowering.sharedPointer(offset), builder.getInt32Ty());
}

/// PTX that must be neither repeated nor moved into a branch.
void emit(Lowering &lowering, llvm::StringRef text, llvm::StringRef constraints,
          llvm::ArrayRef<llvm::Value *> operands) {
  auto *call = llvm::cast<llvm::CallInst>(
      lowering.assembly(lowering.builder().getVoidTy(), text, constraints, operands));
  call->setConvergent();
}

/// True in the thread that begins copies, where `predicate` holds (null: always).
llvm::Value *isIssuer(Lowering &lowering, Value predicate) {
  llvm::Value *first = lowering.isFirstThread();
  return predicate ? lowering.builder().CreateAnd(first, lowering.scalar(predicate)) : first;
}

LogicalResult lowerInit(Lowering &lowering, Operation *op) {
  auto init = cast<tlg::MbarrierInitOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Value *first = sharedAddress(lowering, lowering.scalar(init.getBarriers()));
  lowering.onlyIf(lowering.isFirstThread(), [&] {
    for (int stage = 0; stage < init.getBarriers().getType().getStages(); ++stage) {
      llvm::Value *address = builder.CreateAdd(first, lowering.i32(stage * kMbarrierBytes));
      if (init.getAgain())
        emit(lowering, "mbarrier.inval.shared::cta.b64 [$0];", "r", {address});
      emit(lowering, "mbarrier.init.shared::cta.b64 [$0], $1;", "r,n",
           {address, lowering.i32(static_cast<int>(init.getArrivals()))});
    }
    emit(lowering, "fence.mbarrier_init.release.cluster;", "", {});
  });
  return success();
}

LogicalResult lowerExpect(Lowering &lowering, Operation *op) {
  auto expect = cast<tlg::MbarrierExpectOp>(op);
  llvm::Value *address = sharedAddress(lowering, lowering.scalar(expect.getBarrier()));
  lowering.onlyIf(isIssuer(lowering, expect.getPredicate()), [&] {
    emit(lowering, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r",
         {address, lowering.scalar(expect.getBytes())});
  });
  return success();
}

LogicalResult lowerWait(Lowering &lowering, Operation *op) {
  auto wait = cast<tlg::MbarrierWaitOp>(op);
  emit(lowering,
       "{.reg .pred p; wait: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @!p bra wait;}",
       "r,r",
       {sharedAddress(lowering, lowering.scalar(wait.getBarrier())),
        lowering.scalar(wait.getParity())});
  return success();
}

LogicalResult lowerArrive(Lowering &lowering, Operation *op) {
  auto arrive = cast<tlg::MbarrierArriveOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Value *address = sharedAddress(lowering, lowering.scalar(arrive.getBarrier()));
  emit(lowering, "bar.warp.sync 0xffffffff;", "", {});
  emit(lowering, "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b",
       {address, builder.CreateICmpEQ(lowering.laneId(), lowering.i32(0))});
  return success();
}

LogicalResult lowerAsyncArrive(Lowering &lowering, Operation *op) {
  auto arrive = cast<tlg::AsyncArriveOp>(op);
  Registers operands{sharedAddress(lowering, lowering.scalar(arrive.getBarrier()))};
  std::string text = "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];";
  if (Value predicate = arrive.getPredicate()) {
    text = "@$1 " + text;
    operands.push_back(lowering.scalar(predicate));
  }
  emit(lowering, text, operands.size() == 1 ? "r" : "r,b", operands);
  return success();
}

/// A copy of a block, box by box.
class BlockCopy {
public:
  BlockCopy(Lowering &lowering, Operation *op, tlg::SharedType type, ValueRange starts,
            uint32_t number)
      : lowering_(lowering) {
    auto function = op->getParentOfType<func::FuncOp>();
    auto maps = function->getAttrOfType<ArrayAttr>(tlg::kTensorMapsAttribute);
    if (!maps || number >= maps.size())
      return;
    const int dim = static_cast<int>(
        cast<DictionaryAttr>(maps[number]).getAs<IntegerAttr>("contiguous_dim").getInt());
    boxes_ = tmaBoxes(type.getShape(), dim, tlg::sharedLayoutOf(type));
    order_ = boxOrder(static_cast<int>(type.getShape().size()), dim);
    map_ = lowering.function().getArg(lowering.function().arg_size() - maps.size() + number);
    for (Value start : starts)
      starts_.push_back(lowering.scalar(start));
  }

  bool isValid() const { return boxes_ && starts_.size() == order_.size(); }
  int rank() const { return static_cast<int>(order_.size()); }
  llvm::ArrayRef<TmaBoxes::Box> boxes() const { return boxes_->boxes; }
  /// What leads from each box to the next; nothing where that is not always the same.
  std::optional<TmaBoxes::Box> step() const {
    const auto between = [](const TmaBoxes::Box &from, const TmaBoxes::Box &to) {
      TmaBoxes::Box step{to.offsetBytes - from.offsetBytes, {}};
      for (auto [a, b] : llvm::zip(from.first, to.first))
        step.first.push_back(b - a);
      return step;
    };
    if (boxes().size() < 2)
      return std::nullopt;
    const TmaBoxes::Box step = between(boxes()[0], boxes()[1]);
    for (size_t i = 2; i < boxes().size(); ++i) {
      const TmaBoxes::Box other = between(boxes()[i - 1], boxes()[i]);
      if (other.offsetBytes != step.offsetBytes || other.first != step.first)
        return std::nullopt;
    }
    return step;
  }

  /// "[$f, {$f+1, ...}]", "l,r,..." and the map with the coordinates of a box.
  std::string text(int first) const {
    std::string result = llvm::formatv("[${0}, {{", first).str();
    for (int i = 0; i < rank(); ++i)
      result += llvm::formatv("{0}${1}", i == 0 ? "" : ", ", first + 1 + i).str();
    return result + "}]";
  }
  std::string constraints() const {
    std::string result = "l";
    for (int i = 0; i < rank(); ++i)
      result += ",r";
    return result;
  }
  /// The map and the coordinates of a box, or of the one that is `number` steps behind it.
  Registers operands(const TmaBoxes::Box &box, const TmaBoxes::Box *step = nullptr,
                     llvm::Value *number = nullptr) const {
    llvm::IRBuilder<> &builder = lowering_.builder();
    Registers result{map_};
    for (const int dim : order_) {
      llvm::Value *start = builder.CreateAdd(starts_[dim], lowering_.i32(box.first[dim]));
      if (step && step->first[dim] != 0)
        start =
            builder.CreateAdd(start, builder.CreateMul(number, lowering_.i32(step->first[dim])));
      result.push_back(start);
    }
    return result;
  }

private:
  Lowering &lowering_;
  std::optional<TmaBoxes> boxes_;
  llvm::SmallVector<int, 4> order_;
  llvm::Value *map_ = nullptr;
  Registers starts_;
};

LogicalResult lowerTmaLoad(Lowering &lowering, Operation *op) {
  auto load = cast<tlg::TmaLoadOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const BlockCopy copy(lowering, op, load.getDestination().getType(), load.getStarts(),
                       load.getMap());
  if (!copy.isValid())
    return op->emitError("has no tensor map that fits (a mistake in blockscope)");
  llvm::Value *to = sharedAddress(lowering, lowering.scalar(load.getDestination()));
  llvm::Value *barrier = sharedAddress(lowering, lowering.scalar(load.getBarrier()));
  const std::string text =
      llvm::formatv(
          "cp.async.bulk.tensor.{0}d.shared::cta.global.tile.mbarrier::complete_tx::bytes "
          "[$0], {1}, [$1];",
          copy.rank(), copy.text(2))
          .str();
  const std::optional<TmaBoxes::Box> step =
      op->hasAttr(kByWarpsAttribute) ? copy.step() : std::nullopt;
  const auto warps = std::min<size_t>(lowering.numWarps(), copy.boxes().size());
  if (step && warps > 1) {
    llvm::Value *warp = lowering.warpId();
    llvm::Value *begins =
        builder.CreateAnd(builder.CreateICmpEQ(lowering.laneId(), lowering.i32(0)),
                          builder.CreateICmpULT(warp, lowering.i32(static_cast<int>(warps))));
    if (load.getPredicate())
      begins = builder.CreateAnd(begins, lowering.scalar(load.getPredicate()));
    to = builder.CreateAdd(to, builder.CreateMul(warp, lowering.i32(step->offsetBytes)));
    lowering.onlyIf(begins, [&] {
      for (size_t i = 0; i < copy.boxes().size(); i += warps) {
        const TmaBoxes::Box &box = copy.boxes()[i];
        Registers operands{builder.CreateAdd(to, lowering.i32(box.offsetBytes)), barrier};
        llvm::append_range(operands, copy.operands(box, &*step, warp));
        emit(lowering, text, "r,r," + copy.constraints(), operands);
      }
    });
    return success();
  }
  lowering.onlyIf(isIssuer(lowering, load.getPredicate()), [&] {
    for (const TmaBoxes::Box &box : copy.boxes()) {
      Registers operands{builder.CreateAdd(to, lowering.i32(box.offsetBytes)), barrier};
      llvm::append_range(operands, copy.operands(box));
      emit(lowering, text, "r,r," + copy.constraints(), operands);
    }
  });
  return success();
}

LogicalResult lowerTmaStore(Lowering &lowering, Operation *op) {
  auto store = cast<tlg::TmaStoreOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const BlockCopy copy(lowering, op, store.getSource().getType(), store.getStarts(),
                       store.getMap());
  if (!copy.isValid())
    return op->emitError("has no tensor map that fits (a mistake in blockscope)");
  llvm::Value *from = sharedAddress(lowering, lowering.scalar(store.getSource()));
  const std::string text =
      llvm::formatv("cp.async.bulk.tensor.{0}d.global.shared::cta.tile.bulk_group {1}, [$0];",
                    copy.rank(), copy.text(1))
          .str();
  lowering.onlyIf(lowering.isFirstThread(), [&] {
    for (const TmaBoxes::Box &box : copy.boxes()) {
      Registers operands{builder.CreateAdd(from, lowering.i32(box.offsetBytes))};
      llvm::append_range(operands, copy.operands(box));
      emit(lowering, text, "r," + copy.constraints(), operands);
    }
    emit(lowering, "cp.async.bulk.commit_group;", "", {});
  });
  return success();
}

LogicalResult lowerTmaStoreWait(Lowering &lowering, Operation *op) {
  const bool completes = cast<tlg::TmaStoreWaitOp>(op).getCompletes();
  lowering.onlyIf(lowering.isFirstThread(), [&] {
    emit(lowering, completes ? "cp.async.bulk.wait_group 0;" : "cp.async.bulk.wait_group.read 0;",
         "", {});
  });
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> tmaRows() {
  static constexpr LoweringRow kRows[] = {
      {"tlg.async_arrive", lowerAsyncArrive}, {"tlg.mbarrier_arrive", lowerArrive},
      {"tlg.mbarrier_expect", lowerExpect},   {"tlg.mbarrier_init", lowerInit},
      {"tlg.mbarrier_wait", lowerWait},       {"tlg.tma_load", lowerTmaLoad},
      {"tlg.tma_store", lowerTmaStore},       {"tlg.tma_store_wait", lowerTmaStoreWait},
  };
  return kRows;
}

} // namespace blockscope::gpu
