// Rectangles of tensors: the recipes of their maps, mbarriers that count the bytes of an iteration's
// copies, one barrier an iteration, a store through shared memory; nothing of it without the full mask, for strides
// that may be odd, for sm_80, or where the module says so.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_90a num-warps=8})' | FileCheck %s
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_80 num-warps=8})' | FileCheck %s --check-prefix=OLD
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_90a num-warps=8 num-stages=1})' | FileCheck %s --check-prefix=ONE
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_90a num-warps=8},tlg-emit)' -o /dev/null | FileCheck %s --check-prefix=PTX

// CHECK-LABEL: func.func @dot(
// CHECK-SAME: tlg.tensor_maps = [{base = "a0", box = array<i64: 64, 128>, contiguous_dim = 1 : i32, element_bytes = 2 : i32, sizes = ["a2 s32", "a2 s32"], strides = ["a2 s32"], swizzle_bytes = 128 : i32},
// CHECK-SAME: {base = "a1", box = array<i64: 64, 64>, {{.*}} sizes = ["a2 s32", "a4 s32 2 * s32"], strides = ["a4 s32 2 * s32"]
// CHECK-SAME: {base = "a5", box = array<i64: 64, 128>
// CHECK: %[[FULL:.*]] = tlg.alloc_shared {offset = 73728 : i32} : <[1], i64, offsets = [], stages = 3>
// CHECK-NEXT: tlg.mbarrier_init %[[FULL]]
// CHECK-NEXT: tlg.fence_async
// CHECK-NEXT: tl.barrier
// CHECK: tlg.mbarrier_expect {{.*}} if
// CHECK: tlg.tma_load 0[{{.*}}] to {{.*}} if
// CHECK: tlg.tma_load 1[{{.*}}] to {{.*}} if
// CHECK: scf.for
// CHECK-NEXT: %[[NOW:.*]] = tlg.stage %[[FULL]]
// CHECK-NEXT: tlg.mbarrier_wait %[[NOW]]
// CHECK-NOT: tl.barrier
// CHECK: tlg.wgmma
// CHECK-NEXT: tlg.wgmma_wait 1
// CHECK-NEXT: tl.barrier
// CHECK: tlg.mbarrier_expect
// CHECK: tlg.tma_load 0
// CHECK: tlg.tma_load 1
// CHECK-NOT: tl.barrier
// CHECK: scf.yield
// CHECK: tlg.local_store
// CHECK-NEXT: tlg.fence_async
// CHECK-NEXT: tl.barrier
// CHECK-NEXT: tlg.tma_store {{.*}} to 2[
// CHECK-NOT: tlg.async_copy

// With one stage copies begin between two barriers at the start of each iteration.
// ONE-LABEL: func.func @dot(
// ONE: tlg.mbarrier_init
// ONE: tlg.mbarrier_init
// ONE: scf.for
// ONE-NEXT: tl.barrier
// ONE-NEXT: tlg.mbarrier_init {{.*}} {again}
// ONE-NEXT: tlg.mbarrier_expect
// ONE-NEXT: tlg.tma_load 0
// ONE-NEXT: tlg.mbarrier_init {{.*}} {again}
// ONE-NEXT: tlg.mbarrier_expect
// ONE-NEXT: tlg.tma_load 1
// ONE-NEXT: tl.barrier
// ONE-NEXT: tlg.mbarrier_wait
// ONE-NEXT: tlg.mbarrier_wait
// ONE-NEXT: tlg.wgmma
// ONE-NEXT: tlg.wgmma_wait 0
// ONE-NEXT: scf.yield

// OLD-NOT: tlg.tma
// OLD: tlg.async_copy

