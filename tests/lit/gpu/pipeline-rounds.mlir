// Loops in loops: whether the first copies of a round begin in the round before, and how. The buffers
// and the variables that say where copies read belong to the loop around.
// RUN: blk-opt %s --split-input-file --tlg-pipeline='arch=sm_80 print-plan' -o /dev/null | FileCheck %s
// RUN: blk-opt %s --split-input-file --tlg-pipeline='arch=sm_80' | FileCheck %s --check-prefix=IR

// What is stored is not what is loaded.
// CHECK-LABEL: plan of 'tiles'
// CHECK-NEXT: loop at pipeline-rounds.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 3 buffers
// CHECK-NEXT:   copies: begun 2 iterations ahead by all threads
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-rounds.mlir:{{.*}}: cp.async, 4096 bytes a buffer
// CHECK-NEXT:   rounds: the first copies of each begin behind the iterations of the one before
// CHECK-NEXT:   arguments 0 and 1 must not overlap
// IR-LABEL: func.func @tiles(
// IR: %[[RING:.*]] = tlg.alloc_shared
// IR-NOT: tl.barrier
// IR: %[[ANY:.*]] = arith.cmpi slt, %[[ZERO:.*]], %[[N:.*]] : i32
// IR: %[[FIRST:.*]] = arith.andi %[[ANY]], %{{.*}} : i1
// IR: tlg.async_copy {{.*}} if %[[FIRST]]
// IR: tlg.async_commit
// IR: tlg.async_copy
// IR: tlg.async_commit
// IR: scf.for %[[J:.*]] = {{.*}} iter_args(%[[SLOT:.*]] = %{{.*}}) -> (i32)
// IR-NOT: tlg.async_copy
// IR-NOT: tl.barrier
// IR: %[[SUM:.*]]:2 = scf.for {{.*}} iter_args({{.*}}, %{{.*}} = %[[SLOT]])
// IR: tlg.async_wait 1
// IR: tl.barrier
// IR: tlg.async_copy
// IR: scf.yield
// IR: %[[MORE:.*]] = arith.cmpi ugt
// IR: %[[LATER:.*]] = arith.addi %[[J]]
// IR: tl.splat %[[LATER]]
// IR: %[[THERE:.*]] = arith.andi %[[MORE]], %{{.*}} : i1
// IR: tlg.stage %[[RING]][%[[SUM]]#1]
// IR: tlg.async_copy {{.*}} if %[[THERE]]
// IR: tlg.async_copy
// IR: tlg.async_commit
// IR-NOT: tlg.async_copy
// IR: tl.store
// IR: scf.yield %[[SUM]]#1
func.func @tiles(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %counts: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  scf.for %j = %zero to %n step %one : i32 {
    %j_all = tl.splat %j : i32 -> tensor<1024xi32>
    %index = arith.addi %range, %j_all : tensor<1024xi32>
    %x_at = tl.addptr %x_base, %index : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
      %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      %next = arith.addf %s, %v : tensor<1024xf32>
      scf.yield %next : tensor<1024xf32>
    } {tl.num_stages = 3 : i32}
    tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  }
  return
}

// -----

// How many iterations a round has is loaded before the round; the divisor of a round that there is
// not counts as one.
// CHECK-LABEL: plan of 'counted'
// CHECK-NEXT: loop at pipeline-rounds.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 3 buffers
// CHECK-NEXT:   copies: begun 2 iterations ahead by all threads
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-rounds.mlir:{{.*}}: cp.async, 4096 bytes a buffer
// CHECK-NEXT:   rounds: the first copies of each begin behind the iterations of the one before
// CHECK-NEXT:   arguments 0 and 1 must not overlap
// CHECK-NEXT:   arguments 2 and 1 must not overlap
// IR-LABEL: func.func @counted(
// IR: %[[ANY:.*]] = arith.cmpi slt
// IR: tl.load {{.*}} mask %[[ANY]]
// IR: arith.select %[[ANY]]
// IR: arith.divsi
// IR: tlg.async_copy
// IR: scf.for
// IR: scf.for
// IR: tlg.async_copy
// IR: %[[MORE:.*]] = arith.cmpi ugt
// IR: tl.load {{.*}} mask %[[MORE]]
// IR: arith.select %[[MORE]]
// IR: arith.divsi
// IR: tlg.async_copy
// IR: tl.store
func.func @counted(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %counts: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  scf.for %j = %zero to %n step %one : i32 {
    %count_at = tl.addptr %counts, %j : !tl.ptr<i32>, i32
    %count = tl.load %count_at : !tl.ptr<i32> -> i32
    %part = arith.divsi %n, %count : i32
    %j_all = tl.splat %part : i32 -> tensor<1024xi32>
    %index = arith.addi %range, %j_all : tensor<1024xi32>
    %x_at = tl.addptr %x_base, %index : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %sum = scf.for %i = %zero to %count step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
      %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      %next = arith.addf %s, %v : tensor<1024xf32>
      scf.yield %next : tensor<1024xf32>
    } {tl.num_stages = 3 : i32}
    tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  }
  return
}

// -----

