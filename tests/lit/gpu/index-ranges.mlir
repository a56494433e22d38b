// Remainders form runs where what is divided is proved not to be negative, from what arguments
// have to be at least: `tlg.at_least` has their numbers, and 0 or 1.
// RUN: blk-opt %s --split-input-file --tlg-assign-layouts=arch=sm_80 | FileCheck %s

// A difference in a branch that says so, and a size less 1: 0 does not do for the size.
// CHECK-LABEL: func.func @dealt_out(
// CHECK-SAME: tlg.at_least = {{\[}}array<i32: 2, 1>]
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @dealt_out(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}, %total: i32) {
  %one = arith.constant 1 : i32
  %seven = arith.constant 7 : i32
  %eight = arith.constant 8 : i32
  %block = arith.constant 1024 : i32
  %pid = tl.program_id 0 : i32
  %raised = arith.addi %total, %seven : i32
  %per = arith.divsi %raised, %eight : i32
  %tall = arith.remsi %total, %eight : i32
  %die = arith.remsi %pid, %eight : i32
  %local = arith.divsi %pid, %eight : i32
  %isTall = arith.cmpi slt, %die, %tall : i32
  %new = scf.if %isTall -> (i32) {
    %before = arith.muli %die, %per : i32
    scf.yield %before : i32
  } else {
    %some = arith.muli %tall, %per : i32
    %dies = arith.subi %die, %tall : i32
    %fewer = arith.subi %per, %one : i32
    %others = arith.muli %dies, %fewer : i32
    %before = arith.addi %some, %others : i32
    scf.yield %before : i32
  }
  %number = arith.addi %new, %local : i32
  %begin = arith.muli %number, %block : i32
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %from = tl.splat %begin : i32 -> tensor<1024xi32>
  %all = arith.addi %from, %i : tensor<1024xi32>
  %limit = tl.splat %n : i32 -> tensor<1024xi32>
  %offsets = arith.remsi %all, %limit : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %base, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// The same by a selection, where the size is known to be positive: nothing is asked of arguments.
// CHECK-LABEL: func.func @chosen(
// CHECK-NOT: tlg.at_least
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @chosen(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}, %total: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  %block = arith.constant 1024 : i32
  %pid = tl.program_id 0 : i32
  %holds = arith.cmpi sgt, %total, %zero : i32
  tl.assume %holds : i1
  %die = arith.remsi %pid, %eight : i32
  %isTall = arith.cmpi slt, %die, %total : i32
  %dies = arith.subi %die, %total : i32
  %fewer = arith.subi %total, %one : i32
  %others = arith.muli %dies, %fewer : i32
  %number = arith.select %isTall, %die, %others : i32
  %begin = arith.muli %number, %block : i32
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %from = tl.splat %begin : i32 -> tensor<1024xi32>
  %all = arith.addi %from, %i : tensor<1024xi32>
  %limit = tl.splat %n : i32 -> tensor<1024xi32>
  %offsets = arith.remsi %all, %limit : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %base, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Without the condition it may be negative, whatever arguments are.
// CHECK-LABEL: func.func @not_proved(
// CHECK-NOT: tlg.at_least
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 1>
func.func @not_proved(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}, %total: i32) {
  %block = arith.constant 1024 : i32
  %pid = tl.program_id 0 : i32
  %number = arith.subi %total, %pid : i32
  %begin = arith.muli %number, %block : i32
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %from = tl.splat %begin : i32 -> tensor<1024xi32>
  %all = arith.addi %from, %i : tensor<1024xi32>
  %limit = tl.splat %n : i32 -> tensor<1024xi32>
  %offsets = arith.remsi %all, %limit : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %base, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// x - x / y * y, x - min(x, y), max(x, y) - y; of sizes that are loaded nothing is known.
// CHECK-LABEL: func.func @differences(
// CHECK-NOT: tlg.at_least
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @differences(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}, %sizes: !tl.ptr<i32>) {
  %block = arith.constant 1024 : i32
  %pid = tl.program_id 0 : i32
  %size = tl.load %sizes : !tl.ptr<i32> -> i32
  %whole = arith.divsi %pid, %size : i32
  %down = arith.muli %whole, %size : i32
  %rest = arith.subi %pid, %down : i32
  %less = arith.minsi %size, %rest : i32
  %above = arith.subi %rest, %less : i32
  %more = arith.maxsi %above, %size : i32
  %number = arith.subi %more, %size : i32
  %begin = arith.muli %number, %block : i32
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %from = tl.splat %begin : i32 -> tensor<1024xi32>
  %all = arith.addi %from, %i : tensor<1024xi32>
  %limit = tl.splat %n : i32 -> tensor<1024xi32>
  %offsets = arith.remsi %all, %limit : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %base, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Tiles of groups whose sizes are loaded: `start <= tile < start + size` says that the number in
// the group is not negative, and that the group has a tile.
// CHECK-LABEL: func.func @groups(
// CHECK-NOT: tlg.at_least
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @groups(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}, %sizes: !tl.ptr<i32>, %count: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %block = arith.constant 1024 : i32
  %step = arith.constant 132 : i32
  %pid = tl.program_id 0 : i32
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %limit = tl.splat %n : i32 -> tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %r:2 = scf.for %g = %zero to %count step %one iter_args(%tile0 = %pid, %start = %zero) -> (i32, i32) : i32 {
    %place = tl.addptr %sizes, %g : !tl.ptr<i32>, i32
    %size = tl.load %place : !tl.ptr<i32> -> i32
    %end = arith.addi %start, %size : i32
    %last = scf.while (%tile = %tile0) : (i32) -> i32 {
      %begun = arith.cmpi sge, %tile, %start : i32
      %open = arith.cmpi slt, %tile, %end : i32
      %inside = arith.andi %begun, %open : i1
      scf.condition(%inside) %tile : i32
    } do {
    ^bb0(%tile: i32):
      %in = arith.subi %tile, %start : i32
      %fewer = arith.subi %size, %one : i32
      %number = arith.muli %in, %fewer : i32
      %begin = arith.muli %number, %block : i32
      %from = tl.splat %begin : i32 -> tensor<1024xi32>
      %all = arith.addi %from, %i : tensor<1024xi32>
      %offsets = arith.remsi %all, %limit : tensor<1024xi32>
      %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
      %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      tl.store %base, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
      %next = arith.addi %tile, %step : i32
      scf.yield %next : i32
    }
    scf.yield %last, %end : i32, i32
  }
  return
}

