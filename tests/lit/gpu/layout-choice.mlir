// Which layouts are chosen, and where one is converted.
// RUN: blk-opt %s --split-input-file --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_80},cse)' | FileCheck %s

// The load has rows in lanes, the store columns. One conversion between them; the index arithmetic
// is made in both layouts and never converted.
// CHECK: #[[ROWS:layout[0-9]*]] = #tlg.layout<registers = [1, 2, 512, 1024, 2048], lanes = [4, 8, 16, 32, 64], warps = [128, 256]>
// CHECK: #[[COLUMNS:layout[0-9]*]] = #tlg.layout<registers = [64, 128, 8, 16, 32], lanes = [256, 512, 1024, 2048, 1], warps = [2, 4]>
// CHECK-LABEL: func.func @transposed(
// CHECK-COUNT-2: tl.range 0 to 64
// CHECK-NOT: tl.range
// CHECK-NOT: tlg.convert_layout
// CHECK: %[[V:.*]] = tl.load {{.*}} -> tensor<64x64xf32, #[[ROWS]]>
// CHECK: %[[C:.*]] = tlg.convert_layout %[[V]] : tensor<64x64xf32, #[[ROWS]]> -> tensor<64x64xf32, #[[COLUMNS]]>
// CHECK-NOT: tlg.convert_layout
// CHECK: tl.store {{.*}}, %[[C]]
func.func @transposed(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %cst = arith.constant dense<64> : tensor<1x64xi32>
  %cst_0 = arith.constant dense<64> : tensor<64x1xi32>
  %i = tl.range 0 to 64 : tensor<64xi32>
  %0 = tl.expand_dims %i axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %1 = arith.muli %0, %cst_0 : tensor<64x1xi32>
  %2 = tl.splat %x : !tl.ptr<f32> -> tensor<64x1x!tl.ptr<f32>>
  %3 = tl.addptr %2, %1 : tensor<64x1x!tl.ptr<f32>>, tensor<64x1xi32>
  %4 = tl.expand_dims %i axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %5 = tl.broadcast %3 : tensor<64x1x!tl.ptr<f32>> -> tensor<64x64x!tl.ptr<f32>>
  %6 = tl.broadcast %4 : tensor<1x64xi32> -> tensor<64x64xi32>
  %7 = tl.addptr %5, %6 : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %v = tl.load %7 : tensor<64x64x!tl.ptr<f32>> -> tensor<64x64xf32>
  %8 = arith.muli %4, %cst : tensor<1x64xi32>
  %9 = tl.splat %y : !tl.ptr<f32> -> tensor<1x64x!tl.ptr<f32>>
  %10 = tl.addptr %9, %8 : tensor<1x64x!tl.ptr<f32>>, tensor<1x64xi32>
  %11 = tl.broadcast %10 : tensor<1x64x!tl.ptr<f32>> -> tensor<64x64x!tl.ptr<f32>>
  %12 = tl.broadcast %0 : tensor<64x1xi32> -> tensor<64x64xi32>
  %13 = tl.addptr %11, %12 : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  tl.store %13, %v : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// The result of a reduction has its operand's layout without the axis: the lanes along it hold
// copies, so that it is broadcast again without a thread asking another one.
// CHECK: #[[SLICE:layout[0-9]*]] = #tlg.layout<registers = [8, 16, 32], lanes = [0, 0, 0, 0, 1], warps = [2, 4]>
// CHECK: #[[BLOCK:layout[0-9]*]] = #tlg.layout<registers = [1, 2, 512, 1024, 2048], lanes = [4, 8, 16, 32, 64], warps = [128, 256]>
// CHECK-LABEL: func.func @reduced(
// CHECK: tl.reduce
// CHECK: } : (tensor<64x64xf32, #[[BLOCK]]>) -> tensor<64xf32, #[[SLICE]]>
// CHECK-NOT: tlg.convert_layout {{.*}}tensor<64xf32
// CHECK: arith.subf {{.*}} : tensor<64x64xf32, #[[BLOCK]]>
func.func @reduced(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}) {
  %i = tl.range 0 to 64 : tensor<64xi32>
  %0 = tl.expand_dims %i axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %1 = tl.splat %n : i32 -> tensor<64x1xi32>
  %2 = arith.muli %0, %1 : tensor<64x1xi32>
  %3 = tl.splat %x : !tl.ptr<f32> -> tensor<64x1x!tl.ptr<f32>>
  %4 = tl.addptr %3, %2 : tensor<64x1x!tl.ptr<f32>>, tensor<64x1xi32>
  %5 = tl.expand_dims %i axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %6 = tl.broadcast %4 : tensor<64x1x!tl.ptr<f32>> -> tensor<64x64x!tl.ptr<f32>>
  %7 = tl.broadcast %5 : tensor<1x64xi32> -> tensor<64x64xi32>
  %8 = tl.addptr %6, %7 : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %v = tl.load %8 : tensor<64x64x!tl.ptr<f32>> -> tensor<64x64xf32>
  %m = tl.reduce %v axis 1 {
  ^bb0(%arg3: f32, %arg4: f32):
    %16 = arith.maxnumf %arg3, %arg4 : f32
    tl.yield %16 : f32
  } : (tensor<64x64xf32>) -> tensor<64xf32>
  %9 = tl.splat %y : !tl.ptr<f32> -> tensor<64x1x!tl.ptr<f32>>
  %10 = tl.addptr %9, %2 : tensor<64x1x!tl.ptr<f32>>, tensor<64x1xi32>
  %11 = tl.broadcast %10 : tensor<64x1x!tl.ptr<f32>> -> tensor<64x64x!tl.ptr<f32>>
  %12 = tl.addptr %11, %7 : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %13 = tl.expand_dims %m axis 1 : tensor<64xf32> -> tensor<64x1xf32>
  %14 = tl.broadcast %13 : tensor<64x1xf32> -> tensor<64x64xf32>
  %15 = arith.subf %v, %14 : tensor<64x64xf32>
  tl.store %12, %15 : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// A loop's variable, what it begins with and what comes after have the layout of the load inside.
// CHECK: #[[LAYOUT:.*]] = #tlg.layout<registers = [1, 2], lanes = [4, 8, 16, 32, 64], warps = [128, 256]>
// CHECK-LABEL: func.func @summed(
// CHECK: arith.constant dense<0.000000e+00> : tensor<512xf32, #[[LAYOUT]]>
// CHECK: scf.for {{.*}} -> (tensor<512xf32, #[[LAYOUT]]>, !tl.ptr<f32>)
// CHECK-NOT: tlg.convert_layout
// CHECK: tl.store {{.*}} tensor<512xf32, #[[LAYOUT]]>
func.func @summed(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %k: i32) {
  %c512_i32 = arith.constant 512 : i32
  %c1_i32 = arith.constant 1 : i32
  %c0_i32 = arith.constant 0 : i32
  %cst = arith.constant dense<0.000000e+00> : tensor<512xf32>
  %i = tl.range 0 to 512 : tensor<512xi32>
  %0:2 = scf.for %_ = %c0_i32 to %k step %c1_i32 iter_args(%total = %cst, %x_0 = %x) -> (tensor<512xf32>, !tl.ptr<f32>)  : i32 {
    %3 = tl.splat %x_0 : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
    %4 = tl.addptr %3, %i : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
    %5 = tl.load %4 : tensor<512x!tl.ptr<f32>> -> tensor<512xf32>
    %total_1 = arith.addf %total, %5 : tensor<512xf32>
    %x_2 = tl.addptr %x_0, %c512_i32 : !tl.ptr<f32>, i32
    scf.yield %total_1, %x_2 : tensor<512xf32>, !tl.ptr<f32>
  }
  %1 = tl.splat %y : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %2 = tl.addptr %1, %i : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
  tl.store %2, %0#0 : tensor<512x!tl.ptr<f32>>, tensor<512xf32>
  return
}

// -----

// What is stored is not made of what is loaded: the load takes the four numbers of 16 bytes a
// thread, though the store takes eight.
// CHECK: #[[FOUR:layout[0-9]*]] = #tlg.layout<registers = [1, 2, 512, 1024, 2048], lanes = [4, 8, 16, 32, 64], warps = [128, 256]>
// CHECK: #[[EIGHT:layout[0-9]*]] = #tlg.layout<registers = [1, 2, 4, 1024, 2048], lanes = [8, 16, 32, 64, 128], warps = [256, 512]>
// CHECK-LABEL: func.func @unrelated(
// CHECK: tl.load {{.*}} -> tensor<4096xi32, #[[FOUR]]>
// CHECK: tl.store {{.*}} tensor<4096xf16, #[[EIGHT]]>
func.func @unrelated(%x: !tl.ptr<i32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %z: !tl.ptr<i32>) {
  %i = tl.range 0 to 4096 : tensor<4096xi32>
  %x_0 = tl.splat %x : !tl.ptr<i32> -> tensor<4096x!tl.ptr<i32>>
  %x_1 = tl.addptr %x_0, %i : tensor<4096x!tl.ptr<i32>>, tensor<4096xi32>
  %v = tl.load %x_1 : tensor<4096x!tl.ptr<i32>> -> tensor<4096xi32>
  %most = tl.reduce %v axis 0 {
  ^bb0(%a: i32, %b: i32):
    %m = arith.maxsi %a, %b : i32
    tl.yield %m : i32
  } : (tensor<4096xi32>) -> i32
  tl.store %z, %most : !tl.ptr<i32>, i32
  %y_0 = tl.splat %y : !tl.ptr<f16> -> tensor<4096x!tl.ptr<f16>>
  %y_1 = tl.addptr %y_0, %i : tensor<4096x!tl.ptr<f16>>, tensor<4096xi32>
  %w = tl.load %y_1 : tensor<4096x!tl.ptr<f16>> -> tensor<4096xf16>
  %sum = arith.addf %w, %w : tensor<4096xf16>
  tl.store %y_1, %sum : tensor<4096x!tl.ptr<f16>>, tensor<4096xf16>
  return
}

// -----

// The sums of a dot whose rows begin anywhere are moved before they are stored, one by one: in the
// layout of mma.sync a warp would touch four times the sectors.
// CHECK-LABEL: func.func @scattered(
// CHECK: %[[SUM:.*]] = tlg.mma
// CHECK: %[[CAST:.*]] = tl.fp_cast %[[SUM]]
// CHECK: %[[C:.*]] = tlg.convert_layout %[[CAST]]
// CHECK: tl.store {{.*}}, %[[C]] {tlg.vector = array<i32: 1, 1>}
func.func @scattered(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>, %n: i32) {
  %x_0 = tl.splat %x : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %a = tl.load %x_0 : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
  %b = tl.load %x_0 : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %sum = tl.dot %a, %b, %none : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  %c = tl.fp_cast %sum : tensor<64x64xf32> -> tensor<64x64xf16>
  %i = tl.range 0 to 64 : tensor<64xi32>
  %0 = tl.expand_dims %i axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %1 = tl.splat %n : i32 -> tensor<64x1xi32>
  %2 = arith.muli %0, %1 : tensor<64x1xi32>
  %3 = tl.splat %y : !tl.ptr<f16> -> tensor<64x1x!tl.ptr<f16>>
  %4 = tl.addptr %3, %2 : tensor<64x1x!tl.ptr<f16>>, tensor<64x1xi32>
  %5 = tl.expand_dims %i axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %6 = tl.broadcast %4 : tensor<64x1x!tl.ptr<f16>> -> tensor<64x64x!tl.ptr<f16>>
  %7 = tl.broadcast %5 : tensor<1x64xi32> -> tensor<64x64xi32>
  %8 = tl.addptr %6, %7 : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  tl.store %8, %c : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xf16>
  return
}

// -----

// A store of 16 bytes a thread leaves no gaps: the load takes as many elements.
// CHECK-LABEL: func.func @widened(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
// CHECK-NOT: tlg.convert_layout
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 4>
func.func @widened(%x: !tl.ptr<f8E4M3FN> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %i = tl.range 0 to 4096 : tensor<4096xi32>
  %x_0 = tl.splat %x : !tl.ptr<f8E4M3FN> -> tensor<4096x!tl.ptr<f8E4M3FN>>
  %x_1 = tl.addptr %x_0, %i : tensor<4096x!tl.ptr<f8E4M3FN>>, tensor<4096xi32>
  %v = tl.load %x_1 : tensor<4096x!tl.ptr<f8E4M3FN>> -> tensor<4096xf8E4M3FN>
  %wide = tl.fp_cast %v : tensor<4096xf8E4M3FN> -> tensor<4096xf32>
  %y_0 = tl.splat %y : !tl.ptr<f32> -> tensor<4096x!tl.ptr<f32>>
  %y_1 = tl.addptr %y_0, %i : tensor<4096x!tl.ptr<f32>>, tensor<4096xi32>
  tl.store %y_1, %wide : tensor<4096x!tl.ptr<f32>>, tensor<4096xf32>
  return
}

// -----

// Two bytes a thread would be too few: sixteen bytes of fp8 become 128 of fp64, of which an
// instruction would touch half of each of 32 sectors, so they are moved.
// CHECK-LABEL: func.func @widened_far(
// CHECK: %[[WIDE:.*]] = tl.fp_cast
// CHECK: %[[ROWS:.*]] = tlg.convert_layout %[[WIDE]]
// CHECK: tl.store {{.*}}, %[[ROWS]] {tlg.vector = array<i32: 0, 2>}
func.func @widened_far(%x: !tl.ptr<f8E4M3FN> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f64> {tl.divisibility = 16 : i32}) {
  %i = tl.range 0 to 4096 : tensor<4096xi32>
  %x_0 = tl.splat %x : !tl.ptr<f8E4M3FN> -> tensor<4096x!tl.ptr<f8E4M3FN>>
  %x_1 = tl.addptr %x_0, %i : tensor<4096x!tl.ptr<f8E4M3FN>>, tensor<4096xi32>
  %v = tl.load %x_1 : tensor<4096x!tl.ptr<f8E4M3FN>> -> tensor<4096xf8E4M3FN>
  %wide = tl.fp_cast %v : tensor<4096xf8E4M3FN> -> tensor<4096xf64>
  %y_0 = tl.splat %y : !tl.ptr<f64> -> tensor<4096x!tl.ptr<f64>>
  %y_1 = tl.addptr %y_0, %i : tensor<4096x!tl.ptr<f64>>, tensor<4096xi32>
  tl.store %y_1, %wide : tensor<4096x!tl.ptr<f64>>, tensor<4096xf64>
  return
}

// -----

// What is combined first lies in a thread (the second dimension, 8), what is combined last in
// lanes and warps: one sum is exchanged, not one for each row.
// CHECK: #[[ROWS:layout[0-9]*]] = #tlg.layout<registers = [1, 2, 1024, 2048, 8], lanes = [4, 16, 32, 64, 128], warps = [256, 512]>
// CHECK-LABEL: func.func @combined_in_turn(
// CHECK: tl.load {{.*}} -> tensor<256x2x8xf32, #[[ROWS]]>
func.func @combined_in_turn(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %cst = arith.constant dense<16> : tensor<256x1x1xi32>
  %cst_0 = arith.constant dense<8> : tensor<1x2x1xi32>
  %rows = tl.range 0 to 256 : tensor<256xi32>
  %halves = tl.range 0 to 2 : tensor<2xi32>
  %columns = tl.range 0 to 8 : tensor<8xi32>
  %0 = tl.expand_dims %rows axis 1 : tensor<256xi32> -> tensor<256x1xi32>
  %1 = tl.expand_dims %0 axis 2 : tensor<256x1xi32> -> tensor<256x1x1xi32>
  %2 = arith.muli %1, %cst : tensor<256x1x1xi32>
  %3 = tl.expand_dims %halves axis 0 : tensor<2xi32> -> tensor<1x2xi32>
  %4 = tl.expand_dims %3 axis 2 : tensor<1x2xi32> -> tensor<1x2x1xi32>
  %5 = arith.muli %4, %cst_0 : tensor<1x2x1xi32>
  %6 = tl.expand_dims %columns axis 0 : tensor<8xi32> -> tensor<1x8xi32>
  %7 = tl.expand_dims %6 axis 1 : tensor<1x8xi32> -> tensor<1x1x8xi32>
  %8 = tl.broadcast %2 : tensor<256x1x1xi32> -> tensor<256x2x8xi32>
  %9 = tl.broadcast %5 : tensor<1x2x1xi32> -> tensor<256x2x8xi32>
  %10 = tl.broadcast %7 : tensor<1x1x8xi32> -> tensor<256x2x8xi32>
  %11 = arith.addi %8, %9 : tensor<256x2x8xi32>
  %12 = arith.addi %11, %10 : tensor<256x2x8xi32>
  %13 = tl.splat %x : !tl.ptr<f32> -> tensor<256x2x8x!tl.ptr<f32>>
  %14 = tl.addptr %13, %12 : tensor<256x2x8x!tl.ptr<f32>>, tensor<256x2x8xi32>
  %v = tl.load %14 : tensor<256x2x8x!tl.ptr<f32>> -> tensor<256x2x8xf32>
  %first = tl.reduce %v axis 1 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tl.yield %s : f32
  } : (tensor<256x2x8xf32>) -> tensor<256x8xf32>
  %last = tl.reduce %first axis 0 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tl.yield %s : f32
  } : (tensor<256x8xf32>) -> tensor<8xf32>
  %15 = tl.splat %y : !tl.ptr<f32> -> tensor<8x!tl.ptr<f32>>
  %16 = tl.addptr %15, %columns : tensor<8x!tl.ptr<f32>>, tensor<8xi32>
  tl.store %16, %last : tensor<8x!tl.ptr<f32>>, tensor<8xf32>
  return
}

