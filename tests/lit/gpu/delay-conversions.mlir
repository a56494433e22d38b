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

// -----

// Three blocks of 128 registers are used twice, each time beside the others: each is converted again
// before its second use.
// CHECK-LABEL: func.func @again(
// CHECK-COUNT-6: tlg.convert_layout
// CHECK-NOT: tlg.convert_layout
// CHECK: return
#small = #tlg.layout<registers = [1, 2], lanes = [4, 8, 16, 32, 64], warps = [128, 256]>
#wide = #tlg.layout<registers = [4, 8, 16, 32, 64, 128, 256], lanes = [0, 0, 0, 0, 0], warps = [1, 2]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @again(%a: tensor<16x32xf32, #small>, %b: tensor<16x32xf32, #small>, %c: tensor<16x32xf32, #small>, %p: tensor<16x32x!tl.ptr<f32>, #wide>) {
    %wa = tlg.convert_layout %a : tensor<16x32xf32, #small> -> tensor<16x32xf32, #wide>
    %wb = tlg.convert_layout %b : tensor<16x32xf32, #small> -> tensor<16x32xf32, #wide>
    %wc = tlg.convert_layout %c : tensor<16x32xf32, #small> -> tensor<16x32xf32, #wide>
    tl.store %p, %wa : tensor<16x32x!tl.ptr<f32>, #wide>, tensor<16x32xf32, #wide>
    tl.store %p, %wb : tensor<16x32x!tl.ptr<f32>, #wide>, tensor<16x32xf32, #wide>
    tl.store %p, %wc : tensor<16x32x!tl.ptr<f32>, #wide>, tensor<16x32xf32, #wide>
    tl.store %p, %wa : tensor<16x32x!tl.ptr<f32>, #wide>, tensor<16x32xf32, #wide>
    tl.store %p, %wb : tensor<16x32x!tl.ptr<f32>, #wide>, tensor<16x32xf32, #wide>
    tl.store %p, %wc : tensor<16x32x!tl.ptr<f32>, #wide>, tensor<16x32xf32, #wide>
    return
  }
}

// -----

// One alone has room in registers until it is used again.
// CHECK-LABEL: func.func @kept(
// CHECK-COUNT-1: tlg.convert_layout
// CHECK-NOT: tlg.convert_layout
// CHECK: return
#small = #tlg.layout<registers = [1, 2], lanes = [4, 8, 16, 32, 64], warps = [128, 256]>
#wide = #tlg.layout<registers = [4, 8, 16, 32, 64, 128, 256], lanes = [0, 0, 0, 0, 0], warps = [1, 2]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @kept(%a: tensor<16x32xf32, #small>, %p: tensor<16x32x!tl.ptr<f32>, #wide>, %q: tensor<16x32x!tl.ptr<f32>, #wide>) {
    %wa = tlg.convert_layout %a : tensor<16x32xf32, #small> -> tensor<16x32xf32, #wide>
    tl.store %p, %wa : tensor<16x32x!tl.ptr<f32>, #wide>, tensor<16x32xf32, #wide>
    tl.store %q, %wa : tensor<16x32x!tl.ptr<f32>, #wide>, tensor<16x32xf32, #wide>
    return
  }
}
