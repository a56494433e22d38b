// What several observers of one launch need together.
#include "interpreter/observer_list.h"

#include <gtest/gtest.h>

namespace blockscope::interpreter {
namespace {

using Repeat = ObserverPlan::Repeat;

ObserverPlan plan(RunNeeds needs, Repeat repeat, RunNeeds trialNeeds = {}) {
  ObserverPlan plan;
  plan.needs = needs;
  plan.repeat = repeat;
  plan.trialNeeds = trialNeeds;
  return plan;
}

constexpr RunNeeds kNothing;
constexpr RunNeeds kRuns = {.runs = true};
constexpr RunNeeds kValues = {.values = true};
constexpr RunNeeds kOrder = {.programOrder = true};

TEST(ObserverListTest, NobodyNeedsNothing) {
  const CombinedPlan all = combinePlans({});
  EXPECT_EQ(all.only, RunNeeds{.accesses = RunNeeds::Accesses::Outside});
  EXPECT_FALSE(all.wantsTrial || all.takesRefusedLanes || all.takesAsserts || all.takesDeadlocks);
}

TEST(ObserverListTest, TheMostAccessesThatOneNeedsAreNeeded) {
  using Accesses = RunNeeds::Accesses;
  const ObserverPlan few = plan({.accesses = Accesses::Outside}, Repeat::Accepts);
  const ObserverPlan some = plan({.accesses = Accesses::Stored}, Repeat::Accepts);
  EXPECT_EQ(combinePlans({some, few}).only.accesses, Accesses::Stored);
  EXPECT_EQ(combinePlans({few, plan({}, Repeat::Accepts)}).only.accesses, Accesses::All);
}

TEST(ObserverListTest, NeedsAddUp) {
  const CombinedPlan all =
      combinePlans({plan(kRuns, Repeat::Accepts), plan(kValues, Repeat::Accepts)});
  EXPECT_EQ(all.only, (RunNeeds{.runs = true, .values = true}));
  EXPECT_FALSE(all.wantsTrial);
}

// A race detector (exact: runs, in order) beside a recorder (runs) is tried first on all threads.
TEST(ObserverListTest, ATrialNeedsWhatItsAskersNeedInItAndTheOthersAlways) {
  const CombinedPlan all = combinePlans(
      {plan({.runs = true, .programOrder = true}, Repeat::Asks), plan(kRuns, Repeat::Accepts)});
  EXPECT_TRUE(all.wantsTrial);
  EXPECT_EQ(all.trial, kRuns);
  EXPECT_EQ(all.repeat, (RunNeeds{.runs = true, .programOrder = true}));
  EXPECT_EQ(all.only, all.repeat);
}

TEST(ObserverListTest, ARepeatIsInOrderThoughNobodyNeedsIt) {
  const CombinedPlan all = combinePlans({plan(kNothing, Repeat::Asks)});
  EXPECT_EQ(all.only, kNothing);
  EXPECT_EQ(all.repeat, kOrder);
}

TEST(ObserverListTest, OneThatRefusesEndsTheTrial) {
  EXPECT_FALSE(
      combinePlans({plan(kNothing, Repeat::Asks), plan(kNothing, Repeat::Refuses)}).wantsTrial);
}

TEST(ObserverListTest, OneThatNeedsOrderAlwaysEndsTheTrial) {
  EXPECT_FALSE(
      combinePlans({plan(kNothing, Repeat::Asks), plan(kOrder, Repeat::Accepts)}).wantsTrial);
  EXPECT_FALSE(combinePlans({plan(kNothing, Repeat::Asks, kOrder)}).wantsTrial);
}

TEST(ObserverListTest, WhatOneTakesOverIsTakenOver) {
  ObserverPlan lanes, asserts, deadlocks;
  lanes.takesRefusedLanes = asserts.takesAsserts = deadlocks.takesDeadlocks = true;
  const CombinedPlan some = combinePlans({lanes, ObserverPlan()});
  EXPECT_TRUE(some.takesRefusedLanes);
  EXPECT_FALSE(some.takesAsserts || some.takesDeadlocks);
  const CombinedPlan all = combinePlans({lanes, asserts, deadlocks});
  EXPECT_TRUE(all.takesRefusedLanes && all.takesAsserts && all.takesDeadlocks);
}

/// Counts how often it is asked.
struct Asked : Observer {
  ObserverPlan plan() const override {
    ++plans;
    ObserverPlan plan;
    plan.repeat = Repeat::Asks;
    plan.needs = kValues;
    plan.trialNeeds = kRuns;
    return plan;
  }
  bool mustRepeat() override {
    ++questions;
    return wants;
  }
  mutable int plans = 0;
  int questions = 0;
  bool wants = false;
};

TEST(ObserverListTest, PlansAreAskedForOnce) {
  Asked first, second;
  ObserverList list;
  EXPECT_TRUE(list.empty());
  list.add(first);
  list.add(second);
  EXPECT_EQ(list.needs(), kValues);
  list.startRun(ObserverList::Run::Trial);
  EXPECT_EQ(list.needs(), kRuns);
  list.startRun(ObserverList::Run::Repeat);
  EXPECT_EQ(list.needs(), (RunNeeds{.values = true, .programOrder = true}));
  EXPECT_EQ(first.plans + second.plans, 2);
}

TEST(ObserverListTest, EveryAskerIsAsked) {
  Asked first, second;
  first.wants = true;
  ObserverList list;
  list.add(first);
  list.add(second);
  EXPECT_TRUE(list.mustRepeat());
  EXPECT_EQ(first.questions, 1);
  EXPECT_EQ(second.questions, 1);
}

} // namespace
} // namespace blockscope::interpreter