// PTX-LABEL: .entry dot(
// PTX: .param .align 64 .b8 dot_param_6[128],
// PTX-NEXT: .param .align 64 .b8 dot_param_7[128],
// PTX-NEXT: .param .align 64 .b8 dot_param_8[128]
// PTX: mbarrier.init.shared::cta.b64 [{{.*}}], 1;
// PTX: fence.mbarrier_init.release.cluster;
// PTX: fence.proxy.async.shared::cta;
// PTX: bar.sync
// PTX: mbarrier.arrive.expect_tx.shared::cta.b64 _, [{{.*}}], {{.*}};
// PTX: cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [{{.*}}], [{{.*}}, {{[{].*[}]}}], [{{.*}}];
// PTX: mbarrier.try_wait.parity.shared::cta.b64 p
// PTX: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
// PTX: cp.async.bulk.commit_group;
// PTX: cp.async.bulk.wait_group.read 0;
func.func @dot(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %b: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %k: i32 {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}, %half: i32 {tl.divisibility = 16 : i32}, %c: !tl.ptr<f16> {tl.divisibility = 16 : i32}) {
  %c64_i32 = arith.constant 64 : i32
  %c0_i32 = arith.constant 0 : i32
  %c128_i32 = arith.constant 128 : i32
  %c2_i32 = arith.constant 2 : i32
  %cst = arith.constant dense<0> : tensor<64xi64>
  %cst_0 = arith.constant dense<0> : tensor<128xi64>
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<64x64xf16>
  %cst_2 = arith.constant dense<0.000000e+00> : tensor<128x64xf16>
  %cst_3 = arith.constant dense<0.000000e+00> : tensor<128x64xf32>
  %0 = arith.extsi %k : i32 to i64
  %m = arith.muli %half, %c2_i32 : i32
  %1 = arith.extsi %m : i32 to i64
  %2 = arith.extsi %n : i32 to i64
  %3 = tl.program_id 0 : i32
  %i = arith.muli %3, %c128_i32 : i32
  %4 = arith.extsi %i : i32 to i64
  %5 = tl.range 0 to 128 : tensor<128xi32>
  %6 = arith.extsi %5 : tensor<128xi32> to tensor<128xi64>
  %7 = tl.splat %4 : i64 -> tensor<128xi64>
  %8 = arith.addi %7, %6 : tensor<128xi64>
  %9 = tl.splat %0 : i64 -> tensor<128xi64>
  %10 = arith.muli %8, %9 : tensor<128xi64>
  %11 = tl.expand_dims %10 axis 1 : tensor<128xi64> -> tensor<128x1xi64>
  %12 = tl.splat %a : !tl.ptr<f16> -> tensor<128x1x!tl.ptr<f16>>
  %13 = tl.addptr %12, %11 : tensor<128x1x!tl.ptr<f16>>, tensor<128x1xi64>
  %14 = arith.cmpi sge, %8, %cst_0 : tensor<128xi64>
  %15 = arith.cmpi slt, %8, %9 : tensor<128xi64>
  %16 = arith.andi %14, %15 : tensor<128xi1>
  %17 = tl.expand_dims %16 axis 1 : tensor<128xi1> -> tensor<128x1xi1>
  %18 = tl.broadcast %17 : tensor<128x1xi1> -> tensor<128x64xi1>
  %19 = tl.range 0 to 64 : tensor<64xi32>
  %20 = arith.extsi %19 : tensor<64xi32> to tensor<64xi64>
  %21 = tl.broadcast %13 : tensor<128x1x!tl.ptr<f16>> -> tensor<128x64x!tl.ptr<f16>>
  %22 = tl.splat %0 : i64 -> tensor<64xi64>
  %23 = tl.splat %1 : i64 -> tensor<64xi64>
  %24 = tl.splat %b : !tl.ptr<f16> -> tensor<64x1x!tl.ptr<f16>>
  %25 = tl.expand_dims %20 axis 0 : tensor<64xi64> -> tensor<1x64xi64>
  %26 = tl.broadcast %25 : tensor<1x64xi64> -> tensor<64x64xi64>
  %27 = arith.cmpi sge, %20, %cst : tensor<64xi64>
  %28 = arith.cmpi slt, %20, %22 : tensor<64xi64>
  %29 = arith.andi %27, %28 : tensor<64xi1>
  %30 = tl.expand_dims %29 axis 0 : tensor<64xi1> -> tensor<1x64xi1>
  %31 = tl.broadcast %30 : tensor<1x64xi1> -> tensor<64x64xi1>
  %acc = scf.for %d = %c0_i32 to %k step %c64_i32 iter_args(%acc_4 = %cst_3) -> (tensor<128x64xf32>)  : i32 {
    %47 = arith.extsi %d : i32 to i64
    %48 = tl.splat %47 : i64 -> tensor<64xi64>
    %49 = arith.addi %48, %20 : tensor<64xi64>
    %50 = tl.expand_dims %49 axis 0 : tensor<64xi64> -> tensor<1x64xi64>
    %51 = tl.broadcast %50 : tensor<1x64xi64> -> tensor<128x64xi64>
    %52 = tl.addptr %21, %51 : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi64>
    %53 = arith.cmpi sge, %49, %cst : tensor<64xi64>
    %54 = arith.cmpi slt, %49, %22 : tensor<64xi64>
    %55 = arith.andi %53, %54 : tensor<64xi1>
    %56 = tl.expand_dims %55 axis 0 : tensor<64xi1> -> tensor<1x64xi1>
    %57 = tl.broadcast %56 : tensor<1x64xi1> -> tensor<128x64xi1>
    %58 = arith.andi %18, %57 : tensor<128x64xi1>
    %59 = tl.load %52 mask %58 : tensor<128x64xi1> other %cst_2 : tensor<128x64xf16> : tensor<128x64x!tl.ptr<f16>> -> tensor<128x64xf16>
    %60 = arith.muli %49, %23 : tensor<64xi64>
    %61 = tl.expand_dims %60 axis 1 : tensor<64xi64> -> tensor<64x1xi64>
    %62 = tl.addptr %24, %61 : tensor<64x1x!tl.ptr<f16>>, tensor<64x1xi64>
    %63 = arith.cmpi slt, %49, %23 : tensor<64xi64>
    %64 = arith.andi %53, %63 : tensor<64xi1>
    %65 = tl.expand_dims %64 axis 1 : tensor<64xi1> -> tensor<64x1xi1>
    %66 = tl.broadcast %65 : tensor<64x1xi1> -> tensor<64x64xi1>
    %67 = tl.broadcast %62 : tensor<64x1x!tl.ptr<f16>> -> tensor<64x64x!tl.ptr<f16>>
    %68 = tl.addptr %67, %26 : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi64>
    %69 = arith.andi %66, %31 : tensor<64x64xi1>
    %70 = tl.load %68 mask %69 : tensor<64x64xi1> other %cst_1 : tensor<64x64xf16> : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
    %acc_5 = tl.dot %59, %70, %acc_4 : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %acc_5 : tensor<128x64xf32>
  }
  %32 = tl.fp_cast %acc : tensor<128x64xf32> -> tensor<128x64xf16>
  %33 = tl.splat %2 : i64 -> tensor<128xi64>
  %34 = arith.muli %8, %33 : tensor<128xi64>
  %35 = tl.expand_dims %34 axis 1 : tensor<128xi64> -> tensor<128x1xi64>
  %36 = tl.splat %c : !tl.ptr<f16> -> tensor<128x1x!tl.ptr<f16>>
  %37 = tl.addptr %36, %35 : tensor<128x1x!tl.ptr<f16>>, tensor<128x1xi64>
  %38 = tl.broadcast %37 : tensor<128x1x!tl.ptr<f16>> -> tensor<128x64x!tl.ptr<f16>>
  %39 = tl.broadcast %25 : tensor<1x64xi64> -> tensor<128x64xi64>
  %40 = tl.addptr %38, %39 : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi64>
  %41 = tl.splat %2 : i64 -> tensor<64xi64>
  %42 = arith.cmpi slt, %20, %41 : tensor<64xi64>
  %43 = arith.andi %27, %42 : tensor<64xi1>
  %44 = tl.expand_dims %43 axis 0 : tensor<64xi1> -> tensor<1x64xi1>
  %45 = tl.broadcast %44 : tensor<1x64xi1> -> tensor<128x64xi1>
  %46 = arith.andi %18, %45 : tensor<128x64xi1>
  tl.store %40, %32 mask %46 : tensor<128x64xi1> : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xf16>
  return
}


