// Who computes small vectors of which lanes have copies.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-share-vectors)' --split-input-file | FileCheck %s

// A chain of functions of what is loaded for the columns of a tile: of 16 lanes that would each
// compute the same 16 elements, each loads and computes one, and then passes it on. The mask is made
// again.
// CHECK-DAG: #[[COLUMNS:.*]] = #tlg.layout<registers = [8, 16, 32, 64], lanes = [0, 0, 0, 0, 1]
// CHECK-DAG: #[[SHARED:.*]] = #tlg.layout<registers = [], lanes = [8, 16, 32, 64, 1], warps = [2, 4]>
// CHECK-LABEL: func.func @gates(
// CHECK: tl.load {{.*}} {tlg.vector = array<i32: 0, 1>} : {{.*}} -> tensor<128xf32, #[[SHARED]]>
// CHECK: math.exp {{.*}} : tensor<128xf32, #[[SHARED]]>
// CHECK: arith.divf {{.*}} : tensor<128xf32, #[[SHARED]]>
// CHECK: math.log {{.*}} : tensor<128xf32, #[[SHARED]]>
// CHECK: %[[MASKED:.*]] = arith.select {{.*}} : tensor<128xi1, #[[SHARED]]>
// CHECK-NEXT: %[[ROW:.*]] = tl.expand_dims %[[MASKED]]
// CHECK-NEXT: %[[ALL:.*]] = tlg.convert_layout %[[ROW]] : {{.*}} -> tensor<1x128xf32, #[[COLUMNS]]>
// CHECK-NEXT: tl.broadcast %[[ALL]]
// CHECK-NOT: tlg.convert_layout
// CHECK: return
#columns = #tlg.layout<registers = [8, 16, 32, 64], lanes = [0, 0, 0, 0, 1], warps = [2, 4]>
#tile = #tlg.layout<registers = [128, 256, 8, 16, 32, 64], lanes = [512, 1024, 2048, 4096, 1], warps = [2, 4]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @gates(%x: !tl.ptr<f32>, %n: i32) -> tensor<64x128xf32, #tile> {
    %one = arith.constant dense<1.0> : tensor<128xf32, #columns>
    %zero = arith.constant dense<0.0> : tensor<128xf32, #columns>
    %i = tl.range 0 to 128 : tensor<128xi32, #columns>
    %size = tl.splat %n : i32 -> tensor<128xi32, #columns>
    %mask = arith.cmpi slt, %i, %size : tensor<128xi32, #columns>
    %0 = tl.splat %x : !tl.ptr<f32> -> tensor<128x!tl.ptr<f32>, #columns>
    %1 = tl.addptr %0, %i : tensor<128x!tl.ptr<f32>, #columns>, tensor<128xi32, #columns>
    %v = tl.load %1 mask %mask : tensor<128xi1, #columns> other %zero : tensor<128xf32, #columns> {tlg.vector = array<i32: 0, 1>} : tensor<128x!tl.ptr<f32>, #columns> -> tensor<128xf32, #columns>
    %e = math.exp %v : tensor<128xf32, #columns>
    %s = arith.addf %e, %one : tensor<128xf32, #columns>
    %q = arith.divf %one, %s : tensor<128xf32, #columns>
    %l = math.log %q : tensor<128xf32, #columns>
    %m = arith.select %mask, %l, %zero : tensor<128xi1, #columns>, tensor<128xf32, #columns>
    %row = tl.expand_dims %m axis 0 : tensor<128xf32, #columns> -> tensor<1x128xf32, #columns>
    %all = tl.broadcast %row : tensor<1x128xf32, #columns> -> tensor<64x128xf32, #tile>
    return %all : tensor<64x128xf32, #tile>
  }
}

// -----

// What two elements of each thread cost is less than to pass them on.
// CHECK-LABEL: func.func @few(
// CHECK-NOT: tlg.convert_layout
// CHECK: return
#rows = #tlg.layout<registers = [8], lanes = [0, 0, 1, 2, 4], warps = [16, 32]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @few(%x: tensor<64xf32, #rows>) -> tensor<64xf32, #rows> {
    %e = math.exp %x : tensor<64xf32, #rows>
    return %e : tensor<64xf32, #rows>
  }
}

// -----

// Nor does one function pay for two conversions; several do. The results are passed on late.
// CHECK-LABEL: func.func @there_and_back(
// CHECK-NEXT: %[[ONE:.*]] = tlg.convert_layout %arg1 : {{.*}} -> tensor<64xf64, #[[SHARED:.*]]>
// CHECK-NEXT: %[[HERE:.*]] = math.exp2 %arg0
// CHECK-NEXT: math.exp {{.*}}#[[SHARED]]>
// CHECK-NEXT: math.log {{.*}}#[[SHARED]]>
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[HERE]], %[[HERE]]
// CHECK-NEXT: tlg.convert_layout
// CHECK-NEXT: return %[[SUM]]
#rows = #tlg.layout<registers = [1, 2, 4], lanes = [0, 0, 0, 8, 16], warps = [32, 0]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @there_and_back(%x: tensor<64xf32, #rows>, %y: tensor<64xf64, #rows>) -> (tensor<64xf32, #rows>, tensor<64xf64, #rows>) {
    %e = math.exp2 %x : tensor<64xf32, #rows>
    %f = math.exp %y : tensor<64xf64, #rows>
    %l = math.log %f : tensor<64xf64, #rows>
    %sum = arith.addf %e, %e : tensor<64xf32, #rows>
    return %sum, %l : tensor<64xf32, #rows>, tensor<64xf64, #rows>
  }
}

