// The ops of the GPU level: moves between layouts, shared memory, tensor cores.
#ifndef BLOCKSCOPE_GPU_BACKEND_IR_TLG_OPS
#define BLOCKSCOPE_GPU_BACKEND_IR_TLG_OPS

include "gpu_backend/ir/tlg_dialect.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class TLG_Op<string mnemonic, list<Trait> traits = []> : Op<TLG_Dialect, mnemonic, traits>;

def TLG_Block : AnyTypeOf<[AnyRankedTensor, TLG_SharedType]>;

def TLG_ConvertLayoutOp : TLG_Op<"convert_layout", [Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let summary = "the same block with its elements in other registers, lanes and warps";
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
}

//===-- Clusters ---------------------------------------------------------------------------------===//

def TLG_ClusterRankOp : TLG_Op<"cluster_rank", [Pure]> {
  let summary = "the number of this CTA among those that run the program together";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def TLG_ClusterExchangeOp : TLG_Op<"cluster_exchange", [Pure]> {
  let summary = "a block that the CTAs of a cluster share, as this CTA wants it";
  let description = [{
    Each CTA has the part of the block along dimension `from` that its number says, and gets that
    along dimension `to`. -1: all of it. With `from_first`, it is what the first CTA has. All CTAs
    come here.
  }];
  let arguments = (ins AnyRankedTensor:$source, I32Attr:$from, I32Attr:$to, UnitAttr:$from_first);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source `from` $from `to` $to attr-dict `:` type($source) `->` type($result)";
}

def TLG_ClusterBarrierOp : TLG_Op<"cluster_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of the cluster have come here, and see each other's memory";
  let assemblyFormat = "attr-dict";
}

//===-- Shared memory ----------------------------------------------------------------------------===//

def TLG_AllocSharedOp : TLG_Op<"alloc_shared", [MemoryEffects<[MemAlloc]>]> {
  let summary = "shared memory for the whole kernel, one buffer or a ring of several";
  let description = [{ `offset` is where it starts, in bytes, once memory is given out. }];
  let arguments = (ins OptionalAttr<I32Attr>:$offset);
  let results = (outs TLG_SharedType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def TLG_StageOp : TLG_Op<"stage", [Pure]> {
  let summary = "one buffer of a ring; an index equal to their number is 0 again";
  let arguments = (ins TLG_SharedType:$ring, I32:$index);
  let results = (outs TLG_SharedType:$result);
  let assemblyFormat = "$ring `[` $index `]` attr-dict `:` type($ring) `->` type($result)";
}

def TLG_TransSharedOp : TLG_Op<"trans_shared", [Pure]> {
  let summary = "the buffer with its dimensions in another order, in the same memory";
  let arguments = (ins TLG_SharedType:$source, DenseI32ArrayAttr:$order);
  let results = (outs TLG_SharedType:$result);
  let assemblyFormat = "$source $order attr-dict `:` type($source) `->` type($result)";
}

def TLG_ReshapeSharedOp : TLG_Op<"reshape_shared", [Pure]> {
  let summary = "the buffer with another shape, elements in row-major order, in the same memory";
  let arguments = (ins TLG_SharedType:$source);
  let results = (outs TLG_SharedType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def TLG_LocalStoreOp : TLG_Op<"local_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "write a block to shared memory; barriers are ops of their own";
  let arguments = (ins AnyRankedTensor:$value, TLG_SharedType:$destination);
  let assemblyFormat = "$value `,` $destination attr-dict `:` type($value) `,` type($destination)";
}

def TLG_LocalLoadOp : TLG_Op<"local_load", [MemoryEffects<[MemRead]>]> {
  let summary = "read a block from shared memory";
  let arguments = (ins TLG_SharedType:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def TLG_AsyncCopyOp : TLG_Op<"async_copy", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "begin copying from global to shared memory (cp.async)";
  let description = [{
    Where `mask` is false, zeros are written. Where `predicate` is false, nothing is done at all, or with `fill` zeros
    are written: only for buffers that nothing else uses until the copies have been waited for.
  }];
  let arguments = (ins AnyRankedTensor:$pointer, TLG_SharedType:$destination, Optional<AnyRankedTensor>:$mask,
      Optional<I1>:$predicate, UnitAttr:$fill);
  let assemblyFormat = [{
    $pointer `,` $destination (`mask` $mask^)? (`if` $predicate^)? (`fill` $fill^)? attr-dict `:` type($pointer) `,` type($destination)
    (`,` type($mask)^)?
  }];
}

def TLG_AsyncCommitOp : TLG_Op<"async_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the copies that were begun since the last commit are a group";
  let assemblyFormat = "attr-dict";
}

def TLG_AsyncWaitOp : TLG_Op<"async_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for this thread's copies, except for the newest `pending` groups";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def TLG_FenceAsyncOp : TLG_Op<"fence_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "this thread's writes to shared memory come before later reads by wgmma and TMA";
  let description = [{ With `global`, so do those to global memory. }];
  let arguments = (ins UnitAttr:$global);
  let assemblyFormat = "attr-dict";
}

//===-- mbarriers and TMA ------------------------------------------------------------------------===//

def TLG_MbarrierInitOp : TLG_Op<"mbarrier_init", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "make a ring of mbarriers in shared memory, each for `arrivals`; again: from phase 0";
  let description = [{
    A barrier of all threads of the program has to follow before they are used. `again`: they are
    mbarriers already, and nobody uses them.
  }];
  let arguments = (ins TLG_SharedType:$barriers, DefaultValuedAttr<I32Attr, "1">:$arrivals, UnitAttr:$again);
  let assemblyFormat = "$barriers attr-dict `:` type($barriers)";
}

def TLG_MbarrierExpectOp : TLG_Op<"mbarrier_expect", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one thread arrives; the phase ends when copies have brought `bytes`";
  let description = [{ Where `predicate` is false, nothing is done at all. }];
  let arguments = (ins TLG_SharedType:$barrier, I32:$bytes, Optional<I1>:$predicate);
  let assemblyFormat = "$barrier `,` $bytes (`if` $predicate^)? attr-dict `:` type($barrier)";
}