// The same in one dimension, by hand.
// CHECK-LABEL: func.func @full_mask(
// CHECK: tlg.tma_store {{.*}} to 0[
// CHECK-NEXT: tlg.tma_store_wait{{$}}
func.func @full_mask(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}) {
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0> : tensor<64xi64>
  %value = arith.constant dense<1.0> : tensor<64xf32>
  %range = tl.range 0 to 64 : tensor<64xi32>
  %range64 = arith.extsi %range : tensor<64xi32> to tensor<64xi64>
  %pid = tl.program_id 0 : i32
  %start = arith.muli %pid, %c64 : i32
  %size = arith.extsi %n : i32 to i64
  %sizes = tl.splat %size : i64 -> tensor<64xi64>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<64x!tl.ptr<f32>>
  %start64 = arith.extsi %start : i32 to i64
  %starts = tl.splat %start64 : i64 -> tensor<64xi64>
  %index = arith.addi %starts, %range64 : tensor<64xi64>
  %below = arith.cmpi slt, %index, %sizes : tensor<64xi64>
  %above = arith.cmpi sge, %index, %zero : tensor<64xi64>
  %mask = arith.andi %above, %below : tensor<64xi1>
  %pointers = tl.addptr %base, %index : tensor<64x!tl.ptr<f32>>, tensor<64xi64>
  tl.store %pointers, %value mask %mask : tensor<64xi1> : tensor<64x!tl.ptr<f32>>, tensor<64xf32>
  return
}