// What the next round finds in a variable of the loop around is made where its copies begin.
// CHECK-LABEL: plan of 'moved'
// CHECK-NEXT: loop at pipeline-rounds.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 3 buffers
// CHECK-NEXT:   copies: begun 2 iterations ahead by all threads
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-rounds.mlir:{{.*}}: cp.async, 4096 bytes a buffer
// CHECK-NEXT:   rounds: the first copies of each begin behind the iterations of the one before
// CHECK-NEXT:   arguments 0 and 1 must not overlap
// IR-LABEL: func.func @moved(
// IR: tlg.async_copy %[[BEGIN:[^,]*]],
// IR: tlg.async_copy %[[BEGIN]],
// IR: scf.for {{.*}} iter_args(%[[AT:.*]] = %[[BEGIN]], %{{.*}} = %{{.*}}) -> (tensor<1024x!tl.ptr<f32>{{.*}}>, i32)
// IR: scf.for
// IR: tlg.async_copy %[[AT]],
// IR: %[[MOVED:.*]] = tl.addptr %[[AT]]
// IR: tlg.async_copy %[[MOVED]],
// IR: tlg.async_copy %[[MOVED]],
// IR: tl.store
// IR: scf.yield %[[MOVED]]
func.func @moved(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %counts: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %first = tl.addptr %x_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %last = scf.for %j = %zero to %n step %one iter_args(%x_at = %first) -> (tensor<1024x!tl.ptr<f32>>) : i32 {
    %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
      %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      %next = arith.addf %s, %v : tensor<1024xf32>
      scf.yield %next : tensor<1024xf32>
    } {tl.num_stages = 3 : i32}
    tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    %moved = tl.addptr %x_at, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    scf.yield %moved : tensor<1024x!tl.ptr<f32>>
  }
  return
}

// -----

// The next round may load what this one stores.
// CHECK-LABEL: plan of 'stored_to'
// CHECK-NEXT: loop at pipeline-rounds.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 3 buffers
// CHECK-NEXT:   copies: begun 2 iterations ahead by all threads
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-rounds.mlir:{{.*}}: cp.async, 4096 bytes a buffer
// CHECK-NEXT:   rounds: the first copies of each begin with it: line {{[0-9]+}} of the loop around it writes to global memory, and the next round might load that
// IR-LABEL: func.func @stored_to(
// IR: scf.for
// IR: tlg.async_copy {{.*}} if
// IR: scf.for
// IR-COUNT-1: tlg.async_copy
// IR-NOT: tlg.async_copy
// IR: return
func.func @stored_to(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %counts: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  scf.for %j = %zero to %n step %one : i32 {
    %j_all = tl.splat %j : i32 -> tensor<1024xi32>
    %index = arith.addi %range, %j_all : tensor<1024xi32>
    %x_at = tl.addptr %x_base, %index : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
      %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      %next = arith.addf %s, %v : tensor<1024xf32>
      scf.yield %next : tensor<1024xf32>
    } {tl.num_stages = 3 : i32}
    tl.store %x_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  }
  return
}

// -----

// CHECK-LABEL: plan of 'counts_stored_to'
// CHECK-NEXT: loop at pipeline-rounds.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 3 buffers
// CHECK-NEXT:   copies: begun 2 iterations ahead by all threads
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-rounds.mlir:{{.*}}: cp.async, 4096 bytes a buffer
// CHECK-NEXT:   rounds: the first copies of each begin with it: line {{[0-9]+}} of the loop around it writes to global memory, and the next round might load that
// IR-LABEL: func.func @counts_stored_to(
// IR: scf.for
// IR: tlg.async_copy {{.*}} if
// IR: scf.for
// IR-COUNT-1: tlg.async_copy
// IR-NOT: tlg.async_copy
// IR: return
func.func @counts_stored_to(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %counts: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  scf.for %j = %zero to %n step %one : i32 {
    %count_at = tl.addptr %counts, %j : !tl.ptr<i32>, i32
    %count = tl.load %count_at : !tl.ptr<i32> -> i32
    %j_all = tl.splat %j : i32 -> tensor<1024xi32>
    %index = arith.addi %range, %j_all : tensor<1024xi32>
    %x_at = tl.addptr %x_base, %index : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %sum = scf.for %i = %zero to %count step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
      %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      %next = arith.addf %s, %v : tensor<1024xf32>
      scf.yield %next : tensor<1024xf32>
    } {tl.num_stages = 3 : i32}
    tl.store %count_at, %j : !tl.ptr<i32>, i32
  }
  return
}

// -----

