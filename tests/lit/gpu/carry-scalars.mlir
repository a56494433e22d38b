// Blocks that a loop carries to add a number to them.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-carry-scalars)' --split-input-file | FileCheck %s

// The scalar is carried, and added to the block from before the loop. Behind the loop, too.
// CHECK-LABEL: func.func @steps(
// CHECK-SAME: %[[N:.*]]: i32, %[[STRIDE:.*]]: i64
// CHECK: %[[FIRST:.*]] = arith.extsi
// CHECK: %[[LAST:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[STEP:.*]] = %{{.*}}) -> (tensor<64xi64>, i64)
// CHECK-NEXT: %[[ALL:.*]] = tl.splat %[[STEP]] : i64 -> tensor<64xi64>
// CHECK-NEXT: %[[NOW:.*]] = arith.addi %[[FIRST]], %[[ALL]]
// CHECK: arith.addi %{{.*}}, %[[NOW]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[STEP]], %[[STRIDE]] : i64
// CHECK-NEXT: scf.yield %{{.*}}, %[[NEXT]] : tensor<64xi64>, i64
// CHECK: %[[ALL:.*]] = tl.splat %[[LAST]]#1
// CHECK-NEXT: %[[END:.*]] = arith.addi %[[FIRST]], %[[ALL]]
// CHECK: return %[[LAST]]#0, %[[END]]
func.func @steps(%n: i32, %stride: i64) -> (tensor<64xi64>, tensor<64xi64>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0> : tensor<64xi64>
  %range = tl.range 0 to 64 : tensor<64xi32>
  %first = arith.extsi %range : tensor<64xi32> to tensor<64xi64>
  %step = tl.splat %stride : i64 -> tensor<64xi64>
  %sum, %last = scf.for %i = %zero to %n step %one iter_args(%before = %none, %offsets = %first) -> (tensor<64xi64>, tensor<64xi64>) : i32 {
    %after = arith.addi %before, %offsets : tensor<64xi64>
    %next = arith.addi %offsets, %step : tensor<64xi64>
    scf.yield %after, %next : tensor<64xi64>, tensor<64xi64>
  }
  return %sum, %last : tensor<64xi64>, tensor<64xi64>
}

// -----

// A constant, subtracted, of blocks of any rank; what is used after the step is that block less the
// constant.
// CHECK-LABEL: func.func @counts_down(
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : i32
// CHECK: scf.for {{.*}} iter_args(%[[STEP:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (i32, tensor<4x16xi32>)
// CHECK: %[[NOW:.*]] = arith.addi
// CHECK: %[[LATER:.*]] = arith.subi %[[NOW]], %{{.*}} : tensor<4x16xi32>
// CHECK: arith.subi %[[STEP]], %[[EIGHT]] : i32
func.func @counts_down(%first: tensor<4x16xi32>, %n: i32) -> tensor<4x16xi32> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %eight = arith.constant dense<8> : tensor<4x16xi32>
  %last, %sum = scf.for %i = %zero to %n step %one iter_args(%offsets = %first, %before = %eight) -> (tensor<4x16xi32>, tensor<4x16xi32>) : i32 {
    %next = arith.subi %offsets, %eight : tensor<4x16xi32>
    %after = arith.addi %before, %next : tensor<4x16xi32>
    scf.yield %next, %after : tensor<4x16xi32>, tensor<4x16xi32>
  }
  return %sum : tensor<4x16xi32>
}

// -----

// Elements that grow by different numbers, the difference from a number, and floats stay.
// CHECK-LABEL: func.func @stays(
// CHECK: -> (tensor<64xi32>, tensor<64xi32>, tensor<64xf32>)
func.func @stays(%x: tensor<64xi32>, %y: tensor<64xf32>, %s: i32, %n: i32) -> tensor<64xi32> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %step = tl.splat %s : i32 -> tensor<64xi32>
  %range = tl.range 0 to 64 : tensor<64xi32>
  %a, %b, %c = scf.for %i = %zero to %n step %one iter_args(%p = %x, %q = %x, %r = %y) -> (tensor<64xi32>, tensor<64xi32>, tensor<64xf32>) : i32 {
    %p2 = arith.addi %p, %range : tensor<64xi32>
    %q2 = arith.subi %step, %q : tensor<64xi32>
    %r2 = arith.addf %r, %y : tensor<64xf32>
    scf.yield %p2, %q2, %r2 : tensor<64xi32>, tensor<64xi32>, tensor<64xf32>
  }
  return %a : tensor<64xi32>
}
