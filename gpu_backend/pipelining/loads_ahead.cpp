// Level 0 has the loads that are asked for, level k + 1 those that level k's addresses need.
//
// In iteration i level k is made for iteration i + distance + k + 1.
#include "gpu_backend/pipelining/loads_ahead.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/pipelining/iterations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr size_t kMostLevels = 3; ///< more have not been seen; a list that is walked has no end

void mapTo(IRMapping &mapping, llvm::ArrayRef<Operation *> loads, llvm::ArrayRef<Value> values) {
  for (auto [load, value] : llvm::zip_equal(loads, values))
    mapping.map(load->getResult(0), value);
}

} // namespace

std::optional<std::vector<LoopSlice>> LoadsAhead::slicesFor(scf::ForOp loop,
                                                            llvm::ArrayRef<Operation *> loads) {
  std::vector<LoopSlice> slices;
  llvm::SmallVector<Operation *> open(loads);
  while (!open.empty()) {
    if (slices.size() == kMostLevels)
      return std::nullopt;
    LoopSlice &slice = slices.emplace_back();
    for (Operation *load : open)
      if (!slice.addOperandsOf(loop, cast<tl::LoadOp>(load)))
        return std::nullopt;
    open.assign(slice.loads.begin(), slice.loads.end());
  }
  return slices;
}

bool LoadsAhead::plan(scf::ForOp loop, llvm::ArrayRef<Operation *> loads, int distance) {
  distance_ = distance;
  levels_.clear();
  auto slices = slicesFor(loop, loads);
  if (!slices)
    return false;
  llvm::SmallVector<Operation *> made(loads);
  for (LoopSlice &slice : *slices) {
    levels_.push_back({made, std::move(slice), {}, {}});
    made.assign(levels_.back().slice.loads.begin(), levels_.back().slice.loads.end());
  }
  return true;
}

/// `before` has the slice's variables as the iteration finds them.
void LoadsAhead::make(OpBuilder &builder, scf::ForOp loop, const Level &level, ValueRange before,
                      IRMapping &mapping, const Iteration &iteration,
                      llvm::SmallVectorImpl<Value> &loaded,
                      llvm::SmallVectorImpl<Value> &variables) const {
  for (auto [variable, value] : llvm::zip_equal(level.slice.variables, before))
    mapping.map(loop.getRegionIterArg(variable), value);
  level.slice.clone(builder, loop, mapping, iteration);
  for (Operation *load : level.loads)
    loaded.push_back(makeLoad(builder, cast<tl::LoadOp>(load), mapping, iteration.exists));
  for (const unsigned variable : level.slice.variables)
    variables.push_back(mapping.lookupOrDefault(loop.getYieldedValues()[variable]));
}

LoadsAhead::First LoadsAhead::loadFirst(OpBuilder &builder, scf::ForOp loop,
                                        const IRMapping &outside, When when) const {
  First first;
  for (size_t k = levels_.size(); k-- > 0;) {
    const Level &level = levels_[k];
    llvm::SmallVector<llvm::SmallVector<Value>> loaded;
    llvm::SmallVector<Value> variables;
    for (const unsigned variable : level.slice.variables)
      variables.push_back(outside.lookupOrDefault(loop.getInitArgs()[variable]));
    for (int i = 0; i <= distance_ + static_cast<int>(k); ++i) {
      IRMapping mapping(outside);
      if (k + 1 < levels_.size())
        mapTo(mapping, levels_[k + 1].loads, first.loaded[i]);
      llvm::SmallVector<Value> next;
      make(builder, loop, level, variables, mapping, when(i), loaded.emplace_back(), next);
      variables = next;
    }
    llvm::append_range(variables, loaded.back());
    first.variables.insert(first.variables.begin(), variables.begin(), variables.end());
    first.loaded = std::move(loaded);
  }
  return first;
}

void LoadsAhead::mapFirst(IRMapping &mapping, const First &first, int iteration) const {
  if (!levels_.empty())
    mapTo(mapping, levels_[0].loads, first.loaded[iteration]);
}

void LoadsAhead::bind(llvm::ArrayRef<Value> &all) {
  const auto take = [&](llvm::SmallVector<Value> &values, size_t count) {
    values.assign(all.begin(), all.begin() + count);
    all = all.drop_front(count);
  };
  for (Level &level : levels_) {
    take(level.variables, level.slice.variables.size());
    take(level.loaded, level.loads.size());
  }
}

void LoadsAhead::map(IRMapping &mapping) const {
  if (!levels_.empty())
    mapTo(mapping, levels_[0].loads, levels_[0].loaded);
}

llvm::SmallVector<Value> LoadsAhead::advance(OpBuilder &builder, scf::ForOp loop, When when) const {
  llvm::SmallVector<Value> all;
  for (auto [k, level] : llvm::enumerate(levels_)) {
    IRMapping mapping;
    if (k + 1 < levels_.size())
      mapTo(mapping, levels_[k + 1].loads, levels_[k + 1].loaded);
    llvm::SmallVector<Value> loaded, variables;
    make(builder, loop, level, level.variables, mapping, when(distance_ + 1 + static_cast<int>(k)),
         loaded, variables);
    llvm::append_range(all, variables);
    llvm::append_range(all, loaded);
  }
  return all;
}

void LoadsAhead::collect(llvm::SmallPtrSetImpl<Operation *> &ops) const {
  for (const Level &level : levels_) {
    ops.insert(level.loads.begin(), level.loads.end());
    ops.insert(level.slice.ops.begin(), level.slice.ops.end());
  }
}

void LoadsAhead::collectOutside(llvm::SmallSetVector<Value, 8> &values) const {
  for (const Level &level : levels_)
    values.insert_range(level.slice.outside);
}

LogicalResult loadEarly(scf::ForOp loop, llvm::ArrayRef<Operation *> loads) {
  LoadsAhead ahead;
  if (!ahead.plan(loop, loads, /*distance=*/0))
    return loop.emitError("is not as its plan says (a mistake in blockscope)");
  IRRewriter rewriter(loop);
  const Location location = loop.getLoc();
  const LoopBounds bounds(loop);
  Value any = arith::CmpIOp::create(rewriter, location, arith::CmpIPredicate::slt, bounds.lower,
                                    bounds.upper);
  const LoadsAhead::First first = ahead.loadFirst(rewriter, loop, {}, [&](int number) {
    if (number == 0)
      return Iteration{bounds.lower, any};
    Value exists = hasIteration(rewriter, location, bounds, bounds.lower, number);
    return Iteration{iterationAfter(rewriter, location, bounds, bounds.lower, number),
                     arith::AndIOp::create(rewriter, location, any, exists)};
  });
  const unsigned firstNew = loop.getNumRegionIterArgs();
  loop = withVariables(rewriter, loop, first.variables);
  const llvm::SmallVector<Value> added(loop.getRegionIterArgs().drop_front(firstNew));
  llvm::ArrayRef<Value> all(added);
  ahead.bind(all);
  rewriter.setInsertionPointToStart(loop.getBody());
  const llvm::SmallVector<Value> next = ahead.advance(rewriter, loop, [&](int number) {
    Value counter = loop.getInductionVar();
    return Iteration{iterationAfter(rewriter, location, bounds, counter, number),
                     hasIteration(rewriter, location, bounds, counter, number)};
  });
  loop.getBody()->getTerminator()->setOperands(firstNew, next.size(), next);
  IRMapping now;
  ahead.map(now);
  for (Operation *load : loads)
    rewriter.replaceOp(load, now.lookup(load->getResult(0)));
  return success();
}

} // namespace blockscope::gpu
