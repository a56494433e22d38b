// Ops on floats as ops on their payloads.
#include "core/semantic/payload_emitter.h"

#include "core/dot_precision.h"
#include "core/numeric/payload.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace blockscope {
namespace {

DType integerOf(int bits) {
  return bits == 8    ? DType::Int8
         : bits == 16 ? DType::Int16
         : bits == 32 ? DType::Int32
                      : DType::Int64;
}

Type payloadType(const Type &type) { return type.withDType(integerOf(bitWidth(type.dtype))); }

/// Which function a tagged op stands for; the numbers are Triton's.
std::optional<uint64_t> tagOf(const OpRequest &request) {
  const bool isExact = !request.attributes.find("fastmath");
  const bool isSingle = request.resultTypes[0].dtype == DType::Fp32;
  return llvm::StringSwitch<std::optional<uint64_t>>(request.name)
      .Case("math.log", 1)
      .Case("math.log2", 3)
      .Case("math.sqrt", isExact && isSingle ? 11 : 6)
      .Case("math.rsqrt", 7)
      .Case("math.erf", 8)
      .Case("math.floor", 9)
      .Case("math.ceil", 10)
      .Default(std::nullopt);
}

/// The libdevice function that the language's op is in Triton, without the `f` of fp32.
llvm::StringRef libdeviceNameOf(llvm::StringRef op) {
  return llvm::StringSwitch<llvm::StringRef>(op)
      .Case("math.tan", "__nv_tan")
      .Case("math.tanh", "__nv_tanh")
      .Case("math.roundeven", "__nv_rint")
      .Case("math.trunc", "__nv_trunc")
      .Default("");
}

uint64_t mixed(uint64_t h) {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccd;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53;
  return h ^ h >> 33;
}

uint64_t hashOf(llvm::StringRef text) {
  uint64_t hash = 14695981039346656037ULL;
  for (const unsigned char byte : text.bytes())
    hash = (hash ^ byte) * 1099511628211ULL;
  return hash;
}

/// The op on payloads that a float op of two operands is; "" for others.
llvm::StringRef ringOp(llvm::StringRef op) {
  return llvm::StringSwitch<llvm::StringRef>(op)
      .Case("arith.addf", "arith.addi")
      .Case("arith.subf", "arith.subi")
      .Case("arith.mulf", "arith.muli")
      .Cases({"arith.maxnumf", "arith.maximumf"}, "arith.maxsi")
      .Cases({"arith.minnumf", "arith.minimumf"}, "arith.minsi")
      .Default("");
}

constexpr int64_t kNotEqual = 1; // of arith.cmpi
} // namespace

/// Integers of one type, and what is computed with them.
class PayloadEmitter::Ring {
public:
  Ring(Emitter &emitter, const Type &type) : emitter_(emitter), type_(payloadType(type)) {}

  int bits() const { return bitWidth(type_.dtype); }

  Value embed(const Value &x) const {
    const Ring ring(emitter_, Type::get(type_.dtype, x.type.shape)); // a dot's operands differ
    return ring.resized(x.type.isFloating() ? op("tl.to_payload", {x}, payloadType(x.type)) : x);
  }
  Value unembed(const Value &x, const Type &type) const { return op("tl.from_payload", {x}, type); }

  Value number(uint64_t value) const {
    const unsigned unused = 64 - static_cast<unsigned>(bits());
    const Value scalar =
        emitter_.intConstant(type_.scalar(), static_cast<int64_t>(value << unused) >> unused);
    return type_.isBlock() ? op("tl.splat", {scalar}, type_) : scalar;
  }
  Value op(llvm::StringRef name, llvm::ArrayRef<Value> operands,
           const Attributes &attributes = {}) const {
    return op(name, operands, type_, attributes);
  }
  Value add(const Value &x, const Value &y) const { return op("arith.addi", {x, y}); }
  Value subtract(const Value &x, const Value &y) const { return op("arith.subi", {x, y}); }
  Value multiply(const Value &x, const Value &y) const { return op("arith.muli", {x, y}); }
  Value both(const Value &x, const Value &y) const { return op("arith.andi", {x, y}); }
  Value any(const Value &x, const Value &y) const { return op("arith.ori", {x, y}); }
  Value differs(const Value &x, const Value &y) const { return op("arith.xori", {x, y}); }
  Value left(const Value &x, int by) const { return op("arith.shli", {x, number(by)}); }
  Value right(const Value &x, int by) const { return op("arith.shrui", {x, number(by)}); }

