// Simulated device memory: which tensor an address belongs to, and which element of it.
//
// A view is a set of elements q = sum of index * stride. Questions about it are answered in
// elements from its lowest one, with all strides made positive, dimensions by falling stride.
#include "interpreter/memory.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstdlib>

namespace blockscope::interpreter {
namespace {

constexpr uint64_t kNumberMask = (1ULL << (62 - kAllocationShift)) - 1;
constexpr uint64_t kNullPage = 4096;
/// After so many unknown addresses in one launch the resolver is not asked again.
constexpr int kUnknownLimit = 1 << 20;

int64_t floorDiv(int64_t x, int64_t y) {
  const int64_t quotient = x / y;
  return quotient * y > x ? quotient - 1 : quotient;
}

struct Dimension {
  size_t position; ///< in the shape
  int64_t size;
  int64_t step; ///< absolute stride
  bool isReversed;
};

using Dimensions = llvm::SmallVector<Dimension, 6>;

/// By falling step; dimensions that do not move are left out.
Dimensions dimensionsOf(const TensorInfo &info, bool keepSingle) {
  Dimensions result;
  for (size_t i = 0; i < info.shape.size(); ++i) {
    const int64_t stride = i < info.strides.size() ? info.strides[i] : 1;
    if (stride != 0 && (keepSingle || info.shape[i] != 1))
      result.push_back({i, info.shape[i], std::abs(stride), stride < 0});
  }
  llvm::sort(result, [](const Dimension &a, const Dimension &b) {
    return a.step != b.step ? a.step > b.step : a.position < b.position;
  });
  return result;
}

/// Finds an index with sum index * step == q; views that overlap themselves may need to try more
/// than one.
bool findIndex(llvm::ArrayRef<Dimension> dimensions, int64_t q,
               llvm::MutableArrayRef<int64_t> index) {
  if (dimensions.empty())
    return q == 0;
  const Dimension &first = dimensions.front();
  const llvm::ArrayRef<Dimension> rest = dimensions.drop_front();
  int64_t reach = 0; // of the dimensions that follow
  for (const Dimension &dimension : rest)
    reach += (dimension.size - 1) * dimension.step;
  const int64_t highest = std::min(first.size - 1, floorDiv(q, first.step));
  for (int64_t i = highest; i >= 0 && q - i * first.step <= reach; --i) {
    if (!index.empty())
      index[first.position] = first.isReversed ? first.size - 1 - i : i;
    if (findIndex(rest, q - i * first.step, index))
      return true;
  }
  return false;
}

bool isInStorage(const Allocation &allocation, uint64_t address) {
  const uint64_t begin =
      allocation.address - static_cast<uint64_t>(allocation.view - allocation.storage);
  return address >= begin && address - begin < static_cast<uint64_t>(allocation.storageBytes);
}

bool isInView(const Allocation &allocation, uint64_t address) {
  return allocation.inView(static_cast<int64_t>(address - allocation.address), 1);
}

bool isEmpty(const TensorInfo &info) { return llvm::is_contained(info.shape, 0); }

} // namespace

void Allocation::describeView() {
  viewBegin = viewEnd = 0;
  viewIsDense = true;
  if (isEmpty(info))
    return;
  int64_t extent = 1; // elements that the faster dimensions cover without a gap
  int64_t low = 0;
  const Dimensions dimensions = dimensionsOf(info, /*keepSingle=*/false);
  for (const Dimension &dimension : llvm::reverse(dimensions)) {
    viewIsDense = viewIsDense && dimension.step <= extent;
    extent += (dimension.size - 1) * dimension.step;
    if (dimension.isReversed)
      low -= (dimension.size - 1) * dimension.step;
  }
  viewBegin = low * info.elementBytes;
  viewEnd = (low + extent) * info.elementBytes;
}

bool Allocation::inView(int64_t offset, int64_t size) const {
  if (offset < viewBegin || offset + size > viewEnd)
    return false;
  if (viewIsDense)
    return true;
  const Dimensions dimensions = dimensionsOf(info, /*keepSingle=*/false);
  const int64_t first = floorDiv(offset - viewBegin, info.elementBytes);
  const int64_t last = floorDiv(offset + size - 1 - viewBegin, info.elementBytes);
  for (int64_t element = first; element <= last; ++element)
    if (!findIndex(dimensions, element, {}))
      return false;
  return true;
}

std::vector<int64_t> Allocation::elementIndex(int64_t offset) const {
  std::vector<int64_t> index(info.shape.size(), 0);
  int64_t element = floorDiv(offset - viewBegin, std::max<int64_t>(info.elementBytes, 1));
  if (!isEmpty(info) && findIndex(dimensionsOf(info, /*keepSingle=*/false), element, index))
    return index;
  for (const Dimension &dimension : dimensionsOf(info, /*keepSingle=*/true)) {
    const int64_t i = floorDiv(element, dimension.step);
    element -= i * dimension.step;
    index[dimension.position] = dimension.isReversed ? dimension.size - 1 - i : i;
  }
  return index;
}

const Allocation &MemoryMap::add(Allocation allocation) {
  if (allocation.address == 0)
    allocation.address = reinterpret_cast<uint64_t>(allocation.view);
  allocation.number = static_cast<uint32_t>(arguments_.size());
  allocation.base =
      allocation.number > kNumberMask
          ? allocation.address
          : kDeviceTag | (uint64_t{allocation.number} << kAllocationShift) | kOffsetBias;
  allocation.describeView();
  arguments_.push_back(std::make_unique<Allocation>(std::move(allocation)));
  return *arguments_.back();
}

const Allocation *MemoryMap::find(DeviceAddress address) const {
  if (!hasProvenance(address))
    return findHost(address);
  const uint64_t number = (address >> kAllocationShift) & kNumberMask;
  return number < arguments_.size() ? arguments_[number].get() : nullptr;
}

uint64_t MemoryMap::toInteger(DeviceAddress pointer) const {
  const Allocation *argument = hasProvenance(pointer) ? find(pointer) : nullptr;
  if (!argument)
    return pointer;
  return argument->address + static_cast<uint64_t>(argument->offsetOf(pointer));
}

DeviceAddress MemoryMap::toPointer(uint64_t integer) const {
  if (hasProvenance(integer)) // no argument is reached by guessing numbers
    return integer | 1ULL << 63;
  const Allocation *argument = findArgument(integer);
  if (!argument || !isInView(*argument, integer))
    return integer;
  return argument->base + (integer - argument->address);
}

const Allocation *MemoryMap::findArgument(uint64_t address) const {
  const Allocation *found = nullptr;
  int64_t largest = -1;
  for (const std::unique_ptr<Allocation> &argument : arguments_) {
    if (!isInStorage(*argument, address))
      continue;
    const int64_t bytes =
        isInView(*argument, address) ? argument->viewEnd - argument->viewBegin : 0;
    if (bytes > largest) {
      largest = bytes;
      found = argument.get();
    }
  }
  return found;
}

const Allocation *MemoryMap::findHost(uint64_t address) const {
  if (address < kNullPage || (address >> 62) != 0)
    return nullptr;
  if (const Allocation *argument = findArgument(address))
    return argument;
  const auto findKnown = [&]() -> const Allocation * {
    const auto known = llvm::find_if(hostAllocations_, [address](const auto &allocation) {
      return isInStorage(*allocation, address);
    });
    return known == hostAllocations_.end() ? nullptr : known->get();
  };
  {
    const std::lock_guard<std::mutex> lock(hostMutex_);
    if (const Allocation *known = findKnown())
      return known;
    if (!resolver_ || unknownHostAddresses_ >= kUnknownLimit)
      return nullptr;
  }
  std::optional<Allocation> found = resolver_(address); // may call Python: no lock is held
  const std::lock_guard<std::mutex> lock(hostMutex_);
  if (const Allocation *known = findKnown()) // another thread has asked for it too
    return known;
  if (!found) {
    ++unknownHostAddresses_;
    return nullptr;
  }
  found->base = found->address = reinterpret_cast<uint64_t>(found->view);
  found->number = static_cast<uint32_t>(arguments_.size() + hostAllocations_.size());
  found->describeView();
  hostAllocations_.push_back(std::make_unique<Allocation>(std::move(*found)));
  return hostAllocations_.back().get();
}

} // namespace blockscope::interpreter
