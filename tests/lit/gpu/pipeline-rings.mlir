// The kinds of rings that the plan chooses: who copies, who waits for whom, how many buffers, and
// why one is extra; for mma.sync, for one warpgroup with wgmma, and for two.
// What the loops load is the same each time: `tl.disable_licm` keeps it in them.
// RUN: blk-opt %s --split-input-file --tlg-pipeline='arch=sm_80 print-plan' -o /dev/null | FileCheck %s --check-prefix=OLD
// RUN: blk-opt %s --split-input-file --tlg-pipeline='arch=sm_90a print-plan' -o /dev/null | FileCheck %s --check-prefix=NEW
// RUN: blk-opt %s --split-input-file --tlg-pipeline='arch=sm_90a num-warps=8 print-plan' -o /dev/null | FileCheck %s --check-prefix=MANY
// RUN: blk-opt %s --split-input-file --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_90a num-warps=8},cse,loop-invariant-code-motion,tlg-pipeline-loops{extra-buffers=false print-plan})' -o /dev/null | FileCheck %s --check-prefix=NONE

// Threads copy for wgmma: a fourth buffer where no multiprocessor can have fewer CTAs for it.
// OLD-LABEL: plan of 'dot'
// OLD-NEXT: loop at pipeline-rings.mlir:{{.*}}: 3 stages
// OLD-NEXT:   ring: 3 buffers
// OLD-NEXT:   copies: begun 2 iterations ahead by all threads
// OLD-NEXT:   waits: each thread for its copies, then all at a CTA barrier
// OLD-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 16384 bytes a buffer
// OLD-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
// NEW-LABEL: plan of 'dot'
// NEW-NEXT: loop at pipeline-rings.mlir:{{.*}}: 3 stages
// NEW-NEXT:   ring: 3 buffers
// NEW-NEXT:   copies: begun 2 iterations ahead by all threads
// NEW-NEXT:   waits: each thread for its copies, then all at a CTA barrier
// NEW-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 16384 bytes a buffer
// NEW-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
// MANY-LABEL: plan of 'dot'
// MANY-NEXT: loop at pipeline-rings.mlir:{{.*}}: 3 stages
// MANY-NEXT:   ring: 3 buffers
// MANY-NEXT:   copies: begun 2 iterations ahead by all threads
// MANY-NEXT:   waits: each thread for its copies, then all at a CTA barrier
// MANY-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 16384 bytes a buffer
// MANY-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
func.func @dot(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %b: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r64 = tl.range 0 to 64 : tensor<64xi32>
  %r128 = tl.range 0 to 128 : tensor<128xi32>
  %a_w = arith.constant dense<64> : tensor<128x1xi32>
  %a_r = tl.expand_dims %r128 axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %a_c = tl.expand_dims %r64 axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %a_o = arith.muli %a_r, %a_w : tensor<128x1xi32>
  %a_1 = tl.broadcast %a_o : tensor<128x1xi32> -> tensor<128x64xi32>
  %a_2 = tl.broadcast %a_c : tensor<1x64xi32> -> tensor<128x64xi32>
  %a_3 = arith.addi %a_1, %a_2 : tensor<128x64xi32>
  %a_b = tl.splat %a : !tl.ptr<f16> -> tensor<128x64x!tl.ptr<f16>>
  %a_at = tl.addptr %a_b, %a_3 : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi32>
  %b_w = arith.constant dense<64> : tensor<64x1xi32>
  %b_r = tl.expand_dims %r64 axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %b_c = tl.expand_dims %r64 axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %b_o = arith.muli %b_r, %b_w : tensor<64x1xi32>
  %b_1 = tl.broadcast %b_o : tensor<64x1xi32> -> tensor<64x64xi32>
  %b_2 = tl.broadcast %b_c : tensor<1x64xi32> -> tensor<64x64xi32>
  %b_3 = arith.addi %b_1, %b_2 : tensor<64x64xi32>
  %b_b = tl.splat %b : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %b_at = tl.addptr %b_b, %b_3 : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %y_w = arith.constant dense<64> : tensor<128x1xi32>
  %y_r = tl.expand_dims %r128 axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %y_c = tl.expand_dims %r64 axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %y_o = arith.muli %y_r, %y_w : tensor<128x1xi32>
  %y_1 = tl.broadcast %y_o : tensor<128x1xi32> -> tensor<128x64xi32>
  %y_2 = tl.broadcast %y_c : tensor<1x64xi32> -> tensor<128x64xi32>
  %y_3 = arith.addi %y_1, %y_2 : tensor<128x64xi32>
  %y_b = tl.splat %y : !tl.ptr<f32> -> tensor<128x64x!tl.ptr<f32>>
  %y_at = tl.addptr %y_b, %y_3 : tensor<128x64x!tl.ptr<f32>>, tensor<128x64xi32>
  %none = arith.constant dense<0.0> : tensor<128x64xf32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<128x64xf32>) : i32 {
    %va = tl.load %a_at : tensor<128x64x!tl.ptr<f16>> -> tensor<128x64xf16>
    %vb = tl.load %b_at : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
    %next = tl.dot %va, %vb, %s : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  } {tl.disable_licm}
  tl.store %y_at, %sum : tensor<128x64x!tl.ptr<f32>>, tensor<128x64xf32>
  return
}