  /// An integer of another width: sign-extended, or folded so that what is cut off still counts.
  Value resized(const Value &x) const {
    const int from = bitWidth(x.type.dtype), to = bits();
    if (from == to)
      return x;
    if (from < to)
      return op(x.type.isBool() ? "arith.extui" : "arith.extsi", {x});
    const Ring wide(emitter_, x.type);
    const Value low = op("arith.trunci", {x});
    const Value rest = wide.differs(x, wide.op("arith.extsi", {low}));
    uint64_t factor = 0;
    for (int at = 0; at < from; at += to)
      factor |= (uint64_t{3511} & ((uint64_t{1} << to) - 1)) << at;
    const Value high =
        op("arith.trunci", {wide.right(wide.multiply(rest, wide.number(factor)), from - to)});
    return differs(low, differs(high, right(high, to / 2)));
  }
  /// 1 / x for odd x; even ones stay even.
  Value inverse(const Value &x) const {
    const Value odd = any(x, number(1));
    Value found = subtract(number(2), odd);
    for (int right = 2; right < bits(); right *= 2)
      found = multiply(found, subtract(number(2), multiply(odd, found)));
    return any(both(found, number(~uint64_t{1})), both(x, number(1)));
  }
  /// (1 + 2^k)^x for k = bits / 4: the first four terms of its sum are all that is left of it.
  Value powerOfTwo(const Value &x) const {
    const int k = (bits() + 3) / 4;
    const Value pairs = right(multiply(x, subtract(x, number(1))), 1);
    const Value low = both(x, number((uint64_t{2} << (bits() - 3 * k)) - 1));
    const Value ways = multiply(multiply(low, subtract(low, number(1))), subtract(low, number(2)));
    const Value triples = op("arith.divui", {ways, number(6)});
    return add(add(add(number(1), left(x, k)), left(pairs, 2 * k)), left(triples, 3 * k));
  }
  /// The cosine and sine of x: (-3/5 + 4/5 i)^x, bit by bit from the highest.
  std::pair<Value, Value> angle(const Value &x) const {
    const uint64_t fifth = numeric::inverseOfOdd(5);
    const Value a = number(0 - 3 * fifth), b = number(4 * fifth), zero = number(0);
    Value cosine = number(1), sine = zero;
    for (int bit = bits() - 1; bit >= 0; --bit) {
      const Value c = subtract(multiply(cosine, cosine), multiply(sine, sine));
      const Value s = multiply(number(2), multiply(cosine, sine));
      const Value isSet = op("arith.cmpi", {both(x, number(uint64_t{1} << bit)), zero},
                             type_.withDType(DType::Int1), {{"predicate", kNotEqual}});
      const Value turnedC = subtract(multiply(a, c), multiply(b, s));
      const Value turnedS = add(multiply(a, s), multiply(b, c));
      cosine = op("arith.select", {isSet, turnedC, c});
      sine = op("arith.select", {isSet, turnedS, s});
    }
    return {cosine, sine};
  }
  /// That of a float without its sign bit: the opposite of negative ones, of -0 it is 0.
  Value absolute(const Value &x) const {
    const Value larger = op("arith.maxsi", {x, subtract(number(0), x)});
    return both(larger, number(~(uint64_t{1} << (bits() - 1))));
  }
  Value tagged(const Value &x, uint64_t tag) const {
    const Value factor = number(314159);
    return multiply(differs(multiply(x, factor), number(mixed(tag))), factor);
  }
  /// Any function of the operands: it tells operands, their order and functions apart.
  Value unknownFunction(llvm::ArrayRef<Value> operands, uint64_t hash) const {
    Value sum = number(0);
    for (size_t i = 0; i < operands.size(); ++i) {
      Value x = embed(operands[i]);
      if (const int by = static_cast<int>(i) % bits())
        x = any(left(x, by), right(x, bits() - by));
      sum = add(sum, x);
    }
    return differs(sum, number(hash));
  }

private:
  Value op(llvm::StringRef name, llvm::ArrayRef<Value> operands, const Type &type,
           const Attributes &attributes = {}) const {
    ValueList made = emitter_.emit({name, operands, attributes, type});
    if (made.empty())
      return {};
    made[0].type = type;
    return made[0];
  }

