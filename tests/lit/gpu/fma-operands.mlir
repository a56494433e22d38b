// Dots in 'ieee', which threads multiply by themselves, read shared memory as copies leave it. What
// is made before the loop is put there once; what an iteration computes has one barrier of its own,
// as the ring's covers what was there before.
// RUN: blk-opt %s --tlg-pipeline='arch=sm_90a num-stages=2 num-warps=4' | FileCheck %s
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_90a num-stages=2 num-warps=4},tlg-emit)' -o /dev/null | FileCheck %s --check-prefix=PTX

// CHECK: %[[Q:.*]] = tlg.alloc_shared
// CHECK: tlg.local_store %{{.*}}, %[[Q]]
// CHECK: %[[RING:.*]] = tlg.alloc_shared {{.*}}stages = 2>
// CHECK: scf.for
// CHECK-NOT: tlg.local_
// CHECK: %[[K:.*]] = tlg.stage %[[RING]]
// CHECK-NOT: tlg.local_
// CHECK: tlg.fma %[[Q]], %[[K]],
// CHECK: %[[WEIGHTS:.*]] = tlg.alloc_shared
// CHECK-NEXT: tl.barrier {tlg.covered}
// CHECK-NEXT: tlg.local_store %{{.*}}, %[[WEIGHTS]]
// CHECK-NEXT: tl.barrier{{$}}
// CHECK-NEXT: tlg.fma %[[WEIGHTS]], %[[K]],
// CHECK: scf.yield

// PTX: cp.async.wait_group
// PTX: bar.sync
// PTX: ld.shared.v4.b32
// PTX: fma.rn.f32
// PTX: st.shared.v4.b32
// PTX: bar.sync
// PTX-NOT: bar.sync
// PTX: ld.shared.v4.b32
// PTX: fma.rn.f32
func.func @exact(%q_ptr: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %k_ptr: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %out_ptr: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %c256_i32 = arith.constant 256 : i32
  %c0_i32 = arith.constant 0 : i32
  %c32_i32 = arith.constant 32 : i32
  %cst = arith.constant dense<0.000000e+00> : tensor<32x32xf32>
  %cst_0 = arith.constant dense<2.000000e+00> : tensor<32x32xf32>
  %cst_1 = arith.constant dense<32> : tensor<32x1xi32>
  %i = tl.range 0 to 32 : tensor<32xi32>
  %0 = tl.expand_dims %i axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %1 = arith.muli %0, %cst_1 : tensor<32x1xi32>
  %2 = tl.expand_dims %i axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %3 = tl.broadcast %1 : tensor<32x1xi32> -> tensor<32x32xi32>
  %4 = tl.broadcast %2 : tensor<1x32xi32> -> tensor<32x32xi32>
  %at = arith.addi %3, %4 : tensor<32x32xi32>
  %5 = tl.splat %q_ptr : !tl.ptr<f32> -> tensor<32x32x!tl.ptr<f32>>
  %6 = tl.addptr %5, %at : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xi32>
  %7 = tl.load %6 : tensor<32x32x!tl.ptr<f32>> -> tensor<32x32xf32>
  %q = arith.mulf %7, %cst_0 : tensor<32x32xf32>
  %total = scf.for %start = %c0_i32 to %c256_i32 step %c32_i32 iter_args(%total_2 = %cst) -> (tensor<32x32xf32>)  : i32 {
    %10 = arith.muli %start, %c32_i32 : i32
    %11 = tl.addptr %k_ptr, %10 : !tl.ptr<f32>, i32
    %12 = tl.splat %11 : !tl.ptr<f32> -> tensor<32x32x!tl.ptr<f32>>
    %13 = tl.addptr %12, %at : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xi32>
    %k = tl.load %13 : tensor<32x32x!tl.ptr<f32>> -> tensor<32x32xf32>
    %scores = tl.dot %q, %k, %cst : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
    %14 = math.exp2 %scores : tensor<32x32xf32>
    %total_3 = tl.dot %14, %k, %total_2 : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
    scf.yield %total_3 : tensor<32x32xf32>
  }
  %8 = tl.splat %out_ptr : !tl.ptr<f32> -> tensor<32x32x!tl.ptr<f32>>
  %9 = tl.addptr %8, %at : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xi32>
  tl.store %9, %total : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xf32>
  return
}