// Something may look at what was stored: the store is complete before.
// CHECK-LABEL: func.func @looked_at(
// CHECK: tlg.tma_store {{.*}} to 0[
// CHECK-NEXT: tlg.tma_store_wait {completes}
func.func @looked_at(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}) {
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0> : tensor<64xi64>
  %value = arith.constant dense<1.0> : tensor<64xf32>
  %range = tl.range 0 to 64 : tensor<64xi32>
  %range64 = arith.extsi %range : tensor<64xi32> to tensor<64xi64>
  %pid = tl.program_id 0 : i32
  %start = arith.muli %pid, %c64 : i32
  %size = arith.extsi %n : i32 to i64
  %sizes = tl.splat %size : i64 -> tensor<64xi64>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<64x!tl.ptr<f32>>
  %start64 = arith.extsi %start : i32 to i64
  %starts = tl.splat %start64 : i64 -> tensor<64xi64>
  %index = arith.addi %starts, %range64 : tensor<64xi64>
  %below = arith.cmpi slt, %index, %sizes : tensor<64xi64>
  %above = arith.cmpi sge, %index, %zero : tensor<64xi64>
  %mask = arith.andi %above, %below : tensor<64xi1>
  %pointers = tl.addptr %base, %index : tensor<64x!tl.ptr<f32>>, tensor<64xi64>
  tl.store %pointers, %value mask %mask : tensor<64xi1> : tensor<64x!tl.ptr<f32>>, tensor<64xf32>
  tl.barrier
  %scalar = tl.load %x : !tl.ptr<f32> -> f32
  tl.store %x, %scalar : !tl.ptr<f32>, f32
  return
}

