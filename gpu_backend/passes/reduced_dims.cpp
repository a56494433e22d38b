// Follows a block to its uses, with the dimension that each dimension of a use was.
#include "gpu_backend/passes/reduced_dims.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// For each dimension of a use those of the block that it was made of: none where it is new.
using Dims = llvm::SmallVector<llvm::SmallVector<int, 2>, 4>;

/// The dimensions of a reshape's result, each of one or more neighbours of the operand; nothing
/// where one of the operand is taken apart.
std::optional<Dims> merged(tl::ReshapeOp reshape, const Dims &dims) {
  const llvm::ArrayRef<int64_t> from =
      cast<RankedTensorType>(reshape->getOperand(0).getType()).getShape();
  Dims result;
  size_t next = 0;
  for (const int64_t size : cast<RankedTensorType>(reshape.getType()).getShape()) {
    auto &parts = result.emplace_back();
    for (int64_t left = size; left > 1; left /= from[next++]) {
      if (left % from[next] != 0)
        return std::nullopt;
      llvm::append_range(parts, dims[next]);
    }
  }
  return result;
}

class Uses {
public:
  explicit Uses(Value block)
      : after_(cast<RankedTensorType>(block.getType()).getRank(), kNeverCombined) {
    Dims dims(after_.size());
    for (auto [dim, of] : llvm::enumerate(dims))
      of.push_back(static_cast<int>(dim));
    add(block, dims);
    for (size_t next = 0; next < open_.size(); ++next) {
      const auto [value, of] = open_[next];
      for (OpOperand &use : value.getUses())
        follow(use, of);
    }
  }

  const llvm::SmallVector<int, 4> &after() const { return after_; }

private:
  void add(Value value, const Dims &dims) {
    if (isa<RankedTensorType>(value.getType()) && seen_.insert(value).second)
      open_.emplace_back(value, dims);
  }

  void addAll(ValueRange values, const Dims &dims) {
    for (Value value : values)
      add(value, dims);
  }

  void combineAlong(const Dims &dims, int64_t axis) {
    size_t left = 0;
    for (const auto &of : dims)
      left += of.size();
    const int gone = static_cast<int>(after_.size() - left);
    for (const int dim : dims[axis])
      after_[dim] = after_[dim] == kNeverCombined ? gone : std::min(after_[dim], gone);
  }

  void follow(OpOperand &use, Dims dims) {
    Operation *op = use.getOwner();
    if (auto reduce = dyn_cast<tl::ReduceOp>(op)) {
      combineAlong(dims, reduce.getAxis());
      dims.erase(dims.begin() + reduce.getAxis());
      addAll(op->getResults(), dims);
    } else if (auto scan = dyn_cast<tl::ScanOp>(op)) {
      combineAlong(dims, scan.getAxis());
      addAll(op->getResults(), dims);
    } else if (auto expand = dyn_cast<tl::ExpandDimsOp>(op)) {
      dims.insert(dims.begin() + expand.getAxis(), Dims::value_type());
      addAll(op->getResults(), dims);
    } else if (auto trans = dyn_cast<tl::TransOp>(op)) {
      Dims moved;
      for (const int32_t dim : trans.getOrder())
        moved.push_back(dims[dim]);
      addAll(op->getResults(), moved);
    } else if (auto reshape = dyn_cast<tl::ReshapeOp>(op)) {
      if (const std::optional<Dims> whole = merged(reshape, dims))
        addAll(op->getResults(), *whole);
    } else if (isa<scf::YieldOp>(op)) {
      if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp())) {
        add(loop.getRegionIterArg(use.getOperandNumber()), dims);
        add(loop.getResult(use.getOperandNumber()), dims);
      }
    } else if (tl::isElementwise(op) || isa<tl::BroadcastOp>(op)) {
      addAll(op->getResults(), dims);
    }
  }

  llvm::SmallVector<int, 4> after_;
  llvm::SmallVector<std::pair<Value, Dims>> open_;
  llvm::DenseSet<Value> seen_;
};

} // namespace

llvm::SmallVector<int, 4> combinedAfter(Value block) { return Uses(block).after(); }

void combinedLast(llvm::MutableArrayRef<int> order, Value block) {
  const llvm::SmallVector<int, 4> after = combinedAfter(block);
  llvm::SmallVector<int, 4> sorted;
  const auto take = [&](int gone) {
    llvm::copy_if(order, std::back_inserter(sorted), [&](int dim) { return after[dim] == gone; });
  };
  take(kNeverCombined);
  for (int gone = static_cast<int>(after.size()); gone >= 0; --gone)
    take(gone);
  llvm::copy(sorted, order.begin());
}

} // namespace blockscope::gpu
