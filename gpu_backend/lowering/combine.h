// What reductions, scans and sorts have in common: the combine region on the values of one element,
// the part that each bit of a layout has in the axis, and slots of scratch memory.
#pragma once

#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/lowering/lowering.h"

namespace blockscope::gpu {

/// The values of one element, one of each operand.
using Elements = llvm::SmallVector<llvm::Value *, 2>;

/// The combine region of a tl.reduce or tl.scan.
class Combine {
public:
  Combine(Lowering &lowering, mlir::Operation *op);
  Combine(const Combine &) = delete;
  Combine &operator=(const Combine &) = delete;
  ~Combine();

  Elements operator()(const Elements &lhs, const Elements &rhs);
  /// The same for elements of which `lhs` comes before `rhs` along the axis: where an operand is
  /// the coordinate there, as of argmax and argmin, comparisons of it are known.
  Elements inOrder(const Elements &lhs, const Elements &rhs);
  /// Whether the second operand of two is the coordinate along the axis of a reduction.
  bool hasPlaces() const;
  /// Whether an op of the region could not be lowered; it has reported why.
  bool hasFailed() const { return hasFailed_; }
  /// The op that is all of the region, such as "arith.addi"; empty when there is more to it.
  llvm::StringRef onlyOp() const;
  /// About how many instructions the region is.
  int instructions() const;
  /// Whether it is known that the order of the two elements makes no difference.
  bool isCommutative() const { return isCommutative_; }
  /// Whether lanes that combine what they have with what others have come to the same, to the bit.
  bool isSameInLanes() const;

private:
  Elements combined(mlir::Operation *op, const Elements &lhs, const Elements &rhs);

  Lowering &lowering_;
  mlir::Operation *op_;
  mlir::Operation *ordered_ = nullptr; ///< a copy of `op_` for elements in order, if it differs
  bool isCommutative_;
  bool hasFailed_ = false;
};

/// The input bits of a layout that move along one dimension and make no copies.
///
/// Errors: nothing where a bit moves along it and along others as well.
std::optional<InputBits> bitsAlong(const LinearLayout &layout, const ShapeBits &shape, int dim);

/// The bits of `mask` as numbers, those with the lowest coordinates along `dim` first.
llvm::SmallVector<int> inOrderOfAxis(uint32_t mask, const Bases &bases, const ShapeBits &shape,
                                     int dim);

enum class Level { Registers, Lanes, Warps };

/// The input bit that flips one bit of an element's coordinate.
struct BitOwner {
  Level level = Level::Registers;
  int bit = -1;
};

/// The owner of each bit of the coordinate along `dim`, from low to high.
///
/// Errors: nothing where a basis of the layout is more than one bit, or two bases are the same.
std::optional<llvm::SmallVector<BitOwner>> ownersAlong(const LinearLayout &layout,
                                                       const ShapeBits &shape, int dim);

/// Scratch memory with numbered slots, each for the values of one element.
class Slots {
public:
  /// All threads come here.
  Slots(Lowering &lowering, mlir::ValueRange operands, int64_t count);
  void store(llvm::Value *slot, const Elements &elements);
  /// Stores what `each` gives for 0 to `count` - 1, a slot and its elements, where `condition`
  /// (null: always) is true. A few stores are predicated: a branch would end LLVM's basic block,
  /// and let it move sums behind all blocks.
  void storeEach(llvm::Value *condition, size_t count,
                 llvm::function_ref<std::pair<llvm::Value *, Elements>(size_t)> each);
  Elements load(llvm::Value *slot);
  /// The same of the CTA with this number in the cluster.
  Elements loadFrom(llvm::Value *cta, llvm::Value *slot);
  /// Stores each element of a block, of the only operand, in the slot of its row-major number.
  void storeBlock(llvm::ArrayRef<llvm::Value *> registers, const LinearLayout &layout);

private:
  llvm::Value *pointer(size_t operand, llvm::Value *slot);

  Lowering &lowering_;
  llvm::SmallVector<mlir::Type, 2> types_;
  llvm::SmallVector<llvm::Value *, 2> bases_;
};

/// `value`, of 16, 32 or 64 bits, as LLVM does not see through it: what is made of what other warps
/// have stored is made where that is read. LLVM would take a sum of such sums for one, and move
/// what few threads need into the branch of these: what all of them have read from shared memory
/// would have registers until then. And it would look for vectors among the loads of a long block
/// of code.
llvm::Value *madeHere(Lowering &lowering, llvm::Value *value);

/// Registers with none of `bits`, each element once.
llvm::SmallVector<uint32_t> registersWithout(uint32_t bits, const LinearLayout &layout);

/// `shuffle` of each value of an element.
Elements shuffled(const Elements &elements,
                  llvm::function_ref<llvm::Value *(llvm::Value *)> shuffle);

/// How many elements share a register where values of 8 and 16 bits are packed, by their narrowest
/// value: 1, 2 or 4.
size_t elementsTogether(const Elements &element);

/// The same of several elements, whose small values share registers that are shuffled at once.
llvm::SmallVector<Elements>
shuffledTogether(llvm::IRBuilder<> &builder, llvm::ArrayRef<Elements> elements,
                 llvm::function_ref<llvm::Value *(llvm::Value *)> shuffle);

/// The registers of the operands of an op in `layout`, for the registers of its results.
using RunInLayout = llvm::function_ref<mlir::FailureOr<llvm::SmallVector<Registers>>(
    const LinearLayout &layout, llvm::ArrayRef<Registers> operands)>;

/// Lowers an op along one axis of its operands by `run`, in their layout where `fits` takes it,
/// else in a blocked one. Results come in the layout of `run`, without the axis where they have
/// none.
mlir::LogicalResult lowerAlongAxis(Lowering &lowering, mlir::Operation *op, int axis,
                                   llvm::function_ref<bool(const LinearLayout &)> fits,
                                   RunInLayout run);

/// The registers of each operand: element r has register r of each.
llvm::SmallVector<Elements> elementsOf(llvm::ArrayRef<Registers> operands);

} // namespace blockscope::gpu
