// Little-endian fields, one after another, of bytes that may end anywhere.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace blockscope::hdf5 {

/// Walks over bytes. What is asked for after the end is 0 or empty, and `good` is false from then
/// on, so that a caller may read all of a record and ask once.
class Cursor {
public:
  explicit Cursor(std::span<const unsigned char> bytes) : rest_(bytes) {}

  std::span<const unsigned char> take(uint64_t count) {
    if (count > rest_.size()) {
      good_ = false;
      rest_ = {};
      return {};
    }
    const std::span<const unsigned char> taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  void skip(uint64_t count) { take(count); }
  template <std::unsigned_integral T> T number() {
    T value = 0;
    for (size_t at = 0; const unsigned char byte : take(sizeof(T)))
      value = static_cast<T>(value | T{byte} << 8 * at++);
    return value;
  }
  size_t left() const { return rest_.size(); }
  bool good() const { return good_; }

private:
  std::span<const unsigned char> rest_;
  bool good_ = true;
};

} // namespace blockscope::hdf5
