// Combine regions inlined, and where the values of elements are kept.
#include "gpu_backend/lowering/combine.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/layout/f2_matrix.h"
#include "gpu_backend/layout/shape_layouts.h"
#include "gpu_backend/lowering/convert_layout.h"
#include "gpu_backend/lowering/words.h"
#include "gpu_backend/passes/commutes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {

namespace {

/// Whether the elements of `value` grow along `axis`: they are the coordinate there.
bool growsAlong(Value value, int64_t axis) {
  Operation *op = value.getDefiningOp();
  if (auto range = dyn_cast_or_null<tl::RangeOp>(op))
    return static_cast<int32_t>(range.getStart()) >= 0;
  if (auto expand = dyn_cast_or_null<tl::ExpandDimsOp>(op)) {
    const auto added = static_cast<int64_t>(expand.getAxis());
    return axis != added && growsAlong(expand.getSource(), axis > added ? axis - 1 : axis);
  }
  if (!isa_and_nonnull<tl::BroadcastOp, tlg::ConvertLayoutOp>(op))
    return false;
  Value source = op->getOperand(0);
  return cast<RankedTensorType>(source.getType()).getDimSize(axis) ==
             cast<RankedTensorType>(value.getType()).getDimSize(axis) &&
         growsAlong(source, axis);
}

/// A copy of a reduction, before it, that compares no coordinates: the first element's are
/// lower. Null where it compares none.
Operation *copyInOrder(Operation *op, int64_t axis) {
  const unsigned count = op->getNumOperands();
  const auto isCoordinate = [&](Value argument, unsigned first) {
    auto known = dyn_cast<BlockArgument>(argument);
    return known && known.getOwner() == &op->getRegion(0).front() &&
           known.getArgNumber() / count == first &&
           growsAlong(op->getOperand(known.getArgNumber() % count), axis);
  };
  llvm::SmallVector<std::pair<size_t, bool>> known; // numbers of comparisons, and what they give
  for (auto [i, inner] : llvm::enumerate(op->getRegion(0).front())) {
    auto compare = dyn_cast<arith::CmpIOp>(&inner);
    if (!compare)
      continue;
    Value lhs = compare.getLhs(), rhs = compare.getRhs();
    const bool isSwapped = isCoordinate(lhs, 1);
    if (isSwapped)
      std::swap(lhs, rhs);
    if (isCoordinate(lhs, 0) && isCoordinate(rhs, 1) &&
        cast<BlockArgument>(lhs).getArgNumber() + count == cast<BlockArgument>(rhs).getArgNumber())
      known.emplace_back(i, comparisonGives(inner, /*isLess=*/!isSwapped, /*isEqual=*/false));
  }
  if (known.empty())
    return nullptr;
  OpBuilder builder(op);
  Operation *copy = builder.clone(*op);
  llvm::SmallVector<Operation *> inner;
  for (Operation &each : copy->getRegion(0).front())
    inner.push_back(&each);
  for (const auto &[number, value] : known) {
    builder.setInsertionPoint(inner[number]);
    Value constant =
        arith::ConstantOp::create(builder, inner[number]->getLoc(), builder.getBoolAttr(value));
    inner[number]->getResult(0).replaceAllUsesWith(constant);
    inner[number]->erase();
  }
  return copy;
}

} // namespace

Combine::Combine(Lowering &lowering, Operation *op)
    : lowering_(lowering), op_(op),
      isCommutative_(op->hasAttr(tlg::kAnyOrderAttribute) || commutes(op->getRegion(0))) {
  if (auto reduce = dyn_cast<tl::ReduceOp>(op))
    ordered_ = copyInOrder(op, static_cast<int64_t>(reduce.getAxis()));
}

Combine::~Combine() {
  if (ordered_)
    ordered_->erase();
}

Elements Combine::operator()(const Elements &lhs, const Elements &rhs) {
  return combined(op_, lhs, rhs);
}

Elements Combine::inOrder(const Elements &lhs, const Elements &rhs) {
  return combined(ordered_ ? ordered_ : op_, lhs, rhs);
}

