// Conversions of layouts that wait for their first use.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-delay-conversions)' --split-input-file | FileCheck %s

// Both loads begin before the barrier of the first one's conversion.
// CHECK-LABEL: func.func @loads_first(
// CHECK: tl.load
// CHECK-NEXT: tl.load
// CHECK-NEXT: tlg.convert_layout
// CHECK-NEXT: arith.addf
#rows = #tlg.layout<registers = [1, 2, 4], lanes = [8, 16, 32, 64, 128], warps = [256, 512]>
#sums = #tlg.layout<registers = [1, 128, 8], lanes = [2, 4, 16, 32, 64], warps = [256, 512]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @loads_first(%p: tensor<64x16x!tl.ptr<f32>, #rows>, %q: tensor<64x16x!tl.ptr<f32>, #sums>) -> tensor<64x16xf32, #sums> {
    %x = tl.load %p : tensor<64x16x!tl.ptr<f32>, #rows> -> tensor<64x16xf32, #rows>
    %moved = tlg.convert_layout %x : tensor<64x16xf32, #rows> -> tensor<64x16xf32, #sums>
    %y = tl.load %q : tensor<64x16x!tl.ptr<f32>, #sums> -> tensor<64x16xf32, #sums>
    %sum = arith.addf %moved, %y : tensor<64x16xf32, #sums>
    return %sum : tensor<64x16xf32, #sums>
  }
}

// -----

// What is needed in both layouts is kept in one of them until then.
// CHECK-LABEL: func.func @kept_once(
// CHECK-SAME: %[[X:[^:]*]]: tensor
// CHECK: %[[TWICE:.*]] = arith.addf %[[X]], %[[X]]
// CHECK-NEXT: %[[FOUR:.*]] = arith.addf %[[TWICE]], %[[TWICE]]
// CHECK-NEXT: tl.store %{{.*}}, %[[FOUR]]
// CHECK-NEXT: %[[MOVED:.*]] = tlg.convert_layout %[[TWICE]]
// CHECK-NEXT: tl.store %{{.*}}, %[[MOVED]]
#rows = #tlg.layout<registers = [1, 2, 4], lanes = [8, 16, 32, 64, 128], warps = [256, 512]>
#sums = #tlg.layout<registers = [1, 128, 8], lanes = [2, 4, 16, 32, 64], warps = [256, 512]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @kept_once(%x: tensor<64x16xf32, #sums>, %p: tensor<64x16x!tl.ptr<f32>, #rows>, %q: tensor<64x16x!tl.ptr<f32>, #sums>) {
    %twice = arith.addf %x, %x : tensor<64x16xf32, #sums>
    %moved = tlg.convert_layout %twice : tensor<64x16xf32, #sums> -> tensor<64x16xf32, #rows>
    %four = arith.addf %twice, %twice : tensor<64x16xf32, #sums>
    tl.store %q, %four : tensor<64x16x!tl.ptr<f32>, #sums>, tensor<64x16xf32, #sums>
    tl.store %p, %moved : tensor<64x16x!tl.ptr<f32>, #rows>, tensor<64x16xf32, #rows>
    return
  }
}

// -----

// Nothing is gained where the block itself is not needed any more, and no load follows.
// CHECK-LABEL: func.func @stays(
// CHECK: tlg.convert_layout
// CHECK-NEXT: arith.addf
// CHECK-NEXT: tl.store
#rows = #tlg.layout<registers = [1, 2, 4], lanes = [8, 16, 32, 64, 128], warps = [256, 512]>
#sums = #tlg.layout<registers = [1, 128, 8], lanes = [2, 4, 16, 32, 64], warps = [256, 512]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @stays(%x: tensor<64x16xf32, #sums>, %y: tensor<64x16xf32, #rows>, %p: tensor<64x16x!tl.ptr<f32>, #rows>) -> tensor<64x16xf32, #rows> {
    %twice = arith.addf %x, %x : tensor<64x16xf32, #sums>
    %moved = tlg.convert_layout %twice : tensor<64x16xf32, #sums> -> tensor<64x16xf32, #rows>
    %other = arith.addf %y, %y : tensor<64x16xf32, #rows>
    tl.store %p, %other : tensor<64x16x!tl.ptr<f32>, #rows>, tensor<64x16xf32, #rows>
    return %moved : tensor<64x16xf32, #rows>
  }
}
