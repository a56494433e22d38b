// Loops whose tiles are whole but for the last.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-split-whole-tiles)' --split-input-file | FileCheck %s

// The last iteration, and the one before it, say how many run without masks. The loop as it was
// runs those that are left.
// CHECK-LABEL: func.func @row(
// CHECK-SAME: %[[N:arg3]]: i32
// CHECK: %[[END:.*]] = arith.extsi %[[N]] : i32 to i64
// CHECK: %[[LAST:.*]] = arith.addi %{{.*}}, %{{.*}} : i64
// CHECK: %[[BEFORE:.*]] = arith.subi %[[LAST]], %{{.*}} : i64
// CHECK: arith.addi %[[BEFORE]], %{{.*}} : i64
// CHECK: %[[SOME:.*]] = arith.select %{{.*}}, %[[LAST]], %{{.*}} : i64
// CHECK: %[[ALL:.*]] = arith.select %{{.*}}, %[[END]], %[[SOME]] : i64
// CHECK: arith.minsi %[[ALL]], %[[END]]
// CHECK: %[[SPLIT:.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK: scf.for %{{.*}} = %c0_i32 to %[[SPLIT]] step %c128_i32
// CHECK-NOT: mask
// CHECK: scf.for %{{.*}} = %[[SPLIT]] to %[[N]] step %c128_i32
// CHECK: tl.load %{{.*}} mask
// CHECK: tl.store %{{.*}} mask
func.func @row(%x: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %z: i32, %n: i32) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 128 : i32
  %range = tl.range 0 to 128 : tensor<128xi32>
  %size = tl.splat %n : i32 -> tensor<128xi32>
  scf.for %i = %zero to %n step %step : i32 {
    %begin = tl.splat %i : i32 -> tensor<128xi32>
    %at = arith.addi %begin, %range : tensor<128xi32>
    %mask = arith.cmpi slt, %at, %size : tensor<128xi32>
    %xs = tl.splat %x : !tl.ptr<f16> -> tensor<128x!tl.ptr<f16>>
    %from = tl.addptr %xs, %at : tensor<128x!tl.ptr<f16>>, tensor<128xi32>
    %v = tl.load %from mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f16>> -> tensor<128xf16>
    %ys = tl.splat %y : !tl.ptr<f16> -> tensor<128x!tl.ptr<f16>>
    %to = tl.addptr %ys, %at : tensor<128x!tl.ptr<f16>>, tensor<128xi32>
    tl.store %to, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f16>>, tensor<128xf16>
  }
  return
}

// -----

// Not where the mask leaves neighbours together; nor where a size grows, or nothing is known of it.
// CHECK-LABEL: func.func @others(
// CHECK-COUNT-3: scf.for
// CHECK-NOT: scf.for
func.func @others(%x: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %sizes: !tl.ptr<i32>, %n: i32, %even: i32 {tl.divisibility = 16 : i32}) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 128 : i32
  %none = arith.constant dense<0.0> : tensor<128xf16>
  %range = tl.range 0 to 128 : tensor<128xi32>
  %xs = tl.splat %x : !tl.ptr<f16> -> tensor<128x!tl.ptr<f16>>
  %a = scf.for %i = %zero to %n step %step iter_args(%s = %none) -> (tensor<128xf16>) : i32 {
    %size = tl.splat %even : i32 -> tensor<128xi32>
    %begin = tl.splat %i : i32 -> tensor<128xi32>
    %at = arith.addi %begin, %range : tensor<128xi32>
    %mask = arith.cmpi slt, %at, %size : tensor<128xi32>
    %from = tl.addptr %xs, %at : tensor<128x!tl.ptr<f16>>, tensor<128xi32>
    %v = tl.load %from mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f16>> -> tensor<128xf16>
    %next = arith.addf %s, %v : tensor<128xf16>
    scf.yield %next : tensor<128xf16>
  }
  %b = scf.for %i = %zero to %n step %step iter_args(%s = %a) -> (tensor<128xf16>) : i32 {
    %size = tl.splat %i : i32 -> tensor<128xi32>
    %mask = arith.cmpi slt, %range, %size : tensor<128xi32>
    %from = tl.addptr %xs, %range : tensor<128x!tl.ptr<f16>>, tensor<128xi32>
    %v = tl.load %from mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f16>> -> tensor<128xf16>
    %next = arith.addf %s, %v : tensor<128xf16>
    scf.yield %next : tensor<128xf16>
  }
  %c = scf.for %i = %zero to %n step %step iter_args(%s = %b) -> (tensor<128xf16>) : i32 {
    %from_size = tl.addptr %sizes, %i : !tl.ptr<i32>, i32
    %loaded = tl.load %from_size : !tl.ptr<i32> -> i32
    %size = tl.splat %loaded : i32 -> tensor<128xi32>
    %mask = arith.cmpi slt, %range, %size : tensor<128xi32>
    %from = tl.addptr %xs, %range : tensor<128x!tl.ptr<f16>>, tensor<128xi32>
    %v = tl.load %from mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f16>> -> tensor<128xf16>
    %next = arith.addf %s, %v : tensor<128xf16>
    scf.yield %next : tensor<128xf16>
  }
  tl.store %xs, %c : tensor<128x!tl.ptr<f16>>, tensor<128xf16>
  return
}
