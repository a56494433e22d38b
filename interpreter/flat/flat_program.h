// The flat program: a kernel as a list of instructions over registers, without MLIR.
//
// Registers live in one frame per program instance; where each one is was planned by liveness
// (flat/liveness.cpp). An instruction names its results and operands by their place in a table of
// pointers, which is filled once per frame, so that running an instruction looks nothing up.
#pragma once

#include "interpreter/combine_region.h"
#include "interpreter/observer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace blockscope::interpreter {

struct FlatProgram;
class IntegerRanges;

/// Where the memory behind one entry of the pointer table is.
struct PointerPlan {
  enum class Base : uint8_t { Frame, Constants, Arguments };
  Base base = Base::Frame;
  /// Bytes by which a strip advances per element: 0 for scalars, strip buffers and whole blocks.
  uint8_t stepBytes = 0;
  /// Units: bytes; arguments are numbered.
  uint64_t offset = 0;
};

/// The region of tl.reduce, tl.scan or tl.map: a flat program over `lanes` lanes at a time, whose
/// arguments are the lanes of the left side, then of the right side; of tl.map `pack` elements of
/// each operand.
struct CombineProgram {
  std::unique_ptr<FlatProgram> program;
  std::vector<Type> operandTypes; ///< of the reduced blocks
  std::vector<Type> resultTypes;
  int64_t pack = 0; ///< of tl.map; else 0
  int axis = 0;
  bool isScan = false;
  bool reverse = false;
};

/// Results and operands that a member of a fused group may have together.
constexpr int kMostFusedPointers = 16;

/// One elementwise op of a fused group.
struct FusedMember {
  ElementwiseFn function = nullptr;
  const void *payload = nullptr;
  uint32_t pointers = 0; ///< results, then operands, in the pointer table
  uint32_t scalarOperands = 0;
  uint8_t numResults = 0;
  uint8_t numOperands = 0;
  uint32_t op = 0;      ///< number in FlatProgram::ops, where values are shown
  llvm::StringRef name; ///< of the op; lives in FlatProgram::names
};

struct Instruction {
  enum class Kind : uint8_t {
    Elementwise, ///< one evaluator over `elements`
    Block,
    Context,
    Fused,   ///< members [first, first + count), strip by strip
    Combine, ///< combine program number `first`
    Copy,    ///< `elements` bytes
    Jump,
    JumpIfFalse, ///< operand: i1
    ForBegin,    ///< results: trip count, counter; operands: begin, end, step
    ForTest,     ///< operand: trip count; leaves to `target` at 0
    ForNext,     ///< operands: trip count, counter, step; back to `target`
    WhileBegin,
    WhileNext, ///< back to `target`
    LoopEnd,   ///< the loop's counter is popped
    Return,
  };
  Kind kind = Kind::Return;
  bool isUnsigned = false;  ///< ForBegin compares without sign
  uint8_t counterBytes = 0; ///< For*: width of the loop counter
  uint8_t numResults = 0;
  uint32_t pointers = 0; ///< results, then operands, in the pointer table
  uint32_t scalarOperands = 0;
  uint32_t op = 0; ///< number in FlatProgram::ops (Context, and the loops; all that show values)
  uint32_t target = ~0U; ///< instruction to go to
  uint32_t first = 0;    ///< Fused: first member; Combine: its number
  uint32_t count = 0;    ///< Fused: members
  int64_t elements = 0;
  int64_t strip = 0; ///< Fused: elements of one strip
  const void *payload = nullptr;
  uint32_t numPointers = 0;
  llvm::StringRef name; ///< of the op; lives in FlatProgram::names
  union {
    ElementwiseFn elementwise = nullptr;
    BlockFn block;
    ContextFn context;
  };
};

