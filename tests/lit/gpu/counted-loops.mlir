// Loops that count up to a number are `for` loops; those that may count down, or to something that
// they change, or that ask for more than the count, stay.
// RUN: blk-opt %s --split-input-file --tlg-count-loops | FileCheck %s

// The count is a variable too, for what comes behind the loop.
// CHECK-LABEL: func.func @counts(
// CHECK: %[[STEP:.*]] = tl.num_programs
// CHECK: %[[LAST:.*]]:2 = scf.for %[[I:.*]] = %arg1 to %arg2 step %[[STEP]] iter_args(%[[COUNT:.*]] = %arg1, %[[SUM:.*]] = %arg1) -> (i32, i32)  : i32 {
// CHECK:   %[[NEW:.*]] = arith.addi %[[SUM]], %[[I]]
// CHECK:   %[[NEXT:.*]] = arith.addi %[[I]], %[[STEP]]
// CHECK:   scf.yield %[[NEXT]], %[[NEW]]
// CHECK: } {tl.disable_licm}
// CHECK: arith.addi %[[LAST]]#0, %[[LAST]]#1
func.func @counts(%x: !tl.ptr<i32>, %first: i32, %n: i32) {
  %step = tl.num_programs 0 : i32
  %last, %sum = scf.while (%i = %first, %s = %first) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %i, %s : i32, i32
  } do {
  ^bb0(%i: i32, %s: i32):
    %new = arith.addi %s, %i : i32
    %next = arith.addi %i, %step : i32
    scf.yield %next, %new : i32, i32
  } attributes {tl.disable_licm}
  %both = arith.addi %last, %sum : i32
  tl.store %x, %both : !tl.ptr<i32>, i32
  return
}

// -----

// CHECK-LABEL: func.func @written_the_other_way(
// CHECK: scf.for
func.func @written_the_other_way(%x: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  %last = scf.while (%i = %zero) : (i32) -> i32 {
    %more = arith.cmpi sgt, %n, %i : i32
    scf.condition(%more) %i : i32
  } do {
  ^bb0(%i: i32):
    %next = arith.addi %two, %i : i32
    scf.yield %next : i32
  }
  tl.store %x, %last : !tl.ptr<i32>, i32
  return
}

// -----

// CHECK-LABEL: func.func @unknown_step(
// CHECK: scf.while
func.func @unknown_step(%x: !tl.ptr<i32>, %n: i32, %step: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %last, %end = scf.while (%i = %zero, %e = %n) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %i, %e : i32, i32
  } do {
  ^bb0(%i: i32, %e: i32):
    %next = arith.addi %i, %step : i32
    scf.yield %next, %e : i32, i32
  }
  tl.store %x, %last : !tl.ptr<i32>, i32
  return
}

// -----

// CHECK-LABEL: func.func @end_moves(
// CHECK: scf.while
func.func @end_moves(%x: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %last, %end = scf.while (%i = %zero, %e = %n) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi slt, %i, %e : i32
    scf.condition(%more) %i, %e : i32, i32
  } do {
  ^bb0(%i: i32, %e: i32):
    %next = arith.addi %i, %one : i32
    %closer = arith.subi %e, %one : i32
    scf.yield %next, %closer : i32, i32
  }
  tl.store %x, %last : !tl.ptr<i32>, i32
  return
}

// -----

// CHECK-LABEL: func.func @step_changes(
// CHECK: scf.while
func.func @step_changes(%x: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %last, %end = scf.while (%i = %zero, %e = %n) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %i, %e : i32, i32
  } do {
  ^bb0(%i: i32, %e: i32):
    %step = arith.addi %i, %one : i32
    %next = arith.addi %i, %step : i32
    scf.yield %next, %e : i32, i32
  }
  tl.store %x, %last : !tl.ptr<i32>, i32
  return
}

// -----

// CHECK-LABEL: func.func @unsigned(
// CHECK: scf.while
func.func @unsigned(%x: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %last, %end = scf.while (%i = %zero, %e = %n) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi ult, %i, %n : i32
    scf.condition(%more) %i, %e : i32, i32
  } do {
  ^bb0(%i: i32, %e: i32):
    %next = arith.addi %i, %one : i32
    scf.yield %next, %e : i32, i32
  }
  tl.store %x, %last : !tl.ptr<i32>, i32
  return
}

// -----

// CHECK-LABEL: func.func @more_than_the_count(
// CHECK: scf.while
func.func @more_than_the_count(%x: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %last, %end = scf.while (%i = %zero, %e = %n) : (i32, i32) -> (i32, i32) {
    %below = arith.cmpi slt, %i, %n : i32
    %other = arith.cmpi sgt, %e, %zero : i32
    %more = arith.andi %below, %other : i1
    scf.condition(%more) %i, %e : i32, i32
  } do {
  ^bb0(%i: i32, %e: i32):
    %next = arith.addi %i, %one : i32
    scf.yield %next, %e : i32, i32
  }
  tl.store %x, %last : !tl.ptr<i32>, i32
  return
}

// -----

// CHECK-LABEL: func.func @sometimes(
// CHECK: scf.while
func.func @sometimes(%x: !tl.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %last, %end = scf.while (%i = %zero, %e = %n) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %i, %e : i32, i32
  } do {
  ^bb0(%i: i32, %e: i32):
    %even = arith.cmpi eq, %e, %zero : i32
    %next = scf.if %even -> (i32) {
      %sum = arith.addi %i, %one : i32
      scf.yield %sum : i32
    } else {
      scf.yield %i : i32
    }
    scf.yield %next, %e : i32, i32
  }
  tl.store %x, %last : !tl.ptr<i32>, i32
  return
}
