// A dot in a loop, on tensor cores of both kinds: layouts of its operands, the ring in shared memory
// that is filled two iterations early, where it lies, and the instructions.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_80},cse)' | FileCheck %s --check-prefix=LAYOUT80
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_90a},cse)' | FileCheck %s --check-prefix=LAYOUT90
// RUN: blk-opt %s --tlg-pipeline=arch=sm_80 | FileCheck %s --check-prefixes=RING,RING80
// RUN: blk-opt %s --tlg-pipeline=arch=sm_90a | FileCheck %s --check-prefixes=RING,RING90
// RUN: blk-opt %s --tlg-pipeline='arch=sm_80 num-stages=1' | FileCheck %s --check-prefix=ONE
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_90a},cse,tlg-stage-operands,tlg-place-shared)' | FileCheck %s --check-prefix=BOTH
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_80},tlg-emit)' -o /dev/null | FileCheck %s --check-prefixes=PTX,PTX80
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_90a},tlg-emit)' -o /dev/null | FileCheck %s --check-prefixes=PTX,PTX90

// mma.sync reads both operands in layouts of its own, wgmma from memory: no conversion is wanted.
// LAYOUT80: #[[ACC:layout[0-9]*]] = #tlg.layout<registers = [1, 512, 8, 16, 32, 4096], lanes = [2, 4, 64, 128, 256], warps = [1024, 2048]>
// LAYOUT80: #[[OPERAND_A:layout[0-9]*]] = #tlg.layout<registers = [1, 256, 8, 16, 2048], lanes = [2, 4, 32, 64, 128], warps = [512, 1024]>
// LAYOUT80: #[[OPERAND_B:layout[0-9]*]] = #tlg.layout<registers = [64, 512, 1024, 8, 16, 32], lanes = [128, 256, 1, 2, 4], warps = [0, 0]>
// LAYOUT80: tlg.mma {{.*}} : tensor<128x32xf16, #[[OPERAND_A]]>, tensor<32x64xf16, #[[OPERAND_B]]> -> tensor<128x64xf32, #[[ACC]]>
// LAYOUT90: #[[ACC:layout[0-9]*]] = #tlg.layout<registers = [1, 512, 8, 16, 32, 4096], lanes = [2, 4, 64, 128, 256], warps = [1024, 2048]>
// LAYOUT90: %[[A:.*]] = tl.load {{.*}} -> tensor<128x32xf16
// LAYOUT90: %[[B:.*]] = tl.load {{.*}} -> tensor<32x64xf16
// LAYOUT90: tlg.wgmma %[[A]], %[[B]], {{.*}} -> tensor<128x64xf32, #[[ACC]]>

// RING-LABEL: func.func @dot(
// RING: %[[A:.*]] = tlg.alloc_shared {offset = 0 : i32} : <[128, 32], f16, {{.*}}, stages = 3>
// RING: %[[B:.*]] = tlg.alloc_shared {offset = 24576 : i32} : <[32, 64], f16, {{.*}}, stages = 3>
// RING: tlg.async_copy {{.*}} if
// RING: tlg.async_copy {{.*}} if
// RING: tlg.async_commit
// RING: tlg.async_copy {{.*}} if
// RING: tlg.async_copy {{.*}} if
// RING: tlg.async_commit
// RING: scf.for
// RING-NEXT: tlg.async_wait 1
// RING-NEXT: tl.barrier
// RING: %[[NOW_A:.*]] = tlg.stage %[[A]]
// RING: %[[NOW_B:.*]] = tlg.stage %[[B]]
// RING80-NOT: tl.barrier
// RING80-COUNT-2: tlg.async_copy
// RING80: tlg.async_commit
// RING80: tlg.mma %[[NOW_A]], %[[NOW_B]],
// RING80-NOT: tl.barrier
// RING90: tlg.wgmma %[[NOW_A]], %[[NOW_B]],
// RING90-NEXT: tlg.wgmma_wait 1
// RING90-NEXT: tl.barrier
// RING90-COUNT-2: tlg.async_copy
// RING90: tlg.async_commit
// RING90-NOT: tl.barrier
// RING: scf.yield
// RING90: tlg.wgmma_wait 0

// One stage is no ring: nothing is copied before its iteration.
// ONE: scf.for
// ONE-NEXT: tl.barrier
// ONE-NEXT: tlg.async_copy
// ONE-NEXT: tlg.async_commit
// ONE-NEXT: tlg.async_copy
// ONE-NEXT: tlg.async_commit
// ONE-NEXT: tlg.async_wait 0
// ONE-NEXT: tl.barrier
// ONE-NEXT: tlg.mma

// Threads meet once behind both operands.
// BOTH: scf.for
// BOTH: tl.barrier{{$}}
// BOTH-NEXT: tlg.local_store
// BOTH-NOT: {{fence|tl.barrier$}}
// BOTH: tlg.local_store
// BOTH-NEXT: tlg.fence_async
// BOTH-NEXT: tl.barrier{{$}}
// BOTH-NEXT: tlg.wgmma