// -----

// A scan and a sum of what it gives: lanes scan, and only what is wanted as a row is passed on.
// CHECK-DAG: #[[SHARED:.*]] = #tlg.layout<registers = [], lanes = [1, 2, 4, 8, 16], warps = [0, 0]>
// CHECK-LABEL: func.func @scanned(
// CHECK: tl.load {{.*}} -> tensor<32xf32, #[[SHARED]]>
// CHECK: tl.scan
// CHECK: } : (tensor<32xf32, #[[SHARED]]>) -> tensor<32xf32, #[[SHARED]]>
// CHECK: tl.reduce
// CHECK: (tensor<32xf32, #[[SHARED]]>) -> f32
// CHECK-NOT: tlg.convert_layout
// CHECK: %[[E:.*]] = math.exp {{.*}}#[[SHARED]]>
// CHECK-NEXT: tlg.convert_layout %[[E]]
#gates = #tlg.layout<registers = [1, 2, 4, 8, 16], lanes = [0, 0, 0, 0, 0], warps = [0, 0]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @scanned(%x: !tl.ptr<f32>) -> (tensor<32xf32, #gates>, f32) {
    %i = tl.range 0 to 32 : tensor<32xi32, #gates>
    %0 = tl.splat %x : !tl.ptr<f32> -> tensor<32x!tl.ptr<f32>, #gates>
    %1 = tl.addptr %0, %i : tensor<32x!tl.ptr<f32>, #gates>, tensor<32xi32, #gates>
    %v = tl.load %1 {tlg.vector = array<i32: 0, 4>} : tensor<32x!tl.ptr<f32>, #gates> -> tensor<32xf32, #gates>
    %l = math.log %v : tensor<32xf32, #gates>
    %c = tl.scan %l axis 0 {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tl.yield %s : f32
    } : (tensor<32xf32, #gates>) -> tensor<32xf32, #gates>
    %sum = tl.reduce %c axis 0 {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tl.yield %s : f32
    } : (tensor<32xf32, #gates>) -> f32
    %e = math.exp %c : tensor<32xf32, #gates>
    return %e, %sum : tensor<32xf32, #gates>, f32
  }
}

// -----

// Indices are shared in loops, where they are divided by what is not a constant and lead to
// elements. Before a loop, and where they lead to vectors, they stay.
// CHECK-LABEL: func.func @elements(
// CHECK: arith.remsi {{.*}} : tensor<32xi32, #[[ROWS:.*]]>
// CHECK: scf.for
// CHECK: arith.remsi {{.*}} : tensor<32xi32, #[[SHARED:.*]]>
// CHECK: tlg.convert_layout {{.*}} : tensor<32xi32, #[[SHARED]]> -> tensor<32xi32, #[[ROWS]]>
// CHECK: tl.store
#rows = #tlg.layout<registers = [1, 2, 4, 8, 16], lanes = [0, 0, 0, 0, 0], warps = [0, 0]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @elements(%x: !tl.ptr<i32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %i = tl.range 0 to 32 : tensor<32xi32, #rows>
    %size = tl.splat %n : i32 -> tensor<32xi32, #rows>
    %before = arith.remsi %i, %size : tensor<32xi32, #rows>
    %base = tl.splat %x : !tl.ptr<i32> -> tensor<32x!tl.ptr<i32>, #rows>
    %0 = tl.addptr %base, %before : tensor<32x!tl.ptr<i32>, #rows>, tensor<32xi32, #rows>
    tl.store %0, %i {tlg.vector = array<i32: 0, 1>} : tensor<32x!tl.ptr<i32>, #rows>, tensor<32xi32, #rows>
    scf.for %k = %zero to %n step %one : i32 {
      %1 = tl.splat %k : i32 -> tensor<32xi32, #rows>
      %2 = arith.addi %1, %i : tensor<32xi32, #rows>
      %3 = arith.divsi %2, %size : tensor<32xi32, #rows>
      %4 = arith.remsi %2, %size : tensor<32xi32, #rows>
      %5 = arith.addi %3, %4 : tensor<32xi32, #rows>
      %6 = tl.addptr %base, %5 : tensor<32x!tl.ptr<i32>, #rows>, tensor<32xi32, #rows>
      tl.store %6, %i {tlg.vector = array<i32: 0, 1>} : tensor<32x!tl.ptr<i32>, #rows>, tensor<32xi32, #rows>
    }
    return
  }
}

