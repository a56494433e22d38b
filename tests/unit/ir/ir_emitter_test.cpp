// The IR emitter builds valid modules, keeps locations and names, and reports errors as text.
#include "core/ir/convert.h"
#include "core/ir/ir_emitter.h"
#include "core/passes/passes.h"

#include "mlir/IR/BuiltinOps.h"

#include <gtest/gtest.h>

using namespace blockscope;

namespace {

const Type kI32 = Type::get(DType::Int32);
const Type kF32 = Type::get(DType::Fp32);
const Type kBool = Type::get(DType::Int1);

Value emitOne(IrEmitter &emitter, llvm::StringRef name, llvm::ArrayRef<Value> operands, Type type,
              const Attributes &attributes = {}) {
  return emitter.emit({name, operands, attributes, {type}})[0];
}

struct IrEmitterTest : testing::Test {
  std::string errors;
  IrEmitter emitter{[this](llvm::StringRef message) { errors += message; }};

  ValueList begin() {
    return emitter.beginFunction("kernel", {kF32.pointerTo(), kI32}, {"x_ptr", "n"});
  }
  std::string finish(bool withLocations = false) {
    emitter.finishFunction();
    std::string text;
    EXPECT_TRUE(emitter.verify(&text)) << text << emitter.text();
    EXPECT_EQ(errors, "");
    return emitter.text(withLocations);
  }
};

TEST_F(IrEmitterTest, MaskedLoadGetsOperandSegmentsAndNames) {
  const ValueList arguments = begin();
  const Value mask = emitter.intConstant(kBool, 1);
  const Value x = emitOne(emitter, "tl.load", {arguments[0], mask}, kF32, {{"has_mask", true}});
  emitter.nameValue(x, "x");
  emitter.emit({"tl.store", {arguments[0], x}, {}, {}});
  const std::string text = finish();
  EXPECT_NE(text.find("%x = tl.load %x_ptr mask %true : i1"), std::string::npos) << text;
  EXPECT_NE(text.find("tl.store %x_ptr, %x"), std::string::npos) << text;
}

TEST_F(IrEmitterTest, InvalidOpIsReportedAndItsUsesAreSilent) {
  const ValueList arguments = begin();
  const Value bad =
      emitOne(emitter, "tl.load", {arguments[0], arguments[1]}, kF32, {{"has_mask", true}});
  EXPECT_FALSE(bad);
  EXPECT_EQ(errors, "'tl.load' op has a mask of 'i32', expected 'i1'");
  EXPECT_FALSE(emitOne(emitter, "arith.addf", {bad, bad}, kF32));
  EXPECT_EQ(errors, "'tl.load' op has a mask of 'i32', expected 'i1'");
}

TEST_F(IrEmitterTest, UnknownOpIsReported) {
  begin();
  emitter.emit({"tl.nonsense", {}, {}, {kF32}});
  EXPECT_EQ(errors, "there is no op 'tl.nonsense'");
}

TEST_F(IrEmitterTest, ControlFlowFromDetachedBlocks) {
  const ValueList arguments = begin();
  const Value zero = emitter.intConstant(kI32, 0);
  const Value one = emitter.intConstant(kI32, 1);
  const ValueList body = emitter.pushBlock({kI32, kI32});
  const Value sum = emitOne(emitter, "arith.addi", {body[0], body[1]}, kI32);
  const BlockHandle loop = emitter.popBlock();
  const Value total = emitter.createFor(zero, arguments[1], one, {zero}, loop, {sum}, false)[0];

  const ValueList before = emitter.pushBlock({kI32});
  const Value more = emitOne(emitter, "arith.cmpi", {before[0], arguments[1]}, kBool,
                             {{"predicate", std::string("slt")}});
  const BlockHandle beforeBlock = emitter.popBlock();
  const ValueList after = emitter.pushBlock({kI32});
  const Value next = emitOne(emitter, "arith.addi", {after[0], one}, kI32);
  const BlockHandle afterBlock = emitter.popBlock();
  const Value last =
      emitter.createWhile({total}, beforeBlock, more, {before[0]}, afterBlock, {next})[0];

  const Value isOdd =
      emitOne(emitter, "arith.cmpi", {last, one}, kBool, {{"predicate", std::string("eq")}});
  emitter.pushBlock();
  const BlockHandle thenBlock = emitter.popBlock();
  emitter.pushBlock();
  const Value doubled = emitOne(emitter, "arith.addi", {last, last}, kI32);
  const BlockHandle elseBlock = emitter.popBlock();
  const Value result = emitter.createIf(isOdd, thenBlock, {last}, elseBlock, {doubled})[0];
  const Value asFloat = emitOne(emitter, "tl.int_to_float", {result}, kF32);
  emitter.emit({"tl.store", {arguments[0], asFloat}, {}, {}});
  const std::string text = finish();
  EXPECT_NE(text.find("scf.for"), std::string::npos);
  EXPECT_NE(text.find("scf.while"), std::string::npos);
  EXPECT_NE(text.find("scf.if"), std::string::npos);
}

TEST_F(IrEmitterTest, DiscardedBlocksAreFreed) {
  const ValueList arguments = begin();
  emitter.pushBlock({kI32});
  const Value kept = emitter.intConstant(kI32, 1);
  emitOne(emitter, "arith.addi", {kept, arguments[1]}, kI32);
  emitter.discardBlock(emitter.popBlock());
  emitter.pushBlock(); // never popped nor placed: the emitter deletes it
  emitOne(emitter, "arith.addi", {arguments[1], arguments[1]}, kI32);
}

TEST_F(IrEmitterTest, ReduceRegionTakesScalars) {
  const ValueList arguments = begin();
  const Type block = Type::get(DType::Fp32, {4, 8});
  const Value zero = emitter.floatConstant(kF32, 0);
  const Value x = emitOne(emitter, "tl.splat", {zero}, block);
  const ValueList sums =
      emitter.reduce({x}, 1, [&](llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs) {
        return ValueList{emitOne(emitter, "arith.addf", {lhs[0], rhs[0]}, kF32)};
      });
  EXPECT_EQ(sums[0].type, Type::get(DType::Fp32, {4}));
  const ValueList scans =
      emitter.scan({x}, 0, true, [&](llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs) {
        return ValueList{emitOne(emitter, "arith.mulf", {lhs[0], rhs[0]}, kF32)};
      });
  EXPECT_EQ(scans[0].type, block);
  emitter.emit({"tl.store", {arguments[0], zero}, {}, {}});
  finish();
}

TEST_F(IrEmitterTest, LocationsKeepCallChainFunctionAndVariable) {
  SourceLocation caller{"kernels.py", 20, 5, "kernel", "", nullptr};
  SourceLocation location{"lib.py", 7, 12, "helper", "", std::make_shared<SourceLocation>(caller)};
  const ValueList arguments = begin();
  emitter.setLocation(location);
  const Value x = emitOne(emitter, "tl.load", {arguments[0]}, kF32);
  emitter.nameValue(x, "x");
  mlir::Operation *load = nullptr;
  emitter.module()->walk([&](mlir::Operation *op) {
    if (op->getName().getStringRef() == "tl.load")
      load = op;
  });
  ASSERT_NE(load, nullptr);
  const SourceLocation read = fromMlirLocation(load->getLoc());
  EXPECT_EQ(read.file, "lib.py");
  EXPECT_EQ(read.line, 7);
  EXPECT_EQ(read.column, 12);
  EXPECT_EQ(read.function, "helper");
  EXPECT_EQ(read.variable, "x");
  ASSERT_NE(read.caller, nullptr);
  EXPECT_EQ(read.caller->function, "kernel");
  EXPECT_EQ(read.caller->line, 20);
  EXPECT_EQ(read.caller->caller, nullptr);
}

TEST_F(IrEmitterTest, PassesKeepLoadsAndDoNotComputeFloats) {
  const ValueList arguments = begin();
  const Value one = emitter.floatConstant(kF32, 1);
  const Value sum = emitOne(emitter, "arith.addf", {one, one}, kF32);
  const Value exponential = emitOne(emitter, "math.exp", {one}, kF32);
  const Value both = emitOne(emitter, "arith.addf", {sum, exponential}, kF32);
  emitOne(emitter, "tl.load", {arguments[0]}, kF32);
  emitter.emit({"tl.store", {arguments[0], both}, {}, {}});
  emitter.finishFunction();
  std::string text;
  ASSERT_TRUE(runPasses(emitter, &text)) << text;
  text = emitter.text();
  EXPECT_NE(text.find("math.exp"), std::string::npos) << text;
  EXPECT_NE(text.find("tl.load"), std::string::npos) << text;
  EXPECT_NE(text.find("arith.addf %cst, %cst"), std::string::npos) << text;
}

} // namespace
