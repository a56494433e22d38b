// Stages that a loop asks for itself, in place of the kernel's; then loads without a dot too.
// RUN: blk-opt %s --split-input-file --tlg-pipeline='arch=sm_80 num-stages=3' | FileCheck %s

// CHECK-LABEL: func.func @two(
// CHECK: tlg.alloc_shared {{.*}} stages = 2>
// CHECK-COUNT-1: tlg.async_commit
// CHECK: scf.for
// CHECK: %[[READ:.*]] = tlg.local_load
// CHECK: arith.select {{.*}}, %[[READ]], {{.*}} : tensor<1024xi1
// CHECK: tlg.async_copy {{.*}} mask {{.*}} if
// CHECK: tl.num_stages = 2
func.func @two(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %least = arith.constant dense<0xFF800000> : tensor<1024xf32>
  %width = arith.constant dense<1024> : tensor<1024xi32>
  %limit = arith.constant dense<512> : tensor<1024xi32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %mask = arith.cmpi slt, %range, %limit : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %begin = tl.addptr %base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %most, %end = scf.for %i = %zero to %n step %one iter_args(%so_far = %least, %at = %begin) -> (tensor<1024xf32>, tensor<1024x!tl.ptr<f32>>) : i32 {
    %v = tl.load %at mask %mask : tensor<1024xi1> other %least : tensor<1024xf32> : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %larger = arith.maximumf %so_far, %v : tensor<1024xf32>
    %next = tl.addptr %at, %width : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    scf.yield %larger, %next : tensor<1024xf32>, tensor<1024x!tl.ptr<f32>>
  } {tl.num_stages = 2 : i32}
  tl.store %begin, %most : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// One stage is none. Four iterations become one, and a loop behind it does what is left.
// CHECK-LABEL: func.func @unrolled(
// CHECK-NOT: tlg.async_copy
// CHECK: scf.for
// CHECK-COUNT-4: tl.load
// CHECK-NEXT: arith.addf
// CHECK: scf.yield
// CHECK: scf.for
// CHECK-COUNT-1: tl.load
func.func @unrolled(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %nothing = arith.constant dense<0.0> : tensor<1024xf32>
  %width = arith.constant dense<1024> : tensor<1024xi32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %begin = tl.addptr %base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum, %end = scf.for %i = %zero to %n step %one iter_args(%so_far = %nothing, %at = %begin) -> (tensor<1024xf32>, tensor<1024x!tl.ptr<f32>>) : i32 {
    %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %larger = arith.addf %so_far, %v : tensor<1024xf32>
    %next = tl.addptr %at, %width : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
    scf.yield %larger, %next : tensor<1024xf32>, tensor<1024x!tl.ptr<f32>>
  } {tl.num_stages = 1 : i32, tl.loop_unroll_factor = 4 : i32}
  tl.store %begin, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Each of the iterations that are now one begins at a multiple of 16, so that what is left of a
// division by 16 has runs of neighbours.
// CHECK-LABEL: func.func @pages_unrolled(
// CHECK: scf.for
// CHECK-COUNT-4: tl.load {{.*}} {tlg.vector = array<i32: 0, 4>}
// CHECK: scf.for
// CHECK: tl.load {{.*}} {tlg.vector = array<i32: 0, 4>}
func.func @pages_unrolled(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %stride: i32 {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 512 : i32
  %page = arith.constant dense<16> : tensor<512xi32>
  %nothing = arith.constant dense<0.0> : tensor<512xf32>
  %range = tl.range 0 to 512 : tensor<512xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %strides = tl.splat %stride : i32 -> tensor<512xi32>
  %sum = scf.for %i = %zero to %n step %step iter_args(%so_far = %nothing) -> (tensor<512xf32>) : i32 {
    %begin = tl.splat %i : i32 -> tensor<512xi32>
    %index = arith.addi %begin, %range : tensor<512xi32>
    %number = arith.divsi %index, %page : tensor<512xi32>
    %inside = arith.remsi %index, %page : tensor<512xi32>
    %pages = arith.muli %number, %strides : tensor<512xi32>
    %offset = arith.addi %pages, %inside : tensor<512xi32>
    %at = tl.addptr %base, %offset : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
    %v = tl.load %at : tensor<512x!tl.ptr<f32>> -> tensor<512xf32>
    %more = arith.addf %so_far, %v : tensor<512xf32>
    scf.yield %more : tensor<512xf32>
  } {tl.num_stages = 1 : i32, tl.loop_unroll_factor = 4 : i32}
  %out = tl.addptr %base, %range : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
  tl.store %out, %sum : tensor<512x!tl.ptr<f32>>, tensor<512xf32>
  return
}