// -----

// Two elements a thread of 2 bytes each, 32 of which lie side by side, fill whole sectors one by
// one: they are not moved to be stored together.
// CHECK-LABEL: func.func @stored_one_by_one(
// CHECK-NOT: tlg.convert_layout
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 1>
func.func @stored_one_by_one(%x: !tl.ptr<bf16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<bf16> {tl.divisibility = 16 : i32}) {
  %four = arith.constant dense<4> : tensor<256xi32>
  %i = tl.range 0 to 256 : tensor<256xi32>
  %0 = arith.muli %i, %four : tensor<256xi32>
  %1 = tl.splat %x : !tl.ptr<bf16> -> tensor<256x!tl.ptr<bf16>>
  %2 = tl.addptr %1, %0 : tensor<256x!tl.ptr<bf16>>, tensor<256xi32>
  %v = tl.load %2 : tensor<256x!tl.ptr<bf16>> -> tensor<256xbf16>
  %3 = tl.splat %y : !tl.ptr<bf16> -> tensor<256x!tl.ptr<bf16>>
  %4 = tl.addptr %3, %i : tensor<256x!tl.ptr<bf16>>, tensor<256xi32>
  tl.store %4, %v : tensor<256x!tl.ptr<bf16>>, tensor<256xbf16>
  return
}

