// What layouts become in PTX: vectors, and shuffles of a reduction.
// RUN: blk-opt %s --split-input-file --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_80},tlg-emit)' -o /dev/null | FileCheck %s

// CHECK-LABEL: .entry copied(
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK-COUNT-2: st.global.v4.b32
func.func @copied(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %to = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %there = tl.addptr %to, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %there, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Within a warp by shuffles, between warps through shared memory behind one barrier.
// CHECK-LABEL: .entry total(
// CHECK: ld.global.v4.b32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK: st.shared
// CHECK: bar.sync
// CHECK-NOT: bar.sync
// CHECK: st.global.b32
func.func @total(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  %sum = tl.reduce %v axis 0 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tl.yield %c : f32
  } : (tensor<1024xf32>) -> f32
  tl.store %x, %sum : !tl.ptr<f32>, f32
  return
}