// -----

// Here it costs no CTA: three buffers already leave room for one only.
// OLD-LABEL: plan of 'large_dot'
// OLD-NEXT: loop at pipeline-rings.mlir:{{.*}}: 3 stages
// OLD-NEXT:   ring: 3 buffers
// OLD-NEXT:   copies: begun 2 iterations ahead by all threads
// OLD-NEXT:   waits: each thread for its copies, then all at a CTA barrier
// OLD-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 16384 bytes a buffer
// OLD-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 32768 bytes a buffer
// NEW-LABEL: plan of 'large_dot'
// NEW-NEXT: loop at pipeline-rings.mlir:{{.*}}: 3 stages
// NEW-NEXT:   ring: 4 buffers (one extra: threads wait less for copies, and no CTA is lost)
// NEW-NEXT:   copies: begun 3 iterations ahead by all threads
// NEW-NEXT:   waits: each thread for its copies, then all at a CTA barrier
// NEW-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 16384 bytes a buffer
// NEW-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 32768 bytes a buffer
// MANY-LABEL: plan of 'large_dot'
// MANY-NEXT: loop at pipeline-rings.mlir:{{.*}}: 3 stages
// MANY-NEXT:   ring: 4 buffers (one extra: threads wait less for copies, and no CTA is lost)
// MANY-NEXT:   copies: begun 3 iterations ahead by all threads
// MANY-NEXT:   waits: each thread for its copies, then all at a CTA barrier
// MANY-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 16384 bytes a buffer
// MANY-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 32768 bytes a buffer
// NONE-LABEL: plan of 'large_dot'
// NONE-NEXT: loop at pipeline-rings.mlir:{{.*}}: 3 stages
// NONE-NEXT:   ring: 3 buffers
// NONE-NEXT:   copies: begun 2 iterations ahead by all threads
// NONE-NEXT:   waits: each thread for its copies, then all at a CTA barrier
// NONE-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 16384 bytes a buffer
// NONE-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 32768 bytes a buffer
func.func @large_dot(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %b: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r64 = tl.range 0 to 64 : tensor<64xi32>
  %r128 = tl.range 0 to 128 : tensor<128xi32>
  %r256 = tl.range 0 to 256 : tensor<256xi32>
  %a_w = arith.constant dense<64> : tensor<128x1xi32>
  %a_r = tl.expand_dims %r128 axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %a_c = tl.expand_dims %r64 axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %a_o = arith.muli %a_r, %a_w : tensor<128x1xi32>
  %a_1 = tl.broadcast %a_o : tensor<128x1xi32> -> tensor<128x64xi32>
  %a_2 = tl.broadcast %a_c : tensor<1x64xi32> -> tensor<128x64xi32>
  %a_3 = arith.addi %a_1, %a_2 : tensor<128x64xi32>
  %a_b = tl.splat %a : !tl.ptr<f16> -> tensor<128x64x!tl.ptr<f16>>
  %a_at = tl.addptr %a_b, %a_3 : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi32>
  %b_w = arith.constant dense<256> : tensor<64x1xi32>
  %b_r = tl.expand_dims %r64 axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %b_c = tl.expand_dims %r256 axis 0 : tensor<256xi32> -> tensor<1x256xi32>
  %b_o = arith.muli %b_r, %b_w : tensor<64x1xi32>
  %b_1 = tl.broadcast %b_o : tensor<64x1xi32> -> tensor<64x256xi32>
  %b_2 = tl.broadcast %b_c : tensor<1x256xi32> -> tensor<64x256xi32>
  %b_3 = arith.addi %b_1, %b_2 : tensor<64x256xi32>
  %b_b = tl.splat %b : !tl.ptr<f16> -> tensor<64x256x!tl.ptr<f16>>
  %b_at = tl.addptr %b_b, %b_3 : tensor<64x256x!tl.ptr<f16>>, tensor<64x256xi32>
  %y_w = arith.constant dense<256> : tensor<128x1xi32>
  %y_r = tl.expand_dims %r128 axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %y_c = tl.expand_dims %r256 axis 0 : tensor<256xi32> -> tensor<1x256xi32>
  %y_o = arith.muli %y_r, %y_w : tensor<128x1xi32>
  %y_1 = tl.broadcast %y_o : tensor<128x1xi32> -> tensor<128x256xi32>
  %y_2 = tl.broadcast %y_c : tensor<1x256xi32> -> tensor<128x256xi32>
  %y_3 = arith.addi %y_1, %y_2 : tensor<128x256xi32>
  %y_b = tl.splat %y : !tl.ptr<f32> -> tensor<128x256x!tl.ptr<f32>>
  %y_at = tl.addptr %y_b, %y_3 : tensor<128x256x!tl.ptr<f32>>, tensor<128x256xi32>
  %none = arith.constant dense<0.0> : tensor<128x256xf32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<128x256xf32>) : i32 {
    %va = tl.load %a_at : tensor<128x64x!tl.ptr<f16>> -> tensor<128x64xf16>
    %vb = tl.load %b_at : tensor<64x256x!tl.ptr<f16>> -> tensor<64x256xf16>
    %next = tl.dot %va, %vb, %s : tensor<128x64xf16>, tensor<64x256xf16> -> tensor<128x256xf32>
    scf.yield %next : tensor<128x256xf32>
  } {tl.disable_licm}
  tl.store %y_at, %sum : tensor<128x256x!tl.ptr<f32>>, tensor<128x256xf32>
  return
}