// -----

// What a loop loads and stores decides, not what is loaded once before it from every fourth place.
// CHECK-LABEL: func.func @strided_before_a_loop(
// CHECK: scf.for
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 2>
// CHECK-NOT: tlg.convert_layout
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 2>
func.func @strided_before_a_loop(%w: !tl.ptr<bf16> {tl.divisibility = 16 : i32}, %x: !tl.ptr<bf16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<bf16> {tl.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c256 = arith.constant 256 : i32
  %four = arith.constant dense<4> : tensor<256xi32>
  %i = tl.range 0 to 256 : tensor<256xi32>
  %0 = arith.muli %i, %four : tensor<256xi32>
  %1 = tl.splat %w : !tl.ptr<bf16> -> tensor<256x!tl.ptr<bf16>>
  %2 = tl.addptr %1, %0 : tensor<256x!tl.ptr<bf16>>, tensor<256xi32>
  %weights = tl.load %2 : tensor<256x!tl.ptr<bf16>> -> tensor<256xbf16>
  %3 = tl.splat %x : !tl.ptr<bf16> -> tensor<256x!tl.ptr<bf16>>
  %4 = tl.splat %y : !tl.ptr<bf16> -> tensor<256x!tl.ptr<bf16>>
  scf.for %k = %c0 to %n step %c256  : i32 {
    %5 = tl.splat %k : i32 -> tensor<256xi32>
    %6 = arith.addi %5, %i : tensor<256xi32>
    %7 = tl.addptr %3, %6 : tensor<256x!tl.ptr<bf16>>, tensor<256xi32>
    %v = tl.load %7 : tensor<256x!tl.ptr<bf16>> -> tensor<256xbf16>
    %product = arith.mulf %v, %weights : tensor<256xbf16>
    %8 = tl.addptr %4, %6 : tensor<256x!tl.ptr<bf16>>, tensor<256xi32>
    tl.store %8, %product : tensor<256x!tl.ptr<bf16>>, tensor<256xbf16>
  }
  return
}

// -----

// Flags are counted by threads with neighbours. What they choose is loaded and stored by lanes side
// by side, as its mask leaves no vectors.
// CHECK: #[[LANES:layout[0-9]*]] = #tlg.layout<registers = [128, 256, 512, 1024], lanes = [1, 2, 4, 8, 16], warps = [32, 64]>
// CHECK-LABEL: func.func @chosen(
// CHECK: tl.load {{.*}} -> tensor<2048xf16, #[[LANES]]>
// CHECK: tl.store {{.*}} tensor<2048xf16, #[[LANES]]>
func.func @chosen(%flags: !tl.ptr<i8> {tl.divisibility = 16 : i32}, %x: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f16> {tl.divisibility = 16 : i32}) {
  %zero = arith.constant dense<0> : tensor<2048xi8>
  %i = tl.range 0 to 2048 : tensor<2048xi32>
  %from = tl.splat %flags : !tl.ptr<i8> -> tensor<2048x!tl.ptr<i8>>
  %from_i = tl.addptr %from, %i : tensor<2048x!tl.ptr<i8>>, tensor<2048xi32>
  %bytes = tl.load %from_i : tensor<2048x!tl.ptr<i8>> -> tensor<2048xi8>
  %chosen = arith.cmpi ne, %bytes, %zero : tensor<2048xi8>
  %values = tl.splat %x : !tl.ptr<f16> -> tensor<2048x!tl.ptr<f16>>
  %values_i = tl.addptr %values, %i : tensor<2048x!tl.ptr<f16>>, tensor<2048xi32>
  %v = tl.load %values_i mask %chosen : tensor<2048xi1> : tensor<2048x!tl.ptr<f16>> -> tensor<2048xf16>
  %ones = arith.extui %chosen : tensor<2048xi1> to tensor<2048xi32>
  %places = tl.scan %ones axis 0 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tl.yield %c : i32
  } : (tensor<2048xi32>) -> tensor<2048xi32>
  %to = tl.splat %y : !tl.ptr<f16> -> tensor<2048x!tl.ptr<f16>>
  %to_i = tl.addptr %to, %places : tensor<2048x!tl.ptr<f16>>, tensor<2048xi32>
  tl.store %to_i, %v mask %chosen : tensor<2048xi1> : tensor<2048x!tl.ptr<f16>>, tensor<2048xf16>
  return
}

// -----

