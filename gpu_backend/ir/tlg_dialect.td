// The `tlg` dialect: the block IR with layouts, and what only a GPU has. Its ops: tlg_ops.td.
#ifndef BLOCKSCOPE_GPU_BACKEND_IR_TLG_DIALECT
#define BLOCKSCOPE_GPU_BACKEND_IR_TLG_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def TLG_Dialect : Dialect {
  let name = "tlg";
  let summary = "block-level ops with layouts, for one GPU program of several warps";
  let cppNamespace = "::blockscope::tlg";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
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

def TLG_SharedType : TypeDef<TLG_Dialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "a buffer in shared memory, or a ring of several";
  let description = [{
    `offsets` has for each bit of the row-major element number the bits of the byte offset that it
    flips (gpu_backend/layout/shared_layout.h).
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        OptionalArrayRefParameter<"uint32_t">:$offsets, DefaultValuedParameter<"int", "1">:$stages);
  let assemblyFormat = "`<` `[` $shape `]` `,` $elementType `,` `offsets` `=` `[` (`]`) : ($offsets^ `]`)? (`,` `stages` `=` $stages^)? `>`";
}

#endif
