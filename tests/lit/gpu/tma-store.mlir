// Tiles that TMA could store.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_90a num-warps=4})' | FileCheck %s

// Not those that threads hold as whole lines of memory: they store them as fast themselves.
// CHECK-LABEL: func.func @copy(
// CHECK-NOT: tlg.alloc_shared
// CHECK: tl.store
// CHECK-NEXT: return
func.func @copy(%x: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %m: i32 {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}, %s: i32 {tl.divisibility = 16 : i32}) {
  %c16_i32 = arith.constant 16 : i32
  %cst = arith.constant dense<0> : tensor<64xi64>
  %cst_0 = arith.constant dense<0> : tensor<16xi64>
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<16x64xf16>
  %0 = tl.program_id 0 : i32
  %i = arith.muli %0, %c16_i32 : i32
  %1 = arith.extsi %m : i32 to i64
  %2 = arith.extsi %n : i32 to i64
  %3 = arith.extsi %s : i32 to i64
  %4 = arith.extsi %i : i32 to i64
  %5 = tl.range 0 to 16 : tensor<16xi32>
  %6 = arith.extsi %5 : tensor<16xi32> to tensor<16xi64>
  %7 = tl.splat %4 : i64 -> tensor<16xi64>
  %8 = arith.addi %7, %6 : tensor<16xi64>
  %9 = tl.splat %3 : i64 -> tensor<16xi64>
  %10 = arith.muli %8, %9 : tensor<16xi64>
  %11 = tl.expand_dims %10 axis 1 : tensor<16xi64> -> tensor<16x1xi64>
  %12 = tl.splat %x : !tl.ptr<f16> -> tensor<16x1x!tl.ptr<f16>>
  %13 = tl.addptr %12, %11 : tensor<16x1x!tl.ptr<f16>>, tensor<16x1xi64>
  %14 = arith.cmpi sge, %8, %cst_0 : tensor<16xi64>
  %15 = tl.splat %1 : i64 -> tensor<16xi64>
  %16 = arith.cmpi slt, %8, %15 : tensor<16xi64>
  %17 = arith.andi %14, %16 : tensor<16xi1>
  %18 = tl.expand_dims %17 axis 1 : tensor<16xi1> -> tensor<16x1xi1>
  %19 = tl.broadcast %18 : tensor<16x1xi1> -> tensor<16x64xi1>
  %20 = tl.range 0 to 64 : tensor<64xi32>
  %21 = arith.extsi %20 : tensor<64xi32> to tensor<64xi64>
  %22 = tl.expand_dims %21 axis 0 : tensor<64xi64> -> tensor<1x64xi64>
  %23 = tl.broadcast %13 : tensor<16x1x!tl.ptr<f16>> -> tensor<16x64x!tl.ptr<f16>>
  %24 = tl.broadcast %22 : tensor<1x64xi64> -> tensor<16x64xi64>
  %25 = tl.addptr %23, %24 : tensor<16x64x!tl.ptr<f16>>, tensor<16x64xi64>
  %26 = arith.cmpi sge, %21, %cst : tensor<64xi64>
  %27 = tl.splat %2 : i64 -> tensor<64xi64>
  %28 = arith.cmpi slt, %21, %27 : tensor<64xi64>
  %29 = arith.andi %26, %28 : tensor<64xi1>
  %30 = tl.expand_dims %29 axis 0 : tensor<64xi1> -> tensor<1x64xi1>
  %31 = tl.broadcast %30 : tensor<1x64xi1> -> tensor<16x64xi1>
  %32 = arith.andi %19, %31 : tensor<16x64xi1>
  %v = tl.load %25 mask %32 : tensor<16x64xi1> other %cst_1 : tensor<16x64xf16> : tensor<16x64x!tl.ptr<f16>> -> tensor<16x64xf16>
  %33 = arith.mulf %v, %v : tensor<16x64xf16>
  %34 = tl.splat %y : !tl.ptr<f16> -> tensor<16x1x!tl.ptr<f16>>
  %35 = tl.addptr %34, %11 : tensor<16x1x!tl.ptr<f16>>, tensor<16x1xi64>
  %36 = tl.broadcast %35 : tensor<16x1x!tl.ptr<f16>> -> tensor<16x64x!tl.ptr<f16>>
  %37 = tl.addptr %36, %24 : tensor<16x64x!tl.ptr<f16>>, tensor<16x64xi64>
  tl.store %37, %33 mask %32 : tensor<16x64xi1> : tensor<16x64x!tl.ptr<f16>>, tensor<16x64xf16>
  return
}
