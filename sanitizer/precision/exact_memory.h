// What floats in memory would be without rounding, between stores and loads, also of different
// launches of a session.
//
// Each element has the value that the kernel stored there: where memory holds another one, somebody
// else has written it, and what is known of it is void.
#pragma once

#include "sanitizer/precision/exact_blocks.h"

#include <map>

namespace blockscope::sanitizer {

class ExactMemory {
public:
  /// Elements of one dtype in 4 KiB of addresses.
  struct Page {
    DType dtype = DType::Void;
    std::vector<double> kernel, exact;
    std::vector<uint32_t> stored; ///< by element: the launch that stored it, from 1 on; 0: nothing
    std::map<CauseId, std::vector<float>> parts;
  };
  struct Element {
    Page *page = nullptr;
    size_t index = 0;

    explicit operator bool() const { return page != nullptr; }
    double kernel() const { return page->kernel[index]; }
    double exact() const { return page->exact[index]; }
    uint32_t launch() const { return page->stored[index]; }
  };

  bool empty() const { return pages_.empty(); }
  /// The element of `dtype` at a real address that was stored with the value `kernel`; none where
  /// there is no such.
  Element find(uint64_t address, DType dtype, double kernel);
  /// The element to write to, without parts; none where there is no room for more.
  Element store(uint64_t address, DType dtype, double kernel, double exact, uint32_t launch);
  /// Whether elements were left out because there were too many.
  bool isFull() const { return isFull_; }
  /// Calls `visit(address, element)` for elements at [begin, end) that a launch has stored.
  void forEach(uint64_t begin, uint64_t end, uint32_t launch,
               llvm::function_ref<void(uint64_t, const Element &)> visit);

private:
  Page *pageAt(uint64_t number);

  std::map<uint64_t, Page> pages_; ///< by address, in pages
  uint64_t lastNumber_ = ~uint64_t{0};
  Page *last_ = nullptr;
  bool isFull_ = false;
};

} // namespace blockscope::sanitizer
