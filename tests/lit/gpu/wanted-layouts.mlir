// The first operand, of which each column is scaled, is read from its ring in the layout of wgmma's
// operand, and what scales it is made in that layout too. It is made when the second operand has
// been turned, whose registers are free by then.
// RUN: blk-opt %s --tlg-pipeline='arch=sm_90a num-stages=2' | FileCheck %s

// CHECK-LABEL: func.func @scaled_columns
// CHECK: scf.for
// CHECK-NOT: tlg.convert_layout
// CHECK: %[[B:.*]] = tlg.local_load
// CHECK-NEXT: tlg.local_store %[[B]], %[[TURNED:.*]] :
// CHECK: %[[A:.*]] = tlg.local_load {{.*}} -> tensor<64x64xf32, #[[OPERAND:.*]]>
// CHECK: %[[SCALE:.*]] = tl.broadcast {{.*}} -> tensor<64x64xf32, #[[OPERAND]]>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[A]], %[[SCALE]] :
// CHECK-NOT: tlg.convert_layout
// CHECK: tlg.wgmma %[[SCALED]], %[[TURNED]],
func.func @scaled_columns(%a: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %b: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %c: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stride = arith.constant dense<64> : tensor<1x64xi32>
  %rowStride = arith.constant dense<64> : tensor<64x1xi32>
  %step = arith.constant dense<4096> : tensor<64x64xi32>
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  %range = tl.range 0 to 64 : tensor<64xi32>
  %rows = tl.expand_dims %range axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tl.expand_dims %range axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %columnStarts = arith.muli %columns, %stride : tensor<1x64xi32>
  %rowStarts = arith.muli %rows, %rowStride : tensor<64x1xi32>
  %0 = tl.broadcast %columnStarts : tensor<1x64xi32> -> tensor<64x64xi32>
  %1 = tl.broadcast %rows : tensor<64x1xi32> -> tensor<64x64xi32>
  %aIndex = arith.addi %0, %1 : tensor<64x64xi32>
  %2 = tl.broadcast %rowStarts : tensor<64x1xi32> -> tensor<64x64xi32>
  %3 = tl.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %bIndex = arith.addi %2, %3 : tensor<64x64xi32>
  %4 = tl.splat %a : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %5 = tl.addptr %4, %aIndex : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %6 = tl.splat %b : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %7 = tl.addptr %6, %bIndex : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %sum:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %x = %5, %y = %7) -> (tensor<64x64xf32>, tensor<64x64x!tl.ptr<f32>>, tensor<64x64x!tl.ptr<f32>>) : i32 {
    %av = tl.load %x : tensor<64x64x!tl.ptr<f32>> -> tensor<64x64xf32>
    %bv = tl.load %y : tensor<64x64x!tl.ptr<f32>> -> tensor<64x64xf32>
    %8 = tl.splat %i : i32 -> tensor<1x64xi32>
    %9 = arith.subi %columns, %8 : tensor<1x64xi32>
    %10 = tl.int_to_float %9 : tensor<1x64xi32> -> tensor<1x64xf32>
    %11 = math.exp %10 : tensor<1x64xf32>
    %12 = tl.broadcast %11 : tensor<1x64xf32> -> tensor<64x64xf32>
    %scaled = arith.mulf %av, %12 : tensor<64x64xf32>
    %dot = tl.dot %scaled, %bv, %acc {input_precision = "tf32"} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %xNext = tl.addptr %x, %step : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
    %yNext = tl.addptr %y, %step : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
    scf.yield %dot, %xNext, %yNext : tensor<64x64xf32>, tensor<64x64x!tl.ptr<f32>>, tensor<64x64x!tl.ptr<f32>>
  }
  %13 = tl.splat %c : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %14 = tl.addptr %13, %bIndex : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  tl.store %14, %sum#0 : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}

