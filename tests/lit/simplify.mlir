// Integers are folded, floats are never computed, accesses are never dropped or merged.
// RUN: blk-opt %s --blk-simplify --cse --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @integers
// CHECK: %[[C:.*]] = arith.constant dense<12> : tensor<4xi32>
// CHECK-NEXT: tl.store %{{.*}}, %[[C]]
func.func @integers(%p: tensor<4x!tl.ptr<i32>>) {
  %a = arith.constant 3 : i32
  %b = arith.constant 4 : i32
  %c = arith.muli %a, %b : i32
  %s = tl.splat %c : i32 -> tensor<4xi32>
  tl.store %p, %s : tensor<4x!tl.ptr<i32>>, tensor<4xi32>
  return
}

// -----

// CHECK-LABEL: func.func @floats
// CHECK: arith.addf
// CHECK: math.exp
// CHECK: arith.mulf
func.func @floats(%p: !tl.ptr<f32>) {
  %a = arith.constant 1.5 : f32
  %b = arith.addf %a, %a : f32
  %c = math.exp %a : f32
  %d = arith.mulf %b, %c : f32
  tl.store %p, %d : !tl.ptr<f32>, f32
  return
}

// -----

// CHECK-LABEL: func.func @broadcasts
// CHECK-NOT: tl.broadcast
// CHECK: arith.constant dense<0.000000e+00> : tensor<4x8xf32>
// CHECK-NEXT: tl.store
func.func @broadcasts(%p: tensor<4x8x!tl.ptr<f32>>) {
  %z = arith.constant dense<0.0> : tensor<4x1xf32>
  %b = tl.broadcast %z : tensor<4x1xf32> -> tensor<4x8xf32>
  %c = tl.broadcast %b : tensor<4x8xf32> -> tensor<4x8xf32>
  tl.store %p, %c : tensor<4x8x!tl.ptr<f32>>, tensor<4x8xf32>
  return
}

// -----

// CHECK-LABEL: func.func @accesses
// CHECK-COUNT-3: tl.load
// CHECK: tl.atomic_rmw
// CHECK-NOT: tl.range
// CHECK: return
func.func @accesses(%p: !tl.ptr<f32>, %l: !tl.ptr<i32>) {
  %a = tl.load %p : !tl.ptr<f32> -> f32
  %b = tl.load %p : !tl.ptr<f32> -> f32
  %c = tl.load %p : !tl.ptr<f32> -> f32
  %one = arith.constant 1 : i32
  %d = tl.atomic_rmw "add" %l, %one : !tl.ptr<i32>, i32 -> i32
  %unused = tl.range 0 to 4 : tensor<4xi32>
  return
}

// -----

// The constants of a combine function stay inside: its region sees nothing else.
// CHECK-LABEL: func.func @combine
// CHECK: tl.reduce
// CHECK: arith.constant 2.000000e+00
// CHECK: tl.yield
func.func @combine(%p: !tl.ptr<f32>, %x: tensor<8xf32>) {
  %two = arith.constant 2.0 : f32
  %r = tl.reduce %x axis 0 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.constant 2.0 : f32
    %s = arith.addf %a, %b : f32
    %t = arith.mulf %s, %c : f32
    tl.yield %t : f32
  } : (tensor<8xf32>) -> f32
  %u = arith.mulf %r, %two : f32
  tl.store %p, %u : !tl.ptr<f32>, f32
  return
}

// -----

// CHECK-LABEL: func.func @branch
// CHECK-NOT: scf.if
// CHECK: tl.store %{{.*}}, %arg1
func.func @branch(%p: !tl.ptr<i32>, %x: i32) {
  %true = arith.constant true
  %r = scf.if %true -> i32 {
    scf.yield %x : i32
  } else {
    %y = arith.addi %x, %x : i32
    scf.yield %y : i32
  }
  tl.store %p, %r : !tl.ptr<i32>, i32
  return
}

// -----

// A loop of one iteration goes, then the branch for the first iteration, then the loop in it.
// CHECK-LABEL: func.func @first_iteration
// CHECK-NOT: scf.
// CHECK: tl.store %{{.*}}, %arg1
func.func @first_iteration(%p: !tl.ptr<i32>, %x: i32) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 16 : i32
  scf.for %i = %zero to %step step %step : i32 {
    %is_first = arith.cmpi eq, %i, %zero : i32
    %r = scf.if %is_first -> i32 {
      %end = arith.addi %i, %step : i32
      %s = scf.for %j = %zero to %end step %step iter_args(%sum = %zero) -> i32 : i32 {
        %more = arith.addi %sum, %x : i32
        scf.yield %more : i32
      }
      scf.yield %s : i32
    } else {
      %y = arith.addi %x, %i : i32
      scf.yield %y : i32
    }
    tl.store %p, %r : !tl.ptr<i32>, i32
  }
  return
}

// -----

// The payload of what was made of a payload is that payload.
// CHECK-LABEL: func.func @payloads
func.func @payloads(%x: tensor<4xi32>, %p: tensor<4x!tl.ptr<i32>>) {
  // CHECK-NOT: payload
  %0 = tl.from_payload %x : tensor<4xi32> -> tensor<4xf32>
  %1 = tl.to_payload %0 : tensor<4xf32> -> tensor<4xi32>
  tl.store %p, %1 : tensor<4x!tl.ptr<i32>>, tensor<4xi32>
  return
}