bool Combine::hasPlaces() const {
  auto reduce = dyn_cast<tl::ReduceOp>(op_);
  return reduce && reduce.getNumOperands() == 2 &&
         growsAlong(reduce.getOperand(1), static_cast<int64_t>(reduce.getAxis()));
}

Elements Combine::combined(Operation *op, const Elements &lhs, const Elements &rhs) {
  Elements arguments = lhs;
  llvm::append_range(arguments, rhs);
  const FailureOr<Registers> results = lowering_.inlineRegion(op->getRegion(0), arguments);
  if (failed(results)) {
    hasFailed_ = true;
    return lhs;
  }
  return Elements(results->begin(), results->end());
}

bool Combine::isSameInLanes() const {
  return !onlyOp().empty() || commutesToTheBit(op_->getRegion(0));
}

llvm::StringRef Combine::onlyOp() const {
  Block &block = op_->getRegion(0).front();
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2)
    return {};
  Operation &op = block.front();
  const bool takesBoth = op.getNumOperands() == 2 && op.getNumResults() == 1 &&
                         op.getOperand(0) != op.getOperand(1) &&
                         llvm::all_of(op.getOperands(), llvm::IsaPred<BlockArgument>);
  return takesBoth && block.getTerminator()->getOperand(0) == op.getResult(0)
             ? op.getName().getStringRef()
             : llvm::StringRef();
}

int Combine::instructions() const {
  constexpr int kLong = 10;
  int count = 0;
  for (Operation &op : op_->getRegion(0).front().without_terminator()) {
    const OpFacts *facts = tl::factsOf(&op);
    const bool isShort = facts && facts->cost <= OpCost::Simple;
    count += isa<arith::ConstantOp>(op) ? 0 : isShort ? 1 : kLong;
  }
  return count;
}

std::optional<InputBits> bitsAlong(const LinearLayout &layout, const ShapeBits &shape, int dim) {
  bool isMixed = false;
  const auto along = [&](const Bases &bases) {
    uint32_t mask = 0;
    for (auto [bit, basis] : llvm::enumerate(bases)) {
      if ((basis & shape.mask(dim)) == 0)
        continue;
      isMixed |= (basis & ~shape.mask(dim)) != 0;
      mask |= 1U << bit;
    }
    return mask;
  };
  const InputBits free = freeBits(layout);
  const InputBits bits{along(layout.registers) & ~free.registers, along(layout.lanes) & ~free.lanes,
                       along(layout.warps) & ~free.warps};
  return isMixed ? std::nullopt : std::optional(bits);
}

llvm::SmallVector<int> inOrderOfAxis(uint32_t mask, const Bases &bases, const ShapeBits &shape,
                                     int dim) {
  llvm::SmallVector<int> bits;
  for (size_t bit = 0; bit < bases.size(); ++bit)
    if ((mask >> bit) & 1)
      bits.push_back(static_cast<int>(bit));
  llvm::sort(bits, [&](int a, int b) {
    return shape.coordinate(bases[a], dim) < shape.coordinate(bases[b], dim);
  });
  return bits;
}

std::optional<llvm::SmallVector<BitOwner>> ownersAlong(const LinearLayout &layout,
                                                       const ShapeBits &shape, int dim) {
  llvm::SmallVector<BitOwner> owners(shape.width());
  for (auto [level, bases] : {std::pair(Level::Registers, &layout.registers),
                              {Level::Lanes, &layout.lanes},
                              {Level::Warps, &layout.warps}}) {
    for (auto [bit, basis] : llvm::enumerate(*bases)) {
      if (basis == 0)
        continue;
      if (!llvm::isPowerOf2_32(basis) || owners[llvm::Log2_32(basis)].bit >= 0)
        return std::nullopt;
      owners[llvm::Log2_32(basis)] = {level, static_cast<int>(bit)};
    }
  }
  return llvm::SmallVector<BitOwner>(
      llvm::ArrayRef(owners).slice(shape.shift(dim), shape.width(dim)));
}