// Rows of a sparse matrix, element by element: where a row begins is loaded before the loop and
// converted there. The loop computes its addresses in each layout, loads what is small as it is
// used, and converts nothing.
// CHECK-LABEL: func.func @rows_of_elements(
// CHECK: scf.for
// CHECK-NOT: tlg.convert_layout
// CHECK: scf.yield
func.func @rows_of_elements(%starts: !tl.ptr<i32> {tl.divisibility = 16 : i32}, %columns: !tl.ptr<i32> {tl.divisibility = 16 : i32}, %factors: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %table: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %cst = arith.constant dense<64> : tensor<16x1xi32>
  %i = tl.range 0 to 16 : tensor<16xi32>
  %j = tl.range 0 to 64 : tensor<64xi32>
  %0 = tl.splat %starts : !tl.ptr<i32> -> tensor<16x!tl.ptr<i32>>
  %1 = tl.addptr %0, %i : tensor<16x!tl.ptr<i32>>, tensor<16xi32>
  %start = tl.load %1 : tensor<16x!tl.ptr<i32>> -> tensor<16xi32>
  %most = tl.reduce %start axis 0 {
  ^bb0(%a: i32, %b: i32):
    %m = arith.maxsi %a, %b : i32
    tl.yield %m : i32
  } : (tensor<16xi32>) -> i32
  %2 = tl.expand_dims %j axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %3 = tl.broadcast %2 : tensor<1x64xi32> -> tensor<16x64xi32>
  %4 = tl.splat %columns : !tl.ptr<i32> -> tensor<16x!tl.ptr<i32>>
  %5 = tl.splat %factors : !tl.ptr<f32> -> tensor<16x!tl.ptr<f32>>
  %6 = tl.splat %table : !tl.ptr<f32> -> tensor<16x!tl.ptr<f32>>
  %7 = tl.splat %x : !tl.ptr<f32> -> tensor<16x64x!tl.ptr<f32>>
  %sum = scf.for %p = %c0 to %most step %c1 iter_args(%acc = %zero) -> (tensor<16x64xf32>) : i32 {
    %8 = tl.splat %p : i32 -> tensor<16xi32>
    %at = arith.addi %start, %8 : tensor<16xi32>
    %9 = tl.addptr %4, %at : tensor<16x!tl.ptr<i32>>, tensor<16xi32>
    %column = tl.load %9 : tensor<16x!tl.ptr<i32>> -> tensor<16xi32>
    %10 = tl.addptr %5, %at : tensor<16x!tl.ptr<f32>>, tensor<16xi32>
    %factor = tl.load %10 : tensor<16x!tl.ptr<f32>> -> tensor<16xf32>
    %11 = tl.addptr %6, %column : tensor<16x!tl.ptr<f32>>, tensor<16xi32>
    %weight = tl.load %11 : tensor<16x!tl.ptr<f32>> -> tensor<16xf32>
    %12 = tl.expand_dims %column axis 1 : tensor<16xi32> -> tensor<16x1xi32>
    %13 = arith.muli %12, %cst : tensor<16x1xi32>
    %14 = tl.broadcast %13 : tensor<16x1xi32> -> tensor<16x64xi32>
    %15 = arith.addi %14, %3 : tensor<16x64xi32>
    %16 = tl.addptr %7, %15 : tensor<16x64x!tl.ptr<f32>>, tensor<16x64xi32>
    %v = tl.load %16 : tensor<16x64x!tl.ptr<f32>> -> tensor<16x64xf32>
    %17 = arith.mulf %factor, %weight : tensor<16xf32>
    %18 = tl.expand_dims %17 axis 1 : tensor<16xf32> -> tensor<16x1xf32>
    %19 = tl.broadcast %18 : tensor<16x1xf32> -> tensor<16x64xf32>
    %20 = arith.mulf %v, %19 : tensor<16x64xf32>
    %next = arith.addf %acc, %20 : tensor<16x64xf32>
    scf.yield %next : tensor<16x64xf32>
  }
  %21 = tl.expand_dims %i axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %22 = arith.muli %21, %cst : tensor<16x1xi32>
  %23 = tl.broadcast %22 : tensor<16x1xi32> -> tensor<16x64xi32>
  %24 = arith.addi %23, %3 : tensor<16x64xi32>
  %25 = tl.splat %y : !tl.ptr<f32> -> tensor<16x64x!tl.ptr<f32>>
  %26 = tl.addptr %25, %24 : tensor<16x64x!tl.ptr<f32>>, tensor<16x64xi32>
  tl.store %26, %sum : tensor<16x64x!tl.ptr<f32>>, tensor<16x64xf32>
  return
}

// -----

// An index that two loads of a loop use in two layouts is computed in both, from what is loaded
// and converted before the loop.
// CHECK-LABEL: func.func @computed_again(
// CHECK: tlg.convert_layout
// CHECK: scf.for
// CHECK-COUNT-2: arith.addi {{.*}} : tensor<16xi32
// CHECK-NOT: tlg.convert_layout {{.*}}tensor<16xi32
// CHECK: scf.yield
func.func @computed_again(%starts: !tl.ptr<i32> {tl.divisibility = 16 : i32}, %x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %zero_0 = arith.constant dense<0.0> : tensor<64x16xf32>
  %cst = arith.constant dense<64> : tensor<16x1xi32>
  %cst_1 = arith.constant dense<16> : tensor<64x1xi32>
  %i = tl.range 0 to 16 : tensor<16xi32>
  %j = tl.range 0 to 64 : tensor<64xi32>
  %0 = tl.splat %starts : !tl.ptr<i32> -> tensor<16x!tl.ptr<i32>>
  %1 = tl.addptr %0, %i : tensor<16x!tl.ptr<i32>>, tensor<16xi32>
  %start = tl.load %1 : tensor<16x!tl.ptr<i32>> -> tensor<16xi32>
  %2 = tl.expand_dims %j axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %3 = tl.broadcast %2 : tensor<1x64xi32> -> tensor<16x64xi32>
  %4 = tl.expand_dims %j axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %5 = arith.muli %4, %cst_1 : tensor<64x1xi32>
  %6 = tl.broadcast %5 : tensor<64x1xi32> -> tensor<64x16xi32>
  %7 = tl.splat %x : !tl.ptr<f32> -> tensor<16x64x!tl.ptr<f32>>
  %8 = tl.splat %y : !tl.ptr<f32> -> tensor<64x16x!tl.ptr<f32>>
  %sums:2 = scf.for %p = %c0 to %n step %c1 iter_args(%a = %zero, %b = %zero_0) -> (tensor<16x64xf32>, tensor<64x16xf32>) : i32 {
    %9 = tl.splat %p : i32 -> tensor<16xi32>
    %at = arith.addi %start, %9 : tensor<16xi32>
    %10 = tl.expand_dims %at axis 1 : tensor<16xi32> -> tensor<16x1xi32>
    %11 = arith.muli %10, %cst : tensor<16x1xi32>
    %12 = tl.broadcast %11 : tensor<16x1xi32> -> tensor<16x64xi32>
    %13 = arith.addi %12, %3 : tensor<16x64xi32>
    %14 = tl.addptr %7, %13 : tensor<16x64x!tl.ptr<f32>>, tensor<16x64xi32>
    %v = tl.load %14 : tensor<16x64x!tl.ptr<f32>> -> tensor<16x64xf32>
    %15 = tl.expand_dims %at axis 0 : tensor<16xi32> -> tensor<1x16xi32>
    %16 = tl.broadcast %15 : tensor<1x16xi32> -> tensor<64x16xi32>
    %17 = arith.addi %16, %6 : tensor<64x16xi32>
    %18 = tl.addptr %8, %17 : tensor<64x16x!tl.ptr<f32>>, tensor<64x16xi32>
    %w = tl.load %18 : tensor<64x16x!tl.ptr<f32>> -> tensor<64x16xf32>
    %next_a = arith.addf %a, %v : tensor<16x64xf32>
    %next_b = arith.addf %b, %w : tensor<64x16xf32>
    scf.yield %next_a, %next_b : tensor<16x64xf32>, tensor<64x16xf32>
  }
  %19 = tl.expand_dims %i axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %20 = arith.muli %19, %cst : tensor<16x1xi32>
  %21 = tl.broadcast %20 : tensor<16x1xi32> -> tensor<16x64xi32>
  %22 = arith.addi %21, %3 : tensor<16x64xi32>
  %23 = tl.addptr %7, %22 : tensor<16x64x!tl.ptr<f32>>, tensor<16x64xi32>
  tl.store %23, %sums#0 : tensor<16x64x!tl.ptr<f32>>, tensor<16x64xf32>
  %24 = tl.expand_dims %i axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %25 = tl.broadcast %24 : tensor<1x16xi32> -> tensor<64x16xi32>
  %26 = arith.addi %25, %6 : tensor<64x16xi32>
  %27 = tl.addptr %8, %26 : tensor<64x16x!tl.ptr<f32>>, tensor<64x16xi32>
  tl.store %27, %sums#1 : tensor<64x16x!tl.ptr<f32>>, tensor<64x16xf32>
  return
}

// -----

