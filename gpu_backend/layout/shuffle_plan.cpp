// Finds the linear maps of a shuffle conversion.
//
// Step k gives lane l the destination register k + C l (C chosen below), the element
// E(k, l) = D_r k + (D_r C + D_l) l. It is in lane P l + M k of the source, in register Q l + K k.
// A lane sends one register per step if lanes that P maps to the same lane want the same element.
// Where D_l alone would let them want different ones, P gets a source lane that holds the same
// elements, or C makes them take turns, with destination registers that do not exist if need be.
#include "gpu_backend/layout/shuffle_plan.h"
#include "gpu_backend/layout/f2_matrix.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cassert>

namespace blockscope::gpu {
namespace {

/// Where a source holds an element: the register and the lane, both as XOR of bits.
struct Place {
  uint32_t reg, lane;
};

class ShufflePlanner {
public:
  ShufflePlanner(const LinearLayout &source, const LinearLayout &destination)
      : source_(source), destination_(destination), registers_(source.registers),
        received_(f2::independentSubset(destination.registers)) {
    Bases all = source.registers;
    llvm::append_range(all, source.lanes);
    warp_ = f2::Span(all);
  }

  bool isPossible() const {
    return llvm::all_of(received_, [&](ElementBits e) { return warp_.contains(e); }) &&
           llvm::all_of(destination_.lanes, [&](ElementBits e) { return warp_.contains(e); }) &&
           llvm::all_of(warpOffsets(), [&](ElementBits e) { return warp_.contains(e); });
  }

  ShufflePlan plan(int elementBytes) {
    if (isLocal())
      keepLanes();
    else
      mapLanes();
    return assemble(elementBytes);
  }

private:
  /// What warp bits change between source and destination.
  Bases warpOffsets() const {
    Bases offsets;
    for (size_t bit = 0; bit < source_.warps.size(); ++bit)
      offsets.push_back(source_.warps[bit] ^ destination_.warps[bit]);
    return offsets;
  }
  Place find(ElementBits element) const {
    const uint32_t inputs = *warp_.solve(element);
    const size_t registerBits = source_.registers.size();
    return {inputs & ((1u << registerBits) - 1), inputs >> registerBits};
  }

  /// Whether each thread has all that it needs.
  bool isLocal() const {
    const auto inThread = [&](ElementBits e) { return registers_.contains(e); };
    for (size_t bit = 0; bit < source_.lanes.size(); ++bit)
      if (!inThread(source_.lanes[bit] ^ destination_.lanes[bit]))
        return false;
    return llvm::all_of(received_, inThread) && llvm::all_of(warpOffsets(), inThread);
  }
  void keepLanes() {
    turns_.assign(source_.lanes.size(), 0);
    for (size_t bit = 0; bit < source_.lanes.size(); ++bit) {
      lanes_.push_back(1u << bit);
      choice_.push_back(*registers_.solve(source_.lanes[bit] ^ destination_.lanes[bit]));
    }
  }
  void mapLanes();
  ShufflePlan assemble(int elementBytes) const;
  void addSteps(ShufflePlan &plan, llvm::ArrayRef<ElementBits> senderChoice,
                int elementBytes) const;

