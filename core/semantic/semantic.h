// The rule book of the language: types, promotion, broadcasting and error texts, for both
// executors.
//
// Every function checks its operands, emits ops through the emitter and returns the result. An
// error is recorded once, with op and argument; from then on the functions emit nothing and return
// null values, so that callers need to look only at the end (`failed`). No exceptions here: the
// binding turns an error into Python's TypeError or ValueError.
#pragma once

#include "core/op_facts.h"
#include "core/semantic/operand.h"

#include "llvm/ADT/Twine.h"

#include <optional>
#include <utility>

namespace blockscope {

struct SemanticError {
  enum class Kind : uint8_t { Type, Value };
  Kind kind = Kind::Value;
  std::string message;
  std::string sentence; ///< the message without op and details; Triton's words where it has some
};

enum class BinaryOp : uint8_t { Add, Sub, Mul, TrueDiv, FloorDiv, Mod, And, Or, Xor, Shl, Shr };
enum class CompareOp : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };
/// The largest number of elements of a block.
inline constexpr int64_t kMaxBlockElements = 1048576;

class Semantic {
public:
  /// `checksOverflow`: the operators +, - and * assert that integers below 64 bits do not overflow.
  explicit Semantic(Emitter &emitter, bool checksOverflow = false)
      : emitter_(emitter), checksOverflow_(checksOverflow) {}

  /// Names the op that error texts speak of ("tl.load", "operator +") and forgets earlier errors.
  void begin(llvm::StringRef op);
  bool failed() const { return error_.has_value(); }
  const SemanticError &error() const { return *error_; }
  Emitter &emitter() { return emitter_; }

  //===-- Numbers ---------------------------------------------------------------------------===//
  Value toTensor(const Operand &operand);
  /// A scalar constant of `dtype`.
  Value constant(const Scalar &scalar, DType dtype);
  Value constant(int64_t value, DType dtype) { return constant(Scalar::ofInt(value), dtype); }
  Value full(llvm::ArrayRef<int64_t> shape, const Operand &value, std::optional<DType> dtype);
  Value zerosLike(const Value &x);

  //===-- Operators (arithmetic.cpp) --------------------------------------------------------===//
  Value binary(BinaryOp op, const Operand &lhs, const Operand &rhs);
  /// `binary` as kernels ask for it, which may overflow only where that is meant.
  Value binaryChecked(BinaryOp op, const Operand &lhs, const Operand &rhs);
  Value compare(CompareOp op, const Operand &lhs, const Operand &rhs);
  /// Unless `ieeeRounding`, a quotient of fp32 may be approximate, as that of `/`.
  Value fdiv(const Operand &lhs, const Operand &rhs, bool ieeeRounding);
  Value minimum(const Operand &lhs, const Operand &rhs, bool propagateNan);
  Value maximum(const Operand &lhs, const Operand &rhs, bool propagateNan);
  Value clamp(const Operand &x, const Operand &lo, const Operand &hi, bool propagateNan);
  Value negate(const Operand &x);
  Value plus(const Operand &x);
  Value invert(const Operand &x);
  /// `not x`, `x and y`, `x or y` on conditions: any integer counts as true when it is not 0.
  Value logicalNot(const Operand &x);
  Value logicalAnd(const Operand &lhs, const Operand &rhs);
  Value logicalOr(const Operand &lhs, const Operand &rhs);
  /// Brings all to one element type and one shape, by the rules of the operators.
  ValueList promote(llvm::ArrayRef<Operand> operands);
  Value where(const Operand &condition, const Operand &x, const Operand &y);

