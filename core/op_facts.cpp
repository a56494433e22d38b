// The rows of op_facts.def as data, and their look-up by name.
#include "core/op_facts.h"

#include "llvm/ADT/StringMap.h"

#include <deque>

namespace blockscope {
namespace {

constexpr OpError kExact = {};
constexpr OpError kRounded = {.cpu32 = 0.5, .gpu32 = 0.5, .cpu64 = 0.5, .gpu64 = 0.5};

constexpr OpError ulps(double cpu32, double gpu32, double cpu64, double gpu64) {
  return {.cpu32 = cpu32, .gpu32 = gpu32, .cpu64 = cpu64, .gpu64 = gpu64};
}

/// Correctly rounded, but in fp32 on a GPU within `gpu32` units where the op is marked.
constexpr OpError markedApproximate(double gpu32) {
  OpError error = kRounded;
  error.gpu32 = gpu32;
  error.isIfMarked = true;
  return error;
}

struct Table {
  std::deque<OpFacts> rows; // their addresses stay
  llvm::StringMap<const OpFacts *> byName;

  const OpFacts &add(const OpFacts &facts) {
    rows.push_back(facts);
    byName[facts.name] = &rows.back();
    return rows.back();
  }

  void addElementwise(llvm::StringLiteral name, OpFamily family, Operands operands,
                      const OpError &error, OpCost cost,
                      std::optional<Combining> combining = std::nullopt) {
    add({.name = name,
         .family = family,
         .isElementwise = true,
         .operands = operands,
         .combining = combining,
         .error = error,
         .cost = cost});
  }
};

enum class Order : uint8_t { Any, Rounds };

Table filledTable() {
  Table table;
#define BLK_INTEGER_OP(id, name, family, count, operands, cost)                                    \
  table.addElementwise(name, OpFamily::family, Operands::operands, kExact, OpCost::cost);
#define BLK_INTEGER_COMBINE(id, name, operands, identity)                                          \
  table.addElementwise(name, OpFamily::Elementwise, Operands::operands, kExact, OpCost::Simple,    \
                       Combining{true, Identity::identity});
#define BLK_FLOAT_OP(id, name, family, count, operands, error, cost)                               \
  table.addElementwise(name, OpFamily::family, Operands::operands, error, OpCost::cost);
#define BLK_FLOAT_COMBINE(id, name, order, identity, error)                                        \
  table.addElementwise(name, OpFamily::Elementwise, Operands::Floats, error, OpCost::Simple,       \
                       Combining{Order::order == Order::Any, Identity::identity});
#define BLK_MATH_OP(id, name, operands, error, cost)                                               \
  table.addElementwise(name, OpFamily::Math, Operands::operands, error, OpCost::cost);
#define BLK_ELEMENTWISE_OP(name, family, operands, error, cost)                                    \
  table.addElementwise(name, OpFamily::family, Operands::operands, error, OpCost::cost);
#define BLK_OP(opName, opFamily, opMemory, opError, opCost)                                        \
  table.add({.name = llvm::StringLiteral(opName),                                                  \
             .family = OpFamily::opFamily,                                                         \
             .memory = OpMemory::opMemory,                                                         \
             .error = opError,                                                                     \
             .cost = OpCost::opCost});
#include "core/op_facts.def"
  return table;
}

Table &table() {
  static Table filled = filledTable();
  return filled;
}

constexpr NamedCombine kCombines[] = {
#define BLK_COMBINE(name, floats, signedIntegers, unsignedIntegers, bools)                         \
  {llvm::StringLiteral(name), llvm::StringLiteral(floats), llvm::StringLiteral(signedIntegers),    \
   llvm::StringLiteral(unsignedIntegers), llvm::StringLiteral(bools)},
#include "core/op_facts.def"
};

} // namespace

bool OpError::isSameEverywhere(bool isMarked) const {
  const bool isRounded = cpu32 <= 0.5 && cpu64 <= 0.5 && gpu64 <= 0.5;
  return isRounded && (gpu32 <= 0.5 || (isIfMarked && !isMarked));
}

const OpFacts *findOpFacts(llvm::StringRef name) { return table().byName.lookup(name); }

std::vector<const OpFacts *> allOpFacts() {
  std::vector<const OpFacts *> all;
  for (const OpFacts &facts : table().rows)
    all.push_back(&facts);
  return all;
}

void addOpFacts(const OpFacts &facts) { table().add(facts); }

const NamedCombine *findNamedCombine(llvm::StringRef name) {
  for (const NamedCombine &combine : kCombines)
    if (combine.name == name)
      return &combine;
  return nullptr;
}

llvm::ArrayRef<NamedCombine> allNamedCombines() { return kCombines; }

llvm::StringRef wordOf(OpFamily family) {
  switch (family) {
  case OpFamily::Elementwise:
    return "elementwise";
  case OpFamily::Math:
    return "math";
  case OpFamily::Casts:
    return "casts";
  case OpFamily::Shape:
    return "shape";
  case OpFamily::Gather:
    return "gather";
  case OpFamily::Memory:
    return "memory";
  case OpFamily::Atomics:
    return "atomics";
  case OpFamily::Dot:
    return "dot";
  case OpFamily::Map:
    return "map";
  case OpFamily::Reduce:
    return "reduce";
  case OpFamily::Scan:
    return "scan";
  case OpFamily::Sort:
    return "sort";
  case OpFamily::Histogram:
    return "histogram";
  case OpFamily::InlineAsm:
    return "inline_asm";
  case OpFamily::ExternLibdevice:
    return "extern_libdevice";
  case OpFamily::Debug:
    return "debug";
  }
  return "";
}

llvm::StringRef wordOf(OpMemory memory) {
  switch (memory) {
  case OpMemory::None:
    return "";
  case OpMemory::Reads:
    return "reads";
  case OpMemory::Writes:
    return "writes";
  case OpMemory::ReadsAndWrites:
    return "reads and writes";
  case OpMemory::Orders:
    return "orders";
  case OpMemory::Observes:
    return "observes";
  }
  return "";
}

llvm::StringRef wordOf(Operands operands) {
  switch (operands) {
  case Operands::Any:
    return "any";
  case Operands::Integers:
    return "integers";
  case Operands::Signed:
    return "signed integers";
  case Operands::Unsigned:
    return "unsigned integers";
  case Operands::WideIntegers:
    return "integers of 32 and 64 bits";
  case Operands::Floats:
    return "floats";
  case Operands::Float32:
    return "fp32";
  case Operands::WideFloats:
    return "fp32, fp64";
  case Operands::Pointers:
    return "pointers";
  }
  return "";
}

llvm::StringRef wordOf(Identity identity) {
  switch (identity) {
  case Identity::Zero:
    return "0";
  case Identity::NegativeZero:
    return "-0.0";
  case Identity::One:
    return "1";
  case Identity::AllOnes:
    return "-1";
  case Identity::Least:
    return "least";
  case Identity::Greatest:
    return "greatest";
  case Identity::NaN:
    return "NaN";
  }
  return "";
}

llvm::StringRef wordOf(OpCost cost) {
  switch (cost) {
  case OpCost::Free:
    return "free";
  case OpCost::Simple:
    return "simple";
  case OpCost::Divide:
    return "divide";
  case OpCost::Function:
    return "function";
  case OpCost::Exchange:
    return "exchange";
  case OpCost::Access:
    return "access";
  case OpCost::Dot:
    return "dot";
  }
  return "";
}

} // namespace blockscope