  Emitter &emitter_;
  Type type_;
};

ValueList PayloadEmitter::emit(const OpRequest &request) {
  const llvm::StringRef name = request.name;
  const llvm::ArrayRef<Value> operands = request.operands;
  if (request.resultTypes.empty() || !request.resultTypes[0].isFloating())
    return inner_.emit(request);
  const Type &type = request.resultTypes[0];
  const Ring ring(inner_, type);
  const auto embedded = [&](size_t i) { return ring.embed(operands[i]); };
  const auto result = [&](const Value &payload) -> ValueList {
    return {ring.unembed(payload, type)};
  };

  if (const llvm::StringRef same = ringOp(name); !same.empty())
    return result(ring.op(same, {embedded(0), embedded(1)}));
  if (const std::optional<uint64_t> tag = tagOf(request))
    return result(ring.tagged(embedded(0), *tag));
  if (name == "math.absf")
    return result(ring.absolute(embedded(0)));
  if (name == "arith.negf")
    return result(ring.subtract(ring.number(0), embedded(0)));
  if (name == "arith.divf")
    return result(ring.multiply(embedded(0), ring.inverse(embedded(1))));
  if (name == "arith.remf")
    return result(ring.op("arith.remsi", {embedded(0), ring.any(embedded(1), ring.number(1))}));
  if (name == "math.fma")
    return result(ring.add(ring.multiply(embedded(0), embedded(1)), embedded(2)));
  if (name == "tl.clamp")
    return result(
        ring.op("arith.minsi", {ring.op("arith.maxsi", {embedded(0), embedded(1)}), embedded(2)}));
  if (name == "math.exp2")
    return result(ring.powerOfTwo(embedded(0)));
  const bool isFastExp = request.attributes.getString("symbol") == "__nv_fast_expf";
  if (name == "math.exp" || isFastExp)
    return result(ring.powerOfTwo(ring.multiply(embedded(0), ring.number(648190581))));
  if (name == "math.cos")
    return result(ring.angle(embedded(0)).first);
  if (name == "math.sin")
    return result(ring.angle(embedded(0)).second);
  if (name == "tl.fp_cast")
    return result(embedded(0));
  if (name == "tl.sort")
    return result(ring.op(name, {embedded(0)}, request.attributes));
  if (name == "tl.dot")
    return emitDot(request);
  if (name == "tl.atomic_rmw" && request.attributes.getString("kind").starts_with("f")) {
    Attributes attributes = request.attributes;
    attributes.set("kind", attributes.getString("kind").str() + "_payload");
    return inner_.emit({name, operands, attributes, request.resultTypes});
  }
  if (name == "tl.extern_elementwise")
    return result(ring.unknownFunction(operands, hashOf(request.attributes.getString("symbol"))));
  if (name == "tl.inline_asm")
    return emitAssembly(request);
  if (const llvm::StringRef function = libdeviceNameOf(name); !function.empty())
    return result(ring.unknownFunction(
        operands, hashOf(function.str() + (type.dtype == DType::Fp32 ? "f" : ""))));
  return inner_.emit(request);
}

