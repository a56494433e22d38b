// Every op of the dialect survives printing and parsing, in the short and in the generic form.
// RUN: blk-opt %s | blk-opt | FileCheck %s
// RUN: blk-opt %s --mlir-print-op-generic | blk-opt | FileCheck %s

// CHECK-LABEL: func.func @programs
func.func @programs() {
  // CHECK: tl.program_id 0 : i32
  %0 = tl.program_id 0 : i32
  // CHECK: tl.num_programs 2 : i32
  %1 = tl.num_programs 2 : i32
  return
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%s: f32, %x: tensor<4x8xf32>) {
  // CHECK: tl.range 2 to 10 : tensor<8xi32>
  %0 = tl.range 2 to 10 : tensor<8xi32>
  // CHECK: tl.splat %{{.*}} : f32 -> tensor<4xf32>
  %1 = tl.splat %s : f32 -> tensor<4xf32>
  // CHECK: tl.expand_dims %{{.*}} axis 1 : tensor<4xf32> -> tensor<4x1xf32>
  %2 = tl.expand_dims %1 axis 1 : tensor<4xf32> -> tensor<4x1xf32>
  // CHECK: tl.broadcast %{{.*}} : tensor<4x1xf32> -> tensor<4x8xf32>
  %3 = tl.broadcast %2 : tensor<4x1xf32> -> tensor<4x8xf32>
  // CHECK: tl.reshape %{{.*}} {allow_reorder} : tensor<4x8xf32> -> tensor<32xf32>
  %4 = tl.reshape %x {allow_reorder} : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK: tl.trans %{{.*}} [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %5 = tl.trans %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  // CHECK: tl.join %{{.*}}, %{{.*}} : tensor<4xf32> -> tensor<4x2xf32>
  %6 = tl.join %1, %1 : tensor<4xf32> -> tensor<4x2xf32>
  // CHECK: tl.split %{{.*}} : tensor<4x2xf32> -> tensor<4xf32>
  %7:2 = tl.split %6 : tensor<4x2xf32> -> tensor<4xf32>
  // CHECK: tl.cat %{{.*}}, %{{.*}} dim 0 : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
  %8 = tl.cat %7#0, %7#1 dim 0 : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
  // CHECK: tl.gather %{{.*}}[%{{.*}}] axis 0 : tensor<8xf32>, tensor<8xi32> -> tensor<8xf32>
  %9 = tl.gather %8[%0] axis 0 : tensor<8xf32>, tensor<8xi32> -> tensor<8xf32>
  // CHECK: tl.unsplat %{{.*}} : tensor<1xf32> -> f32
  %10 = tl.splat %s : f32 -> tensor<1xf32>
  %11 = tl.unsplat %10 : tensor<1xf32> -> f32
  return
}

// CHECK-LABEL: func.func @casts
func.func @casts(%x: tensor<4xf32>, %i: tensor<4xi64>, %p: !tl.ptr<f32>) {
  // CHECK: tl.fp_cast %{{.*}} {rounding = "rtz"} : tensor<4xf32> -> tensor<4xf16>
  %0 = tl.fp_cast %x {rounding = "rtz"} : tensor<4xf32> -> tensor<4xf16>
  // CHECK: tl.fp_cast %{{.*}} : tensor<4xf32> -> tensor<4x!tl.f8E4M3B15>
  %1 = tl.fp_cast %x : tensor<4xf32> -> tensor<4x!tl.f8E4M3B15>
  // CHECK: tl.float_to_int %{{.*}} {is_unsigned = true} : tensor<4xf32> -> tensor<4xi8>
  %2 = tl.float_to_int %x {is_unsigned = true} : tensor<4xf32> -> tensor<4xi8>
  // CHECK: %[[PAYLOAD:.*]] = tl.to_payload %{{.*}} : tensor<4xf32> -> tensor<4xi32>
  %payload = tl.to_payload %x : tensor<4xf32> -> tensor<4xi32>
  // CHECK: tl.from_payload %[[PAYLOAD]] : tensor<4xi32> -> tensor<4xf32>
  %back = tl.from_payload %payload : tensor<4xi32> -> tensor<4xf32>
  // CHECK: tl.int_to_float %{{.*}} : tensor<4xi64> -> tensor<4xbf16>
  %3 = tl.int_to_float %i : tensor<4xi64> -> tensor<4xbf16>
  // CHECK: tl.bitcast %{{.*}} : tensor<4xi64> -> tensor<4xf64>
  %4 = tl.bitcast %i : tensor<4xi64> -> tensor<4xf64>
  // CHECK: tl.int_to_ptr %{{.*}} : tensor<4xi64> -> tensor<4x!tl.ptr<f32, 3>>
  %5 = tl.int_to_ptr %i : tensor<4xi64> -> tensor<4x!tl.ptr<f32, 3>>
  // CHECK: tl.ptr_to_int %{{.*}} : !tl.ptr<f32> -> i64
  %6 = tl.ptr_to_int %p : !tl.ptr<f32> -> i64
  return
}

// CHECK-LABEL: func.func @memory
func.func @memory(%p: tensor<4x!tl.ptr<f32>>, %i: tensor<4xi32>, %m: tensor<4xi1>, %x: tensor<4xf32>,
                  %s: !tl.ptr<!tl.ptr<i8>>, %l: !tl.ptr<i32>, %v: i32) {
  // CHECK: tl.addptr %{{.*}}, %{{.*}} {is_unsigned = true} : tensor<4x!tl.ptr<f32>>, tensor<4xi32>
  %0 = tl.addptr %p, %i {is_unsigned = true} : tensor<4x!tl.ptr<f32>>, tensor<4xi32>
  // CHECK: tl.load %{{[^ ]*}} : tensor<4x!tl.ptr<f32>> -> tensor<4xf32>
  %1 = tl.load %0 : tensor<4x!tl.ptr<f32>> -> tensor<4xf32>
  // CHECK: tl.load %{{.*}} mask %{{.*}} : tensor<4xi1> other %{{.*}} : tensor<4xf32> {cache_modifier = ".cg", is_volatile = true}
  %2 = tl.load %0 mask %m : tensor<4xi1> other %x : tensor<4xf32> {cache_modifier = ".cg", is_volatile = true} : tensor<4x!tl.ptr<f32>> -> tensor<4xf32>
  // CHECK: tl.load %{{.*}} : !tl.ptr<!tl.ptr<i8>> -> !tl.ptr<i8>
  %3 = tl.load %s : !tl.ptr<!tl.ptr<i8>> -> !tl.ptr<i8>
  // CHECK: tl.store %{{.*}}, %{{.*}} mask %{{.*}} : tensor<4xi1> : tensor<4x!tl.ptr<f32>>, tensor<4xf32>
  tl.store %0, %x mask %m : tensor<4xi1> : tensor<4x!tl.ptr<f32>>, tensor<4xf32>
  // CHECK: tl.atomic_rmw "fadd" %{{.*}}, %{{.*}} mask %{{.*}} : tensor<4xi1> {scope = "cta", sem = "relaxed"}
  %4 = tl.atomic_rmw "fadd" %0, %x mask %m : tensor<4xi1> {sem = "relaxed", scope = "cta"} : tensor<4x!tl.ptr<f32>>, tensor<4xf32> -> tensor<4xf32>
  // CHECK: tl.atomic_load %{{.*}} mask %{{.*}} : tensor<4xi1> {scope = "cta", sem = "relaxed"}
  %al = tl.atomic_load %0 mask %m : tensor<4xi1> {sem = "relaxed", scope = "cta"} : tensor<4x!tl.ptr<f32>> -> tensor<4xf32>
  // CHECK: tl.atomic_store %{{.*}}, %{{.*}} : !tl.ptr<i32>, i32
  tl.atomic_store %l, %v : !tl.ptr<i32>, i32
  // CHECK: tl.global_timer : i64
  %timer = tl.global_timer : i64
  // CHECK: tl.atomic_cas %{{.*}}, %{{.*}}, %{{.*}} : !tl.ptr<i32>, i32
  %5 = tl.atomic_cas %l, %v, %v : !tl.ptr<i32>, i32
  // CHECK: tl.barrier
  tl.barrier
  // CHECK: tl.gdc_wait
  tl.gdc_wait
  // CHECK: tl.gdc_launch_dependents
  tl.gdc_launch_dependents
  return
}

// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic(%x: tensor<4xf32>, %i: tensor<4xi32>, %a: tensor<16x32xf16>,
                      %b: tensor<32x8xf16>, %c: tensor<16x8xf32>) {
  // CHECK: tl.mulhiui %{{.*}}, %{{.*}} : tensor<4xi32>
  %0 = tl.mulhiui %i, %i : tensor<4xi32>
  // CHECK: tl.clamp %{{.*}}, %{{.*}}, %{{.*}} {propagate_nan = true} : tensor<4xf32>
  %1 = tl.clamp %x, %x, %x {propagate_nan = true} : tensor<4xf32>
  // CHECK: tl.inline_asm "add.s32 $0, $1, 1;" "=r,r"(%{{.*}}) : (tensor<4xi32>) -> tensor<4xi32>
  %asm = tl.inline_asm "add.s32 $0, $1, 1;" "=r,r"(%i) : (tensor<4xi32>) -> tensor<4xi32>
  // CHECK: tl.inline_asm_volatile "mov.u32 $0, 0;" "=r"() {pack = 4 : i32} : () -> i8
  %asm2 = tl.inline_asm_volatile "mov.u32 $0, 0;" "=r"() {pack = 4 : i32} : () -> i8
  // CHECK: tl.extern_elementwise "__nv_powf"(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = tl.extern_elementwise "__nv_powf"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: tl.extern_elementwise_volatile "users"() {digest = "0123", libraries = ["/users.bc"]} : () -> i32
  %users = tl.extern_elementwise_volatile "users"() {libraries = ["/users.bc"], digest = "0123"} : () -> i32
  // CHECK: tl.dot %{{.*}}, %{{.*}}, %{{.*}} {input_precision = "tf32"} : tensor<16x32xf16>, tensor<32x8xf16> -> tensor<16x8xf32>
  %3 = tl.dot %a, %b, %c {input_precision = "tf32"} : tensor<16x32xf16>, tensor<32x8xf16> -> tensor<16x8xf32>
  return
}

