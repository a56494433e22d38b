// Simulated device memory: kernel pointers carry the argument they come from, and are translated to
// host memory once per access.
//
// A device address is 64 bits: bit 62 set, 14 bits of allocation number, 48 bits of biased byte
// offset. Arithmetic on it therefore never leaves the argument by accident: out-of-range and
// negative offsets are still attributed to the right tensor, even an offset that is the distance of
// two tensors. Where a pointer becomes data (an integer, text, what Python is shown), it becomes
// the real address that it stands for, and an integer becomes a pointer into the argument that has
// this address. Addresses with bit 62 clear are real ones that no argument has (entries of tensors
// of data_ptr()); they are resolved at each access, in the registry of known allocations.
#pragma once

#include "core/finding.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace blockscope::interpreter {

using DeviceAddress = uint64_t;

constexpr DeviceAddress kDeviceTag = 1ULL << 62;
constexpr int kAllocationShift = 48;
constexpr DeviceAddress kOffsetBias = 1ULL << (kAllocationShift - 1);

/// Whether an address carries the number of an argument.
constexpr bool hasProvenance(DeviceAddress address) { return address >> 62 == 1; }

/// One tensor argument (or a tensor found by a host address): exact extents of its storage, and of
/// the view that was passed.
struct Allocation {
  TensorInfo info;
  std::byte *view = nullptr;    ///< host address of the argument's element (0, ..., 0)
  std::byte *storage = nullptr; ///< host address of the storage's first byte
  /// What `view` is as an integer: its address, or where it was copied from.
  uint64_t address = 0;
  int64_t storageBytes = 0;
  bool readOnly = false;
  /// False when no op of the launch can load from its storage, store to it. Set when it starts.
  bool mayBeLoaded = true;
  bool mayBeStored = true;
  /// Byte extents of the view from `view`: first byte and one past the last; lowest is negative
  /// only with negative strides.
  int64_t viewBegin = 0;
  int64_t viewEnd = 0;
  /// True when every byte in [viewBegin, viewEnd) belongs to an element of the view.
  bool viewIsDense = true;
  DeviceAddress base = 0; ///< device address of `view`; `address` where numbers have run out
  uint32_t number = 0;

  int64_t offsetOf(DeviceAddress address) const { return static_cast<int64_t>(address - base); }
  std::byte *hostAt(int64_t offset) const { return view + offset; }
  /// Whether `size` bytes at `offset` from the view's first element lie in the storage.
  bool inStorage(int64_t offset, int64_t size) const {
    const int64_t begin = (view - storage) + offset;
    return begin >= 0 && begin + size <= storageBytes;
  }
  /// Whether the view has elements and its storage has no bytes: it was freed or resized to 0.
  bool isGone() const { return storageBytes == 0 && viewBegin < viewEnd; }
  /// Whether an element of `size` bytes at `offset` is within an element of the view.
  bool inView(int64_t offset, int64_t size) const;
  /// Returns the index of the element at `offset` in the view; outside the view the index it would
  /// have along the strides (the last dimension takes what is left over).
  std::vector<int64_t> elementIndex(int64_t offset) const;
  /// Computes viewBegin, viewEnd and viewIsDense from the shape and strides in `info`.
  void describeView();
};

/// The allocations of one launch, and the host addresses that were resolved while it ran.
class MemoryMap {
public:
  /// Finds the tensor that contains a host address that is not known yet. It may call Python, and
  /// several threads may ask at once.
  using HostResolver = std::function<std::optional<Allocation>(uint64_t hostAddress)>;

  /// Adds an argument; fills `base`, `number` and the view's extents. Not thread safe, before the
  /// launch only.
  const Allocation &add(Allocation allocation);
  void setHostResolver(HostResolver resolver) { resolver_ = std::move(resolver); }

  /// Returns the allocation an address belongs to by provenance, or for a host address by extent;
  /// null when nothing is known about it. Thread safe.
  const Allocation *find(DeviceAddress address) const;
  /// Returns the real address that a pointer stands for: what it is as an integer.
  uint64_t toInteger(DeviceAddress pointer) const;
  /// Returns the pointer that an integer is. An address in the view of an argument belongs to that
  /// argument from here on (of several views, the largest). Any other one stays as it is, and an
  /// integer that would pass for a pointer becomes an address that nobody has.
  DeviceAddress toPointer(uint64_t integer) const;
  /// Byte offset of `address` from the view's first element of `allocation`.
  static int64_t offsetIn(const Allocation &allocation, DeviceAddress address) {
    return (address & kDeviceTag) ? allocation.offsetOf(address)
                                  : static_cast<int64_t>(address - allocation.address);
  }

  const std::vector<std::unique_ptr<Allocation>> &arguments() const { return arguments_; }

private:
  const Allocation *findHost(uint64_t address) const;
  /// Finds the argument whose storage holds a real address: of several, the one with the largest
  /// view that holds it, else the first. Null when there is none.
  const Allocation *findArgument(uint64_t address) const;

  std::vector<std::unique_ptr<Allocation>> arguments_;
  HostResolver resolver_;
  mutable std::mutex hostMutex_;
  mutable std::vector<std::unique_ptr<Allocation>> hostAllocations_; // found through resolver_
  mutable int unknownHostAddresses_ = 0; // how often the resolver knew nothing
};

} // namespace blockscope::interpreter