ValueList PayloadEmitter::emitDot(const OpRequest &request) {
  const Type &type = request.resultTypes[0];
  const int bits = bitWidth(type.dtype);
  if (llvm::any_of(request.operands,
                   [&](const Value &operand) { return bitWidth(operand.type.dtype) > bits; })) {
    const Ring ring(inner_, type); // operands are folded first
    ValueList embedded;
    for (const Value &operand : request.operands)
      embedded.push_back(ring.embed(operand));
    return {ring.unembed(ring.op(request.name, embedded), type)};
  }
  // Still a dot of floats, so that a GPU's layouts, copies and instructions are those of the
  // kernel.
  const bool isTf32 = request.attributes.getString("input_precision").starts_with("tf32");
  Attributes attributes;
  attributes.set("input_precision", (isTf32 ? "tf32" : "ieee") + kOfPayloads.str());
  return inner_.emit({request.name, request.operands, attributes, request.resultTypes});
}

ValueList PayloadEmitter::emitAssembly(const OpRequest &request) {
  const auto isFloat = [](const Type &type) { return type.isFloating(); };
  const auto isPointer = [](const Value &operand) { return operand.type.isPointer(); };
  if (request.operands.empty() || !llvm::all_of(request.resultTypes, isFloat) ||
      llvm::any_of(request.operands, isPointer))
    return inner_.emit(request);
  const uint64_t hash = hashOf(request.attributes.getString("asm_string"));
  ValueList results;
  for (const auto &[i, type] : llvm::enumerate(request.resultTypes)) {
    const Ring ring(inner_, type);
    results.push_back(ring.unembed(ring.unknownFunction(request.operands, hash ^ i), type));
  }
  return results;
}

Value PayloadEmitter::intConstant(Type scalarType, int64_t value) {
  return inner_.intConstant(scalarType, value);
}

Value PayloadEmitter::floatConstant(Type scalarType, double value) {
  return inner_.floatConstant(scalarType, value);
}

ValueList PayloadEmitter::reduce(llvm::ArrayRef<Value> operands, int axis,
                                 CombineFunction combine) {
  return inner_.reduce(operands, axis, combine);
}

ValueList PayloadEmitter::scan(llvm::ArrayRef<Value> operands, int axis, bool reverse,
                               CombineFunction combine) {
  return inner_.scan(operands, axis, reverse, combine);
}

ValueList PayloadEmitter::map(llvm::ArrayRef<Value> operands, int64_t pack, MapFunction function) {
  return inner_.map(operands, pack, function);
}

std::function<ValueList(llvm::ArrayRef<Value>, llvm::ArrayRef<Value>)>
PayloadEmitter::combineBy(llvm::StringRef combineOp) {
  return [this, op = ringOp(combineOp)](llvm::ArrayRef<Value> lhs,
                                        llvm::ArrayRef<Value> rhs) -> ValueList {
    return {Ring(inner_, lhs[0].type).op(op, {lhs[0], rhs[0]})};
  };
}

Value PayloadEmitter::reduceByOp(llvm::StringRef combineOp, const Value &operand, int axis) {
  if (!operand.type.isFloating())
    return inner_.reduceByOp(combineOp, operand, axis);
  Type type = operand.type;
  type.shape.erase(type.shape.begin() + axis);
  const Value embedded = Ring(inner_, operand.type).embed(operand);
  Value found = inner_.reduceByOp(ringOp(combineOp), embedded, axis);
  if (!found) {
    ValueList made = inner_.reduce(embedded, axis, combineBy(combineOp));
    if (made.empty())
      return {};
    found = made.front();
  }
  found.type = payloadType(type);
  return Ring(inner_, type).unembed(found, type);
}

Value PayloadEmitter::scanByOp(llvm::StringRef combineOp, const Value &operand, int axis,
                               bool reverse) {
  if (!operand.type.isFloating())
    return inner_.scanByOp(combineOp, operand, axis, reverse);
  const Ring ring(inner_, operand.type);
  const Value embedded = ring.embed(operand);
  Value found = inner_.scanByOp(ringOp(combineOp), embedded, axis, reverse);
  if (!found) {
    ValueList made = inner_.scan(embedded, axis, reverse, combineBy(combineOp));
    if (made.empty())
      return {};
    found = made.front();
  }
  found.type = payloadType(operand.type);
  return ring.unembed(found, operand.type);
}

} // namespace blockscope
