// What goes into a product by threads, and is multiplied by the product as well, is wanted in the
// layout of the product, too, where it is computed anew from blocks of before the loop. It is put
// into shared memory from there, and computed once.
// RUN: blk-opt %s --tlg-pipeline='arch=sm_90a num-stages=3 num-warps=4' | FileCheck %s

// CHECK-LABEL: func.func @form(
// CHECK: scf.for
// CHECK: arith.divf {{.*}} : tensor<32x16xf32, #[[LAYOUT:layout[0-9]*]]>
// CHECK-NOT: arith.divf
// CHECK: %[[X:.*]] = arith.subf {{.*}} : tensor<32x16xf32, #[[LAYOUT]]>
// CHECK: tlg.local_store %[[X]],
// CHECK: %[[PRODUCT:.*]] = tlg.fma
// CHECK: arith.mulf %[[PRODUCT]], %[[X]] : tensor<32x16xf32, #[[LAYOUT]]>
func.func @form(%w_ptr: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %h_ptr: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %s_ptr: !tl.ptr<f32>, %out_ptr: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c100 = arith.constant 100 : i32
  %zeros = arith.constant dense<0.000000e+00> : tensor<32x16xf32>
  %none = arith.constant dense<0.000000e+00> : tensor<32xf32>
  %c16 = arith.constant dense<16> : tensor<32x1xi32>
  %c16h = arith.constant dense<16> : tensor<16x1xi32>
  %i32 = tl.range 0 to 32 : tensor<32xi32>
  %i16 = tl.range 0 to 16 : tensor<16xi32>
  %0 = tl.expand_dims %i32 axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %1 = arith.muli %0, %c16 : tensor<32x1xi32>
  %2 = tl.expand_dims %i16 axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %3 = tl.broadcast %1 : tensor<32x1xi32> -> tensor<32x16xi32>
  %4 = tl.broadcast %2 : tensor<1x16xi32> -> tensor<32x16xi32>
  %at = arith.addi %3, %4 : tensor<32x16xi32>
  %5 = tl.splat %w_ptr : !tl.ptr<f32> -> tensor<32x16x!tl.ptr<f32>>
  %6 = tl.addptr %5, %at : tensor<32x16x!tl.ptr<f32>>, tensor<32x16xi32>
  %w = tl.load %6 : tensor<32x16x!tl.ptr<f32>> -> tensor<32x16xf32>
  %7 = tl.expand_dims %i16 axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %8 = arith.muli %7, %c16h : tensor<16x1xi32>
  %9 = tl.broadcast %8 : tensor<16x1xi32> -> tensor<16x16xi32>
  %10 = tl.broadcast %2 : tensor<1x16xi32> -> tensor<16x16xi32>
  %ath = arith.addi %9, %10 : tensor<16x16xi32>
  %11 = tl.splat %h_ptr : !tl.ptr<f32> -> tensor<16x16x!tl.ptr<f32>>
  %12 = tl.addptr %11, %ath : tensor<16x16x!tl.ptr<f32>>, tensor<16x16xi32>
  %h = tl.load %12 : tensor<16x16x!tl.ptr<f32>> -> tensor<16x16xf32>
  %sums = scf.for %k = %c0 to %c100 step %c1 iter_args(%sum = %none) -> (tensor<32xf32>) : i32 {
    %13 = tl.addptr %s_ptr, %k : !tl.ptr<f32>, i32
    %s = tl.load %13 : !tl.ptr<f32> -> f32
    %14 = tl.splat %s : f32 -> tensor<32x16xf32>
    %quotient = arith.divf %w, %14 : tensor<32x16xf32>
    %x = arith.subf %w, %quotient : tensor<32x16xf32>
    %product = tl.dot %x, %h, %zeros {input_precision = "ieee"} : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    %form = arith.mulf %product, %x : tensor<32x16xf32>
    %row = tl.reduce %form axis 1 {
    ^bb0(%a: f32, %b: f32):
      %15 = arith.addf %a, %b : f32
      tl.yield %15 : f32
    } : (tensor<32x16xf32>) -> tensor<32xf32>
    %next = arith.addf %sum, %row : tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  %16 = tl.splat %out_ptr : !tl.ptr<f32> -> tensor<32x!tl.ptr<f32>>
  %17 = tl.addptr %16, %i32 : tensor<32x!tl.ptr<f32>>, tensor<32xi32>
  tl.store %17, %sums : tensor<32x!tl.ptr<f32>>, tensor<32xf32>
  return
}