// -----

// CHECK-LABEL: func.func @vectors(
// CHECK-NOT: tlg.convert_layout
// CHECK: return
#rows = #tlg.layout<registers = [1, 2, 4, 8, 16], lanes = [0, 0, 0, 0, 0], warps = [0, 0]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @vectors(%x: !tl.ptr<i32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %i = tl.range 0 to 32 : tensor<32xi32, #rows>
    %size = tl.splat %n : i32 -> tensor<32xi32, #rows>
    %base = tl.splat %x : !tl.ptr<i32> -> tensor<32x!tl.ptr<i32>, #rows>
    scf.for %k = %zero to %n step %one : i32 {
      %1 = tl.splat %k : i32 -> tensor<32xi32, #rows>
      %2 = arith.addi %1, %i : tensor<32xi32, #rows>
      %3 = arith.divsi %2, %size : tensor<32xi32, #rows>
      %4 = arith.remsi %2, %size : tensor<32xi32, #rows>
      %5 = arith.addi %3, %4 : tensor<32xi32, #rows>
      %6 = tl.addptr %base, %5 : tensor<32x!tl.ptr<i32>, #rows>, tensor<32xi32, #rows>
      tl.store %6, %i {tlg.vector = array<i32: 0, 4>} : tensor<32x!tl.ptr<i32>, #rows>, tensor<32xi32, #rows>
    }
    return
  }
}

// -----

// Places of rows, of which 16 lanes would load the same 16 each: each loads one, and passes on what
// comes of it. Rows are no neighbours in a thread, so no vectors are lost.
// CHECK-DAG: #[[ROWS:.*]] = #tlg.layout<registers = [8, 16, 32, 64], lanes = [0, 0, 0, 0, 1]
// CHECK-DAG: #[[SHARED:.*]] = #tlg.layout<registers = [], lanes = [8, 16, 32, 64, 1], warps = [2, 4]>
// CHECK-LABEL: func.func @places(
// CHECK-COUNT-2: tl.load {{.*}} -> tensor<128xi16, #[[SHARED]]>
// CHECK: %[[SUM:.*]] = arith.addi {{.*}} : tensor<128xi64, #[[SHARED]]>
// CHECK: tlg.convert_layout {{.*}} -> tensor<128x!tl.ptr<f32>, #[[ROWS]]>
// CHECK-NOT: tlg.convert_layout
#rows = #tlg.layout<registers = [8, 16, 32, 64], lanes = [0, 0, 0, 0, 1], warps = [2, 4]>
module attributes {tlg.arch = "sm_90a", tlg.num_warps = 4 : i32} {
  func.func @places(%x: !tl.ptr<i16>, %out: !tl.ptr<f32>, %a: i64, %b: i64) -> tensor<128x!tl.ptr<f32>, #rows> {
    %two = arith.constant dense<2> : tensor<128xi32, #rows>
    %one = arith.constant dense<1> : tensor<128xi32, #rows>
    %i = tl.range 0 to 128 : tensor<128xi32, #rows>
    %p = tl.splat %x : !tl.ptr<i16> -> tensor<128x!tl.ptr<i16>, #rows>
    %0 = arith.muli %i, %two : tensor<128xi32, #rows>
    %1 = arith.addi %0, %one : tensor<128xi32, #rows>
    %2 = tl.addptr %p, %0 : tensor<128x!tl.ptr<i16>, #rows>, tensor<128xi32, #rows>
    %3 = tl.addptr %p, %1 : tensor<128x!tl.ptr<i16>, #rows>, tensor<128xi32, #rows>
    %c = tl.load %2 {tlg.vector = array<i32: 0, 1>} : tensor<128x!tl.ptr<i16>, #rows> -> tensor<128xi16, #rows>
    %d = tl.load %3 {tlg.vector = array<i32: 0, 1>} : tensor<128x!tl.ptr<i16>, #rows> -> tensor<128xi16, #rows>
    %4 = arith.extsi %c : tensor<128xi16, #rows> to tensor<128xi64, #rows>
    %5 = arith.extsi %d : tensor<128xi16, #rows> to tensor<128xi64, #rows>
    %6 = tl.splat %a : i64 -> tensor<128xi64, #rows>
    %7 = tl.splat %b : i64 -> tensor<128xi64, #rows>
    %8 = arith.muli %4, %6 : tensor<128xi64, #rows>
    %9 = arith.muli %5, %7 : tensor<128xi64, #rows>
    %sum = arith.addi %8, %9 : tensor<128xi64, #rows>
    %q = tl.splat %out : !tl.ptr<f32> -> tensor<128x!tl.ptr<f32>, #rows>
    %r = tl.addptr %q, %sum : tensor<128x!tl.ptr<f32>, #rows>, tensor<128xi64, #rows>
    return %r : tensor<128x!tl.ptr<f32>, #rows>
  }
}
