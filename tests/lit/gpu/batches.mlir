// Blocks of three dimensions and more: which of them threads share.
// RUN: blk-opt %s --tlg-assign-layouts='arch=sm_90a num-warps=4' | FileCheck %s

// CHECK-DAG: #[[GATHERED:.*]] = #tlg.layout<registers = [1, 2, 4, 64, 128, 256, 512], lanes = [8, 16, 32, 1024, 2048], warps = [4096, 8192]>
// CHECK-DAG: #[[PRODUCTS:.*]] = #tlg.layout<registers = [128, 256, 512, 1024, 2048, 4096], lanes = [1, 2, 4, 8, 16], warps = [32, 64]>

// Rows of 64 that begin at loaded numbers, 16 after each: a thread has rows that follow one number,
// not 16 numbers.
// CHECK-LABEL: func.func @rows_after_numbers(
// CHECK: tl.load {{.*}} -> tensor<16x16x64xf16, #[[GATHERED]]>
func.func @rows_after_numbers(%places: !tl.ptr<i64> {tl.divisibility = 16 : i32}, %x: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f16> {tl.divisibility = 16 : i32}) {
  %width = arith.constant dense<64> : tensor<16x16x1xi64>
  %batch = arith.constant dense<1024> : tensor<16x1x1xi32>
  %row = arith.constant dense<64> : tensor<1x16x1xi32>
  %range = tl.range 0 to 16 : tensor<16xi32>
  %columns = tl.range 0 to 64 : tensor<64xi32>
  %0 = tl.splat %places : !tl.ptr<i64> -> tensor<16x!tl.ptr<i64>>
  %1 = tl.addptr %0, %range : tensor<16x!tl.ptr<i64>>, tensor<16xi32>
  %number = tl.load %1 : tensor<16x!tl.ptr<i64>> -> tensor<16xi64>
  %2 = tl.expand_dims %number axis 1 : tensor<16xi64> -> tensor<16x1xi64>
  %3 = arith.extsi %range : tensor<16xi32> to tensor<16xi64>
  %4 = tl.expand_dims %3 axis 0 : tensor<16xi64> -> tensor<1x16xi64>
  %5 = tl.broadcast %2 : tensor<16x1xi64> -> tensor<16x16xi64>
  %6 = tl.broadcast %4 : tensor<1x16xi64> -> tensor<16x16xi64>
  %7 = arith.addi %5, %6 : tensor<16x16xi64>
  %8 = tl.expand_dims %7 axis 2 : tensor<16x16xi64> -> tensor<16x16x1xi64>
  %9 = arith.muli %8, %width : tensor<16x16x1xi64>
  %10 = tl.splat %x : !tl.ptr<f16> -> tensor<16x16x1x!tl.ptr<f16>>
  %11 = tl.addptr %10, %9 : tensor<16x16x1x!tl.ptr<f16>>, tensor<16x16x1xi64>
  %12 = tl.broadcast %11 : tensor<16x16x1x!tl.ptr<f16>> -> tensor<16x16x64x!tl.ptr<f16>>
  %13 = tl.expand_dims %columns axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %14 = tl.expand_dims %13 axis 1 : tensor<1x64xi32> -> tensor<1x1x64xi32>
  %15 = tl.broadcast %14 : tensor<1x1x64xi32> -> tensor<16x16x64xi32>
  %16 = tl.addptr %12, %15 : tensor<16x16x64x!tl.ptr<f16>>, tensor<16x16x64xi32>
  %value = tl.load %16 : tensor<16x16x64x!tl.ptr<f16>> -> tensor<16x16x64xf16>
  %17 = tl.expand_dims %range axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %18 = tl.expand_dims %17 axis 2 : tensor<16x1xi32> -> tensor<16x1x1xi32>
  %19 = arith.muli %18, %batch : tensor<16x1x1xi32>
  %20 = tl.expand_dims %range axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %21 = tl.expand_dims %20 axis 2 : tensor<1x16xi32> -> tensor<1x16x1xi32>
  %22 = arith.muli %21, %row : tensor<1x16x1xi32>
  %23 = tl.broadcast %19 : tensor<16x1x1xi32> -> tensor<16x16x64xi32>
  %24 = tl.broadcast %22 : tensor<1x16x1xi32> -> tensor<16x16x64xi32>
  %25 = arith.addi %23, %24 : tensor<16x16x64xi32>
  %26 = arith.addi %25, %15 : tensor<16x16x64xi32>
  %27 = tl.splat %y : !tl.ptr<f16> -> tensor<16x16x64x!tl.ptr<f16>>
  %28 = tl.addptr %27, %26 : tensor<16x16x64x!tl.ptr<f16>>, tensor<16x16x64xi32>
  tl.store %28, %value : tensor<16x16x64x!tl.ptr<f16>>, tensor<16x16x64xf16>
  return
}

