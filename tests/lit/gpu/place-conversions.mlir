// Where conversions stand among elementwise ops.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-place-conversions)' --split-input-file | FileCheck %s

// Two conversions, of 4 and 2 bytes an element, become one of 2.
// CHECK-DAG: #[[ROWS:.*]] = #tlg.layout<registers = [1, 2, 4], lanes = [8, 16, 32, 64, 128]
// CHECK-LABEL: func.func @epilogue(
// CHECK-SAME: %[[ACC:[^:]*]]: tensor<64x16xf32
// CHECK: %[[SMALL:.*]] = tl.fp_cast %[[ACC]]
// CHECK-NEXT: %[[MOVED:.*]] = tlg.convert_layout %[[SMALL]] : {{.*}} -> tensor<64x16xf16, #[[ROWS]]>
// CHECK-NOT: tlg.convert_layout
// CHECK: tl.fp_cast %[[MOVED]] : tensor<64x16xf16, #[[ROWS]]> -> tensor<64x16xf32, #[[ROWS]]>
// CHECK-NOT: tlg.convert_layout
// CHECK: return
#sums = #tlg.layout<registers = [1, 128, 8], lanes = [2, 4, 16, 32, 64], warps = [256, 512]>
#rows = #tlg.layout<registers = [1, 2, 4], lanes = [8, 16, 32, 64, 128], warps = [256, 512]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @epilogue(%acc: tensor<64x16xf32, #sums>, %old: tensor<64x16xf16, #rows>, %b: f32) -> tensor<64x16xf16, #rows> {
    %small = tl.fp_cast %acc : tensor<64x16xf32, #sums> -> tensor<64x16xf16, #sums>
    %wide = tl.fp_cast %old : tensor<64x16xf16, #rows> -> tensor<64x16xf32, #rows>
    %beta = tl.splat %b : f32 -> tensor<64x16xf32, #rows>
    %scaled = arith.mulf %beta, %wide : tensor<64x16xf32, #rows>
    %moved = tlg.convert_layout %scaled : tensor<64x16xf32, #rows> -> tensor<64x16xf32, #sums>
    %back = tl.fp_cast %small : tensor<64x16xf16, #sums> -> tensor<64x16xf32, #sums>
    %sum = arith.addf %back, %moved : tensor<64x16xf32, #sums>
    %result = tl.fp_cast %sum : tensor<64x16xf32, #sums> -> tensor<64x16xf16, #sums>
    %out = tlg.convert_layout %result : tensor<64x16xf16, #sums> -> tensor<64x16xf16, #rows>
    return %out : tensor<64x16xf16, #rows>
  }
}

// -----

// One sum instead of its two operands.
// CHECK-DAG: #[[ROWS:.*]] = #tlg.layout<registers = [1, 2, 4], lanes = [8, 16, 32, 64, 128]
// CHECK-LABEL: func.func @sum_of_two(
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK-NEXT: %[[MOVED:.*]] = tlg.convert_layout %[[SUM]]
// CHECK-NOT: tlg.convert_layout
// CHECK: arith.mulf %[[MOVED]], %{{.*}} : tensor<64x16xf32, #[[ROWS]]>
#sums = #tlg.layout<registers = [1, 128, 8], lanes = [2, 4, 16, 32, 64], warps = [256, 512]>
#rows = #tlg.layout<registers = [1, 2, 4], lanes = [8, 16, 32, 64, 128], warps = [256, 512]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @sum_of_two(%x: tensor<64x16xf32, #sums>, %y: tensor<64x16xf32, #sums>, %z: tensor<64x16xf32, #rows>) -> tensor<64x16xf32, #rows> {
    %a = tlg.convert_layout %x : tensor<64x16xf32, #sums> -> tensor<64x16xf32, #rows>
    %b = tlg.convert_layout %y : tensor<64x16xf32, #sums> -> tensor<64x16xf32, #rows>
    %sum = arith.addf %a, %b : tensor<64x16xf32, #rows>
    %result = arith.mulf %sum, %z : tensor<64x16xf32, #rows>
    return %result : tensor<64x16xf32, #rows>
  }
}

