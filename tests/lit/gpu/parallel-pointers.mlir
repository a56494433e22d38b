// The pointers that a loop moves side by side, at a constant distance, are one variable for each
// operand where the sums and an operand of wgmma need the registers.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_90a num-stages=2},tlg-emit)' -o /dev/null | FileCheck %s

// CHECK-LABEL: .entry constant_strides(
// CHECK: cp.async.commit_group
// CHECK: add.s64 {{.*}}, 32768;
// CHECK-NOT: add.s64 {{.*}}, 32768;
// CHECK: add.s64 {{.*}}, 128;
// CHECK-NOT: add.s64 {{.*}}, 128;
// CHECK: wgmma.mma_async
func.func @constant_strides(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %b: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %c: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stride = arith.constant dense<256> : tensor<64x1xi32>
  %aStep = arith.constant dense<64> : tensor<64x64xi32>
  %bStep = arith.constant dense<16384> : tensor<64x64xi32>
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  %range = tl.range 0 to 64 : tensor<64xi32>
  %rows = tl.expand_dims %range axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tl.expand_dims %range axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %rowStarts = arith.muli %rows, %stride : tensor<64x1xi32>
  %0 = tl.broadcast %rowStarts : tensor<64x1xi32> -> tensor<64x64xi32>
  %1 = tl.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %index = arith.addi %0, %1 : tensor<64x64xi32>
  %2 = tl.splat %a : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %3 = tl.addptr %2, %index : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %4 = tl.splat %b : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %5 = tl.addptr %4, %index : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %sum:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %x = %3, %y = %5) -> (tensor<64x64xf32>, tensor<64x64x!tl.ptr<f16>>, tensor<64x64x!tl.ptr<f16>>) : i32 {
    %av = tl.load %x : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
    %bv = tl.load %y : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
    %twice = arith.addf %av, %av : tensor<64x64xf16>
    %dot = tl.dot %twice, %bv, %acc {input_precision = "tf32"} : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %xNext = tl.addptr %x, %aStep : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
    %yNext = tl.addptr %y, %bStep : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
    scf.yield %dot, %xNext, %yNext : tensor<64x64xf32>, tensor<64x64x!tl.ptr<f16>>, tensor<64x64x!tl.ptr<f16>>
  }
  %6 = tl.splat %c : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %7 = tl.addptr %6, %index : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  tl.store %7, %sum#0 : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}