  //===-- Math (math.cpp) -------------------------------------------------------------------===//
  /// An elementwise op whose operands and result are of one type, which its facts allow. Several
  /// operands are brought to one type and shape by the rules of the operators.
  Value elementwise(const OpFacts &op, llvm::ArrayRef<Operand> operands);
  Value abs(const Operand &x);
  Value fma(const Operand &x, const Operand &y, const Operand &z);
  /// float32 only: correctly rounded square root and division.
  Value sqrtRn(const Operand &x);
  Value divRn(const Operand &x, const Operand &y);
  struct ExternFunction {
    std::string symbol;
    std::vector<std::string> libraries; ///< paths of bitcode; none: libdevice
    std::string digest;                 ///< of what is in them
    bool isPure = true;                 ///< it only computes
  };
  /// The function on each element of the arguments, which are brought to one shape; without
  /// arguments once. `result` is a scalar type.
  Value externElementwise(const ExternFunction &function, llvm::ArrayRef<Value> arguments,
                          const Type &result);

  //===-- Inline assembly (inline_asm.cpp) --------------------------------------------------===//
  struct AsmOptions {
    std::string constraints; ///< as LLVM has them
    bool isPure = true;      ///< it only computes
    int64_t pack = 1;        ///< elements for one run of the assembly
  };
  /// PTX on each `pack` elements of the arguments, which are brought to one shape. `results` are
  /// scalar types; without arguments the results are scalars.
  ValueList inlineAsm(llvm::StringRef text, llvm::ArrayRef<Value> arguments,
                      llvm::ArrayRef<Type> results, const AsmOptions &options);

  //===-- Casts (cast.cpp) ------------------------------------------------------------------===//
  /// Converts the element type to `to` (a scalar type, maybe a pointer); the shape stays.
  Value cast(const Value &x, const Type &to, std::optional<std::string> rounding = std::nullopt);
  Value cast(const Value &x, DType to) { return cast(x, Type::get(to)); }
  Value bitcast(const Value &x, const Type &to);
  /// int1: x itself, or x != 0.
  Value toCondition(const Value &x);
  Value promoteBf16(const Value &x);

