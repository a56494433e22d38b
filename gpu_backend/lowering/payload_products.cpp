// Fragments are those of PTX: lane 4 g + t has, of an operand, row or column g (and g + 8 of the
// first one of 16 rows) and in each half of the depth the word t; of sums, columns 2 t and 2 t + 1.
#include "gpu_backend/lowering/payload_products.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int kStepBytes = 32; ///< the depth of wgmma
constexpr int kGroupWarps = 4;

} // namespace

PayloadProducts::PayloadProducts(Lowering &lowering, Type a, Type b, int operandBytes, Type sums)
    : lowering_(lowering), builder_(lowering.builder()), a_(payloadRuleOf(a)), b_(payloadRuleOf(b)),
      sum_(payloadRuleOf(sums)), operandBytes_(operandBytes), sumType_(lowering.elementType(sums)),
      wideType_(builder_.getIntNTy(static_cast<unsigned>(std::max(32, sum_.bits)))) {}

void PayloadProducts::embedSums(llvm::MutableArrayRef<llvm::Value *> sums) const {
  for (llvm::Value *&sum : sums)
    sum = builder_.CreateSExt(embedFloat(builder_, sum, sum_), wideType_);
}

void PayloadProducts::unembedSums(llvm::MutableArrayRef<llvm::Value *> sums) const {
  llvm::Type *narrow = builder_.getIntNTy(static_cast<unsigned>(sum_.bits));
  for (llvm::Value *&sum : sums)
    sum = unembedFloat(builder_, builder_.CreateTrunc(sum, narrow), sum_, sumType_);
}

llvm::Value *PayloadProducts::widened(llvm::Value *payload) const {
  return builder_.CreateSExt(payload, wideType_);
}

llvm::Value *PayloadProducts::element(llvm::Value *word, llvm::Value *index) const {
  llvm::Type *type = builder_.getIntNTy(static_cast<unsigned>(8 * operandBytes_));
  if (word->getType() == type)
    return widened(word);
  llvm::Value *shift = builder_.CreateMul(index, lowering_.i32(8L * operandBytes_));
  return widened(builder_.CreateTrunc(builder_.CreateLShr(word, shift), type));
}

llvm::Value *PayloadProducts::multiplyAdd(llvm::Value *a, llvm::Value *b, llvm::Value *sum) const {
  return builder_.CreateAdd(builder_.CreateMul(a, b), sum);
}

void PayloadProducts::multiply(llvm::ArrayRef<llvm::Value *> a, llvm::ArrayRef<llvm::Value *> b,
                               llvm::MutableArrayRef<llvm::Value *> sums) const {
  const int perWord = std::max(1, 4 / operandBytes_);
  const int rows = operandBytes_ == 8 ? 1 : 2; // of a lane
  llvm::Value *lane = lowering_.laneId();
  llvm::Value *ofRow = builder_.CreateAnd(lane, lowering_.i32(~int64_t{3}));
  llvm::Value *ofColumn = builder_.CreateShl(builder_.CreateAnd(lane, lowering_.i32(3)), 3);
  for (size_t half = 0; half < b.size(); ++half)
    for (int turn = 0; turn < 4; ++turn) {
      llvm::Value *row = builder_.CreateOr(ofRow, lowering_.i32(turn));
      llvm::Value *left[2], *right[2];
      for (int i = 0; i < rows; ++i)
        left[i] = lowering_.shuffle(a[half * rows + i], row);
      for (int i = 0; i < 2; ++i)
        right[i] =
            lowering_.shuffle(b[half], builder_.CreateOr(ofColumn, lowering_.i32(4 * i + turn)));
      for (int at = 0; at < perWord; ++at)
        for (int i = 0; i < rows; ++i)
          for (int j = 0; j < 2; ++j) {
            llvm::Value *&sum = sums[2 * i + j];
            sum = multiplyAdd(element(left[i], lowering_.i32(at)),
                              element(right[j], lowering_.i32(at)), sum);
          }
    }
}

