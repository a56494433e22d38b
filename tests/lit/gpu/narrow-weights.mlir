// A dot by mma.sync of which one operand is made of bytes along K. Threads have eight neighbours of
// K, so that they read these bytes, and the other operand, in one piece each. The instruction takes
// the columns of weights as its rows: what is read in wide pieces is where it takes pairs of
// registers. Rows of both buffers lie far apart in the banks: neighbours swap halves of 128 bytes.
// RUN: blk-opt %s --tlg-pipeline='arch=sm_90a num-warps=4 num-stages=3' | FileCheck %s
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_90a num-warps=4 num-stages=3},tlg-emit)' -o /dev/null | FileCheck %s --check-prefix=PTX

// CHECK-LABEL: func.func @weights(
// CHECK: tlg.alloc_shared {{.*}} : <[16, 64], bf16, offsets = [2, 4, 8, 16, 32, 64, 192, 288, 528, 1024]
// CHECK: tlg.alloc_shared {{.*}} : <[64, 64], i8, offsets = [64, 160, 272, 512, 1024, 2048, 1, 2, 4, 8, 16, 32]
// CHECK: scf.for
// CHECK: %[[BYTES:.*]] = tlg.local_load {{.*}} -> tensor<64x64xi8, #[[W:.*]]>
// CHECK: %[[B:.*]] = tl.int_to_float %[[BYTES]]
// CHECK: tlg.mma %{{.*}}, %[[B]], {{.*}}tlg.depth_in_eights, turned
// PTX-LABEL: weights(
// PTX-NOT: ldmatrix
// PTX: ld.shared.v2.b32
// PTX-NOT: ldmatrix
// PTX-NOT: ld.shared.v2.b8
func.func @weights(%x: !tl.ptr<bf16> {tl.divisibility = 16 : i32}, %w: !tl.ptr<i8> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %zeros = arith.constant dense<0.0> : tensor<16x64xf32>
  %stepX = arith.constant dense<64> : tensor<16x64xi32>
  %stepW = arith.constant dense<64> : tensor<64x64xi32>
  %pitchX = arith.constant dense<4096> : tensor<16x1xi32>
  %pitchW = arith.constant dense<4096> : tensor<1x64xi32>
  %r16 = tl.range 0 to 16 : tensor<16xi32>
  %r64 = tl.range 0 to 64 : tensor<64xi32>
  %m = tl.expand_dims %r16 axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %mx = arith.muli %m, %pitchX : tensor<16x1xi32>
  %row = tl.expand_dims %r64 axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %column = tl.expand_dims %r64 axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %x0 = tl.broadcast %mx : tensor<16x1xi32> -> tensor<16x64xi32>
  %x1 = tl.broadcast %row : tensor<1x64xi32> -> tensor<16x64xi32>
  %ox = arith.addi %x0, %x1 : tensor<16x64xi32>
  %rw = arith.muli %row, %pitchW : tensor<1x64xi32>
  %w0 = tl.broadcast %rw : tensor<1x64xi32> -> tensor<64x64xi32>
  %w1 = tl.broadcast %column : tensor<64x1xi32> -> tensor<64x64xi32>
  %ow = arith.addi %w0, %w1 : tensor<64x64xi32>
  %px = tl.splat %x : !tl.ptr<bf16> -> tensor<16x64x!tl.ptr<bf16>>
  %pw = tl.splat %w : !tl.ptr<i8> -> tensor<64x64x!tl.ptr<i8>>
  %ax = tl.addptr %px, %ox : tensor<16x64x!tl.ptr<bf16>>, tensor<16x64xi32>
  %aw = tl.addptr %pw, %ow : tensor<64x64x!tl.ptr<i8>>, tensor<64x64xi32>
  %sums:3 = scf.for %i = %zero to %n step %one iter_args(%s = %zeros, %atX = %ax, %atW = %aw) -> (tensor<16x64xf32>, tensor<16x64x!tl.ptr<bf16>>, tensor<64x64x!tl.ptr<i8>>) : i32 {
    %a = tl.load %atX : tensor<16x64x!tl.ptr<bf16>> -> tensor<16x64xbf16>
    %b = tl.load %atW : tensor<64x64x!tl.ptr<i8>> -> tensor<64x64xi8>
    %c = tl.int_to_float %b : tensor<64x64xi8> -> tensor<64x64xbf16>
    %d = tl.dot %a, %c, %s : tensor<16x64xbf16>, tensor<64x64xbf16> -> tensor<16x64xf32>
    %nextX = tl.addptr %atX, %stepX : tensor<16x64x!tl.ptr<bf16>>, tensor<16x64xi32>
    %nextW = tl.addptr %atW, %stepW : tensor<64x64x!tl.ptr<i8>>, tensor<64x64xi32>
    scf.yield %d, %nextX, %nextW : tensor<16x64xf32>, tensor<16x64x!tl.ptr<bf16>>, tensor<64x64x!tl.ptr<i8>>
  }
  %py = tl.splat %y : !tl.ptr<f32> -> tensor<16x64x!tl.ptr<f32>>
  %ay = tl.addptr %py, %x1 : tensor<16x64x!tl.ptr<f32>>, tensor<16x64xi32>
  tl.store %ay, %sums#0 : tensor<16x64x!tl.ptr<f32>>, tensor<16x64xf32>
  return
}
