// The observers of one launch, and what they need together: combined here and nowhere else.
#pragma once

#include "interpreter/observer.h"

#include "llvm/ADT/SmallVector.h"

namespace blockscope::interpreter {

/// What all observers of a launch need together.
struct CombinedPlan {
  RunNeeds only; ///< of a launch that runs once
  /// Whether to try first, where the kernel allows it, and then what either run needs.
  bool wantsTrial = false;
  RunNeeds trial, repeat;
  bool takesRefusedLanes = false;
  bool takesAsserts = false;
  bool takesDeadlocks = false;
};

CombinedPlan combinePlans(llvm::ArrayRef<ObserverPlan> plans);

class ObserverList {
public:
  enum class Run : uint8_t { Only, Trial, Repeat };

  /// Asks for the observer's plan. Before the launch; `observer` must outlive it.
  void add(Observer &observer);

  llvm::ArrayRef<Observer *> all() const { return observers_; }
  bool empty() const { return observers_.empty(); }
  auto begin() const { return observers_.begin(); }
  auto end() const { return observers_.end(); }

  const CombinedPlan &plan() const { return plan_; }
  /// Says which run begins now.
  void startRun(Run run);
  /// Those that must be told of accesses inside of dense views, in the run that goes on.
  llvm::ArrayRef<Observer *> ofAccesses() const { return ofAccesses_; }
  /// What the run that goes on must give.
  const RunNeeds &needs() const { return needs_; }
  /// Whether an observer that asked for the trial, which has ended, is not content with it.
  bool mustRepeat() const;

private:
  llvm::SmallVector<Observer *, 4> observers_, ofAccesses_;
  llvm::SmallVector<ObserverPlan, 4> plans_;
  CombinedPlan plan_;
  RunNeeds needs_;
};

} // namespace blockscope::interpreter
