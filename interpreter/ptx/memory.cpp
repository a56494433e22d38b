// Loads, stores and atomics: by the evaluators of tl.load, tl.store and tl.atomic_*, so that
// bounds, checks and traces are theirs.
//
// Registers hold addresses as they are on the host. One near a pointer among the arguments belongs
// to the tensor of that pointer, in bounds or not; any other to the tensor that it lies in, as
// tl.int_to_ptr says.
#include "interpreter/evaluator.h"
#include "interpreter/ptx/decoder.h"

#include "llvm/ADT/StringSwitch.h"

#include <cstdlib>
#include <cstring>
#include <memory>

namespace blockscope::interpreter::ptx {
namespace {

DType dtypeOf(llvm::StringRef type) {
  return llvm::StringSwitch<DType>(type)
      .Cases({"b8", "u8", "s8"}, DType::Int8)
      .Cases({"b16", "u16", "s16"}, DType::Int16)
      .Case("f16", DType::Fp16)
      .Case("bf16", DType::Bf16)
      .Cases({"b32", "u32", "s32"}, DType::Int32)
      .Cases({"b64", "u64", "s64"}, DType::Int64)
      .Case("f32", DType::Fp32)
      .Case("f64", DType::Fp64)
      .Default(DType::Void);
}

/// What all accesses say by modifiers.
struct AccessWords {
  std::string sem, scope;
  bool isVolatile = false;
  bool isHinted = false; ///< the last operand is a cache policy
  int vector = 1;
  std::string type;
};

AccessWords takeWords(Decoder &d) {
  AccessWords words;
  words.isVolatile = d.take("volatile");
  d.take("weak");
  d.take("mmio");
  words.sem = d.takeOneOf({"relaxed", "acquire", "release", "acq_rel"});
  words.scope = d.takeOneOf({"cta", "cluster", "gpu", "sys"});
  if (words.scope == "cluster")
    words.scope = "gpu";
  if (!d.takeOneOf({"shared", "local", "const", "param"}).empty())
    d.fail("only global memory can be accessed on the CPU");
  d.take("global");
  for (const char *hint : {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "noftz"})
    d.take(hint);
  for (;;) { // L1::no_allocate, L2::128B, L2::cache_hint
    bool found = false;
    for (const std::string &modifier : d.instruction().modifiers)
      if (llvm::StringRef(modifier).contains("::") && d.take(modifier)) {
        words.isHinted |= llvm::StringRef(modifier).ends_with("cache_hint");
        found = true;
        if (llvm::StringRef(modifier).starts_with("shared"))
          d.fail("only global memory can be accessed on the CPU");
      }
    if (!found)
      break;
  }
  const std::string vector = d.takeOneOf({"v2", "v4", "v8"});
  words.vector = vector.empty() ? 1 : vector[1] - '0';
  return words;
}

/// One access of the language with its evaluator.
struct Access {
  Evaluator evaluator;
  int64_t lanes = 1;
  int bytes = 4;
  bool isSigned = false;
  int64_t offset = 0; ///< in bytes, from the address in the register
};

Type shaped(DType dtype, int64_t lanes) {
  return lanes == 1 ? Type::get(dtype) : Type::get(dtype, {lanes});
}

/// Null after an error.
std::shared_ptr<Access> makeAccess(Decoder &d, llvm::StringRef op, DType dtype, int values,
                                   bool hasResult, bool hasMask, int64_t lanes,
                                   Attributes attributes) {
  OpSignature signature;
  signature.name = op;
  signature.operands.push_back(shaped(dtype, lanes).pointerTo());
  for (int i = 0; i < values; ++i)
    signature.operands.push_back(shaped(dtype, lanes));
  if (hasMask)
    signature.operands.push_back(shaped(DType::Int1, lanes));
  attributes.set("has_mask", hasMask);
  if (hasResult)
    signature.results.push_back(shaped(dtype, lanes));
  signature.attributes = std::move(attributes);
  EvaluatorOrError chosen = EvaluatorTable::instance().choose(signature);
  if (!chosen.error.empty()) {
    d.fail(chosen.error);
    return nullptr;
  }
  auto access = std::make_shared<Access>();
  access->evaluator = std::move(chosen.evaluator);
  access->lanes = lanes;
  access->bytes = byteSize(dtype);
  return access;
}

/// The operand [register + number]: its register becomes an input.
int64_t takeAddress(Decoder &d, const Operand &operand) {
  if (operand.kind != Operand::Kind::Address) {
    d.fail("expected an address, such as '[$1]'");
    return 0;
  }
  d.in(operand.parts[0], "b64");
  return static_cast<int64_t>(operand.bits);
}

constexpr int64_t kNear = 4096; ///< in bytes: what an offset in the text may add

DeviceAddress pointerTo(const Lanes &lanes, int64_t lane, uint64_t address) {
  const PointerArgument *nearest = nullptr;
  int64_t distance = kNear;
  for (const PointerArgument &argument : lanes.pointers) {
    const auto away = static_cast<int64_t>(address - argument.addresses[lane]);
    if (std::abs(away) < std::abs(distance)) {
      nearest = &argument;
      distance = away;
    }
  }
  return nearest ? nearest->pointers[lane] + static_cast<uint64_t>(distance)
                 : lanes.context->launch->memory.toPointer(address);
}

/// Blocks as evaluators have them, of the lanes [begin, begin + lanes).
class Blocks {
public:
  Blocks(const Access &access, const Lanes &lanes, int64_t begin)
      : access_(access), lanes_(lanes), begin_(begin), addresses_(access.lanes),
        mask_(access.lanes) {
    for (int64_t i = 0; i < access.lanes; ++i) {
      mask_[i] = lanes.isActive(begin + i);
      if (mask_[i])
        addresses_[i] = pointerTo(lanes, begin + i, lanes.in[0][begin + i] + access.offset);
    }
  }