// A thread's eight rows have a factor each, at an address that an index says: it loads one of the
// block's 128, which goes through shared memory, and not eight of them by eight indices.
// CHECK: #[[ONE:layout[0-9]*]] = #tlg.layout<registers = [], lanes = [1, 2, 4, 8, 16], warps = [32, 64]>
// CHECK-LABEL: func.func @gathered_factors(
// CHECK: scf.for
// CHECK-NOT: tlg.convert_layout
// CHECK: %[[F:.*]] = tl.load {{.*}} -> tensor<16x8xf32, #[[ONE]]>
// CHECK-NEXT: tlg.convert_layout %[[F]]
// CHECK-NOT: tlg.convert_layout
// CHECK: scf.yield
func.func @gathered_factors(%columns: !tl.ptr<i32> {tl.divisibility = 16 : i32}, %places: !tl.ptr<i32> {tl.divisibility = 16 : i32}, %factors: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32, %stride: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %zero = arith.constant dense<0.0> : tensor<16x8x8xf32>
  %cst = arith.constant dense<64> : tensor<16x1x1xi32>
  %cst_0 = arith.constant dense<8> : tensor<1x8x1xi32>
  %i = tl.range 0 to 16 : tensor<16xi32>
  %u = tl.range 0 to 8 : tensor<8xi32>
  %0 = tl.expand_dims %u axis 0 : tensor<8xi32> -> tensor<1x8xi32>
  %1 = tl.splat %stride : i32 -> tensor<1x8xi32>
  %2 = arith.muli %0, %1 : tensor<1x8xi32>
  %3 = tl.broadcast %2 : tensor<1x8xi32> -> tensor<16x8xi32>
  %4 = tl.expand_dims %0 axis 2 : tensor<1x8xi32> -> tensor<1x8x1xi32>
  %5 = arith.muli %4, %cst_0 : tensor<1x8x1xi32>
  %6 = tl.broadcast %5 : tensor<1x8x1xi32> -> tensor<16x8x8xi32>
  %7 = tl.expand_dims %2 axis 1 : tensor<1x8xi32> -> tensor<1x1x8xi32>
  %8 = tl.broadcast %7 : tensor<1x1x8xi32> -> tensor<16x8x8xi32>
  %9 = arith.addi %6, %8 : tensor<16x8x8xi32>
  %10 = tl.splat %columns : !tl.ptr<i32> -> tensor<16x!tl.ptr<i32>>
  %36 = tl.splat %places : !tl.ptr<i32> -> tensor<16x!tl.ptr<i32>>
  %11 = tl.splat %factors : !tl.ptr<f32> -> tensor<16x8x!tl.ptr<f32>>
  %12 = tl.splat %x : !tl.ptr<f32> -> tensor<16x8x8x!tl.ptr<f32>>
  %sum = scf.for %p = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x8x8xf32>) : i32 {
    %13 = arith.muli %p, %c16 : i32
    %14 = tl.splat %13 : i32 -> tensor<16xi32>
    %at = arith.addi %14, %i : tensor<16xi32>
    %15 = tl.addptr %10, %at : tensor<16x!tl.ptr<i32>>, tensor<16xi32>
    %column = tl.load %15 : tensor<16x!tl.ptr<i32>> -> tensor<16xi32>
    %16 = tl.expand_dims %column axis 1 : tensor<16xi32> -> tensor<16x1xi32>
    %17 = tl.expand_dims %16 axis 2 : tensor<16x1xi32> -> tensor<16x1x1xi32>
    %18 = arith.muli %17, %cst : tensor<16x1x1xi32>
    %19 = tl.broadcast %18 : tensor<16x1x1xi32> -> tensor<16x8x8xi32>
    %20 = arith.addi %19, %9 : tensor<16x8x8xi32>
    %21 = tl.addptr %12, %20 : tensor<16x8x8x!tl.ptr<f32>>, tensor<16x8x8xi32>
    %v = tl.load %21 : tensor<16x8x8x!tl.ptr<f32>> -> tensor<16x8x8xf32>
    %35 = tl.addptr %36, %at : tensor<16x!tl.ptr<i32>>, tensor<16xi32>
    %place = tl.load %35 : tensor<16x!tl.ptr<i32>> -> tensor<16xi32>
    %37 = tl.expand_dims %place axis 1 : tensor<16xi32> -> tensor<16x1xi32>
    %22 = tl.broadcast %37 : tensor<16x1xi32> -> tensor<16x8xi32>
    %23 = arith.addi %3, %22 : tensor<16x8xi32>
    %24 = tl.addptr %11, %23 : tensor<16x8x!tl.ptr<f32>>, tensor<16x8xi32>
    %f = tl.load %24 : tensor<16x8x!tl.ptr<f32>> -> tensor<16x8xf32>
    %25 = tl.expand_dims %f axis 2 : tensor<16x8xf32> -> tensor<16x8x1xf32>
    %26 = tl.broadcast %25 : tensor<16x8x1xf32> -> tensor<16x8x8xf32>
    %27 = arith.mulf %v, %26 : tensor<16x8x8xf32>
    %next = arith.addf %acc, %27 : tensor<16x8x8xf32>
    scf.yield %next : tensor<16x8x8xf32>
  }
  %28 = tl.expand_dims %i axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %29 = tl.expand_dims %28 axis 2 : tensor<16x1xi32> -> tensor<16x1x1xi32>
  %30 = arith.muli %29, %cst : tensor<16x1x1xi32>
  %31 = tl.broadcast %30 : tensor<16x1x1xi32> -> tensor<16x8x8xi32>
  %32 = arith.addi %31, %9 : tensor<16x8x8xi32>
  %33 = tl.splat %y : !tl.ptr<f32> -> tensor<16x8x8x!tl.ptr<f32>>
  %34 = tl.addptr %33, %32 : tensor<16x8x8x!tl.ptr<f32>>, tensor<16x8x8xi32>
  tl.store %34, %sum : tensor<16x8x8x!tl.ptr<f32>>, tensor<16x8x8xf32>
  return
}

// -----

// Two 4-bit weights to a byte along the first dimension: its quotients are neighbours in memory, so
// lanes go along it, and a thread holds both weights of a byte.
// CHECK: #[[PACKED:layout[0-9]*]] = #tlg.layout<registers = [4, 8, 16, 32, 64], lanes = [128, 256, 512, 1024, 2048], warps = [1, 2]>
// CHECK-LABEL: func.func @packed(
// CHECK: tl.load {{.*}} -> tensor<64x64xi8, #[[PACKED]]>
func.func @packed(%x: !tl.ptr<i8> {tl.divisibility = 16 : i32}, %y: !tl.ptr<i8> {tl.divisibility = 16 : i32}, %stride: i32 {tl.divisibility = 16 : i32}) {
  %two = arith.constant dense<2> : tensor<64x1xi32>
  %i = tl.range 0 to 64 : tensor<64xi32>
  %k = tl.expand_dims %i axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %byte = arith.divsi %k, %two : tensor<64x1xi32>
  %n = tl.expand_dims %i axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %strides = tl.splat %stride : i32 -> tensor<1x64xi32>
  %rows = arith.muli %n, %strides : tensor<1x64xi32>
  %base = tl.splat %x : !tl.ptr<i8> -> tensor<1x64x!tl.ptr<i8>>
  %row = tl.addptr %base, %rows : tensor<1x64x!tl.ptr<i8>>, tensor<1x64xi32>
  %all = tl.broadcast %row : tensor<1x64x!tl.ptr<i8>> -> tensor<64x64x!tl.ptr<i8>>
  %bytes = tl.broadcast %byte : tensor<64x1xi32> -> tensor<64x64xi32>
  %at = tl.addptr %all, %bytes : tensor<64x64x!tl.ptr<i8>>, tensor<64x64xi32>
  %v = tl.load %at : tensor<64x64x!tl.ptr<i8>> -> tensor<64x64xi8>
  %out = tl.splat %y : !tl.ptr<i8> -> tensor<64x64x!tl.ptr<i8>>
  %columns = tl.broadcast %n : tensor<1x64xi32> -> tensor<64x64xi32>
  %place = tl.addptr %out, %columns : tensor<64x64x!tl.ptr<i8>>, tensor<64x64xi32>
  tl.store %place, %v : tensor<64x64x!tl.ptr<i8>>, tensor<64x64xi8>
  return
}

// -----

