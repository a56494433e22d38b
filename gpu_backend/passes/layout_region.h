// The ops of a block of code that may have one of two layouts, and the cheapest way to give each of
// them one: what makes or takes blocks in a layout of its own keeps it, and each value that is
// wanted in the other layout is converted once.
#pragma once

#include "gpu_backend/layout/linear_layout.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <array>

namespace blockscope::gpu {

/// Two layouts of blocks of as many elements.
struct LayoutPair {
  LinearLayout first, second;

  const LinearLayout &of(bool isFirst) const { return isFirst ? first : second; }
  bool has(mlir::Value block) const;
};

/// What may change, and what it costs: all costs in one unit.
class LayoutCosts {
public:
  virtual ~LayoutCosts() = default;
  /// Whether an op of the block, with one result, may have either layout on all its blocks but
  /// those of `keepsOperand`; its result is a block in one of the two, or a scalar.
  virtual bool mayChange(mlir::Operation *op) const = 0;
  /// Whether an operand of an op that may change has a layout of its own.
  virtual bool keepsOperand(mlir::OpOperand &operand) const = 0;
  /// Whether a block is made again in the other layout, not converted.
  virtual bool isMadeAgain(mlir::Value value) const = 0;
  virtual int64_t ofOp(mlir::Operation *op, bool isFirst) const = 0;
  /// That of the conversion of a value that has the other layout.
  virtual int64_t ofConversion(mlir::Value value, bool toFirst) const = 0;
  /// Whether a conversion right before an operand costs nothing.
  virtual bool isFree(mlir::OpOperand &operand) const = 0;
  /// Tells of an op that has got the layout of its label.
  virtual void changed(mlir::Operation *op) const = 0;
};

class LayoutRegion {
public:
  LayoutRegion(mlir::Block &block, LayoutPair pair, const LayoutCosts &costs)
      : block_(block), pair_(std::move(pair)), costs_(costs) {}

  /// Takes an op in, if it may change.
  void add(mlir::Operation *op);
  /// Takes in those that use a value, converted or not.
  void addUsers(mlir::Value value);
  /// Takes in what is connected with the ops that are there.
  void spread();
  bool contains(mlir::Operation *op) const { return ops_.contains(op); }
  bool isTooLarge() const;

  /// Labels the ops anew where `isWorth(cost now, cost then)`. Returns whether it did.
  bool improve(llvm::function_ref<bool(int64_t, int64_t)> isWorth);

private:
  /// An operand of somebody who takes the value in a layout: by itself, or by a conversion.
  struct Use {
    mlir::OpOperand *operand;
    bool isFirst;
  };

  bool isFirst(mlir::Value value) const;
  bool isFirst(mlir::Operation *op) const;
  /// Whether an operand has the label of its op.
  bool followsLabel(mlir::OpOperand &operand) const {
    return ops_.contains(operand.getOwner()) && !costs_.keepsOperand(operand);
  }
  mlir::Value rootOf(mlir::Value value) const;
  void collect();
  void rewrite(const llvm::DenseMap<mlir::Value, bool> &labels);
  mlir::Value in(mlir::Value value, bool isFirst);

  mlir::Block &block_;
  const LayoutPair pair_;
  const LayoutCosts &costs_;
  llvm::SetVector<mlir::Operation *> ops_;
  llvm::MapVector<mlir::Value, llvm::SmallVector<Use>> uses_;
  llvm::SetVector<mlir::Operation *> conversions_;
  std::array<llvm::DenseMap<mlir::Value, mlir::Value>, 2> made_; ///< by label, first and second
};

} // namespace blockscope::gpu
