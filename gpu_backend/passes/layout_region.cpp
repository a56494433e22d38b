// A least cut: values are nodes, and so are their conversions to either layout.
#include "gpu_backend/passes/layout_region.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/clone_in_layout.h"
#include "gpu_backend/passes/min_cut.h"
#include "gpu_backend/passes/shape_transfer.h"

#include "core/ir/tl_dialect.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The most ops that are labelled at once.
constexpr size_t kMostOps = 1024;

void bind(MinCut &graph, unsigned node, bool isFirst) {
  isFirst ? graph.bindFirst(node) : graph.bindSecond(node);
}

} // namespace

bool LayoutPair::has(Value block) const {
  const LinearLayout layout = tlg::layoutOf(block.getType());
  return layout == first || layout == second;
}

bool LayoutRegion::isFirst(Value value) const {
  return tlg::layoutOf(value.getType()) == pair_.first;
}

/// By its result, or by what it takes if that is a scalar.
bool LayoutRegion::isFirst(Operation *op) const {
  if (isBlock(op->getResult(0)))
    return isFirst(op->getResult(0));
  return isFirst(*llvm::find_if(op->getOperands(), isBlock));
}

bool LayoutRegion::isTooLarge() const { return ops_.size() > kMostOps; }

/// The first value in one of the two layouts of those that conversions make of one another.
Value LayoutRegion::rootOf(Value value) const {
  Value root = value;
  while (auto conversion = value.getDefiningOp<tlg::ConvertLayoutOp>()) {
    value = conversion.getSource();
    if (pair_.has(value))
      root = value;
  }
  return root;
}

void LayoutRegion::add(Operation *op) {
  if (op && op->getBlock() == &block_ && costs_.mayChange(op))
    ops_.insert(op);
}

void LayoutRegion::spread() {
  for (size_t i = 0; i < ops_.size() && !isTooLarge(); ++i) {
    Operation *op = ops_[i];
    for (OpOperand &operand : op->getOpOperands())
      if (isBlock(operand.get())) {
        add(rootOf(operand.get()).getDefiningOp());
        addUsers(rootOf(operand.get()));
      }
    if (isBlock(op->getResult(0)))
      addUsers(op->getResult(0));
  }
}

void LayoutRegion::addUsers(Value value) {
  for (Operation *user : value.getUsers()) {
    if (isa<tlg::ConvertLayoutOp>(user))
      addUsers(user->getResult(0));
    else
      add(user);
  }
}

bool LayoutRegion::improve(llvm::function_ref<bool(int64_t, int64_t)> isWorth) {
  collect();
  MinCut graph;
  llvm::DenseMap<Value, unsigned> nodes;
  int64_t before = 0;
  for (const auto &[value, uses] : uses_) {
    nodes[value] = graph.add();
    Operation *op = value.getDefiningOp();
    if (!ops_.contains(op)) {
      bind(graph, nodes[value], isFirst(value));
      continue;
    }
    const int64_t asFirst = costs_.ofOp(op, true), asSecond = costs_.ofOp(op, false);
    graph.price(nodes[value], asFirst, asSecond);
    before += isFirst(op) ? asFirst : asSecond;
  }
  for (const auto &[value, uses] : uses_) {
    if (!isBlock(value))
      continue;
    const int64_t costToFirst = costs_.ofConversion(value, true),
                  costToSecond = costs_.ofConversion(value, false);
    const unsigned node = nodes[value], toSecond = graph.add(), toFirst = graph.add();
    graph.arc(node, toSecond, costToSecond);
    graph.arc(toFirst, node, costToFirst);
    bool isWantedFirst = false, isWantedSecond = false;
    for (const Use &use : uses) {
      if (costs_.isFree(*use.operand))
        continue;
      (use.isFirst ? isWantedFirst : isWantedSecond) = true;
      const bool follows = followsLabel(*use.operand);
      const unsigned user = follows ? nodes[use.operand->getOwner()->getResult(0)] : graph.add();
      if (!follows)
        bind(graph, user, use.isFirst);
      graph.arc(toSecond, user, MinCut::kBound);
      graph.arc(user, toFirst, MinCut::kBound);
    }
    if (isFirst(value) ? isWantedSecond : isWantedFirst)
      before += isFirst(value) ? costToSecond : costToFirst;
  }
  if (!isWorth(before, graph.solve()))
    return false;
  llvm::DenseMap<Value, bool> labels;
  for (const auto &[value, uses] : uses_)
    labels[value] = graph.isFirst(nodes[value]);
  rewrite(labels);
  return true;
}

/// Writes down every value of the region, and who takes it. Those that convert it to a third layout
/// take it as it is.
void LayoutRegion::collect() {
  llvm::SetVector<Value> values;
  for (Operation *op : ops_) {
    values.insert(op->getResult(0));
    for (OpOperand &operand : op->getOpOperands())
      if (isBlock(operand.get()) && pair_.has(rootOf(operand.get())))
        values.insert(rootOf(operand.get()));
  }
  for (Value value : values) {
    llvm::SmallVector<Use> &uses = uses_[value];
    if (!isBlock(value))
      continue;
    llvm::SmallVector<Value> open{value};
    while (!open.empty()) {
      Value each = open.pop_back_val();
      const bool isOfPair = pair_.has(each);
      for (OpOperand &use : each.getUses()) {
        Operation *user = use.getOwner();
        if (isa<tlg::ConvertLayoutOp>(user)) {
          conversions_.insert(user);
          open.push_back(user->getResult(0));
        } else if (isOfPair) {
          uses.push_back({&use, isFirst(each)});
        }
      }
    }
  }
}

void LayoutRegion::rewrite(const llvm::DenseMap<Value, bool> &labels) {
  for (Operation *op : ops_) {
    Value result = op->getResult(0);
    if (isBlock(result))
      result.setType(tlg::withLayout(result.getType(), pair_.of(labels.at(result))));
    costs_.changed(op);
  }
  for (auto &[value, uses] : uses_)
    for (const Use &use : uses)
      use.operand->set(in(value, followsLabel(*use.operand)
                                     ? labels.at(use.operand->getOwner()->getResult(0))
                                     : use.isFirst));
  // Conversions to a third layout are left, of the value itself.
  for (Operation *conversion : llvm::reverse(conversions_)) {
    if (conversion->use_empty())
      conversion->erase();
    else
      conversion->setOperand(0, convertedFrom(conversion->getOperand(0)));
  }
}

/// A value in one of the two layouts, made where the value is.
Value LayoutRegion::in(Value value, bool isFirst) {
  if (Value made = made_[isFirst ? 0 : 1].lookup(value))
    return made;
  Value made = madeInLayout(value, pair_.of(isFirst),
                            [&](Operation *op) { return costs_.isMadeAgain(op->getResult(0)); });
  made_[isFirst ? 0 : 1][value] = made;
  return made;
}

} // namespace blockscope::gpu
