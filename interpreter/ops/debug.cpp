// tl.assert and tl.print.
#include "core/numeric/scalar.h"
#include "interpreter/evaluator.h"
#include "interpreter/ops/failed_lanes.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace blockscope::interpreter {
namespace {

struct AssertOp {
  std::string message;
  llvm::SmallVector<int64_t, 4> blockShape;
  int64_t lanes = 1;
  bool hasMask = false;
  llvm::SmallVector<Type, 2> shown; ///< the two sides of the comparison, or none
};

std::string valueText(const MemoryMap &memory, const Type &type, const std::byte *elements,
                      int64_t lane) {
  const std::byte *element = elements + lane * type.elementBytes();
  std::string text;
  llvm::raw_string_ostream out(text);
  if (type.isPointer())
    out << llvm::format("0x%016" PRIx64,
                        memory.toInteger(*reinterpret_cast<const uint64_t *>(element)));
  else if (type.isFloating())
    out << llvm::format("%g", numeric::readAsDouble(type.dtype, element));
  else
    out << numeric::readAsInt(type.dtype, element);
  return text;
}

/// What was compared at `lane`, and how many lanes failed.
NamedValues valuesOf(const MemoryMap &memory, const AssertOp &op, const void *const *operands,
                     int64_t lane, size_t failed) {
  NamedValues values;
  const int first = op.hasMask ? 2 : 1;
  for (size_t i = 0; i < op.shown.size(); ++i)
    values.emplace_back(
        i == 0 ? "left" : "right",
        valueText(memory, op.shown[i], static_cast<const std::byte *>(operands[first + i]), lane));
  if (op.lanes > 1)
    values.emplace_back("failed lanes", std::to_string(failed));
  return values;
}

void evalAssert(ExecutionContext &context, void *const *, const void *const *operands,
                const void *payload) {
  LaunchState &launch = *context.launch;
  if (!launch.assertsAreEnabled())
    return;
  const auto &op = *static_cast<const AssertOp *>(payload);
  const auto *condition = static_cast<const uint8_t *>(operands[0]);
  const auto *mask = op.hasMask ? static_cast<const uint8_t *>(operands[1]) : nullptr;
  if (!std::memchr(condition, 0, op.lanes))
    return;
  llvm::SmallVector<int64_t> failed;
  for (int64_t lane = 0; lane < op.lanes; ++lane)
    if (!condition[lane] && (!mask || mask[lane]))
      failed.push_back(lane);
  if (failed.empty())
    return;
  const NamedValues values = valuesOf(launch.memory, op, operands, failed.front(), failed.size());
  failLanes(context, failed, op.blockShape, op.message, values);
}

EvaluatorOrError chooseAssert(const OpSignature &signature) {
  auto op = std::make_shared<AssertOp>();
  op->message = signature.attributes.getString("message").str();
  op->blockShape.assign(signature.operands[0].shape.begin(), signature.operands[0].shape.end());
  op->lanes = signature.operands[0].numElements();
  op->hasMask = signature.attributes.getBool("has_mask");
  op->shown.assign(signature.operands.begin() + (op->hasMask ? 2 : 1), signature.operands.end());
  return {Evaluator::makeContext(evalAssert, std::move(op)), ""};
}

struct PrintOp {
  std::string prefix;
  bool hex = false;
  llvm::SmallVector<Type, 4> types;
  llvm::SmallVector<bool, 4> isSigned;
};

DType unsignedDType(DType dtype) {
  switch (dtype) {
  case DType::Int8:
    return DType::UInt8;
  case DType::Int16:
    return DType::UInt16;
  case DType::Int32:
    return DType::UInt32;
  case DType::Int64:
    return DType::UInt64;
  default:
    return dtype;
  }
}

/// Prints as C's %i, %u, %f and %p do; hex shows the bits with all their digits.
void printValue(llvm::raw_ostream &out, const MemoryMap &memory, const PrintOp &op, size_t operand,
                const std::byte *element) {
  const Type &type = op.types[operand];
  if (type.isPointer()) {
    uint64_t address = 0;
    std::memcpy(&address, element, sizeof(address));
    out << llvm::format("0x%" PRIx64, memory.toInteger(address));
  } else if (op.hex) {
    uint64_t bits = 0;
    std::memcpy(&bits, element, type.elementBytes());
    out << "0x" << llvm::format_hex_no_prefix(bits, 2 * type.elementBytes());
  } else if (type.isFloating()) {
    out << llvm::format("%f", numeric::readAsDouble(type.dtype, element));
  } else if (op.isSigned[operand] || type.isBool()) {
    out << numeric::readAsInt(type.dtype, element);
  } else {
    out << static_cast<uint64_t>(numeric::readAsInt(unsignedDType(type.dtype), element));
  }
}

int digitsOf(int64_t number) {
  int digits = 1;
  for (; number >= 10; number /= 10)
    ++digits;
  return digits;
}

void printIndex(llvm::raw_ostream &out, llvm::ArrayRef<int64_t> shape, int64_t lane) {
  const std::vector<int64_t> index = laneIndex(lane, shape);
  out << "idx (";
  for (size_t i = 0; i < index.size(); ++i)
    out << (i ? ", " : "")
        << llvm::format("%*lld", digitsOf(shape[i] - 1), static_cast<long long>(index[i]));
  out << ")";
}

void evalPrint(ExecutionContext &context, void *const *, const void *const *operands,
               const void *payload) {
  const auto &op = *static_cast<const PrintOp *>(payload);
  const size_t before = context.printed.size();
  llvm::raw_string_ostream out(context.printed);
  const auto printProgram = [&] {
    out << "pid (" << context.program[0] << ", " << context.program[1] << ", " << context.program[2]
        << ")";
  };
  if (op.types.empty()) {
    printProgram();
    out << (llvm::StringRef(op.prefix).starts_with(" ") ? "" : " ") << op.prefix << "\n";
  }
  for (size_t i = 0; i < op.types.size(); ++i) {
    const auto *elements = static_cast<const std::byte *>(operands[i]);
    for (int64_t lane = 0; lane < op.types[i].numElements(); ++lane) {
      printProgram();
      out << " ";
      printIndex(out, op.types[i].shape, lane);
      out << op.prefix;
      if (op.types.size() > 1)
        out << "(operand " << i << ") ";
      printValue(out, context.launch->memory, op, i, elements + lane * op.types[i].elementBytes());
      out << "\n";
    }
  }
  for (Observer *observer : context.launch->observers)
    observer->onPrint(context.op, context.linearProgram,
                      llvm::StringRef(context.printed).drop_front(before));
}

EvaluatorOrError choosePrint(const OpSignature &signature) {
  auto op = std::make_shared<PrintOp>();
  op->prefix = signature.attributes.getString("prefix").str();
  op->hex = signature.attributes.getBool("hex");
  op->types.assign(signature.operands.begin(), signature.operands.end());
  const llvm::ArrayRef<int64_t> flags = signature.attributes.getInts("is_signed");
  for (size_t i = 0; i < op->types.size(); ++i)
    op->isSigned.push_back(i >= flags.size() || flags[i] != 0);
  return {Evaluator::makeContext(evalPrint, std::move(op)), ""};
}

void evalNothing(void *const *, const void *const *, const void *) {}

} // namespace

void addDebugEvaluators(EvaluatorTable &table) {
  table.add("tl.assume", [](const OpSignature &) -> EvaluatorOrError {
    return {Evaluator::makeBlock(evalNothing), ""};
  });
  table.add("tl.assert", chooseAssert);
  table.add("tl.print", choosePrint);
}

} // namespace blockscope::interpreter