// What scales the rows is loaded before the loop and converted there, once. What scales the columns
// is read from its ring in the layout of those who scale with it.
// CHECK-LABEL: func.func @normed_rows
// CHECK: %[[ROWS:.*]] = tl.load {{.*}} -> tensor<64xf32,
// CHECK-NEXT: %[[KEPT:.*]] = tlg.convert_layout %[[ROWS]] :
// CHECK: scf.for
// CHECK-NOT: tlg.convert_layout
// CHECK: tlg.wgmma %
// CHECK-NOT: tlg.convert_layout
// CHECK: scf.yield
func.func @normed_rows(%a: !tl.ptr<bf16> {tl.divisibility = 16 : i32}, %b: !tl.ptr<bf16> {tl.divisibility = 16 : i32}, %c: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %rowScales: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %columnScales: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %rowStride = arith.constant dense<4096> : tensor<64x1xi32>
  %step = arith.constant dense<64> : tensor<64x64xi32>
  %bStep = arith.constant dense<262144> : tensor<64x64xi32>
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  %range = tl.range 0 to 64 : tensor<64xi32>
  %rows = tl.expand_dims %range axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tl.expand_dims %range axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %rowStarts = arith.muli %rows, %rowStride : tensor<64x1xi32>
  %0 = tl.broadcast %rowStarts : tensor<64x1xi32> -> tensor<64x64xi32>
  %1 = tl.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %index = arith.addi %0, %1 : tensor<64x64xi32>
  %2 = tl.splat %a : !tl.ptr<bf16> -> tensor<64x64x!tl.ptr<bf16>>
  %3 = tl.addptr %2, %index : tensor<64x64x!tl.ptr<bf16>>, tensor<64x64xi32>
  %4 = tl.splat %b : !tl.ptr<bf16> -> tensor<64x64x!tl.ptr<bf16>>
  %5 = tl.addptr %4, %index : tensor<64x64x!tl.ptr<bf16>>, tensor<64x64xi32>
  %6 = tl.splat %rowScales : !tl.ptr<f32> -> tensor<64x!tl.ptr<f32>>
  %7 = tl.addptr %6, %range : tensor<64x!tl.ptr<f32>>, tensor<64xi32>
  %rowScale = tl.load %7 : tensor<64x!tl.ptr<f32>> -> tensor<64xf32>
  %8 = tl.splat %columnScales : !tl.ptr<f32> -> tensor<64x!tl.ptr<f32>>
  %sum:3 = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero, %x = %3, %y = %5) -> (tensor<64x64xf32>, tensor<64x64x!tl.ptr<bf16>>, tensor<64x64x!tl.ptr<bf16>>) : i32 {
    %av = tl.load %x : tensor<64x64x!tl.ptr<bf16>> -> tensor<64x64xbf16>
    %bv = tl.load %y : tensor<64x64x!tl.ptr<bf16>> -> tensor<64x64xbf16>
    %9 = tl.splat %i : i32 -> tensor<64xi32>
    %10 = arith.addi %9, %range : tensor<64xi32>
    %11 = tl.addptr %8, %10 : tensor<64x!tl.ptr<f32>>, tensor<64xi32>
    %columnScale = tl.load %11 : tensor<64x!tl.ptr<f32>> -> tensor<64xf32>
    %wide = arith.extf %av : tensor<64x64xbf16> to tensor<64x64xf32>
    %12 = tl.expand_dims %rowScale axis 1 : tensor<64xf32> -> tensor<64x1xf32>
    %13 = tl.broadcast %12 : tensor<64x1xf32> -> tensor<64x64xf32>
    %14 = arith.mulf %wide, %13 : tensor<64x64xf32>
    %15 = tl.expand_dims %columnScale axis 0 : tensor<64xf32> -> tensor<1x64xf32>
    %16 = tl.broadcast %15 : tensor<1x64xf32> -> tensor<64x64xf32>
    %17 = arith.mulf %14, %16 : tensor<64x64xf32>
    %scaled = arith.truncf %17 : tensor<64x64xf32> to tensor<64x64xbf16>
    %dot = tl.dot %scaled, %bv, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %xNext = tl.addptr %x, %step : tensor<64x64x!tl.ptr<bf16>>, tensor<64x64xi32>
    %yNext = tl.addptr %y, %bStep : tensor<64x64x!tl.ptr<bf16>>, tensor<64x64xi32>
    scf.yield %dot, %xNext, %yNext : tensor<64x64xf32>, tensor<64x64x!tl.ptr<bf16>>, tensor<64x64x!tl.ptr<bf16>>
  }
  %18 = tl.splat %c : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %19 = tl.addptr %18, %index : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  tl.store %19, %sum#0 : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}