  /// A block with the low bytes of input `number`.
  const std::byte *take(int number) {
    std::vector<std::byte> &block = values_.emplace_back(access_.lanes * access_.bytes);
    for (int64_t i = 0; i < access_.lanes; ++i)
      std::memcpy(block.data() + i * access_.bytes, &lanes_.in[number][begin_ + i], access_.bytes);
    return block.data();
  }

  /// Runs the access; `out` gets the elements of the active lanes as words.
  void run(llvm::ArrayRef<const std::byte *> values, bool hasMask, uint64_t *out) {
    llvm::SmallVector<const void *, 4> operands = {addresses_.data()};
    operands.append(values.begin(), values.end());
    if (hasMask)
      operands.push_back(mask_.data());
    std::vector<std::byte> result(out ? access_.lanes * access_.bytes : 0);
    void *results[] = {result.data()};
    access_.evaluator.context(*lanes_.context, results, operands.data(),
                              access_.evaluator.payload.get());
    for (int64_t i = 0; out && i < access_.lanes; ++i) {
      uint64_t word = 0;
      std::memcpy(&word, result.data() + i * access_.bytes, access_.bytes);
      const int unused = 64 - 8 * access_.bytes;
      out[begin_ + i] = access_.isSigned
                            ? static_cast<uint64_t>(static_cast<int64_t>(word << unused) >> unused)
                            : word;
    }
  }

private:
  const Access &access_;
  const Lanes &lanes_;
  int64_t begin_;
  std::vector<DeviceAddress> addresses_;
  std::vector<uint8_t> mask_;
  std::vector<std::vector<std::byte>> values_;
};

/// The registers of a load or store: one, or a list of them.
llvm::ArrayRef<Operand> partsOf(const Operand &operand) {
  return operand.kind == Operand::Kind::Vector ? llvm::ArrayRef(operand.parts)
                                               : llvm::ArrayRef(operand);
}

Attributes orderOf(const AccessWords &words) {
  Attributes attributes;
  attributes.set("sem", words.sem);
  attributes.set("scope", words.scope.empty() ? std::string("gpu") : words.scope);
  return attributes;
}

void decodeMove(Decoder &d, bool isLoad) {
  AccessWords words = takeWords(d);
  const std::string type = d.takeType();
  const DType dtype = dtypeOf(type);
  if (dtype == DType::Void)
    return d.failType(type);
  if (!d.expectOperands(words.isHinted ? 3 : 2))
    return;
  const Operand &value = d.operand(isLoad ? 0 : 1);
  const llvm::ArrayRef<Operand> parts = partsOf(value);
  if (static_cast<int>(parts.size()) != words.vector)
    return d.fail("it has " + std::to_string(parts.size()) + " registers, expected " +
                  std::to_string(words.vector));
  const bool isAtomic = !words.sem.empty();
  Attributes attributes = isAtomic ? orderOf(words) : Attributes();
  if (isLoad && words.isVolatile)
    attributes.set("is_volatile", true);
  const llvm::StringRef op = isLoad ? (isAtomic ? "tl.atomic_load" : "tl.load")
                                    : (isAtomic ? "tl.atomic_store" : "tl.store");
  const int64_t offset = takeAddress(d, d.operand(isLoad ? 1 : 0));
  const auto access = makeAccess(d, op, dtype, isLoad ? 0 : 1, isLoad, true, d.lanes(), attributes);
  if (!access)
    return;
  access->isSigned = type[0] == 's';
  for (const Operand &part : parts)
    isLoad ? d.out(part, type, /*mayBeWider=*/true) : d.in(part, type, /*mayBeWider=*/true);
  d.set(
      [=, count = words.vector](const Lanes &lanes) {
        Access one = *access;
        for (int k = 0; k < count; ++k) {
          one.offset = offset + int64_t{k} * one.bytes;
          Blocks blocks(one, lanes, 0);
          if (isLoad)
            blocks.run({}, true, lanes.out[k]);
          else
            blocks.run(blocks.take(k + 1), true, nullptr);
        }
      },
      /*hasEffects=*/true);
}

/// The kind of tl.atomic_rmw; empty where it has none.
std::string kindOf(llvm::StringRef operation, llvm::StringRef type) {
  const bool isFloat = type.contains('f'), isUnsigned = type.starts_with("u");
  if (operation == "exch")
    return "xchg";
  if (operation == "add")
    return isFloat ? "fadd" : "add";
  if (operation == "min" || operation == "max")
    return (isFloat ? "f" : isUnsigned ? "u" : "") + operation.str();
  return operation == "and" || operation == "or" || operation == "xor" ? operation.str() : "";
}

void decodeAtomic(Decoder &d, bool hasResult) {
  AccessWords words = takeWords(d);
  if (words.sem.empty())
    words.sem = "relaxed";
  const std::string operation =
      d.takeOneOf({"exch", "add", "min", "max", "and", "or", "xor", "cas", "inc", "dec"});
  const std::string type = d.takeType();
  const DType dtype = dtypeOf(type);
  const bool isCas = operation == "cas";
  const std::string kind = kindOf(operation, type);
  if (dtype == DType::Void || words.vector != 1)
    return d.failType(type);
  if (kind.empty() && !isCas)
    return d.fail("'." + operation + "' is not supported on the CPU");
  const int values = isCas ? 2 : 1;
  if (!d.expectOperands((hasResult ? 1 : 0) + 1 + values + (words.isHinted ? 1 : 0)))
    return;
  Attributes attributes = orderOf(words);
  if (!isCas)
    attributes.set("kind", kind);
  // One lane at a time where there is no mask.
  const int64_t lanes = isCas ? 1 : d.lanes();
  const auto access = makeAccess(d, isCas ? "tl.atomic_cas" : "tl.atomic_rmw", dtype, values, true,
                                 !isCas, lanes, attributes);
  if (!access)
    return;
  access->isSigned = type[0] == 's';
  const size_t first = hasResult ? 1 : 0;
  if (hasResult)
    d.out(d.operand(0), type, /*mayBeWider=*/true);
  access->offset = takeAddress(d, d.operand(first));
  for (int i = 0; i < values; ++i)
    d.in(d.operand(first + 1 + i), type, /*mayBeWider=*/true);
  d.set(
      [=](const Lanes &all) {
        for (int64_t lane = 0; lane < all.count; lane += lanes) {
          if (isCas && !all.isActive(lane))
            continue;
          Blocks blocks(*access, all, lane);
          llvm::SmallVector<const std::byte *, 2> taken;
          for (int i = 0; i < values; ++i)
            taken.push_back(blocks.take(i + 1));
          std::vector<uint64_t> unused(hasResult && all.out[0] ? 0 : all.count);
          blocks.run(taken, !isCas, unused.empty() ? all.out[0] : unused.data());
        }
      },
      /*hasEffects=*/true);
}

} // namespace

void decodeMemory(Decoder &d) {
  if (d.name() == "ld" || d.name() == "st")
    decodeMove(d, d.name() == "ld");
  else if (d.name() == "atom" || d.name() == "red")
    decodeAtomic(d, d.name() == "atom");
}

} // namespace blockscope::interpreter::ptx
