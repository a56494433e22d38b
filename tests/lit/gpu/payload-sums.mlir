// In the algebra, a sum of integers that floats stand for begins a dot as a sum of floats does: the
// layouts and waits of the dot are then those of the kernel. A sum that something else needs stays.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_80 num-warps=4},cse)' --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @scaled(
// CHECK: %[[SCALED:.*]] = arith.muli
// CHECK: %[[SUM:.*]] = tl.from_payload %[[SCALED]]
// CHECK: %[[MOVED:.*]] = tlg.convert_layout %[[SUM]]
// CHECK-NOT: arith.addi
// CHECK: tlg.mma %{{.*}}, %{{.*}}, %[[MOVED]]
// CHECK-LABEL: func.func @shared(
// CHECK: tlg.mma
// CHECK: arith.addi
func.func @scaled(%p: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %o = tl.reshape %i : tensor<1024xi32> -> tensor<32x32xi32>
  %ps = tl.splat %p : !tl.ptr<f16> -> tensor<32x32x!tl.ptr<f16>>
  %at = tl.addptr %ps, %o : tensor<32x32x!tl.ptr<f16>>, tensor<32x32xi32>
  %outs = tl.splat %out : !tl.ptr<f32> -> tensor<32x32x!tl.ptr<f32>>
  %to = tl.addptr %outs, %o : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xi32>
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %by = arith.constant dense<7> : tensor<32x32xi32>
  %q = tl.load %at : tensor<32x32x!tl.ptr<f16>> -> tensor<32x32xf16>
  %before = tl.load %to : tensor<32x32x!tl.ptr<f32>> -> tensor<32x32xf32>
  %payload = tl.to_payload %before : tensor<32x32xf32> -> tensor<32x32xi32>
  %scaled = arith.muli %payload, %by : tensor<32x32xi32>
  %dot = tl.dot %q, %q, %zero {input_precision = "ieee+payloads"} : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
  %more = tl.to_payload %dot : tensor<32x32xf32> -> tensor<32x32xi32>
  %sum = arith.addi %scaled, %more : tensor<32x32xi32>
  %result = tl.from_payload %sum : tensor<32x32xi32> -> tensor<32x32xf32>
  tl.store %to, %result : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xf32>
  return
}

// -----

func.func @shared(%p: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %o = tl.reshape %i : tensor<1024xi32> -> tensor<32x32xi32>
  %ps = tl.splat %p : !tl.ptr<f16> -> tensor<32x32x!tl.ptr<f16>>
  %at = tl.addptr %ps, %o : tensor<32x32x!tl.ptr<f16>>, tensor<32x32xi32>
  %outs = tl.splat %out : !tl.ptr<f32> -> tensor<32x32x!tl.ptr<f32>>
  %to = tl.addptr %outs, %o : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xi32>
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %q = tl.load %at : tensor<32x32x!tl.ptr<f16>> -> tensor<32x32xf16>
  %before = tl.load %to : tensor<32x32x!tl.ptr<f32>> -> tensor<32x32xf32>
  %payload = tl.to_payload %before : tensor<32x32xf32> -> tensor<32x32xi32>
  %dot = tl.dot %q, %q, %zero {input_precision = "ieee+payloads"} : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
  %more = tl.to_payload %dot : tensor<32x32xf32> -> tensor<32x32xi32>
  %square = arith.muli %more, %more : tensor<32x32xi32>
  %first = tl.from_payload %square : tensor<32x32xi32> -> tensor<32x32xf32>
  tl.store %to, %first : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xf32>
  %sum = arith.addi %payload, %more : tensor<32x32xi32>
  %result = tl.from_payload %sum : tensor<32x32xi32> -> tensor<32x32xf32>
  tl.store %to, %result : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xf32>
  return
}