// -----

// Two warpgroups that compute between dots go through iterations independently, with a third buffer;
// one warpgroup has nobody to be ahead of. The second dot is delayed.
// OLD-LABEL: plan of 'attention'
// OLD-NEXT: loop at pipeline-rings.mlir:{{.*}}: 2 stages
// OLD-NEXT:   ring: 2 buffers
// OLD-NEXT:   copies: begun 1 iteration ahead by all threads
// OLD-NEXT:   waits: each thread for its copies, then all at a CTA barrier
// OLD-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
// OLD-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
// NEW-LABEL: plan of 'attention'
// NEW-NEXT: loop at pipeline-rings.mlir:{{.*}}: 2 stages
// NEW-NEXT:   ring: 2 buffers
// NEW-NEXT:   copies: begun 1 iteration ahead by all threads
// NEW-NEXT:   waits: each thread for its copies, then all at a CTA barrier
// NEW-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
// NEW-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer, used an iteration later
// NEW-NEXT:   dot at pipeline-rings.mlir:{{.*}}: an iteration later, beside the dot at pipeline-rings.mlir:{{.*}}
// MANY-LABEL: plan of 'attention'
// MANY-NEXT: loop at pipeline-rings.mlir:{{.*}}: 2 stages
// MANY-NEXT:   ring: 3 buffers (one extra: a warpgroup can be ahead of another)
// MANY-NEXT:   copies: begun 2 iterations ahead by all threads
// MANY-NEXT:   waits: consumers at the slot's mbarrier 'filled', producers at its mbarrier 'released'
// MANY-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
// MANY-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer, used an iteration later
// MANY-NEXT:   dot at pipeline-rings.mlir:{{.*}}: an iteration later, beside the dot at pipeline-rings.mlir:{{.*}}
// NONE-LABEL: plan of 'attention'
// NONE-NEXT: loop at pipeline-rings.mlir:{{.*}}: 2 stages
// NONE-NEXT:   ring: 2 buffers
// NONE-NEXT:   copies: begun 1 iteration ahead by all threads
// NONE-NEXT:   waits: each thread for its copies, then all at a CTA barrier
// NONE-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
// NONE-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer, used an iteration later
// NONE-NEXT:   dot at pipeline-rings.mlir:{{.*}}: an iteration later, beside the dot at pipeline-rings.mlir:{{.*}}
func.func @attention(%q: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %k: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %v: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %z: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r64 = tl.range 0 to 64 : tensor<64xi32>
  %r128 = tl.range 0 to 128 : tensor<128xi32>
  %q_w = arith.constant dense<64> : tensor<128x1xi32>
  %q_r = tl.expand_dims %r128 axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %q_c = tl.expand_dims %r64 axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %q_o = arith.muli %q_r, %q_w : tensor<128x1xi32>
  %q_1 = tl.broadcast %q_o : tensor<128x1xi32> -> tensor<128x64xi32>
  %q_2 = tl.broadcast %q_c : tensor<1x64xi32> -> tensor<128x64xi32>
  %q_3 = arith.addi %q_1, %q_2 : tensor<128x64xi32>
  %q_b = tl.splat %q : !tl.ptr<f16> -> tensor<128x64x!tl.ptr<f16>>
  %q_at = tl.addptr %q_b, %q_3 : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi32>
  %k_w = arith.constant dense<64> : tensor<64x1xi32>
  %k_r = tl.expand_dims %r64 axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %k_c = tl.expand_dims %r64 axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %k_o = arith.muli %k_r, %k_w : tensor<64x1xi32>
  %k_1 = tl.broadcast %k_o : tensor<64x1xi32> -> tensor<64x64xi32>
  %k_2 = tl.broadcast %k_c : tensor<1x64xi32> -> tensor<64x64xi32>
  %k_3 = arith.addi %k_1, %k_2 : tensor<64x64xi32>
  %k_b = tl.splat %k : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %k_at = tl.addptr %k_b, %k_3 : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %v_w = arith.constant dense<64> : tensor<64x1xi32>
  %v_r = tl.expand_dims %r64 axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %v_c = tl.expand_dims %r64 axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %v_o = arith.muli %v_r, %v_w : tensor<64x1xi32>
  %v_1 = tl.broadcast %v_o : tensor<64x1xi32> -> tensor<64x64xi32>
  %v_2 = tl.broadcast %v_c : tensor<1x64xi32> -> tensor<64x64xi32>
  %v_3 = arith.addi %v_1, %v_2 : tensor<64x64xi32>
  %v_b = tl.splat %v : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %v_at = tl.addptr %v_b, %v_3 : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %y_w = arith.constant dense<64> : tensor<128x1xi32>
  %y_r = tl.expand_dims %r128 axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %y_c = tl.expand_dims %r64 axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %y_o = arith.muli %y_r, %y_w : tensor<128x1xi32>
  %y_1 = tl.broadcast %y_o : tensor<128x1xi32> -> tensor<128x64xi32>
  %y_2 = tl.broadcast %y_c : tensor<1x64xi32> -> tensor<128x64xi32>
  %y_3 = arith.addi %y_1, %y_2 : tensor<128x64xi32>
  %y_b = tl.splat %y : !tl.ptr<f32> -> tensor<128x64x!tl.ptr<f32>>
  %y_at = tl.addptr %y_b, %y_3 : tensor<128x64x!tl.ptr<f32>>, tensor<128x64xi32>
  %none = arith.constant dense<0.0> : tensor<128x64xf32>
  %nothing = arith.constant dense<0.0> : tensor<128x64xf32>
  %vq = tl.load %q_at : tensor<128x64x!tl.ptr<f16>> -> tensor<128x64xf16>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<128x64xf32>) : i32 {
    %vk = tl.load %k_at : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
    %scores = tl.dot %vq, %vk, %nothing : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %p = math.exp2 %scores : tensor<128x64xf32>
    %weights = tl.fp_cast %p : tensor<128x64xf32> -> tensor<128x64xf16>
    %vv = tl.load %v_at : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
    %next = tl.dot %weights, %vv, %s : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  } {tl.disable_licm, tl.num_stages = 2 : i32}
  tl.store %y_at, %sum : tensor<128x64x!tl.ptr<f32>>, tensor<128x64xf32>
  return
}