// Sums over a dimension that threads share in the small block: of 32 sums each would be exchanged,
// so the small block is moved.
// CHECK-LABEL: func.func @sums_of_products(
// CHECK: %[[SMALL:.*]] = tl.load
// CHECK: tlg.convert_layout %[[SMALL]]
// CHECK: tl.reduce %{{.*}} axis 0 {
// CHECK: } : (tensor<4x16x128xf32, #[[PRODUCTS]]>) -> tensor<16x128xf32,
func.func @sums_of_products(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %four = arith.constant dense<16> : tensor<4x1xi32>
  %width = arith.constant dense<128> : tensor<16x1xi32>
  %rows = tl.range 0 to 4 : tensor<4xi32>
  %range = tl.range 0 to 16 : tensor<16xi32>
  %columns = tl.range 0 to 128 : tensor<128xi32>
  %0 = tl.expand_dims %rows axis 1 : tensor<4xi32> -> tensor<4x1xi32>
  %1 = arith.muli %0, %four : tensor<4x1xi32>
  %2 = tl.expand_dims %range axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %3 = tl.broadcast %1 : tensor<4x1xi32> -> tensor<4x16xi32>
  %4 = tl.broadcast %2 : tensor<1x16xi32> -> tensor<4x16xi32>
  %5 = arith.addi %3, %4 : tensor<4x16xi32>
  %6 = tl.splat %x : !tl.ptr<f32> -> tensor<4x16x!tl.ptr<f32>>
  %7 = tl.addptr %6, %5 : tensor<4x16x!tl.ptr<f32>>, tensor<4x16xi32>
  %small = tl.load %7 : tensor<4x16x!tl.ptr<f32>> -> tensor<4x16xf32>
  %8 = tl.expand_dims %small axis 2 : tensor<4x16xf32> -> tensor<4x16x1xf32>
  %9 = tl.broadcast %8 : tensor<4x16x1xf32> -> tensor<4x16x128xf32>
  %10 = math.exp %9 : tensor<4x16x128xf32>
  %sum = tl.reduce %10 axis 0 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tl.yield %s : f32
  } : (tensor<4x16x128xf32>) -> tensor<16x128xf32>
  %11 = tl.expand_dims %range axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %12 = arith.muli %11, %width : tensor<16x1xi32>
  %13 = tl.expand_dims %columns axis 0 : tensor<128xi32> -> tensor<1x128xi32>
  %14 = tl.broadcast %12 : tensor<16x1xi32> -> tensor<16x128xi32>
  %15 = tl.broadcast %13 : tensor<1x128xi32> -> tensor<16x128xi32>
  %16 = arith.addi %14, %15 : tensor<16x128xi32>
  %17 = tl.splat %y : !tl.ptr<f32> -> tensor<16x128x!tl.ptr<f32>>
  %18 = tl.addptr %17, %16 : tensor<16x128x!tl.ptr<f32>>, tensor<16x128xi32>
  tl.store %18, %sum : tensor<16x128x!tl.ptr<f32>>, tensor<16x128xf32>
  return
}

