// The `tlg` dialect: the block IR with layouts, and what only a GPU has.
#ifndef BLOCKSCOPE_GPU_BACKEND_IR_TLG_DIALECT
#define BLOCKSCOPE_GPU_BACKEND_IR_TLG_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TLG_Dialect : Dialect {
  let name = "tlg";
  let summary = "block-level ops with layouts, for one GPU program of several warps";
  let cppNamespace = "::blockscope::tlg";
  let useDefaultAttributePrinterParser = 1;
}

def TLG_LayoutAttr : AttrDef<TLG_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "which element each register of each lane of each warp holds";
  let description = [{
    The encoding of a tensor type. Each list has, per bit of the register, lane or warp number, the
    bits of the row-major element number that it flips (gpu_backend/layout/linear_layout.h).
  }];
  let parameters = (ins OptionalArrayRefParameter<"uint32_t">:$registers, OptionalArrayRefParameter<"uint32_t">:$lanes,
                        OptionalArrayRefParameter<"uint32_t">:$warps);
  let assemblyFormat = "`<` `registers` `=` `[` (`]`) : ($registers^ `]`)? `,` `lanes` `=` `[` (`]`) : ($lanes^ `]`)? `,` `warps` `=` `[` (`]`) : ($warps^ `]`)? `>`";
}

class TLG_Op<string mnemonic, list<Trait> traits = []> : Op<TLG_Dialect, mnemonic, traits>;

def TLG_ConvertLayoutOp : TLG_Op<"convert_layout", [Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let summary = "the same block with its elements in other registers, lanes and warps";
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
}

#endif
