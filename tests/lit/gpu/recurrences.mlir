// Loops that store in every iteration, carry a recurrence and exchange something between threads:
// which loads are done an iteration early.
// RUN: blk-opt %s --split-input-file --tlg-pipeline='arch=sm_90a print-plan' -o /dev/null | FileCheck %s
// RUN: blk-opt %s --split-input-file --tlg-pipeline='arch=sm_90a' | FileCheck %s --check-prefix=IR

// CHECK-LABEL: plan of 'scan'
// CHECK-NEXT: loop at recurrences.mlir:{{.*}}: no ring
// CHECK-NEXT:   load at recurrences.mlir:{{.*}}: into registers, an iteration early
// CHECK-NEXT:   load at recurrences.mlir:{{.*}}: into registers, an iteration early
// CHECK-NEXT:   arguments 0 and 2 must not overlap
// CHECK-NEXT:   arguments 1 and 2 must not overlap
// IR-LABEL: func.func @scan(
// IR: %[[ANY:.*]] = arith.cmpi slt
// IR: %[[ALL:.*]] = tl.splat %[[ANY]]
// IR: %[[FIRST:.*]] = tl.load {{.*}} mask %[[ALL]]
// IR: %[[FIRST_GATE:.*]] = tl.load {{.*}} mask %[[ANY]]
// IR: scf.for {{.*}} iter_args(%[[H:.*]] = %{{.*}}, %[[NOW:.*]] = %[[FIRST]], %[[GATE:.*]] = %[[FIRST_GATE]])
// IR: %[[NEXT:.*]] = tl.load
// IR: %[[NEXT_GATE:.*]] = tl.load
// IR: tl.splat %[[GATE]]
// IR: %[[SUM:.*]] = arith.addf %{{.*}}, %[[NOW]]
// IR-NOT: tl.load
// IR: tl.store
// IR: scf.yield %[[SUM]], %[[NEXT]], %[[NEXT_GATE]]
func.func @scan(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %g: !tl.ptr<f32>, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<512xf32>
  %range = tl.range 0 to 512 : tensor<512xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %last = scf.for %i = %zero to %n step %one iter_args(%h = %none) -> (tensor<512xf32>) : i32 {
    %all = tl.splat %i : i32 -> tensor<512xi32>
    %at = arith.addi %range, %all : tensor<512xi32>
    %x_at = tl.addptr %x_base, %at : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
    %v = tl.load %x_at : tensor<512x!tl.ptr<f32>> -> tensor<512xf32>
    %g_at = tl.addptr %g, %i : !tl.ptr<f32>, i32
    %gate = tl.load %g_at : !tl.ptr<f32> -> f32
    %gates = tl.splat %gate : f32 -> tensor<512xf32>
    %less = arith.mulf %gates, %h : tensor<512xf32>
    %next = arith.addf %less, %v : tensor<512xf32>
    %y_at = tl.addptr %y_base, %at : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
    %total = tl.reduce %next axis 0 {
    ^bb0(%p: f32, %q: f32):
      %both = arith.addf %p, %q : f32
      tl.yield %both : f32
    } : (tensor<512xf32>) -> f32
    %totals = tl.splat %total : f32 -> tensor<512xf32>
    tl.store %y_at, %totals : tensor<512x!tl.ptr<f32>>, tensor<512xf32>
    scf.yield %next : tensor<512xf32>
  }
  return
}

// -----

// ptxas makes several of its iterations one.
// CHECK-LABEL: plan of 'no_exchange'
// CHECK-NEXT: loop at recurrences.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at recurrences.mlir:{{.*}}: in its iteration
// CHECK-NEXT:   load at recurrences.mlir:{{.*}}: in its iteration
func.func @no_exchange(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %g: !tl.ptr<f32>, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<512xf32>
  %range = tl.range 0 to 512 : tensor<512xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %last = scf.for %i = %zero to %n step %one iter_args(%h = %none) -> (tensor<512xf32>) : i32 {
    %all = tl.splat %i : i32 -> tensor<512xi32>
    %at = arith.addi %range, %all : tensor<512xi32>
    %x_at = tl.addptr %x_base, %at : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
    %v = tl.load %x_at : tensor<512x!tl.ptr<f32>> -> tensor<512xf32>
    %g_at = tl.addptr %g, %i : !tl.ptr<f32>, i32
    %gate = tl.load %g_at : !tl.ptr<f32> -> f32
    %gates = tl.splat %gate : f32 -> tensor<512xf32>
    %less = arith.mulf %gates, %h : tensor<512xf32>
    %next = arith.addf %less, %v : tensor<512xf32>
    %y_at = tl.addptr %y_base, %at : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
    tl.store %y_at, %next : tensor<512x!tl.ptr<f32>>, tensor<512xf32>
    scf.yield %next : tensor<512xf32>
  }
  return
}

// -----

