// Copies between tensors and shared memory by TMA, and the mbarriers that count their bytes.
//
// One thread begins copies, or one of each warp does its share of the boxes. Their branch ends
// before anything that all threads of a warp execute together. A tensor map is a parameter of the
// kernel (see lower_kernel.cpp), or in its scratch memory, where the first warp makes it.
#include "gpu_backend/lowering/families.h"

#include "gpu_backend/layout/tma_box.h"
#include "gpu_backend/passes/tma_access.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

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
  const std::string all = (constraints + (constraints.empty() ? "" : ",") + "~{memory}").str();
  auto *call = llvm::cast<llvm::CallInst>(
      lowering.assembly(lowering.builder().getVoidTy(), text, all, operands));
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
  Registers operands{sharedAddress(lowering, lowering.scalar(wait.getBarrier())),
                     lowering.scalar(wait.getParity())};
  const auto waitFor = [&] {
    emit(lowering,
         "{.reg .pred p; wait: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; "
         "@!p bra wait;}",
         "r,r", operands);
  };
  if (!wait.getOfCluster()) {
    waitFor();
    return success();
  }
  constexpr int kThreadsOfWarp = 32;
  llvm::Value *begins =
      lowering.builder().CreateICmpULT(lowering.threadId(), lowering.i32(kThreadsOfWarp));
  lowering.onlyIf(begins, waitFor);
  return success();
}

