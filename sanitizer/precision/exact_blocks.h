// What the values of a program would be without rounding, and where their errors come from.
//
// Values are named by their address (ValueView::data). A value without an entry has no error.
#pragma once

#include "sanitizer/precision/causes.h"

#include <map>

namespace blockscope::sanitizer {

/// The part of an error that one cause brings, by element.
struct ErrorPart {
  CauseId cause;
  std::vector<double> error;
};

struct ExactBlock {
  std::vector<double> exact;
  /// By ascending cause: those of lines, which add up to the error, then those of growth.
  std::vector<ErrorPart> parts;
  CauseId line = kOtherLines; ///< that has made it
  const OpInfo *op = nullptr; ///< that has made it

  const std::vector<double> *find(CauseId cause) const;
  /// Elements of a part that is made where it is missing.
  std::vector<double> &part(CauseId cause);
  /// Drops parts without an error, and puts the smallest together where there are too many.
  void tidy();
};

/// Elements [first, first + count) of a block. No block: they have no error.
struct ExactElements {
  const ExactBlock *block = nullptr;
  int64_t first = 0;
};

class ExactBlocks {
public:
  /// The elements of an operand of an event that begins at `begin`.
  ExactElements find(const ValueView &view, int64_t begin) const;
  /// The elements of a result have been made: `block` is without parts where they have no error.
  void set(const OpValues &values, const ValueView &result, ExactBlock block);
  /// A result has no error, or none that is known.
  void drop(const OpValues &values, const ValueView &result);
  void move(const void *from, const void *to, int64_t bytes);
  void clear() { entries_.clear(); }

private:
  struct Entry {
    uintptr_t end;
    ExactBlock block;
  };
  /// Drops what lay in [begin, end) before.
  void erase(uintptr_t begin, uintptr_t end);

  std::map<uintptr_t, Entry> entries_;
};

} // namespace blockscope::sanitizer