  //===-- Creation and shape (shape.cpp) ----------------------------------------------------===//
  Value programId(int64_t axis);
  Value numPrograms(int64_t axis);
  Value arange(int64_t start, int64_t end);
  Value splat(const Value &scalar, llvm::ArrayRef<int64_t> shape);
  Value unsplat(const Value &block);
  Value expandDims(const Value &x, int64_t axis);
  Value broadcastTo(const Value &x, llvm::ArrayRef<int64_t> shape);
  std::pair<Value, Value> broadcast(const Value &lhs, const Value &rhs);
  Value reshape(const Value &x, llvm::ArrayRef<int64_t> shape, bool canReorder);
  Value permute(const Value &x, llvm::ArrayRef<int64_t> order);
  Value trans(const Value &x); ///< swaps the last two dimensions
  Value join(const Operand &lhs, const Operand &rhs);
  std::pair<Value, Value> split(const Value &x);
  Value cat(const Value &lhs, const Value &rhs, bool canReorder, int64_t dim);
  Value gather(const Value &source, const Value &indices, int64_t axis);
  /// Every dimension a power of two, at most `kMaxBlockElements` elements.
  bool checkBlockShape(llvm::ArrayRef<int64_t> shape);
  /// Returns `axis` counted from 0; negative ones count from the end.
  std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank);

  //===-- Memory (memory.cpp, atomic.cpp) ---------------------------------------------------===//
  struct LoadOptions {
    std::optional<Operand> mask, other;
    std::string cacheModifier, evictionPolicy;
    bool isVolatile = false;
    bool isDescribed = false; ///< by a tensor descriptor
  };
  Value load(const Value &pointer, const LoadOptions &options);
  struct StoreOptions {
    std::optional<Operand> mask;
    std::string cacheModifier, evictionPolicy;
    bool isDescribed = false; ///< by a tensor descriptor
  };
  void store(const Value &pointer, const Operand &value, const StoreOptions &options);
  /// Loads and stores that order others; of elements of every width.
  Value atomicLoad(const Value &pointer, const std::optional<Operand> &mask, llvm::StringRef sem,
                   llvm::StringRef scope);
  void atomicStore(const Value &pointer, const Operand &value, const std::optional<Operand> &mask,
                   llvm::StringRef sem, llvm::StringRef scope);
  /// Nanoseconds as int64, from a clock that all programs share.
  Value globalTimer();
  /// `kind`: add max min and or xor xchg.
  Value atomicRmw(llvm::StringRef kind, const Value &pointer, const Operand &value,
                  const std::optional<Operand> &mask, llvm::StringRef sem, llvm::StringRef scope);
  Value atomicCas(const Value &pointer, const Operand &compare, const Operand &value,
                  llvm::StringRef sem, llvm::StringRef scope);

  //===-- Dot (dot.cpp) ---------------------------------------------------------------------===//
  struct DotOptions {
    std::string inputPrecision = "ieee";
    std::optional<int64_t> maxNumImpreciseAcc; ///< of fp8 operands; others are exact anyway
    DType outDType = DType::Fp32;
  };
  Value dot(const Value &a, const Value &b, const std::optional<Value> &acc,
            const DotOptions &options);
  /// An operand of dotScaled (dot_scaled.cpp) and its scales along K, one for 16 or 32 elements:
  /// uint8, 2^(byte - 127), or fp8e4nv. `format`: e2m1 (two in a byte), e4m3, e5m2, bf16, fp16.
  struct ScaledOperand {
    Value value;
    std::optional<Value> scale; ///< [..., M or N, K / 16 or 32]
    std::string format;
    bool packsK = true; ///< a byte of e2m1 holds neighbours along K, else along M or N
  };
  /// `acc` plus the dot of the scaled operands, which become bf16, or fp16 when one of them is.
  /// `fastMath`: a scale of 255 is not looked for; it is infinite instead of NaN.
  Value dotScaled(const ScaledOperand &lhs, const ScaledOperand &rhs,
                  const std::optional<Value> &acc, bool fastMath, DType outDType);

  //===-- Reductions, scans, sort (reduce.cpp) ----------------------------------------------===//
  /// No axis: over all elements. Sizes of reduced axes become 1 with `keepDims`.
  ValueList reduce(llvm::ArrayRef<Value> operands, std::optional<int64_t> axis, bool keepDims,
                   CombineFunction combine);
  /// Operands of one shape; `pack` divides their elements.
  ValueList map(llvm::ArrayRef<Value> operands, int64_t pack, MapFunction function);
  ValueList scan(llvm::ArrayRef<Value> operands, int64_t axis, bool reverse,
                 CombineFunction combine);
  /// Reductions and scans with a combine function that is one op: they need no Python.
  Value reduceNamed(const NamedCombine &combine, const Value &x, std::optional<int64_t> axis,
                    bool keepDims);
  Value scanNamed(const NamedCombine &combine, const Value &x, int64_t axis, bool reverse);
  Value sort(const Value &x, int64_t dim, bool descending);
  Value histogram(const Value &x, int64_t bins, const std::optional<Value> &mask);

  //===-- Hints and debugging (debug.cpp) ---------------------------------------------------===//
  Value hint(llvm::StringRef kind, const Value &x, llvm::ArrayRef<int64_t> values);
  void assume(const Operand &condition);
  void barrier();
  void gdcWait();
  void gdcLaunchDependents();
  void deviceAssert(const Operand &condition, llvm::StringRef message,
                    const std::optional<Operand> &mask);
  void devicePrint(llvm::StringRef prefix, llvm::ArrayRef<Value> values, bool hex);

  /// Records the first error: its sentence, and what may follow in the message. Both return null.
  Value typeError(const llvm::Twine &sentence, const llvm::Twine &details = "");
  Value valueError(const llvm::Twine &sentence, const llvm::Twine &details = "");