// Every thread has the scale of the only row. Of the row, which repeats it, a thread has 4 elements
// by itself, and as many as there are where all threads have a part.
// CHECK: #[[SHARED:layout[0-9]*]] = #tlg.layout<registers = [128, 256, 512, 1024, 2048], lanes = [1, 2, 4, 8, 16], warps = [32, 64]>
// CHECK: #[[FEW:layout[0-9]*]] = #tlg.layout<registers = [8, 16], lanes = [1, 2, 4, 0, 0], warps = [0, 0]>
// CHECK-LABEL: func.func @only_row(
// CHECK: tl.broadcast {{.*}} -> tensor<1x4096xf32, #[[SHARED]]>
// CHECK: tl.broadcast {{.*}} -> tensor<1x32xf32, #[[FEW]]>
func.func @only_row(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %row = tl.range 0 to 1 : tensor<1xi32>
  %from = tl.splat %x : !tl.ptr<f32> -> tensor<1x!tl.ptr<f32>>
  %from_row = tl.addptr %from, %row : tensor<1x!tl.ptr<f32>>, tensor<1xi32>
  %scale = tl.load %from_row : tensor<1x!tl.ptr<f32>> -> tensor<1xf32>
  %scale_1 = tl.expand_dims %scale axis 1 : tensor<1xf32> -> tensor<1x1xf32>
  %scales = tl.broadcast %scale_1 : tensor<1x1xf32> -> tensor<1x4096xf32>
  %exp = math.exp %scales : tensor<1x4096xf32>
  %sum = tl.reduce %exp axis 1 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tl.yield %c : f32
  } : (tensor<1x4096xf32>) -> tensor<1xf32>
  %few = tl.broadcast %scale_1 : tensor<1x1xf32> -> tensor<1x32xf32>
  %log = math.log %few : tensor<1x32xf32>
  %other = tl.reduce %log axis 1 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tl.yield %c : f32
  } : (tensor<1x32xf32>) -> tensor<1xf32>
  %both = arith.addf %sum, %other : tensor<1xf32>
  %total = arith.addf %both, %scale : tensor<1xf32>
  %to = tl.splat %y : !tl.ptr<f32> -> tensor<1x!tl.ptr<f32>>
  %to_row = tl.addptr %to, %row : tensor<1x!tl.ptr<f32>>, tensor<1xi32>
  tl.store %to_row, %total : tensor<1x!tl.ptr<f32>>, tensor<1xf32>
  return
}

// -----

// Of what is loaded as eight numbers a thread, the places that a store gets of their sums are moved;
// the scan is not: a thread adds its eight by itself.
// CHECK: #[[EIGHT:layout[0-9]*]] = #tlg.layout<registers = [1, 2, 4], lanes = [8, 16, 32, 64, 128], warps = [256, 512]>
// CHECK-LABEL: func.func @compacted(
// CHECK: %[[NUMBERS:.*]] = arith.extsi {{.*}} to tensor<1024xi32, #[[EIGHT]]>
// CHECK: %[[PLACES:.*]] = tl.scan %[[NUMBERS]]
// CHECK: tlg.convert_layout %[[PLACES]]
func.func @compacted(%x: !tl.ptr<i8> {tl.divisibility = 16 : i32}, %y: !tl.ptr<i32> {tl.divisibility = 16 : i32}) {
  %one = arith.constant dense<1> : tensor<1024xi32>
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %from = tl.splat %x : !tl.ptr<i8> -> tensor<1024x!tl.ptr<i8>>
  %from_i = tl.addptr %from, %i : tensor<1024x!tl.ptr<i8>>, tensor<1024xi32>
  %flags = tl.load %from_i : tensor<1024x!tl.ptr<i8>> -> tensor<1024xi8>
  %numbers = arith.extsi %flags : tensor<1024xi8> to tensor<1024xi32>
  %places = tl.scan %numbers axis 0 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tl.yield %c : i32
  } : (tensor<1024xi32>) -> tensor<1024xi32>
  %taken = arith.cmpi eq, %numbers, %one : tensor<1024xi32>
  %to = tl.splat %y : !tl.ptr<i32> -> tensor<1024x!tl.ptr<i32>>
  %to_places = tl.addptr %to, %places : tensor<1024x!tl.ptr<i32>>, tensor<1024xi32>
  tl.store %to_places, %i mask %taken : tensor<1024xi1> : tensor<1024x!tl.ptr<i32>>, tensor<1024xi32>
  return
}

// -----

// A thread has four neighbours of what is scanned, as the loads of 4 bytes allow. Of 8 bytes each it
// would store two in one instruction, halves of sectors: they are moved within the warp.
// CHECK-DAG: #[[FOUR:layout[0-9]*]] = #tlg.layout<registers = [1, 2], lanes = [4, 8, 16, 32, 64], warps = [128, 256]>
// CHECK-DAG: #[[TWO:layout[0-9]*]] = #tlg.layout<registers = [1, 64], lanes = [2, 4, 8, 16, 32], warps = [128, 256]>
// CHECK-LABEL: func.func @widened(
// CHECK: tl.load {{.*}} -> tensor<512xi32, #[[FOUR]]>
// CHECK: tl.store {{.*}} tensor<512xi64, #[[TWO]]>
func.func @widened(%x: !tl.ptr<i32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<i64> {tl.divisibility = 16 : i32}) {
  %i = tl.range 0 to 512 : tensor<512xi32>
  %from = tl.splat %x : !tl.ptr<i32> -> tensor<512x!tl.ptr<i32>>
  %from_i = tl.addptr %from, %i : tensor<512x!tl.ptr<i32>>, tensor<512xi32>
  %numbers = tl.load %from_i : tensor<512x!tl.ptr<i32>> -> tensor<512xi32>
  %wide = arith.extsi %numbers : tensor<512xi32> to tensor<512xi64>
  %sums = tl.scan %wide axis 0 {
  ^bb0(%a: i64, %b: i64):
    %c = arith.addi %a, %b : i64
    tl.yield %c : i64
  } : (tensor<512xi64>) -> tensor<512xi64>
  %to = tl.splat %y : !tl.ptr<i64> -> tensor<512x!tl.ptr<i64>>
  %to_i = tl.addptr %to, %i : tensor<512x!tl.ptr<i64>>, tensor<512xi32>
  tl.store %to_i, %sums : tensor<512x!tl.ptr<i64>>, tensor<512xi64>
  return
}

// -----

// Neighbours along the columns are 64 bytes apart. Along the rows they are as far as the numbers
// say that are loaded: often near one another. So lanes go along the rows, of what is loaded and of
// what is stored, which needs no conversion.
// CHECK: #[[ROWS:layout[0-9]*]] = #tlg.layout<registers = [16, 32], lanes = [64, 128, 256, 1, 2], warps = [4, 8]>
// CHECK-LABEL: func.func @gathered(
// CHECK: tl.load {{.*}} -> tensor<32x16xf32, #[[ROWS]]>
// CHECK-NOT: tlg.convert_layout
// CHECK: tl.store {{.*}} tensor<32x16xf32, #[[ROWS]]>
func.func @gathered(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %index: !tl.ptr<i32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %far = arith.constant dense<16> : tensor<1x16xi32>
  %apart = arith.constant dense<32> : tensor<1x16xi32>
  %i = tl.range 0 to 32 : tensor<32xi32>
  %j = tl.range 0 to 16 : tensor<16xi32>
  %row = tl.expand_dims %i axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %column = tl.expand_dims %j axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %0 = tl.splat %index : !tl.ptr<i32> -> tensor<32x!tl.ptr<i32>>
  %1 = tl.addptr %0, %i : tensor<32x!tl.ptr<i32>>, tensor<32xi32>
  %numbers = tl.load %1 : tensor<32x!tl.ptr<i32>> -> tensor<32xi32>
  %2 = tl.expand_dims %numbers axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %3 = tl.broadcast %2 : tensor<32x1xi32> -> tensor<32x16xi32>
  %4 = arith.muli %column, %far : tensor<1x16xi32>
  %5 = tl.broadcast %4 : tensor<1x16xi32> -> tensor<32x16xi32>
  %6 = arith.addi %3, %5 : tensor<32x16xi32>
  %7 = tl.splat %x : !tl.ptr<f32> -> tensor<32x16x!tl.ptr<f32>>
  %8 = tl.addptr %7, %6 : tensor<32x16x!tl.ptr<f32>>, tensor<32x16xi32>
  %v = tl.load %8 : tensor<32x16x!tl.ptr<f32>> -> tensor<32x16xf32>
  %9 = arith.muli %column, %apart : tensor<1x16xi32>
  %10 = tl.broadcast %9 : tensor<1x16xi32> -> tensor<32x16xi32>
  %11 = tl.broadcast %row : tensor<32x1xi32> -> tensor<32x16xi32>
  %12 = arith.addi %10, %11 : tensor<32x16xi32>
  %13 = tl.splat %y : !tl.ptr<f32> -> tensor<32x16x!tl.ptr<f32>>
  %14 = tl.addptr %13, %12 : tensor<32x16x!tl.ptr<f32>>, tensor<32x16xi32>
  tl.store %14, %v : tensor<32x16x!tl.ptr<f32>>, tensor<32x16xf32>
  return
}

