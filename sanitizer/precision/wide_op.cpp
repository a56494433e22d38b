// Chooses evaluators for float64.
#include "sanitizer/precision/wide_op.h"

#include "core/numeric/scalar.h"
#include "core/op_facts.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace blockscope::sanitizer {
namespace {

Type widened(const Type &type) { return type.isFloating() ? type.withDType(DType::Fp64) : type; }

/// "__nv_expf" and "__nv_fast_expf" as "__nv_exp".
std::string wideSymbol(llvm::StringRef symbol) {
  if (!symbol.consume_front("__nv_"))
    return symbol.str();
  symbol.consume_front("fast_");
  symbol.consume_back("f");
  return "__nv_" + symbol.str();
}

bool isSame(const OpSignature &signature) {
  const llvm::StringRef name = signature.name;
  return name == "tl.fp_cast" || name == "tl.hint" ||
         (name == "tl.bitcast" && signature.operands[0].isFloating() &&
          signature.operands[0].dtype == signature.results[0].dtype);
}

bool isMoving(const OpSignature &signature) {
  const OpFacts *facts = findOpFacts(signature.name);
  return signature.name == "arith.select" || signature.name == "arith.negf" ||
         (facts && (facts->family == OpFamily::Shape || facts->family == OpFamily::Gather));
}

/// Whether the bits of other types are looked at, or the op computes in a way that types do not
/// say.
bool isOpaque(llvm::StringRef name) {
  return name == "tl.bitcast" || name.starts_with("tl.inline_asm") || name == "tl.map" ||
         name.ends_with("_payload");
}

bool isShape(llvm::StringRef name) {
  const OpFacts *facts = findOpFacts(name);
  return facts && facts->family == OpFamily::Shape;
}

} // namespace

/// Chooses the ops of a region. Shapes say nothing there: each lane is an element.
bool WideOp::useRegion(const CombineRegion &region) {
  region_ = region;
  for (CombineOp &op : region_.ops) {
    Evaluator &evaluator = evaluators_.emplace_back();
    const Type result = op.signature.results[0];
    for (Type &type : op.signature.operands)
      type = widened(type).scalar();
    for (Type &type : op.signature.results)
      type = widened(type).scalar();
    if (op.signature.name == "arith.constant") {
      const double value = result.isFloating() ? numeric::readAsDouble(result.dtype, &op.bits) : 0;
      if (result.isFloating())
        std::memcpy(&op.bits, &value, sizeof value);
      continue;
    }
    if (isSame(op.signature) || isShape(op.signature.name))
      continue;
    EvaluatorOrError chosen;
    if (!isOpaque(op.signature.name))
      chosen = EvaluatorTable::instance().choose(op.signature);
    evaluator = std::move(chosen.evaluator);
    if (!chosen.error.empty() || !evaluator.elementwise)
      return false;
  }
  return true;
}

void WideOp::combine(int64_t n, void *const *out, const void *const *lhs,
                     const void *const *rhs) const {
  struct Lanes {
    const void *data;
    bool isOne;
  };
  const size_t sides = region_.results.size();
  std::vector<Lanes> numbered;
  for (size_t k = 0; k < 2 * sides; ++k)
    numbered.push_back({k < sides ? lhs[k] : rhs[k - sides], false});
  std::vector<std::vector<uint64_t>> kept(region_.ops.size());
  for (size_t i = 0; i < region_.ops.size(); ++i) {
    const CombineOp &op = region_.ops[i];
    if (op.operands.empty()) {
      numbered.push_back({&op.bits, true});
      continue;
    }
    if (!evaluators_[i].elementwise) {
      numbered.push_back(numbered[static_cast<size_t>(op.operands[0])]);
      continue;
    }
    kept[i].resize(static_cast<size_t>(n));
    llvm::SmallVector<const void *, 3> operands;
    uint32_t scalars = 0;
    for (const int32_t number : op.operands) {
      const Lanes &lanes = numbered[static_cast<size_t>(number)];
      scalars |= lanes.isOne && n != 1 ? 1U << operands.size() : 0;
      operands.push_back(lanes.data);
    }
    void *const result = kept[i].data();
    evaluators_[i].elementwise(n, 0, &result, operands.data(), scalars,
                               evaluators_[i].payload.get());
    numbered.push_back({result, false});
  }
  for (size_t k = 0; k < sides; ++k) {
    const Lanes &lanes = numbered[static_cast<size_t>(region_.results[k])];
    const auto bytes = static_cast<size_t>(signature_.results[k].elementBytes());
    for (int64_t lane = 0; lane < (lanes.isOne ? n : 0); ++lane)
      std::memcpy(static_cast<std::byte *>(out[k]) + static_cast<size_t>(lane) * bytes, lanes.data,
                  bytes);
    if (!lanes.isOne)
      std::memmove(out[k], lanes.data, static_cast<size_t>(n) * bytes);
  }
}

