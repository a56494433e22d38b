// A loop that stores: loads of other arguments begin early, and it is recorded that they must be
// other memory. Loads of what is stored to stay in their iteration, and so do all loads where the
// argument cannot be seen, where programs may learn what others wrote, and where arguments overlap.
// RUN: blk-opt %s --split-input-file --tlg-pipeline='arch=sm_80 num-stages=3' | FileCheck %s

// Pointers are variables of the loop.
// CHECK-LABEL: func.func @other(
// CHECK-SAME: tlg.disjoint = [array<i32: 0, 1>]
// CHECK: scf.for
// CHECK: tlg.async_copy
// CHECK-NOT: tl.load
// CHECK: tl.store
func.func @other(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %width = arith.constant dense<1024> : tensor<1024xi32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_begin = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_begin = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %x_end, %y_end = scf.for %i = %zero to %n step %one iter_args(%from = %x_begin, %to = %y_begin) -> (tensor<1024x!tl.ptr<f32>>, tensor<1024x!tl.ptr<f32>>) : i32 {
    %v = tl.load %from : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    tl.store %to, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    %from_next = tl.addptr %from, %width : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %to_next = tl.addptr %to, %width : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    scf.yield %from_next, %to_next : tensor<1024x!tl.ptr<f32>>, tensor<1024x!tl.ptr<f32>>
  } {tl.num_stages = 3 : i32}
  return
}

// -----

// Of two arguments, one is loaded early. Where pointers change places, either may be meant.
// CHECK-LABEL: func.func @same(
// CHECK-SAME: tlg.disjoint = [array<i32: 0, 1>]
// CHECK: scf.for
// CHECK: tlg.async_copy
// CHECK-NOT: tlg.async_copy
// CHECK: tl.load
// CHECK: tl.store
// CHECK-LABEL: func.func @swapped(
// CHECK-NOT: tlg.disjoint
// CHECK-NOT: tlg.async_copy
// CHECK: return
func.func @same(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %from = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %to = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  scf.for %i = %zero to %n step %one : i32 {
    %v = tl.load %from : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %old = tl.load %to : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %sum = arith.addf %v, %old : tensor<1024xf32>
    tl.store %to, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  return
}
func.func @swapped(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_begin = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_begin = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %x_end, %y_end = scf.for %i = %zero to %n step %one iter_args(%from = %x_begin, %to = %y_begin) -> (tensor<1024x!tl.ptr<f32>>, tensor<1024x!tl.ptr<f32>>) : i32 {
    %v = tl.load %from : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    tl.store %to, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    scf.yield %to, %from : tensor<1024x!tl.ptr<f32>>, tensor<1024x!tl.ptr<f32>>
  } {tl.num_stages = 3 : i32}
  return
}

// -----

// CHECK-LABEL: func.func @volatile(
// CHECK-NOT: tlg.disjoint
// CHECK-NOT: tlg.async_copy
// CHECK: return
func.func @volatile(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %from = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %to = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  scf.for %i = %zero to %n step %one : i32 {
    %v = tl.load %from : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    tl.store %to, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    tl.barrier
  } {tl.num_stages = 3 : i32}
  return
}

// -----

// Of arguments of which some overlap, only those that do not are relied on.

// CHECK: module attributes {{.*}}tlg.known_disjoint
// CHECK-LABEL: func.func @partly_careful(
// CHECK-SAME: tlg.disjoint = [array<i32: 0, 2>]
// CHECK: scf.for
// CHECK: tlg.async_copy
// CHECK-NOT: tlg.async_copy
// CHECK: tl.load
// CHECK: return
module attributes {tlg.may_overlap, tlg.known_disjoint = [array<i32: 0, 2>]} {
  func.func @partly_careful(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %z: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %range = tl.range 0 to 1024 : tensor<1024xi32>
    %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
    %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
    %z_base = tl.splat %z : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
    %from_x = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %from_y = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %to = tl.addptr %z_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    scf.for %i = %zero to %n step %one : i32 {
      %v = tl.load %from_x : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      %w = tl.load %from_y : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      %sum = arith.addf %v, %w : tensor<1024xf32>
      tl.store %to, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    } {tl.num_stages = 3 : i32}
    return
  }
}

// -----

// CHECK: module attributes {{.*}}tlg.may_overlap
// CHECK-LABEL: func.func @careful(
// CHECK-NOT: tlg.disjoint
// CHECK-NOT: tlg.async_copy
// CHECK: return
module attributes {tlg.may_overlap} {
  func.func @careful(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %range = tl.range 0 to 1024 : tensor<1024xi32>
    %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
    %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
    %from = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %to = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    scf.for %i = %zero to %n step %one : i32 {
      %v = tl.load %from : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      tl.store %to, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    } {tl.num_stages = 3 : i32}
    return
  }
}