llvm::Value *PayloadProducts::loaded(const DescribedOperand &operand, const numeric::Payload &rule,
                                     llvm::Value *line, llvm::Value *depth) const {
  llvm::IRBuilder<> &b = builder_;
  const auto field = [&](int at, uint64_t mask) {
    return b.CreateTrunc(b.CreateAnd(b.CreateLShr(operand.descriptor, at), mask), b.getInt32Ty());
  };
  llvm::Value *start = b.CreateShl(field(0, 0x3fff), 4);
  llvm::Value *leading = b.CreateShl(field(16, 0x3fff), 4);
  llvm::Value *stride = b.CreateShl(field(32, 0x3fff), 4);
  llvm::Value *log = b.CreateSub(lowering_.i32(8), field(62, 3)); // of the swizzle's width
  llvm::Value *last = b.CreateSub(b.CreateShl(lowering_.i32(1), log), lowering_.i32(1));
  llvm::Value *bytes = lowering_.i32(operandBytes_);
  llvm::Value *outer = operand.isTransposed ? depth : line; // in groups of 8
  llvm::Value *place = b.CreateAdd(start, b.CreateMul(b.CreateLShr(outer, 3), stride));
  place = b.CreateAdd(place, b.CreateShl(b.CreateAnd(outer, lowering_.i32(7)), log));
  if (operand.isTransposed) {
    llvm::Value *along = b.CreateMul(line, bytes);
    place = b.CreateAdd(place, b.CreateMul(b.CreateLShr(along, log), leading));
    place = b.CreateAdd(place, b.CreateAnd(along, last));
  } else {
    place = b.CreateAdd(place, b.CreateMul(depth, bytes));
  }
  llvm::Value *turned = b.CreateAnd(b.CreateLShr(place, 7), b.CreateLShr(last, 4));
  place = b.CreateXor(place, b.CreateShl(turned, 4));
  constexpr unsigned kShared = 3;
  llvm::Value *pointer = b.CreateIntToPtr(place, b.getPtrTy(kShared));
  llvm::Type *type = b.getIntNTy(static_cast<unsigned>(8 * operandBytes_));
  return widened(
      embedFloat(b, b.CreateAlignedLoad(type, pointer, llvm::Align(operandBytes_)), rule));
}

void PayloadProducts::multiplyGroup(llvm::ArrayRef<llvm::Value *> wordsA, const DescribedOperand *a,
                                    const DescribedOperand &b,
                                    llvm::MutableArrayRef<llvm::Value *> sums) const {
  llvm::Value *lane = lowering_.laneId();
  llvm::Value *warp = builder_.CreateAnd(lowering_.warpId(), lowering_.i32(kGroupWarps - 1));
  llvm::Value *row = builder_.CreateOr(builder_.CreateShl(warp, 4), builder_.CreateLShr(lane, 2));
  llvm::Value *column = builder_.CreateShl(builder_.CreateAnd(lane, lowering_.i32(3)), 1);
  llvm::BasicBlock *before = builder_.GetInsertBlock();
  auto *body = llvm::BasicBlock::Create(lowering_.context(), "products", &lowering_.function());
  auto *after =
      llvm::BasicBlock::Create(lowering_.context(), "products.end", &lowering_.function());
  builder_.CreateBr(body);
  builder_.SetInsertPoint(body);
  llvm::PHINode *depth = builder_.CreatePHI(builder_.getInt32Ty(), 2, "depth");
  depth->addIncoming(lowering_.i32(0), before);
  llvm::SmallVector<llvm::PHINode *> phis;
  for (llvm::Value *&sum : sums) {
    phis.push_back(builder_.CreatePHI(sum->getType(), 2));
    phis.back()->addIncoming(sum, before);
    sum = phis.back();
  }
  llvm::Value *left[2];
  for (int i = 0; i < 2; ++i) {
    if (a) {
      left[i] = loaded(*a, a_, builder_.CreateOr(row, lowering_.i32(8 * i)), depth);
      continue;
    }
    const int perWord = 4 / operandBytes_;
    llvm::Value *isFirst = builder_.CreateICmpULT(depth, lowering_.i32(4 * perWord));
    llvm::Value *word = builder_.CreateSelect(isFirst, wordsA[i], wordsA[2 + i]);
    llvm::Value *turn =
        builder_.CreateAnd(builder_.CreateUDiv(depth, lowering_.i32(perWord)), lowering_.i32(3));
    llvm::Value *from =
        builder_.CreateOr(builder_.CreateAnd(lane, lowering_.i32(~int64_t{3})), turn);
    left[i] =
        element(lowering_.shuffle(word, from), builder_.CreateURem(depth, lowering_.i32(perWord)));
  }
  for (size_t eight = 0; eight < sums.size() / 4; ++eight)
    for (int j = 0; j < 2; ++j) {
      llvm::Value *line =
          builder_.CreateAdd(column, lowering_.i32(8 * static_cast<int64_t>(eight) + j));
      llvm::Value *right = loaded(b, b_, line, depth);
      for (int i = 0; i < 2; ++i) {
        llvm::Value *&sum = sums[4 * eight + 2 * i + j];
        sum = multiplyAdd(left[i], right, sum);
      }
    }
  llvm::Value *next = builder_.CreateAdd(depth, lowering_.i32(1));
  depth->addIncoming(next, body);
  for (auto [phi, sum] : llvm::zip(phis, sums))
    phi->addIncoming(sum, body);
  builder_.CreateCondBr(builder_.CreateICmpULT(next, lowering_.i32(kStepBytes / operandBytes_)),
                        body, after);
  builder_.SetInsertPoint(after);
}

} // namespace blockscope::gpu