// Nothing goes from one iteration to the next but where it loads.
// CHECK-LABEL: plan of 'elementwise'
// CHECK-NEXT: loop at recurrences.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at recurrences.mlir:{{.*}}: in its iteration
func.func @elementwise(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %range = tl.range 0 to 512 : tensor<512xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %last = scf.for %i = %zero to %n step %one iter_args(%at = %range) -> (tensor<512xi32>) : i32 {
    %x_at = tl.addptr %x_base, %at : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
    %v = tl.load %x_at : tensor<512x!tl.ptr<f32>> -> tensor<512xf32>
    %y_at = tl.addptr %y_base, %at : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
    %total = tl.reduce %v axis 0 {
    ^bb0(%p: f32, %q: f32):
      %both = arith.addf %p, %q : f32
      tl.yield %both : f32
    } : (tensor<512xf32>) -> f32
    %totals = tl.splat %total : f32 -> tensor<512xf32>
    tl.store %y_at, %totals : tensor<512x!tl.ptr<f32>>, tensor<512xf32>
    %next = arith.addi %at, %range : tensor<512xi32>
    scf.yield %next : tensor<512xi32>
  }
  return
}

// -----

// A sum that is stored behind the loop: its loads need not wait for stores.
// CHECK-LABEL: plan of 'sum'
// CHECK-NEXT: loop at recurrences.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at recurrences.mlir:{{.*}}: in its iteration
func.func @sum(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<512xf32>
  %range = tl.range 0 to 512 : tensor<512xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<512xf32>) : i32 {
    %v = tl.load %x_at : tensor<512x!tl.ptr<f32>> -> tensor<512xf32>
    %next = arith.addf %s, %v : tensor<512xf32>
    %total = tl.reduce %next axis 0 {
    ^bb0(%p: f32, %q: f32):
      %both = arith.addf %p, %q : f32
      tl.yield %both : f32
    } : (tensor<512xf32>) -> f32
    %totals = tl.splat %total : f32 -> tensor<512xf32>
    %again = arith.addf %next, %totals : tensor<512xf32>
    scf.yield %again : tensor<512xf32>
  }
  tl.store %y_at, %sum : tensor<512x!tl.ptr<f32>>, tensor<512xf32>
  return
}

// -----

// What the loop stores to stays.
// CHECK-LABEL: plan of 'stored_to'
// CHECK-NEXT: loop at recurrences.mlir:{{.*}}: no ring
// CHECK-NEXT:   load at recurrences.mlir:{{.*}}: in its iteration
// CHECK-NEXT:   load at recurrences.mlir:{{.*}}: into registers, an iteration early
// CHECK-NEXT:   load at recurrences.mlir:{{.*}}: into registers, an iteration early
// CHECK-NEXT:   arguments 0 and 1 must not overlap
func.func @stored_to(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %last = scf.for %i = %zero to %n step %one iter_args(%h = %none) -> (tensor<1024xf32>) : i32 {
    %all = tl.splat %i : i32 -> tensor<1024xi32>
    %at = arith.addi %range, %all : tensor<1024xi32>
    %later = arith.addi %at, %all : tensor<1024xi32>
    %y_at = tl.addptr %y_base, %at : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %old = tl.load %y_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %x_at = tl.addptr %x_base, %at : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %x_later = tl.addptr %x_base, %later : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %w = tl.load %x_later : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %a = arith.addf %v, %w : tensor<1024xf32>
    %b = arith.mulf %a, %old : tensor<1024xf32>
    %c = arith.mulf %h, %b : tensor<1024xf32>
    %next = arith.addf %c, %v : tensor<1024xf32>
    %total = tl.reduce %next axis 0 {
    ^bb0(%p: f32, %q: f32):
      %both = arith.addf %p, %q : f32
      tl.yield %both : f32
    } : (tensor<1024xf32>) -> f32
    %totals = tl.splat %total : f32 -> tensor<1024xf32>
    tl.store %y_at, %totals : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  }
  return
}

// -----

// A thread would need too many registers for them.
// CHECK-LABEL: plan of 'large'
// CHECK-NEXT: loop at recurrences.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at recurrences.mlir:{{.*}}: in its iteration
// CHECK-NEXT:   load at recurrences.mlir:{{.*}}: in its iteration
func.func @large(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %g: !tl.ptr<f32>, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<2048xf32>
  %range = tl.range 0 to 2048 : tensor<2048xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<2048x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<2048x!tl.ptr<f32>>
  %last = scf.for %i = %zero to %n step %one iter_args(%h = %none) -> (tensor<2048xf32>) : i32 {
    %all = tl.splat %i : i32 -> tensor<2048xi32>
    %at = arith.addi %range, %all : tensor<2048xi32>
    %x_at = tl.addptr %x_base, %at : tensor<2048x!tl.ptr<f32>>, tensor<2048xi32>
    %v = tl.load %x_at : tensor<2048x!tl.ptr<f32>> -> tensor<2048xf32>
    %g_at = tl.addptr %g, %i : !tl.ptr<f32>, i32
    %gate = tl.load %g_at : !tl.ptr<f32> -> f32
    %gates = tl.splat %gate : f32 -> tensor<2048xf32>
    %less = arith.mulf %gates, %h : tensor<2048xf32>
    %next = arith.addf %less, %v : tensor<2048xf32>
    %y_at = tl.addptr %y_base, %at : tensor<2048x!tl.ptr<f32>>, tensor<2048xi32>
    %total = tl.reduce %next axis 0 {
    ^bb0(%p: f32, %q: f32):
      %both = arith.addf %p, %q : f32
      tl.yield %both : f32
    } : (tensor<2048xf32>) -> f32
    %totals = tl.splat %total : f32 -> tensor<2048xf32>
    tl.store %y_at, %totals : tensor<2048x!tl.ptr<f32>>, tensor<2048xf32>
    scf.yield %next : tensor<2048xf32>
  }
  return
}
