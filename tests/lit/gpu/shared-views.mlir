// A block that dots take as it is and transposed is in shared memory once.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_90a},cse,tlg-stage-operands,tlg-place-shared)' | FileCheck %s

// CHECK-LABEL: func.func @both_ways
// CHECK: scf.for
// CHECK: %[[Q:.*]] = tl.load
// CHECK: %[[BUFFER:.*]] = tlg.alloc_shared
// CHECK: tlg.local_store %{{.*}}, %[[BUFFER]]
// CHECK: %[[VIEW:.*]] = tlg.trans_shared %[[BUFFER]] [1, 0]
// CHECK-NOT: tlg.local_store
// CHECK-DAG: tlg.wgmma %{{.*}}, %[[BUFFER]],
// CHECK-DAG: tlg.wgmma %{{.*}}, %[[VIEW]],
// CHECK-NOT: tlg.local_store
// CHECK: scf.yield
func.func @both_ways(%q: !tl.ptr<bf16> {tl.divisibility = 16 : i32}, %k: !tl.ptr<bf16> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stride = arith.constant dense<64> : tensor<64x1xi32>
  %step = arith.constant dense<4096> : tensor<64x64xi32>
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  %range = tl.range 0 to 64 : tensor<64xi32>
  %rows = tl.expand_dims %range axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tl.expand_dims %range axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %rowStarts = arith.muli %rows, %stride : tensor<64x1xi32>
  %0 = tl.broadcast %rowStarts : tensor<64x1xi32> -> tensor<64x64xi32>
  %1 = tl.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %index = arith.addi %0, %1 : tensor<64x64xi32>
  %2 = tl.splat %q : !tl.ptr<bf16> -> tensor<64x64x!tl.ptr<bf16>>
  %3 = tl.addptr %2, %index : tensor<64x64x!tl.ptr<bf16>>, tensor<64x64xi32>
  %4 = tl.splat %k : !tl.ptr<bf16> -> tensor<64x64x!tl.ptr<bf16>>
  %5 = tl.addptr %4, %index : tensor<64x64x!tl.ptr<bf16>>, tensor<64x64xi32>
  %kv = tl.load %5 : tensor<64x64x!tl.ptr<bf16>> -> tensor<64x64xbf16>
  %sum:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %x = %3) -> (tensor<64x64xf32>, tensor<64x64x!tl.ptr<bf16>>) : i32 {
    %qv = tl.load %x : tensor<64x64x!tl.ptr<bf16>> -> tensor<64x64xbf16>
    %turned = tl.trans %qv [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %scores = tl.dot %kv, %turned, %zero {input_precision = "tf32"} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %p = tl.fp_cast %scores : tensor<64x64xf32> -> tensor<64x64xbf16>
    %dot = tl.dot %p, %qv, %acc {input_precision = "tf32"} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %next = tl.addptr %x, %step : tensor<64x64x!tl.ptr<bf16>>, tensor<64x64xi32>
    scf.yield %dot, %next : tensor<64x64xf32>, tensor<64x64x!tl.ptr<bf16>>
  }
  %6 = tl.splat %out : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %7 = tl.addptr %6, %index : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  tl.store %7, %sum#0 : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}