// -----

// Where it costs the same, and where threads hold copies in one of the two layouts, all stays.
// CHECK-LABEL: func.func @stays(
// CHECK: tlg.convert_layout %arg0
// CHECK: tlg.convert_layout %arg1
#sums = #tlg.layout<registers = [1, 128, 8], lanes = [2, 4, 16, 32, 64], warps = [256, 512]>
#rows = #tlg.layout<registers = [1, 2, 4], lanes = [8, 16, 32, 64, 128], warps = [256, 512]>
#copies = #tlg.layout<registers = [1, 2, 4], lanes = [0, 0, 8, 16, 32], warps = [0, 0]>
#few = #tlg.layout<registers = [1], lanes = [2, 4, 8, 16, 32], warps = [0, 0]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @stays(%x: tensor<64x16xf32, #sums>, %y: tensor<64xf32, #copies>) -> (tensor<64x16xf32, #rows>, tensor<64xf16, #few>) {
    %a = tlg.convert_layout %x : tensor<64x16xf32, #sums> -> tensor<64x16xf32, #rows>
    %square = arith.mulf %a, %a : tensor<64x16xf32, #rows>
    %b = tlg.convert_layout %y : tensor<64xf32, #copies> -> tensor<64xf32, #few>
    %small = tl.fp_cast %b : tensor<64xf32, #few> -> tensor<64xf16, #few>
    return %square, %small : tensor<64x16xf32, #rows>, tensor<64xf16, #few>
  }
}

// -----

// Also before an op that only gives it another shape.
// CHECK-DAG: #[[ROWS:.*]] = #tlg.layout<registers = [1, 2, 4], lanes = [8, 16, 32, 64, 128]
// CHECK-LABEL: func.func @before_reshape(
// CHECK: %[[MOVED:.*]] = tlg.convert_layout %arg0 : {{.*}} -> tensor<1024xf16, #[[ROWS]]>
// CHECK-NEXT: %[[WIDE:.*]] = tl.fp_cast %[[MOVED]] : tensor<1024xf16, #[[ROWS]]>
// CHECK-NEXT: tl.reshape %[[WIDE]] : tensor<1024xf32, #[[ROWS]]> -> tensor<64x16xf32, #[[ROWS]]>
// CHECK-NEXT: return
#sums = #tlg.layout<registers = [1, 128, 8], lanes = [2, 4, 16, 32, 64], warps = [256, 512]>
#rows = #tlg.layout<registers = [1, 2, 4], lanes = [8, 16, 32, 64, 128], warps = [256, 512]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @before_reshape(%x: tensor<1024xf16, #sums>) -> tensor<64x16xf32, #rows> {
    %wide = tl.fp_cast %x : tensor<1024xf16, #sums> -> tensor<1024xf32, #sums>
    %tile = tl.reshape %wide : tensor<1024xf32, #sums> -> tensor<64x16xf32, #sums>
    %result = tlg.convert_layout %tile : tensor<64x16xf32, #sums> -> tensor<64x16xf32, #rows>
    return %result : tensor<64x16xf32, #rows>
  }
}

// -----

// Not where that costs the same: the conversion stays where it was.
// CHECK-LABEL: func.func @behind_reshape(
// CHECK: tl.reshape %arg0
// CHECK-NEXT: tlg.convert_layout
#sums = #tlg.layout<registers = [1, 128, 8], lanes = [2, 4, 16, 32, 64], warps = [256, 512]>
#rows = #tlg.layout<registers = [1, 2, 4], lanes = [8, 16, 32, 64, 128], warps = [256, 512]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @behind_reshape(%x: tensor<1024xf32, #sums>) -> tensor<64x16xf32, #rows> {
    %tile = tl.reshape %x : tensor<1024xf32, #sums> -> tensor<64x16xf32, #sums>
    %result = tlg.convert_layout %tile : tensor<64x16xf32, #sums> -> tensor<64x16xf32, #rows>
    return %result : tensor<64x16xf32, #rows>
  }
}
