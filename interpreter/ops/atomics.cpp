// Atomics on real host atomics, lane by lane in lane order.
//
// Every atomic is sequentially consistent on the host; what the kernel asked for (sem, scope) is
// recorded for the observers. Floats of 16 bits compute in fp32 and round once.
#include "core/numeric/float_format.h"
#include "core/numeric/payload.h"
#include "interpreter/evaluator.h"
#include "interpreter/lane_access.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"

#include <chrono>
#include <cstring>
#include <limits>

namespace blockscope::interpreter {
namespace {

/// One atomic on one element: writes the old value and returns whether memory changed.
using RmwFn = bool (*)(void *target, const void *operand, void *old);
using CasFn = bool (*)(void *target, const void *compare, const void *value, void *old);

struct AtomicOp {
  AccessShape shape;
  RmwFn rmw = nullptr;
  CasFn cas = nullptr;
  bool hasMask = false;
  bool isSwap = false; ///< an exchange; of a compare-and-swap its operands say it
};

// Integers, exchange and bits: `T` is the unsigned or signed integer of the element's width.
template <typename T, T (*combine)(T, T)>
bool integerRmw(void *target, const void *operand, void *old) {
  auto *at = static_cast<T *>(target);
  const T x = *static_cast<const T *>(operand);
  T seen = __atomic_load_n(at, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(at, &seen, combine(seen, x), /*weak=*/true, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
  }
  *static_cast<T *>(old) = seen;
  return combine(seen, x) != seen;
}

template <typename T> bool addRmw(void *target, const void *operand, void *old) {
  const T x = *static_cast<const T *>(operand);
  *static_cast<T *>(old) = __atomic_fetch_add(static_cast<T *>(target), x, __ATOMIC_SEQ_CST);
  return x != 0;
}

template <typename T> bool exchangeRmw(void *target, const void *operand, void *old) {
  const T x = *static_cast<const T *>(operand);
  const T seen = __atomic_exchange_n(static_cast<T *>(target), x, __ATOMIC_SEQ_CST);
  *static_cast<T *>(old) = seen;
  return seen != x;
}

template <typename T> T larger(T x, T y) { return x > y ? x : y; }
template <typename T> T smaller(T x, T y) { return x < y ? x : y; }
template <typename T> T bitAnd(T x, T y) { return static_cast<T>(x & y); }
template <typename T> T bitOr(T x, T y) { return static_cast<T>(x | y); }
template <typename T> T bitXor(T x, T y) { return static_cast<T>(x ^ y); }

// Floats: how an element is stored and in what it computes.
template <typename Bits, typename Float> struct Native {
  using Storage = Bits;
  using Compute = Float;
  static Compute load(Storage bits) { return __builtin_bit_cast(Compute, bits); }
  static Storage store(Compute value) { return __builtin_bit_cast(Storage, value); }
};
template <const numeric::FloatFormat &format> struct Half {
  using Storage = uint16_t;
  using Compute = float;
  static Compute load(Storage bits) { return numeric::decode<format>(bits); }
  static Storage store(Compute value) {
    return static_cast<Storage>(numeric::encode<format, numeric::Rounding::NearestEven>(value));
  }
};

/// Floats as the integers that stand for them in the algebra check; `one` is the pattern of 1.0.
template <typename Bits, uint64_t one> struct Payloads {
  using Storage = Bits;
  using Compute = std::make_signed_t<Bits>;
  static constexpr numeric::Payload kRule{sizeof(Bits) * 8, one};
  static Compute load(Storage bits) { return static_cast<Compute>(kRule.embed(bits)); }
  static Storage store(Compute value) {
    return static_cast<Storage>(kRule.unembed(static_cast<Storage>(value)));
  }
};

template <typename T> T sum(T x, T y) { return x + y; }
template <typename T> T ringSum(T x, T y) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Unsigned>(x) + static_cast<Unsigned>(y));
}
/// The number where one is a NaN, as the hardware's minimum and maximum do.
template <typename T> T largerNumber(T x, T y) { return x != x || y > x ? (y != y ? x : y) : x; }
template <typename T> T smallerNumber(T x, T y) { return x != x || y < x ? (y != y ? x : y) : x; }

template <typename Element, typename Element::Compute (*combine)(typename Element::Compute,
                                                                 typename Element::Compute)>
bool floatRmw(void *target, const void *operand, void *old) {
  using Storage = typename Element::Storage;
  auto *at = static_cast<Storage *>(target);
  const auto x = Element::load(*static_cast<const Storage *>(operand));
  Storage seen = __atomic_load_n(at, __ATOMIC_SEQ_CST);
  Storage next = Element::store(combine(Element::load(seen), x));
  while (!__atomic_compare_exchange_n(at, &seen, next, /*weak=*/true, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST))
    next = Element::store(combine(Element::load(seen), x));
  *static_cast<Storage *>(old) = seen;
  return next != seen;
}

template <typename T>
bool compareAndSwap(void *target, const void *compare, const void *value, void *old) {
  T expected = *static_cast<const T *>(compare);
  const T desired = *static_cast<const T *>(value);
  const bool swapped =
      __atomic_compare_exchange_n(static_cast<T *>(target), &expected, desired, /*weak=*/false,
                                  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  *static_cast<T *>(old) = expected; // unchanged when it matched
  return swapped && expected != desired;
}

template <typename Unsigned, typename Signed> RmwFn chooseInteger(llvm::StringRef kind) {
  return llvm::StringSwitch<RmwFn>(kind)
      .Case("add", addRmw<Unsigned>)
      .Case("xchg", exchangeRmw<Unsigned>)
      .Case("max", integerRmw<Signed, larger<Signed>>)
      .Case("min", integerRmw<Signed, smaller<Signed>>)
      .Case("umax", integerRmw<Unsigned, larger<Unsigned>>)
      .Case("umin", integerRmw<Unsigned, smaller<Unsigned>>)
      .Case("and", integerRmw<Unsigned, bitAnd<Unsigned>>)
      .Case("or", integerRmw<Unsigned, bitOr<Unsigned>>)
      .Case("xor", integerRmw<Unsigned, bitXor<Unsigned>>)
      .Default(nullptr);
}

template <typename Element, uint64_t one> RmwFn chooseFloat(llvm::StringRef kind) {
  using Compute = typename Element::Compute;
  using Payload = Payloads<typename Element::Storage, one>;
  using Whole = typename Payload::Compute;
  return llvm::StringSwitch<RmwFn>(kind)
      .Case("fadd", floatRmw<Element, sum<Compute>>)
      .Case("fmax", floatRmw<Element, largerNumber<Compute>>)
      .Case("fmin", floatRmw<Element, smallerNumber<Compute>>)
      .Case("xchg", exchangeRmw<typename Element::Storage>)
      .Case("fadd_payload", floatRmw<Payload, ringSum<Whole>>)
      .Case("fmax_payload", floatRmw<Payload, larger<Whole>>)
      .Case("fmin_payload", floatRmw<Payload, smaller<Whole>>)
      .Default(nullptr);
}

RmwFn chooseRmwFn(const Type &element, llvm::StringRef kind) {
  if (element.isPointer())
    return kind == "xchg" ? exchangeRmw<uint64_t> : nullptr;
  switch (element.dtype) {
  case DType::Int8:
  case DType::UInt8:
  case DType::Int1:
    return chooseInteger<uint8_t, int8_t>(kind);
  case DType::Int16:
  case DType::UInt16:
    return chooseInteger<uint16_t, int16_t>(kind);
  case DType::Int32:
  case DType::UInt32:
    return chooseInteger<uint32_t, int32_t>(kind);
  case DType::Int64:
  case DType::UInt64:
    return chooseInteger<uint64_t, int64_t>(kind);
  case DType::Fp16:
    return chooseFloat<Half<numeric::kFp16>, 0x3c00>(kind);
  case DType::Bf16:
    return chooseFloat<Half<numeric::kBf16>, 0x3f80>(kind);
  case DType::Fp32:
    return chooseFloat<Native<uint32_t, float>, 0x3f800000>(kind);
  case DType::Fp64:
    return chooseFloat<Native<uint64_t, double>, 0x3ff0000000000000>(kind);
  case DType::Void:
  case DType::Fp8E4M3NV:
  case DType::Fp8E4M3B8:
  case DType::Fp8E4M3B15:
  case DType::Fp8E5M2:
  case DType::Fp8E5M2B16:
    return nullptr;
  }
  return nullptr;
}

CasFn chooseCasFn(int elementBytes) {
  switch (elementBytes) {
  case 1:
    return compareAndSwap<uint8_t>;
  case 2:
    return compareAndSwap<uint16_t>;
  case 4:
    return compareAndSwap<uint32_t>;
  default:
    return compareAndSwap<uint64_t>;
  }
}

/// Runs `each(host, lane)` for the active lanes in lane order; returns whether memory changed.
template <typename Each>
bool forActiveLanes(const ExecutionContext &context, const AccessShape &shape,
                    const ResolvedLanes &lanes, const DeviceAddress *addresses, Each each) {
  bool changed = false;
  for (int64_t lane = 0; lane < shape.lanes; ++lane) {
    if (lanes.mask && !lanes.mask[lane])
      continue;
    const DeviceAddress address = addresses[lane];
    const uint64_t delta =
        lanes.allocation ? lanes.delta : hostDelta(*context.launch->memory.find(address), address);
    changed |= each(reinterpret_cast<std::byte *>(address + delta), lane);
  }
  return changed;
}

void atomicCopy(void *to, const void *from, int bytes, bool isLoad) {
  const auto copy = [&](auto *target, const auto *source) {
    if (isLoad)
      *target = __atomic_load_n(source, __ATOMIC_SEQ_CST);
    else
      __atomic_store_n(target, *source, __ATOMIC_SEQ_CST);
  };
  switch (bytes) {
  case 1:
    return copy(static_cast<uint8_t *>(to), static_cast<const uint8_t *>(from));
  case 2:
    return copy(static_cast<uint16_t *>(to), static_cast<const uint16_t *>(from));
  case 4:
    return copy(static_cast<uint32_t *>(to), static_cast<const uint32_t *>(from));
  default:
    return copy(static_cast<uint64_t *>(to), static_cast<const uint64_t *>(from));
  }
}

/// What a read-modify-write has made of `old`.
uint64_t resultOf(const AtomicOp &op, const void *old, const void *operand) {
  uint64_t value = 0, ignored = 0;
  std::memcpy(&value, old, op.shape.elementBytes);
  op.rmw(&value, operand, &ignored);
  return value;
}

/// Notes who has changed what; `after` is the one new value.
template <typename After>
void noteAtomic(ExecutionContext &context, const AtomicOp &op, const ResolvedLanes &lanes,
                const void *old, bool isSwap, After after) {
  Change change;
  change.when = noteProgress(context);
  if (!context.launch->changes.isOn())
    return;
  if (op.shape.lanes != 1)
    return noteRange(context, op.shape, lanes);
  change.isSwap = isSwap;
  std::memcpy(&change.before, old, op.shape.elementBytes);
  change.after = after();
  noteChange(context, op.shape, lanes, change);
}

void finish(ExecutionContext &context, const AtomicOp &op, const ResolvedLanes &lanes,
            const DeviceAddress *addresses, const void *old, const void *operand, bool changed,
            bool isSwap) {
  if (!context.launch->observers.empty())
    notifyAccess(context, op.shape, lanes, addresses, old, operand);
  if (lanes.activeLanes == 0)
    return;
  if (changed)
    noteAtomic(context, op, lanes, old, isSwap, [&] {
      uint64_t value = 0;
      if (op.rmw)
        return resultOf(op, old, operand);
      std::memcpy(&value, operand, op.shape.elementBytes); // of a compare-and-swap
      return value;
    });
  noteSeen(context, op.shape, &op, old, changed, isSwap);
}

void evalAtomicLoad(ExecutionContext &context, void *const *results, const void *const *operands,
                    const void *payload) {
  const auto &op = *static_cast<const AtomicOp *>(payload);
  const auto *addresses = static_cast<const DeviceAddress *>(operands[0]);
  auto *out = static_cast<std::byte *>(results[0]);
  const int bytes = op.shape.elementBytes;
  const auto *mask = op.hasMask ? static_cast<const uint8_t *>(operands[1]) : nullptr;
  const ResolvedLanes lanes = resolveLanes(context, op.shape, addresses, mask);
  if (lanes.mask || lanes.activeLanes == 0)
    std::memset(out, 0, op.shape.lanes * bytes);
  if (lanes.activeLanes != 0)
    forActiveLanes(context, op.shape, lanes, addresses, [&](std::byte *target, int64_t lane) {
      atomicCopy(out + lane * bytes, target, bytes, /*isLoad=*/true);
      return false;
    });
  finish(context, op, lanes, addresses, out, nullptr, /*changed=*/false,
         /*isSwap=*/false);
}

void evalAtomicStore(ExecutionContext &context, void *const *, const void *const *operands,
                     const void *payload) {
  const auto &op = *static_cast<const AtomicOp *>(payload);
  const auto *addresses = static_cast<const DeviceAddress *>(operands[0]);
  const auto *values = static_cast<const std::byte *>(operands[1]);
  const int bytes = op.shape.elementBytes;
  const auto *mask = op.hasMask ? static_cast<const uint8_t *>(operands[2]) : nullptr;
  const ResolvedLanes lanes = resolveLanes(context, op.shape, addresses, mask);
  if (!context.launch->observers.empty())
    notifyAccess(context, op.shape, lanes, addresses, values, nullptr);
  if (lanes.activeLanes == 0)
    return;
  uint64_t before = 0, after = 0;
  forActiveLanes(context, op.shape, lanes, addresses, [&](std::byte *target, int64_t lane) {
    atomicCopy(&before, target, bytes, /*isLoad=*/true);
    atomicCopy(target, values + lane * bytes, bytes, /*isLoad=*/false);
    return true;
  });
  std::memcpy(&after, values, bytes);
  if (op.shape.lanes == 1 && before == after)
    noteProgress(context);
  else
    noteAtomic(context, op, lanes, &before, op.isSwap, [&] { return after; });
}

/// A kernel that looks at the clock does not wait for memory alone: time that passes is progress.
void evalGlobalTimer(ExecutionContext &context, void *const *results, const void *const *,
                     const void *) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  *static_cast<int64_t *>(results[0]) =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  noteProgress(context);
}

void evalRmw(ExecutionContext &context, void *const *results, const void *const *operands,
             const void *payload) {
  const auto &op = *static_cast<const AtomicOp *>(payload);
  const auto *addresses = static_cast<const DeviceAddress *>(operands[0]);
  const auto *values = static_cast<const std::byte *>(operands[1]);
  auto *old = static_cast<std::byte *>(results[0]);
  const int bytes = op.shape.elementBytes;
  const auto *mask = op.hasMask ? static_cast<const uint8_t *>(operands[2]) : nullptr;
  const ResolvedLanes lanes = resolveLanes(context, op.shape, addresses, mask);
  bool changed = false;
  if (lanes.mask || lanes.activeLanes == 0)
    std::memset(old, 0, op.shape.lanes * bytes);
  if (lanes.activeLanes != 0)
    changed =
        forActiveLanes(context, op.shape, lanes, addresses, [&](std::byte *target, int64_t lane) {
          return op.rmw(target, values + lane * bytes, old + lane * bytes);
        });
  finish(context, op, lanes, addresses, old, values, changed, op.isSwap);
}

void evalCas(ExecutionContext &context, void *const *results, const void *const *operands,
             const void *payload) {
  const auto &op = *static_cast<const AtomicOp *>(payload);
  const auto *addresses = static_cast<const DeviceAddress *>(operands[0]);
  const auto *compare = static_cast<const std::byte *>(operands[1]);
  const auto *values = static_cast<const std::byte *>(operands[2]);
  auto *old = static_cast<std::byte *>(results[0]);
  const int bytes = op.shape.elementBytes;
  const ResolvedLanes lanes = resolveLanes(context, op.shape, addresses, nullptr);
  bool changed = false;
  if (lanes.mask || lanes.activeLanes == 0)
    std::memset(old, 0, op.shape.lanes * bytes);
  if (lanes.activeLanes != 0)
    changed =
        forActiveLanes(context, op.shape, lanes, addresses, [&](std::byte *target, int64_t lane) {
          const int64_t at = lane * bytes;
          return op.cas(target, compare + at, values + at, old + at);
        });
  // One that would put back the value that it looks for only waits for that value.
  const bool isSwap = std::memcmp(compare, values, op.shape.lanes * bytes) != 0;
  finish(context, op, lanes, addresses, old, values, changed, isSwap);
}

bool readOrder(const OpSignature &signature, AccessShape &shape) {
  const llvm::StringRef sem = signature.attributes.getString("sem", "acq_rel");
  const llvm::StringRef scope = signature.attributes.getString("scope", "gpu");
  if (sem == "relaxed")
    shape.semantics = AtomicSemantics::Relaxed;
  else if (sem == "acquire")
    shape.semantics = AtomicSemantics::Acquire;
  else if (sem == "release")
    shape.semantics = AtomicSemantics::Release;
  else if (sem == "acq_rel")
    shape.semantics = AtomicSemantics::AcquireRelease;
  else
    return false;
  if (scope == "cta")
    shape.scope = AtomicScope::Cta;
  else if (scope == "gpu")
    shape.scope = AtomicScope::Gpu;
  else if (scope == "sys")
    shape.scope = AtomicScope::System;
  else
    return false;
  return true;
}

std::string orderError(const OpSignature &signature) {
  return signature.name.str() + " has sem '" + signature.attributes.getString("sem").str() +
         "' and scope '" + signature.attributes.getString("scope").str() +
         "', expected relaxed, acquire, release or acq_rel, and cta, gpu or sys";
}

EvaluatorOrError chooseRmw(const OpSignature &signature) {
  if (signature.operands.size() < 2 || !signature.operands[0].isPointer())
    return {{}, "tl.atomic_rmw needs a pointer and a value"};
  auto op = std::make_shared<AtomicOp>(
      AtomicOp{AccessShape(AccessKind::AtomicRmw, signature.operands[0])});
  const llvm::StringRef kind = signature.attributes.getString("kind");
  const Type element = signature.operands[1].scalar();
  op->rmw = chooseRmwFn(element, kind);
  op->isSwap = kind == "xchg";
  op->hasMask = signature.operands.size() == 3;
  if (!op->rmw)
    return {{}, "tl.atomic_rmw '" + kind.str() + "' of " + element.str() + " is not supported"};
  if (!readOrder(signature, op->shape))
    return {{}, orderError(signature)};
  return {Evaluator::makeContext(evalRmw, std::move(op)), ""};
}

EvaluatorOrError chooseMove(const OpSignature &signature, AccessKind kind) {
  const size_t operands = kind == AccessKind::AtomicLoad ? 1 : 2;
  if (signature.operands.size() < operands || !signature.operands[0].isPointer())
    return {{}, signature.name.str() + " needs a pointer" + (operands == 1 ? "" : " and a value")};
  auto op = std::make_shared<AtomicOp>(AtomicOp{AccessShape(kind, signature.operands[0])});
  op->hasMask = signature.operands.size() > operands;
  if (!readOrder(signature, op->shape))
    return {{}, orderError(signature)};
  return {Evaluator::makeContext(operands == 1 ? evalAtomicLoad : evalAtomicStore, std::move(op)),
          ""};
}

EvaluatorOrError chooseCas(const OpSignature &signature) {
  if (signature.operands.size() != 3 || !signature.operands[0].isPointer())
    return {{}, "tl.atomic_cas needs a pointer, a value to compare with and a value"};
  auto op = std::make_shared<AtomicOp>(
      AtomicOp{AccessShape(AccessKind::AtomicCas, signature.operands[0])});
  op->cas = chooseCasFn(op->shape.elementBytes);
  if (!readOrder(signature, op->shape))
    return {{}, orderError(signature)};
  return {Evaluator::makeContext(evalCas, std::move(op)), ""};
}

} // namespace

void addAtomicEvaluators(EvaluatorTable &table); // called by ops/memory.cpp

void addAtomicEvaluators(EvaluatorTable &table) {
  table.add("tl.atomic_load", [](const OpSignature &signature) {
    return chooseMove(signature, AccessKind::AtomicLoad);
  });
  table.add("tl.atomic_store", [](const OpSignature &signature) {
    return chooseMove(signature, AccessKind::AtomicStore);
  });
  table.add("tl.global_timer", [](const OpSignature &) -> EvaluatorOrError {
    return {Evaluator::makeContext(evalGlobalTimer), ""};
  });
  table.add("tl.atomic_rmw", chooseRmw);
  table.add("tl.atomic_cas", chooseCas);
}

} // namespace blockscope::interpreter
