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
