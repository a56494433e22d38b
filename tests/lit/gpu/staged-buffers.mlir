// Operands that are computed in a loop: one buffer for the two dots that read it, and one for the
// next dot, in bytes of its own, as there is room. The barrier before each is written goes, because
// another one comes before it. In the same bytes, the second one's stays, as other threads may still
// read the first one's.
// RUN: blk-opt %s --tlg-pipeline='arch=sm_90a num-stages=2' | FileCheck %s
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_90a num-stages=2},tlg-emit)' -o /dev/null | FileCheck %s --check-prefix=PTX
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_90a},cse,tlg-stage-operands,tlg-place-shared)' | FileCheck %s --check-prefix=SAME

// CHECK-COUNT-2: tlg.alloc_shared {{.*}}stages = 2>
// CHECK: scf.for
// CHECK: tl.barrier{{$}}
// CHECK: %[[TWICE:.*]] = tlg.alloc_shared {offset = [[OFFSET:16384]] : i32}
// CHECK-NEXT: tl.barrier {tlg.covered}
// CHECK-NEXT: tlg.local_store %{{.*}}, %[[TWICE]]
// CHECK: tl.barrier{{$}}
// CHECK: tlg.wgmma %{{.*}}, %[[TWICE]],
// CHECK-NOT: tlg.local_store
// CHECK: tlg.wgmma %{{.*}}, %[[TWICE]],
// CHECK: tlg.wgmma_wait 0
// CHECK: %[[SECOND:.*]] = tlg.alloc_shared {offset = 20480 : i32, tlg.apart}
// CHECK-NEXT: tl.barrier {tlg.covered}
// CHECK-NEXT: tlg.local_store %{{.*}}, %[[SECOND]]
// CHECK: tl.barrier{{$}}
// CHECK: tlg.wgmma %{{.*}}, %[[SECOND]],
// CHECK: scf.yield

// SAME: %[[FIRST:.*]] = tlg.alloc_shared {offset = [[BYTES:[0-9]+]] : i32}
// SAME: tlg.local_store %{{.*}}, %[[FIRST]]
// SAME: %[[SECOND:.*]] = tlg.alloc_shared {offset = [[BYTES]] : i32}
// SAME-NEXT: tl.barrier{{$}}
// SAME-NEXT: tlg.local_store %{{.*}}, %[[SECOND]]

// PTX: cp.async.wait_group
// PTX: bar.sync
// PTX-NOT: bar.sync
// PTX: st{{.*}}shared
// PTX: bar.sync
// PTX: wgmma.mma_async
func.func @staged(%a_ptr: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %b_ptr: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %out_ptr: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %k: i32 {tl.divisibility = 16 : i32}) {
  %c32_i32 = arith.constant 32 : i32
  %c0_i32 = arith.constant 0 : i32
  %cst = arith.constant dense<64> : tensor<64x1xi32>
  %cst_0 = arith.constant dense<2.000000e+00> : tensor<64x32xf16>
  %cst_1 = arith.constant dense<64> : tensor<32x1xi32>
  %cst_2 = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  %i = tl.range 0 to 64 : tensor<64xi32>
  %steps = tl.range 0 to 32 : tensor<32xi32>
  %0 = tl.expand_dims %i axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %1 = tl.splat %k : i32 -> tensor<64x1xi32>
  %2 = arith.muli %0, %1 : tensor<64x1xi32>
  %3 = tl.splat %a_ptr : !tl.ptr<f16> -> tensor<64x1x!tl.ptr<f16>>
  %4 = tl.addptr %3, %2 : tensor<64x1x!tl.ptr<f16>>, tensor<64x1xi32>
  %5 = tl.broadcast %4 : tensor<64x1x!tl.ptr<f16>> -> tensor<64x32x!tl.ptr<f16>>
  %6 = tl.splat %b_ptr : !tl.ptr<f16> -> tensor<32x1x!tl.ptr<f16>>
  %7 = tl.expand_dims %i axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %8 = tl.broadcast %7 : tensor<1x64xi32> -> tensor<32x64xi32>
  %total = scf.for %start = %c0_i32 to %k step %c32_i32 iter_args(%total_3 = %cst_2) -> (tensor<64x64xf32>)  : i32 {
    %15 = tl.splat %start : i32 -> tensor<32xi32>
    %16 = arith.addi %15, %steps : tensor<32xi32>
    %17 = tl.expand_dims %16 axis 0 : tensor<32xi32> -> tensor<1x32xi32>
    %18 = tl.broadcast %17 : tensor<1x32xi32> -> tensor<64x32xi32>
    %19 = tl.addptr %5, %18 : tensor<64x32x!tl.ptr<f16>>, tensor<64x32xi32>
    %a = tl.load %19 : tensor<64x32x!tl.ptr<f16>> -> tensor<64x32xf16>
    %20 = tl.expand_dims %16 axis 1 : tensor<32xi32> -> tensor<32x1xi32>
    %21 = arith.muli %20, %cst_1 : tensor<32x1xi32>
    %22 = tl.addptr %6, %21 : tensor<32x1x!tl.ptr<f16>>, tensor<32x1xi32>
    %23 = tl.broadcast %22 : tensor<32x1x!tl.ptr<f16>> -> tensor<32x64x!tl.ptr<f16>>
    %24 = tl.addptr %23, %8 : tensor<32x64x!tl.ptr<f16>>, tensor<32x64xi32>
    %b = tl.load %24 : tensor<32x64x!tl.ptr<f16>> -> tensor<32x64xf16>
    %twice = arith.addf %b, %b : tensor<32x64xf16>
    %one = tl.dot %a, %twice, %cst_2 {input_precision = "tf32"} : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
    %25 = arith.mulf %a, %cst_0 : tensor<64x32xf16>
    %two = tl.dot %25, %twice, %cst_2 {input_precision = "tf32"} : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
    %26 = tl.fp_cast %one : tensor<64x64xf32> -> tensor<64x64xf16>
    %27 = tl.fp_cast %two : tensor<64x64xf32> -> tensor<64x64xf16>
    %28 = tl.dot %26, %27, %cst_2 {input_precision = "tf32"} : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %total_4 = arith.addf %total_3, %28 : tensor<64x64xf32>
    scf.yield %total_4 : tensor<64x64xf32>
  }
  %9 = arith.muli %0, %cst : tensor<64x1xi32>
  %10 = tl.splat %out_ptr : !tl.ptr<f32> -> tensor<64x1x!tl.ptr<f32>>
  %11 = tl.addptr %10, %9 : tensor<64x1x!tl.ptr<f32>>, tensor<64x1xi32>
  %12 = tl.broadcast %11 : tensor<64x1x!tl.ptr<f32>> -> tensor<64x64x!tl.ptr<f32>>
  %13 = tl.broadcast %7 : tensor<1x64xi32> -> tensor<64x64xi32>
  %14 = tl.addptr %12, %13 : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  tl.store %14, %total : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}

