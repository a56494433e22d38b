// The plan of loops: each reason for not beginning a load early, and what is said of the others.
// pipeline-rings.mlir has the kinds of rings.
// RUN: blk-opt %s --split-input-file --tlg-pipeline='arch=sm_80 print-plan' -o /dev/null | FileCheck %s

// All loads of a loop that asks for stages itself.
// CHECK: plan of 'asked'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 3 buffers
// CHECK-NEXT:   copies: begun 2 iterations ahead by all threads
// CHECK-NEXT:   waits: each thread for its copies, then all at a CTA barrier
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: cp.async, 4096 bytes a buffer
func.func @asked(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// One iteration ahead.
// CHECK-NEXT: plan of 'two'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: 2 stages
// CHECK-NEXT:   ring: 2 buffers
// CHECK-NEXT:   copies: begun 1 iteration ahead by all threads
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: cp.async
func.func @two(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 2 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// CHECK-NEXT: plan of 'no_dot'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: in its iteration: no dot of its iteration uses it, and the loop itself asks for no stages (tl.range with num_stages)
func.func @no_dot(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } 
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// CHECK-NEXT: plan of 'one_stage'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: num_stages is 1
func.func @one_stage(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 1 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// CHECK-NEXT: plan of 'unsigned_counter'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: the loop's counter is unsigned
func.func @unsigned_counter(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for unsigned %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Nothing to load.
// CHECK-NEXT: plan of 'no_loads'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: no load of it can begin early
func.func @no_loads(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = math.exp %s : tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// The loop around one that is pipelined.
// CHECK-NEXT: plan of 'nested'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring:{{.*}}
// CHECK-NEXT:   copies:{{.*}}
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: cp.async{{.*}}
// CHECK-NEXT:   rounds: the first copies of each begin behind the iterations of the one before
// CHECK-NEXT:   arguments 0 and 1 must not overlap
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: a loop inside the loop is pipelined
func.func @nested(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  scf.for %j = %zero to %n step %one : i32 {
    %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
      %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      %next = arith.addf %s, %v : tensor<1024xf32>
      scf.yield %next : tensor<1024xf32>
    } {tl.num_stages = 3 : i32}
    %first = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %both = arith.addf %sum, %first : tensor<1024xf32>
    tl.store %y_at, %both : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  return
}

// -----

// CHECK-NEXT: plan of 'stored_to'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: in its iteration: line {{[0-9]+}} of the loop writes to global memory, and a later iteration might load that
func.func @stored_to(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    tl.store %x_at, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// CHECK-NEXT: plan of 'atomic'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: in its iteration: line {{[0-9]+}} of the loop writes to global memory
func.func @atomic(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %f = arith.constant 1.0 : f32
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %old = tl.atomic_rmw "fadd" %y, %f : !tl.ptr<f32>, f32 -> f32
    %old_block = tl.splat %old : f32 -> tensor<1024xf32>
    %more = arith.addf %v, %old_block : tensor<1024xf32>
    %next = arith.addf %s, %more : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// An atomic whose result nobody uses is a store: it acquires nothing.
// CHECK-NEXT: plan of 'unused_atomic'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 3 buffers
// CHECK-NEXT:   copies: begun 2 iterations ahead by all threads
// CHECK-NEXT:   waits: each thread for its copies, then all at a CTA barrier
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: cp.async, 4096 bytes a buffer
// CHECK-NEXT:   arguments 0 and 1 must not overlap
func.func @unused_atomic(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %f = arith.constant 1.0 : f32
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %old = tl.atomic_rmw "fadd" %y, %f : !tl.ptr<f32>, f32 -> f32
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// CHECK-NEXT: plan of 'atomic_at_what_is_loaded'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: in its iteration: line {{[0-9]+}} of the loop writes to global memory
func.func @atomic_at_what_is_loaded(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %f = arith.constant 1.0 : f32
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %old = tl.atomic_rmw "fadd" %x, %f : !tl.ptr<f32>, f32 -> f32
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// What a kernel claims is no access to memory.
// CHECK-NEXT: plan of 'assumption'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 3 buffers
// CHECK-NEXT:   copies: begun 2 iterations ahead by all threads
// CHECK-NEXT:   waits: each thread for its copies, then all at a CTA barrier
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: cp.async, 4096 bytes a buffer
func.func @assumption(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %less = arith.cmpi slt, %i, %n : i32
    tl.assume %less : i1
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// CHECK-NEXT: plan of 'barrier'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: in its iteration: line {{[0-9]+}} of the loop orders accesses to memory
func.func @barrier(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    tl.barrier
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// A volatile load may say that others have written memory: with a store beside it, all stay.
// CHECK-NEXT: plan of 'volatile_beside_store'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: in its iteration: line {{[0-9]+}} of the loop orders accesses to memory
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: in its iteration: line {{[0-9]+}} of the loop orders accesses to memory
func.func @volatile_beside_store(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %z: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %z_base = tl.splat %z : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %z_at = tl.addptr %z_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %w = tl.load %z_at {is_volatile = true} : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    tl.store %y_at, %w : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Arguments that must not overlap for this.
// CHECK-NEXT: plan of 'stored_beside'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring:{{.*}}
// CHECK-NEXT:   copies:{{.*}}
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: cp.async{{.*}}
// CHECK-NEXT:   arguments 0 and 1 must not overlap
func.func @stored_beside(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    tl.store %y_at, %v : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// CHECK-NEXT: plan of 'one_element'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: in its iteration: it loads one element, or has no layout
func.func @one_element(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %at = tl.addptr %x, %i : !tl.ptr<f32>, i32
    %e = tl.load %at : !tl.ptr<f32> -> f32
    %v = tl.splat %e : f32 -> tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// CHECK-NEXT: plan of 'narrow'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: in its iteration: it loads by pieces of 2 bytes, asynchronous copies take at least 4
func.func @narrow(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf16>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f16> -> tensor<1024x!tl.ptr<f16>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f16>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f16> -> tensor<1024x!tl.ptr<f16>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f16>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf16>) : i32 {
    %v = tl.load %x_at : tensor<1024x!tl.ptr<f16>> -> tensor<1024xf16>
    %next = arith.addf %s, %v : tensor<1024xf16>
    scf.yield %next : tensor<1024xf16>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f16>>, tensor<1024xf16>
  return
}

// -----

// CHECK-NEXT: plan of 'volatile'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: in its iteration: the load is volatile
func.func @volatile(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at {is_volatile = true} : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// CHECK-NEXT: plan of 'cache_modifier'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: in its iteration: asynchronous copies do not have its cache_modifier
func.func @cache_modifier(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %x_at {cache_modifier = ".cs"} : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// The address of one load comes from another, which is done before and takes no buffers.
// CHECK-NEXT: plan of 'gathered'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 2 buffers (loads that addresses need take the other stages)
// CHECK-NEXT:   copies:{{.*}}
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: into registers, 2 iterations early: addresses of copies need it
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: cp.async, 4096 bytes a buffer
func.func @gathered(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %k: !tl.ptr<i32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %k_base = tl.splat %k : !tl.ptr<i32> -> tensor<1024x!tl.ptr<i32>>
  %k_at = tl.addptr %k_base, %range : tensor<1024x!tl.ptr<i32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %index = tl.load %k_at : tensor<1024x!tl.ptr<i32>> -> tensor<1024xi32>
    %there = tl.addptr %x_base, %index : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %v = tl.load %there : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Only zeros can be filled in for a dot: what is small comes through registers.
// CHECK-NEXT: plan of 'other'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring:{{.*}}
// CHECK-NEXT:   copies:{{.*}}
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: into registers, an iteration early
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: cp.async, 1024 bytes a buffer
func.func @other(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %b: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r16 = tl.range 0 to 16 : tensor<16xi32>
  %r32 = tl.range 0 to 32 : tensor<32xi32>
  %a_w = arith.constant dense<16> : tensor<32x1xi32>
  %a_r = tl.expand_dims %r32 axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %a_c = tl.expand_dims %r16 axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %a_o = arith.muli %a_r, %a_w : tensor<32x1xi32>
  %a_1 = tl.broadcast %a_o : tensor<32x1xi32> -> tensor<32x16xi32>
  %a_2 = tl.broadcast %a_c : tensor<1x16xi32> -> tensor<32x16xi32>
  %a_3 = arith.addi %a_1, %a_2 : tensor<32x16xi32>
  %a_b = tl.splat %a : !tl.ptr<f16> -> tensor<32x16x!tl.ptr<f16>>
  %a_at = tl.addptr %a_b, %a_3 : tensor<32x16x!tl.ptr<f16>>, tensor<32x16xi32>
  %b_w = arith.constant dense<32> : tensor<16x1xi32>
  %b_r = tl.expand_dims %r16 axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %b_c = tl.expand_dims %r32 axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %b_o = arith.muli %b_r, %b_w : tensor<16x1xi32>
  %b_1 = tl.broadcast %b_o : tensor<16x1xi32> -> tensor<16x32xi32>
  %b_2 = tl.broadcast %b_c : tensor<1x32xi32> -> tensor<16x32xi32>
  %b_3 = arith.addi %b_1, %b_2 : tensor<16x32xi32>
  %b_b = tl.splat %b : !tl.ptr<f16> -> tensor<16x32x!tl.ptr<f16>>
  %b_at = tl.addptr %b_b, %b_3 : tensor<16x32x!tl.ptr<f16>>, tensor<16x32xi32>
  %y_w = arith.constant dense<32> : tensor<32x1xi32>
  %y_r = tl.expand_dims %r32 axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %y_c = tl.expand_dims %r32 axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %y_o = arith.muli %y_r, %y_w : tensor<32x1xi32>
  %y_1 = tl.broadcast %y_o : tensor<32x1xi32> -> tensor<32x32xi32>
  %y_2 = tl.broadcast %y_c : tensor<1x32xi32> -> tensor<32x32xi32>
  %y_3 = arith.addi %y_1, %y_2 : tensor<32x32xi32>
  %y_b = tl.splat %y : !tl.ptr<f32> -> tensor<32x32x!tl.ptr<f32>>
  %y_at = tl.addptr %y_b, %y_3 : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xi32>
  %nan = arith.constant dense<0x7E00> : tensor<32x16xf16>
  %limit = arith.constant dense<16> : tensor<32x16xi32>
  %mask = arith.cmpi slt, %a_3, %limit : tensor<32x16xi32>
  %none = arith.constant dense<0.0> : tensor<32x32xf32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<32x32xf32>) : i32 {
    %va = tl.load %a_at mask %mask : tensor<32x16xi1> other %nan : tensor<32x16xf16> : tensor<32x16x!tl.ptr<f16>> -> tensor<32x16xf16>
    %vb = tl.load %b_at : tensor<16x32x!tl.ptr<f16>> -> tensor<16x32xf16>
    %next = tl.dot %va, %vb, %s : tensor<32x16xf16>, tensor<16x32xf16> -> tensor<32x32xf32>
    scf.yield %next : tensor<32x32xf32>
  } {tl.disable_licm}
  tl.store %y_at, %sum : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xf32>
  return
}

// -----

// Operands that no copy can bring come an iteration early where sums take many registers: few warps
// run beside one another, and none can hide that another one waits.
// CHECK-NEXT: plan of 'narrow_operands'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: no ring
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: into registers, an iteration early
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: into registers, an iteration early
func.func @narrow_operands(%a: !tl.ptr<f16>, %b: !tl.ptr<f16>, %c: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %lda: i32, %ldb: i32, %k: i32) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 16 : i32
  %none = arith.constant dense<0.0> : tensor<64x128xf32>
  %m = tl.range 0 to 64 : tensor<64xi32>
  %n = tl.range 0 to 128 : tensor<128xi32>
  %d = tl.range 0 to 16 : tensor<16xi32>
  %rows = tl.expand_dims %m axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tl.expand_dims %n axis 0 : tensor<128xi32> -> tensor<1x128xi32>
  %sa = tl.splat %lda : i32 -> tensor<64x1xi32>
  %ra = arith.muli %rows, %sa : tensor<64x1xi32>
  %a_rows = tl.broadcast %ra : tensor<64x1xi32> -> tensor<64x16xi32>
  %b_columns = tl.broadcast %columns : tensor<1x128xi32> -> tensor<16x128xi32>
  %a_base = tl.splat %a : !tl.ptr<f16> -> tensor<64x16x!tl.ptr<f16>>
  %b_base = tl.splat %b : !tl.ptr<f16> -> tensor<16x128x!tl.ptr<f16>>
  %sb = tl.splat %ldb : i32 -> tensor<16x1xi32>
  %sum = scf.for %i = %zero to %k step %step iter_args(%s = %none) -> (tensor<64x128xf32>) : i32 {
    %start = tl.splat %i : i32 -> tensor<16xi32>
    %depth = arith.addi %start, %d : tensor<16xi32>
    %da = tl.expand_dims %depth axis 0 : tensor<16xi32> -> tensor<1x16xi32>
    %db = tl.expand_dims %depth axis 1 : tensor<16xi32> -> tensor<16x1xi32>
    %rb = arith.muli %db, %sb : tensor<16x1xi32>
    %a_depth = tl.broadcast %da : tensor<1x16xi32> -> tensor<64x16xi32>
    %b_rows = tl.broadcast %rb : tensor<16x1xi32> -> tensor<16x128xi32>
    %ao = arith.addi %a_rows, %a_depth : tensor<64x16xi32>
    %bo = arith.addi %b_rows, %b_columns : tensor<16x128xi32>
    %a_at = tl.addptr %a_base, %ao : tensor<64x16x!tl.ptr<f16>>, tensor<64x16xi32>
    %b_at = tl.addptr %b_base, %bo : tensor<16x128x!tl.ptr<f16>>, tensor<16x128xi32>
    %x = tl.load %a_at : tensor<64x16x!tl.ptr<f16>> -> tensor<64x16xf16>
    %y = tl.load %b_at : tensor<16x128x!tl.ptr<f16>> -> tensor<16x128xf16>
    %next = tl.dot %x, %y, %s : tensor<64x16xf16>, tensor<16x128xf16> -> tensor<64x128xf32>
    scf.yield %next : tensor<64x128xf32>
  }
  %c_base = tl.splat %c : !tl.ptr<f32> -> tensor<64x128x!tl.ptr<f32>>
  %c_rows = tl.broadcast %rows : tensor<64x1xi32> -> tensor<64x128xi32>
  %c_at = tl.addptr %c_base, %c_rows : tensor<64x128x!tl.ptr<f32>>, tensor<64x128xi32>
  tl.store %c_at, %sum : tensor<64x128x!tl.ptr<f32>>, tensor<64x128xf32>
  return
}

// -----

// CHECK-NEXT: plan of 'few_sums'
// CHECK-NEXT: loop at pipeline-plan.mlir:{{.*}}: not pipelined: no load of it can begin early
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: in its iteration: it loads by pieces of 2 bytes
// CHECK-NEXT:   load at pipeline-plan.mlir:{{.*}}: in its iteration: it loads by pieces of 2 bytes
func.func @few_sums(%a: !tl.ptr<f16>, %b: !tl.ptr<f16>, %c: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %lda: i32, %ldb: i32, %k: i32) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 16 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %m = tl.range 0 to 64 : tensor<64xi32>
  %n = tl.range 0 to 64 : tensor<64xi32>
  %d = tl.range 0 to 16 : tensor<16xi32>
  %rows = tl.expand_dims %m axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tl.expand_dims %n axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %sa = tl.splat %lda : i32 -> tensor<64x1xi32>
  %ra = arith.muli %rows, %sa : tensor<64x1xi32>
  %a_rows = tl.broadcast %ra : tensor<64x1xi32> -> tensor<64x16xi32>
  %b_columns = tl.broadcast %columns : tensor<1x64xi32> -> tensor<16x64xi32>
  %a_base = tl.splat %a : !tl.ptr<f16> -> tensor<64x16x!tl.ptr<f16>>
  %b_base = tl.splat %b : !tl.ptr<f16> -> tensor<16x64x!tl.ptr<f16>>
  %sb = tl.splat %ldb : i32 -> tensor<16x1xi32>
  %sum = scf.for %i = %zero to %k step %step iter_args(%s = %none) -> (tensor<64x64xf32>) : i32 {
    %start = tl.splat %i : i32 -> tensor<16xi32>
    %depth = arith.addi %start, %d : tensor<16xi32>
    %da = tl.expand_dims %depth axis 0 : tensor<16xi32> -> tensor<1x16xi32>
    %db = tl.expand_dims %depth axis 1 : tensor<16xi32> -> tensor<16x1xi32>
    %rb = arith.muli %db, %sb : tensor<16x1xi32>
    %a_depth = tl.broadcast %da : tensor<1x16xi32> -> tensor<64x16xi32>
    %b_rows = tl.broadcast %rb : tensor<16x1xi32> -> tensor<16x64xi32>
    %ao = arith.addi %a_rows, %a_depth : tensor<64x16xi32>
    %bo = arith.addi %b_rows, %b_columns : tensor<16x64xi32>
    %a_at = tl.addptr %a_base, %ao : tensor<64x16x!tl.ptr<f16>>, tensor<64x16xi32>
    %b_at = tl.addptr %b_base, %bo : tensor<16x64x!tl.ptr<f16>>, tensor<16x64xi32>
    %x = tl.load %a_at : tensor<64x16x!tl.ptr<f16>> -> tensor<64x16xf16>
    %y = tl.load %b_at : tensor<16x64x!tl.ptr<f16>> -> tensor<16x64xf16>
    %next = tl.dot %x, %y, %s : tensor<64x16xf16>, tensor<16x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %c_base = tl.splat %c : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %c_rows = tl.broadcast %rows : tensor<64x1xi32> -> tensor<64x64xi32>
  %c_at = tl.addptr %c_base, %c_rows : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  tl.store %c_at, %sum : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}