// What a loop adds to its variable is a sum over rows of a batch's product: the variable, which is
// loaded at first, has the layout of the sums.
// CHECK-LABEL: func.func @sums_of_batches(
// CHECK: tl.load {{.*}} -> tensor<4x16xf32, #[[SUMS:.*]]>
// CHECK: scf.for {{.*}} -> (tensor<4x16xf32, #[[SUMS]]>,
// CHECK-NOT: tlg.convert_layout {{.*}} : tensor<4x16xf32,
// CHECK: scf.yield
func.func @sums_of_batches(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %first: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<4x16x16xf32>
  %batch = arith.constant dense<256> : tensor<4x1x1xi32>
  %width = arith.constant dense<16> : tensor<1x16x1xi32>
  %sixteen = arith.constant dense<16> : tensor<4x1xi32>
  %step = arith.constant dense<1024> : tensor<4x16x16xi32>
  %four = tl.range 0 to 4 : tensor<4xi32>
  %range = tl.range 0 to 16 : tensor<16xi32>
  %0 = tl.expand_dims %four axis 1 : tensor<4xi32> -> tensor<4x1xi32>
  %1 = tl.expand_dims %0 axis 2 : tensor<4x1xi32> -> tensor<4x1x1xi32>
  %2 = arith.muli %1, %batch : tensor<4x1x1xi32>
  %3 = tl.expand_dims %range axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %4 = tl.expand_dims %3 axis 2 : tensor<1x16xi32> -> tensor<1x16x1xi32>
  %5 = arith.muli %4, %width : tensor<1x16x1xi32>
  %6 = tl.expand_dims %3 axis 1 : tensor<1x16xi32> -> tensor<1x1x16xi32>
  %7 = tl.broadcast %2 : tensor<4x1x1xi32> -> tensor<4x16x16xi32>
  %8 = tl.broadcast %5 : tensor<1x16x1xi32> -> tensor<4x16x16xi32>
  %9 = tl.broadcast %6 : tensor<1x1x16xi32> -> tensor<4x16x16xi32>
  %10 = arith.addi %7, %8 : tensor<4x16x16xi32>
  %11 = arith.addi %10, %9 : tensor<4x16x16xi32>
  %12 = tl.splat %a : !tl.ptr<f16> -> tensor<4x16x16x!tl.ptr<f16>>
  %13 = tl.addptr %12, %11 : tensor<4x16x16x!tl.ptr<f16>>, tensor<4x16x16xi32>
  %14 = arith.muli %0, %sixteen : tensor<4x1xi32>
  %15 = tl.broadcast %14 : tensor<4x1xi32> -> tensor<4x16xi32>
  %16 = tl.broadcast %3 : tensor<1x16xi32> -> tensor<4x16xi32>
  %17 = arith.addi %15, %16 : tensor<4x16xi32>
  %18 = tl.splat %first : !tl.ptr<f32> -> tensor<4x16x!tl.ptr<f32>>
  %19 = tl.addptr %18, %17 : tensor<4x16x!tl.ptr<f32>>, tensor<4x16xi32>
  %loaded = tl.load %19 : tensor<4x16x!tl.ptr<f32>> -> tensor<4x16xf32>
  %sum:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %loaded, %pointer = %13) -> (tensor<4x16xf32>, tensor<4x16x16x!tl.ptr<f16>>) : i32 {
    %value = tl.load %pointer : tensor<4x16x16x!tl.ptr<f16>> -> tensor<4x16x16xf16>
    %dot = tl.dot %value, %value, %zero : tensor<4x16x16xf16>, tensor<4x16x16xf16> -> tensor<4x16x16xf32>
    %rows = tl.reduce %dot axis 1 {
    ^bb0(%p: f32, %q: f32):
      %s = arith.addf %p, %q : f32
      tl.yield %s : f32
    } : (tensor<4x16x16xf32>) -> tensor<4x16xf32>
    %next = arith.addf %acc, %rows : tensor<4x16xf32>
    %pointerNext = tl.addptr %pointer, %step : tensor<4x16x16x!tl.ptr<f16>>, tensor<4x16x16xi32>
    scf.yield %next, %pointerNext : tensor<4x16xf32>, tensor<4x16x16x!tl.ptr<f16>>
  }
  %20 = tl.splat %y : !tl.ptr<f32> -> tensor<4x16x!tl.ptr<f32>>
  %21 = tl.addptr %20, %17 : tensor<4x16x!tl.ptr<f32>>, tensor<4x16xi32>
  tl.store %21, %sum#0 : tensor<4x16x!tl.ptr<f32>>, tensor<4x16xf32>
  return
}