def TLG_MbarrierWaitOp : TLG_Op<"mbarrier_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until the phase with this parity has ended";
  let description = [{
    With `of_cluster`, other CTAs arrive there, too, and only the warp that begins copies waits.
  }];
  let arguments = (ins TLG_SharedType:$barrier, I32:$parity, UnitAttr:$of_cluster);
  let assemblyFormat = "$barrier `,` $parity attr-dict `:` type($barrier)";
}

def TLG_MbarrierArriveOp : TLG_Op<"mbarrier_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one thread of each warp arrives, when all threads of the warp are here";
  let description = [{ With `ctas`, it arrives at the mbarriers of all CTAs of the cluster. }];
  let arguments = (ins TLG_SharedType:$barrier, OptionalAttr<I32Attr>:$ctas);
  let assemblyFormat = "$barrier attr-dict `:` type($barrier)";
}

def TLG_AsyncArriveOp : TLG_Op<"async_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "every thread arrives when the copies that it has begun (cp.async) have come";
  let description = [{ Where `predicate` is false, nothing is done at all. }];
  let arguments = (ins TLG_SharedType:$barrier, Optional<I1>:$predicate);
  let assemblyFormat = "$barrier (`if` $predicate^)? attr-dict `:` type($barrier)";
}

def TLG_MakeTensorMapOp : TLG_Op<"make_tensor_map", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "make a tensor map in the program's scratch memory, and give its address";
  let description = [{
    `sizes` and `strides` are in elements, from the contiguous dimension to the outermost, the stride of
    the contiguous one left out; a size below 1 counts as 1. The program ends where the base or a stride
    is no multiple of 16 bytes. Maps of a program have different `slot`s. Copies by the map that was there
    before have to be done, but for stores.
  }];
  let arguments = (ins AnyType:$base, Variadic<I64>:$sizes, Variadic<I64>:$strides, DenseI64ArrayAttr:$box,
      I32Attr:$element_bytes, I32Attr:$swizzle_bytes, I32Attr:$contiguous_dim, I32Attr:$slot);
  let results = (outs I64:$map);
  let assemblyFormat = "$slot `of` $base `sizes` `[` $sizes `]` `strides` `[` $strides `]` attr-dict `:` type($base)";
}

def TLG_TmaLoadOp : TLG_Op<"tma_load", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one thread begins copying a block of a tensor to shared memory; `barrier` counts the bytes";
  let description = [{
    `starts` is where the block begins in the tensor, per dimension of the block. Outside of the tensor
    zeros are written. `map` is a number in the function's tensor maps, unless the kernel has `made` one.
    Where `predicate` is false, nothing is done at all. With `ctas`, all CTAs of a cluster come here,
    and each copies a part of the block to all of them; the mbarrier of each counts all bytes.
  }];
  let arguments = (ins TLG_SharedType:$destination, TLG_SharedType:$barrier, Variadic<I32>:$starts,
      Optional<I1>:$predicate, Optional<I64>:$made, I32Attr:$map, OptionalAttr<I32Attr>:$ctas);
  let assemblyFormat = [{
    $map (`made` $made^)? `[` $starts `]` `to` $destination `,` $barrier (`if` $predicate^)? attr-dict `:` type($destination) `,` type($barrier)
  }];
}

