// RUN: blk-opt %s --split-input-file --pass-pipeline='builtin.module(tlg-split-cluster{num-ctas=2})' | FileCheck %s

// Each CTA has half of the elements; the sum needs all of them, and the first CTA stores it.
// CHECK-LABEL: func.func @sum
// CHECK-SAME: tlg.cluster = 2
// CHECK: %[[RANK:.*]] = tlg.cluster_rank
// CHECK: %[[HALF:.*]] = tl.range 0 to 32
// CHECK: %[[BEFORE:.*]] = arith.muli %[[RANK]]
// CHECK: %[[X:.*]] = tl.load {{.*}} -> tensor<32xf32>
// CHECK: %[[PART:.*]] = tl.reduce %[[X]] axis 0
// CHECK: %[[ONE:.*]] = tl.splat %[[PART]] : f32 -> tensor<1xf32>
// CHECK: %[[ALL:.*]] = tlg.cluster_exchange %[[ONE]] from 0 to -1 : tensor<1xf32> -> tensor<2xf32>
// CHECK: %[[SUM:.*]] = tl.reduce %[[ALL]] axis 0
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[RANK]]
// CHECK: tl.store {{.*}}, %[[SUM]] mask %[[FIRST]]
func.func @sum(%x: !tl.ptr<f32>, %y: !tl.ptr<f32>) {
  %range = tl.range 0 to 64 : tensor<64xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<64x!tl.ptr<f32>>
  %pointers = tl.addptr %base, %range : tensor<64x!tl.ptr<f32>>, tensor<64xi32>
  %v = tl.load %pointers : tensor<64x!tl.ptr<f32>> -> tensor<64xf32>
  %sum = tl.reduce %v axis 0 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tl.yield %s : f32
  } : (tensor<64xf32>) -> f32
  tl.store %y, %sum : !tl.ptr<f32>, f32
  return
}

// -----

// Columns are shared where rows are summed up, so that nothing is exchanged.
// CHECK-LABEL: func.func @columns
// CHECK: tl.load {{.*}} -> tensor<64x8xf32>
// CHECK-NOT: tlg.cluster_exchange
func.func @columns(%x: !tl.ptr<f32>, %y: !tl.ptr<f32>) {
  %column = tl.range 0 to 16 : tensor<16xi32>
  %row = tl.expand_dims %column axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %at = tl.broadcast %row : tensor<1x16xi32> -> tensor<64x16xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<64x16x!tl.ptr<f32>>
  %pointers = tl.addptr %base, %at : tensor<64x16x!tl.ptr<f32>>, tensor<64x16xi32>
  %v = tl.load %pointers : tensor<64x16x!tl.ptr<f32>> -> tensor<64x16xf32>
  %sum = tl.reduce %v axis 0 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tl.yield %s : f32
  } : (tensor<64x16xf32>) -> tensor<16xf32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<16x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %column : tensor<16x!tl.ptr<f32>>, tensor<16xi32>
  tl.store %y_at, %sum : tensor<16x!tl.ptr<f32>>, tensor<16xf32>
  return
}

// -----

// Rows of a dot are shared, its second operand both CTAs load as a whole.
// CHECK-LABEL: func.func @dot
// CHECK: tl.load {{.*}} -> tensor<64x32xf16>
// CHECK: tl.load {{.*}} {tlg.shared_by_ctas} {{.*}} -> tensor<32x64xf16>
// CHECK: tl.dot {{.*}} -> tensor<64x64xf32>
// CHECK-NOT: tlg.cluster_exchange
func.func @dot(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>, %z: !tl.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %x_at = tl.splat %x : !tl.ptr<f16> -> tensor<128x32x!tl.ptr<f16>>
  %y_at = tl.splat %y : !tl.ptr<f16> -> tensor<32x64x!tl.ptr<f16>>
  %z_at = tl.splat %z : !tl.ptr<f32> -> tensor<128x64x!tl.ptr<f32>>
  %left = tl.load %x_at : tensor<128x32x!tl.ptr<f16>> -> tensor<128x32xf16>
  %right = tl.load %y_at : tensor<32x64x!tl.ptr<f16>> -> tensor<32x64xf16>
  %c = tl.dot %left, %right, %zero : tensor<128x32xf16>, tensor<32x64xf16> -> tensor<128x64xf32>
  tl.store %z_at, %c : tensor<128x64x!tl.ptr<f32>>, tensor<128x64xf32>
  return
}

// -----

// The first CTA takes the ticket and tells the others; all meet before it, as it releases.
// CHECK-LABEL: func.func @ticket
// CHECK: tlg.cluster_barrier
// CHECK: %[[TAKEN:.*]] = scf.if
// CHECK: tl.atomic_rmw
// CHECK: %[[BLOCK:.*]] = tl.splat %[[TAKEN]] : i32 -> tensor<1xi32>
// CHECK: %[[TOLD:.*]] = tlg.cluster_exchange %[[BLOCK]] from -1 to -1 {from_first}
// CHECK: tl.unsplat %[[TOLD]]
func.func @ticket(%p: !tl.ptr<i32>, %out: !tl.ptr<i32>) {
  %one = arith.constant 1 : i32
  %ticket = tl.atomic_rmw "add" %p, %one : !tl.ptr<i32>, i32 -> i32
  %range = tl.range 0 to 64 : tensor<64xi32>
  %all = tl.splat %ticket : i32 -> tensor<64xi32>
  %base = tl.splat %out : !tl.ptr<i32> -> tensor<64x!tl.ptr<i32>>
  %at = tl.addptr %base, %range : tensor<64x!tl.ptr<i32>>, tensor<64xi32>
  tl.store %at, %all : tensor<64x!tl.ptr<i32>>, tensor<64xi32>
  return
}

// -----

// One CTA may load what another one has stored.
// CHECK-LABEL: func.func @turned
// CHECK-SAME: tlg.no_cluster = "it may load what another CTA of its program stores"
// CHECK-NOT: tlg.cluster_rank
func.func @turned(%p: !tl.ptr<f32>) {
  %range = tl.range 0 to 64 : tensor<64xi32>
  %last = arith.constant dense<63> : tensor<64xi32>
  %turned = arith.subi %last, %range : tensor<64xi32>
  %base = tl.splat %p : !tl.ptr<f32> -> tensor<64x!tl.ptr<f32>>
  %from = tl.addptr %base, %turned : tensor<64x!tl.ptr<f32>>, tensor<64xi32>
  %to = tl.addptr %base, %range : tensor<64x!tl.ptr<f32>>, tensor<64xi32>
  %v = tl.load %from : tensor<64x!tl.ptr<f32>> -> tensor<64xf32>
  tl.store %to, %v : tensor<64x!tl.ptr<f32>>, tensor<64xf32>
  return
}
