// What is known of each op by its name: the rows of op_facts.def, and those added at run time.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace blockscope {

/// The file of interpreter/ops and of gpu_backend/lowering that has the op.
enum class OpFamily : uint8_t {
  Elementwise,
  Math,
  Casts,
  Shape,
  Gather,
  Memory,
  Atomics,
  Dot,
  Map,
  Reduce,
  Scan,
  Sort,
  Histogram,
  ExternLibdevice,
  InlineAsm,
  Debug,
};

/// What an op does to the memory of the launch, and what others may see of it.
enum class OpMemory : uint8_t {
  None,
  Reads,
  Writes,
  ReadsAndWrites, ///< atomics
  Orders,         ///< barriers: accesses before and after
  Observes,       ///< asserts, prints, hints to the compiler: must stay, touches no tensor
};

/// How an op takes the elements of its operands. Types of the IR have no sign.
enum class Operands : uint8_t {
  Any,          ///< as they are
  Integers,     ///< the sign makes no difference
  Signed,       ///< two's complement
  Unsigned,     ///< and pointers' offsets, conditions
  WideIntegers, ///< of 32 or 64 bits, as unsigned
  Floats,       ///< narrower than fp32: computed in fp32, rounded once
  Float32,      ///< fp32 only; the language widens fp16 and bf16
  WideFloats,   ///< fp32 and fp64 in the language
  Pointers,
};

/// The element that leaves the other operand of a combine as it is.
enum class Identity : uint8_t { Zero, NegativeZero, One, AllOnes, Least, Greatest, NaN };

/// How an op that may be all of a reduction or scan combines.
struct Combining {
  /// Whether elements may be combined in any order, grouped in any way, with the same bits.
  bool isAnyOrder = true;
  Identity identity = Identity::Zero;
};

/// How far results are from the exact ones, in units in the last place of the result: 0 when they
/// are always exact, 0.5 when they are correctly rounded (both executors then have the same bits).
struct OpError {
  double cpu32 = 0, gpu32 = 0, cpu64 = 0, gpu64 = 0;
  /// Where the GPU computes the function of a rounded argument: relative, in 2^-23 (fp32).
  double gpuArgument32 = 0;
  /// gpu32 holds only where the op is marked `fastmath<afn>`; unmarked it is correctly rounded.
  bool isIfMarked = false;

  constexpr OpError withArgument(double argument) const {
    OpError error = *this;
    error.gpuArgument32 = argument;
    return error;
  }
  bool rounds() const { return cpu32 > 0; }
  /// Whether both executors give the same bits for the same operands.
  bool isSameEverywhere(bool isMarked) const;
};

/// What an element costs, for schedulers and models: the classes are in ascending order.
enum class OpCost : uint8_t {
  Free,     ///< the same bytes under another type, or nothing
  Simple,   ///< one pipelined instruction or two
  Divide,   ///< some ten instructions
  Function, ///< a special unit, or a function of the library
  Exchange, ///< elements move between threads
  Access,   ///< elements move from or to memory
  Dot,      ///< as many multiply-adds as K says
};

struct OpFacts {
  llvm::StringRef name; ///< lives as long as the process
  OpFamily family = OpFamily::Elementwise;
  /// Each element of the result is made from the same element of each operand.
  bool isElementwise = false;
  Operands operands = Operands::Any;
  OpMemory memory = OpMemory::None;
  std::optional<Combining> combining = std::nullopt;
  OpError error;
  OpCost cost = OpCost::Simple;

  bool reads() const { return memory == OpMemory::Reads || memory == OpMemory::ReadsAndWrites; }
  bool writes() const { return memory == OpMemory::Writes || memory == OpMemory::ReadsAndWrites; }
  bool isAtomic() const { return family == OpFamily::Atomics; }
};

/// The facts of an op such as "arith.addi"; null when it has none.
const OpFacts *findOpFacts(llvm::StringRef name);
/// All rows: those of op_facts.def in its order, then those that were added.
std::vector<const OpFacts *> allOpFacts();
/// Adds a row for an op that op_facts.def does not have. Call it before kernels are compiled: the
/// table has no lock. `facts.name` must live as long as the process.
void addOpFacts(const OpFacts &facts);

/// A combine function that has a name in the language, and the op that it is, by element type; an
/// empty name where it is not defined.
struct NamedCombine {
  llvm::StringRef name, floats, signedIntegers, unsignedIntegers, bools;
};
/// Null when there is no combine function of that name.
const NamedCombine *findNamedCombine(llvm::StringRef name);
llvm::ArrayRef<NamedCombine> allNamedCombines();

// The words of the table, as docs/ops.md prints them.
llvm::StringRef wordOf(OpFamily family);
llvm::StringRef wordOf(OpMemory memory);
llvm::StringRef wordOf(Operands operands);
llvm::StringRef wordOf(Identity identity);
llvm::StringRef wordOf(OpCost cost);

} // namespace blockscope
