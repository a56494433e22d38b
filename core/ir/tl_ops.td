// The ops of the `tl` dialect: what is block-level and has no upstream op. The contract for the names,
// operands and attributes that core/semantic emits and interpreter/ops evaluates.
#ifndef BLOCKSCOPE_CORE_IR_TL_OPS
#define BLOCKSCOPE_CORE_IR_TL_OPS

include "core/ir/tl_dialect.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class TL_Op<string mnemonic, list<Trait> traits = []> : Op<TL_Dialect, mnemonic, traits>;

// Each element of the result is made from the same element of each operand. What else is known of an
// op (kernels, errors, cost) is its row in core/op_facts.def.
class TL_ElementwiseOp<string mnemonic, list<Trait> traits = []> : TL_Op<mnemonic, traits # [Pure, Elementwise]>;

// Two operands and a result of one type, written `tl.op %lhs, %rhs : type`.
class TL_BinaryOp<string mnemonic> : TL_ElementwiseOp<mnemonic, [SameOperandsAndResultType]> {
  let arguments = (ins AnyType:$lhs, AnyType:$rhs);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

//===-- Programs ---------------------------------------------------------------------------------===//

def TL_ProgramIdOp : TL_Op<"program_id", [Pure]> {
  let summary = "index of this program along one grid axis";
  let arguments = (ins I32Attr:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def TL_NumProgramsOp : TL_Op<"num_programs", [Pure]> {
  let summary = "number of programs along one grid axis";
  let arguments = (ins I32Attr:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

//===-- Creation and shape -------------------------------------------------------------------------===//

def TL_RangeOp : TL_Op<"range", [Pure]> {
  let summary = "the numbers start, start + 1, ..., end - 1 as a block of i32";
  let arguments = (ins I32Attr:$start, I32Attr:$end);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$start `to` $end attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TL_SplatOp : TL_Op<"splat", [Pure]> {
  let summary = "a block with every element equal to a scalar";
  let arguments = (ins AnyType:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TL_UnsplatOp : TL_Op<"unsplat", [Pure]> {
  let summary = "the only element of a block with one element, as a scalar";
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TL_ExpandDimsOp : TL_Op<"expand_dims", [Pure]> {
  let summary = "insert a dimension of size 1 at axis";
  let arguments = (ins AnyRankedTensor:$source, I32Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source `axis` $axis attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TL_BroadcastOp : TL_Op<"broadcast", [Pure]> {
  let summary = "repeat dimensions of size 1; ranks are equal";
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TL_ReshapeOp : TL_Op<"reshape", [Pure]> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins AnyRankedTensor:$source, UnitAttr:$allow_reorder);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TL_TransOp : TL_Op<"trans", [Pure]> {
  let summary = "permute dimensions: result dimension i is source dimension order[i]";
  let arguments = (ins AnyRankedTensor:$source, DenseI32ArrayAttr:$order);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source $order attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TL_JoinOp : TL_Op<"join", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "two blocks of one shape side by side in a new last dimension of size 2";
  let arguments = (ins AnyType:$lhs, AnyType:$rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}

def TL_SplitOp : TL_Op<"split", [Pure, AllTypesMatch<["first", "second"]>]> {
  let summary = "the two halves of a last dimension of size 2";
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyType:$first, AnyType:$second);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($first)";
  let hasVerifier = 1;
}

def TL_CatOp : TL_Op<"cat", [Pure]> {
  let summary = "two blocks one after the other along dim";
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, I32Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs `dim` $dim attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def TL_GatherOp : TL_Op<"gather", [Pure]> {
  let summary = "result[.., i, ..] = source[.., indices[.., i, ..], ..] along axis";
  let description = [{ An index outside the axis is an error that checks report; unchecked it gives 0. }];
  let arguments = (ins AnyRankedTensor:$source, AnyRankedTensor:$indices, I32Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source `[` $indices `]` `axis` $axis attr-dict `:` type($source) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Casts --------------------------------------------------------------------------------------===//

def TL_FpCastOp : TL_ElementwiseOp<"fp_cast", [SameOperandsAndResultShape]> {
  let summary = "convert between float types; rounding is 'rtne' or 'rtz' where it narrows";
  let arguments = (ins AnyType:$source, DefaultValuedAttr<StrAttr, "\"rtne\"">:$rounding);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TL_ToPayloadOp : TL_ElementwiseOp<"to_payload", [SameOperandsAndResultShape]> {
  let summary = "the integer that stands for a float in the algebra check (core/numeric/payload.h)";
  let arguments = (ins AnyType:$source);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TL_FromPayloadOp : TL_ElementwiseOp<"from_payload", [SameOperandsAndResultShape]> {
  let summary = "the float that an integer stands for in the algebra check";
  let arguments = (ins AnyType:$source);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TL_FloatToIntOp : TL_ElementwiseOp<"float_to_int", [SameOperandsAndResultShape]> {
  let summary = "convert toward zero as the hardware does; is_unsigned: the result is unsigned";
  let description = [{ Out of range saturates at 32 or 64 bits, NaN gives 0; narrower results keep the low bits. }];
  let arguments = (ins AnyType:$source, DefaultValuedAttr<BoolAttr, "false">:$is_unsigned);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TL_IntToFloatOp : TL_ElementwiseOp<"int_to_float", [SameOperandsAndResultShape]> {
  let summary = "convert an integer to any float type, rounding to nearest even; is_unsigned: the source is unsigned";
  let arguments = (ins AnyType:$source, DefaultValuedAttr<BoolAttr, "false">:$is_unsigned);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TL_BitcastOp : TL_ElementwiseOp<"bitcast", [SameOperandsAndResultShape]> {
  let summary = "the same bits as another type of the same width; also between pointer types";
  let arguments = (ins AnyType:$source);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TL_IntToPtrOp : TL_ElementwiseOp<"int_to_ptr", [SameOperandsAndResultShape]> {
  let summary = "a 64-bit integer as a pointer";
  let arguments = (ins AnyType:$source);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TL_PtrToIntOp : TL_ElementwiseOp<"ptr_to_int", [SameOperandsAndResultShape]> {
  let summary = "a pointer as a 64-bit integer";
  let arguments = (ins AnyType:$source);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Pointers and memory ------------------------------------------------------------------------===//

def TL_AddPtrOp : TL_ElementwiseOp<"addptr", [AllTypesMatch<["pointer", "result"]>, SameOperandsAndResultShape]> {
  let summary = "pointer plus offset in elements; the offset is i32 (sign-extended, or zero-extended when is_unsigned) or i64";
  let arguments = (ins AnyType:$pointer, AnyType:$offset, DefaultValuedAttr<BoolAttr, "false">:$is_unsigned);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$pointer `,` $offset attr-dict `:` type($pointer) `,` type($offset)";
  let hasVerifier = 1;
}

// An access is also an effect that checks and traces see, so no pass may drop or merge it.
def TL_Observation : Resource<"::blockscope::tl::Observation">;

def TL_LoadOp : TL_Op<"load", [AttrSizedOperandSegments,
    MemoryEffects<[MemRead, MemWrite<TL_Observation>]>]> {
  let summary = "read where the mask is true; other elsewhere (zero when there is no other)";
  let arguments = (ins AnyType:$pointer, Optional<AnyType>:$mask, Optional<AnyType>:$other,
      DefaultValuedAttr<StrAttr, "\"\"">:$cache_modifier, DefaultValuedAttr<StrAttr, "\"\"">:$eviction_policy,
      DefaultValuedAttr<BoolAttr, "false">:$is_volatile);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$pointer (`mask` $mask^ `:` type($mask))? (`other` $other^ `:` type($other))? attr-dict `:` type($pointer) `->` type($result)";
  let hasVerifier = 1;
}
// In an OpRequest and OpSignature the attributes has_mask and has_other (bool) say which of the
// optional operands follow the pointer (operands: pointer [, mask] [, other]).

def TL_StoreOp : TL_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "write where the mask is true";
  let arguments = (ins AnyType:$pointer, AnyType:$value, Optional<AnyType>:$mask,
      DefaultValuedAttr<StrAttr, "\"\"">:$cache_modifier, DefaultValuedAttr<StrAttr, "\"\"">:$eviction_policy);
  let assemblyFormat = "$pointer `,` $value (`mask` $mask^ `:` type($mask))? attr-dict `:` type($pointer) `,` type($value)";
  let hasVerifier = 1;
}
// OpSignature: operands pointer, value [, mask].

// Atomics order other accesses: no pass moves one past them.
def TL_AtomicLoadOp : TL_Op<"atomic_load", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "atomic read where the mask is true (0 elsewhere); sem: acquire, relaxed";
  let arguments = (ins AnyType:$pointer, Optional<AnyType>:$mask,
      DefaultValuedAttr<StrAttr, "\"acquire\"">:$sem, DefaultValuedAttr<StrAttr, "\"gpu\"">:$scope);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$pointer (`mask` $mask^ `:` type($mask))? attr-dict `:` type($pointer) `->` type($result)";
  let hasVerifier = 1;
}

def TL_AtomicStoreOp : TL_Op<"atomic_store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "atomic write where the mask is true; sem: release, relaxed";
  let arguments = (ins AnyType:$pointer, AnyType:$value, Optional<AnyType>:$mask,
      DefaultValuedAttr<StrAttr, "\"release\"">:$sem, DefaultValuedAttr<StrAttr, "\"gpu\"">:$scope);
  let assemblyFormat = "$pointer `,` $value (`mask` $mask^ `:` type($mask))? attr-dict `:` type($pointer) `,` type($value)";
  let hasVerifier = 1;
}

def TL_AtomicRmwOp : TL_Op<"atomic_rmw", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "read-modify-write; kind: add fadd max umax min umin fmax fmin and or xor xchg; gives the old value (0 where masked off)";
  let arguments = (ins AnyType:$pointer, AnyType:$value, Optional<AnyType>:$mask, StrAttr:$kind,
      DefaultValuedAttr<StrAttr, "\"acq_rel\"">:$sem, DefaultValuedAttr<StrAttr, "\"gpu\"">:$scope);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$kind $pointer `,` $value (`mask` $mask^ `:` type($mask))? attr-dict `:` type($pointer) `,` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def TL_AtomicCasOp : TL_Op<"atomic_cas", [AllTypesMatch<["compare", "value", "result"]>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "compare and swap; gives the old value";
  let arguments = (ins AnyType:$pointer, AnyType:$compare, AnyType:$value,
      DefaultValuedAttr<StrAttr, "\"acq_rel\"">:$sem, DefaultValuedAttr<StrAttr, "\"gpu\"">:$scope);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$pointer `,` $compare `,` $value attr-dict `:` type($pointer) `,` type($value)";
  let hasVerifier = 1;
}

def TL_GlobalTimerOp : TL_Op<"global_timer", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "nanoseconds of a clock that all programs share";
  let results = (outs AnyType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def TL_BarrierOp : TL_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "tl.debug_barrier: all warps of the program have seen all earlier accesses";
  let assemblyFormat = "attr-dict";
}

def TL_GdcWaitOp : TL_Op<"gdc_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for the launch ahead, where launch_pdl let this one begin before its end";
  let assemblyFormat = "attr-dict";
}

def TL_GdcLaunchDependentsOp : TL_Op<"gdc_launch_dependents", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "let a launch behind with launch_pdl begin once all programs have come here";
  let assemblyFormat = "attr-dict";
}

//===-- Math that upstream does not have -----------------------------------------------------------===//

def TL_MulhiUIOp : TL_BinaryOp<"mulhiui"> {
  let summary = "high half of the unsigned product";
}

def TL_MulhiSIOp : TL_BinaryOp<"mulhisi"> {
  let summary = "high half of the signed product";
}

def TL_ClampOp : TL_ElementwiseOp<"clamp", [SameOperandsAndResultType]> {
  let summary = "limit x to [lo, hi]; propagate_nan: a NaN in any operand gives NaN, else lo or x as max(x, lo) gives";
  let arguments = (ins AnyType:$x, AnyType:$lo, AnyType:$hi, DefaultValuedAttr<BoolAttr, "false">:$propagate_nan);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$x `,` $lo `,` $hi attr-dict `:` type($result)";
}

class TL_InlineAsm<string mnemonic, list<Trait> traits> : TL_Op<mnemonic, traits> {
  let description = [{
    One run of the assembly takes `pack` elements of each operand that follow each other (in a row
    on the CPU, along any dimension on a GPU) and gives `pack` elements of each result; elements of
    less than 32 bits share registers. Operands and results have one shape.
  }];
  let arguments = (ins Variadic<AnyType>:$operands, StrAttr:$asm_string, StrAttr:$constraints,
      DefaultValuedAttr<I32Attr, "1">:$pack);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$asm_string $constraints `(` $operands `)` attr-dict `:` functional-type($operands, $results)";
  let hasVerifier = 1;
}

def TL_InlineAsmOp : TL_InlineAsm<"inline_asm", [Pure]> {
  let summary = "PTX of the user's on elements, which does nothing but compute";
}

def TL_InlineAsmVolatileOp : TL_InlineAsm<"inline_asm_volatile", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "PTX of the user's on elements, which stays where it is, in its order";
}

class TL_ExternElementwise<string mnemonic, list<Trait> traits> : TL_Op<mnemonic, traits> {
  let description = [{
    A function of `libraries`, paths of LLVM bitcode whose contents `digest` stands for; without
    libraries one of libdevice.
  }];
  let arguments = (ins Variadic<AnyType>:$operands, StrAttr:$symbol,
      OptionalAttr<StrArrayAttr>:$libraries, OptionalAttr<StrAttr>:$digest);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$symbol `(` $operands `)` attr-dict `:` functional-type($operands, $result)";
}

def TL_ExternElementwiseOp : TL_ExternElementwise<"extern_elementwise", [Pure, Elementwise]> {
  let summary = "elementwise call of a library's function by symbol";
}

def TL_ExternElementwiseVolatileOp : TL_ExternElementwise<"extern_elementwise_volatile",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "elementwise call of a library's function, which stays where it is";
}

//===-- Dot ----------------------------------------------------------------------------------------===//

def TL_DotOp : TL_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + a * b over the last two dimensions; rank 2 or 3 (batched)";
  let description = [{
    `input_precision` is how fp32 operands are multiplied. Behind it stands "+payloads" where floats
    stand for integers, which are multiplied and added instead (core/dot_precision.h).

    `scales` are there only where a GPU multiplies scaled operands (gpu_backend/passes/scaled_dots.h):
    one of the rows of a, then one of the columns of b, each [..., rows or columns, groups along K].
    Operands of i8 are then e2m1.
  }];
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b, AnyRankedTensor:$acc, Variadic<AnyRankedTensor>:$scales,
      DefaultValuedAttr<StrAttr, "\"ieee\"">:$input_precision, OptionalAttr<I32Attr>:$max_num_imprecise_acc,
      DefaultValuedAttr<BoolAttr, "false">:$a_unsigned, DefaultValuedAttr<BoolAttr, "false">:$b_unsigned);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`scales` $scales^)? attr-dict `:` type($a) `,` type($b) (`scales` type($scales)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def TL_ScaledOp : TL_Op<"scaled", [Pure, AllTypesMatch<["wide", "result"]>]> {
  let summary = "`wide`, an operand of a dot, which is `value` times its scales along K";
  let description = [{
    Who multiplies scaled operands as they are takes `value` and `scale` in the place of `wide`; for all
    others the op is `wide`. `format` is that of tl.dot_scaled; of e2m1 two are in a byte, along K with
    `packs_k`. Without `scale` all scales are 1.
  }];
  let arguments = (ins AnyRankedTensor:$wide, AnyRankedTensor:$value, Optional<AnyRankedTensor>:$scale,
      StrAttr:$format, DefaultValuedAttr<BoolAttr, "true">:$packs_k);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $wide `of` $format $value (`times` $scale^)? attr-dict `:` type($value) (`times` type($scale)^)? `->` type($result)
  }];
}

//===-- Reductions, scans, sort --------------------------------------------------------------------===//

def TL_ReduceOp : TL_Op<"reduce", [IsolatedFromAbove, RecursiveMemoryEffects,
    RecursivelySpeculatable, SameOperandsShape, SingleBlock]> {
  let summary = "reduce along axis with a combine region over scalars (lhs..., rhs...) -> values";
  let arguments = (ins Variadic<AnyRankedTensor>:$operands, I32Attr:$axis);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "$operands `axis` $axis $combine attr-dict `:` functional-type($operands, $results)";
  let hasVerifier = 1;
}

def TL_YieldOp : TL_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["MapOp", "ReduceOp", "ScanOp"]>]> {
  let summary = "what the region of a map, reduce or scan gives";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def TL_MapOp : TL_Op<"map", [IsolatedFromAbove, RecursiveMemoryEffects,
    RecursivelySpeculatable, SameOperandsAndResultShape, SingleBlock]> {
  let summary = "a region over scalars for each `pack` elements that follow each other, row-major";
  let description = [{
    The region takes `pack` elements of the first operand, then of the second one, and so on; it
    gives `pack` elements of the first result, then of the second one.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands, DefaultValuedAttr<I32Attr, "1">:$pack);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$function);
  let assemblyFormat = "$operands $function attr-dict `:` functional-type($operands, $results)";
  let hasVerifier = 1;
}

def TL_ScanOp : TL_Op<"scan", [IsolatedFromAbove, RecursiveMemoryEffects,
    RecursivelySpeculatable, SameOperandsAndResultShape, SingleBlock]> {
  let summary = "inclusive scan along axis with a combine region over scalars";
  let arguments = (ins Variadic<AnyRankedTensor>:$operands, I32Attr:$axis, DefaultValuedAttr<BoolAttr, "false">:$reverse);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "$operands `axis` $axis $combine attr-dict `:` functional-type($operands, $results)";
  let hasVerifier = 1;
}

def TL_SortOp : TL_Op<"sort", [Pure, SameOperandsAndResultType]> {
  let summary = "sort along the last dimension; NaN sorts last when ascending; is_unsigned for integers";
  let arguments = (ins AnyRankedTensor:$source, DefaultValuedAttr<BoolAttr, "false">:$descending,
      DefaultValuedAttr<BoolAttr, "false">:$is_unsigned);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($result)";
}

def TL_HistogramOp : TL_Op<"histogram", [Pure]> {
  let summary = "counts of the values 0 .. bins - 1 of a 1-D integer block; others are not counted";
  let arguments = (ins AnyRankedTensor:$source, Optional<AnyRankedTensor>:$mask);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source (`mask` $mask^ `:` type($mask))? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Hints and debugging ------------------------------------------------------------------------===//

def TL_AssumeOp : TL_Op<"assume", [MemoryEffects<[MemWrite]>]> {
  let summary = "the condition is true for every program";
  let arguments = (ins AnyType:$condition);
  let assemblyFormat = "$condition attr-dict `:` type($condition)";
  let hasVerifier = 1;
}

def TL_HintOp : TL_ElementwiseOp<"hint", [SameOperandsAndResultType]> {
  let summary = "x with a claim; kind: multiple_of max_contiguous max_constancy, one value a dimension";
  let arguments = (ins AnyType:$source, StrAttr:$kind, DenseI64ArrayAttr:$values);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$kind $values $source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def TL_AssertOp : TL_Op<"assert", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "every element is true where the mask is true, else the message; what was compared is shown";
  let arguments = (ins AnyType:$condition, Optional<AnyType>:$mask, Variadic<AnyType>:$shown, StrAttr:$message);
  let assemblyFormat = "$condition (`mask` $mask^ `:` type($mask))? `,` $message (`show` $shown^ `:` type($shown))? attr-dict `:` type($condition)";
  let hasVerifier = 1;
}

def TL_PrintOp : TL_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "tl.device_print";
  let arguments = (ins StrAttr:$prefix, BoolAttr:$hex, DenseBoolArrayAttr:$is_signed, Variadic<AnyType>:$values);
  let assemblyFormat = "$prefix $hex $is_signed (`,` $values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}
// The prefix is as it is shown: " x: " where there are values (core/semantic/debug.cpp).

#endif
