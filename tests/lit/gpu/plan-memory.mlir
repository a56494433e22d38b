// Rings that must not take more than so many bytes: fewer buffers, then none.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_90a},cse,tlg-pipeline-loops{num-stages=4 ring-bytes=40000 print-plan})' -o /dev/null | FileCheck %s --check-prefixes=CHECK,SOME
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_90a},cse,tlg-pipeline-loops{num-stages=4 ring-bytes=16384 print-plan})' -o /dev/null | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_90a},cse,tlg-pipeline-loops{num-stages=4 ring-bytes=16383 print-plan})' -o /dev/null | FileCheck %s --check-prefixes=CHECK,NONE

// CHECK: plan of 'sums'
// SOME: 4 stages
// SOME-NEXT: ring: 4 buffers
// TWO: 4 stages
// TWO-NEXT: ring: 2 buffers (shared memory has no place for more, or not beside another CTA)
// TWO-NEXT: copies: begun 1 iteration ahead by all threads
// NONE: not pipelined: no load of it can begin early
// NONE-NEXT: in its iteration: shared memory has no place for two buffers of what the loop loads, beside what else the kernel holds there
func.func @sums(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<2048xf32>
  %range = tl.range 0 to 2048 : tensor<2048xi32>
  %x_base = tl.splat %x : !tl.ptr<f32> -> tensor<2048x!tl.ptr<f32>>
  %x_at = tl.addptr %x_base, %range : tensor<2048x!tl.ptr<f32>>, tensor<2048xi32>
  %y_base = tl.splat %y : !tl.ptr<f32> -> tensor<2048x!tl.ptr<f32>>
  %y_at = tl.addptr %y_base, %range : tensor<2048x!tl.ptr<f32>>, tensor<2048xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<2048xf32>) : i32 {
    %v = tl.load %x_at : tensor<2048x!tl.ptr<f32>> -> tensor<2048xf32>
    %next = arith.addf %s, %v : tensor<2048xf32>
    scf.yield %next : tensor<2048xf32>
  } {tl.num_stages = 4 : i32}
  tl.store %y_at, %sum : tensor<2048x!tl.ptr<f32>>, tensor<2048xf32>
  return
}
