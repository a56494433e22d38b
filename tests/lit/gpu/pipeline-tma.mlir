// The plan of loops on GPUs that have TMA: thread 0 copies what is a rectangle of a tensor, all
// threads the rest, and the mbarrier of a slot tells that what TMA brings has come.
// RUN: blk-opt %s --split-input-file --tlg-pipeline='arch=sm_90a num-warps=8 print-plan' -o /dev/null | FileCheck %s
// RUN: blk-opt %s --split-input-file --tlg-pipeline='arch=sm_80 num-warps=8 print-plan' -o /dev/null | FileCheck %s --check-prefix=OLD

// CHECK-LABEL: plan of 'by_tma'
// CHECK-NEXT: loop at pipeline-tma.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 3 buffers
// CHECK-NEXT:   copies: begun 2 iterations ahead by thread 0
// CHECK-NEXT:   waits: all threads at the slot's mbarrier 'filled', then at a CTA barrier
// CHECK-NEXT:   load at pipeline-tma.mlir:{{.*}}: TMA, 16384 bytes a buffer
// CHECK-NEXT:   load at pipeline-tma.mlir:{{.*}}: TMA, 16384 bytes a buffer
// OLD-LABEL: plan of 'by_tma'
// OLD-NOT: TMA
func.func @by_tma(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %b: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %k: i32 {tl.divisibility = 16 : i32}) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 128 : i32
  %none = arith.constant dense<0.0> : tensor<128x128xf32>
  %zeros = arith.constant dense<0> : tensor<128xi64>
  %wide = arith.extsi %k : i32 to i64
  %sizes = tl.splat %wide : i64 -> tensor<128xi64>
  %range = tl.range 0 to 128 : tensor<128xi32>
  %index = arith.extsi %range : tensor<128xi32> to tensor<128xi64>
  %row_starts = arith.muli %index, %sizes : tensor<128xi64>
  %rows = tl.expand_dims %row_starts axis 1 : tensor<128xi64> -> tensor<128x1xi64>
  %rows_all = tl.broadcast %rows : tensor<128x1xi64> -> tensor<128x64xi64>
  %row_below = arith.cmpi slt, %index, %sizes : tensor<128xi64>
  %row_mask = tl.expand_dims %row_below axis 1 : tensor<128xi1> -> tensor<128x1xi1>
  %row_mask_all = tl.broadcast %row_mask : tensor<128x1xi1> -> tensor<128x64xi1>
  %half = tl.range 0 to 64 : tensor<64xi32>
  %half_index = arith.extsi %half : tensor<64xi32> to tensor<64xi64>
  %half_sizes = tl.splat %wide : i64 -> tensor<64xi64>
  %half_zeros = arith.constant dense<0> : tensor<64xi64>
  %order_at = tl.splat %y : !tl.ptr<f32> -> tensor<128x128x!tl.ptr<f32>>
  %a_base = tl.splat %a : !tl.ptr<f16> -> tensor<128x64x!tl.ptr<f16>>
  %b_base = tl.splat %b : !tl.ptr<f16> -> tensor<128x64x!tl.ptr<f16>>
  %a_rows = tl.addptr %a_base, %rows_all : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi64>
  %b_rows = tl.addptr %b_base, %rows_all : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi64>
  %sum = scf.for %i = %zero to %k step %step iter_args(%s = %none) -> (tensor<128x128xf32>) : i32 {
    %start = arith.extsi %i : i32 to i64
    %starts = tl.splat %start : i64 -> tensor<64xi64>
    %columns = arith.addi %starts, %half_index : tensor<64xi64>
    %columns_1 = tl.expand_dims %columns axis 0 : tensor<64xi64> -> tensor<1x64xi64>
    %columns_2 = tl.broadcast %columns_1 : tensor<1x64xi64> -> tensor<128x64xi64>
    %above = arith.cmpi sge, %columns, %half_zeros : tensor<64xi64>
    %below = arith.cmpi slt, %columns, %half_sizes : tensor<64xi64>
    %inside = arith.andi %above, %below : tensor<64xi1>
    %inside_1 = tl.expand_dims %inside axis 0 : tensor<64xi1> -> tensor<1x64xi1>
    %inside_2 = tl.broadcast %inside_1 : tensor<1x64xi1> -> tensor<128x64xi1>
    %mask = arith.andi %row_mask_all, %inside_2 : tensor<128x64xi1>
    %a_at = tl.addptr %a_rows, %columns_2 : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi64>
    %b_at = tl.addptr %b_rows, %columns_2 : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi64>
    %va = tl.load %a_at mask %mask : tensor<128x64xi1> : tensor<128x64x!tl.ptr<f16>> -> tensor<128x64xf16>
    %vb = tl.load %b_at mask %mask : tensor<128x64xi1> : tensor<128x64x!tl.ptr<f16>> -> tensor<128x64xf16>
    %vb_t = tl.trans %vb [1, 0] : tensor<128x64xf16> -> tensor<64x128xf16>
    %next = tl.dot %va, %vb_t, %s : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tl.store %order_at, %sum : tensor<128x128x!tl.ptr<f32>>, tensor<128x128xf32>
  return
}