def TLG_TmaStoreOp : TLG_Op<"tma_store", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one thread begins copying a block from shared memory to a tensor";
  let description = [{ What lies outside of the tensor is dropped. `starts`, `map` and `made` are as for tlg.tma_load. }];
  let arguments = (ins TLG_SharedType:$source, Variadic<I32>:$starts, Optional<I64>:$made, I32Attr:$map);
  let assemblyFormat = "$source `to` $map (`made` $made^)? `[` $starts `]` attr-dict `:` type($source)";
}

def TLG_TmaStoreWaitOp : TLG_Op<"tma_store_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the thread that stores waits until its buffers have been read, or, with `completes`, written";
  let arguments = (ins UnitAttr:$completes);
  let assemblyFormat = "attr-dict";
}

//===-- Dots -------------------------------------------------------------------------------------===//

def TLG_FmaOp : TLG_Op<"fma", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, AlwaysSpeculatable, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + a * b, each element by the thread that has it";
  let description = [{ Operands are in shared memory once tlg-stage-operands has put them there. }];
  let arguments = (ins TLG_Block:$a, TLG_Block:$b, AnyRankedTensor:$acc,
      DefaultValuedAttr<StrAttr, "\"ieee\"">:$input_precision,
      DefaultValuedAttr<BoolAttr, "false">:$a_unsigned, DefaultValuedAttr<BoolAttr, "false">:$b_unsigned);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$a `,` $b `,` $acc attr-dict `:` type($a) `,` type($b) `->` type($result)";
}

def TLG_MmaOp : TLG_Op<"mma", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, AlwaysSpeculatable, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + a * b by mma.sync";
  let description = [{
    Operands in registers have the layouts of layout/mma_layouts.h for `operand_bytes` (of an element
    as it is multiplied) and `warps` (along M, N and the batch). With `scales` both are scaled, as those
    of tl.dot (gpu_backend/passes/scaled_dots.h). With `turned` the instruction takes the columns of
    the second operand as its rows.
  }];
  let arguments = (ins TLG_Block:$a, TLG_Block:$b, AnyRankedTensor:$acc, Variadic<AnyRankedTensor>:$scales,
      I32Attr:$operand_bytes, DenseI32ArrayAttr:$warps, DefaultValuedAttr<StrAttr, "\"ieee\"">:$input_precision,
      DefaultValuedAttr<BoolAttr, "false">:$a_unsigned, DefaultValuedAttr<BoolAttr, "false">:$b_unsigned,
      UnitAttr:$turned);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`scales` $scales^)? attr-dict `:` type($a) `,` type($b) (`scales` type($scales)^)? `->` type($result)
  }];
}

def TLG_WgmmaOp : TLG_Op<"wgmma", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "begin acc + a * b by wgmma; the result may be used by tlg.wgmma and tlg.wgmma_wait only";
  let description = [{
    `b` is in shared memory; `a` too, or in registers as wgmmaOperandA. With `max_num_imprecise_acc`
    the tensor cores, which cut off sums of fp8 products, add up no more than so many of them (at
    least those of one instruction); their sums are added to `acc` in fp32, and are complete at once.
    With 128 sums for a thread and more, this is done for 64 columns at a time.
  }];
  let arguments = (ins TLG_Block:$a, TLG_Block:$b, AnyRankedTensor:$acc,
      I32Attr:$operand_bytes, DenseI32ArrayAttr:$warps, DefaultValuedAttr<StrAttr, "\"ieee\"">:$input_precision,
      DefaultValuedAttr<BoolAttr, "false">:$a_unsigned, DefaultValuedAttr<BoolAttr, "false">:$b_unsigned,
      OptionalAttr<I32Attr>:$max_num_imprecise_acc);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$a `,` $b `,` $acc attr-dict `:` type($a) `,` type($b) `->` type($result)";
}

def TLG_WgmmaWaitOp : TLG_Op<"wgmma_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for all dots begun except for the newest `pending`; `values` are then complete";
  let arguments = (ins Variadic<AnyRankedTensor>:$values, I32Attr:$pending);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$pending ($values^ `:` type($values) `->` type($results))? attr-dict";
}

#endif
