// A dot of scaled operands: by the block-scaled mma.sync where the target has it, with the operands
// as they were; else what was widened is multiplied. Beside bytes of two e2m1 a thread has eight
// neighbours of fp8, too. The scales are where the instructions read them:
// four along K in a word, rows and columns of several tiles in the threads of four.
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_120a num-warps=1},cse)' | FileCheck %s --check-prefix=NATIVE
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-assign-layouts{arch=sm_90a},cse)' | FileCheck %s --check-prefix=WIDE
// RUN: blk-opt %s --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_120a num-warps=1},tlg-emit)' -o /dev/null | FileCheck %s --check-prefix=PTX

// NATIVE-DAG: #[[A:layout[0-9]*]] = #tlg.layout<registers = [1, 2, 1024, 4, 32, 64, 2048, 4096], lanes = [8, 16, 128, 256, 512], warps = []>
// NATIVE-DAG: #[[PACKED_A:layout[0-9]*]] = #tlg.layout<registers = [1, 2, 512, 16, 32, 1024, 2048], lanes = [4, 8, 64, 128, 256], warps = []>
// NATIVE-DAG: #[[PACKED_B:layout[0-9]*]] = #tlg.layout<registers = [32, 64, 512, 1024, 8, 16], lanes = [128, 256, 1, 2, 4], warps = []>
// NATIVE-DAG: #[[OF_A:layout[0-9]*]] = #tlg.layout<registers = [1, 2, 128], lanes = [32, 64, 4, 8, 16], warps = []>
// NATIVE-DAG: #[[OF_B:layout[0-9]*]] = #tlg.layout<registers = [1, 2], lanes = [32, 64, 4, 8, 16], warps = []>
// NATIVE-NOT: tl.fp_cast
// NATIVE: %[[ONES:.*]] = arith.constant dense<127> : tensor<32x4xi8, #[[OF_B]]>
// NATIVE: tlg.mma {{.*}} scales %{{.*}}, %[[ONES]] {operand_bytes = 1 : i32, warps = array<i32: 1, 1, 1>} : tensor<64x128xf8E4M3FN, #[[A]]>, tensor<64x32xi8, #[[PACKED_B]]> scales tensor<64x4xi8, #[[OF_A]]>, tensor<32x4xi8, #[[OF_B]]> -> tensor<64x32xf32
// NATIVE: tlg.mma {{.*}} : tensor<64x64xi8, #[[PACKED_A]]>, tensor<64x32xi8, #[[PACKED_B]]> scales tensor<64x4xi8, #[[OF_A]]>, tensor<32x4xi8, #[[OF_B]]>
// NATIVE-LABEL: func.func @mistaken(
// NATIVE-NOT: tl.scaled
// NATIVE: tlg.mma {{.*}} : tensor<64x128xbf16

// WIDE-NOT: tl.scaled
// WIDE: tlg.wgmma {{.*}}tensor<64x128xbf16
// WIDE-NOT: tl.scaled
// WIDE: tlg.wgmma {{.*}}tensor<64x128xbf16
// WIDE-NOT: tl.scaled

// An instruction names the word of scales, the byte in it and the thread that has it.
// PTX-LABEL: .entry mixed(
// PTX: mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0 {{.*}}, {0, 0}, {{.*}}, {0, 0};
// PTX: mma.sync.aligned.m16n8k32{{.*}}, {0, 0}, {{.*}}, {0, 1};
// PTX: mma.sync.aligned.m16n8k32{{.*}}, {3, 1}, {{.*}}, {3, 3};

