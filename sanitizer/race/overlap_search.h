// Decides whether any two programs of a launch touch the same byte in a way that could be a race,
// for launches whose programs nothing orders.
//
// Each worker logs footprints; contiguous blocks and tiles are one entry each. At the end (or when
// a log is full) they are sorted by address and swept once. Only where bounds of tiles overlap are
// tiles compared: as cells of a grid, and where they form none, row by row. A "no" is exact; so is
// a "yes", but for launches too irregular to finish, which the caller takes for one.
#pragma once

#include "sanitizer/race/footprint.h"

#include "llvm/ADT/ArrayRef.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace blockscope::sanitizer {

/// How bytes are touched. Atomics of one width exclude each other.
enum class Touch : uint8_t { Read, Write, Atomic1, Atomic2, Atomic4, Atomic8 };
constexpr int kTouches = 6;

class OverlapSearch {
public:
  explicit OverlapSearch(int workers);
  ~OverlapSearch();

  /// Logs what `program`, which runs on `worker`, touches.
  void add(int worker, uint32_t program, Touch touch, const PlacedRows &rows);
  /// The same for bytes [begin, end).
  void add(int worker, uint32_t program, Touch touch, uint64_t begin, uint64_t end);
  /// Takes something for a conflict that cannot be decided here.
  void giveUp() { found_ = true; }
  /// Whether something was found already.
  bool hasFound() const { return found_.load(std::memory_order_relaxed); }
  /// Looks at all that was logged. Not while programs run.
  bool finish();

private:
  struct Footprint;
  struct Worker;
  struct Cell;
  class Frontier;
  enum class Verdict : uint8_t { Clean, Conflict, Unknown };

  void settle(Worker &worker);
  void flush(Worker &worker);
  static void dropCovered(std::vector<Footprint> &sorted);
  bool hasConflict(llvm::ArrayRef<Footprint> sorted) const;
  Verdict compareCells(llvm::ArrayRef<Footprint> group) const;
  Verdict compareRows(llvm::ArrayRef<Footprint> group) const;

  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> found_{false};
  std::mutex mutex_; // guards what follows
  std::vector<Footprint> settled_;
  std::atomic<size_t> fullLog_;
  std::map<RowPattern, uint32_t> numbers_;
  std::vector<RowPattern> patterns_; ///< number 0: one row, from begin to end
};

} // namespace blockscope::sanitizer
