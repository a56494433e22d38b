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

// -----

// A loop that loads and takes exponentials counts with 64 bits.
// CHECK-LABEL: .entry combined(
// CHECK: ld.global
// CHECK: ex2.approx
// CHECK: add.s64 [[COUNTER:%rd[0-9]+]], [[COUNTER]], -1;
// CHECK: setp.ne.b64 {{.*}}, [[COUNTER]], 0;
func.func @combined(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %step = arith.constant dense<512> : tensor<128xi32>
  %zero = arith.constant dense<0.000000e+00> : tensor<128xf32>
  %range = tl.range 0 to 128 : tensor<128xi32>
  %0 = tl.splat %x : !tl.ptr<f32> -> tensor<128x!tl.ptr<f32>>
  %1 = tl.addptr %0, %range : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %sum:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %1) -> (tensor<128xf32>, tensor<128x!tl.ptr<f32>>) : i32 {
    %v = tl.load %at : tensor<128x!tl.ptr<f32>> -> tensor<128xf32>
    %e = math.exp2 %v : tensor<128xf32>
    %s = arith.addf %acc, %e : tensor<128xf32>
    %next = tl.addptr %at, %step : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
    scf.yield %s, %next : tensor<128xf32>, tensor<128x!tl.ptr<f32>>
  }
  %2 = tl.splat %y : !tl.ptr<f32> -> tensor<128x!tl.ptr<f32>>
  %3 = tl.addptr %2, %range : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  tl.store %3, %sum#0 : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  return
}

// -----

// One condition chooses between registers, which hold two elements each.
// CHECK-LABEL: .entry chosen(
// CHECK-NOT: selp.b16
// CHECK-COUNT-4: selp.b32
// CHECK: add.f16x2
// CHECK-NOT: selp.b16
// CHECK: ret;
func.func @chosen(%x: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %z: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %which: i32, %n: i32 {tl.divisibility = 16 : i32}) {
  %c0 = arith.constant 0 : i32
  %one = arith.constant dense<1.000000e+00> : tensor<1024xf16>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %end = tl.splat %n : i32 -> tensor<1024xi32>
  %mask = arith.cmpi slt, %range, %end : tensor<1024xi32>
  %0 = tl.splat %x : !tl.ptr<f16> -> tensor<1024x!tl.ptr<f16>>
  %1 = tl.addptr %0, %range : tensor<1024x!tl.ptr<f16>>, tensor<1024xi32>
  %a = tl.load %1 mask %mask : tensor<1024xi1> : tensor<1024x!tl.ptr<f16>> -> tensor<1024xf16>
  %2 = tl.splat %y : !tl.ptr<f16> -> tensor<1024x!tl.ptr<f16>>
  %3 = tl.addptr %2, %range : tensor<1024x!tl.ptr<f16>>, tensor<1024xi32>
  %b = tl.load %3 mask %mask : tensor<1024xi1> : tensor<1024x!tl.ptr<f16>> -> tensor<1024xf16>
  %isFirst = arith.cmpi eq, %which, %c0 : i32
  %condition = tl.splat %isFirst : i1 -> tensor<1024xi1>
  %chosen = arith.select %condition, %a, %b : tensor<1024xi1>, tensor<1024xf16>
  %sum = arith.addf %chosen, %one : tensor<1024xf16>
  %4 = tl.splat %z : !tl.ptr<f16> -> tensor<1024x!tl.ptr<f16>>
  %5 = tl.addptr %4, %range : tensor<1024x!tl.ptr<f16>>, tensor<1024xi32>
  tl.store %5, %sum : tensor<1024x!tl.ptr<f16>>, tensor<1024xf16>
  return
}

// -----

// Of many comparisons each comes right before what it decides: a thread has seven predicates.
// CHECK-LABEL: .entry clamped(
// CHECK: setp.gt.f32 [[MASK:%p[0-9]+]], {{%r[0-9]+}}, 0f40000000;
// CHECK-NOT: setp.gt
// CHECK: selp.f32 {{.*}}, [[MASK]];
// CHECK: ret;
func.func @clamped(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}) {
  %two = arith.constant dense<2.000000e+00> : tensor<4096xf32>
  %range = tl.range 0 to 4096 : tensor<4096xi32>
  %end = tl.splat %n : i32 -> tensor<4096xi32>
  %mask = arith.cmpi slt, %range, %end : tensor<4096xi32>
  %0 = tl.splat %x : !tl.ptr<f32> -> tensor<4096x!tl.ptr<f32>>
  %at = tl.addptr %0, %range : tensor<4096x!tl.ptr<f32>>, tensor<4096xi32>
  %v = tl.load %at mask %mask : tensor<4096xi1> : tensor<4096x!tl.ptr<f32>> -> tensor<4096xf32>
  %isLarge = arith.cmpf ogt, %v, %two : tensor<4096xf32>
  %square = arith.mulf %v, %v : tensor<4096xf32>
  %chosen = arith.select %isLarge, %square, %v : tensor<4096xi1>, tensor<4096xf32>
  tl.store %at, %chosen mask %mask : tensor<4096xi1> : tensor<4096x!tl.ptr<f32>>, tensor<4096xf32>
  return
}