// CHECK-LABEL: plan of 'ordered'
// CHECK-NEXT: loop at pipeline-rounds.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 3 buffers
// CHECK-NEXT:   copies: begun 2 iterations ahead by all threads
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-rounds.mlir:{{.*}}: cp.async, 4096 bytes a buffer
// CHECK-NEXT:   rounds: the first copies of each begin with it: line {{[0-9]+}} of the loop around it orders accesses to memory
// IR-LABEL: func.func @ordered(
// IR: scf.for
// IR: tlg.async_copy {{.*}} if
// IR: scf.for
// IR-COUNT-1: tlg.async_copy
// IR-NOT: tlg.async_copy
// IR: return
func.func @ordered(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %counts: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  scf.for %j = %zero to %n step %one : i32 {
    %j_all = tl.splat %j : i32 -> tensor<1024xi32>
    %index = arith.addi %range, %j_all : tensor<1024xi32>
    %x_at = tl.addptr %x_base, %index : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
      %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      %next = arith.addf %s, %v : tensor<1024xf32>
      scf.yield %next : tensor<1024xf32>
    } {tl.num_stages = 3 : i32}
    tl.barrier
    tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  }
  return
}

// -----

// The next round goes on where the iterations of this one ended.
// CHECK-LABEL: plan of 'continued'
// CHECK-NEXT: loop at pipeline-rounds.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 3 buffers
// CHECK-NEXT:   copies: begun 2 iterations ahead by all threads
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-rounds.mlir:{{.*}}: cp.async, 4096 bytes a buffer
// CHECK-NEXT:   rounds: the first copies of each begin behind the iterations of the one before
// CHECK-NEXT:   arguments 0 and 1 must not overlap
// IR-LABEL: func.func @continued(
// IR: scf.for
// IR: %[[SUM:.*]]:{{[0-9]}} = scf.for
// IR: tl.splat %[[SUM]]#1
// IR: tlg.async_copy
// IR: tl.store
func.func @continued(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %counts: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %last = scf.for %j = %zero to %n step %one iter_args(%from = %zero) -> (i32) : i32 {
    %j_all = tl.splat %from : i32 -> tensor<1024xi32>
    %index = arith.addi %range, %j_all : tensor<1024xi32>
    %x_at = tl.addptr %x_base, %index : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %sum, %to = scf.for %i = %zero to %n step %one iter_args(%s = %none, %t = %from) -> (tensor<1024xf32>, i32) : i32 {
      %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      %next = arith.addf %s, %v : tensor<1024xf32>
      %t_next = arith.addi %t, %i : i32
      scf.yield %next, %t_next : tensor<1024xf32>, i32
    } {tl.num_stages = 3 : i32}
    tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    scf.yield %to : i32
  }
  return
}

// -----

// Another loop says where the next round loads.
// CHECK-LABEL: plan of 'computed'
// CHECK-NEXT: loop at pipeline-rounds.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 3 buffers
// CHECK-NEXT:   copies: begun 2 iterations ahead by all threads
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-rounds.mlir:{{.*}}: cp.async, 4096 bytes a buffer
// CHECK-NEXT:   rounds: the first copies of each begin with it: the number of iterations, or where they load, comes from what the round before does
// IR-LABEL: func.func @computed(
// IR: scf.for
// IR: tlg.async_copy {{.*}} if
// IR: scf.for
// IR-COUNT-1: tlg.async_copy
// IR-NOT: tlg.async_copy
// IR: return
func.func @computed(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %counts: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %last = scf.for %j = %zero to %n step %one iter_args(%from = %zero) -> (i32) : i32 {
    %j_all = tl.splat %from : i32 -> tensor<1024xi32>
    %index = arith.addi %range, %j_all : tensor<1024xi32>
    %x_at = tl.addptr %x_base, %index : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
      %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
      %next = arith.addf %s, %v : tensor<1024xf32>
      scf.yield %next : tensor<1024xf32>
    } {tl.num_stages = 3 : i32}
    tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    %to = scf.for %i = %zero to %n step %one iter_args(%t = %from) -> (i32) : i32 {
      %t_next = arith.xori %t, %i : i32
      scf.yield %t_next : i32
    }
    scf.yield %to : i32
  }
  return
}

// -----

// CHECK-LABEL: plan of 'in_a_branch'
// CHECK-NEXT: loop at pipeline-rounds.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 3 buffers
// CHECK-NEXT:   copies: begun 2 iterations ahead by all threads
// CHECK-NEXT:   waits:{{.*}}
// CHECK-NEXT:   load at pipeline-rounds.mlir:{{.*}}: cp.async, 4096 bytes a buffer
// CHECK-NEXT:   rounds: the first copies of each begin with it: what is directly around the loop is no loop with a known step
// IR-LABEL: func.func @in_a_branch(
// IR: scf.for
// IR: tlg.async_copy {{.*}} if
// IR: scf.for
// IR-COUNT-1: tlg.async_copy
// IR-NOT: tlg.async_copy
// IR: return
func.func @in_a_branch(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %counts: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %some = arith.cmpi sgt, %n, %one : i32
  scf.for %j = %zero to %n step %one : i32 {
    %j_all = tl.splat %j : i32 -> tensor<1024xi32>
    %index = arith.addi %range, %j_all : tensor<1024xi32>
    %x_at = tl.addptr %x_base, %index : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    scf.if %some {
      %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
        %v = tl.load %x_at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
        %next = arith.addf %s, %v : tensor<1024xf32>
        scf.yield %next : tensor<1024xf32>
      } {tl.num_stages = 3 : i32}
      tl.store %y_at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
    }
  }
  return
}
