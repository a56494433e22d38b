// Where blocks lie in shared memory: those that are needed at the same time side by side, those that
// are not in the same bytes. Each begins at a multiple of 1024.
// RUN: blk-opt %s --tlg-place-shared | FileCheck %s

#layout = #tlg.layout<registers = [128, 256], lanes = [1, 2, 4, 8, 16], warps = [32, 64]>
// CHECK-LABEL: func.func @blocks(
func.func @blocks(%x: tensor<512xf32, #layout>) {
  // CHECK: %[[FIRST:.*]] = tlg.alloc_shared {offset = 0 : i32} : <[512], f32
  %first = tlg.alloc_shared : <[512], f32, offsets = [4, 8, 16, 32, 64, 128, 256, 512, 1024]>
  // CHECK: tlg.alloc_shared {offset = 2048 : i32} : <[32], f32{{.*}}stages = 3>
  %ring = tlg.alloc_shared : <[32], f32, offsets = [4, 8, 16, 32, 64], stages = 3>
  tlg.local_store %x, %first : tensor<512xf32, #layout>, <[512], f32, offsets = [4, 8, 16, 32, 64, 128, 256, 512, 1024]>
  %zero = arith.constant 0 : i32
  // The first block is not read any more, the ring is.
  // CHECK: tlg.alloc_shared {offset = 0 : i32} : <[512], f32
  %second = tlg.alloc_shared : <[512], f32, offsets = [4, 8, 16, 32, 64, 128, 256, 512, 1024]>
  tlg.local_store %x, %second : tensor<512xf32, #layout>, <[512], f32, offsets = [4, 8, 16, 32, 64, 128, 256, 512, 1024]>
  // CHECK: tlg.alloc_shared {offset = 3072 : i32} : <[512], f32
  %third = tlg.alloc_shared : <[512], f32, offsets = [4, 8, 16, 32, 64, 128, 256, 512, 1024]>
  tlg.local_store %x, %third : tensor<512xf32, #layout>, <[512], f32, offsets = [4, 8, 16, 32, 64, 128, 256, 512, 1024]>
  %again = tlg.local_load %second : <[512], f32, offsets = [4, 8, 16, 32, 64, 128, 256, 512, 1024]> -> tensor<512xf32, #layout>
  %block = tlg.stage %ring[%zero] : <[32], f32, offsets = [4, 8, 16, 32, 64], stages = 3> -> <[32], f32, offsets = [4, 8, 16, 32, 64]>
  return
}