Slots::Slots(Lowering &lowering, ValueRange operands, int64_t count)
    : lowering_(lowering), types_(operands.getTypes()) {
  int64_t sizeBytes = 0;
  llvm::SmallVector<int64_t> starts;
  for (Value operand : operands) {
    starts.push_back(sizeBytes);
    sizeBytes += llvm::alignTo(count * Lowering::elementBytes(operand.getType()), 16);
  }
  llvm::Value *base = lowering.scratch(sizeBytes);
  for (const int64_t start : starts)
    bases_.push_back(lowering.builder().CreateConstGEP1_32(lowering.builder().getInt8Ty(), base,
                                                           static_cast<unsigned>(start)));
}

llvm::Value *Slots::pointer(size_t operand, llvm::Value *slot) {
  llvm::IRBuilder<> &builder = lowering_.builder();
  const int bytes = Lowering::elementBytes(types_[operand]);
  return builder.CreateGEP(builder.getInt8Ty(), bases_[operand],
                           builder.CreateMul(slot, lowering_.i32(bytes), "", true, true));
}

void Slots::store(llvm::Value *slot, const Elements &elements) {
  for (auto [i, element] : llvm::enumerate(elements))
    lowering_.builder().CreateStore(toMemory(lowering_, element, types_[i]), pointer(i, slot));
}

void Slots::storeEach(llvm::Value *condition, size_t count,
                      llvm::function_ref<std::pair<llvm::Value *, Elements>(size_t)> each) {
  if (!condition || count * types_.size() > kFewStores)
    return lowering_.onlyIf(condition, [&] {
      for (size_t i = 0; i < count; ++i) {
        const auto [slot, elements] = each(i);
        store(slot, elements);
      }
    });
  for (size_t i = 0; i < count; ++i) {
    const auto [slot, elements] = each(i);
    for (auto [operand, element] : llvm::enumerate(elements))
      storeToShared(lowering_, condition, {element}, types_[operand], pointer(operand, slot));
  }
}

Elements Slots::load(llvm::Value *slot) {
  Elements elements;
  for (auto [i, type] : llvm::enumerate(types_)) {
    elements.push_back(fromMemory(
        lowering_, lowering_.builder().CreateLoad(lowering_.memoryType(type), pointer(i, slot)),
        type));
  }
  return elements;
}

Elements Slots::loadFrom(llvm::Value *cta, llvm::Value *slot) {
  Elements elements;
  for (auto [i, type] : llvm::enumerate(types_))
    elements.push_back(
        fromMemory(lowering_,
                   lowering_.builder().CreateLoad(lowering_.memoryType(type),
                                                  lowering_.pointerOfCta(cta, pointer(i, slot))),
                   type));
  return elements;
}

llvm::Value *madeHere(Lowering &lowering, llvm::Value *value) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Type *type = value->getType();
  const unsigned bits = type->getPrimitiveSizeInBits();
  if (bits != 16 && bits != 32 && bits != 64)
    return value;
  const llvm::StringRef letter = bits == 16 ? "h" : bits == 32 ? "r" : "l";
  llvm::Type *word = builder.getIntNTy(bits);
  llvm::Value *made = lowering.assembly(word, llvm::formatv("mov.b{0} $0, $1;", bits).str(),
                                        llvm::formatv("={0},{0}", letter).str(),
                                        {builder.CreateBitCast(value, word)});
  return builder.CreateBitCast(made, type);
}

void Slots::storeBlock(llvm::ArrayRef<llvm::Value *> registers, const LinearLayout &layout) {
  llvm::Value *thread = lowering_.threadElement(layout);
  const uint32_t copies = freeBits(layout).registers;
  lowering_.onlyIf(lowering_.ownsElements(layout), [&] {
    for (auto [reg, value] : llvm::enumerate(registers))
      if ((reg & copies) == 0)
        store(lowering_.builder().CreateXor(thread, lowering_.i32(layout.registerElement(reg))),
              {value});
  });
}