// A start may be negative, where pointers do not stop.
// CHECK-LABEL: func.func @only_below(
// CHECK-NOT: tlg.tma_store
func.func @only_below(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}) {
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0> : tensor<64xi64>
  %value = arith.constant dense<1.0> : tensor<64xf32>
  %range = tl.range 0 to 64 : tensor<64xi32>
  %range64 = arith.extsi %range : tensor<64xi32> to tensor<64xi64>
  %pid = tl.program_id 0 : i32
  %start = arith.muli %pid, %c64 : i32
  %size = arith.extsi %n : i32 to i64
  %sizes = tl.splat %size : i64 -> tensor<64xi64>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<64x!tl.ptr<f32>>
  %start64 = arith.extsi %start : i32 to i64
  %starts = tl.splat %start64 : i64 -> tensor<64xi64>
  %index = arith.addi %starts, %range64 : tensor<64xi64>
  %below = arith.cmpi slt, %index, %sizes : tensor<64xi64>
  %true = arith.constant true
  %all = tl.splat %true : i1 -> tensor<64xi1>
  %mask = arith.andi %all, %below : tensor<64xi1>
  %pointers = tl.addptr %base, %index : tensor<64x!tl.ptr<f32>>, tensor<64xi64>
  tl.store %pointers, %value mask %mask : tensor<64xi1> : tensor<64x!tl.ptr<f32>>, tensor<64xf32>
  return
}

// The sum may wrap in 32 bits.
// CHECK-LABEL: func.func @narrow(
// CHECK-NOT: tlg.tma_store
func.func @narrow(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}) {
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0> : tensor<64xi64>
  %value = arith.constant dense<1.0> : tensor<64xf32>
  %range = tl.range 0 to 64 : tensor<64xi32>
  %range64 = arith.extsi %range : tensor<64xi32> to tensor<64xi64>
  %pid = tl.program_id 0 : i32
  %start = arith.muli %pid, %c64 : i32
  %size = arith.extsi %n : i32 to i64
  %sizes = tl.splat %size : i64 -> tensor<64xi64>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<64x!tl.ptr<f32>>
  %starts = tl.splat %start : i32 -> tensor<64xi32>
  %sum = arith.addi %starts, %range : tensor<64xi32>
  %index = arith.extsi %sum : tensor<64xi32> to tensor<64xi64>
  %below = arith.cmpi slt, %index, %sizes : tensor<64xi64>
  %above = arith.cmpi sge, %index, %zero : tensor<64xi64>
  %mask = arith.andi %above, %below : tensor<64xi1>
  %pointers = tl.addptr %base, %index : tensor<64x!tl.ptr<f32>>, tensor<64xi64>
  tl.store %pointers, %value mask %mask : tensor<64xi1> : tensor<64x!tl.ptr<f32>>, tensor<64xf32>
  return
}

// CHECK-LABEL: func.func @odd_address(
// CHECK-NOT: tlg.tma_store
func.func @odd_address(%x: !tl.ptr<f32> {tl.divisibility = 8 : i32}, %n: i32 {tl.divisibility = 16 : i32}) {
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0> : tensor<64xi64>
  %value = arith.constant dense<1.0> : tensor<64xf32>
  %range = tl.range 0 to 64 : tensor<64xi32>
  %range64 = arith.extsi %range : tensor<64xi32> to tensor<64xi64>
  %pid = tl.program_id 0 : i32
  %start = arith.muli %pid, %c64 : i32
  %size = arith.extsi %n : i32 to i64
  %sizes = tl.splat %size : i64 -> tensor<64xi64>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<64x!tl.ptr<f32>>
  %start64 = arith.extsi %start : i32 to i64
  %starts = tl.splat %start64 : i64 -> tensor<64xi64>
  %index = arith.addi %starts, %range64 : tensor<64xi64>
  %below = arith.cmpi slt, %index, %sizes : tensor<64xi64>
  %above = arith.cmpi sge, %index, %zero : tensor<64xi64>
  %mask = arith.andi %above, %below : tensor<64xi1>
  %pointers = tl.addptr %base, %index : tensor<64x!tl.ptr<f32>>, tensor<64xi64>
  tl.store %pointers, %value mask %mask : tensor<64xi1> : tensor<64x!tl.ptr<f32>>, tensor<64xf32>
  return
}