LogicalResult lowerArrive(Lowering &lowering, Operation *op) {
  auto arrive = cast<tlg::MbarrierArriveOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Value *address = sharedAddress(lowering, lowering.scalar(arrive.getBarrier()));
  emit(lowering, "bar.warp.sync 0xffffffff;", "", {});
  // A lane for each. They tell of reads of shared memory alone, which are done: an order for all
  // CTAs would be one of all memory, and take longer than an iteration.
  if (const auto ctas = arrive.getCtas()) {
    emit(lowering,
         "{.reg .b32 remote; mapa.shared::cluster.u32 remote, $0, $1; "
         "@$2 mbarrier.arrive.shared::cluster.b64 _, [remote];}",
         "r,r,b",
         {address, builder.CreateAnd(lowering.laneId(), lowering.i32(int64_t{*ctas} - 1)),
          builder.CreateICmpULT(lowering.laneId(), lowering.i32(*ctas))});
    return success();
  }
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
  /// Of a tlg.tma_load or tlg.tma_store.
  template <typename CopyOp>
  BlockCopy(Lowering &lowering, CopyOp op, tlg::SharedType type, int ctas = 1)
      : lowering_(lowering) {
    int dim = 0;
    if (Value made = op.getMade()) {
      auto map = made.getDefiningOp<tlg::MakeTensorMapOp>();
      if (!map)
        return;
      dim = static_cast<int>(map.getContiguousDim());
      map_ = lowering.scalar(made);
    } else {
      auto function = op->template getParentOfType<func::FuncOp>();
      auto maps = function->template getAttrOfType<ArrayAttr>(tlg::kTensorMapsAttribute);
      if (!maps || op.getMap() >= maps.size())
        return;
      auto map = cast<DictionaryAttr>(maps[op.getMap()]);
      dim = static_cast<int>(map.template getAs<IntegerAttr>("contiguous_dim").getInt());
      map_ = lowering.function().getArg(lowering.function().arg_size() - maps.size() + op.getMap());
    }
    boxes_ = tmaBoxes(type.getShape(), dim, tlg::sharedLayoutOf(type), ctas);
    order_ = boxOrder(static_cast<int>(type.getShape().size()), dim);
    for (Value start : op.getStarts())
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

/// Where the program's part of the scratch memory begins, as a number.
llvm::Value *programScratch(Lowering &lowering) {
  using namespace llvm;
  IRBuilder<> &builder = lowering.builder();
  const auto read = [&](Intrinsic::ID id) {
    return builder.CreateZExt(builder.CreateIntrinsic(id, {}), builder.getInt64Ty());
  };
  llvm::Value *y = builder.CreateMul(read(Intrinsic::nvvm_read_ptx_sreg_ctaid_z),
                                     read(Intrinsic::nvvm_read_ptx_sreg_nctaid_y));
  y = builder.CreateAdd(y, read(Intrinsic::nvvm_read_ptx_sreg_ctaid_y));
  llvm::Value *program =
      builder.CreateAdd(builder.CreateMul(y, read(Intrinsic::nvvm_read_ptx_sreg_nctaid_x)),
                        read(Intrinsic::nvvm_read_ptx_sreg_ctaid_x));
  llvm::Value *offset =
      builder.CreateMul(program, builder.getInt64(lowering.kernel().globalScratchBytes));
  llvm::Value *base = lowering.function().getArg(
      lowering.currentOp()->getParentOfType<func::FuncOp>().getNumArguments());
  return builder.CreateAdd(builder.CreatePtrToInt(base, builder.getInt64Ty()), offset);
}

/// What tensormap.replace is given, field by field.
class MapFields {
public:
  MapFields(Lowering &lowering, llvm::Value *image, llvm::Value *writes)
      : lowering_(lowering), image_(image), writes_(writes) {}

  void set(llvm::StringRef field, int bits, llvm::Value *value, int number = -1) {
    const std::string at = number < 0 ? "" : std::to_string(number) + ", ";
    emit(lowering_,
         llvm::formatv("@$0 tensormap.replace.tile.{0}.shared::cta.b1024.b{1} [$1], {2}$2;", field,
                       bits, at)
             .str(),
         bits == 64 ? "b,r,l" : "b,r,r", {writes_, image_, value});
  }
  /// One of the fields whose value is part of the instruction.
  void set(llvm::StringRef field, int value) {
    emit(lowering_,
         llvm::formatv("@$0 tensormap.replace.tile.{0}.shared::cta.b1024.b32 [$1], {1};", field,
                       value)
             .str(),
         "b,r", {writes_, image_});
  }

private:
  Lowering &lowering_;
  llvm::Value *image_, *writes_; ///< the latter is true in one thread
};

/// The numbers that PTX has for elements of that many bytes, as integers without a sign, and for
/// swizzles.
int elementNumber(int64_t bytes) { return bytes == 8 ? 4 : static_cast<int>(llvm::Log2_64(bytes)); }
int swizzleNumber(int64_t bytes) {
  return bytes == 0 ? 0 : static_cast<int>(llvm::Log2_64(bytes)) - 4;
}

/// Sets all fields of the map at `image`, in shared memory, by the thread in which `writes` is
/// true. That thread ends the program where TMA would not copy what the kernel means.
void fillMap(Lowering &lowering, tlg::MakeTensorMapOp op, llvm::Value *image, llvm::Value *writes) {
  constexpr uint64_t kAlignmentBytes = 16;
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Value *base = builder.CreatePtrToInt(lowering.scalar(op.getBase()), builder.getInt64Ty());
  llvm::Value *misaligned = base;
  MapFields fields(lowering, image, writes);
  fields.set("global_address", 64, base);
  fields.set("rank", static_cast<int>(op.getSizes().size()) - 1);
  for (auto [i, size, box] : llvm::enumerate(op.getSizes(), op.getBox())) {
    const int number = static_cast<int>(i);
    llvm::Value *some = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, lowering.scalar(size),
                                                      builder.getInt64(1));
    fields.set("box_dim", 32, lowering.i32(box), number);
    fields.set("global_dim", 32, builder.CreateTrunc(some, builder.getInt32Ty()), number);
    fields.set("element_stride", 32, lowering.i32(1), number);
  }
  for (auto [i, stride] : llvm::enumerate(op.getStrides())) {
    llvm::Value *bytes =
        builder.CreateMul(lowering.scalar(stride), builder.getInt64(op.getElementBytes()));
    misaligned = builder.CreateOr(misaligned, bytes);
    fields.set("global_stride", 64, bytes, static_cast<int>(i));
  }
  fields.set("elemtype", elementNumber(op.getElementBytes()));
  fields.set("interleave_layout", 0);
  fields.set("swizzle_mode", swizzleNumber(op.getSwizzleBytes()));
  fields.set("fill_mode", 0);
  llvm::Value *bits = builder.CreateAnd(misaligned, builder.getInt64(kAlignmentBytes - 1));
  emit(lowering, "@$0 trap;", "b",
       {builder.CreateAnd(writes, builder.CreateICmpNE(bits, builder.getInt64(0)))});
}

/// The first warp makes the map in shared memory, copies it to global memory, and acquires it
/// there, since its first thread begins all copies. Each warp that acquires a map empties the cache
/// of maps: one does.
LogicalResult lowerMakeTensorMap(Lowering &lowering, Operation *op) {
  auto map = cast<tlg::MakeTensorMapOp>(op);
  constexpr int kMapBytes = 128, kWordBytes = 4, kThreadsOfWarp = 32;
  llvm::IRBuilder<> &builder = lowering.builder();
  // Shared memory is given out by 16 bytes.
  llvm::Value *image = sharedAddress(lowering, lowering.i32(lowering.scratchOffset(2 * kMapBytes)));
  image = builder.CreateAnd(builder.CreateAdd(image, lowering.i32(kMapBytes - 1)),
                            lowering.i32(-kMapBytes));
  llvm::Value *address = builder.CreateAdd(programScratch(lowering),
                                           builder.getInt64(uint64_t{map.getSlot()} * kMapBytes));
  llvm::Value *isFirstWarp =
      builder.CreateICmpULT(lowering.threadId(), lowering.i32(kThreadsOfWarp));
  lowering.onlyIf(isFirstWarp, [&] {
    llvm::Value *own =
        builder.CreateAdd(image, builder.CreateMul(lowering.laneId(), lowering.i32(kWordBytes)));
    emit(lowering, "st.shared.b32 [$0], $1;", "r,r", {own, lowering.i32(0)});
    emit(lowering, "bar.warp.sync 0xffffffff;", "", {});
    llvm::Value *writes = builder.CreateICmpEQ(lowering.laneId(), lowering.i32(0));
    fillMap(lowering, map, image, writes);
    // Stores by the map before have read it when they are done.
    emit(lowering, "@$0 cp.async.bulk.wait_group 0;", "b", {writes});
    emit(lowering, "bar.warp.sync 0xffffffff;", "", {});
    emit(lowering,
         "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
         "[$0], [$1], 128;",
         "l,r", {address, image});
    emit(lowering, "fence.proxy.tensormap::generic.acquire.gpu [$0], 128;", "l", {address});
    // ptxas lets copies begin before the map is acquired, but not before earlier copies are done.
    emit(lowering, "cp.async.bulk.commit_group;", "", {});
    emit(lowering, "cp.async.bulk.wait_group.read 0;", "", {});
  });
  lowering.barrier(); // the image is overwritten behind it
  lowering.set(map.getResult(), address);
  return success();
}

/// Each CTA of a cluster begins the copies of its share of the boxes, to all of them.
void shareCopies(Lowering &lowering, tlg::TmaLoadOp load, const BlockCopy &copy, llvm::Value *to,
                 llvm::Value *barrier) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const int ctas = lowering.numCtas();
  const std::string text =
      llvm::formatv("cp.async.bulk.tensor.{0}d.shared::cluster.global.tile.mbarrier::complete_tx::"
                    "bytes.multicast::cluster [$0], {1}, [$1], ${2};",
                    copy.rank(), copy.text(2), copy.rank() + 3)
          .str();
  llvm::Value *all = builder.getInt16(static_cast<uint16_t>((1U << ctas) - 1));
  const auto begin = [&](const TmaBoxes::Box &box, const TmaBoxes::Box *step, llvm::Value *number) {
    llvm::Value *place = builder.CreateAdd(to, lowering.i32(box.offsetBytes));
    if (step)
      place = builder.CreateAdd(place, builder.CreateMul(number, lowering.i32(step->offsetBytes)));
    Registers operands{place, barrier};
    llvm::append_range(operands, copy.operands(box, step, number));
    operands.push_back(all);
    emit(lowering, text, "r,r," + copy.constraints() + ",h", operands);
  };
  const size_t share = copy.boxes().size() / ctas;
  lowering.onlyIf(isIssuer(lowering, load.getPredicate()), [&] {
    if (const std::optional<TmaBoxes::Box> step = copy.step()) {
      llvm::Value *first =
          builder.CreateMul(lowering.clusterRank(), lowering.i32(static_cast<int64_t>(share)));
      for (const TmaBoxes::Box &box : copy.boxes().take_front(share))
        begin(box, &*step, first);
      return;
    }
    for (auto [i, box] : llvm::enumerate(copy.boxes())) {
      llvm::Value *isOurs = builder.CreateICmpEQ(lowering.clusterRank(),
                                                 lowering.i32(static_cast<int64_t>(i / share)));
      lowering.onlyIf(isOurs, [&] { begin(box, nullptr, nullptr); });
    }
  });
}