// CHECK-LABEL: func.func @scaled
func.func @scaled(%wide: tensor<16x32xbf16>, %fp8: tensor<16x32xf8E5M2>, %fp4: tensor<32x4xi8>, %s: tensor<16x1xi8>,
                  %t: tensor<8x1xi8>, %half: tensor<16x8xi8>, %c: tensor<16x8xf32>) {
  // CHECK: tl.scaled %{{.*}} of "e5m2" %{{.*}} times %{{.*}} : tensor<16x32xf8E5M2> times tensor<16x1xi8> -> tensor<16x32xbf16>
  %0 = tl.scaled %wide of "e5m2" %fp8 times %s : tensor<16x32xf8E5M2> times tensor<16x1xi8> -> tensor<16x32xbf16>
  // CHECK: tl.scaled %{{.*}} of "e2m1" %{{.*}} {packs_k = false} : tensor<32x4xi8> -> tensor<16x32xbf16>
  %1 = tl.scaled %wide of "e2m1" %fp4 {packs_k = false} : tensor<32x4xi8> -> tensor<16x32xbf16>
  // CHECK: tl.dot %{{.*}}, %{{.*}}, %{{.*}} scales %{{.*}}, %{{.*}} : tensor<16x32xf8E5M2>, tensor<16x8xi8> scales tensor<16x1xi8>, tensor<8x1xi8> -> tensor<16x8xf32>
  %2 = tl.dot %fp8, %half, %c scales %s, %t : tensor<16x32xf8E5M2>, tensor<16x8xi8> scales tensor<16x1xi8>, tensor<8x1xi8> -> tensor<16x8xf32>
  return
}

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<4x8xf32>, %i: tensor<4x8xi32>, %h: tensor<16xi32>, %m: tensor<16xi1>) {
  // CHECK: tl.reduce %{{.*}}, %{{.*}} axis 1 {
  // CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: i32, %{{.*}}: f32, %{{.*}}: i32):
  // CHECK: tl.yield %{{.*}}, %{{.*}} : f32, i32
  // CHECK: } : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  %0:2 = tl.reduce %x, %i axis 1 {
  ^bb0(%a: f32, %b: i32, %c: f32, %d: i32):
    tl.yield %a, %d : f32, i32
  } : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  // CHECK: tl.map %{{.*}}, %{{.*}} {
  // CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: i32, %{{.*}}: i32):
  // CHECK: } {pack = 2 : i32} : (tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  %map = tl.map %x, %i {
  ^bb0(%a: f32, %b: f32, %c: i32, %d: i32):
    tl.yield %d, %c : i32, i32
  } {pack = 2 : i32} : (tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  // CHECK: tl.scan %{{.*}} axis 0 {
  // CHECK: } {reverse = true} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = tl.scan %x axis 0 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tl.yield %s : f32
  } {reverse = true} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: tl.sort %{{.*}} {descending = true} : tensor<4x8xf32>
  %2 = tl.sort %x {descending = true} : tensor<4x8xf32>
  // CHECK: tl.histogram %{{.*}} mask %{{.*}} : tensor<16xi1> : tensor<16xi32> -> tensor<32xi32>
  %3 = tl.histogram %h mask %m : tensor<16xi1> : tensor<16xi32> -> tensor<32xi32>
  return
}