// -----

// What goes around a loop grows from 0.
// CHECK-LABEL: func.func @grown(
// CHECK-NOT: tlg.at_least
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @grown(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}, %count: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %block = arith.constant 1024 : i32
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %limit = tl.splat %n : i32 -> tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %end = scf.for %k = %zero to %count step %one iter_args(%begin = %zero) -> (i32) : i32 {
    %from = tl.splat %begin : i32 -> tensor<1024xi32>
    %all = arith.addi %from, %i : tensor<1024xi32>
    %offsets = arith.remsi %all, %limit : tensor<1024xi32>
    %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    tl.store %base, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    %next = arith.addi %begin, %block : i32
    scf.yield %next : i32
  }
  return
}

// -----

// Here it shrinks.
// CHECK-LABEL: func.func @shrunk(
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 1>
func.func @shrunk(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}, %count: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %block = arith.constant 1024 : i32
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %limit = tl.splat %n : i32 -> tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %end = scf.for %k = %zero to %count step %one iter_args(%begin = %zero) -> (i32) : i32 {
    %from = tl.splat %begin : i32 -> tensor<1024xi32>
    %all = arith.addi %from, %i : tensor<1024xi32>
    %offsets = arith.remsi %all, %limit : tensor<1024xi32>
    %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    tl.store %base, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    %next = arith.subi %begin, %block : i32
    scf.yield %next : i32
  }
  return
}

// -----

