// Loads that are repeated.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-share-loads)' --split-input-file | FileCheck %s

// Values that are the keys are loaded once, whatever is computed and loaded between.
// CHECK-LABEL: func.func @keys_and_values(
// CHECK: scf.for
// CHECK-NEXT: %[[K:.*]] = tl.load %arg0 mask
// CHECK-NEXT: %[[OTHER:.*]] = tl.load %arg1
// CHECK-NEXT: tl.reduce %[[K]]
// CHECK-NOT: tl.load
// CHECK: arith.addf %[[K]], %[[K]]
func.func @keys_and_values(%p: tensor<64x!tl.ptr<f32>>, %q: tensor<64x!tl.ptr<f32>>, %mask: tensor<64xi1>, %n: i32) -> tensor<64xf32> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%before = %none) -> (tensor<64xf32>) : i32 {
    %k = tl.load %p mask %mask : tensor<64xi1> : tensor<64x!tl.ptr<f32>> -> tensor<64xf32>
    %other = tl.load %q : tensor<64x!tl.ptr<f32>> -> tensor<64xf32>
    %all = tl.reduce %k axis 0 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tl.yield %c : f32
    } : (tensor<64xf32>) -> f32
    %v = tl.load %p mask %mask : tensor<64xi1> : tensor<64x!tl.ptr<f32>> -> tensor<64xf32>
    %both = arith.addf %k, %v : tensor<64xf32>
    %spread = tl.splat %all : f32 -> tensor<64xf32>
    %scaled = arith.mulf %both, %spread : tensor<64xf32>
    %with = arith.addf %scaled, %other : tensor<64xf32>
    %after = arith.addf %before, %with : tensor<64xf32>
    scf.yield %after : tensor<64xf32>
  }
  return %sum : tensor<64xf32>
}

// -----

// Behind a store, an atomic, a barrier or a loop with one, memory is loaded anew; volatile loads
// and those with other masks always.
// CHECK-LABEL: func.func @changes(
// CHECK-COUNT-10: tl.load
// CHECK-NOT: tl.load
func.func @changes(%p: tensor<64x!tl.ptr<i32>>, %q: !tl.ptr<i32>, %mask: tensor<64xi1>, %n: i32) -> tensor<64xi32> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = tl.load %p : tensor<64x!tl.ptr<i32>> -> tensor<64xi32>
  tl.store %q, %n : !tl.ptr<i32>, i32
  %b = tl.load %p : tensor<64x!tl.ptr<i32>> -> tensor<64xi32>
  %c = tl.load %p mask %mask : tensor<64xi1> : tensor<64x!tl.ptr<i32>> -> tensor<64xi32>
  %old = tl.atomic_rmw "add" %q, %n {sem = "relaxed"} : !tl.ptr<i32>, i32 -> i32
  %d = tl.load %p : tensor<64x!tl.ptr<i32>> -> tensor<64xi32>
  scf.for %i = %zero to %n step %one : i32 {
    tl.store %q, %i : !tl.ptr<i32>, i32
  }
  %e = tl.load %p : tensor<64x!tl.ptr<i32>> -> tensor<64xi32>
  tl.barrier
  %f = tl.load %p : tensor<64x!tl.ptr<i32>> -> tensor<64xi32>
  %g = tl.load %p {is_volatile = true} : tensor<64x!tl.ptr<i32>> -> tensor<64xi32>
  %h = tl.load %p {is_volatile = true} : tensor<64x!tl.ptr<i32>> -> tensor<64xi32>
  %i = tl.load %p : tensor<64x!tl.ptr<i32>> -> tensor<64xi32>
  %j = tl.load %p {cache_modifier = ".cg"} : tensor<64x!tl.ptr<i32>> -> tensor<64xi32>
  %0 = arith.addi %a, %b : tensor<64xi32>
  %1 = arith.addi %c, %d : tensor<64xi32>
  %2 = arith.addi %e, %f : tensor<64xi32>
  %3 = arith.addi %g, %h : tensor<64xi32>
  %4 = arith.addi %i, %j : tensor<64xi32>
  %5 = arith.addi %0, %1 : tensor<64xi32>
  %6 = arith.addi %2, %3 : tensor<64xi32>
  %7 = arith.addi %5, %6 : tensor<64xi32>
  %8 = arith.addi %7, %4 : tensor<64xi32>
  return %8 : tensor<64xi32>
}

// -----

