// A sum of a dot and something else is a dot that begins with that, where the tensor cores add in
// fp32 or int32.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_90a},cse)' | FileCheck %s

// Whichever side the dot is on, and also where what is added is computed after it. Of two dots the
// later one begins with the earlier one.
// CHECK-LABEL: func.func @folded(
// CHECK: %[[X:.*]] = tl.load
// CHECK-NOT: arith.addf
// CHECK: %[[HALF:.*]] = arith.mulf %[[X]],
// CHECK: %[[ACC:.*]] = tlg.convert_layout %[[HALF]]
// CHECK: tlg.wgmma %{{.*}}, %{{.*}}, %[[ACC]]
// CHECK: tlg.wgmma
// CHECK: %[[BA:.*]] = tlg.wgmma_wait 0
// CHECK: tlg.wgmma %{{.*}}, %{{.*}}, %[[BA]]
// CHECK-NOT: arith.addf
// CHECK: return
func.func @folded(%a: f16, %b: f16, %p: !tl.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %half = arith.constant dense<0.5> : tensor<64x64xf32>
  %flat = tl.range 0 to 4096 : tensor<4096xi32>
  %offsets = tl.reshape %flat : tensor<4096xi32> -> tensor<64x64xi32>
  %base = tl.splat %p : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %va = tl.splat %a : f16 -> tensor<64x64xf16>
  %vb = tl.splat %b : f16 -> tensor<64x64xf16>
  %x = tl.load %at : tensor<64x64x!tl.ptr<f32>> -> tensor<64x64xf32>
  %ab = tl.dot %va, %vb, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  %y = arith.mulf %x, %half : tensor<64x64xf32>
  %first = arith.addf %y, %ab : tensor<64x64xf32>
  %ba = tl.dot %vb, %va, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  %bb = tl.dot %vb, %vb, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  %both = arith.addf %bb, %ba : tensor<64x64xf32>
  tl.store %at, %first : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  tl.store %at, %both : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}

// A dot that something else needs too, one that adds already, exact fp32, and fp8, of which the
// tensor cores add with fewer bits, stay as they are; so does one that need not wait for another
// dot, as the sum does.
// CHECK-LABEL: func.func @kept(
// CHECK-COUNT-5: arith.addf
// CHECK: tl.store
func.func @kept(%a: f16, %c: f32, %d: f8E4M3FN, %p: !tl.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %flat = tl.range 0 to 4096 : tensor<4096xi32>
  %offsets = tl.reshape %flat : tensor<4096xi32> -> tensor<64x64xi32>
  %base = tl.splat %p : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %va = tl.splat %a : f16 -> tensor<64x64xf16>
  %vc = tl.splat %c : f32 -> tensor<64x64xf32>
  %vd = tl.splat %d : f8E4M3FN -> tensor<64x64xf8E4M3FN>
  %x = tl.load %at : tensor<64x64x!tl.ptr<f32>> -> tensor<64x64xf32>
  %twice = tl.dot %va, %va, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  %0 = arith.addf %x, %twice : tensor<64x64xf32>
  tl.store %at, %twice : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  %adds = tl.dot %va, %va, %x : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  %1 = arith.addf %0, %adds : tensor<64x64xf32>
  %exact = tl.dot %vc, %vc, %zero : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %2 = arith.addf %1, %exact : tensor<64x64xf32>
  %fp8 = tl.dot %vd, %vd, %zero : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN> -> tensor<64x64xf32>
  %3 = arith.addf %2, %fp8 : tensor<64x64xf32>
  %early = tl.dot %va, %va, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  %4 = arith.addf %3, %early : tensor<64x64xf32>
  tl.store %at, %4 : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}

