// Two dots that do not need one another: the second begins right behind the first, and what is
// computed from the first one's sums runs beside it. A third one needs both.
// RUN: blk-opt %s --tlg-pipeline=arch=sm_90a | FileCheck %s

// CHECK-LABEL: func.func @dots(
// CHECK: %[[AB:.*]] = tlg.wgmma %{{.*}}, %{{.*}}, %{{.*}}
// CHECK-NEXT: %[[CD:.*]] = tlg.wgmma %{{.*}}, %{{.*}}, %{{.*}}
// CHECK-NEXT: %[[X:.*]] = tlg.wgmma_wait 1 %[[AB]]
// CHECK: math.exp2 %[[X]]
// CHECK: %[[Y:.*]] = tlg.wgmma_wait 0 %[[CD]]
// CHECK-NEXT: arith.addf %{{.*}}, %[[Y]]
// CHECK: %[[ZD:.*]] = tlg.wgmma
// CHECK-NEXT: tlg.wgmma_wait 0 %[[ZD]]
func.func @dots(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  %i = tl.range 0 to 64 : tensor<64xi32>
  %c64 = arith.constant dense<64> : tensor<64x1xi32>
  %more = arith.constant dense<4096> : tensor<64x64xi32>
  %row = tl.expand_dims %i axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %column = tl.expand_dims %i axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %0 = arith.muli %row, %c64 : tensor<64x1xi32>
  %1 = tl.broadcast %0 : tensor<64x1xi32> -> tensor<64x64xi32>
  %2 = tl.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %offsets = arith.addi %1, %2 : tensor<64x64xi32>
  %base = tl.splat %a : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %pa = tl.addptr %base, %offsets : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %pb = tl.addptr %pa, %more : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %pc = tl.addptr %pb, %more : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %pd = tl.addptr %pc, %more : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %va = tl.load %pa : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
  %vb = tl.load %pb : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
  %vc = tl.load %pc : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
  %vd = tl.load %pd : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
  %po = tl.splat %out : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %at = tl.addptr %po, %offsets : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %zero_i = arith.constant 0 : i32
  %one_i = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  %sum = scf.for %_ = %zero_i to %eight step %one_i iter_args(%total = %zero) -> (tensor<64x64xf32>)  : i32 {
    %ab = tl.dot %va, %vb, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %x = math.exp2 %ab : tensor<64x64xf32>
    %cd = tl.dot %vc, %vd, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %y = arith.addf %x, %cd : tensor<64x64xf32>
    %z = tl.fp_cast %y : tensor<64x64xf32> -> tensor<64x64xf16>
    %next = tl.dot %z, %vd, %total : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tl.store %at, %sum : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}

// The sums of an earlier dot are asked for later than those of another one. The wait for that one
// is for both: what the earlier dot reads from registers stays there no longer.
// CHECK-LABEL: func.func @earlier_dot(
// CHECK: %[[Z:.*]] = tl.fp_cast
// CHECK: %[[NEXT:.*]] = tlg.wgmma %[[Z]], %{{.*}}, %{{.*}}
// CHECK: %[[BD:.*]] = tlg.wgmma_wait 0 %{{.*}} :
// CHECK-NEXT: tlg.wgmma_wait 0 %[[NEXT]], %[[Z]] :
// CHECK-NEXT: math.exp2 %[[BD]]
func.func @earlier_dot(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  %i = tl.range 0 to 64 : tensor<64xi32>
  %c64 = arith.constant dense<64> : tensor<64x1xi32>
  %more = arith.constant dense<4096> : tensor<64x64xi32>
  %row = tl.expand_dims %i axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %column = tl.expand_dims %i axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %0 = arith.muli %row, %c64 : tensor<64x1xi32>
  %1 = tl.broadcast %0 : tensor<64x1xi32> -> tensor<64x64xi32>
  %2 = tl.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %offsets = arith.addi %1, %2 : tensor<64x64xi32>
  %base = tl.splat %a : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %pa = tl.addptr %base, %offsets : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %pb = tl.addptr %pa, %more : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %pc = tl.addptr %pb, %more : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %pd = tl.addptr %pc, %more : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %va = tl.load %pa : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
  %vb = tl.load %pb : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
  %vc = tl.load %pc : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
  %vd = tl.load %pd : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
  %po = tl.splat %out : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %at = tl.addptr %po, %offsets : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %zero_i = arith.constant 0 : i32
  %one_i = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  %sum = scf.for %_ = %zero_i to %eight step %one_i iter_args(%total = %zero) -> (tensor<64x64xf32>)  : i32 {
    %ab = tl.dot %va, %vb, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %x = math.exp2 %ab : tensor<64x64xf32>
    %z = tl.fp_cast %x : tensor<64x64xf32> -> tensor<64x64xf16>
    %next = tl.dot %z, %vd, %total : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %bd = tl.dot %vb, %vd, %x : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %y = math.exp2 %bd : tensor<64x64xf32>
    tl.store %at, %y : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tl.store %at, %sum : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}

// A dot begins before the factors of its sums are brought into the layout of the sums, which takes
// barriers.
// CHECK-LABEL: func.func @scaled(
// CHECK: scf.for
// CHECK-NOT: tlg.convert_layout
// CHECK: %[[SUMS:.*]] = tlg.wgmma
// CHECK: tlg.convert_layout
// CHECK: tlg.wgmma_wait 0 %[[SUMS]]
// CHECK: scf.yield
func.func @scaled(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %s: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  %stride = arith.constant dense<64> : tensor<64x1xi32>
  %step = arith.constant dense<4096> : tensor<64x64xi32>
  %factorStep = arith.constant dense<64> : tensor<64xi32>
  %i = tl.range 0 to 64 : tensor<64xi32>
  %row = tl.expand_dims %i axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %column = tl.expand_dims %i axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %0 = arith.muli %row, %stride : tensor<64x1xi32>
  %1 = tl.broadcast %0 : tensor<64x1xi32> -> tensor<64x64xi32>
  %2 = tl.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %offsets = arith.addi %1, %2 : tensor<64x64xi32>
  %base = tl.splat %a : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %first = tl.addptr %base, %offsets : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %factors = tl.splat %s : !tl.ptr<f32> -> tensor<64x!tl.ptr<f32>>
  %firstFactor = tl.addptr %factors, %i : tensor<64x!tl.ptr<f32>>, tensor<64xi32>
  %sum:3 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %first, %by = %firstFactor) -> (tensor<64x64xf32>, tensor<64x64x!tl.ptr<f16>>, tensor<64x!tl.ptr<f32>>) : i32 {
    %x = tl.load %at : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
    %factor = tl.load %by : tensor<64x!tl.ptr<f32>> -> tensor<64xf32>
    %dot = tl.dot %x, %x, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %3 = tl.expand_dims %factor axis 0 : tensor<64xf32> -> tensor<1x64xf32>
    %4 = tl.broadcast %3 : tensor<1x64xf32> -> tensor<64x64xf32>
    %5 = arith.mulf %dot, %4 : tensor<64x64xf32>
    %6 = arith.addf %acc, %5 : tensor<64x64xf32>
    %next = tl.addptr %at, %step : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
    %nextFactor = tl.addptr %by, %factorStep : tensor<64x!tl.ptr<f32>>, tensor<64xi32>
    scf.yield %6, %next, %nextFactor : tensor<64x64xf32>, tensor<64x64x!tl.ptr<f16>>, tensor<64x!tl.ptr<f32>>
  }
  %7 = tl.splat %out : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %8 = tl.addptr %7, %offsets : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  tl.store %8, %sum#0 : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}

// Where the sums of both dots and the operand of a third would need more registers than a thread
// has, that one is waited for before the second dot begins.
// CHECK-LABEL: func.func @short_of_registers(
// CHECK: scf.for
// CHECK: %[[S:.*]] = tlg.wgmma
// CHECK-NOT: tlg.wgmma
// CHECK: tlg.wgmma_wait 0 %[[S]]
// CHECK: math.exp2
// CHECK: %[[DV:.*]] = tlg.wgmma
// CHECK-NEXT: tlg.wgmma_wait 0 %[[DV]]
// CHECK: %[[DP:.*]] = tlg.wgmma
// CHECK-NEXT: tlg.wgmma_wait 0 %[[DP]]
// CHECK: %[[DK:.*]] = tlg.wgmma
// CHECK-NEXT: tlg.wgmma_wait 0 %[[DK]]
// CHECK-NEXT: scf.yield
func.func @short_of_registers(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32> {tl.divisibility = 16 : i32}) {
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  %zeros = arith.constant dense<0.000000e+00> : tensor<64x128xf32>
  %i = tl.range 0 to 64 : tensor<64xi32>
  %j = tl.range 0 to 128 : tensor<128xi32>
  %c64 = arith.constant dense<64> : tensor<64x1xi32>
  %c128 = arith.constant dense<64> : tensor<128x1xi32>
  %more = arith.constant dense<4096> : tensor<64x64xi32>
  %most = arith.constant dense<8192> : tensor<128x64xi32>
  %row = tl.expand_dims %i axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %rows = tl.expand_dims %j axis 1 : tensor<128xi32> -> tensor<128x1xi32>
  %column = tl.expand_dims %i axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %0 = arith.muli %row, %c64 : tensor<64x1xi32>
  %1 = tl.broadcast %0 : tensor<64x1xi32> -> tensor<64x64xi32>
  %2 = tl.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %offsets = arith.addi %1, %2 : tensor<64x64xi32>
  %3 = arith.muli %rows, %c128 : tensor<128x1xi32>
  %4 = tl.broadcast %3 : tensor<128x1xi32> -> tensor<128x64xi32>
  %5 = tl.broadcast %column : tensor<1x64xi32> -> tensor<128x64xi32>
  %tall = arith.addi %4, %5 : tensor<128x64xi32>
  %base = tl.splat %a : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %pk = tl.addptr %base, %offsets : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %pv = tl.addptr %pk, %more : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %tallBase = tl.splat %a : !tl.ptr<f16> -> tensor<128x64x!tl.ptr<f16>>
  %pq = tl.addptr %tallBase, %tall : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi32>
  %pdo = tl.addptr %pq, %most : tensor<128x64x!tl.ptr<f16>>, tensor<128x64xi32>
  %k = tl.load %pk : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
  %v = tl.load %pv : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
  %q = tl.load %pq : tensor<128x64x!tl.ptr<f16>> -> tensor<128x64xf16>
  %do = tl.load %pdo : tensor<128x64x!tl.ptr<f16>> -> tensor<128x64xf16>
  %qT = tl.trans %q [1, 0] : tensor<128x64xf16> -> tensor<64x128xf16>
  %doT = tl.trans %do [1, 0] : tensor<128x64xf16> -> tensor<64x128xf16>
  %zero_i = arith.constant 0 : i32
  %one_i = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  %sum:2 = scf.for %_ = %zero_i to %eight step %one_i iter_args(%dk = %zero, %dv = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>)  : i32 {
    %s = tl.dot %k, %qT, %zeros : tensor<64x64xf16>, tensor<64x128xf16> -> tensor<64x128xf32>
    %p = math.exp2 %s : tensor<64x128xf32>
    %p16 = tl.fp_cast %p : tensor<64x128xf32> -> tensor<64x128xf16>
    %dvNext = tl.dot %p16, %do, %dv : tensor<64x128xf16>, tensor<128x64xf16> -> tensor<64x64xf32>
    %dp = tl.dot %v, %doT, %zeros : tensor<64x64xf16>, tensor<64x128xf16> -> tensor<64x128xf32>
    %ds = arith.mulf %p, %dp : tensor<64x128xf32>
    %ds16 = tl.fp_cast %ds : tensor<64x128xf32> -> tensor<64x128xf16>
    %dkNext = tl.dot %ds16, %q, %dk : tensor<64x128xf16>, tensor<128x64xf16> -> tensor<64x64xf32>
    scf.yield %dkNext, %dvNext : tensor<64x64xf32>, tensor<64x64xf32>
  }
  %po = tl.splat %out : !tl.ptr<f32> -> tensor<64x64x!tl.ptr<f32>>
  %at = tl.addptr %po, %offsets : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xi32>
  %both = arith.addf %sum#0, %sum#1 : tensor<64x64xf32>
  tl.store %at, %both : tensor<64x64x!tl.ptr<f32>>, tensor<64x64xf32>
  return
}

// Two rows of factors, for which a thread has no registers beside two blocks of sums, are brought
// into the layout of the sums one after the other, right before they are needed.
// CHECK-LABEL: func.func @scaled_wide(
// CHECK: scf.for
// CHECK-NOT: tlg.convert_layout
// CHECK: %[[SUMS:.*]] = tlg.wgmma
// CHECK-NOT: tlg.convert_layout
// CHECK: tlg.wgmma_wait 0 %[[SUMS]]
// CHECK: tlg.convert_layout
// CHECK: arith.mulf
// CHECK: tlg.convert_layout
// CHECK: arith.subf
// CHECK: scf.yield
func.func @scaled_wide(%a: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %b: !tl.ptr<f16> {tl.divisibility = 16 : i32}, %s: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %t: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %out: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x256xf32>
  %stride = arith.constant dense<64> : tensor<64x1xi32>
  %wideStride = arith.constant dense<256> : tensor<64x1xi32>
  %step = arith.constant dense<4096> : tensor<64x64xi32>
  %factorStep = arith.constant dense<256> : tensor<256xi32>
  %i = tl.range 0 to 64 : tensor<64xi32>
  %j = tl.range 0 to 256 : tensor<256xi32>
  %row = tl.expand_dims %i axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %column = tl.expand_dims %i axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %wideColumn = tl.expand_dims %j axis 0 : tensor<256xi32> -> tensor<1x256xi32>
  %0 = arith.muli %row, %stride : tensor<64x1xi32>
  %1 = tl.broadcast %0 : tensor<64x1xi32> -> tensor<64x64xi32>
  %2 = tl.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %offsets = arith.addi %1, %2 : tensor<64x64xi32>
  %3 = arith.muli %row, %wideStride : tensor<64x1xi32>
  %4 = tl.broadcast %3 : tensor<64x1xi32> -> tensor<64x256xi32>
  %5 = tl.broadcast %wideColumn : tensor<1x256xi32> -> tensor<64x256xi32>
  %wideOffsets = arith.addi %4, %5 : tensor<64x256xi32>
  %base = tl.splat %a : !tl.ptr<f16> -> tensor<64x64x!tl.ptr<f16>>
  %first = tl.addptr %base, %offsets : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
  %wideBase = tl.splat %b : !tl.ptr<f16> -> tensor<64x256x!tl.ptr<f16>>
  %wide = tl.addptr %wideBase, %wideOffsets : tensor<64x256x!tl.ptr<f16>>, tensor<64x256xi32>
  %y = tl.load %wide : tensor<64x256x!tl.ptr<f16>> -> tensor<64x256xf16>
  %factors = tl.splat %s : !tl.ptr<f32> -> tensor<256x!tl.ptr<f32>>
  %firstFactor = tl.addptr %factors, %j : tensor<256x!tl.ptr<f32>>, tensor<256xi32>
  %shifts = tl.splat %t : !tl.ptr<f32> -> tensor<256x!tl.ptr<f32>>
  %firstShift = tl.addptr %shifts, %j : tensor<256x!tl.ptr<f32>>, tensor<256xi32>
  %sum:4 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %first, %by = %firstFactor, %from = %firstShift) -> (tensor<64x256xf32>, tensor<64x64x!tl.ptr<f16>>, tensor<256x!tl.ptr<f32>>, tensor<256x!tl.ptr<f32>>) : i32 {
    %x = tl.load %at : tensor<64x64x!tl.ptr<f16>> -> tensor<64x64xf16>
    %factor = tl.load %by : tensor<256x!tl.ptr<f32>> -> tensor<256xf32>
    %shift = tl.load %from : tensor<256x!tl.ptr<f32>> -> tensor<256xf32>
    %dot = tl.dot %x, %y, %zero : tensor<64x64xf16>, tensor<64x256xf16> -> tensor<64x256xf32>
    %6 = tl.expand_dims %factor axis 0 : tensor<256xf32> -> tensor<1x256xf32>
    %7 = tl.broadcast %6 : tensor<1x256xf32> -> tensor<64x256xf32>
    %8 = arith.mulf %dot, %7 : tensor<64x256xf32>
    %12 = tl.expand_dims %shift axis 0 : tensor<256xf32> -> tensor<1x256xf32>
    %13 = tl.broadcast %12 : tensor<1x256xf32> -> tensor<64x256xf32>
    %14 = arith.subf %8, %13 : tensor<64x256xf32>
    %9 = arith.addf %acc, %14 : tensor<64x256xf32>
    %next = tl.addptr %at, %step : tensor<64x64x!tl.ptr<f16>>, tensor<64x64xi32>
    %nextFactor = tl.addptr %by, %factorStep : tensor<256x!tl.ptr<f32>>, tensor<256xi32>
    %nextShift = tl.addptr %from, %factorStep : tensor<256x!tl.ptr<f32>>, tensor<256xi32>
    scf.yield %9, %next, %nextFactor, %nextShift : tensor<64x256xf32>, tensor<64x64x!tl.ptr<f16>>, tensor<256x!tl.ptr<f32>>, tensor<256x!tl.ptr<f32>>
  }
  %10 = tl.splat %out : !tl.ptr<f32> -> tensor<64x256x!tl.ptr<f32>>
  %11 = tl.addptr %10, %wideOffsets : tensor<64x256x!tl.ptr<f32>>, tensor<64x256xi32>
  tl.store %11, %sum#0 : tensor<64x256x!tl.ptr<f32>>, tensor<64x256xf32>
  return
}