// CHECK-LABEL: func.func @debugging
func.func @debugging(%c: i1, %x: tensor<4x8xi32>, %b: tensor<4x8xi1>, %f: f32) {
  // CHECK: tl.assume %{{.*}} : i1
  tl.assume %c : i1
  // CHECK: tl.hint "multiple_of" [16, 1] %{{.*}} : tensor<4x8xi32>
  %0 = tl.hint "multiple_of" [16, 1] %x : tensor<4x8xi32>
  // CHECK: tl.assert %{{.*}} mask %{{.*}} : tensor<4x8xi1>, "x is small" : tensor<4x8xi1>
  tl.assert %b mask %b : tensor<4x8xi1>, "x is small" : tensor<4x8xi1>
  // CHECK: tl.assert %{{.*}}, "x" show %{{.*}}, %{{.*}} : tensor<4x8xi32>, tensor<4x8xi32> : tensor<4x8xi1>
  tl.assert %b, "x" show %x, %x : tensor<4x8xi32>, tensor<4x8xi32> : tensor<4x8xi1>
  // CHECK: tl.print "x: " true [true, false], %{{.*}}, %{{.*}} : tensor<4x8xi32>, f32
  tl.print "x: " true [true, false], %x, %f : tensor<4x8xi32>, f32
  // CHECK: tl.print "here" false []
  tl.print "here" false []
  return
}
