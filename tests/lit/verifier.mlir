// What each verifier says.
// RUN: blk-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @+1 {{'tl.range' op is empty: end 3 is not greater than start 3}}
  %0 = tl.range 3 to 3 : tensor<1xi32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tl.range' op has elements of 'i64', expected 'i32'}}
  %0 = tl.range 0 to 4 : tensor<4xi64>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tl.range' op has a result of shape [8], expected [4]}}
  %0 = tl.range 0 to 4 : tensor<8xi32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tl.splat' op needs a scalar, found 'tensor<4xf32>'}}
  %0 = tl.splat %x : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tl.splat' op has elements of 'f32', expected 'f16'}}
  %0 = tl.splat %x : f32 -> tensor<4xf16>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tl.unsplat' op needs a block with one element, found 'tensor<4xf32>'}}
  %0 = tl.unsplat %x : tensor<4xf32> -> f32
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tl.expand_dims' op has axis 2, expected 0 to 1}}
  %0 = tl.expand_dims %x axis 2 : tensor<4xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tl.expand_dims' op has a result of shape [4, 1], expected [1, 4]}}
  %0 = tl.expand_dims %x axis 0 : tensor<4xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @f(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'tl.broadcast' op cannot repeat 'tensor<4x2xf32>' to 'tensor<4x8xf32>'}}
  %0 = tl.broadcast %x : tensor<4x2xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'tl.reshape' op has 8 elements, expected 16}}
  %0 = tl.reshape %x : tensor<4x2xf32> -> tensor<16xf32>
  return
}

// -----

func.func @f(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'tl.trans' op has an order that is no permutation of its 2 dimensions}}
  %0 = tl.trans %x [1, 1] : tensor<4x2xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tl.join' op has a result of shape [2, 4], expected [4, 2]}}
  %0 = tl.join %x, %x : tensor<4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'tl.split' op needs a last dimension of size 2, found 'tensor<4x4xf32>'}}
  %0:2 = tl.split %x : tensor<4x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x2xf32>, %y: tensor<4x4xf32>) {
  // expected-error @+1 {{'tl.cat' op cannot put 'tensor<4x4xf32>' after 'tensor<4x2xf32>' along dimension 0}}
  %0 = tl.cat %x, %y dim 0 : tensor<4x2xf32>, tensor<4x4xf32> -> tensor<8x2xf32>
  return
}

// -----

func.func @f(%x: tensor<4x2xf32>, %i: tensor<8x8xi32>) {
  // expected-error @+1 {{'tl.gather' op has indices of shape [8, 8] for a source of shape [4, 2]: they may differ along the axis only}}
  %0 = tl.gather %x[%i] axis 0 : tensor<4x2xf32>, tensor<8x8xi32> -> tensor<8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tl.fp_cast' op has rounding 'up', expected 'rtne' or 'rtz'}}
  %0 = tl.fp_cast %x {rounding = "up"} : tensor<4xf32> -> tensor<4xf16>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tl.to_payload' op converts 'tensor<4xf32>' to 'tensor<4xi16>', expected a float and an integer type of as many bits}}
  %0 = tl.to_payload %x : tensor<4xf32> -> tensor<4xi16>
  return
}

// -----

func.func @f(%x: tensor<4xi32>) {
  // expected-error @+1 {{'tl.fp_cast' op converts 'tensor<4xi32>' to 'tensor<4xf16>', expected two float types}}
  %0 = tl.fp_cast %x : tensor<4xi32> -> tensor<4xf16>
  return
}

// -----

func.func @f(%x: tensor<4xi32>) {
  // expected-error @+1 {{'tl.bitcast' op converts 'tensor<4xi32>' to 'tensor<4xf16>', expected types of one width}}
  %0 = tl.bitcast %x : tensor<4xi32> -> tensor<4xf16>
  return
}

// -----

func.func @f(%x: i32) {
  // expected-error @+1 {{'tl.int_to_ptr' op converts 'i32' to '!tl.ptr<f32>', expected a 64-bit integer and a pointer type}}
  %0 = tl.int_to_ptr %x : i32 -> !tl.ptr<f32>
  return
}

// -----

func.func @f(%p: !tl.ptr<f32>, %o: i16) {
  // expected-error @+1 {{'tl.addptr' op has an offset of 'i16', expected 'i32' or 'i64'}}
  %0 = tl.addptr %p, %o : !tl.ptr<f32>, i16
  return
}

// -----

