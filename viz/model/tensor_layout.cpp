// Offsets, indices and cells of strided tensors.
#include "viz/model/tensor_layout.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace blockscope::viz {
namespace {

/// Width of a wrapped vector: the power of two that makes the picture most like a square.
int64_t wrapWidth(int64_t elements) {
  int64_t width = 16;
  while (width * width * 2 <= elements)
    width *= 2;
  return std::min(width, std::max<int64_t>(1, elements));
}

} // namespace

TensorLayout::TensorLayout(const TraceArgument &argument)
    : shape_(argument.shape), elementBytes_(std::max<int64_t>(1, argument.elementBytes)) {
  if (std::has_single_bit(static_cast<uint64_t>(elementBytes_)))
    elementShift_ = std::countr_zero(static_cast<uint64_t>(elementBytes_));
  int64_t highest = 0;
  for (size_t axis = 0; axis < shape_.size(); ++axis) {
    elementCount_ *= shape_[axis];
    const int64_t stride = axis < argument.strides.size() ? argument.strides[axis] : 0;
    if (shape_[axis] > 1)
      dims_.push_back({shape_[axis], stride, axis});
  }
  if (elementCount_ == 0)
    return;
  for (const Dim &dim : dims_)
    (dim.stride < 0 ? lowest_ : highest) += (dim.extent - 1) * dim.stride;
  slotCount_ = highest - lowest_ + 1;
  for (size_t index = 0; index < dims_.size(); ++index)
    if (dims_[index].stride != 0)
      byStride_.push_back(index);
  std::sort(byStride_.begin(), byStride_.end(), [this](size_t left, size_t right) {
    const int64_t first = std::abs(dims_[left].stride);
    const int64_t second = std::abs(dims_[right].stride);
    return first != second ? first > second : left < right;
  });
  int64_t expected = 1;
  for (size_t at = byStride_.size(); at-- > 0;) {
    isDense_ = isDense_ && std::abs(dims_[byStride_[at]].stride) == expected;
    expected *= dims_[byStride_[at]].extent;
  }
}

std::vector<int64_t> TensorLayout::decompose(int64_t slot, int64_t &gap) const {
  std::vector<int64_t> index(dims_.size(), 0);
  for (const size_t which : byStride_) {
    const int64_t stride = std::abs(dims_[which].stride);
    const int64_t at = floorDivide(slot, stride);
    slot -= at * stride;
    index[which] = dims_[which].stride > 0 ? at : dims_[which].extent - 1 - at;
  }
  gap = slot;
  return index;
}

bool TensorLayout::isElement(int64_t slot) const {
  if (slot < 0 || slot >= slotCount_)
    return false;
  if (isDense_)
    return true;
  int64_t gap = 0;
  const std::vector<int64_t> index = decompose(slot, gap);
  for (size_t which = 0; which < dims_.size(); ++which)
    if (index[which] < 0 || index[which] >= dims_[which].extent)
      return false;
  return gap == 0;
}

std::vector<int64_t> TensorLayout::indexOf(int64_t slot) const {
  int64_t gap = 0;
  const std::vector<int64_t> along = decompose(slot, gap);
  std::vector<int64_t> index(shape_.size(), 0);
  for (size_t which = 0; which < dims_.size(); ++which)
    index[dims_[which].axis] = along[which];
  if (dims_.empty() && !index.empty())
    index.back() = gap;
  return index;
}

Plane::Plane(const TensorLayout &layout, int64_t slice) : layout_(&layout), slice_(slice) {
  const auto &dims = layout.dims_;
  if (layout.slotCount() == 0) {
    rows_ = columns_ = 0;
    return;
  }
  if (dims.size() <= 1) {
    isWrapped_ = true;
    elements_ = dims.empty() ? 1 : dims[0].extent;
    columnStride_ = dims.empty() ? 1 : dims[0].stride;
    columns_ = wrapWidth(elements_);
    rows_ = (elements_ + columns_ - 1) / columns_;
    return;
  }
  columns_ = dims.back().extent;
  columnStride_ = dims.back().stride;
  rows_ = dims[dims.size() - 2].extent;
  for (size_t index = 0; index + 2 < dims.size(); ++index)
    sliceCount_ *= dims[index].extent;
  if (slice_ < 0 || slice_ >= sliceCount_) {
    slice_ = -1;
    rows_ *= sliceCount_;
  }
}

int64_t Plane::columnsOf(int64_t row) const {
  return isWrapped_ ? std::clamp<int64_t>(elements_ - row * columns_, 0, columns_) : columns_;
}

int64_t Plane::rowSlot(int64_t row) const {
  if (isWrapped_)
    return row * columns_ * columnStride_ - layout_->lowest_;
  const auto &dims = layout_->dims_;
  if (slice_ >= 0)
    row += slice_ * rows_;
  int64_t offset = 0;
  for (size_t index = dims.size() - 1; index-- > 0;) {
    offset += (row % dims[index].extent) * dims[index].stride;
    row /= dims[index].extent;
  }
  return offset - layout_->lowest_;
}

std::optional<Cell> Plane::cellOf(int64_t slot) const {
  if (rows_ == 0)
    return std::nullopt;
  int64_t gap = 0;
  const std::vector<int64_t> index = layout_->decompose(slot, gap);
  if (isWrapped_) {
    const int64_t at = layout_->dims_.empty() ? gap : index[0];
    if (!layout_->dims_.empty() && gap != 0)
      return std::nullopt;
    const int64_t row = floorDivide(at, columns_);
    return Cell{row, at - row * columns_};
  }
  if (gap != 0)
    return std::nullopt;
  const auto &dims = layout_->dims_;
  const size_t last = dims.size() - 1;
  __int128 lead = 0; // flattened index of the dimensions before the last two, may be outside
  for (size_t at = 0; at + 2 < dims.size(); ++at)
    lead = lead * dims[at].extent + index[at];
  const int64_t height = dims[last - 1].extent;
  const auto cell = [&](__int128 slicesDown) {
    constexpr __int128 kFar = int64_t{1} << 60;
    const __int128 row = slicesDown * height + index[last - 1];
    return Cell{static_cast<int64_t>(std::clamp(row, -kFar, kFar)), index[last]};
  };
  if (slice_ < 0)
    return cell(lead);
  // A slice shows what is outside of it only at the tensor's own ends.
  if (lead < 0 && slice_ == 0)
    return cell(lead);
  if (lead >= sliceCount_ && slice_ == sliceCount_ - 1)
    return cell(lead - slice_);
  return lead == slice_ ? std::optional(cell(0)) : std::nullopt;
}

std::string Plane::rowLabel(int64_t row) const {
  if (isWrapped_)
    return std::to_string(row * columns_);
  const auto &dims = layout_->dims_;
  if (dims.size() < 3)
    return std::to_string(row);
  const int64_t height = dims[dims.size() - 2].extent;
  if (slice_ >= 0)
    return std::to_string(row);
  int64_t lead = floorDivide(row, height);
  std::string text = std::to_string(row - lead * height);
  for (size_t index = dims.size() - 2; index-- > 0;) {
    const int64_t extent = index == 0 ? lead + 1 : dims[index].extent;
    text = std::to_string(index == 0 ? lead : lead % extent) + "," + text;
    lead = index == 0 ? 0 : lead / extent;
  }
  return text;
}

std::string indexText(const std::vector<int64_t> &index) {
  std::string text = "[";
  for (size_t at = 0; at < index.size(); ++at)
    text += (at > 0 ? ", " : "") + std::to_string(index[at]);
  return text + "]";
}

} // namespace blockscope::viz
