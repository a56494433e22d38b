// outputs: elements that no program writes though it writes those beside them, and elements that
// two programs write.
//
// Each worker keeps bits of what its programs have written. After the launch the elements of each
// written argument that are left out are looked at. A kernel may leave them out on purpose: a
// cache, a column slice, padding. So something else has to say that they are meant:
//  - the grid: programs behind its end are run, and memory put back. When they write all that was
//    left out, and programs far behind write nothing, then the kernel knows its own end, and the
//    grid ends before it;
//  - the hole: blocks are written on both sides of it, and which ones depends on no data;
//  - the host reads them, and nobody has given them a value.
// What a later launch or the host writes after all is taken back, and so is a hole that a later
// launch passes over where it loads the rest: partial results, of which some are for nobody.
#pragma once

#include "sanitizer/outputs/holes.h"
#include "sanitizer/outputs/write_map.h"
#include "sanitizer/sanitizer.h"
#include "sanitizer/undefined/undefined_memory.h"

#include "llvm/ADT/DenseSet.h"

namespace blockscope::sanitizer {

class OutputsSanitizer : public Observer, public HostWatcher {
public:
  /// `tellsReads`, `tellsTwice`: no other sanitizer tells of what the host reads without a value,
  /// and of two programs that write one address.
  OutputsSanitizer(FindingCollector &collector, bool tellsReads, bool tellsTwice)
      : collector_(collector), tellsReads_(tellsReads), tellsTwice_(tellsTwice) {}
  ~OutputsSanitizer() override;

  ObserverPlan plan() const override;
  void onLaunchBegin(const LaunchInfo &launch) override;
  void onAccess(const Access &access) override;
  bool mustRepeat() override;
  void onLaunchEnd() override;

  void onHostAllocation(const HostRange &storage, const SourceLocation &where) override;
  void onHostWrite(const HostElements &elements) override;
  void onHostRead(const HostElements &elements, const SourceLocation &where) override;
  void onHostShare(const HostElements &elements, const SourceLocation &where) override;
  void onHostCopy(const HostElements &from, const HostElements &to) override;
  void onHostCompute(llvm::ArrayRef<HostElements> from, const HostElements &to,
                     const SourceLocation &where) override;
  void onHostMove(llvm::ArrayRef<HostElements> from, llvm::ArrayRef<int64_t> numbers,
                  const HostElements &to) override;
  void onHostFree(const HostRange &storage) override;
  bool mayBeUndefined(const HostRange &storage) const override;
  bool isUndefined(const HostElements & /*elements*/) const override { return false; }

private:
  struct Worker;
  struct Writers;
  /// What is known of the stores to one argument in a launch.
  struct Stores {
    const OpInfo *op = nullptr; ///< the first
    AccessKind kind = AccessKind::Store;
    std::vector<int64_t> blockShape;
    bool isRegular = true; ///< neighbours, at places that depend on no data
  };
  /// A finding that stands as long as nobody writes these elements.
  struct Pending {
    std::string cause;
    uint64_t storage;
    LeftOut elements; ///< real addresses, rising
    bool isHole = false;
  };
  /// What a launch loads of a storage with a hole.
  enum class Loads : uint8_t { Nothing, Rest, Hole };
  class Outside;

  void write(const Access &access, Worker &worker);
  void load(const Access &access, Worker &worker) const;
  void findTwice(const Access &access);
  void reportTwice(const Access &access, const Allocation &allocation, int64_t lane, int64_t offset,
                   int64_t count, uint32_t other, uint32_t otherOp, const FoundElements &elements);
  void lookAt(const Allocation &allocation, const Stores &stores);
  void define(const Allocation &allocation);
  bool lookOutside(const Allocation &allocation, const LeftOut &left);
  bool reportGrid(const Outside &outside, const Allocation &allocation, const LeftOut &left,
                  int axis);
  void reportHole(const Allocation &allocation, const Stores &stores, const LeftOut &hole);
  void stand(const std::string &cause, const Allocation &allocation, const LeftOut &elements,
             bool isHole);
  void withdrawWritten(llvm::function_ref<bool(const Pending &)> isWritten);
  void withdrawPassedOver();
  bool isArgument(const Allocation &allocation) const;

  FindingCollector &collector_;
  bool tellsReads_, tellsTwice_;
  const LaunchInfo *launch_ = nullptr;
  bool isExact_ = false; ///< two writers of one element are compared
  PagePool pool_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Writers> writers_; ///< where it is exact
  WriteMap written_{pool_};          ///< of all workers, at the end
  std::vector<Pending> pending_;
  /// Storages that an earlier launch has written, or that the host has filled, by their begin.
  llvm::DenseSet<uint64_t> launched_, filled_;
  UndefinedMemory memory_;
};

} // namespace blockscope::sanitizer