// PTX-LABEL: .entry dot(
// PTX: cp.async.cg.shared.global
// PTX: cp.async.commit_group
// PTX: cp.async.commit_group
// PTX: cp.async.wait_group 1;
// PTX: bar.sync
// PTX80-DAG: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX80-DAG: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// PTX80-DAG: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// PTX90: wgmma.fence.sync.aligned
// PTX90: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// PTX90: wgmma.commit_group.sync.aligned
// PTX90: wgmma.wait_group.sync.aligned 1;
// PTX90-NOT: mma.sync.aligned.m16
// PTX: st.global.v4.b32
func.func @dot(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %b: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %c: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %k: i32 {tl.divisibility = 16 : i32}, %lda: i32 {tl.divisibility = 16 : i32}, %ldb: i32 {tl.divisibility = 16 : i32}) {
  %c32_i32 = arith.constant 32 : i32
  %c0_i32 = arith.constant 0 : i32
  %cst = arith.constant dense<64> : tensor<128x1xi32>
  %cst_0 = arith.constant dense<32> : tensor<128x32xi32>
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<128x64xf32>
  %i = tl.range 0 to 128 : tensor<128xi32>
  %j = tl.range 0 to 64 : tensor<64xi32>
  %s = tl.range 0 to 32 : tensor<32xi32>
  %0 = tl.expand_dims %i axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %1 = tl.splat %lda : i32 -> tensor<128x1xi32>
  %2 = arith.muli %0, %1 : tensor<128x1xi32>
  %3 = tl.splat %a : !tl.ptr<f16> -> tensor<128x1x!tl.ptr<f16>>
  %4 = tl.addptr %3, %2 : tensor<128x1x!tl.ptr<f16>>, tensor<128x1xi32>
  %5 = tl.expand_dims %s axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %6 = tl.broadcast %4 : tensor<128x1x!tl.ptr<f16>> -> tensor<128x32x!tl.ptr<f16>>
  %7 = tl.broadcast %5 : tensor<1x32xi32> -> tensor<128x32xi32>
  %at = tl.addptr %6, %7 : tensor<128x32x!tl.ptr<f16>>, tensor<128x32xi32>
  %8 = tl.expand_dims %s axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %9 = tl.splat %ldb : i32 -> tensor<32x1xi32>
  %10 = arith.muli %8, %9 : tensor<32x1xi32>
  %11 = tl.splat %b : !tl.ptr<f16> -> tensor<32x1x!tl.ptr<f16>>
  %12 = tl.addptr %11, %10 : tensor<32x1x!tl.ptr<f16>>, tensor<32x1xi32>
  %13 = tl.expand_dims %j axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %14 = tl.broadcast %12 : tensor<32x1x!tl.ptr<f16>> -> tensor<32x64x!tl.ptr<f16>>
  %15 = tl.broadcast %13 : tensor<1x64xi32> -> tensor<32x64xi32>
  %bt = tl.addptr %14, %15 : tensor<32x64x!tl.ptr<f16>>, tensor<32x64xi32>
  %16 = arith.muli %ldb, %c32_i32 : i32
  %17 = tl.splat %16 : i32 -> tensor<32x64xi32>
  %18:3 = scf.for %_ = %c0_i32 to %k step %c32_i32 iter_args(%at_2 = %at, %bt_3 = %bt, %total = %cst_1) -> (tensor<128x32x!tl.ptr<f16>>, tensor<32x64x!tl.ptr<f16>>, tensor<128x64xf32>)  : i32 {
    %25 = tl.load %at_2 : tensor<128x32x!tl.ptr<f16>> -> tensor<128x32xf16>
    %26 = tl.load %bt_3 : tensor<32x64x!tl.ptr<f16>> -> tensor<32x64xf16>
    %total_4 = tl.dot %25, %26, %total : tensor<128x32xf16>, tensor<32x64xf16> -> tensor<128x64xf32>
    %at_5 = tl.addptr %at_2, %cst_0 : tensor<128x32x!tl.ptr<f16>>, tensor<128x32xi32>
    %bt_6 = tl.addptr %bt_3, %17 : tensor<32x64x!tl.ptr<f16>>, tensor<32x64xi32>
    scf.yield %at_5, %bt_6, %total_4 : tensor<128x32x!tl.ptr<f16>>, tensor<32x64x!tl.ptr<f16>>, tensor<128x64xf32>
  }
  %19 = arith.muli %0, %cst : tensor<128x1xi32>
  %20 = tl.splat %c : !tl.ptr<f32> -> tensor<128x1x!tl.ptr<f32>>
  %21 = tl.addptr %20, %19 : tensor<128x1x!tl.ptr<f32>>, tensor<128x1xi32>
  %22 = tl.broadcast %21 : tensor<128x1x!tl.ptr<f32>> -> tensor<128x64x!tl.ptr<f32>>
  %23 = tl.broadcast %13 : tensor<1x64xi32> -> tensor<128x64xi32>
  %24 = tl.addptr %22, %23 : tensor<128x64x!tl.ptr<f32>>, tensor<128x64xi32>
  tl.store %24, %18#2 : tensor<128x64x!tl.ptr<f32>>, tensor<128x64xf32>
  return
}