WideOp WideOp::of(const OpSignature &signature, const CombineRegion *region) {
  WideOp op;
  const llvm::StringRef name = signature.name;
  if (isSame(signature)) {
    op.form_ = Form::Same;
    op.isMove_ = true;
    return op;
  }
  if (isOpaque(name))
    return op;
  op.signature_ = signature;
  llvm::transform(signature.operands, op.signature_.operands.begin(), widened);
  llvm::transform(signature.results, op.signature_.results.begin(), widened);
  if (name == "tl.reduce" || name == "tl.scan") {
    const llvm::StringRef combine = signature.attributes.getString("combine");
    const auto axis = static_cast<int>(signature.attributes.getInt("axis"));
    if (!combine.empty())
      op.evaluator_ = name == "tl.reduce"
                          ? chooseKnownReduce(combine, op.signature_.operands[0], axis)
                          : chooseKnownScan(combine, op.signature_.operands[0], axis,
                                            signature.attributes.getBool("reverse"));
    op.form_ = op.evaluator_.block               ? Form::Block
               : region && op.useRegion(*region) ? Form::Combine
               : name == "tl.reduce"             ? Form::Picks
                                                 : Form::Unknown;
    return op;
  }
  if (name == "tl.sort") {
    op.form_ = Form::Picks;
    return op;
  }
  if (name.starts_with("tl.extern_elementwise"))
    op.signature_.attributes.set("symbol", wideSymbol(signature.attributes.getString("symbol")));
  EvaluatorOrError chosen = EvaluatorTable::instance().choose(op.signature_);
  op.evaluator_ = std::move(chosen.evaluator);
  if (!chosen.error.empty() || op.evaluator_.form == Evaluator::Form::Context)
    return op;
  op.isMove_ = isMoving(signature);
  op.form_ = op.evaluator_.form == Evaluator::Form::Elementwise ? Form::Elementwise : Form::Block;
  return op;
}

std::vector<std::vector<double>> WideOp::run(const OpValues &values,
                                             llvm::ArrayRef<WideOperand> operands) const {
  if (form_ == Form::Same) {
    const std::vector<double> &from = *operands[0].floats;
    const auto count = static_cast<size_t>(values.results[0].elements(values.count));
    return {from.size() == count ? from : std::vector<double>(count, from.front())};
  }
  std::vector<std::vector<double>> made(values.results.size()), scratch(values.results.size());
  llvm::SmallVector<void *, 2> results;
  for (size_t k = 0; k < values.results.size(); ++k) {
    const bool isFloat = signature_.results[k].isFloating();
    std::vector<double> &elements = isFloat ? made[k] : scratch[k]; // of no more than 8 bytes
    elements.resize(static_cast<size_t>(values.results[k].elements(values.count)));
    results.push_back(elements.data());
  }
  llvm::SmallVector<const void *, 4> inputs;
  uint32_t scalars = 0;
  for (size_t k = 0; k < operands.size(); ++k) {
    inputs.push_back(operands[k].floats ? operands[k].floats->data() : operands[k].others);
    scalars |= values.operands[k].extent == ValueView::Extent::One ? 1U << k : 0;
  }
  const int64_t count = values.results[0].elements(values.count);
  if (form_ == Form::Elementwise)
    evaluator_.elementwise(count, values.begin, results.data(), inputs.data(),
                           count == 1 ? 0 : scalars, evaluator_.payload.get());
  else if (form_ == Form::Combine)
    combineAlongAxis(results, inputs);
  else
    evaluator_.block(results.data(), inputs.data(), evaluator_.payload.get());
  return made;
}

void WideOp::combineAlongAxis(llvm::ArrayRef<void *> results,
                              llvm::ArrayRef<const void *> operands) const {
  const auto axis = static_cast<int>(signature_.attributes.getInt("axis"));
  const auto lanes = [this](int64_t n, void *const *out, const void *const *lhs,
                            const void *const *rhs) { combine(n, out, lhs, rhs); };
  if (signature_.name == "tl.reduce")
    reduceBlocks(signature_.operands, axis, results.data(), operands.data(), lanes);
  else
    scanBlocks(signature_.operands, axis, signature_.attributes.getBool("reverse"), results.data(),
               operands.data(), lanes);
}

const WideOp &WideOps::of(const OpValues &values) {
  const OpSignature &signature = *values.signature;
  const bool isKept = signature.name != "tl.reduce" && signature.name != "tl.scan";
  std::unique_ptr<WideOp> &op = ops_[isKept ? &signature : nullptr];
  if (!op || !isKept)
    op = std::make_unique<WideOp>(WideOp::of(signature, values.region));
  return *op;
}

} // namespace blockscope::sanitizer