LogicalResult lowerTmaLoad(Lowering &lowering, Operation *op) {
  auto load = cast<tlg::TmaLoadOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const auto ctas = static_cast<int>(load.getCtas().value_or(1));
  const BlockCopy copy(lowering, load, load.getDestination().getType(), ctas);
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
  if (ctas > 1) {
    shareCopies(lowering, load, copy, to, barrier);
    return success();
  }
  // A map that the kernel makes is acquired by the first warp alone.
  const std::optional<TmaBoxes::Box> step =
      op->hasAttr(kByWarpsAttribute) && !load.getMade() ? copy.step() : std::nullopt;
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
  const BlockCopy copy(lowering, store, store.getSource().getType());
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
      {"tlg.async_arrive", lowerAsyncArrive},
      {"tlg.make_tensor_map", lowerMakeTensorMap},
      {"tlg.mbarrier_arrive", lowerArrive},
      {"tlg.mbarrier_expect", lowerExpect},
      {"tlg.mbarrier_init", lowerInit},
      {"tlg.mbarrier_wait", lowerWait},
      {"tlg.tma_load", lowerTmaLoad},
      {"tlg.tma_store", lowerTmaStore},
      {"tlg.tma_store_wait", lowerTmaStoreWait},
  };
  return kRows;
}

} // namespace blockscope::gpu