// Scalars that a loop loads from the same address are loaded before it, where it runs; with bounds
// that are known, always.
// CHECK-LABEL: func.func @before_loop(
// CHECK: %[[RUNS:.*]] = arith.cmpi slt, %{{.*}}, %[[N:.*]] : i32
// CHECK: tl.load %{{.*}} mask %[[RUNS]] : i1
// CHECK: %[[BOTH:.*]] = arith.andi %{{.*}}, %[[RUNS]] : i1
// CHECK: tl.load %{{.*}} mask %[[BOTH]] : i1 other
// CHECK: scf.for
// CHECK-NOT: tl.load
// CHECK: tl.load %{{[a-z0-9]+}} : !tl.ptr<f32>
// CHECK: scf.for
// CHECK-NOT: tl.load
// CHECK: return
func.func @before_loop(%p: !tl.ptr<f32>, %q: !tl.ptr<f32>, %mask: i1, %n: i32) -> (f32, f32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant 4 : i32
  %none = arith.constant 0.0 : f32
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (f32) : i32 {
    %a = tl.load %p : !tl.ptr<f32> -> f32
    %b = tl.load %q mask %mask : i1 other %none : f32 : !tl.ptr<f32> -> f32
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %s, %0 : f32
    scf.yield %1 : f32
  }
  %other = scf.for %i = %zero to %four step %one iter_args(%s = %none) -> (f32) : i32 {
    %a = tl.load %q : !tl.ptr<f32> -> f32
    %1 = arith.addf %s, %a : f32
    scf.yield %1 : f32
  }
  return %sum, %other : f32, f32
}

// -----

// Also where the loop stores to other arguments: a launch checks that they do not overlap.
// CHECK-LABEL: func.func @stores_elsewhere(
// CHECK-SAME: tlg.disjoint = [array<i32: 0, 1>]
// CHECK: tl.load %arg0 mask
// CHECK: scf.for
// CHECK-NOT: tl.load
// CHECK: return
func.func @stores_elsewhere(%p: !tl.ptr<f32>, %q: !tl.ptr<f32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %to = tl.addptr %q, %i : !tl.ptr<f32>, i32
    %a = tl.load %p : !tl.ptr<f32> -> f32
    tl.store %to, %a : !tl.ptr<f32>, f32
  }
  return
}

// -----

// Not where a launch found that they overlap.
// CHECK-LABEL: func.func @overlaps(
// CHECK: scf.for
// CHECK: tl.load
module attributes {tlg.may_overlap} {
  func.func @overlaps(%p: !tl.ptr<f32>, %q: !tl.ptr<f32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.for %i = %zero to %n step %one : i32 {
      %to = tl.addptr %q, %i : !tl.ptr<f32>, i32
      %a = tl.load %p : !tl.ptr<f32> -> f32
      tl.store %to, %a : !tl.ptr<f32>, f32
    }
    return
  }
}

// -----

// Not from loops that store to the same argument, or that say so; nor blocks, whose registers a
// loop may need.
// CHECK-LABEL: func.func @in_loop(
// CHECK-NOT: tl.load
// CHECK: scf.for
// CHECK: tl.load
// CHECK: scf.for
// CHECK: tl.load
// CHECK: scf.for
// CHECK: tl.load
func.func @in_loop(%p: !tl.ptr<f32>, %q: !tl.ptr<f32>, %r: tensor<64x!tl.ptr<f32>>, %n: i32) -> (f32, tensor<64xf32>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.0 : f32
  %block = arith.constant dense<0.0> : tensor<64xf32>
  scf.for %i = %zero to %n step %one : i32 {
    %a = tl.load %p : !tl.ptr<f32> -> f32
    %next = tl.addptr %p, %i : !tl.ptr<f32>, i32
    tl.store %next, %a : !tl.ptr<f32>, f32
  }
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (f32) : i32 {
    %a = tl.load %p : !tl.ptr<f32> -> f32
    %1 = arith.addf %s, %a : f32
    scf.yield %1 : f32
  } {tl.disable_licm}
  %blocks = scf.for %i = %zero to %n step %one iter_args(%s = %block) -> (tensor<64xf32>) : i32 {
    %a = tl.load %r : tensor<64x!tl.ptr<f32>> -> tensor<64xf32>
    %1 = arith.addf %s, %a : tensor<64xf32>
    scf.yield %1 : tensor<64xf32>
  }
  return %sum, %blocks : f32, tensor<64xf32>
}