  const LinearLayout &source_, &destination_;
  f2::Span registers_, warp_;
  Bases received_;               // D_r, then registers that exist only to take turns
  Bases lanes_, choice_, turns_; // P, Q, C, a column per lane bit
};

/// The exchanges that move entry `x ^ map(inputs)` to x, one per independent value of the map.
void addExchanges(llvm::SmallVectorImpl<RegisterExchange> &exchanges,
                  llvm::ArrayRef<ElementBits> laneMap, llvm::ArrayRef<ElementBits> warpMap) {
  Bases columns(laneMap.begin(), laneMap.end());
  columns.append(warpMap.begin(), warpMap.end());
  const Bases image = f2::Span(columns).basis();
  const f2::Span span(image);
  for (size_t i = 0; i < image.size(); ++i) {
    RegisterExchange exchange{image[i], 0, 0};
    for (size_t bit = 0; bit < laneMap.size(); ++bit)
      exchange.lanes |= ((*span.solve(laneMap[bit]) >> i) & 1) << bit;
    for (size_t bit = 0; bit < warpMap.size(); ++bit)
      exchange.warps |= ((*span.solve(warpMap[bit]) >> i) & 1) << bit;
    exchanges.push_back(exchange);
  }
}

void ShufflePlanner::mapLanes() {
  const int laneBits = static_cast<int>(source_.lanes.size());
  const auto modulo = [&](const Bases &bases) {
    Bases result;
    for (const ElementBits basis : bases)
      result.push_back(registers_.reduce(basis));
    return result;
  };
  const Bases wanted = modulo(destination_.lanes);
  // Lanes that want the same; lanes that want different registers of one place; all others.
  const Bases same = f2::Span(destination_.lanes).kernel();
  Bases known = same;
  Bases rivals;
  for (const ElementBits lane : f2::Span(wanted).kernel()) {
    if (f2::Span(known).contains(lane))
      continue;
    known.push_back(lane);
    rivals.push_back(lane);
  }
  const Bases others = f2::complement(known, laneBits);

  // For each vector of this basis of the lanes: columns of P, Q and C.
  Bases basis = same, lanes(same.size(), 0), choice(same.size(), 0), turns(same.size(), 0);
  const auto add = [&](uint32_t lane, uint32_t turn, Place place) {
    basis.push_back(lane);
    lanes.push_back(place.lane);
    choice.push_back(place.reg);
    turns.push_back(turn);
  };
  f2::Span reached; // the places, modulo registers, that the lanes look at
  for (const uint32_t lane : others) {
    reached.add(combine(wanted, lane));
    add(lane, 0, find(combine(destination_.lanes, lane)));
  }
  const Bases twins = f2::Span(modulo(source_.lanes)).kernel();
  size_t nextTwin = 0, nextRegister = 0;
  const size_t realRegisters = received_.size();
  const auto turnTo = [&](ElementBits element) { // whether it leads to a new place
    return !reached.contains(registers_.reduce(element));
  };
  for (const uint32_t lane : rivals) {
    const ElementBits element = combine(destination_.lanes, lane);
    if (nextTwin < twins.size()) {
      const uint32_t twin = twins[nextTwin++];
      add(lane, 0, {*registers_.solve(element ^ combine(source_.lanes, twin)), twin});
      continue;
    }
    while (nextRegister < realRegisters && !turnTo(received_[nextRegister]))
      ++nextRegister;
    size_t turn = nextRegister;
    if (turn == realRegisters) {
      turn = received_.size();
      received_.push_back(*llvm::find_if(source_.lanes, turnTo));
    }
    reached.add(registers_.reduce(received_[turn]));
    add(lane, 1u << turn, find(element ^ received_[turn]));
  }
  const Bases coordinates = *f2::inverse(basis);
  lanes_ = f2::multiply(lanes, coordinates);
  choice_ = f2::multiply(choice, coordinates);
  turns_ = f2::multiply(turns, coordinates);
}

ShufflePlan ShufflePlanner::assemble(int elementBytes) const {
  ShufflePlan plan;
  plan.sourceLanes = lanes_;
  Bases warpChoice;
  for (const ElementBits offset : warpOffsets()) {
    const Place place =
        registers_.contains(offset) ? Place{*registers_.solve(offset), 0} : find(offset);
    plan.sourceWarps.push_back(place.lane);
    warpChoice.push_back(place.reg);
  }
  // The register that a sender picks, from its own number: Q after a left inverse of P.
  const int laneBits = static_cast<int>(lanes_.size());
  const f2::Span image(lanes_);
  Bases inverse, frame = image.basis();
  for (const ElementBits lane : frame)
    inverse.push_back(*image.solve(lane));
  for (const ElementBits outside : f2::complement(frame, laneBits)) {
    frame.push_back(outside);
    inverse.push_back(0);
  }
  const Bases receivers = f2::multiply(inverse, *f2::inverse(frame));
  const Bases senderChoice = f2::multiply(choice_, receivers);
  for (size_t bit = 0; bit < warpChoice.size(); ++bit)
    warpChoice[bit] ^= combine(senderChoice, plan.sourceWarps[bit]);

  addExchanges(plan.before, senderChoice, warpChoice);
  addSteps(plan, senderChoice, elementBytes);
  addExchanges(plan.after, turns_, {});
  plan.receivedCount = 1 << received_.size();
  const Bases numbers = *f2::leftDivide(received_, destination_.registers);
  for (int reg = 0; reg < destination_.registerCount(); ++reg)
    plan.results.push_back(combine(numbers, reg));
  plan.selectCount =
      static_cast<int>(plan.before.size() * std::min(source_.registerCount(), plan.receivedCount) +
                       plan.after.size() * plan.receivedCount);
  return plan;
}

void ShufflePlanner::addSteps(ShufflePlan &plan, llvm::ArrayRef<ElementBits> senderChoice,
                              int elementBytes) const {
  Bases sent, flips; // a column per bit of k
  for (const ElementBits element : received_) {
    const Place place = find(element);
    sent.push_back(place.reg ^ combine(senderChoice, place.lane));
    flips.push_back(place.lane);
  }
  const size_t perShuffle = std::max(4 / elementBytes, 1);
  const int wordsPerShuffle = std::max(elementBytes / 4, 1);
  const bool keepsLanes = plan.keepsLanes();
  for (uint32_t k = 0; k < (1u << received_.size()); ++k) {
    const uint32_t flip = combine(flips, k);
    const auto open = llvm::find_if(plan.steps, [&](const ShuffleStep &step) {
      return step.laneFlip == flip && step.sent.size() < perShuffle;
    });
    ShuffleStep &step =
        open != plan.steps.end() ? *open : plan.steps.emplace_back(ShuffleStep{flip, {}, {}});
    step.sent.push_back(combine(sent, k));
    step.received.push_back(k);
    if (step.sent.size() == 1 && !(keepsLanes && flip == 0))
      plan.shuffleCount += wordsPerShuffle;
  }
}

} // namespace

bool RegisterExchange::appliesTo(uint32_t lane, uint32_t warp) const {
  return (llvm::popcount(lane & lanes) + llvm::popcount(warp & warps)) % 2 == 1;
}

bool ShufflePlan::keepsLanes() const {
  return sourceLanes == f2::identity(static_cast<int>(sourceLanes.size())) &&
         llvm::all_of(sourceWarps, [](uint32_t lane) { return lane == 0; });
}

bool staysInWarps(const LinearLayout &source, const LinearLayout &destination) {
  assert(source.lanes.size() == destination.lanes.size() &&
         source.warps.size() == destination.warps.size());
  return ShufflePlanner(source, destination).isPossible();
}

std::optional<ShufflePlan> planShuffles(const LinearLayout &source, const LinearLayout &destination,
                                        int elementBytes) {
  if (!staysInWarps(source, destination))
    return std::nullopt;
  return ShufflePlanner(source, destination).plan(elementBytes);
}

} // namespace blockscope::gpu
