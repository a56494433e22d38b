// Combines the plans of observers.
#include "interpreter/observer_list.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscope::interpreter {
namespace {

using Repeat = ObserverPlan::Repeat;

void add(RunNeeds &to, const RunNeeds &needs) {
  to.accesses = std::max(to.accesses, needs.accesses);
  to.runs |= needs.runs;
  to.values |= needs.values;
  to.claims |= needs.claims;
  to.programOrder |= needs.programOrder;
  to.program |= needs.program;
  to.residency |= needs.residency;
}

} // namespace

CombinedPlan combinePlans(llvm::ArrayRef<ObserverPlan> plans) {
  CombinedPlan all;
  all.only.accesses = all.trial.accesses = RunNeeds::Accesses::Outside;
  bool isAsked = false, isRefused = false;
  for (const ObserverPlan &plan : plans) {
    isAsked |= plan.repeat == Repeat::Asks;
    isRefused |= plan.repeat == Repeat::Refuses;
    add(all.only, plan.needs);
    add(all.trial, plan.repeat == Repeat::Asks ? plan.trialNeeds : plan.needs);
    all.takesRefusedLanes |= plan.takesRefusedLanes;
    all.takesAsserts |= plan.takesAsserts;
    all.takesDeadlocks |= plan.takesDeadlocks;
  }
  all.repeat = all.only;
  all.repeat.programOrder = true;
  // A trial in program order would say no more than the run that counts.
  all.wantsTrial = isAsked && !isRefused && !all.trial.programOrder;
  return all;
}

void ObserverList::add(Observer &observer) {
  observers_.push_back(&observer);
  plans_.push_back(observer.plan());
  plan_ = combinePlans(plans_);
  startRun(Run::Only);
}

void ObserverList::startRun(Run run) {
  ofAccesses_.clear();
  for (auto [observer, plan] : llvm::zip(observers_, plans_)) {
    const bool isTried = run == Run::Trial && plan.repeat == Repeat::Asks;
    const RunNeeds &needs = isTried ? plan.trialNeeds : plan.needs;
    if (needs.accesses != RunNeeds::Accesses::Outside)
      ofAccesses_.push_back(observer);
  }
  switch (run) {
  case Run::Only:
    needs_ = plan_.only;
    return;
  case Run::Trial:
    needs_ = plan_.trial;
    return;
  case Run::Repeat:
    needs_ = plan_.repeat;
    return;
  }
}

bool ObserverList::mustRepeat() const {
  // All are asked: an observer may end its look at the trial there.
  bool must = false;
  for (size_t i = 0; i < observers_.size(); ++i)
    must |= plans_[i].repeat == Repeat::Asks && observers_[i]->mustRepeat();
  return must;
}

} // namespace blockscope::interpreter