func.func @f(%p: tensor<4x!tl.ptr<f32>>, %o: tensor<8xi32>) {
  // expected-error @+1 {{'tl.addptr' op requires the same shape for all operands and results}}
  %0 = tl.addptr %p, %o : tensor<4x!tl.ptr<f32>>, tensor<8xi32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tl.load' op needs a pointer, found 'tensor<4xf32>'}}
  %0 = tl.load %x : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4x!tl.ptr<f32>>) {
  // expected-error @+1 {{'tl.load' op has elements of 'f16', expected 'f32'}}
  %0 = tl.load %p : tensor<4x!tl.ptr<f32>> -> tensor<4xf16>
  return
}

// -----

func.func @f(%p: tensor<4x!tl.ptr<f32>>, %m: tensor<4xi32>) {
  // expected-error @+1 {{'tl.load' op has a mask of 'i32', expected 'i1'}}
  %0 = tl.load %p mask %m : tensor<4xi32> : tensor<4x!tl.ptr<f32>> -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4x!tl.ptr<f32>>, %m: tensor<8xi1>) {
  // expected-error @+1 {{'tl.load' op has a mask of shape [8], expected [4]}}
  %0 = tl.load %p mask %m : tensor<8xi1> : tensor<4x!tl.ptr<f32>> -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4x!tl.ptr<f32>>, %m: tensor<4xi1>, %o: f32) {
  // expected-error @+1 {{'tl.load' op has other values of 'f32', expected 'tensor<4xf32>'}}
  %0 = tl.load %p mask %m : tensor<4xi1> other %o : f32 : tensor<4x!tl.ptr<f32>> -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: !tl.ptr<f32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{'tl.store' op has a value of shape [4], expected []}}
  tl.store %p, %x : !tl.ptr<f32>, tensor<4xf32>
  return
}

// -----

func.func @f(%p: !tl.ptr<i32>, %x: i32) {
  // expected-error @+1 {{'tl.atomic_rmw' op has the unknown kind 'nand'}}
  %0 = tl.atomic_rmw "nand" %p, %x : !tl.ptr<i32>, i32 -> i32
  return
}

// -----

func.func @f(%p: !tl.ptr<i32>, %x: i32) {
  // expected-error @+1 {{'tl.atomic_rmw' op of kind 'fadd' does not take 'i32'}}
  %0 = tl.atomic_rmw "fadd" %p, %x : !tl.ptr<i32>, i32 -> i32
  return
}

// -----

func.func @f(%p: !tl.ptr<i64>, %x: i32) {
  // expected-error @+1 {{'tl.atomic_cas' op has elements of 'i32', expected 'i64'}}
  %0 = tl.atomic_cas %p, %x, %x : !tl.ptr<i64>, i32
  return
}

// -----

func.func @f(%a: tensor<16x16xf16>, %b: tensor<32x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{'tl.dot' op cannot multiply 'tensor<16x16xf16>' by 'tensor<32x8xf16>'}}
  %0 = tl.dot %a, %b, %c : tensor<16x16xf16>, tensor<32x8xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x64xf8E5M2>, %b: tensor<32x8xf8E5M2>, %s: tensor<16x2xi8>, %t: tensor<8x2xi8>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{'tl.dot' op has scales for a depth of 64, and an operand 'tensor<32x8xf8E5M2>'}}
  %0 = tl.dot %a, %b, %c scales %s, %t : tensor<16x64xf8E5M2>, tensor<32x8xf8E5M2> scales tensor<16x2xi8>, tensor<8x2xi8> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x64xf8E5M2>, %b: tensor<64x8xf8E5M2>, %s: tensor<16x2xi8>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{'tl.dot' op has a block of scales of shape [16, 2], expected [8, 2]}}
  %0 = tl.dot %a, %b, %c scales %s, %s : tensor<16x64xf8E5M2>, tensor<64x8xf8E5M2> scales tensor<16x2xi8>, tensor<16x2xi8> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tl.reduce' op has axis 2, expected 0 to 1}}
  %0 = tl.reduce %x axis 2 {
  ^bb0(%a: f32, %b: f32):
    tl.yield %a : f32
  } : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tl.reduce' op has a region with 1 arguments, expected the elements of both sides: 2}}
  %0 = tl.reduce %x axis 1 {
  ^bb0(%a: f32):
    tl.yield %a : f32
  } : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tl.scan' op has a region whose 'tl.yield' does not give the operands' elements}}
  %0 = tl.scan %x axis 1 {
  ^bb0(%a: f32, %b: f32):
    tl.yield
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %y: f32) {
  %0 = tl.reduce %x axis 1 { // expected-note {{required by region isolation constraints}}
  ^bb0(%a: f32, %b: f32):
    // expected-error @+1 {{'arith.addf' op using value defined outside the region}}
    %s = arith.addf %a, %y : f32
    tl.yield %s : f32
  } : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{'tl.histogram' op needs a 1-D block of integers, found 'tensor<4x8xi32>'}}
  %0 = tl.histogram %x : tensor<4x8xi32> -> tensor<8xi32>
  return
}

