// tl.inline_asm: PTX, interpreted. `pack` elements of each argument that follow each other
// (row-major) are one run of the assembly; of the last run the elements that are missing are zeros.
#include "core/ptx/constraints.h"
#include "interpreter/evaluator.h"
#include "interpreter/ptx/machine.h"

#include <cstring>

namespace blockscope::interpreter {
namespace {

using blockscope::ptx::Slot;

constexpr int64_t kLanesAtOnce = 128;

struct AssemblyOp {
  std::vector<Slot> slots;
  llvm::SmallVector<Type, 4> arguments, results;
  std::shared_ptr<const ptx::Code> code;
  int64_t pack = 1;
  int64_t elements = 1;

  int64_t runs() const { return (elements + pack - 1) / pack; }
  const Type &typeOf(const Slot &slot) const {
    return slot.isResult ? results[slot.value] : arguments[slot.value];
  }
};

/// Some elements of all operands and results: `count` of them from element `begin` on, of blocks
/// that begin at element 0. Operands in `scalars` have one element.
struct Elements {
  void *const *results;
  const void *const *operands;
  uint32_t scalars = 0;
  int64_t begin = 0, count = 0;
};

uint64_t lowBits(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

/// Calls `body` with an unsigned integer of `bytes` bytes.
template <typename Body> void withWord(int bytes, Body body) {
  if (bytes == 1)
    body(uint8_t{});
  else if (bytes == 2)
    body(uint16_t{});
  else if (bytes == 4)
    body(uint32_t{});
  else
    body(uint64_t{});
}

/// Fills the registers of the arguments for `lanes` runs, from run `first` on.
void takeArguments(const AssemblyOp &op, const Elements &elements, int64_t first, int64_t lanes,
                   ptx::RegisterFile &file, const ExecutionContext *context) {
  for (size_t index = 0; index < op.slots.size(); ++index) {
    const Slot &slot = op.slots[index];
    if (slot.isResult)
      continue;
    const Type &type = op.typeOf(slot);
    const int bytes = type.elementBytes();
    const auto *from = static_cast<const std::byte *>(elements.operands[slot.value]);
    const bool isScalar = (elements.scalars >> slot.value & 1) != 0;
    uint64_t *row = file.row(slot.tiedTo >= 0 ? slot.tiedTo : index);
    if (op.pack == 1 && !type.isPointer()) {
      withWord(bytes, [&]<typename T>(T) {
        const auto *elements = reinterpret_cast<const T *>(from) + (isScalar ? 0 : first);
        for (int64_t lane = 0; lane < lanes; ++lane)
          row[lane] = elements[isScalar ? 0 : lane];
      });
      continue;
    }
    for (int64_t lane = 0; lane < lanes; ++lane) {
      uint64_t word = 0;
      for (int k = 0; k < slot.elements; ++k) {
        const int64_t element = (first + lane) * op.pack + slot.element + k;
        if (element >= elements.count)
          break;
        uint64_t bits = 0;
        std::memcpy(&bits, from + (isScalar ? 0 : element) * bytes, bytes);
        if (type.isPointer())
          bits = context->launch->memory.toInteger(bits);
        word |= (bits & lowBits(slot.elementBits)) << k * slot.elementBits;
      }
      row[lane] = word;
    }
  }
}

void giveResults(const AssemblyOp &op, const Elements &elements, int64_t first, int64_t lanes,
                 ptx::RegisterFile &file, const ExecutionContext *context) {
  for (size_t index = 0; index < op.slots.size(); ++index) {
    const Slot &slot = op.slots[index];
    if (!slot.isResult)
      continue;
    const Type &type = op.typeOf(slot);
    const int bytes = type.elementBytes();
    auto *to = static_cast<std::byte *>(elements.results[slot.value]);
    const uint64_t *row = file.row(index);
    if (op.pack == 1 && !type.isPointer()) {
      const uint64_t mask = lowBits(slot.elementBits);
      withWord(bytes, [&]<typename T>(T) {
        for (int64_t lane = 0; lane < lanes; ++lane)
          reinterpret_cast<T *>(to)[first + lane] = static_cast<T>(row[lane] & mask);
      });
      continue;
    }
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (int k = 0; k < slot.elements; ++k) {
        const int64_t element = (first + lane) * op.pack + slot.element + k;
        if (element >= elements.count)
          break;
        uint64_t bits = row[lane] >> k * slot.elementBits & lowBits(slot.elementBits);
        if (type.isPointer())
          bits = context->launch->memory.toPointer(bits);
        std::memcpy(to + element * bytes, &bits, bytes);
      }
  }
}

/// The pointers among the arguments of `lanes` runs, from run `first` on.
std::vector<ptx::PointerArgument> pointersOf(const AssemblyOp &op, const Elements &elements,
                                             int64_t first, int64_t lanes,
                                             const ExecutionContext *context) {
  std::vector<ptx::PointerArgument> made;
  if (!op.code->hasEffects)
    return made;
  for (const Slot &slot : op.slots) {
    if (slot.isResult || !op.typeOf(slot).isPointer())
      continue;
    ptx::PointerArgument &argument = made.emplace_back();
    const auto *from = static_cast<const DeviceAddress *>(elements.operands[slot.value]);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t element = (first + lane) * op.pack + slot.element;
      argument.pointers.push_back(element < elements.count ? from[element] : 0);
      argument.addresses.push_back(context->launch->memory.toInteger(argument.pointers.back()));
    }
  }
  return made;
}

void runAll(const AssemblyOp &op, const Elements &elements, int64_t runs, int64_t atOnce,
            ExecutionContext *context) {
  thread_local ptx::RegisterFile file;
  for (int64_t first = 0; first < runs; first += atOnce) {
    const int64_t lanes = std::min(atOnce, runs - first);
    file.reset(*op.code, lanes);
    takeArguments(op, elements, first, lanes, file, context);
    ptx::run(*op.code, file, lanes, context, pointersOf(op, elements, first, lanes, context));
    giveResults(op, elements, first, lanes, file, context);
  }
}

void evalElements(int64_t n, int64_t, void *const *results, const void *const *operands,
                  uint32_t scalarOperands, const void *payload) {
  const auto &op = *static_cast<const AssemblyOp *>(payload);
  runAll(op, {results, operands, scalarOperands, 0, n}, n, kLanesAtOnce, nullptr);
}

/// Code that accesses memory runs all lanes at once, so that a report has their numbers.
void evalBlocks(ExecutionContext &context, void *const *results, const void *const *operands,
                const void *payload) {
  const auto &op = *static_cast<const AssemblyOp *>(payload);
  runAll(op, {results, operands, 0, 0, op.elements}, op.runs(),
         op.code->hasEffects ? op.runs() : kLanesAtOnce, &context);
}

EvaluatorOrError chooseAssembly(const OpSignature &signature) {
  auto op = std::make_shared<AssemblyOp>();
  op->arguments.assign(signature.operands.begin(), signature.operands.end());
  op->results.assign(signature.results.begin(), signature.results.end());
  op->pack = std::max<int64_t>(1, signature.attributes.getInt("pack", 1));
  if (op->results.empty())
    return {{}, signature.name.str() + " needs a result"};
  op->elements = op->results.front().numElements();
  blockscope::ptx::Constraints constraints = blockscope::ptx::readConstraints(
      signature.attributes.getString("constraints"), op->arguments, op->results, op->pack);
  if (!constraints.error.empty())
    return {{}, "tl.inline_asm_elementwise: " + constraints.error};
  op->slots = std::move(constraints.slots);
  llvm::SmallVector<std::string, 8> types;
  llvm::SmallVector<int, 8> tied;
  bool hasPointers = false;
  for (const Slot &slot : op->slots) {
    types.push_back(slot.type());
    tied.push_back(slot.tiedTo);
    hasPointers |= op->typeOf(slot).isPointer();
  }
  ptx::CodeOrError decoded =
      ptx::decode(signature.attributes.getString("asm_string"), types, tied, op->runs());
  if (!decoded.error.empty())
    return {{}, "tl.inline_asm_elementwise: " + decoded.error};
  op->code = std::move(decoded.code);
  const bool isElementwise = op->pack == 1 && !hasPointers && !op->arguments.empty() &&
                             !op->code->hasEffects && !op->code->hasBranches;
  return {isElementwise ? Evaluator::makeElementwise(evalElements, std::move(op))
                        : Evaluator::makeContext(evalBlocks, std::move(op)),
          ""};
}

} // namespace

void addInlineAsmEvaluators(EvaluatorTable &table) {
  table.add("tl.inline_asm", chooseAssembly);
  table.add("tl.inline_asm_volatile", chooseAssembly);
}

} // namespace blockscope::interpreter