// -----

// Where a loop stores the dot is not delayed, but warpgroups are as independent.
// OLD-LABEL: plan of 'storing'
// OLD-NEXT: loop at pipeline-rings.mlir:{{.*}}: 3 stages
// OLD-NEXT:   ring: 3 buffers
// OLD-NEXT:   copies:{{.*}}
// OLD-NEXT:   waits:{{.*}}
// OLD-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
// OLD-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
// OLD-NEXT:   arguments 1 and 4 must not overlap
// OLD-NEXT:   arguments 2 and 4 must not overlap
// NEW-LABEL: plan of 'storing'
// NEW-NEXT: loop at pipeline-rings.mlir:{{.*}}: 3 stages
// NEW-NEXT:   ring: 3 buffers
// NEW-NEXT:   copies:{{.*}}
// NEW-NEXT:   waits: each thread{{.*}}
// NEW-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
// NEW-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
// NEW-NEXT:   arguments 1 and 4 must not overlap
// NEW-NEXT:   arguments 2 and 4 must not overlap
// MANY-LABEL: plan of 'storing'
// MANY-NEXT: loop at pipeline-rings.mlir:{{.*}}: 3 stages
// MANY-NEXT:   ring: 3 buffers
// MANY-NEXT:   copies: begun 2 iterations ahead by all threads
// MANY-NEXT:   waits: consumers at the slot's mbarrier 'filled', producers at its mbarrier 'released'
// MANY-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
// MANY-NEXT:   load at pipeline-rings.mlir:{{.*}}: cp.async, 8192 bytes a buffer
// MANY-NEXT:   arguments 1 and 4 must not overlap
// MANY-NEXT:   arguments 2 and 4 must not overlap
func.func @storing(%q: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %k: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %v: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %z: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r64 = tl.range 0 to 64 : tensor<64xi32>
  %r128 = tl.range 0 to 128 : tensor<128xi32>
  %q_w = arith.constant dense<64> : tensor<128x1xi32>
  %q_r = tl.expand_dims %r128 axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %q_c = tl.expand_dims %r64 axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %q_o = arith.muli %q_r, %q_w : tensor<128x1xi32>
  %q_1 = tl.broadcast %q_o : tensor<128x1xi32> -> tensor<128x64xi32>
  %q_2 = tl.broadcast %q_c : tensor<1x64xi32> -> tensor<128x64xi32>
  %q_3 = arith.addi %q_1, %q_2 : tensor<128x64xi32>
  %q_b = tl.splat %q : !tl.ptr<f16> -> tensor<128x64x!tl.ptr<f16>>
  %q_at = tl.addptr %q_b, %q_3 : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi32>
  %k_w = arith.constant dense<64> : tensor<64x1xi32>
  %k_r = tl.expand_dims %r64 axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %k_c = tl.expand_dims %r64 axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %k_o = arith.muli %k_r, %k_w : tensor<64x1xi32>
  %k_1 = tl.broadcast %k_o : tensor<64x1xi32> -> tensor<64x64xi32>
  %k_2 = tl.broadcast %k_c : tensor<1x64xi32> -> tensor<64x64xi32>
  %k_3 = arith.addi %k_1, %k_2 : tensor<64x64xi32>
  %k_b = tl.splat %k : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %k_at = tl.addptr %k_b, %k_3 : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %v_w = arith.constant dense<64> : tensor<64x1xi32>
  %v_r = tl.expand_dims %r64 axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %v_c = tl.expand_dims %r64 axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %v_o = arith.muli %v_r, %v_w : tensor<64x1xi32>
  %v_1 = tl.broadcast %v_o : tensor<64x1xi32> -> tensor<64x64xi32>
  %v_2 = tl.broadcast %v_c : tensor<1x64xi32> -> tensor<64x64xi32>
  %v_3 = arith.addi %v_1, %v_2 : tensor<64x64xi32>
  %v_b = tl.splat %v : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %v_at = tl.addptr %v_b, %v_3 : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %y_w = arith.constant dense<64> : tensor<128x1xi32>
  %y_r = tl.expand_dims %r128 axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %y_c = tl.expand_dims %r64 axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %y_o = arith.muli %y_r, %y_w : tensor<128x1xi32>
  %y_1 = tl.broadcast %y_o : tensor<128x1xi32> -> tensor<128x64xi32>
  %y_2 = tl.broadcast %y_c : tensor<1x64xi32> -> tensor<128x64xi32>
  %y_3 = arith.addi %y_1, %y_2 : tensor<128x64xi32>
  %y_b = tl.splat %y : !tl.ptr<f32> -> tensor<128x64x!tl.ptr<f32>>
  %y_at = tl.addptr %y_b, %y_3 : tensor<128x64x!tl.ptr<f32>>, tensor<128x64xi32>
  %none = arith.constant dense<0.0> : tensor<128x64xf32>
  %nothing = arith.constant dense<0.0> : tensor<128x64xf32>
  %vq = tl.load %q_at : tensor<128x64x!tl.ptr<f16>> -> tensor<128x64xf16>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<128x64xf32>) : i32 {
    %vk = tl.load %k_at : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
    %scores = tl.dot %vq, %vk, %nothing : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %p = math.exp2 %scores : tensor<128x64xf32>
    %weights = tl.fp_cast %p : tensor<128x64xf32> -> tensor<128x64xf16>
    %vv = tl.load %v_at : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
    %one_f = arith.constant 1.0 : f32
    tl.store %z, %one_f : !tl.ptr<f32>, f32
    %next = tl.dot %weights, %vv, %s : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  } {tl.disable_licm, tl.num_stages = 3 : i32}
  tl.store %y_at, %sum : tensor<128x64x!tl.ptr<f32>>, tensor<128x64xf32>
  return
}
