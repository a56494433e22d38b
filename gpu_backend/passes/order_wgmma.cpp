// Moves products up and waits down within their block, then counts what each wait leaves running.
#include "gpu_backend/passes/order_products.h"

#include "gpu_backend/ir/tlg_dialect.h"

#include "core/ir/tl_dialect.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Whether shared memory may be written, or be free to be written, once `op` is done: products
/// that read it are neither begun before nor waited for after it.
bool changesShared(Operation *op) {
  if (isa<tlg::AsyncCopyOp, tlg::AsyncCommitOp, tlg::AsyncArriveOp, tlg::TmaLoadOp,
          tlg::MbarrierExpectOp>(op))
    return false; // into blocks that no product of this turn reads
  return op->getNumRegions() != 0
             ? !isPure(op)
             : isa<tl::BarrierOp>(op) ||
                   (isa_and_nonnull<tlg::TLGDialect>(op->getDialect()) && !isPure(op) &&
                    !isa<tlg::WgmmaOp, tlg::WgmmaWaitOp, tlg::MmaOp, tlg::LocalLoadOp>(op));
}

struct Product {
  tlg::WgmmaOp begin;
  tlg::WgmmaWaitOp wait;
};

class BlockOrder {
public:
  explicit BlockOrder(Block *block) : block_(block), rewriter_(block->getParentOp()) {}

  void run() {
    if (!findProducts())
      return;
    for (size_t i = 1; i < products_.size(); ++i)
      beginEarly(i);
    for (Product &product : products_)
      waitLate(product);
    for (Product &product : products_)
      product.wait.setPending(countRunning(product));
  }

private:
  /// Two products or more, each with a wait of its own that leaves nothing running.
  bool findProducts() {
    for (auto product : block_->getOps<tlg::WgmmaOp>()) {
      auto wait = product->hasOneUse() ? dyn_cast<tlg::WgmmaWaitOp>(*product->user_begin())
                                       : tlg::WgmmaWaitOp();
      if (!wait || wait->getBlock() != block_ || wait->getNumOperands() != 1 ||
          wait.getPending() != 0)
        return false;
      products_.push_back({product, wait});
    }
    return products_.size() > 1;
  }

  /// Moves product `i` up behind the first one before it behind which its operands are there.
  void beginEarly(size_t i) {
    tlg::WgmmaOp product = products_[i].begin;
    llvm::SmallVector<Operation *> views; // made in the block, for this product
    for (size_t before = 0; before < i; ++before) {
      Operation *place = products_[before].begin;
      views.clear();
      if (!isFreeBetween(place, product) ||
          !llvm::all_of(product->getOperands(),
                        [&](Value operand) { return canCome(operand, place, views); }))
        continue;
      for (Operation *view : views) {
        rewriter_.moveOpAfter(view, place);
        place = view;
      }
      rewriter_.moveOpAfter(product, place);
      std::rotate(products_.begin() + before + 1, products_.begin() + i, products_.begin() + i + 1);
      return;
    }
  }

  static bool isFreeBetween(Operation *from, Operation *to) {
    for (Operation *op = from->getNextNode(); op != to; op = op->getNextNode())
      if (changesShared(op))
        return false;
    return true;
  }

  /// Whether `value` is there behind `place`, or is one of a few views that can be moved there;
  /// gives these in order.
  bool canCome(Value value, Operation *place, llvm::SmallVector<Operation *> &views) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != block_ || op->isBeforeInBlock(place))
      return true;
    if (llvm::is_contained(views, op))
      return true;
    if (!isa<tlg::StageOp, tlg::TransSharedOp>(op) && !op->hasTrait<OpTrait::ConstantLike>())
      return false;
    if (!llvm::all_of(op->getOperands(),
                      [&](Value operand) { return canCome(operand, place, views); }))
      return false;
    views.push_back(op);
    return true;
  }

  void waitLate(Product &product) {
    Operation *place = product.wait->getNextNode();
    while (!place->hasTrait<OpTrait::IsTerminator>() && !changesShared(place) &&
           !uses(place, product.wait))
      place = place->getNextNode();
    if (place == product.wait->getNextNode())
      return;
    // A first operand in registers stays there as long as the product may read it.
    Value a = product.begin.getA();
    if (!tlg::hasLayout(a.getType()))
      a = {};
    rewriter_.setInsertionPoint(place);
    llvm::SmallVector<Value> values{product.begin.getResult()};
    if (a)
      values.push_back(a);
    auto wait = tlg::WgmmaWaitOp::create(rewriter_, product.wait.getLoc(),
                                         TypeRange(ValueRange(values)), values, 0);
    rewriter_.replaceAllUsesWith(product.wait->getResult(0), wait->getResult(0));
    rewriter_.eraseOp(product.wait);
    product.wait = wait;
  }

  /// Whether `op` or something in it uses the product's sums.
  static bool uses(Operation *op, tlg::WgmmaWaitOp wait) {
    return llvm::any_of(wait->getResult(0).getUsers(),
                        [&](Operation *user) { return op->isAncestor(user); });
  }

  int countRunning(const Product &product) const {
    int running = 0;
    for (const Product &other : products_)
      running +=
          product.begin->isBeforeInBlock(other.begin) && other.begin->isBeforeInBlock(product.wait);
    return running;
  }

  Block *block_;
  IRRewriter rewriter_;
  llvm::SmallVector<Product> products_; ///< in order
};

} // namespace

void orderProducts(func::FuncOp function) {
  llvm::SetVector<Block *> blocks;
  function.walk([&](tlg::WgmmaOp product) { blocks.insert(product->getBlock()); });
  for (Block *block : blocks)
    BlockOrder(block).run();
}

} // namespace blockscope::gpu
