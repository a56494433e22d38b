// The `tl` dialect and its types.
#ifndef BLOCKSCOPE_CORE_IR_TL_DIALECT
#define BLOCKSCOPE_CORE_IR_TL_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/OpBase.td"

def TL_Dialect : Dialect {
  let name = "tl";
  let summary = "block-level ops of the kernel language, without layouts or threads";
  let cppNamespace = "::blockscope::tl";
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::func::FuncDialect"];
}

class TL_Type<string name, string typeMnemonic, list<Trait> traits = []> : TypeDef<TL_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def TL_PtrType : TL_Type<"Ptr", "ptr", [DeclareTypeInterfaceMethods<VectorElementTypeInterface>]> {
  let summary = "pointer to elements of one type in an address space";
  let parameters = (ins "::mlir::Type":$pointee, DefaultValuedParameter<"int", "1">:$addressSpace);
  let assemblyFormat = "`<` $pointee (`,` $addressSpace^)? `>`";
}

// float8e4b15 has no builtin type.
def TL_F8E4M3B15Type : TL_Type<"F8E4M3B15", "f8E4M3B15", [DeclareTypeInterfaceMethods<VectorElementTypeInterface>]> {
  let summary = "8-bit float: 4 exponent bits with bias 15, 3 mantissa bits";
}

#endif