// n - 1 - i % n, from the last tile to the first: n must not be 0.
// CHECK-LABEL: func.func @backwards(
// CHECK-SAME: tlg.at_least = {{\[}}array<i32: 2, 1>]
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @backwards(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}, %tiles: i32) {
  %one = arith.constant 1 : i32
  %block = arith.constant 1024 : i32
  %pid = tl.program_id 0 : i32
  %tile = arith.remsi %pid, %tiles : i32
  %last = arith.subi %tiles, %one : i32
  %number = arith.subi %last, %tile : i32
  %begin = arith.muli %number, %block : i32
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %from = tl.splat %begin : i32 -> tensor<1024xi32>
  %all = arith.addi %from, %i : tensor<1024xi32>
  %limit = tl.splat %n : i32 -> tensor<1024xi32>
  %offsets = arith.remsi %all, %limit : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
  tl.store %base, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// The branch says something of two indices that are computed from the same ones, and by the
// constants of the condition: a question about one leads to the other, and back.
// CHECK-LABEL: func.func @triangle(
// CHECK-SAME: tlg.at_least = {{\[}}array<i32: 1, 0>]
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @triangle(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}) {
  %size = arith.constant 1024 : i32
  %wide = arith.constant 2048 : i32
  %group = arith.constant 8 : i32
  %pid = tl.program_id 0 : i32
  %tiles = arith.divsi %n, %size : i32
  %tile = arith.muli %pid, %tiles : i32
  %first = arith.divsi %tile, %group : i32
  %rest = arith.remsi %tile, %group : i32
  %row = arith.addi %first, %rest : i32
  %begin = arith.muli %row, %size : i32
  %other = arith.muli %rest, %wide : i32
  %end = arith.addi %begin, %size : i32
  %is_above = arith.cmpi sle, %end, %other : i32
  scf.if %is_above {
  } else {
    %i = tl.range 0 to 1024 : tensor<1024xi32>
    %from = tl.splat %begin : i32 -> tensor<1024xi32>
    %all = arith.addi %from, %i : tensor<1024xi32>
    %limit = tl.splat %n : i32 -> tensor<1024xi32>
    %offsets = arith.remsi %all, %limit : tensor<1024xi32>
    %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
    %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    tl.store %base, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  }
  return
}

// -----

// Persistent programs count from their number by how many there are.
// CHECK-LABEL: func.func @persistent(
// CHECK-NOT: tlg.at_least
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @persistent(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}, %tiles: i32) {
  %block = arith.constant 1024 : i32
  %pid = tl.program_id 0 : i32
  %programs = tl.num_programs 0 : i32
  scf.for %tile = %pid to %tiles step %programs : i32 {
    %begin = arith.muli %tile, %block : i32
    %i = tl.range 0 to 1024 : tensor<1024xi32>
    %from = tl.splat %begin : i32 -> tensor<1024xi32>
    %all = arith.addi %from, %i : tensor<1024xi32>
    %limit = tl.splat %n : i32 -> tensor<1024xi32>
    %offsets = arith.remsi %all, %limit : tensor<1024xi32>
    %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
    %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    tl.store %base, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  }
  return
}

// -----

// Or by an argument, which then has to be at least 1.
// CHECK-LABEL: func.func @by_an_argument(
// CHECK-SAME: tlg.at_least = {{\[}}array<i32: 3, 1>]
// CHECK: tl.load {{.*}}tlg.vector = array<i32: 0, 4>
func.func @by_an_argument(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32 {tl.divisibility = 16 : i32}, %tiles: i32, %programs: i32) {
  %block = arith.constant 1024 : i32
  %pid = tl.program_id 0 : i32
  scf.for %tile = %pid to %tiles step %programs : i32 {
    %begin = arith.muli %tile, %block : i32
    %i = tl.range 0 to 1024 : tensor<1024xi32>
    %from = tl.splat %begin : i32 -> tensor<1024xi32>
    %all = arith.addi %from, %i : tensor<1024xi32>
    %limit = tl.splat %n : i32 -> tensor<1024xi32>
    %offsets = arith.remsi %all, %limit : tensor<1024xi32>
    %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
    %at = tl.addptr %base, %offsets : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    tl.store %base, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  }
  return
}