func.func @mixed(%a: !tl.ptr<f8E4M3FN> {tl.divisibility = 16 : i32}, %b: !tl.ptr<i8> {tl.divisibility = 16 : i32}, %s: !tl.ptr<i8> {tl.divisibility = 16 : i32},
    %out: !tl.ptr<f32>) {
  %0 = tl.range 0 to 8192 : tensor<8192xi32>
  %1 = tl.splat %a : !tl.ptr<f8E4M3FN> -> tensor<8192x!tl.ptr<f8E4M3FN>>
  %2 = tl.addptr %1, %0 : tensor<8192x!tl.ptr<f8E4M3FN>>, tensor<8192xi32>
  %3 = tl.load %2 : tensor<8192x!tl.ptr<f8E4M3FN>> -> tensor<8192xf8E4M3FN>
  %left = tl.reshape %3 : tensor<8192xf8E4M3FN> -> tensor<64x128xf8E4M3FN>
  %4 = tl.range 0 to 2048 : tensor<2048xi32>
  %5 = tl.splat %b : !tl.ptr<i8> -> tensor<2048x!tl.ptr<i8>>
  %6 = tl.addptr %5, %4 : tensor<2048x!tl.ptr<i8>>, tensor<2048xi32>
  %7 = tl.load %6 : tensor<2048x!tl.ptr<i8>> -> tensor<2048xi8>
  %right = tl.reshape %7 : tensor<2048xi8> -> tensor<64x32xi8>
  %8 = tl.range 0 to 256 : tensor<256xi32>
  %9 = tl.splat %s : !tl.ptr<i8> -> tensor<256x!tl.ptr<i8>>
  %10 = tl.addptr %9, %8 : tensor<256x!tl.ptr<i8>>, tensor<256xi32>
  %11 = tl.load %10 : tensor<256x!tl.ptr<i8>> -> tensor<256xi8>
  %scale = tl.reshape %11 : tensor<256xi8> -> tensor<64x4xi8>
  %wide_left = tl.fp_cast %left : tensor<64x128xf8E4M3FN> -> tensor<64x128xbf16>
  %wide_right = arith.constant dense<2.0> : tensor<128x32xbf16>
  %x = tl.scaled %wide_left of "e4m3" %left times %scale : tensor<64x128xf8E4M3FN> times tensor<64x4xi8> -> tensor<64x128xbf16>
  %y = tl.scaled %wide_right of "e2m1" %right : tensor<64x32xi8> -> tensor<128x32xbf16>
  %acc = arith.constant dense<0.0> : tensor<64x32xf32>
  %c = tl.dot %x, %y, %acc : tensor<64x128xbf16>, tensor<128x32xbf16> -> tensor<64x32xf32>
  %12 = tl.reshape %c : tensor<64x32xf32> -> tensor<2048xf32>
  %13 = tl.splat %out : !tl.ptr<f32> -> tensor<2048x!tl.ptr<f32>>
  %14 = tl.addptr %13, %4 : tensor<2048x!tl.ptr<f32>>, tensor<2048xi32>
  tl.store %14, %12 : tensor<2048x!tl.ptr<f32>>, tensor<2048xf32>
  return
}

func.func @packed(%a: !tl.ptr<i8> {tl.divisibility = 16 : i32}, %b: !tl.ptr<i8> {tl.divisibility = 16 : i32}, %s: !tl.ptr<i8> {tl.divisibility = 16 : i32},
    %out: !tl.ptr<f32>) {
  %0 = tl.range 0 to 4096 : tensor<4096xi32>
  %1 = tl.splat %a : !tl.ptr<i8> -> tensor<4096x!tl.ptr<i8>>
  %2 = tl.addptr %1, %0 : tensor<4096x!tl.ptr<i8>>, tensor<4096xi32>
  %3 = tl.load %2 : tensor<4096x!tl.ptr<i8>> -> tensor<4096xi8>
  %left = tl.reshape %3 : tensor<4096xi8> -> tensor<64x64xi8>
  %4 = tl.range 0 to 2048 : tensor<2048xi32>
  %5 = tl.splat %b : !tl.ptr<i8> -> tensor<2048x!tl.ptr<i8>>
  %6 = tl.addptr %5, %4 : tensor<2048x!tl.ptr<i8>>, tensor<2048xi32>
  %7 = tl.load %6 : tensor<2048x!tl.ptr<i8>> -> tensor<2048xi8>
  %right = tl.reshape %7 : tensor<2048xi8> -> tensor<64x32xi8>
  %8 = tl.range 0 to 256 : tensor<256xi32>
  %9 = tl.splat %s : !tl.ptr<i8> -> tensor<256x!tl.ptr<i8>>
  %10 = tl.addptr %9, %8 : tensor<256x!tl.ptr<i8>>, tensor<256xi32>
  %11 = tl.load %10 : tensor<256x!tl.ptr<i8>> -> tensor<256xi8>
  %scale = tl.reshape %11 : tensor<256xi8> -> tensor<64x4xi8>
  %wide_left = arith.constant dense<3.0> : tensor<64x128xbf16>
  %wide_right = arith.constant dense<2.0> : tensor<128x32xbf16>
  %x = tl.scaled %wide_left of "e2m1" %left times %scale : tensor<64x64xi8> times tensor<64x4xi8> -> tensor<64x128xbf16>
  %y = tl.scaled %wide_right of "e2m1" %right : tensor<64x32xi8> -> tensor<128x32xbf16>
  %acc = arith.constant dense<0.0> : tensor<64x32xf32>
  %c = tl.dot %x, %y, %acc : tensor<64x128xbf16>, tensor<128x32xbf16> -> tensor<64x32xf32>
  %12 = tl.reshape %c : tensor<64x32xf32> -> tensor<2048xf32>
  %13 = tl.splat %out : !tl.ptr<f32> -> tensor<2048x!tl.ptr<f32>>
  %14 = tl.addptr %13, %4 : tensor<2048x!tl.ptr<f32>>, tensor<2048xi32>
  tl.store %14, %12 : tensor<2048x!tl.ptr<f32>>, tensor<2048xf32>
  return
}

