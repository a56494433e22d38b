// Finds the lanes of memory ops.
#include "sanitizer/access_lanes.h"

#include "interpreter/evaluator.h"

#include <cstring>

namespace blockscope::sanitizer {

AccessKind accessKindOf(llvm::StringRef name) {
  return name == "tl.load"           ? AccessKind::Load
         : name == "tl.store"        ? AccessKind::Store
         : name == "tl.atomic_load"  ? AccessKind::AtomicLoad
         : name == "tl.atomic_store" ? AccessKind::AtomicStore
         : name == "tl.atomic_cas"   ? AccessKind::AtomicCas
                                     : AccessKind::AtomicRmw;
}

int maskOperand(const OpSignature &signature) {
  if (signature.name == "tl.atomic_cas")
    return -1;
  if (signature.name == "tl.load")
    return signature.attributes.getBool("has_mask") ? 1 : -1;
  const int last = signature.name == "tl.atomic_load" ? 1 : 2;
  return static_cast<int>(signature.operands.size()) > last ? last : -1;
}

AccessLanes::AccessLanes(const OpValues &values, const MemoryMap &memory)
    : memory_(memory), pointers_(values.operands[0]), mask_(nullptr) {
  if (const int mask = maskOperand(*values.signature); mask >= 0)
    mask_ = &values.operands[static_cast<size_t>(mask)];
  const Type &pointer = *pointers_.type;
  count = pointer.numElements();
  elementBytes = pointer.pointee().elementBytes();
  isAll = !mask_ || !std::memchr(mask_->data, 0, static_cast<size_t>(mask_->elements(count)));
}

std::pair<int64_t, int64_t> AccessLanes::inactive() const {
  if (isAll)
    return {count, 0};
  if (isOne(*mask_))
    return {0, count};
  const auto *bytes = static_cast<const uint8_t *>(mask_->data);
  int64_t last = count;
  while (bytes[last - 1])
    --last;
  return {static_cast<const uint8_t *>(std::memchr(bytes, 0, static_cast<size_t>(count))) - bytes,
          last};
}

const Allocation *AccessLanes::at(int64_t lane, int64_t &offset) {
  const DeviceAddress address =
      static_cast<const DeviceAddress *>(pointers_.data)[isOne(pointers_) ? 0 : lane];
  const bool isSame =
      last_ && hasProvenance(address) && ((address ^ last_->base) >> kAllocationShift) == 0;
  const Allocation *found = isSame ? last_ : memory_.find(address);
  if (!found)
    return nullptr;
  last_ = found;
  offset = MemoryMap::offsetIn(*found, address);
  return found->inStorage(offset, elementBytes) ? found : nullptr;
}

} // namespace blockscope::sanitizer
