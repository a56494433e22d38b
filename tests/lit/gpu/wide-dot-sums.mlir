// Sums of dots in fp16 stay in fp32, in which the tensor cores add, until something else takes them.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_90a},cse)' | FileCheck %s

// A loop's variable that only its dot and casts to fp32 take is wide; it is rounded behind the loop.
// CHECK-LABEL: func.func @carried(
// CHECK-NOT: tl.fp_cast
// CHECK: scf.for {{.*}} -> (tensor<64x64xf32, #{{.*}}>)
// CHECK-NOT: tl.fp_cast
// CHECK: tlg.wgmma
// CHECK-NOT: tl.fp_cast
// CHECK: scf.yield
// CHECK: tl.fp_cast {{.*}} -> tensor<64x64xf16
// CHECK: tl.store
// CHECK: return
func.func @carried(%a: f16, %p: !tl.ptr<f16>, %n: i32) {
  %zero = arith.constant dense<0.0> : tensor<64x64xf16>
  %from = arith.constant 0 : i32
  %by = arith.constant 1 : i32
  %flat = tl.range 0 to 4096 : tensor<4096xi32>
  %offsets = tl.reshape %flat : tensor<4096xi32> -> tensor<64x64xi32>
  %base = tl.splat %p : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %at = tl.addptr %base, %offsets : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %va = tl.splat %a : f16 -> tensor<64x64xf16>
  %sum = scf.for %i = %from to %n step %by iter_args(%acc = %zero) -> (tensor<64x64xf16>) : i32 {
    %next = tl.dot %va, %va, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
    scf.yield %next : tensor<64x64xf16>
  }
  tl.store %at, %sum : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xf16>
  return
}

// What fp16 arithmetic takes is rounded before it, and so is the variable of the loop.
// CHECK-LABEL: func.func @scaled(
// CHECK: scf.for {{.*}} -> (tensor<64x64xf16, #{{.*}}>)
// CHECK: arith.mulf {{.*}} : tensor<64x64xf16
// CHECK: tl.fp_cast {{.*}} -> tensor<64x64xf32
// CHECK: tlg.wgmma
// CHECK: tl.fp_cast {{.*}} -> tensor<64x64xf16
// CHECK: return
func.func @scaled(%a: f16, %p: !tl.ptr<f16>, %n: i32) {
  %zero = arith.constant dense<0.0> : tensor<64x64xf16>
  %half = arith.constant dense<0.5> : tensor<64x64xf16>
  %from = arith.constant 0 : i32
  %by = arith.constant 1 : i32
  %flat = tl.range 0 to 4096 : tensor<4096xi32>
  %offsets = tl.reshape %flat : tensor<4096xi32> -> tensor<64x64xi32>
  %base = tl.splat %p : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %at = tl.addptr %base, %offsets : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %va = tl.splat %a : f16 -> tensor<64x64xf16>
  %sum = scf.for %i = %from to %n step %by iter_args(%acc = %zero) -> (tensor<64x64xf16>) : i32 {
    %less = arith.mulf %acc, %half : tensor<64x64xf16>
    %next = tl.dot %va, %va, %less : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
    scf.yield %next : tensor<64x64xf16>
  }
  tl.store %at, %sum : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xf16>
  return
}

// A result that is cast to fp32 is never rounded, and the dot itself adds what is added to that.
// CHECK-LABEL: func.func @widened(
// CHECK-NOT: tl.fp_cast
// CHECK-NOT: arith.addf
// CHECK: %[[ACC:.*]] = tl.splat %{{.*}} : f32 -> tensor<64x64xf32
// CHECK: tlg.wgmma {{.*}}, %[[ACC]]
// CHECK-NOT: tl.fp_cast
// CHECK: return
func.func @widened(%a: f16, %x: f32, %p: !tl.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<64x64xf16>
  %flat = tl.range 0 to 4096 : tensor<4096xi32>
  %offsets = tl.reshape %flat : tensor<4096xi32> -> tensor<64x64xi32>
  %base = tl.splat %p : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %va = tl.splat %a : f16 -> tensor<64x64xf16>
  %vx = tl.splat %x : f32 -> tensor<64x64xf32>
  %dot = tl.dot %va, %va, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
  %wide = tl.fp_cast %dot : tensor<64x64xf16> -> tensor<64x64xf32>
  %sum = arith.addf %wide, %vx : tensor<64x64xf32>
  tl.store %at, %sum : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}