private:
  struct BinaryRules {
    bool allowLhsPointer = false, allowRhsPointer = false;
    bool convert = true; ///< bring both sides to the common element type
    bool divides = false;
  };
  /// Converts both sides to one element type and one shape.
  std::pair<Value, Value> unify(const Operand &lhs, const Operand &rhs, BinaryRules rules);
  std::optional<DType> commonDType(const Type &lhs, bool lhsIsNumber, const Type &rhs,
                                   bool rhsIsNumber, bool divides);
  bool numberFits(const Scalar &scalar, DType dtype);
  /// Asserts that Add, Sub or Mul of two integers of one type does not overflow.
  void assertFits(BinaryOp op, const Value &lhs, const Value &rhs);
  Value addPointer(const Value &pointer, const Value &offset);
  /// Checks and shapes operands, lets `run` reduce them over an axis, shapes the results.
  ValueList reduceBy(llvm::ArrayRef<Value> operands, std::optional<int64_t> axis, bool keepDims,
                     llvm::function_ref<ValueList(llvm::ArrayRef<Value> operands, int axis)> run);
  /// The op of a combine function on elements of `type`. Errors: it has none for these.
  llvm::StringRef combineOp(const NamedCombine &combine, const Type &type);
  Value binaryInteger(BinaryOp op, const Operand &lhs, const Operand &rhs);
  Value divide(BinaryOp op, const Operand &lhs, const Operand &rhs);
  /// Marks an op whose result a GPU may approximate when it is fp32; the CPU never does.
  static Attributes approximation(const Type &type);
  /// The pointer to what is in memory: bools are bytes there, and pointers integers.
  Value asStored(const Value &pointer);
  /// Whether what goes with a pointer may have fewer dimensions, which are its last ones then.
  enum class Rank : uint8_t { Same, UpTo };
  /// The mask as int1 of the pointer's shape.
  Value maskFor(const Type &pointer, const Operand &mask, Rank rank = Rank::Same);
  bool checkPointer(const Value &pointer, bool writes);
  /// `value` as an element that is written to the pointer's shape.
  Value writtenValue(const Operand &value, const Type &element, llvm::StringRef argument,
                     Rank rank = Rank::Same);
  /// `value` brought to the shape of the pointer; `argument` is its name in the error text.
  Value fitToPointer(const Value &value, llvm::ArrayRef<int64_t> shape, llvm::StringRef argument,
                     Rank rank);
  /// `value` with sizes of 1 in front, as operators give them to the operand that has fewer.
  Value withRank(const Value &value, size_t rank);
  bool checkOneOf(llvm::StringRef argument, llvm::StringRef found,
                  llvm::ArrayRef<llvm::StringRef> allowed);

  Value emit1(llvm::StringRef name, llvm::ArrayRef<Value> operands, const Type &result,
              const Attributes &attributes = {});
  void emit0(llvm::StringRef name, llvm::ArrayRef<Value> operands,
             const Attributes &attributes = {});
  ValueList emitAll(llvm::StringRef name, llvm::ArrayRef<Value> operands,
                    llvm::ArrayRef<Type> results, const Attributes &attributes);
  Value record(SemanticError::Kind kind, const llvm::Twine &sentence, const llvm::Twine &details);

  /// Errors: an op that the function of a map may not have.
  bool checkInMap(llvm::StringRef name);

  Emitter &emitter_;
  bool checksOverflow_;
  int maps_ = 0;     ///< functions of maps that are being emitted
  int combines_ = 0; ///< functions of reductions and scans that are being emitted
  std::string op_;
  std::optional<SemanticError> error_;
};

/// Returns `[128, 64]`.
std::string shapeText(llvm::ArrayRef<int64_t> shape);
/// Returns `fp32`, `fp32[128, 64]`, `pointer<fp32>[128]`: how error texts name a type.
std::string typeText(const Type &type);
/// Returns the integer type that two integer types promote to, as in C.
DType promoteIntegers(DType lhs, DType rhs);

} // namespace blockscope
