// A dot of sums that adds to the sums of a dot of something else, as linear attention does: both
// have their warps side by side along N, so that no sums go to other warps. Sums that are all that
// a dot adds to, as in attention, stay in the rows of their warp.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_90a num-warps=2},cse)' --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @linear(
// CHECK: %[[STATE:.*]] = tlg.mma {{.*}} warps = array<i32: 1, 2, 1>}
// CHECK-NOT: tlg.convert_layout %[[STATE]]
// CHECK: tlg.mma %{{.*}}, %{{.*}}, %[[STATE]] {{.*}} warps = array<i32: 1, 2, 1>}
// CHECK-LABEL: func.func @attention(
// CHECK: tlg.mma {{.*}} warps = array<i32: 2, 1, 1>}
// CHECK: tlg.mma {{.*}} warps = array<i32: 2, 1, 1>}
func.func @linear(%p: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %p32 = tl.splat %p : !tl.ptr<f16> -> tensor<32x32x!tl.ptr<f16>>
  %i32 = tl.range 0 to 1024 : tensor<1024xi32>
  %o32 = tl.reshape %i32 : tensor<1024xi32> -> tensor<32x32xi32>
  %at32 = tl.addptr %p32, %o32 : tensor<32x32x!tl.ptr<f16>>, tensor<32x32xi32>
  %p128 = tl.splat %p : !tl.ptr<f16> -> tensor<32x128x!tl.ptr<f16>>
  %i128 = tl.range 0 to 4096 : tensor<4096xi32>
  %o128 = tl.reshape %i128 : tensor<4096xi32> -> tensor<32x128xi32>
  %at128 = tl.addptr %p128, %o128 : tensor<32x128x!tl.ptr<f16>>, tensor<32x128xi32>
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %zeros = arith.constant dense<0.0> : tensor<32x128xf32>
  %q = tl.load %at32 : tensor<32x32x!tl.ptr<f16>> -> tensor<32x32xf16>
  %v = tl.load %at128 : tensor<32x128x!tl.ptr<f16>> -> tensor<32x128xf16>
  %qk = tl.dot %q, %q, %zero : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
  %small = tl.fp_cast %qk : tensor<32x32xf32> -> tensor<32x32xf16>
  %state = tl.dot %q, %v, %zeros : tensor<32x32xf16>, tensor<32x128xf16> -> tensor<32x128xf32>
  %o = tl.dot %small, %v, %state : tensor<32x32xf16>, tensor<32x128xf16> -> tensor<32x128xf32>
  %pout = tl.splat %out : !tl.ptr<f32> -> tensor<32x128x!tl.ptr<f32>>
  %at = tl.addptr %pout, %o128 : tensor<32x128x!tl.ptr<f32>>, tensor<32x128xi32>
  tl.store %at, %o : tensor<32x128x!tl.ptr<f32>>, tensor<32x128xf32>
  return
}

// -----

func.func @attention(%p: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %p32 = tl.splat %p : !tl.ptr<f16> -> tensor<32x32x!tl.ptr<f16>>
  %i32 = tl.range 0 to 1024 : tensor<1024xi32>
  %o32 = tl.reshape %i32 : tensor<1024xi32> -> tensor<32x32xi32>
  %at32 = tl.addptr %p32, %o32 : tensor<32x32x!tl.ptr<f16>>, tensor<32x32xi32>
  %p128 = tl.splat %p : !tl.ptr<f16> -> tensor<32x128x!tl.ptr<f16>>
  %i128 = tl.range 0 to 4096 : tensor<4096xi32>
  %o128 = tl.reshape %i128 : tensor<4096xi32> -> tensor<32x128xi32>
  %at128 = tl.addptr %p128, %o128 : tensor<32x128x!tl.ptr<f16>>, tensor<32x128xi32>
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %zeros = arith.constant dense<0.0> : tensor<32x128xf32>
  %q = tl.load %at32 : tensor<32x32x!tl.ptr<f16>> -> tensor<32x32xf16>
  %v = tl.load %at128 : tensor<32x128x!tl.ptr<f16>> -> tensor<32x128xf16>
  %qk = tl.dot %q, %q, %zero : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
  %small = tl.fp_cast %qk : tensor<32x32xf32> -> tensor<32x32xf16>
  %o = tl.dot %small, %v, %zeros : tensor<32x32xf16>, tensor<32x128xf16> -> tensor<32x128xf32>
  %pout = tl.splat %out : !tl.ptr<f32> -> tensor<32x128x!tl.ptr<f32>>
  %at = tl.addptr %pout, %o128 : tensor<32x128x!tl.ptr<f32>>, tensor<32x128xi32>
  tl.store %at, %o : tensor<32x128x!tl.ptr<f32>>, tensor<32x128xf32>
  return
}

// -----

// Elements of four bytes that lie along N come one by one, those along K four at a time: warps lie
// along N, where each of them would bring more of the former.

// CHECK-LABEL: func.func @tf32(
// CHECK: tlg.mma {{.*}} warps = array<i32: 1, 2, 1>}
// CHECK: tlg.mma {{.*}} warps = array<i32: 2, 1, 1>}
func.func @tf32(%p: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %q: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %i = tl.range 0 to 1024 : tensor<1024xi32>
  %o = tl.reshape %i : tensor<1024xi32> -> tensor<32x32xi32>
  %p32 = tl.splat %p : !tl.ptr<f32> -> tensor<32x32x!tl.ptr<f32>>
  %q32 = tl.splat %q : !tl.ptr<f32> -> tensor<32x32x!tl.ptr<f32>>
  %out32 = tl.splat %out : !tl.ptr<f32> -> tensor<32x32x!tl.ptr<f32>>
  %at = tl.addptr %p32, %o : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xi32>
  %there = tl.addptr %q32, %o : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xi32>
  %to = tl.addptr %out32, %o : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xi32>
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %a = tl.load %at : tensor<32x32x!tl.ptr<f32>> -> tensor<32x32xf32>
  %b = tl.load %there : tensor<32x32x!tl.ptr<f32>> -> tensor<32x32xf32>
  %along_n = tl.dot %a, %b, %zero {input_precision = "tf32"} : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  tl.store %to, %along_n : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xf32>
  %turned = tl.trans %b [1, 0] : tensor<32x32xf32> -> tensor<32x32xf32>
  %along_k = tl.dot %a, %turned, %zero {input_precision = "tf32"} : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  tl.store %to, %along_k : tensor<32x32x!tl.ptr<f32>>, tensor<32x32xf32>
  return
}
