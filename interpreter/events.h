// What happens in a launch, as observers see it: plain data that lives as long as its event.
#pragma once

#include "core/finding.h"
#include "core/type.h"
#include "interpreter/access_run.h"
#include "interpreter/address_form.h"
#include "interpreter/memory.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace blockscope::interpreter {

struct CombineRegion;
struct OpSignature;
struct FlatProgram;
class Observer;

enum class AtomicSemantics : uint8_t { Relaxed, Acquire, Release, AcquireRelease };
enum class AtomicScope : uint8_t { Cta, Gpu, System };

/// What a program does with the result of an atomic: nothing; it computes and stores with it; it
/// may let it decide what it does next, or where.
enum class ResultUse : uint8_t { None, Data, Decides };

/// One static op that accesses memory, prints or asserts; the same for all programs of a launch.
/// Where values are shown, every op has one.
struct OpInfo {
  uint32_t id = 0;  ///< counts the ops of a program
  std::string name; ///< "tl.load"
  SourceLocation location;
  bool isMasked = false;   ///< the kernel gives a mask
  bool isUnsigned = false; ///< its (first) result is an unsigned integer in the language
  /// A load whose masked-off lanes have no value, and may be used. Not known in step mode.
  bool leavesLanesUndefined = false;
  /// Of an atomic. In step mode, of a kernel that cannot be compiled, the most there is.
  ResultUse resultUse = ResultUse::Decides;
  /// What the kernel's expression says of the addresses; null where it is not known, or where
  /// several accesses have this place.
  std::shared_ptr<const AddressForm> address = nullptr;
};

/// How many programs a GPU holds at a time, and what of the kernel says so.
struct Residency {
  int64_t programs = 0;
  std::string reason;
};

struct LaunchInfo {
  std::string kernel;
  std::array<int32_t, 3> grid = {1, 1, 1};
  NamedValues metaParameters; ///< constexprs, scalar arguments and options
  /// Files of the functions that the kernel consists of, its own first. In step mode more come
  /// until the launch ends.
  std::vector<std::string> files;
  int64_t launchIndex = 0;
  int workers = 1;
  const MemoryMap *memory = nullptr;
  /// Whether the kernel has atomics or volatile loads (when false, programs need no clocks).
  bool hasAtomics = false;
  /// Whether programs may wait for one another at all, also by plain loads in a loop.
  bool countsChanges = false;
  /// Whether programs may look at what others do, and wait for it: the result of an atomic is used,
  /// a load is volatile, or a loop without bounds depends on what it loads.
  bool mayWait = true;
  /// This run may be thrown away and done again (see ObserverPlan::Repeat). Then what one program
  /// does depends on others only through plain loads of what they store.
  bool isTrial = false;
  /// The kernel as a flat program, and its arguments as bits by parameter. In step mode null where
  /// it cannot be compiled.
  const FlatProgram *program = nullptr;
  llvm::ArrayRef<uint64_t> arguments;
  /// Runs programs that the grid does not have, from `first` on, for this observer alone, and puts
  /// memory back. False where it cannot be done. Empty but in onLaunchEnd.
  std::function<bool(std::array<int32_t, 3> first, std::array<int32_t, 3> count, Observer &)>
      runOutside;
  /// Compiles the kernel for a GPU, to say how many of its programs one holds at a time. Nothing
  /// where it cannot be compiled. Empty where nobody can; may take a second.
  std::function<std::optional<Residency>()> askResidency;
};

/// One executed memory operation of one program, before its effect on memory (for atomics: after).
struct Access {
  const OpInfo *op;
  AccessKind kind;
  AtomicSemantics semantics = AtomicSemantics::Relaxed; ///< atomics only
  AtomicScope scope = AtomicScope::Gpu;
  bool isVolatile = false;
  int64_t program; ///< linear: x + grid.x * (y + grid.y * z)
  int worker;
  uint64_t sequence; ///< counts the accesses of this program
  int64_t lanes;     ///< elements of the block
  llvm::ArrayRef<int64_t> blockShape;
  int elementBytes;
  DType dtype; ///< of the elements, as stored: pointers are 64-bit integers
  /// Per lane. Null when all active lanes lie inside the dense view of `allocation`, without
  /// overlap: then offsets and `box` (or runs) say all, and `mask` is null too.
  const DeviceAddress *addresses;
  const AccessBox *box;         ///< null when `addresses` is not
  const uint8_t *mask;          ///< per lane, null when all are active
  const void *values;           ///< what is stored; what other atomics found (see kind)
  const void *operandValues;    ///< atomics: the operand; else null
  bool valuesAreScalar = false; ///< `values` is one element for all lanes
  /// The one allocation of all active lanes; null when lanes differ (then see addresses).
  const Allocation *allocation;
  /// Lowest and highest byte offset of active lanes in `allocation` (start of the element).
  int64_t minOffset;
  int64_t maxOffset;
  /// Maximal runs over active in-bounds lanes, in lane order. Filled when an observer needs runs.
  llvm::ArrayRef<AccessRun> runs;
  /// Loop counters of the enclosing loops, outermost first.
  llvm::ArrayRef<int64_t> loopIterations;
  int64_t activeLanes;
};

