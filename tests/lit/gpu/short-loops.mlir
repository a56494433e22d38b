// Short loops that load a few numbers become one piece of code.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-unroll-loops)' --split-input-file | FileCheck %s

// Four coordinates of a row for each thread.
// CHECK-LABEL: func.func @offsets(
// CHECK-NOT: scf.for
// CHECK-COUNT-4: tl.load {{.*}} -> tensor<128xi16>
// CHECK: return
module attributes {tlg.num_warps = 4 : i32} {
  func.func @offsets(%x: !tl.ptr<i16>, %strides: !tl.ptr<i64>) -> tensor<128xi64> {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %none = arith.constant dense<0> : tensor<128xi64>
    %rows = tl.range 0 to 128 : tensor<128xi32>
    %pointers = tl.splat %x : !tl.ptr<i16> -> tensor<128x!tl.ptr<i16>>
    %sum = scf.for %d = %zero to %four step %one iter_args(%before = %none) -> (tensor<128xi64>) : i32 {
      %p = tl.addptr %strides, %d : !tl.ptr<i64>, i32
      %stride = tl.load %p : !tl.ptr<i64> -> i64
      %all = tl.splat %d : i32 -> tensor<128xi32>
      %at = arith.addi %rows, %all : tensor<128xi32>
      %q = tl.addptr %pointers, %at : tensor<128x!tl.ptr<i16>>, tensor<128xi32>
      %c = tl.load %q : tensor<128x!tl.ptr<i16>> -> tensor<128xi16>
      %wide = arith.extsi %c : tensor<128xi16> to tensor<128xi64>
      %times = tl.splat %stride : i64 -> tensor<128xi64>
      %product = arith.muli %wide, %times : tensor<128xi64>
      %after = arith.addi %before, %product : tensor<128xi64>
      scf.yield %after : tensor<128xi64>
    }
    return %sum : tensor<128xi64>
  }
}

// -----

// Eight numbers of a thread in each of four iterations are too many; so are unknown iterations, and
// a loop that shall stay is left alone.
// CHECK-LABEL: func.func @stay(
// CHECK-COUNT-3: scf.for
module attributes {tlg.num_warps = 4 : i32} {
  func.func @stay(%x: !tl.ptr<f32>, %n: i32) -> (tensor<1024xf32>, tensor<128xf32>, tensor<128xf32>) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %none = arith.constant dense<0.0> : tensor<1024xf32>
    %few = arith.constant dense<0.0> : tensor<128xf32>
    %many = scf.for %i = %zero to %four step %one iter_args(%before = %none) -> (tensor<1024xf32>) : i32 {
      %p = tl.addptr %x, %i : !tl.ptr<f32>, i32
      %q = tl.splat %p : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
      %y = tl.load %q : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      %after = arith.addf %before, %y : tensor<1024xf32>
      scf.yield %after : tensor<1024xf32>
    }
    %unknown = scf.for %i = %zero to %n step %one iter_args(%before = %few) -> (tensor<128xf32>) : i32 {
      %p = tl.addptr %x, %i : !tl.ptr<f32>, i32
      %q = tl.splat %p : !tl.ptr<f32> -> tensor<128x!tl.ptr<f32>>
      %y = tl.load %q : tensor<128x!tl.ptr<f32>> -> tensor<128xf32>
      %after = arith.addf %before, %y : tensor<128xf32>
      scf.yield %after : tensor<128xf32>
    }
    %asked = scf.for %i = %zero to %four step %one iter_args(%before = %few) -> (tensor<128xf32>) : i32 {
      %p = tl.addptr %x, %i : !tl.ptr<f32>, i32
      %q = tl.splat %p : !tl.ptr<f32> -> tensor<128x!tl.ptr<f32>>
      %y = tl.load %q : tensor<128x!tl.ptr<f32>> -> tensor<128xf32>
      %after = arith.addf %before, %y : tensor<128xf32>
      scf.yield %after : tensor<128xf32>
    } {tl.loop_unroll_factor = 1 : i32}
    return %many, %unknown, %asked : tensor<1024xf32>, tensor<128xf32>, tensor<128xf32>
  }
}