// -----

// Vectors that are loaded for the rows and columns of a tile, in a loop, decide how wide its layout
// is: the tile's own accesses, whose mask is a triangle, would have a thread load each row by
// itself.
// CHECK: #[[TILE:layout[0-9]*]] = #tlg.layout<registers = [1, 32, {{.*}}], lanes = [2, 4, 8, 16,
// CHECK-LABEL: func.func @outer_products(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 1, 1>} : {{.*}} -> tensor<32x32xf64, #[[TILE]]>
// CHECK: scf.for
// CHECK-COUNT-2: tl.load {{.*}}tlg.vector = array<i32: 0, 2>} : {{.*}} -> tensor<32xf64
// CHECK: scf.yield
func.func @outer_products(%x: !tl.ptr<f64> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f64> {tl.divisibility = 16 : i32}, %z: !tl.ptr<f64> {tl.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %cst = arith.constant dense<32> : tensor<32x1xi32>
  %i = tl.range 0 to 32 : tensor<32xi32>
  %0 = tl.expand_dims %i axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %1 = tl.expand_dims %i axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %rows = tl.broadcast %0 : tensor<32x1xi32> -> tensor<32x32xi32>
  %columns = tl.broadcast %1 : tensor<1x32xi32> -> tensor<32x32xi32>
  %mask = arith.cmpi sge, %rows, %columns : tensor<32x32xi32>
  %2 = arith.muli %0, %cst : tensor<32x1xi32>
  %3 = tl.splat %z : !tl.ptr<f64> -> tensor<32x1x!tl.ptr<f64>>
  %4 = tl.addptr %3, %2 : tensor<32x1x!tl.ptr<f64>>, tensor<32x1xi32>
  %5 = tl.broadcast %4 : tensor<32x1x!tl.ptr<f64>> -> tensor<32x32x!tl.ptr<f64>>
  %6 = tl.addptr %5, %columns : tensor<32x32x!tl.ptr<f64>>, tensor<32x32xi32>
  %c = tl.load %6 mask %mask : tensor<32x32xi1> : tensor<32x32x!tl.ptr<f64>> -> tensor<32x32xf64>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %c) -> (tensor<32x32xf64>) : i32 {
    %at = arith.muli %k, %c32 : i32
    %x_k = tl.addptr %x, %at : !tl.ptr<f64>, i32
    %y_k = tl.addptr %y, %at : !tl.ptr<f64>, i32
    %7 = tl.splat %x_k : !tl.ptr<f64> -> tensor<32x!tl.ptr<f64>>
    %8 = tl.addptr %7, %i : tensor<32x!tl.ptr<f64>>, tensor<32xi32>
    %a = tl.load %8 : tensor<32x!tl.ptr<f64>> -> tensor<32xf64>
    %9 = tl.splat %y_k : !tl.ptr<f64> -> tensor<32x!tl.ptr<f64>>
    %10 = tl.addptr %9, %i : tensor<32x!tl.ptr<f64>>, tensor<32xi32>
    %b = tl.load %10 : tensor<32x!tl.ptr<f64>> -> tensor<32xf64>
    %11 = tl.expand_dims %a axis 1 : tensor<32xf64> -> tensor<32x1xf64>
    %12 = tl.expand_dims %b axis 0 : tensor<32xf64> -> tensor<1x32xf64>
    %13 = tl.broadcast %11 : tensor<32x1xf64> -> tensor<32x32xf64>
    %14 = tl.broadcast %12 : tensor<1x32xf64> -> tensor<32x32xf64>
    %15 = arith.mulf %13, %14 : tensor<32x32xf64>
    %next = arith.addf %acc, %15 : tensor<32x32xf64>
    scf.yield %next : tensor<32x32xf64>
  }
  tl.store %6, %sum mask %mask : tensor<32x32xi1> : tensor<32x32x!tl.ptr<f64>>, tensor<32x32xf64>
  return
}

// -----

// Pointers that a loop steps for one access alone are made in the layout of what it loads or
// stores: the rows' factors as the tile has its rows, and so are its sums stored. Nothing is
// converted.
// CHECK: #[[ROWS:layout[0-9]*]] = #tlg.layout<registers = [], lanes = [0, 0, 0, 1, 2], warps = [4, 8]>
// CHECK-LABEL: func.func @steps_of_rows(
// CHECK-NOT: tlg.convert_layout
// CHECK: tl.load {{.*}} -> tensor<16xf32, #[[ROWS]]>
// CHECK-NOT: tlg.convert_layout
// CHECK: tl.store {{.*}} tensor<16xf32, #[[ROWS]]>
// CHECK-NOT: tlg.convert_layout
// CHECK: return
func.func @steps_of_rows(%a: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %s: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<16x16xf32>
  %stride = arith.constant dense<16> : tensor<16x1xi32>
  %tileStep = arith.constant dense<256> : tensor<16x16xi32>
  %rowStep = arith.constant dense<16> : tensor<16xi32>
  %i = tl.range 0 to 16 : tensor<16xi32>
  %row = tl.expand_dims %i axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %column = tl.expand_dims %i axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %0 = arith.muli %row, %stride : tensor<16x1xi32>
  %1 = tl.broadcast %0 : tensor<16x1xi32> -> tensor<16x16xi32>
  %2 = tl.broadcast %column : tensor<1x16xi32> -> tensor<16x16xi32>
  %offsets = arith.addi %1, %2 : tensor<16x16xi32>
  %base = tl.splat %a : !tl.ptr<f32> -> tensor<16x16x!tl.ptr<f32>>
  %tile = tl.addptr %base, %offsets : tensor<16x16x!tl.ptr<f32>>, tensor<16x16xi32>
  %factors = tl.splat %s : !tl.ptr<f32> -> tensor<16x!tl.ptr<f32>>
  %factor = tl.addptr %factors, %i : tensor<16x!tl.ptr<f32>>, tensor<16xi32>
  %outs = tl.splat %out : !tl.ptr<f32> -> tensor<16x!tl.ptr<f32>>
  %to = tl.addptr %outs, %i : tensor<16x!tl.ptr<f32>>, tensor<16xi32>
  %last:4 = scf.for %k = %zero to %n step %one iter_args(%state = %none, %at = %tile, %by = %factor, %o = %to) -> (tensor<16x16xf32>, tensor<16x16x!tl.ptr<f32>>, tensor<16x!tl.ptr<f32>>, tensor<16x!tl.ptr<f32>>) : i32 {
    %x = tl.load %at : tensor<16x16x!tl.ptr<f32>> -> tensor<16x16xf32>
    %f = tl.load %by : tensor<16x!tl.ptr<f32>> -> tensor<16xf32>
    %3 = tl.expand_dims %f axis 1 : tensor<16xf32> -> tensor<16x1xf32>
    %4 = tl.broadcast %3 : tensor<16x1xf32> -> tensor<16x16xf32>
    %5 = arith.mulf %state, %4 : tensor<16x16xf32>
    %6 = arith.addf %5, %x : tensor<16x16xf32>
    %sum = tl.reduce %6 axis 1 {
    ^bb0(%p: f32, %q: f32):
      %both = arith.addf %p, %q : f32
      tl.yield %both : f32
    } : (tensor<16x16xf32>) -> tensor<16xf32>
    tl.store %o, %sum : tensor<16x!tl.ptr<f32>>, tensor<16xf32>
    %7 = tl.addptr %at, %tileStep : tensor<16x16x!tl.ptr<f32>>, tensor<16x16xi32>
    %8 = tl.addptr %by, %rowStep : tensor<16x!tl.ptr<f32>>, tensor<16xi32>
    %9 = tl.addptr %o, %rowStep : tensor<16x!tl.ptr<f32>>, tensor<16xi32>
    scf.yield %6, %7, %8, %9 : tensor<16x16xf32>, tensor<16x16x!tl.ptr<f32>>, tensor<16x!tl.ptr<f32>>, tensor<16x!tl.ptr<f32>>
  }
  return
}