// -----

func.func @f(%x: i32) {
  // expected-error @+1 {{'tl.assume' op has a condition of 'i32', expected 'i1'}}
  tl.assume %x : i32
  return
}

// -----

func.func @f(%x: tensor<4xi32>) {
  // expected-error @+1 {{'tl.hint' op has 2 values, expected one a dimension: 1}}
  %0 = tl.hint "multiple_of" [16, 1] %x : tensor<4xi32>
  return
}

// -----

func.func @f(%x: tensor<4xi1>, %m: tensor<8xi1>) {
  // expected-error @+1 {{'tl.assert' op has a mask of shape [8], expected [4]}}
  tl.assert %x mask %m : tensor<8xi1>, "no" : tensor<4xi1>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tl.print' op has 0 signs for 1 values}}
  tl.print "x" false [], %x : f32
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tl.map' op has a region that does not take the elements of its operands}}
  %0 = tl.map %x {
  ^bb0(%a: f32):
    tl.yield %a, %a : f32, f32
  } {pack = 2 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tl.map' op has a region that does not give the elements of its results}}
  %0 = tl.map %x {
  ^bb0(%a: f32):
    tl.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xi32>
  return
}

// -----

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'tl.map' op has a region that accesses memory, prints or asserts}}
  %0 = tl.map %x {
  ^bb0(%a: i64):
    %p = tl.int_to_ptr %a : i64 -> !tl.ptr<i64>
    %b = tl.load %p : !tl.ptr<i64> -> i64
    tl.yield %b : i64
  } : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%p: !tl.ptr<i32>, %x: i64) {
  // expected-error @+1 {{'tl.atomic_store' op has elements of 'i64', expected 'i32'}}
  tl.atomic_store %p, %x : !tl.ptr<i32>, i64
  return
}

// -----

func.func @f(%x: tensor<4xi32>) {
  // expected-error @+1 {{'tl.inline_asm' op does not fit: constraints '=r' have 1 output and 0 inputs, expected 1 output and 1 input}}
  %0 = tl.inline_asm "" "=r"(%x) : (tensor<4xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @f(%x: tensor<4xi32>) {
  // expected-error @+1 {{'tl.inline_asm' op does not fit: pack is 3, expected a power of two up to 256}}
  %0 = tl.inline_asm "" "=r,r"(%x) {pack = 3 : i32} : (tensor<4xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @f(%x: tensor<4xi8>) {
  // expected-error @+1 {{'tl.inline_asm' op has 4 elements, expected a multiple of its pack, 8}}
  %0 = tl.inline_asm "" "=r,=r,r,r"(%x) {pack = 8 : i32} : (tensor<4xi8>) -> tensor<4xi8>
  return
}

// -----

func.func @f(%x: tensor<4xi32>, %y: i32) {
  // expected-error @+1 {{'tl.inline_asm_volatile' op has values of different shapes}}
  %0 = tl.inline_asm_volatile "" "=r,r,r"(%x, %y) : (tensor<4xi32>, i32) -> tensor<4xi32>
  return
}

// -----

func.func @f(%x: i32) {
  // expected-error @+1 {{'tl.inline_asm' op does not fit: pack is 1073741824, expected a power of two up to 256}}
  %0 = tl.inline_asm "" "=r,r"(%x) {pack = 1073741824 : i32} : (i32) -> i32
  return
}

// -----

func.func @f(%x: tensor<4xi7>) {
  // expected-error @+1 {{'tl.inline_asm' op does not fit: argument 0 is neither a number nor a pointer}}
  %0 = tl.inline_asm "" "=r,r"(%x) : (tensor<4xi7>) -> tensor<4xi32>
  return
}

// -----

func.func @f(%x: tensor<4xi32>) {
  // expected-error @+1 {{'tl.inline_asm' op needs a result}}
  tl.inline_asm "" "r"(%x) : (tensor<4xi32>) -> ()
  return
}