/// A loop without bounds that changes no memory. It goes on for ever once the values that decide it
/// are what they were an iteration before, and memory too. The operands of its WhileNext are these
/// values, and, where it is one and known, the address that its last load reads.
struct LoopWatch {
  std::vector<uint64_t> bytes; ///< of each value that decides
  bool readsMemory = false;    ///< else nothing outside of it can end it
  bool countsChanges = false;  ///< memory is a part of the state: the loop reads and changes it
  bool hasAtomics = false;
  bool hasAddress = false;
  /// Of a loop that goes on while a number is not its goal: operands of the WhileNext.
  struct Count {
    uint32_t at, goal, step;
    uint32_t bits;
    bool isDown;
  };
  std::optional<Count> count = std::nullopt;
};

/// What the front end passes for one parameter of the kernel.
struct ParameterInfo {
  Type type;
  std::string name;
};

/// What the memory ops of a kernel may do, known before it runs. The default says nothing.
struct MemoryUse {
  /// By parameter: whether its memory may be loaded from, stored to. Atomics do both.
  std::vector<bool> loaded, stored;
  bool isKnown = false; ///< every pointer that is accessed comes from a parameter
  bool orders = true;   ///< an atomic whose result is used, or a volatile load
  bool prints = true;
  bool mayLoopForever = true;                             ///< a loop without bounds
  std::array<bool, 3> usesProgramId = {true, true, true}; ///< by axis of the grid
};

/// What an observer sees of an op besides its OpInfo.
struct ShownOp {
  OpSignature signature;
  /// By operand (set bit): one element; a whole block beside results that come in strips.
  uint32_t singleOperands = 0, wholeOperands = 0;
  bool hasSingleResults = false;
  std::shared_ptr<const CombineRegion> region = nullptr; ///< as OpValues has it
};

/// A kernel ready to run. Immutable: shared by all threads and launches.
struct FlatProgram {
  std::string name;
  std::vector<std::string> files; ///< of the functions that it was made of, the kernel's first
  std::vector<Instruction> instructions;
  std::vector<FusedMember> members;
  std::vector<PointerPlan> pointers;
  std::vector<OpInfo> ops;
  /// The forms of `ops` by place (accessKey), as step mode looks for them.
  std::map<std::string, std::shared_ptr<const AddressForm>> addressForms;
  std::map<std::string, ResultUse> resultUses; ///< of atomics, the same way
  std::vector<ParameterInfo> parameters;
  std::vector<CombineProgram> combines;
  std::vector<std::shared_ptr<const void>> payloads; ///< keeps evaluators' data alive
  std::set<std::string> names;
  std::unique_ptr<std::byte[]> constantMemory;
  const std::byte *constants = nullptr; ///< 64-byte aligned, in constantMemory
  /// Units: bytes of registers that one program instance needs.
  uint64_t frameBytes = 0;
  /// Combine programs: places of the results in the pointer table, and how many lanes one run
  /// takes.
  std::vector<uint32_t> returns;
  int64_t lanes = 1;
  MemoryUse memoryUse;
  bool hasAtomics = false; ///< atomics or volatile loads: programs may wait for one another
  /// The threads of a program may exchange what they loaded, at barriers that the compiler makes.
  bool mayExchange = true;
  bool waitsByLoads = false; ///< a loop without bounds may wait by plain loads
  bool showsValues = false;  ///< built for observers of values (FlatOptions::values)
  bool showsClaims = false;  ///< built for observers of claims, or of all values
  /// Of one that shows values: the same kernel in the fast form, which shows claims.
  std::shared_ptr<const FlatProgram> fast;
  std::vector<ShownOp> shown;                  ///< where it does, by op number
  std::shared_ptr<const IntegerRanges> ranges; ///< where it does

  bool isValid() const { return !instructions.empty(); }
};

/// Which access of a kernel an op is, in both modes: what it does, where it stands, and in which
/// iterations of the unrolled loops around it.
std::string accessKey(llvm::StringRef name, const SourceLocation &location,
                      llvm::ArrayRef<int32_t> iterations);

} // namespace blockscope::interpreter