/// A lane whose access the machine refused (it is outside every extent, null, or misaligned).
struct RefusedLane {
  enum class Reason : uint8_t { OutOfStorage, Gone, Null, Wild, Misaligned, ReadOnly };
  int64_t lane;
  DeviceAddress address;
  const Allocation *allocation; ///< null for wild and null pointers
  Reason reason;
};

/// A device_assert that failed for some lanes of a block.
struct FailedAssert {
  const OpInfo *op; ///< null in step mode without observers
  int64_t program;
  uint64_t sequence; ///< as Access::sequence
  llvm::ArrayRef<int64_t> lanes;
  llvm::ArrayRef<int64_t> blockShape;
  llvm::ArrayRef<int64_t> loopIterations;
  llvm::StringRef message;
  /// Of the first lane that failed: the two sides of the comparison, how many lanes failed.
  const NamedValues &values;
};

/// One element got another value.
struct Change {
  const OpInfo *op = nullptr;
  AccessKind kind = AccessKind::Store;
  DType dtype = DType::Void; ///< as stored
  int elementBytes = 0;
  bool isSwap = false; ///< an exchange, or a compare-and-swap of two different values
  int64_t program = 0;
  uint64_t before = 0, after = 0; ///< bits of the element
  uint64_t when = 0;              ///< LaunchState::progress behind it
};

/// A program that waits for ever: it spins at `op`, which looks at `address`.
struct StuckProgram {
  const OpInfo *op;
  int64_t program;
  DeviceAddress address;
  llvm::ArrayRef<int64_t> loopIterations; ///< but those of the loop that spins
  bool isPlainLoad = false;               ///< the loads of `op` order nothing; `address` may be 0
  bool isSwap = false;                    ///< as Change::isSwap, of `op`
  int64_t lanes = 1;                      ///< that `op` looks at; `address` is that of the first
  std::optional<Change> change = std::nullopt; ///< that gave the element its value, when known
  bool isUntouched = false;                    ///< no program can have changed the element
};

/// All programs that have begun wait, and none can go on before another one begins. A GPU that
/// holds no more than these at a time never begins it.
struct NotResident {
  llvm::ArrayRef<StuckProgram> waiting; ///< in order of their numbers
  int64_t next;                         ///< the program that begins now
};

/// A loop that counts up to its end in steps of 0 or less, or one without bounds whose condition
/// will never change.
struct EndlessLoop {
  const OpInfo *op;
  int64_t program;
  llvm::ArrayRef<int64_t> loopIterations; ///< but those of the loop itself
  struct Bounds {
    int64_t begin, end, step;
  };
  std::optional<Bounds> bounds = std::nullopt;
};

/// Elements of one operand or result of an op.
struct ValueView {
  enum class Extent : uint8_t {
    Strip, ///< the elements that the event is about
    Whole, ///< the whole block, whatever the event is about (of a broadcast, say)
    One,   ///< one element, which all elements of the block are equal to
  };
  /// Names the value: it is found here until no op needs it any more; then another one may be.
  const void *data;
  const Type *type; ///< of the whole block; storage dtypes (signless)
  Extent extent;

  /// How many elements are here, in an event about `count`.
  int64_t elements(int64_t count) const {
    return extent == Extent::Strip ? count : extent == Extent::Whole ? type->numElements() : 1;
  }
};

/// An op has run, or the part of an elementwise op that makes elements [begin, begin + count) of
/// its results. Operands are as they were: no result has taken the place of one.
///
/// Ops that only give a value another shape or type are not seen where their result is the same
/// bytes, and ops of a combine region are seen as the one reduce or scan that they belong to. The
/// counter of a loop is a result of "scf.for" at each iteration. Where only claims are wanted,
/// events have no results.
struct OpValues {
  const OpInfo *op;
  const OpSignature *signature;
  int64_t program;
  int worker;
  int64_t begin, count; ///< in elements of the result (of the first operand, without a result)
  llvm::ArrayRef<ValueView> operands, results;
  llvm::ArrayRef<int64_t> loopIterations;
  /// Of a reduction or scan (interpreter/combine_region.h); null where its region is not known.
  const CombineRegion *region = nullptr;
};

/// A value goes on under another name: around a loop, out of a branch.
struct ValueMove {
  int64_t program;
  int worker;
  const void *from;
  void *to;
  int64_t bytes;
};

/// The way that a program takes depends on these values: a condition, or the bounds of a loop.
struct ValueDecision {
  const OpInfo *op; ///< "scf.if", "scf.for", "scf.while"; in step mode "python"
  int64_t program;
  int worker;
  llvm::ArrayRef<ValueView> values;
  llvm::ArrayRef<int64_t> loopIterations;
};

} // namespace blockscope::interpreter
