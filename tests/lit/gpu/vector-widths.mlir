// How many elements an access takes in one instruction: `tlg.vector` has dimension and count.
// RUN: blk-opt %s --split-input-file --tlg-assign-layouts=arch=sm_80 | FileCheck %s

// 16 bytes at a time: pointer and offsets are known to be aligned.
// CHECK-LABEL: func.func @divisible(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 4>
func.func @divisible(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %at, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Nothing is known of the pointer.
// CHECK-LABEL: func.func @unknown(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 1>
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 1>
func.func @unknown(%x: !tl.ptr<f32>) {
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %at, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// The mask is the same for 16 neighbours, because the limit is a multiple of 16.
// CHECK-LABEL: func.func @mask_of_sixteens(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 4>
func.func @mask_of_sixteens(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}) {
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %limit = tl.splat %n : i32 -> tensor<1024xi32>
  %mask = arith.cmpi slt, %range, %limit : tensor<1024xi32>
  %at = tl.addptr %base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at mask %mask : tensor<1024xi1> : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %at, %v mask %mask : tensor<1024xi1> : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Any element may be the last.
// CHECK-LABEL: func.func @mask_of_ones(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 1>
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 1>
func.func @mask_of_ones(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %limit = tl.splat %n : i32 -> tensor<1024xi32>
  %mask = arith.cmpi slt, %range, %limit : tensor<1024xi32>
  %at = tl.addptr %base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at mask %mask : tensor<1024xi1> : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %at, %v mask %mask : tensor<1024xi1> : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Elements that are not neighbours do not go together.
// CHECK-LABEL: func.func @strided(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 1>
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 1>
func.func @strided(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %two = arith.constant dense<2> : tensor<1024xi32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %offsets = arith.muli %range, %two : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %at, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Of two pointers the one with less is what is known.
// CHECK-LABEL: func.func @selected(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 2>
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 2>
func.func @selected(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 8 : i32}, %c: i1) {
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %from = arith.select %c, %x, %y : !tl.ptr<f32>
  %base = tl.splat %from : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %at, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Blocks that are chosen from element by element: what both are known to be.
// CHECK-LABEL: func.func @selected_blocks(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @selected_blocks(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %c: i1) {
  %offset = arith.constant dense<512> : tensor<1024xi32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %further = arith.addi %range, %offset : tensor<1024xi32>
  %choice = tl.splat %c : i1 -> tensor<1024xi1>
  %from = arith.select %choice, %range, %further : tensor<1024xi1>, tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %from : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %at, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// A scalar decides for the whole block.
// CHECK-LABEL: func.func @selected_by_a_scalar(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @selected_by_a_scalar(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %c: i1) {
  %offset = arith.constant dense<512> : tensor<1024xi32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %further = arith.addi %range, %offset : tensor<1024xi32>
  %from = arith.select %c, %range, %further : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %from : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %at, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Rows that are chosen one by one are any rows: 17 elements apart, they are not aligned.
// CHECK-LABEL: func.func @rows_chosen_one_by_one(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 1, 1>
func.func @rows_chosen_one_by_one(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %nothing = arith.constant dense<0> : tensor<64xi32>
  %apart = arith.constant dense<17> : tensor<64x1xi32>
  %i = tl.range 0 to 64 : tensor<64xi32>
  %j = tl.range 0 to 32 : tensor<32xi32>
  %limit = tl.splat %n : i32 -> tensor<64xi32>
  %inside = arith.cmpi slt, %i, %limit : tensor<64xi32>
  %chosen = arith.select %inside, %i, %nothing : tensor<64xi1>, tensor<64xi32>
  %rows = tl.expand_dims %chosen axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %starts = arith.muli %rows, %apart : tensor<64x1xi32>
  %down = tl.broadcast %starts : tensor<64x1xi32> -> tensor<64x32xi32>
  %columns = tl.expand_dims %j axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %across = tl.broadcast %columns : tensor<1x32xi32> -> tensor<64x32xi32>
  %offsets = arith.addi %down, %across : tensor<64x32xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<64x32x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<64x32x!tl.ptr<f32>>, tensor<64x32xi32>
  %v = tl.load %at : tensor<64x32x!tl.ptr<f32>> -> tensor<64x32xf32>
  tl.store %at, %v : tensor<64x32x!tl.ptr<f32>>, tensor<64x32xf32>
  return
}

// -----

// Quotients are the same for 8 neighbours, remainders go up for 8.
// CHECK-LABEL: func.func @quotients_and_remainders(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 8>
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 8>
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 8>
func.func @quotients_and_remainders(%x: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %lda: i32 {tl.divisibility = 16 : i32}) {
  %width = arith.constant dense<24> : tensor<1024xi32>
  %three = arith.constant dense<3> : tensor<1024xi32>
  %seven = arith.constant dense<7> : tensor<1024xi32>
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %apart = tl.splat %lda : i32 -> tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f16> -> tensor<1024x!tl.ptr<f16>>
  %row = arith.divsi %i, %width : tensor<1024xi32>
  %column = arith.remsi %i, %width : tensor<1024xi32>
  %start = arith.muli %row, %apart : tensor<1024xi32>
  %offsets = arith.addi %start, %column : tensor<1024xi32>
  %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f16>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f16>> -> tensor<1024xf16>
  %row2 = arith.shrsi %i, %three : tensor<1024xi32>
  %column2 = arith.andi %i, %seven : tensor<1024xi32>
  %start2 = arith.muli %row2, %apart : tensor<1024xi32>
  %offsets2 = arith.addi %start2, %column2 : tensor<1024xi32>
  %at2 = tl.addptr %base, %offsets2 : tensor<1024x!tl.ptr<f16>>, tensor<1024xi32>
  %w = tl.load %at2 : tensor<1024x!tl.ptr<f16>> -> tensor<1024xf16>
  tl.store %at2, %v : tensor<1024x!tl.ptr<f16>>, tensor<1024xf16>
  return
}

// -----

// Quotients of negative numbers are rounded to zero: -16 / 16 is -1, -15 / 16 is 0.
// CHECK-LABEL: func.func @negative_quotients(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 1>
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 1>
func.func @negative_quotients(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %lda: i32 {tl.divisibility = 16 : i32}) {
  %sixteen = arith.constant dense<16> : tensor<1024xi32>
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %before = arith.subi %i, %sixteen : tensor<1024xi32>
  %apart = tl.splat %lda : i32 -> tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %row = arith.divsi %before, %sixteen : tensor<1024xi32>
  %start = arith.muli %row, %apart : tensor<1024xi32>
  %offsets = arith.addi %start, %i : tensor<1024xi32>
  %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  %column = arith.remsi %before, %sixteen : tensor<1024xi32>
  %at2 = tl.addptr %base, %column : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %w = tl.load %at2 : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  %sum = arith.addf %v, %w : tensor<1024xf32>
  tl.store %base, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// An argument that is divided is taken for not negative, and the launch is told which.
// CHECK-LABEL: func.func @quotient_of_an_argument(
// CHECK-SAME: tlg.at_least = {{\[}}array<i32: 1, 0>]
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @quotient_of_an_argument(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %first: i32 {tl.divisibility = 16 : i32}, %other: i32) {
  %sixteen = arith.constant dense<16> : tensor<1024xi32>
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %i : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %from = tl.splat %first : i32 -> tensor<1024xi32>
  %index = arith.addi %from, %i : tensor<1024xi32>
  %row = arith.divsi %index, %sixteen : tensor<1024xi32>
  %limit = tl.splat %other : i32 -> tensor<1024xi32>
  %mask = arith.cmpi slt, %row, %limit : tensor<1024xi32>
  %v = tl.load %at mask %mask : tensor<1024xi1> : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %base, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// The careful compilation takes it for not negative only where the kernel assumes so.
// CHECK-LABEL: func.func @quotients_of_arguments(
// CHECK-NOT: tlg.at_least
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 1>
// CHECK: tl.assume
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
module attributes {tlg.may_be_negative} {
func.func @quotients_of_arguments(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %first: i32 {tl.divisibility = 16 : i32}, %second: i32 {tl.divisibility = 16 : i32}) {
  %sixteen = arith.constant dense<16> : tensor<1024xi32>
  %five = arith.constant dense<5> : tensor<1024xi32>
  %zero = arith.constant 0 : i32
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %i : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %from = tl.splat %first : i32 -> tensor<1024xi32>
  %index = arith.addi %from, %i : tensor<1024xi32>
  %row = arith.divsi %index, %sixteen : tensor<1024xi32>
  %mask = arith.cmpi slt, %row, %five : tensor<1024xi32>
  %v = tl.load %at mask %mask : tensor<1024xi1> : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  %holds = arith.cmpi sge, %second, %zero : i32
  tl.assume %holds : i1
  %from2 = tl.splat %second : i32 -> tensor<1024xi32>
  %index2 = arith.addi %from2, %i : tensor<1024xi32>
  %row2 = arith.divsi %index2, %sixteen : tensor<1024xi32>
  %mask2 = arith.cmpi slt, %row2, %five : tensor<1024xi32>
  %w = tl.load %at mask %mask2 : tensor<1024xi1> : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  %sum = arith.addf %v, %w : tensor<1024xf32>
  tl.store %base, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}
}

// -----

// Where a block begins may be the smaller of two multiples of 4, and rounded down to one of 8.
// CHECK-LABEL: func.func @smaller_start(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @smaller_start(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 4 : i32}, %m: i32) {
  %thousand = arith.constant 1024 : i32
  %eights = arith.constant -8 : i32
  %program = tl.program_id 0 : i32
  %begin = arith.muli %program, %thousand : i32
  %least = arith.minsi %begin, %n : i32
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %from = tl.splat %least : i32 -> tensor<1024xi32>
  %offsets = arith.addi %from, %i : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  %down = arith.andi %m, %eights : i32
  %there = tl.addptr %x, %down : !tl.ptr<f32>, i32
  %base2 = tl.splat %there : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at2 = tl.addptr %base2, %i : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %w = tl.load %at2 : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  %sum = arith.addf %v, %w : tensor<1024xf32>
  tl.store %base, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Wide offsets, pointers that are moved twice, and blocks in another shape or put together.
// CHECK-LABEL: func.func @moved_and_shaped(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 1, 4>
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @moved_and_shaped(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i64 {tl.divisibility = 16 : i32}) {
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %wide = arith.extsi %i : tensor<1024xi32> to tensor<1024xi64>
  %further = tl.splat %n : i64 -> tensor<1024xi64>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %moved = tl.addptr %base, %further : tensor<1024x!tl.ptr<f32>>, tensor<1024xi64>
  %at = tl.addptr %moved, %wide : tensor<1024x!tl.ptr<f32>>, tensor<1024xi64>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  %square = tl.reshape %at : tensor<1024x!tl.ptr<f32>> -> tensor<32x32x!tl.ptr<f32>>
  %w = tl.load %square : tensor<32x32x!tl.ptr<f32>> -> tensor<32x32xf32>
  %both = tl.cat %at, %at dim 0 : tensor<1024x!tl.ptr<f32>>, tensor<1024x!tl.ptr<f32>> -> tensor<2048x!tl.ptr<f32>>
  %u = tl.load %both : tensor<2048x!tl.ptr<f32>> -> tensor<2048xf32>
  tl.store %at, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  tl.store %square, %w : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xf32>
  tl.store %both, %u : tensor<2048x!tl.ptr<f32>>, tensor<2048xf32>
  return
}

// -----

// Pointers of a loop that move by a multiple of 16 bytes, and by one that is not.
// CHECK-LABEL: func.func @moved_in_a_loop(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 2>
func.func @moved_in_a_loop(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant dense<4> : tensor<1024xi32>
  %two = arith.constant dense<2> : tensor<1024xi32>
  %nothing = arith.constant dense<0.0> : tensor<1024xf32>
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %begin = tl.addptr %base, %i : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %end:3 = scf.for %k = %zero to %n step %one iter_args(%a = %begin, %b = %begin, %sum = %nothing) -> (tensor<1024x!tl.ptr<f32>>, tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>) : i32 {
    %v = tl.load %a : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %w = tl.load %b : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %first = arith.addf %sum, %v : tensor<1024xf32>
    %second = arith.addf %first, %w : tensor<1024xf32>
    %next_a = tl.addptr %a, %four : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %next_b = tl.addptr %b, %two : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    scf.yield %next_a, %next_b, %second : tensor<1024x!tl.ptr<f32>>, tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  }
  tl.store %begin, %end#2 : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Half a multiple of 16 is a multiple of 8, negative or not.
// CHECK-LABEL: func.func @exact_quotient(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 8>
func.func @exact_quotient(%x: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}) {
  %two = arith.constant 2 : i32
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f16> -> tensor<1024x!tl.ptr<f16>>
  %at = tl.addptr %base, %i : tensor<1024x!tl.ptr<f16>>, tensor<1024xi32>
  %half = arith.divsi %n, %two : i32
  %limit = tl.splat %half : i32 -> tensor<1024xi32>
  %mask = arith.cmpi slt, %i, %limit : tensor<1024xi32>
  %v = tl.load %at mask %mask : tensor<1024xi1> : tensor<1024x!tl.ptr<f16>> -> tensor<1024xf16>
  tl.store %base, %v : tensor<1024x!tl.ptr<f16>>, tensor<1024xf16>
  return
}

// -----

// A kernel divides by its sizes, so these are positive, and so are products of them.
// CHECK-LABEL: func.func @sizes(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 8>
func.func @sizes(%x: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}, %blocks: i32) {
  %thousand = arith.constant 1024 : i32
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f16> -> tensor<1024x!tl.ptr<f16>>
  %pid = tl.program_id 0 : i32
  %row = arith.divsi %pid, %blocks : i32
  %first = arith.muli %row, %blocks : i32
  %begin = arith.muli %first, %thousand : i32
  %from = tl.splat %begin : i32 -> tensor<1024xi32>
  %index = arith.addi %from, %i : tensor<1024xi32>
  %size = tl.splat %n : i32 -> tensor<1024xi32>
  %offsets = arith.remsi %index, %size : tensor<1024xi32>
  %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f16>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f16>> -> tensor<1024xf16>
  tl.store %base, %v : tensor<1024x!tl.ptr<f16>>, tensor<1024xf16>
  return
}

// -----

// Rows whose numbers are loaded: 128 neighbours have the same one, so what is read there is a run.
// CHECK-LABEL: func.func @rows_by_loaded_index(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>{{.*}}tensor<1024xf32
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 4>
func.func @rows_by_loaded_index(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %rows: !tl.ptr<i32>, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %c128 = arith.constant dense<128> : tensor<1024xi32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %row = arith.divui %range, %c128 : tensor<1024xi32>
  %column = arith.remui %range, %c128 : tensor<1024xi32>
  %table = tl.splat %rows : !tl.ptr<i32> -> tensor<1024x!tl.ptr<i32>>
  %entry = tl.addptr %table, %row : tensor<1024x!tl.ptr<i32>>, tensor<1024xi32>
  %number = tl.load %entry : tensor<1024x!tl.ptr<i32>> -> tensor<1024xi32>
  %start = arith.muli %number, %c128 : tensor<1024xi32>
  %offset = arith.addi %start, %column : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %offset : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  %out = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %to = tl.addptr %out, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  tl.store %to, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// A volatile load may give each of them another number.
// CHECK-LABEL: func.func @rows_by_volatile_index(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 1>{{.*}}tensor<1024xf32
func.func @rows_by_volatile_index(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %rows: !tl.ptr<i32>, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %c128 = arith.constant dense<128> : tensor<1024xi32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %row = arith.divui %range, %c128 : tensor<1024xi32>
  %column = arith.remui %range, %c128 : tensor<1024xi32>
  %table = tl.splat %rows : !tl.ptr<i32> -> tensor<1024x!tl.ptr<i32>>
  %entry = tl.addptr %table, %row : tensor<1024x!tl.ptr<i32>>, tensor<1024xi32>
  %number = tl.load %entry {is_volatile = true} : tensor<1024x!tl.ptr<i32>> -> tensor<1024xi32>
  %start = arith.muli %number, %c128 : tensor<1024xi32>
  %offset = arith.addi %start, %column : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %offset : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  %out = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %to = tl.addptr %out, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  tl.store %to, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Pixels of an image of any width, and channels: lanes lie along the pixels, whose rows are runs,
// though nobody knows where they begin. The distance of channels is a multiple of 16.
// CHECK-LABEL: func.func @planes(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 1>{{.*}}tensor<128x32xf16
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 1, 8>
func.func @planes(%x: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %width: i32, %row: i32, %channel: i32 {tl.divisibility = 16 : i32}) {
  %c32 = arith.constant dense<32> : tensor<128x1xi32>
  %range = tl.range 0 to 128 : tensor<128xi32>
  %size = tl.splat %width : i32 -> tensor<128xi32>
  %i = arith.remsi %range, %size : tensor<128xi32>
  %j = arith.divsi %range, %size : tensor<128xi32>
  %rows = tl.splat %row : i32 -> tensor<128xi32>
  %down = arith.muli %j, %rows : tensor<128xi32>
  %pixel = arith.addi %i, %down : tensor<128xi32>
  %pixels = tl.expand_dims %pixel axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %c = tl.range 0 to 32 : tensor<32xi32>
  %distance = tl.splat %channel : i32 -> tensor<32xi32>
  %plane = arith.muli %c, %distance : tensor<32xi32>
  %planes = tl.expand_dims %plane axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %a = tl.broadcast %pixels : tensor<128x1xi32> -> tensor<128x32xi32>
  %b = tl.broadcast %planes : tensor<1x32xi32> -> tensor<128x32xi32>
  %offset = arith.addi %a, %b : tensor<128x32xi32>
  %base = tl.splat %x : !tl.ptr<f16> -> tensor<128x32x!tl.ptr<f16>>
  %at = tl.addptr %base, %offset : tensor<128x32x!tl.ptr<f16>>, tensor<128x32xi32>
  %v = tl.load %at : tensor<128x32x!tl.ptr<f16>> -> tensor<128x32xf16>
  %r = tl.expand_dims %range axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %first = arith.muli %r, %c32 : tensor<128x1xi32>
  %columns = tl.expand_dims %c axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %d = tl.broadcast %first : tensor<128x1xi32> -> tensor<128x32xi32>
  %e = tl.broadcast %columns : tensor<1x32xi32> -> tensor<128x32xi32>
  %place = arith.addi %d, %e : tensor<128x32xi32>
  %out = tl.splat %y : !tl.ptr<f16> -> tensor<128x32x!tl.ptr<f16>>
  %to = tl.addptr %out, %place : tensor<128x32x!tl.ptr<f16>>, tensor<128x32xi32>
  tl.store %to, %v : tensor<128x32x!tl.ptr<f16>>, tensor<128x32xf16>
  return
}

// -----

// A stride that is not known to be a multiple of anything may be 1: it is tried before one that is
// a multiple of 16. Where both may be, neighbours are taken to lie along the last dimension.
// CHECK-LABEL: func.func @strides_of_any_size(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 1>
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 1, 1>
func.func @strides_of_any_size(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %any: i32, %other: i32, %sixteens: i32 {tl.divisibility = 16 : i32}) {
  %range = tl.range 0 to 64 : tensor<64xi32>
  %rows = tl.expand_dims %range axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tl.expand_dims %range axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %s = tl.splat %any : i32 -> tensor<64x1xi32>
  %t = tl.splat %sixteens : i32 -> tensor<1x64xi32>
  %u = tl.splat %other : i32 -> tensor<1x64xi32>
  %down = arith.muli %rows, %s : tensor<64x1xi32>
  %far = arith.muli %columns, %t : tensor<1x64xi32>
  %near = arith.muli %columns, %u : tensor<1x64xi32>
  %a = tl.broadcast %down : tensor<64x1xi32> -> tensor<64x64xi32>
  %b = tl.broadcast %far : tensor<1x64xi32> -> tensor<64x64xi32>
  %c = tl.broadcast %near : tensor<1x64xi32> -> tensor<64x64xi32>
  %ab = arith.addi %a, %b : tensor<64x64xi32>
  %ac = arith.addi %a, %c : tensor<64x64xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %p = tl.addptr %base, %ab : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %q = tl.addptr %base, %ac : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %v = tl.load %p : tensor<64x64x!tl.ptr<f32>> -> tensor<64x64xf32>
  %w = tl.load %q : tensor<64x64x!tl.ptr<f32>> -> tensor<64x64xf32>
  tl.store %p, %w : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  tl.store %q, %v : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// Taps of a kernel of 3 x 3 along the columns are neighbours three at a time, pixels for whole rows.
// CHECK-LABEL: func.func @taps(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 1>{{.*}}tensor<64x32xf16
func.func @taps(%x: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %width: i32, %y: !tl.ptr<f16>) {
  %c3 = arith.constant dense<3> : tensor<32xi32>
  %range = tl.range 0 to 64 : tensor<64xi32>
  %size = tl.splat %width : i32 -> tensor<64xi32>
  %i = arith.remsi %range, %size : tensor<64xi32>
  %pixels = tl.expand_dims %i axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %tap = tl.range 0 to 32 : tensor<32xi32>
  %across = arith.remsi %tap, %c3 : tensor<32xi32>
  %down = arith.divsi %tap, %c3 : tensor<32xi32>
  %sizes = tl.splat %width : i32 -> tensor<32xi32>
  %rows = arith.muli %down, %sizes : tensor<32xi32>
  %taps = arith.addi %across, %rows : tensor<32xi32>
  %columns = tl.expand_dims %taps axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %a = tl.broadcast %pixels : tensor<64x1xi32> -> tensor<64x32xi32>
  %b = tl.broadcast %columns : tensor<1x32xi32> -> tensor<64x32xi32>
  %offset = arith.addi %a, %b : tensor<64x32xi32>
  %base = tl.splat %x : !tl.ptr<f16> -> tensor<64x32x!tl.ptr<f16>>
  %at = tl.addptr %base, %offset : tensor<64x32x!tl.ptr<f16>>, tensor<64x32xi32>
  %v = tl.load %at : tensor<64x32x!tl.ptr<f16>> -> tensor<64x32xf16>
  %out = tl.splat %y : !tl.ptr<f16> -> tensor<64x32x!tl.ptr<f16>>
  tl.store %out, %v : tensor<64x32x!tl.ptr<f16>>, tensor<64x32xf16>
  return
}

// -----

// Every second element of rows of any length: all take one element a thread, so that lanes lie side
// by side, as they do for rows of a known length.
// CHECK-LABEL: func.func @pairs_of_rows(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 1>
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 1>
func.func @pairs_of_rows(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %half: i32, %row: i32) {
  %c2 = arith.constant dense<2> : tensor<1024xi32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %size = tl.splat %half : i32 -> tensor<1024xi32>
  %i = arith.remsi %range, %size : tensor<1024xi32>
  %j = arith.divsi %range, %size : tensor<1024xi32>
  %rows = tl.splat %row : i32 -> tensor<1024xi32>
  %down = arith.muli %j, %rows : tensor<1024xi32>
  %across = arith.muli %i, %c2 : tensor<1024xi32>
  %offset = arith.addi %across, %down : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %offset : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  %out = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %to = tl.addptr %out, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  tl.store %to, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Turned and mirrored: what is loaded along rows is stored by lanes along columns, which run down.
// CHECK: #[[COLUMNS:layout[0-9]*]] = #tlg.layout<registers = [4, 8, 16], lanes = [32, 64, 128, 256, 512], warps = [1, 2]>
// CHECK-LABEL: func.func @turned_and_mirrored(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 1, 4>
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 1>{{.*}}tensor<32x32xf32, #[[COLUMNS]]>
func.func @turned_and_mirrored(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %last = arith.constant dense<31> : tensor<32xi32>
  %c32 = arith.constant dense<32> : tensor<32x1xi32>
  %c32_0 = arith.constant dense<32> : tensor<1x32xi32>
  %range = tl.range 0 to 32 : tensor<32xi32>
  %rows = tl.expand_dims %range axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %columns = tl.expand_dims %range axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %start = arith.muli %rows, %c32 : tensor<32x1xi32>
  %a = tl.broadcast %start : tensor<32x1xi32> -> tensor<32x32xi32>
  %b = tl.broadcast %columns : tensor<1x32xi32> -> tensor<32x32xi32>
  %offset = arith.addi %a, %b : tensor<32x32xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<32x32x!tl.ptr<f32>>
  %at = tl.addptr %base, %offset : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xi32>
  %v = tl.load %at : tensor<32x32x!tl.ptr<f32>> -> tensor<32x32xf32>
  %down = arith.subi %last, %range : tensor<32xi32>
  %up = tl.expand_dims %down axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %left = tl.expand_dims %down axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %far = arith.muli %left, %c32_0 : tensor<1x32xi32>
  %c = tl.broadcast %up : tensor<32x1xi32> -> tensor<32x32xi32>
  %d = tl.broadcast %far : tensor<1x32xi32> -> tensor<32x32xi32>
  %place = arith.addi %c, %d : tensor<32x32xi32>
  %out = tl.splat %y : !tl.ptr<f32> -> tensor<32x32x!tl.ptr<f32>>
  %to = tl.addptr %out, %place : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xi32>
  tl.store %to, %v : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xf32>
  return
}

// -----

// Elements that may be reordered (`tl.view`) are not, so neighbours stay.
// CHECK-LABEL: func.func @viewed(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
// CHECK: tl.store {{.*}}tlg.vector = array<i32: 0, 4>
func.func @viewed(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %first: i32 {tl.divisibility = 16 : i32}) {
  %range = tl.range 0 to 64 : tensor<64xi32>
  %row = tl.expand_dims %range axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %rows = tl.broadcast %row : tensor<1x64xi32> -> tensor<16x64xi32>
  %viewed = tl.reshape %rows {allow_reorder} : tensor<16x64xi32> -> tensor<1024xi32>
  %start = tl.splat %first : i32 -> tensor<1024xi32>
  %offsets = arith.addi %viewed, %start : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %at, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}