// Also where the sums have another shape than the product: they are added to in that of the dot.
// CHECK-LABEL: func.func @reshaped(
// CHECK: %[[SUMS:.*]] = tl.reshape %{{.*}} : tensor<4x16x64xf32, {{.*}}> -> tensor<64x64xf32,
// CHECK: %[[BEGIN:.*]] = tlg.convert_layout %[[SUMS]]
// CHECK: tlg.wgmma %{{.*}}, %{{.*}}, %[[BEGIN]]
// CHECK: %[[MORE:.*]] = tlg.wgmma_wait 0
// CHECK-NEXT: tl.reshape %[[MORE]] : tensor<64x64xf32, {{.*}}> -> tensor<4x16x64xf32,
// CHECK-NOT: arith.addf
// CHECK: return
func.func @reshaped(%a: f16, %b: f16, %p: !tl.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %flat = tl.range 0 to 4096 : tensor<4096xi32>
  %offsets = tl.reshape %flat : tensor<4096xi32> -> tensor<4x16x64xi32>
  %base = tl.splat %p : !tl.ptr<f32> -> tensor<4x16x64x!tl.ptr<f32>>
  %at = tl.addptr %base, %offsets : tensor<4x16x64x!tl.ptr<f32>>, tensor<4x16x64xi32>
  %va = tl.splat %a : f16 -> tensor<64x64xf16>
  %vb = tl.splat %b : f16 -> tensor<64x64xf16>
  %x = tl.load %at : tensor<4x16x64x!tl.ptr<f32>> -> tensor<4x16x64xf32>
  %ab = tl.dot %va, %vb, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  %heads = tl.reshape %ab : tensor<64x64xf32> -> tensor<4x16x64xf32>
  %sum = arith.addf %x, %heads : tensor<4x16x64xf32>
  tl.store %at, %sum : tensor<4x16x64x!tl.ptr<f32>>, tensor<4x16x64xf32>
  return
}

// Sums of fp8 that would fill all registers of a thread beside their products are part of the dot,
// which adds up no more than there are in an iteration; with half as many they are not.
// CHECK-LABEL: func.func @parts(
// CHECK: tlg.wgmma {{.*}}max_num_imprecise_acc = 64 : i32{{.*}} -> tensor<128x128xf32
// CHECK: arith.addf {{.*}}tensor<64x128xf32
// CHECK-NOT: arith.addf
// CHECK: return
func.func @parts(%d: f8E4M3FN, %p: !tl.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %few = arith.constant dense<0.0> : tensor<64x128xf32>
  %at = tl.splat %p : !tl.ptr<f32> -> tensor<128x128x!tl.ptr<f32>>
  %atFew = tl.splat %p : !tl.ptr<f32> -> tensor<64x128x!tl.ptr<f32>>
  %a = tl.splat %d : f8E4M3FN -> tensor<128x64xf8E4M3FN>
  %aFew = tl.splat %d : f8E4M3FN -> tensor<64x64xf8E4M3FN>
  %b = tl.splat %d : f8E4M3FN -> tensor<64x128xf8E4M3FN>
  %x = tl.load %at : tensor<128x128x!tl.ptr<f32>> -> tensor<128x128xf32>
  %y = tl.load %atFew : tensor<64x128x!tl.ptr<f32>> -> tensor<64x128xf32>
  %ab = tl.dot %a, %b, %zero : tensor<128x64xf8E4M3FN>, tensor<64x128xf8E4M3FN> -> tensor<128x128xf32>
  %sum = arith.addf %x, %ab : tensor<128x128xf32>
  %abFew = tl.dot %aFew, %b, %few : tensor<64x64xf8E4M3FN>, tensor<64x128xf8E4M3FN> -> tensor<64x128xf32>
  %sumFew = arith.addf %y, %abFew : tensor<64x128xf32>
  tl.store %at, %sum : tensor<128x128x!tl.ptr<f32>>, tensor<128x128xf32>
  tl.store %atFew, %sumFew : tensor<64x128x!tl.ptr<f32>>, tensor<64x128xf32>
  return
}

// On a GPU with wgmma, mma.sync of fp8 is made of those of fp16, which add up in fp32: such sums are
// part of the dot, too.
// CHECK-LABEL: func.func @few_rows(
// CHECK-NOT: arith.addf
// CHECK: tlg.mma {{.*}} -> tensor<32x128xf32
// CHECK-NOT: arith.addf
// CHECK: return
func.func @few_rows(%d: f8E4M3FN, %p: !tl.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<32x128xf32>
  %at = tl.splat %p : !tl.ptr<f32> -> tensor<32x128x!tl.ptr<f32>>
  %a = tl.splat %d : f8E4M3FN -> tensor<32x64xf8E4M3FN>
  %b = tl.splat %d : f8E4M3FN -> tensor<64x128xf8E4M3FN>
  %x = tl.load %at : tensor<32x128x!tl.ptr<f32>> -> tensor<32x128xf32>
  %ab = tl.dot %a, %b, %zero : tensor<32x64xf8E4M3FN>, tensor<64x128xf8E4M3FN> -> tensor<32x128xf32>
  %sum = arith.addf %x, %ab : tensor<32x128xf32>
  tl.store %at, %sum : tensor<32x128x!tl.ptr<f32>>, tensor<32x128xf32>
  return
}
