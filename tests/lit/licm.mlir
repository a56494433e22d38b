// The whole pipeline: calls are inlined with their call site, what does not change leaves the loop.
// RUN: blk-opt %s --blk-cpu --mlir-print-debuginfo | FileCheck %s

// CHECK-NOT: func.func private @square
func.func private @square(%x: tensor<16xi32>) -> tensor<16xi32> {
  %r = arith.muli %x, %x : tensor<16xi32> loc("lib.py":3:5)
  return %r : tensor<16xi32>
}

// CHECK-LABEL: func.func @kernel
// CHECK: tl.range
// CHECK: arith.muli {{.*}} loc(#[[CALL:.*]])
// CHECK: tl.splat
// CHECK: scf.for
// CHECK-NOT: tl.range
// CHECK: tl.splat %{{.*}} : i32
// CHECK-NOT: tl.splat
// CHECK: tl.addptr
// CHECK: tl.load
// CHECK: tl.store
func.func @kernel(%p: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %range = tl.range 0 to 16 : tensor<16xi32>
    %squared = func.call @square(%range) : (tensor<16xi32>) -> tensor<16xi32> loc("k.py":9:9)
    %pointers = tl.splat %p : !tl.ptr<i32> -> tensor<16x!tl.ptr<i32>>
    %step = tl.splat %i : i32 -> tensor<16xi32>
    %offsets = arith.addi %squared, %step : tensor<16xi32>
    %at = tl.addptr %pointers, %offsets : tensor<16x!tl.ptr<i32>>, tensor<16xi32>
    %x = tl.load %at : tensor<16x!tl.ptr<i32>> -> tensor<16xi32>
    tl.store %at, %x : tensor<16x!tl.ptr<i32>>, tensor<16xi32>
  }
  return
}
// CHECK-DAG: #[[CALLEE:.*]] = loc("lib.py":3:5)
// CHECK-DAG: #[[CALLER:.*]] = loc("k.py":9:9)
// CHECK: #[[CALL]] = loc(callsite(#[[CALLEE]] at #[[CALLER]]))
