// The lanes of a memory op as an observer of values sees them: which are active, and where they
// are.
#pragma once

#include "sanitizer/observation.h"

namespace blockscope::sanitizer {

/// Of a memory op by its name.
AccessKind accessKindOf(llvm::StringRef name);
/// The number of the operand that is the mask of a memory op; -1 when it has none.
int maskOperand(const OpSignature &signature);

class AccessLanes {
public:
  AccessLanes(const OpValues &values, const MemoryMap &memory);

  bool isActive(int64_t lane) const {
    return isAll || static_cast<const uint8_t *>(mask_->data)[isOne(*mask_) ? 0 : lane] != 0;
  }
  /// The outermost lanes [first, last) that are not active.
  std::pair<int64_t, int64_t> inactive() const;
  const ValueView &pointers() const { return pointers_; }
  const ValueView *mask() const { return mask_; }
  /// Where an active lane is; null when it is in no storage (the access was refused).
  const Allocation *at(int64_t lane, int64_t &offset);

  int64_t count;
  int elementBytes;
  bool isAll;

private:
  static bool isOne(const ValueView &view) { return view.extent == ValueView::Extent::One; }

  const MemoryMap &memory_;
  const ValueView &pointers_;
  const ValueView *mask_;
  const Allocation *last_ = nullptr;
};

} // namespace blockscope::sanitizer