// The same where warps share that dimension, as they do the batches of a product.
// CHECK-LABEL: func.func @sums_over_warps(
// CHECK: %[[PRODUCT:.*]] = tlg.mma
// CHECK: %[[ROWS:.*]] = tl.reshape %[[PRODUCT]]
// CHECK: %[[MOVED:.*]] = tlg.convert_layout %[[ROWS]]
// CHECK: tl.expand_dims %[[MOVED]] axis 0
// CHECK: tl.reduce %{{.*}} axis 1 {
func.func @sums_over_warps(%in: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %zero = arith.constant dense<0.000000e+00> : tensor<8x16x16xf32>
  %i = tl.range 0 to 8 : tensor<8xi32>
  %j = tl.range 0 to 256 : tensor<256xi32>
  %at = tl.range 0 to 2048 : tensor<2048xi32>
  %from = tl.splat %in : !tl.ptr<f16> -> tensor<2048x!tl.ptr<f16>>
  %pointers = tl.addptr %from, %at : tensor<2048x!tl.ptr<f16>>, tensor<2048xi32>
  %flat = tl.load %pointers : tensor<2048x!tl.ptr<f16>> -> tensor<2048xf16>
  %x = tl.reshape %flat : tensor<2048xf16> -> tensor<8x16x16xf16>
  %product = tl.dot %x, %x, %zero : tensor<8x16x16xf16>, tensor<8x16x16xf16> -> tensor<8x16x16xf32>
  %rows = tl.reshape %product : tensor<8x16x16xf32> -> tensor<8x256xf32>
  %one = tl.expand_dims %rows axis 0 : tensor<8x256xf32> -> tensor<1x8x256xf32>
  %many = tl.broadcast %one : tensor<1x8x256xf32> -> tensor<8x8x256xf32>
  %0 = tl.expand_dims %i axis 1 : tensor<8xi32> -> tensor<8x1xi32>
  %1 = tl.expand_dims %i axis 0 : tensor<8xi32> -> tensor<1x8xi32>
  %2 = tl.broadcast %0 : tensor<8x1xi32> -> tensor<8x8xi32>
  %3 = tl.broadcast %1 : tensor<1x8xi32> -> tensor<8x8xi32>
  %4 = arith.andi %2, %3 : tensor<8x8xi32>
  %signs = tl.int_to_float %4 : tensor<8x8xi32> -> tensor<8x8xf32>
  %5 = tl.expand_dims %signs axis 2 : tensor<8x8xf32> -> tensor<8x8x1xf32>
  %6 = tl.broadcast %5 : tensor<8x8x1xf32> -> tensor<8x8x256xf32>
  %7 = arith.mulf %6, %many : tensor<8x8x256xf32>
  %sums = tl.reduce %7 axis 1 {
  ^bb0(%l: f32, %r: f32):
    %8 = arith.addf %l, %r : f32
    tl.yield %8 : f32
  } : (tensor<8x8x256xf32>) -> tensor<8x256xf32>
  %stride = arith.constant dense<256> : tensor<8x1xi32>
  %9 = arith.muli %0, %stride : tensor<8x1xi32>
  %10 = tl.broadcast %9 : tensor<8x1xi32> -> tensor<8x256xi32>
  %11 = tl.expand_dims %j axis 0 : tensor<256xi32> -> tensor<1x256xi32>
  %12 = tl.broadcast %11 : tensor<1x256xi32> -> tensor<8x256xi32>
  %13 = arith.addi %10, %12 : tensor<8x256xi32>
  %14 = tl.splat %out : !tl.ptr<f32> -> tensor<8x256x!tl.ptr<f32>>
  %15 = tl.addptr %14, %13 : tensor<8x256x!tl.ptr<f32>>, tensor<8x256xi32>
  tl.store %15, %sums : tensor<8x256x!tl.ptr<f32>>, tensor<8x256xf32>
  return
}
