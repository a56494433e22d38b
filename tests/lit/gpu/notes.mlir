// What is noted of a kernel's speed; each bad kernel with its mended form.
// RUN: blk-opt %s --split-input-file --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_80},tlg-emit{to=notes})' -o /dev/null | FileCheck %s

// CHECK: warning[uncoalesced]: uncoalesced load of argument 0: a warp touches 128 sectors of 32 bytes, expected 16 for 512 bytes; along dimension 0 of its block [512] threads are 32 bytes apart
// CHECK-NEXT: strided: 1 note
func.func @strided(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %range = tl.range 0 to 512 : tensor<512xi32>
  %eight = arith.constant dense<8> : tensor<512xi32>
  %offsets = arith.muli %range, %eight : tensor<512xi32>
  %from = tl.splat %x : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %at = tl.addptr %from, %offsets : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
  %to = tl.splat %y : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %there = tl.addptr %to, %range : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
  %v = tl.load %at : tensor<512x!tl.ptr<f32>> -> tensor<512xf32>
  tl.store %there, %v : tensor<512x!tl.ptr<f32>>, tensor<512xf32>
  return
}

// -----

// CHECK-NEXT: contiguous: 0 notes
func.func @contiguous(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %range = tl.range 0 to 512 : tensor<512xi32>
  %from = tl.splat %x : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %at = tl.addptr %from, %range : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
  %to = tl.splat %y : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %there = tl.addptr %to, %range : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
  %v = tl.load %at : tensor<512x!tl.ptr<f32>> -> tensor<512xf32>
  tl.store %there, %v : tensor<512x!tl.ptr<f32>>, tensor<512xf32>
  return
}

// -----

// Nobody knows what the argument will be.
// CHECK-NEXT: warning[uncoalesced]: store to argument 0 cannot be shown to be coalesced: along dimension 0 of its block [512] elements lie apart by argument 1, known only when it runs;
// CHECK-NEXT: unknown_stride: 1 note
func.func @unknown_stride(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %stride: i32) {
  %range = tl.range 0 to 512 : tensor<512xi32>
  %step = tl.splat %stride : i32 -> tensor<512xi32>
  %offsets = arith.muli %range, %step : tensor<512xi32>
  %to = tl.splat %x : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
  %there = tl.addptr %to, %offsets : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
  %zero = arith.constant dense<0.0> : tensor<512xf32>
  tl.store %there, %zero : tensor<512x!tl.ptr<f32>>, tensor<512xf32>
  return
}

// -----

// Rows that begin anywhere are whole sectors all the same.
// CHECK-NEXT: unknown_row_stride: 0 notes
func.func @unknown_row_stride(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %stride: i32 {tl.divisibility = 16 : i32}) {
  %rows = tl.range 0 to 16 : tensor<16xi32>
  %columns = tl.range 0 to 64 : tensor<64xi32>
  %step = tl.splat %stride : i32 -> tensor<16xi32>
  %starts = arith.muli %rows, %step : tensor<16xi32>
  %starts2 = tl.expand_dims %starts axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %columns2 = tl.expand_dims %columns axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %a = tl.broadcast %starts2 : tensor<16x1xi32> -> tensor<16x64xi32>
  %b = tl.broadcast %columns2 : tensor<1x64xi32> -> tensor<16x64xi32>
  %offsets = arith.addi %a, %b : tensor<16x64xi32>
  %to = tl.splat %x : !tl.ptr<f32> -> tensor<16x64x!tl.ptr<f32>>
  %there = tl.addptr %to, %offsets : tensor<16x64x!tl.ptr<f32>>, tensor<16x64xi32>
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  tl.store %there, %zero : tensor<16x64x!tl.ptr<f32>>, tensor<16x64xf32>
  return
}

// -----

// Where a row begins is data, what it has is not; and where each element lies is.
// CHECK-NEXT: note[gather]: load of argument 0: addresses come from data, so a warp may touch
// CHECK-NEXT: gathered: 1 note
func.func @gathered(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %i: !tl.ptr<i32> {tl.divisibility = 16 : i32}) {
  %range = tl.range 0 to 256 : tensor<256xi32>
  %indices = tl.splat %i : !tl.ptr<i32> -> tensor<256x!tl.ptr<i32>>
  %at = tl.addptr %indices, %range : tensor<256x!tl.ptr<i32>>, tensor<256xi32>
  %row = tl.load %i : !tl.ptr<i32> -> i32
  %rows = tl.splat %row : i32 -> tensor<256xi32>
  %index = tl.load %at : tensor<256x!tl.ptr<i32>> -> tensor<256xi32>
  %from = tl.splat %x : !tl.ptr<f32> -> tensor<256x!tl.ptr<f32>>
  %there = tl.addptr %from, %index : tensor<256x!tl.ptr<f32>>, tensor<256xi32>
  %v = tl.load %there : tensor<256x!tl.ptr<f32>> -> tensor<256xf32>
  %moved = arith.addi %rows, %range : tensor<256xi32>
  %to = tl.addptr %from, %moved : tensor<256x!tl.ptr<f32>>, tensor<256xi32>
  tl.store %to, %v : tensor<256x!tl.ptr<f32>>, tensor<256xf32>
  return
}

// -----

// CHECK-NEXT: warning[narrow-access]: store to argument 0 goes by pieces of 2 bytes, expected 8 bytes: argument 1 is not known to be a multiple of 16
// CHECK-NEXT: narrow: 1 note
func.func @narrow(%x: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %n: i32) {
  %range = tl.range 0 to 512 : tensor<512xi32>
  %limit = tl.splat %n : i32 -> tensor<512xi32>
  %mask = arith.cmpi slt, %range, %limit : tensor<512xi32>
  %to = tl.splat %x : !tl.ptr<f16> -> tensor<512x!tl.ptr<f16>>
  %there = tl.addptr %to, %range : tensor<512x!tl.ptr<f16>>, tensor<512xi32>
  %zero = arith.constant dense<0.0> : tensor<512xf16>
  tl.store %there, %zero mask %mask : tensor<512xi1> : tensor<512x!tl.ptr<f16>>, tensor<512xf16>
  return
}

// -----

// CHECK-NEXT: hinted: 0 notes
func.func @hinted(%x: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %n: i32) {
  %range = tl.range 0 to 512 : tensor<512xi32>
  %known = tl.hint "multiple_of" [16] %n : i32
  %limit = tl.splat %known : i32 -> tensor<512xi32>
  %mask = arith.cmpi slt, %range, %limit : tensor<512xi32>
  %to = tl.splat %x : !tl.ptr<f16> -> tensor<512x!tl.ptr<f16>>
  %there = tl.addptr %to, %range : tensor<512x!tl.ptr<f16>>, tensor<512xi32>
  %zero = arith.constant dense<0.0> : tensor<512xf16>
  tl.store %there, %zero mask %mask : tensor<512xi1> : tensor<512x!tl.ptr<f16>>, tensor<512xf16>
  return
}
