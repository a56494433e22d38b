// Conversions of layouts that are used only behind a loop.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-sink-conversions)' --split-input-file | FileCheck %s

// With what is made of it alone, in its order.
// CHECK-LABEL: func.func @used_behind(
// CHECK-NOT: tlg.convert_layout
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: }
// CHECK-NEXT: %[[X:.*]] = tlg.convert_layout
// CHECK-NEXT: %[[WIDE:.*]] = arith.extsi %[[X]]
// CHECK-NEXT: arith.addi %[[SUM]], %[[WIDE]]
#one = #tlg.layout<registers = [], lanes = [1, 2, 4, 8, 16], warps = [32, 64]>
#copies = #tlg.layout<registers = [1, 2, 4, 8], lanes = [16, 32, 64, 0, 0], warps = [0, 0]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @used_behind(%x: tensor<128xi16, #one>, %n: i32) -> tensor<128xi32, #copies> {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %start = arith.constant dense<0> : tensor<128xi32, #copies>
    %converted = tlg.convert_layout %x : tensor<128xi16, #one> -> tensor<128xi16, #copies>
    %wide = arith.extsi %converted : tensor<128xi16, #copies> to tensor<128xi32, #copies>
    %sum = scf.for %i = %zero to %n step %one iter_args(%before = %start) -> (tensor<128xi32, #copies>) : i32 {
      %more = tl.splat %i : i32 -> tensor<128xi32, #copies>
      %after = arith.addi %before, %more : tensor<128xi32, #copies>
      scf.yield %after : tensor<128xi32, #copies>
    }
    %result = arith.addi %sum, %wide : tensor<128xi32, #copies>
    return %result : tensor<128xi32, #copies>
  }
}

// -----

// The loop uses it; nothing is behind it; what it is made of would take more registers.
// CHECK-LABEL: func.func @stays(
// CHECK: tlg.convert_layout
// CHECK-NEXT: tlg.convert_layout
// CHECK: scf.for
// CHECK-NOT: tlg.convert_layout
#one = #tlg.layout<registers = [], lanes = [1, 2, 4, 8, 16], warps = [32, 64]>
#copies = #tlg.layout<registers = [1, 2, 4, 8], lanes = [16, 32, 64, 0, 0], warps = [0, 0]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @stays(%x: tensor<128xi32, #one>, %y: tensor<128xi32, #copies>, %n: i32) -> (tensor<128xi32, #copies>, tensor<128xi32, #one>) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %start = arith.constant dense<0> : tensor<128xi32, #copies>
    %used = tlg.convert_layout %x : tensor<128xi32, #one> -> tensor<128xi32, #copies>
    %fewer = tlg.convert_layout %y : tensor<128xi32, #copies> -> tensor<128xi32, #one>
    %sum = scf.for %i = %zero to %n step %one iter_args(%before = %start) -> (tensor<128xi32, #copies>) : i32 {
      %after = arith.addi %before, %used : tensor<128xi32, #copies>
      scf.yield %after : tensor<128xi32, #copies>
    }
    %result = arith.addi %sum, %used : tensor<128xi32, #copies>
    return %result, %fewer : tensor<128xi32, #copies>, tensor<128xi32, #one>
  }
}