// -----

// A mask that chooses elements of a tile and is counted as well is made once, in the tile's layout,
// though it could be made anew in any other.
// CHECK-LABEL: func.func @counted_mask(
// CHECK: arith.cmpi sgt, {{.*}} tensor<64x64xi32
// CHECK-NOT: arith.cmpi sgt
// CHECK: return
func.func @counted_mask(%a: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32>, %counts: !tl.ptr<i32>, %n: i32) {
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %stride = arith.constant dense<64> : tensor<64x1xi32>
  %i = tl.range 0 to 64 : tensor<64xi32>
  %row = tl.expand_dims %i axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %column = tl.expand_dims %i axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %0 = arith.muli %row, %stride : tensor<64x1xi32>
  %1 = tl.broadcast %0 : tensor<64x1xi32> -> tensor<64x64xi32>
  %2 = tl.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %3 = tl.broadcast %row : tensor<64x1xi32> -> tensor<64x64xi32>
  %offsets = arith.addi %1, %2 : tensor<64x64xi32>
  %base = tl.splat %a : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %x = tl.load %at : tensor<64x64x!tl.ptr<f32>> -> tensor<64x64xf32>
  %mask = arith.cmpi sgt, %3, %2 : tensor<64x64xi32>
  %y = arith.select %mask, %x, %none : tensor<64x64xi1>, tensor<64x64xf32>
  %sum = tl.reduce %y axis 1 {
  ^bb0(%p: f32, %q: f32):
    %both = arith.addf %p, %q : f32
    tl.yield %both : f32
  } : (tensor<64x64xf32>) -> tensor<64xf32>
  %ones = arith.extui %mask : tensor<64x64xi1> to tensor<64x64xi32>
  %count = tl.reduce %ones axis 1 {
  ^bb0(%p: i32, %q: i32):
    %both = arith.addi %p, %q : i32
    tl.yield %both : i32
  } : (tensor<64x64xi32>) -> tensor<64xi32>
  %outs = tl.splat %out : !tl.ptr<f32> -> tensor<64x!tl.ptr<f32>>
  %to = tl.addptr %outs, %i : tensor<64x!tl.ptr<f32>>, tensor<64xi32>
  tl.store %to, %sum : tensor<64x!tl.ptr<f32>>, tensor<64xf32>
  %countOuts = tl.splat %counts : !tl.ptr<i32> -> tensor<64x!tl.ptr<i32>>
  %countTo = tl.addptr %countOuts, %i : tensor<64x!tl.ptr<i32>>, tensor<64xi32>
  tl.store %countTo, %count : tensor<64x!tl.ptr<i32>>, tensor<64xi32>
  return
}

// -----

// A block whose first dimension lies along memory is turned: the second one follows in the lanes,
// not the last one, where nothing is known of either stride.
// CHECK: #[[TURNED:layout[0-9]*]] = #tlg.layout<registers = [64, 128, 4], lanes = [256, 512, 8, 16, 32], warps = [1, 2]>
// CHECK-LABEL: func.func @turned(
// CHECK: tl.load {{.*}} -> tensor<16x8x8xf32
func.func @turned(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %rows: i32 {tl.divisibility = 16 : i32}, %planes: i32 {tl.divisibility = 16 : i32}) {
  %i = tl.range 0 to 16 : tensor<16xi32>
  %j = tl.range 0 to 8 : tensor<8xi32>
  %k = tl.range 0 to 8 : tensor<8xi32>
  %0 = tl.expand_dims %i axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %1 = tl.expand_dims %0 axis 2 : tensor<16x1xi32> -> tensor<16x1x1xi32>
  %2 = tl.expand_dims %j axis 0 : tensor<8xi32> -> tensor<1x8xi32>
  %3 = tl.expand_dims %2 axis 2 : tensor<1x8xi32> -> tensor<1x8x1xi32>
  %4 = tl.expand_dims %k axis 0 : tensor<8xi32> -> tensor<1x8xi32>
  %5 = tl.expand_dims %4 axis 1 : tensor<1x8xi32> -> tensor<1x1x8xi32>
  %6 = tl.splat %rows : i32 -> tensor<1x8x1xi32>
  %7 = arith.muli %3, %6 : tensor<1x8x1xi32>
  %8 = tl.splat %planes : i32 -> tensor<1x1x8xi32>
  %9 = arith.muli %5, %8 : tensor<1x1x8xi32>
  %10 = tl.broadcast %7 : tensor<1x8x1xi32> -> tensor<1x8x8xi32>
  %11 = tl.broadcast %9 : tensor<1x1x8xi32> -> tensor<1x8x8xi32>
  %12 = arith.addi %10, %11 : tensor<1x8x8xi32>
  %13 = tl.broadcast %12 : tensor<1x8x8xi32> -> tensor<16x8x8xi32>
  %14 = tl.broadcast %1 : tensor<16x1x1xi32> -> tensor<16x8x8xi32>
  %15 = arith.addi %13, %14 : tensor<16x8x8xi32>
  %16 = tl.splat %x : !tl.ptr<f32> -> tensor<16x8x8x!tl.ptr<f32>>
  %17 = tl.addptr %16, %15 : tensor<16x8x8x!tl.ptr<f32>>, tensor<16x8x8xi32>
  %v = tl.load %17 : tensor<16x8x8x!tl.ptr<f32>> -> tensor<16x8x8xf32>
  %18 = tl.splat %y : !tl.ptr<f32> -> tensor<16x8x8x!tl.ptr<f32>>
  %19 = tl.addptr %18, %15 : tensor<16x8x8x!tl.ptr<f32>>, tensor<16x8x8xi32>
  tl.store %19, %v : tensor<16x8x8x!tl.ptr<f32>>, tensor<16x8x8xf32>
  return
}

// -----

// What is made for rows, one of each lane, and scanned down its columns: a lane has a column, and
// neighbours of it, not a row.
// CHECK: #[[COLUMNS:layout[0-9]*]] = #tlg.layout<registers = [64, 128, 256, 512, 1024, 2048], lanes = [1, 2, 4, 8, 16], warps = [32, 4096]>
// CHECK-LABEL: func.func @ranks(
// CHECK: tl.scan %{{.*}} axis 0
// CHECK: -> tensor<128x64xi32, #[[COLUMNS]]>
func.func @ranks(%p: !tl.ptr<i32> {tl.divisibility = 16 : i32}, %q: !tl.ptr<i32> {tl.divisibility = 16 : i32}) {
  %rows = tl.range 0 to 128 : tensor<128xi32>
  %columns = tl.range 0 to 64 : tensor<64xi32>
  %ps = tl.splat %p : !tl.ptr<i32> -> tensor<128x!tl.ptr<i32>>
  %from = tl.addptr %ps, %rows : tensor<128x!tl.ptr<i32>>, tensor<128xi32>
  %ids = tl.load %from : tensor<128x!tl.ptr<i32>> -> tensor<128xi32>
  %0 = tl.expand_dims %ids axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %1 = tl.broadcast %0 : tensor<128x1xi32> -> tensor<128x64xi32>
  %2 = tl.expand_dims %columns axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %3 = tl.broadcast %2 : tensor<1x64xi32> -> tensor<128x64xi32>
  %4 = arith.cmpi eq, %1, %3 : tensor<128x64xi32>
  %hot = arith.extui %4 : tensor<128x64xi1> to tensor<128x64xi32>
  %rank = tl.scan %hot axis 0 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tl.yield %c : i32
  } : (tensor<128x64xi32>) -> tensor<128x64xi32>
  %own = arith.muli %hot, %rank : tensor<128x64xi32>
  %place = tl.reduce %own axis 1 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tl.yield %c : i32
  } : (tensor<128x64xi32>) -> tensor<128xi32>
  %qs = tl.splat %q : !tl.ptr<i32> -> tensor<128x!tl.ptr<i32>>
  %to = tl.addptr %qs, %place : tensor<128x!tl.ptr<i32>>, tensor<128xi32>
  tl.store %to, %rows : tensor<128x!tl.ptr<i32>>, tensor<128xi32>
  return
}
