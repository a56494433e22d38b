// A long loop over rows that stores: its pointers, which are the same in all threads, are bumped as
// such, and a thread's columns are added in each iteration. A thread has registers for loads, and
// they begin together.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_90a num-warps=8 num-stages=2},tlg-emit)' -o /dev/null | FileCheck %s

// CHECK-LABEL: .entry rows(
// CHECK: mul.wide.u32 [[COLUMNS:%rd[0-9]+]], %r{{[0-9]+}}, 16;
// CHECK: $L__BB0_{{[0-9]+}}:
// CHECK: add.s64 [[X:%rd[0-9]+]], {{%rd[0-9]+}}, [[COLUMNS]];
// CHECK: ld.global{{.*}}{{\[}}[[X]]]
// CHECK: add.s64 [[Y:%rd[0-9]+]], {{%rd[0-9]+}}, [[COLUMNS]];
// CHECK: ld.global{{.*}}{{\[}}[[Y]]]
// CHECK: add.s64 [[Z:%rd[0-9]+]], {{%rd[0-9]+}}, [[COLUMNS]];
// CHECK: st.global{{.*}}{{\[}}[[Z]]]
// CHECK: bra
func.func @rows(%a: !tl.ptr<bf16> {tl.divisibility = 16 : i32}, %b: !tl.ptr<bf16> {tl.divisibility = 16 : i32}, %c: !tl.ptr<bf16> {tl.divisibility = 16 : i32}, %columns: i32 {tl.divisibility = 16 : i32}, %rows: i32, %aStride: i32 {tl.divisibility = 16 : i32}, %bStride: i32 {tl.divisibility = 16 : i32}, %cStride: i32 {tl.divisibility = 16 : i32}) {
  %c1 = arith.constant 1 : i64
  %none = arith.constant dense<0.000000e+00> : tensor<4096xbf16>
  %one = arith.constant dense<1.000000e+00> : tensor<4096xf32>
  %program = tl.program_id 0 : i32
  %first = arith.extsi %program : i32 to i64
  %wideRows = arith.extsi %rows : i32 to i64
  %begin = arith.muli %first, %wideRows : i64
  %next = arith.addi %first, %c1 : i64
  %end = arith.muli %next, %wideRows : i64
  %range = tl.range 0 to 4096 : tensor<4096xi32>
  %0 = tl.splat %columns : i32 -> tensor<4096xi32>
  %mask = arith.cmpi slt, %range, %0 : tensor<4096xi32>
  %aWide = arith.extsi %aStride : i32 to i64
  %bWide = arith.extsi %bStride : i32 to i64
  %cWide = arith.extsi %cStride : i32 to i64
  %aRows = arith.muli %begin, %aWide : i64
  %bRows = arith.muli %begin, %bWide : i64
  %cRows = arith.muli %begin, %cWide : i64
  %aFirst = tl.addptr %a, %aRows : !tl.ptr<bf16>, i64
  %bFirst = tl.addptr %b, %bRows : !tl.ptr<bf16>, i64
  %cFirst = tl.addptr %c, %cRows : !tl.ptr<bf16>, i64
  %last:3 = scf.for %i = %begin to %end step %c1 iter_args(%x = %aFirst, %y = %bFirst, %z = %cFirst) -> (!tl.ptr<bf16>, !tl.ptr<bf16>, !tl.ptr<bf16>) : i64 {
    %1 = tl.splat %x : !tl.ptr<bf16> -> tensor<4096x!tl.ptr<bf16>>
    %2 = tl.addptr %1, %range : tensor<4096x!tl.ptr<bf16>>, tensor<4096xi32>
    %3 = tl.load %2 mask %mask : tensor<4096xi1> other %none : tensor<4096xbf16> : tensor<4096x!tl.ptr<bf16>> -> tensor<4096xbf16>
    %4 = tl.splat %y : !tl.ptr<bf16> -> tensor<4096x!tl.ptr<bf16>>
    %5 = tl.addptr %4, %range : tensor<4096x!tl.ptr<bf16>>, tensor<4096xi32>
    %6 = tl.load %5 mask %mask : tensor<4096xi1> other %none : tensor<4096xbf16> : tensor<4096x!tl.ptr<bf16>> -> tensor<4096xbf16>
    %7 = tl.fp_cast %3 : tensor<4096xbf16> -> tensor<4096xf32>
    %8 = tl.fp_cast %6 : tensor<4096xbf16> -> tensor<4096xf32>
    %9 = math.exp %7 : tensor<4096xf32>
    %10 = arith.addf %9, %one : tensor<4096xf32>
    %11 = arith.divf %7, %10 : tensor<4096xf32>
    %12 = arith.mulf %11, %8 : tensor<4096xf32>
    %13 = tl.fp_cast %12 : tensor<4096xf32> -> tensor<4096xbf16>
    %14 = tl.splat %z : !tl.ptr<bf16> -> tensor<4096x!tl.ptr<bf16>>
    %15 = tl.addptr %14, %range : tensor<4096x!tl.ptr<bf16>>, tensor<4096xi32>
    tl.store %15, %13 mask %mask : tensor<4096xi1> : tensor<4096x!tl.ptr<bf16>>, tensor<4096xbf16>
    %xNext = tl.addptr %x, %aStride : !tl.ptr<bf16>, i32
    %yNext = tl.addptr %y, %bStride : !tl.ptr<bf16>, i32
    %zNext = tl.addptr %z, %cStride : !tl.ptr<bf16>, i32
    scf.yield %xNext, %yNext, %zNext : !tl.ptr<bf16>, !tl.ptr<bf16>, !tl.ptr<bf16>
  }
  return
}