llvm::SmallVector<uint32_t> registersWithout(uint32_t bits, const LinearLayout &layout) {
  const uint32_t copies = freeBits(layout).registers;
  llvm::SmallVector<uint32_t> result;
  for (int reg = 0; reg < layout.registerCount(); ++reg)
    if ((reg & (bits | copies)) == 0)
      result.push_back(reg);
  return result;
}

Elements shuffled(const Elements &elements,
                  llvm::function_ref<llvm::Value *(llvm::Value *)> shuffle) {
  Elements result;
  for (llvm::Value *value : elements)
    result.push_back(shuffle(value));
  return result;
}

namespace {

/// How many values of a type fill a register; 1 of what is not packed.
size_t valuesPerRegister(llvm::Type *type) {
  const unsigned bits = type->isPointerTy() ? 64 : type->getScalarSizeInBits();
  return bits == 8 || bits == 16 ? 32 / bits : 1;
}

} // namespace

size_t elementsTogether(const Elements &element) {
  size_t count = 1;
  for (const llvm::Value *value : element)
    count = std::max(count, valuesPerRegister(value->getType()));
  return count;
}

llvm::SmallVector<Elements>
shuffledTogether(llvm::IRBuilder<> &builder, llvm::ArrayRef<Elements> elements,
                 llvm::function_ref<llvm::Value *(llvm::Value *)> shuffle) {
  llvm::SmallVector<Elements> result(elements.size());
  for (size_t part = 0; part < elements.front().size(); ++part) {
    llvm::Type *type = elements.front()[part]->getType();
    const size_t count = valuesPerRegister(type);
    for (size_t first = 0; first < elements.size(); first += count) {
      if (count == 1 || elements.size() - first < count) {
        for (size_t i = first; i < std::min(first + count, elements.size()); ++i)
          result[i].push_back(shuffle(elements[i][part]));
        continue;
      }
      llvm::Value *packed =
          llvm::PoisonValue::get(llvm::FixedVectorType::get(type, static_cast<unsigned>(count)));
      for (size_t i = 0; i < count; ++i)
        packed = builder.CreateInsertElement(packed, elements[first + i][part], i);
      packed = shuffle(packed);
      for (size_t i = 0; i < count; ++i)
        result[first + i].push_back(builder.CreateExtractElement(packed, i));
    }
  }
  return result;
}

LogicalResult lowerAlongAxis(Lowering &lowering, Operation *op, int axis,
                             llvm::function_ref<bool(const LinearLayout &)> fits, RunInLayout run) {
  const auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  const ShapeBits shape(type.getShape());
  LinearLayout layout = tlg::layoutOf(type);
  if (!fits(layout)) {
    const auto order = llvm::to_vector(llvm::reverse(llvm::seq<int>(0, shape.rank())));
    layout = blockedForAccess(type.getShape(), order, 1, lowering.numWarps());
  }
  llvm::SmallVector<Registers> operands;
  for (Value operand : op->getOperands())
    operands.push_back(convertLayout(lowering, lowering.get(operand),
                                     cast<RankedTensorType>(operand.getType()),
                                     tlg::layoutOf(operand.getType()), layout));
  const FailureOr<llvm::SmallVector<Registers>> results = run(layout, operands);
  if (failed(results))
    return failure();
  for (auto [result, registers] : llvm::zip(op->getResults(), *results)) {
    const auto made = dyn_cast<RankedTensorType>(result.getType());
    if (!made) {
      lowering.set(result, registers);
      continue;
    }
    const bool hasAxis = made.getRank() == shape.rank();
    lowering.set(result, convertLayout(lowering, registers, made,
                                       hasAxis ? layout : sliced(layout, shape, axis),
                                       tlg::layoutOf(made)));
  }
  return success();
}

llvm::SmallVector<Elements> elementsOf(llvm::ArrayRef<Registers> operands) {
  llvm::SmallVector<Elements> elements(operands.front().size());
  for (const Registers &registers : operands)
    for (auto [reg, value] : llvm::enumerate(registers))
      elements[reg].push_back(value);
  return elements;
}

} // namespace blockscope::gpu
