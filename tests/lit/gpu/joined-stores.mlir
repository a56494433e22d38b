// Stores of fields of a row, one by one, are one store of a row.
// RUN: blk-opt %s --split-input-file --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_90a},tlg-emit)' -o /dev/null | FileCheck %s

// Fields in any order. Seven of them are four, two and one.
// CHECK-LABEL: .entry fields(
// CHECK: st.global.v4.b32 {{.*}}, {[[SECOND:%r[0-9]+]], [[FIRST:%r[0-9]+]], [[SECOND]], [[FIRST]]};
// CHECK: st.global.v2.b32 {{.*}}, {[[FIRST]], [[SECOND]]};
// CHECK: st.global.b32 {{.*}}, [[FIRST]];
// CHECK-NOT: st.global
func.func @fields(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %size = arith.constant dense<8> : tensor<128xi32>
  %c1 = arith.constant dense<1> : tensor<128xi32>
  %c2 = arith.constant dense<2> : tensor<128xi32>
  %c3 = arith.constant dense<3> : tensor<128xi32>
  %c4 = arith.constant dense<4> : tensor<128xi32>
  %range = tl.range 0 to 128 : tensor<128xi32>
  %end = tl.splat %n : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %range, %end : tensor<128xi32>
  %0 = tl.splat %x : !tl.ptr<f32> -> tensor<128x!tl.ptr<f32>>
  %1 = tl.addptr %0, %range : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %v = tl.load %1 mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>> -> tensor<128xf32>
  %w = arith.addf %v, %v : tensor<128xf32>
  %row = arith.muli %range, %size : tensor<128xi32>
  %2 = tl.splat %y : !tl.ptr<f32> -> tensor<128x!tl.ptr<f32>>
  %at0 = tl.addptr %2, %row : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %at2 = tl.addptr %at0, %c2 : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  // An index that is even, and 1, does not wrap around.
  %place = arith.addi %row, %c1 : tensor<128xi32>
  %at1 = tl.addptr %2, %place : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %at3 = tl.addptr %at2, %c1 : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %at4 = tl.addptr %at0, %c4 : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %at5 = tl.addptr %at4, %c1 : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %at6 = tl.addptr %at3, %c3 : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  tl.store %at3, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  tl.store %at0, %w mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  tl.store %at2, %w mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  tl.store %at1, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  tl.store %at4, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  tl.store %at5, %w mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  tl.store %at6, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  return
}

// -----

// Pairs are two elements apart, so the second one of a row is not the first one of the next: but
// the third one is, so it stays where it is.
// CHECK-LABEL: .entry overlapping(
// CHECK: st.global.v2.b32
// CHECK: st.global.b32
// CHECK-NOT: st.global
func.func @overlapping(%y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %a: f32, %n: i32) {
  %c1 = arith.constant dense<1> : tensor<128xi32>
  %c2 = arith.constant dense<2> : tensor<128xi32>
  %range = tl.range 0 to 128 : tensor<128xi32>
  %end = tl.splat %n : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %range, %end : tensor<128xi32>
  %v = tl.splat %a : f32 -> tensor<128xf32>
  %row = arith.muli %range, %c2 : tensor<128xi32>
  %2 = tl.splat %y : !tl.ptr<f32> -> tensor<128x!tl.ptr<f32>>
  %at0 = tl.addptr %2, %row : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %at1 = tl.addptr %at0, %c1 : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %at2 = tl.addptr %at0, %c2 : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  tl.store %at0, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  tl.store %at1, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  tl.store %at2, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  return
}

// -----

// The third store comes before the second one of the pair, and may write what the first one of
// another row does.
// CHECK-LABEL: .entry overtaking(
// CHECK-COUNT-3: st.global.b32
// CHECK-NOT: st.global
func.func @overtaking(%y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %a: f32, %n: i32) {
  %c1 = arith.constant dense<1> : tensor<128xi32>
  %c2 = arith.constant dense<2> : tensor<128xi32>
  %range = tl.range 0 to 128 : tensor<128xi32>
  %end = tl.splat %n : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %range, %end : tensor<128xi32>
  %v = tl.splat %a : f32 -> tensor<128xf32>
  %row = arith.muli %range, %c2 : tensor<128xi32>
  %2 = tl.splat %y : !tl.ptr<f32> -> tensor<128x!tl.ptr<f32>>
  %at0 = tl.addptr %2, %row : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %at1 = tl.addptr %at0, %c1 : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %at2 = tl.addptr %at0, %c2 : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  tl.store %at0, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  tl.store %at2, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  tl.store %at1, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  return
}

// -----

// Rows of three elements are not aligned, and a load may see what is stored before it.
// CHECK-LABEL: .entry apart(
// CHECK-NOT: st.global.v
// CHECK: ret;
func.func @apart(%y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %a: f32, %n: i32) {
  %c1 = arith.constant dense<1> : tensor<128xi32>
  %c2 = arith.constant dense<2> : tensor<128xi32>
  %size = arith.constant dense<3> : tensor<128xi32>
  %range = tl.range 0 to 128 : tensor<128xi32>
  %end = tl.splat %n : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %range, %end : tensor<128xi32>
  %v = tl.splat %a : f32 -> tensor<128xf32>
  %row = arith.muli %range, %size : tensor<128xi32>
  %2 = tl.splat %y : !tl.ptr<f32> -> tensor<128x!tl.ptr<f32>>
  %at0 = tl.addptr %2, %row : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %at1 = tl.addptr %at0, %c1 : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  tl.store %at0, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  tl.store %at1, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  %pair = arith.muli %range, %c2 : tensor<128xi32>
  %first = tl.addptr %2, %pair : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %second = tl.addptr %first, %c1 : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  tl.store %first, %v mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  %w = tl.load %second mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>> -> tensor<128xf32>
  tl.store %second, %w mask %mask : tensor<128xi1> : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  return
}
