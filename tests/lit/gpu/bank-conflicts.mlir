// A buffer in shared memory whose columns are read by neighbouring threads, with and without a swizzle.
// RUN: blk-opt %s --split-input-file --pass-pipeline='builtin.module(tlg-emit{arch=sm_80 to=notes})' -o /dev/null | FileCheck %s

#columns = #tlg.layout<registers = [1, 2, 4], lanes = [32, 64, 128, 256, 512], warps = [8, 16]>

// CHECK: note[bank-conflict]: 8-way bank conflicts where a block is read from shared memory
// CHECK-NEXT: plain: 1 note
module attributes {tlg.num_warps = 4 : i32} {
  func.func @plain() {
    %block = tlg.alloc_shared {offset = 0 : i32} : !tlg.shared<[32, 32], f32, offsets = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]>
    %v = tlg.local_load %block : !tlg.shared<[32, 32], f32, offsets = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]> -> tensor<32x32xf32, #columns>
    return
  }
}

// -----

#columns = #tlg.layout<registers = [1, 2, 4], lanes = [32, 64, 128, 256, 512], warps = [8, 16]>

// In a loop it is a warning.
// CHECK-NEXT: warning[bank-conflict]: 8-way bank conflicts where a block is read from shared memory
// CHECK-NEXT: plain_in_loop: 1 note
module attributes {tlg.num_warps = 4 : i32} {
  func.func @plain_in_loop(%n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %block = tlg.alloc_shared {offset = 0 : i32} : !tlg.shared<[32, 32], f32, offsets = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]>
    scf.for %i = %zero to %n step %one : i32 {
      %v = tlg.local_load %block : !tlg.shared<[32, 32], f32, offsets = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]> -> tensor<32x32xf32, #columns>
    }
    return
  }
}

// -----

#columns = #tlg.layout<registers = [1, 2, 4], lanes = [32, 64, 128, 256, 512], warps = [8, 16]>

// CHECK-NEXT: swizzled: 0 notes
module attributes {tlg.num_warps = 4 : i32} {
  func.func @swizzled() {
    %block = tlg.alloc_shared {offset = 0 : i32} : !tlg.shared<[32, 32], f32, offsets = [4, 8, 16, 32, 64, 144, 288, 576, 1024, 2048]>
    %v = tlg.local_load %block : !tlg.shared<[32, 32], f32, offsets = [4, 8, 16, 32, 64, 144, 288, 576, 1024, 2048]> -> tensor<32x32xf32, #columns>
    return
  }
}
