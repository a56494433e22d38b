// How one instruction of PTX computes: over many lanes at once, each of them one run of the
// assembly.
//
// A register is one 64-bit word for each lane, the upper bits zero.
#pragma once

#include "core/numeric/float_format.h"
#include "interpreter/execution_context.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

namespace blockscope::interpreter::ptx {

constexpr int kMostOutputs = 8, kMostInputs = 8;

/// A pointer among the arguments, lane by lane: what the assembly gets, and the pointer itself,
/// which knows its tensor wherever it points to.
struct PointerArgument {
  std::vector<uint64_t> addresses;
  std::vector<DeviceAddress> pointers;
};

/// The registers of one instruction. Outputs never alias inputs.
struct Lanes {
  int64_t count = 0;
  uint64_t *out[kMostOutputs] = {};
  const uint64_t *in[kMostInputs] = {};
  const uint8_t *active = nullptr;     ///< lanes that execute it; null when all do
  ExecutionContext *context = nullptr; ///< null where nothing asks for it

  llvm::ArrayRef<PointerArgument> pointers;

  bool isActive(int64_t lane) const { return !active || active[lane]; }
};

/// Computes all lanes, also those that are not active; what touches memory keeps to the active
/// ones.
using Kernel = std::function<void(const Lanes &)>;

// An element of a register: integers and floats of the host, and narrow floats as double.
template <typename T> struct Element {
  using Value = T;
  static T get(uint64_t bits) {
    if constexpr (std::is_same_v<T, bool>)
      return (bits & 1) != 0;
    else if constexpr (std::is_floating_point_v<T>)
      return std::bit_cast<T>(
          static_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(bits));
    else
      return static_cast<T>(bits);
  }
  /// Signed integers fill the whole word, of which a register keeps what it has room for.
  static uint64_t put(T value) {
    if constexpr (std::is_same_v<T, float>)
      return std::bit_cast<uint32_t>(value);
    else if constexpr (std::is_same_v<T, double>)
      return std::bit_cast<uint64_t>(value);
    else
      return static_cast<uint64_t>(value);
  }
};
template <numeric::FloatFormat format> struct Narrow {};
using Half = Narrow<numeric::kFp16>;
using Brain = Narrow<numeric::kBf16>;
/// Results have to be exact, or rounded to odd: they are rounded once, here.
template <numeric::FloatFormat format> struct Element<Narrow<format>> {
  using Value = double;
  static double get(uint64_t bits) {
    return numeric::decode<format>(static_cast<uint32_t>(bits & 0xffff));
  }
  static uint64_t put(double value) {
    return value != value ? 0x7fff : numeric::encode<format, numeric::Rounding::NearestEven>(value);
  }
};

/// One output made of inputs of types `In`, lane by lane.
template <typename Out, typename... In, typename F> Kernel each(F f) {
  return [f](const Lanes &lanes) {
    [&]<size_t... k>(std::index_sequence<k...>) {
      for (int64_t i = 0; i < lanes.count; ++i)
        lanes.out[0][i] = Element<Out>::put(f(Element<In>::get(lanes.in[k][i])...));
    }(std::index_sequence_for<In...>());
  };
}

/// The same for the parts of packed registers: `T` twice or more in each.
template <typename T, int parts, int inputs, typename F> Kernel eachPart(F f) {
  constexpr int kWidth = 64 / parts >= 32 && sizeof(typename Element<T>::Value) == 4 ? 32 : 16;
  return [f](const Lanes &lanes) {
    [&]<size_t... k>(std::index_sequence<k...>) {
      for (int64_t i = 0; i < lanes.count; ++i) {
        uint64_t word = 0;
        for (int part = 0; part < parts; ++part) {
          const int shift = part * kWidth;
          const uint64_t mask = (uint64_t{1} << kWidth) - 1;
          word |= (Element<T>::put(f(Element<T>::get(lanes.in[k][i] >> shift & mask)...)) & mask)
                  << shift;
        }
        lanes.out[0][i] = word;
      }
    }(std::make_index_sequence<inputs>());
  };
}

} // namespace blockscope::interpreter::ptx
