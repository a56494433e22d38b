// Choices between large blocks by a scalar.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_90a},tlg-branch-for-blocks)' --split-input-file | FileCheck %s

// By the condition of an if: it gives the choice too.
// CHECK-LABEL: func.func @with_an_if(
// CHECK: %[[CHOSEN:.*]] = scf.if %{{.*}} -> (tensor<4096xf32
// CHECK: tl.store
// CHECK-NEXT: scf.yield %cst
// CHECK: else
// CHECK-NEXT: scf.yield %[[X:.*]] :
// CHECK-NOT: arith.select
// CHECK: tl.store %{{.*}}, %[[CHOSEN]]
func.func @with_an_if(%p: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %c: i1) {
  %zeros = arith.constant dense<0.0> : tensor<4096xf32>
  %range = tl.range 0 to 4096 : tensor<4096xi32>
  %base = tl.splat %p : !tl.ptr<f32> -> tensor<4096x!tl.ptr<f32>>
  %at = tl.addptr %base, %range : tensor<4096x!tl.ptr<f32>>, tensor<4096xi32>
  %x = tl.load %at : tensor<4096x!tl.ptr<f32>> -> tensor<4096xf32>
  %chosen = arith.select %c, %zeros, %x : tensor<4096xf32>
  scf.if %c {
    tl.store %at, %x : tensor<4096x!tl.ptr<f32>>, tensor<4096xf32>
  }
  tl.store %at, %chosen : tensor<4096x!tl.ptr<f32>>, tensor<4096xf32>
  return
}

// -----

// Used before the if and needed behind it, too: it stays.
// CHECK-LABEL: func.func @used_before(
// CHECK: arith.select
// CHECK: scf.if %{{.*}} {
func.func @used_before(%p: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %c: i1) {
  %zeros = arith.constant dense<0.0> : tensor<4096xf32>
  %range = tl.range 0 to 4096 : tensor<4096xi32>
  %base = tl.splat %p : !tl.ptr<f32> -> tensor<4096x!tl.ptr<f32>>
  %at = tl.addptr %base, %range : tensor<4096x!tl.ptr<f32>>, tensor<4096xi32>
  %x = tl.load %at : tensor<4096x!tl.ptr<f32>> -> tensor<4096xf32>
  %chosen = arith.select %c, %zeros, %x : tensor<4096xf32>
  tl.store %at, %chosen : tensor<4096x!tl.ptr<f32>>, tensor<4096xf32>
  scf.if %c {
    tl.store %at, %x : tensor<4096x!tl.ptr<f32>>, tensor<4096xf32>
  }
  return
}

// -----

// Without an if: one of its own, where nothing else needs the blocks.
// CHECK-LABEL: func.func @alone(
// CHECK: scf.if %{{.*}} -> (tensor<4096xf32
// CHECK-NOT: arith.select
func.func @alone(%p: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %c: i1) {
  %zeros = arith.constant dense<0.0> : tensor<4096xf32>
  %range = tl.range 0 to 4096 : tensor<4096xi32>
  %base = tl.splat %p : !tl.ptr<f32> -> tensor<4096x!tl.ptr<f32>>
  %at = tl.addptr %base, %range : tensor<4096x!tl.ptr<f32>>, tensor<4096xi32>
  %x = tl.load %at : tensor<4096x!tl.ptr<f32>> -> tensor<4096xf32>
  %chosen = arith.select %c, %zeros, %x : tensor<4096xf32>
  tl.store %at, %chosen : tensor<4096x!tl.ptr<f32>>, tensor<4096xf32>
  return
}

// -----

// A few elements of a thread are selected.
// CHECK-LABEL: func.func @small(
// CHECK: arith.select
func.func @small(%p: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %c: i1) {
  %zeros = arith.constant dense<0.0> : tensor<512xf32>
  %range = tl.range 0 to 512 : tensor<512xi32>
  %base = tl.splat %p : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %at = tl.addptr %base, %range : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
  %x = tl.load %at : tensor<512x!tl.ptr<f32>> -> tensor<512xf32>
  %chosen = arith.select %c, %zeros, %x : tensor<512xf32>
  tl.store %at, %chosen : tensor<512x!tl.ptr<f32>>, tensor<512xf32>
  return
}
