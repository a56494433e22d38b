// Pages of exact elements.
#include "sanitizer/precision/exact_memory.h"

#include <cmath>

namespace blockscope::sanitizer {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr size_t kMostPages = size_t{1} << 14; // 64 MiB of tensors, some GiB here at the worst

bool isEqual(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

} // namespace

ExactMemory::Page *ExactMemory::pageAt(uint64_t number) {
  if (number != lastNumber_ || !last_) {
    const auto found = pages_.find(number);
    lastNumber_ = number;
    last_ = found == pages_.end() ? nullptr : &found->second;
  }
  return last_;
}

ExactMemory::Element ExactMemory::find(uint64_t address, DType dtype, double kernel) {
  Page *page = pageAt(address / kPageBytes);
  const auto size = static_cast<uint64_t>(byteSize(dtype));
  if (!page || page->dtype != dtype || address % size != 0)
    return {};
  const Element element = {page, address % kPageBytes / size};
  return element.launch() != 0 && isEqual(element.kernel(), kernel) ? element : Element();
}

ExactMemory::Element ExactMemory::store(uint64_t address, DType dtype, double kernel, double exact,
                                        uint32_t launch) {
  const auto size = static_cast<uint64_t>(byteSize(dtype));
  const uint64_t number = address / kPageBytes;
  Page *page = pageAt(number);
  if (address % size != 0)
    return {};
  if (!page) {
    if (pages_.size() >= kMostPages) {
      isFull_ = true;
      return {};
    }
    page = last_ = &pages_[number];
  }
  if (page->dtype != dtype) {
    const size_t count = kPageBytes / size;
    *page = {dtype,
             std::vector<double>(count),
             std::vector<double>(count),
             std::vector<uint32_t>(count),
             {}};
  }
  const Element element = {page, address % kPageBytes / size};
  page->kernel[element.index] = kernel;
  page->exact[element.index] = exact;
  page->stored[element.index] = launch;
  for (auto &[cause, errors] : page->parts)
    errors[element.index] = 0;
  return element;
}

void ExactMemory::forEach(uint64_t begin, uint64_t end, uint32_t launch,
                          llvm::function_ref<void(uint64_t, const Element &)> visit) {
  for (auto at = pages_.lower_bound(begin / kPageBytes);
       at != pages_.end() && at->first * kPageBytes < end; ++at) {
    Page &page = at->second;
    const auto size = static_cast<uint64_t>(byteSize(page.dtype));
    for (size_t i = 0; i < page.stored.size(); ++i) {
      const uint64_t address = at->first * kPageBytes + i * size;
      if (page.stored[i] == launch && address >= begin && address < end)
        visit(address, {&page, i});
    }
  }
}

} // namespace blockscope::sanitizer
