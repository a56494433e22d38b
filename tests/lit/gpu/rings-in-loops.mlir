// What is computed of a block in shared memory, in a loop with dots, and wanted in another layout in
// several places, is computed in that layout: it is read in it.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline-loops)' | FileCheck %s

// CHECK-DAG: #[[SUMS:.*]] = #tlg.layout<registers = [1, 512, 8, 16, 32], lanes = [2, 4, 64, 128, 256]
// CHECK-LABEL: func.func @read_as_sums(
// CHECK: scf.for
// CHECK-NOT: tlg.convert_layout
// CHECK: tlg.local_load {{.*}} -> tensor<64x64xf32, #[[SUMS]]>
// CHECK-NOT: tlg.convert_layout
// CHECK: scf.yield
#sums = #tlg.layout<registers = [1, 512, 8, 16, 32], lanes = [2, 4, 64, 128, 256], warps = [1024, 2048]>
#rows = #tlg.layout<registers = [1, 2, 512, 1024, 2048], lanes = [4, 8, 16, 32, 64], warps = [128, 256]>
!operand = !tlg.shared<[64, 64], f16, offsets = [2, 4, 8, 16, 32, 64, 144, 288, 576, 1024, 2048, 4096]>
!block = !tlg.shared<[64, 64], f32, offsets = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @read_as_sums(%n: i32, %out: tensor<64x64x!tl.ptr<f32>, #sums>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #sums>
    %a = tlg.alloc_shared : !operand
    %b = tlg.alloc_shared : !operand
    %buffer = tlg.alloc_shared : !block
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32, #sums>) : i32 {
      %x = tlg.local_load %buffer : !block -> tensor<64x64xf32, #rows>
      %e = math.exp2 %x : tensor<64x64xf32, #rows>
      %square = arith.mulf %e, %e : tensor<64x64xf32, #rows>
      %first = tlg.convert_layout %e : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #sums>
      %second = tlg.convert_layout %square : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #sums>
      %dot = tlg.wgmma %a, %b, %acc {operand_bytes = 2 : i32, warps = array<i32: 4, 1, 1>} : !operand, !operand -> tensor<64x64xf32, #sums>
      %done = tlg.wgmma_wait 0 %dot : tensor<64x64xf32, #sums> -> tensor<64x64xf32, #sums>
      %scaled = arith.mulf %done, %first : tensor<64x64xf32, #sums>
      %next = arith.addf %scaled, %second : tensor<64x64xf32, #sums>
      scf.yield %next : tensor<64x64xf32, #sums>
    }
    tl.store %out, %sum : tensor<64x64x!tl.ptr<f32>, #sums>, tensor<64x64xf32, #sums>
    return
  }
}
