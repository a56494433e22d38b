// Which bytes of memory are undefined: one bit for each byte of a storage that may have such bytes,
// and where these come from. Storages that are not here are all defined.
//
// It outlives launches: what one launch leaves undefined another one, or the host, may read. In a
// launch on several threads bits are only cleared (`define`), which is atomic; all else is done by
// one thread.
#pragma once

#include "sanitizer/undefined/origin.h"

#include <algorithm>
#include <map>
#include <optional>

namespace blockscope::sanitizer {

/// An element where it was before the host put it elsewhere.
struct Before {
  uint64_t address = 0; ///< 0: it was nowhere else
  uint64_t bytes = 1;
};

/// The storage of a tensor, as real addresses.
class UndefinedStorage {
public:
  UndefinedStorage(uint64_t begin, uint64_t bytes)
      : begin_(begin), bytes_(bytes), bits_((bytes + 63) / 64) {}

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return begin_ + bytes_; }
  bool covers(uint64_t begin, uint64_t end) const { return begin >= begin_ && end <= this->end(); }

  /// Marks addresses [begin, end), which lie in the storage.
  void undefine(uint64_t begin, uint64_t end, std::shared_ptr<const Trail> trail,
                const Before &before = {});
  void define(uint64_t begin, uint64_t end);
  /// The first undefined address in [begin, end).
  std::optional<uint64_t> firstUndefined(uint64_t begin, uint64_t end) const;
  bool isDefined() const { return !firstUndefined(begin_, end()); }
  /// Whether it keeps no more trails: those of what comes now are the last ones it has.
  bool isFull() const;
  /// Where the undefined byte at an address comes from.
  const std::shared_ptr<const Trail> &trailAt(uint64_t address) const;
  /// Where the element at an address, of so many bytes, was first.
  Before before(const Before &element) const;

  /// The last launch that it was an argument of, and which one; null before.
  std::shared_ptr<const LaunchFacts> launch = nullptr;
  std::shared_ptr<const Allocation> argument = nullptr;

  /// What a trial leaves behind is taken back.
  void remember() { remembered_ = bits_; }
  void revert() { bits_ = remembered_; }
  void forget() { remembered_ = {}; }

private:
  struct Span {
    uint64_t begin, end;
    std::shared_ptr<const Trail> trail;
    Before before;     ///< of the first element
    uint64_t step = 1; ///< bytes of an element

    Before beforeAt(uint64_t address) const {
      const uint64_t from = address - begin;
      return {before.address + from / step * before.bytes + std::min(from % step, before.bytes - 1),
              before.bytes};
    }
  };
  const Span *spanAt(uint64_t address) const;

  uint64_t begin_, bytes_;
  std::vector<uint64_t> bits_; ///< by byte: undefined
  std::vector<uint64_t> remembered_;
  std::vector<Span> spans_; ///< later ones lie over earlier ones
  /// What spanAt has found last, and where it would find the same.
  struct {
    uint64_t begin = 0, end = 0;
    size_t span = 0;
  } mutable last_;
};

class UndefinedMemory {
public:
  bool empty() const { return storages_.empty(); }
  /// The storage that holds an address; null where all is defined.
  UndefinedStorage *find(uint64_t address);
  const UndefinedStorage *find(uint64_t address) const {
    return const_cast<UndefinedMemory *>(this)->find(address);
  }
  /// Returns the storage [begin, begin + bytes), all defined if it is new. Others that it overlaps
  /// were freed: they are forgotten.
  UndefinedStorage &storage(uint64_t begin, uint64_t bytes);
  /// The memory was freed, or is all defined.
  void forget(uint64_t begin, uint64_t bytes);
  /// Drops storages that overlap a storage that is now there with other bounds.
  void dropStale(uint64_t begin, uint64_t bytes);
  void define(uint64_t begin, uint64_t end);

private:
  std::map<uint64_t, UndefinedStorage> storages_; ///< by their end
};

} // namespace blockscope::sanitizer
