// Sets of elements as words of bits.
#include "sanitizer/found_elements.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <bit>

namespace blockscope::sanitizer {
namespace {

constexpr int64_t kWordBits = 64;

/// Makes `next` a further row of `last` where it continues its pattern.
bool isNextRow(ElementRows &last, const ElementRows &next) {
  const int64_t step = next.first - (last.first + (last.rows - 1) * last.rowStride);
  if (last.count != next.count || (last.rows > 1 && step != last.rowStride))
    return false;
  last.rowStride = step;
  ++last.rows;
  return true;
}

} // namespace

void ElementSet::add(int64_t first, int64_t count) {
  for (const int64_t end = first + count; first < end;) {
    const int64_t word = llvm::divideFloorSigned(first, kWordBits);
    const int64_t begin = word * kWordBits;
    const int64_t wordEnd = std::min(end, begin + kWordBits);
    const uint64_t bits = (~uint64_t{0} >> (kWordBits - (wordEnd - first))) << (first - begin);
    const auto found = words_.find(word);
    if (found != words_.end()) {
      found->second |= bits;
    } else if (words_.size() < kMostWords || word < words_.rbegin()->first) {
      words_.emplace(word, bits);
      if (words_.size() > kMostWords) {
        words_.erase(std::prev(words_.end()));
        isCut_ = true;
      }
    } else {
      isCut_ = true;
      return; // what follows is higher still
    }
    first = wordEnd;
  }
}

std::vector<ElementRows> ElementSet::rows() const {
  std::vector<ElementRows> runs;
  for (const auto &[word, bits] : words_)
    for (int64_t at = 0; at < kWordBits;) {
      const uint64_t rest = bits >> at;
      if (rest == 0)
        break;
      at += std::countr_zero(rest);
      const int64_t count = std::countr_one(bits >> at);
      const int64_t first = word * kWordBits + at;
      if (!runs.empty() && runs.back().first + runs.back().count == first)
        runs.back().count += count;
      else
        runs.push_back({first, count});
      at += count;
    }
  std::vector<ElementRows> rows;
  for (const ElementRows &run : runs)
    if (rows.empty() || !isNextRow(rows.back(), run))
      rows.push_back(run);
  return rows;
}

void FoundElements::add(const TensorInfo &tensor, int64_t offset, int64_t bytes) {
  if (!pieces_.empty() && pieces_.back().tensor == &tensor && pieces_.back().end == offset)
    pieces_.back().end += bytes;
  else if (pieces_.size() < kMostPieces)
    pieces_.push_back({&tensor, offset, offset + bytes});
  else
    isCut_ = true;
}

void FoundElements::add(const FoundElements &other) {
  for (const Piece &piece : other.pieces_)
    add(*piece.tensor, piece.begin, piece.end - piece.begin);
  isCut_ |= other.isCut_;
}

void FoundElements::clear() {
  pieces_.clear();
  isCut_ = false;
}

void ElementsOfCause::add(const FoundElements &found) {
  for (const FoundElements::Piece &piece : found.pieces()) {
    OfTensor &elements = tensors_[piece.tensor->name];
    elements.elementBytes = std::max<int64_t>(1, piece.tensor->elementBytes);
    const int64_t first = llvm::divideFloorSigned(piece.begin, elements.elementBytes);
    const int64_t last = llvm::divideFloorSigned(piece.end - 1, elements.elementBytes);
    elements.set.add(first, last - first + 1);
    if (found.isCut())
      elements.set.cut();
  }
}

std::vector<TensorElements> ElementsOfCause::all() const {
  std::vector<TensorElements> result;
  for (const auto &[tensor, elements] : tensors_)
    result.push_back({tensor, elements.elementBytes, elements.set.rows(), elements.set.isCut()});
  return result;
}

} // namespace blockscope::sanitizer
