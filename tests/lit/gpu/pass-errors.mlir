// A pass that is given what it cannot work with says so.
// RUN: not blk-opt %s --tlg-assign-layouts=arch=sm_1 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not blk-opt %s --tlg-assign-layouts 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not blk-opt %s --tlg-assign-layouts='arch=sm_80 num-warps=3' 2>&1 | FileCheck %s --check-prefix=WARPS
// RUN: not blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_80},tlg-assign-layouts)' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not blk-opt %s --tlg-pipeline-loops 2>&1 | FileCheck %s --check-prefix=WITHOUT
// RUN: not blk-opt %s --tlg-emit 2>&1 | FileCheck %s --check-prefix=WITHOUT

// ARCH: error: unknown GPU architecture 'sm_1', expected one of sm_80
// NONE: error: no GPU architecture: give arch= to the pass, or 'tlg.arch' to the module
// WARPS: error: cannot have 3 warps, expected a power of two
// TWICE: error: has layouts already; tlg-assign-layouts runs once
// WITHOUT: error: {{.*}}has a block without a layout; tlg-assign-layouts has to come before
func.func @kernel(%x: !tl.ptr<f32>) {
  %range = tl.range 0 to 128 : tensor<128xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<128x!tl.ptr<f32>>
  %at = tl.addptr %base, %range : tensor<128x!tl.ptr<f32>>, tensor<128xi32>
  %v = tl.load %at : tensor<128x!tl.ptr<f32>> -> tensor<128xf32>
  tl.store %at, %v : tensor<128x!tl.ptr<f32>>, tensor<128xf32>
  return
}