// -----

// CHECK-LABEL: plan of 'by_both'
// CHECK-NEXT: loop at pipeline-tma.mlir:{{.*}}: 3 stages
// CHECK-NEXT:   ring: 4 buffers (one extra: threads wait less for copies, and no CTA is lost)
// CHECK-NEXT:   copies: begun 3 iterations ahead by thread 0 for TMA, all threads for cp.async
// CHECK-NEXT:   waits: all threads at the slot's mbarrier 'filled', then at a CTA barrier
// CHECK-NEXT:   load at pipeline-tma.mlir:{{.*}}: TMA, 16384 bytes a buffer
// CHECK-NEXT:   load at pipeline-tma.mlir:{{.*}}: cp.async, 32768 bytes a buffer
// OLD-LABEL: plan of 'by_both'
// OLD-NOT: TMA
func.func @by_both(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %b: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %y: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %k: i32 {tl.divisibility = 16 : i32}) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 128 : i32
  %none = arith.constant dense<0.0> : tensor<128x256xf32>
  %wide = arith.extsi %k : i32 to i64
  %sizes = tl.splat %wide : i64 -> tensor<128xi64>
  %range = tl.range 0 to 128 : tensor<128xi32>
  %index = arith.extsi %range : tensor<128xi32> to tensor<128xi64>
  %row_starts = arith.muli %index, %sizes : tensor<128xi64>
  %rows = tl.expand_dims %row_starts axis 1 : tensor<128xi64> -> tensor<128x1xi64>
  %rows_all = tl.broadcast %rows : tensor<128x1xi64> -> tensor<128x64xi64>
  %row_below = arith.cmpi slt, %index, %sizes : tensor<128xi64>
  %row_mask = tl.expand_dims %row_below axis 1 : tensor<128xi1> -> tensor<128x1xi1>
  %row_mask_all = tl.broadcast %row_mask : tensor<128x1xi1> -> tensor<128x64xi1>
  %half = tl.range 0 to 64 : tensor<64xi32>
  %half_index = arith.extsi %half : tensor<64xi32> to tensor<64xi64>
  %half_sizes = tl.splat %wide : i64 -> tensor<64xi64>
  %half_zeros = arith.constant dense<0> : tensor<64xi64>
  %out = tl.splat %y : !tl.ptr<f32> -> tensor<128x256x!tl.ptr<f32>>
  %a_base = tl.splat %a : !tl.ptr<f16> -> tensor<128x64x!tl.ptr<f16>>
  %a_rows = tl.addptr %a_base, %rows_all : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi64>
  %b_range = tl.range 0 to 256 : tensor<256xi32>
  %b_columns = tl.expand_dims %b_range axis 0 : tensor<256xi32> -> tensor<1x256xi32>
  %b_offsets = tl.broadcast %b_columns : tensor<1x256xi32> -> tensor<64x256xi32>
  %b_base = tl.splat %b : !tl.ptr<f16> -> tensor<64x256x!tl.ptr<f16>>
  %b_at = tl.addptr %b_base, %b_offsets : tensor<64x256x!tl.ptr<f16>>, tensor<64x256xi32>
  %sum = scf.for %i = %zero to %k step %step iter_args(%s = %none) -> (tensor<128x256xf32>) : i32 {
    %start = arith.extsi %i : i32 to i64
    %starts = tl.splat %start : i64 -> tensor<64xi64>
    %columns = arith.addi %starts, %half_index : tensor<64xi64>
    %columns_1 = tl.expand_dims %columns axis 0 : tensor<64xi64> -> tensor<1x64xi64>
    %columns_2 = tl.broadcast %columns_1 : tensor<1x64xi64> -> tensor<128x64xi64>
    %above = arith.cmpi sge, %columns, %half_zeros : tensor<64xi64>
    %below = arith.cmpi slt, %columns, %half_sizes : tensor<64xi64>
    %inside = arith.andi %above, %below : tensor<64xi1>
    %inside_1 = tl.expand_dims %inside axis 0 : tensor<64xi1> -> tensor<1x64xi1>
    %inside_2 = tl.broadcast %inside_1 : tensor<1x64xi1> -> tensor<128x64xi1>
    %mask = arith.andi %row_mask_all, %inside_2 : tensor<128x64xi1>
    %a_at = tl.addptr %a_rows, %columns_2 : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi64>
    %va = tl.load %a_at mask %mask : tensor<128x64xi1> : tensor<128x64x!tl.ptr<f16>> -> tensor<128x64xf16>
    %vb = tl.load %b_at : tensor<64x256x!tl.ptr<f16>> -> tensor<64x256xf16>
    %next = tl.dot %va, %vb, %s : tensor<128x64xf16>, tensor<64x256xf16> -> tensor<128x256xf32>
    scf.yield %next : tensor<128x256xf32>
  } {tl.disable_licm}
  tl.store %out, %sum : tensor<128x256x!tl.ptr<f32>>, tensor<128x256xf32>
  return
}