// A text that says what is not so: the widened operands are as good as ever.
func.func @mistaken(%a: !tl.ptr<f8E4M3FN> {tl.divisibility = 16 : i32}, %b: !tl.ptr<i8> {tl.divisibility = 16 : i32}, %s: !tl.ptr<i8> {tl.divisibility = 16 : i32},
    %out: !tl.ptr<f32>) {
  %0 = tl.range 0 to 8192 : tensor<8192xi32>
  %1 = tl.splat %a : !tl.ptr<f8E4M3FN> -> tensor<8192x!tl.ptr<f8E4M3FN>>
  %2 = tl.addptr %1, %0 : tensor<8192x!tl.ptr<f8E4M3FN>>, tensor<8192xi32>
  %3 = tl.load %2 : tensor<8192x!tl.ptr<f8E4M3FN>> -> tensor<8192xf8E4M3FN>
  %left = tl.reshape %3 : tensor<8192xf8E4M3FN> -> tensor<64x128xf8E4M3FN>
  %4 = tl.range 0 to 2048 : tensor<2048xi32>
  %5 = tl.splat %b : !tl.ptr<i8> -> tensor<2048x!tl.ptr<i8>>
  %6 = tl.addptr %5, %4 : tensor<2048x!tl.ptr<i8>>, tensor<2048xi32>
  %7 = tl.load %6 : tensor<2048x!tl.ptr<i8>> -> tensor<2048xi8>
  %right = tl.reshape %7 : tensor<2048xi8> -> tensor<64x32xi8>
  %8 = tl.range 0 to 256 : tensor<256xi32>
  %9 = tl.splat %s : !tl.ptr<i8> -> tensor<256x!tl.ptr<i8>>
  %10 = tl.addptr %9, %8 : tensor<256x!tl.ptr<i8>>, tensor<256xi32>
  %11 = tl.load %10 : tensor<256x!tl.ptr<i8>> -> tensor<256xi8>
  %scale = tl.reshape %11 : tensor<256xi8> -> tensor<64x4xi8>
  %wide_left = tl.fp_cast %left : tensor<64x128xf8E4M3FN> -> tensor<64x128xbf16>
  %wide_right = arith.constant dense<2.0> : tensor<128x32xbf16>
  %x = tl.scaled %wide_left of "e5m2" %left times %scale : tensor<64x128xf8E4M3FN> times tensor<64x4xi8> -> tensor<64x128xbf16>
  %y = tl.scaled %wide_right of "e2m1" %right : tensor<64x32xi8> -> tensor<128x32xbf16>
  %acc = arith.constant dense<0.0> : tensor<64x32xf32>
  %c = tl.dot %x, %y, %acc : tensor<64x128xbf16>, tensor<128x32xbf16> -> tensor<64x32xf32>
  %12 = tl.reshape %c : tensor<64x32xf32> -> tensor<2048xf32>
  %13 = tl.splat %out : !tl.ptr<f32> -> tensor<2048x!tl.ptr<f32>>
  %14 = tl.addptr %13, %4 : tensor<2048x!tl.ptr<f32>>, tensor<2048xi32>
  tl.store %14, %12 : tensor<2048x!tl.ptr<f32>>, tensor<2048xf32>
  return
}
