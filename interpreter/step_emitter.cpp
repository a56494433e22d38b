// Runs every op at once on block values.
#include "interpreter/step_emitter.h"

#include "interpreter/flat/flat_program.h"
#include "interpreter/residency.h"
#include "interpreter/step_combine.h"
#include "interpreter/step_values.h"
#include "interpreter/stuck.h"

#include "core/numeric/scalar.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/Support/xxhash.h"

#include <cstring>
#include <unordered_map>
#include <utility>

namespace blockscope::interpreter {
namespace {

ValueList unknownValues(llvm::ArrayRef<Type> types) {
  ValueList result;
  for (const Type &type : types)
    result.push_back({type, nullptr});
  return result;
}

//===-- The evaluators in use ----------------------------------------------------------------===//

struct HashAttribute {
  size_t operator()(bool value) const { return value ? 3 : 5; }
  size_t operator()(int64_t value) const { return llvm::hash_value(value); }
  size_t operator()(double value) const { return std::hash<double>()(value); }
  size_t operator()(const std::string &value) const { return llvm::hash_value(value); }
  size_t operator()(const std::vector<int64_t> &values) const {
    return llvm::hash_combine_range(values.begin(), values.end());
  }
  size_t operator()(const std::vector<std::string> &values) const {
    return llvm::hash_combine_range(values.begin(), values.end());
  }
  size_t operator()(const Type &type) const { return static_cast<size_t>(type.dtype); }
};

size_t mix(size_t hash, size_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15ULL + (hash >> 29);
}

size_t mixType(size_t hash, const Type &type) {
  hash = mix(hash, static_cast<size_t>(type.isPointer() ? type.dtype : storageDType(type.dtype)) |
                       static_cast<size_t>(type.pointerDepth) << 8);
  for (int64_t size : type.shape)
    hash = mix(hash, static_cast<size_t>(size));
  return hash;
}

size_t hashRequest(const OpRequest &request) {
  size_t hash = reinterpret_cast<size_t>(request.name.data());
  for (const Value &operand : request.operands)
    hash = mixType(hash, operand.type);
  hash = mix(hash, request.operands.size());
  for (const Type &type : request.resultTypes)
    hash = mixType(hash, type);
  for (const NamedAttribute &attribute : request.attributes)
    hash = mix(hash, std::visit(HashAttribute(), attribute.value));
  return hash;
}

bool sameAttributes(const Attributes &a, const Attributes &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const NamedAttribute &x, const NamedAttribute &y) {
                      return x.name == y.name && x.value == y.value;
                    });
}

/// A request that was seen, and its evaluator.
struct Known {
  OpSignature signature;
  Evaluator evaluator;
  std::string error;

  bool matches(const OpRequest &request) const {
    if (signature.name != request.name || signature.operands.size() != request.operands.size() ||
        signature.results.size() != request.resultTypes.size())
      return false;
    for (size_t i = 0; i < signature.operands.size(); ++i)
      if (!sameStorage(signature.operands[i], request.operands[i].type))
        return false;
    for (size_t i = 0; i < signature.results.size(); ++i)
      if (!sameStorage(signature.results[i], request.resultTypes[i]))
        return false;
    return sameAttributes(signature.attributes, request.attributes);
  }
};

const Known &evaluatorFor(const OpRequest &request) {
  thread_local std::unordered_multimap<size_t, std::unique_ptr<Known>> cache;
  const size_t hash = hashRequest(request);
  const auto [begin, end] = cache.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry)
    if (entry->second->matches(request))
      return *entry->second;
  auto known = std::make_unique<Known>();
  known->signature.name = request.name;
  for (const Value &operand : request.operands)
    known->signature.operands.push_back(storageType(operand.type));
  for (const Type &type : request.resultTypes)
    known->signature.results.push_back(storageType(type));
  known->signature.attributes = request.attributes;
  EvaluatorOrError choice = EvaluatorTable::instance().choose(known->signature);
  known->evaluator = std::move(choice.evaluator);
  known->error = std::move(choice.error);
  return *cache.emplace(hash, std::move(known))->second;
}

} // namespace

/// Notes the ops of one call of a combine function.
class StepEmitter::RegionRecorder {
public:
  void begin(llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs) {
    *this = RegionRecorder();
    for (const llvm::ArrayRef<Value> side : {lhs, rhs})
      for (const Value &value : side)
        number(value);
  }
  void add(const OpSignature &signature, llvm::ArrayRef<Value> operands,
           llvm::ArrayRef<Value> results) {
    CombineOp made{signature, {}};
    for (const Value &operand : operands)
      made.operands.push_back(numberOf(operand));
    isValid_ &= results.size() == 1;
    region_.ops.push_back(std::move(made));
    if (isValid_)
      number(results.front());
  }
  void refuse() { isValid_ = false; }
  std::shared_ptr<const CombineRegion> end(llvm::ArrayRef<Value> results) {
    for (const Value &result : results)
      region_.results.push_back(numberOf(result));
    return isValid_ && !results.empty() ? std::make_shared<CombineRegion>(std::move(region_))
                                        : nullptr;
  }

private:
  int32_t number(const Value &value) {
    kept_.push_back(value.handle);
    return numbers_[value.handle.get()] = static_cast<int32_t>(kept_.size() - 1);
  }
  /// A scalar that comes from elsewhere is a constant.
  int32_t numberOf(const Value &value) {
    if (const auto known = numbers_.find(value.handle.get()); known != numbers_.end())
      return known->second;
    CombineOp constant;
    constant.signature.name = "arith.constant";
    constant.signature.results = {storageType(value.type)};
    isValid_ &= value && !value.type.isBlock();
    if (isValid_)
      std::memcpy(&constant.bits, blockOf(value).data,
                  static_cast<size_t>(value.type.elementBytes()));
    region_.ops.push_back(std::move(constant));
    return number(value);
  }

  CombineRegion region_;
  llvm::DenseMap<const void *, int32_t> numbers_;
  std::vector<std::shared_ptr<void>> kept_; ///< by number; their addresses stay theirs
  bool isValid_ = true;
};

StepEmitter::StepEmitter(LaunchState &launch, LocationProvider location)
    : launch_(launch), location_(std::move(location)) {
  context_.launch = &launch;
}

ValueList StepEmitter::fail(llvm::StringRef message, llvm::ArrayRef<Type> types) {
  if (failure_.empty())
    failure_ = message.str();
  return unknownValues(types);
}

std::string StepEmitter::takeFailure() { return std::exchange(failure_, std::string()); }

/// Adds the two sides of the comparison that a condition comes from, to be shown when it fails.
ValueList StepEmitter::emitAssert(const OpRequest &request) {
  llvm::SmallVector<Value, 4> operands(request.operands);
  for (const Comparison &comparison : comparisons_)
    if (comparison.result && comparison.result == request.operands.front().handle)
      operands.append({comparison.lhs, comparison.rhs});
  return run({request.name, operands, request.attributes, request.resultTypes});
}

ValueList StepEmitter::emit(const OpRequest &request) {
  if (!allKnown(request.operands))
    return unknownValues(request.resultTypes);
  if (!launch_.assertsAreEnabled())
    return run(request);
  if (request.name == "tl.assert")
    return emitAssert(request);
  ValueList values = run(request);
  if (request.name == "arith.cmpi" || request.name == "arith.cmpf") {
    comparisons_[nextComparison_] = {values[0].handle, request.operands[0], request.operands[1]};
    nextComparison_ = (nextComparison_ + 1) % comparisons_.size();
  }
  return values;
}

ValueList StepEmitter::run(const OpRequest &request) {
  if (combining_ != 0) {
    ++opsCombined_;
    lastCombined_ = request.name;
  }
  const Known &known = evaluatorFor(request);
  if (!known.error.empty())
    return fail(known.error, request.resultTypes);
  ValueList values;
  llvm::SmallVector<void *, 2> results;
  llvm::SmallVector<const void *, 4> operands;
  for (const Type &type : request.resultTypes) {
    std::shared_ptr<Block> block = allocateBlock(type);
    results.push_back(block->data);
    values.push_back(wrapBlock(std::move(block), type));
  }
  for (const Value &operand : request.operands)
    operands.push_back(blockOf(operand).data);
  const Evaluator &evaluator = known.evaluator;
  switch (evaluator.form) {
  case Evaluator::Form::Elementwise: {
    const int64_t n = request.resultTypes.front().numElements();
    uint32_t scalars = 0;
    for (size_t i = 0; i < operands.size(); ++i)
      if (n != 1 && !request.operands[i].type.isBlock())
        scalars |= 1U << i;
    evaluator.elementwise(n, 0, results.data(), operands.data(), scalars, evaluator.payload.get());
    break;
  }
  case Evaluator::Form::Block:
    evaluator.block(results.data(), operands.data(), evaluator.payload.get());
    break;
  case Evaluator::Form::Context:
    runInContext(request, evaluator, results.data(), operands.data());
    break;
  }
  if (recorder_)
    recorder_->add(known.signature, request.operands, values);
  const RunNeeds &needs = launch_.observers.needs();
  if (needs.values || (needs.claims && (request.name == "tl.hint" || request.name == "tl.assume")))
    show(known.signature, request.operands, values, evaluator.form == Evaluator::Form::Elementwise);
  return values;
}

void StepEmitter::show(const OpSignature &signature, llvm::ArrayRef<Value> operands,
                       llvm::ArrayRef<Value> results, bool isElementwise,
                       const CombineRegion *region) {
  using Extent = ValueView::Extent;
  if (combining_ != 0)
    return;
  llvm::SmallVector<ValueView, 4> views;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool isSingle = operands[i].type.numElements() == 1;
    views.push_back({blockOf(operands[i]).data, &signature.operands[i],
                     isSingle        ? Extent::One
                     : isElementwise ? Extent::Strip
                                     : Extent::Whole});
  }
  const size_t numOperands = views.size();
  for (size_t i = 0; i < results.size(); ++i)
    views.push_back({blockOf(results[i]).data, &signature.results[i], Extent::Strip});
  const llvm::ArrayRef<Value> counted = results.empty() ? operands : results;
  const int64_t count = counted.empty() ? 1 : counted.front().type.numElements();
  const llvm::ArrayRef<ValueView> all = views;
  const Type *made = results.empty() ? nullptr : &results.front().type;
  const bool isUnsignedResult =
      made && made->isInteger() && !made->isBool() && isUnsigned(made->dtype);
  const OpValues values{infoOfOp(signature.name, false, isUnsignedResult),
                        &signature,
                        context_.linearProgram,
                        context_.worker,
                        0,
                        count,
                        all.take_front(numOperands),
                        all.drop_front(numOperands),
                        context_.loopIterations,
                        region};
  for (Observer *observer : launch_.observers)
    observer->onValues(values);
}

void StepEmitter::showAs(llvm::StringRef name, const Attributes &attributes,
                         llvm::ArrayRef<Value> operands, llvm::ArrayRef<Value> results,
                         const CombineRegion *region) {
  if (!launch_.observers.needs().values || !allKnown(operands) || !allKnown(results))
    return;
  OpSignature signature;
  signature.name = name;
  signature.attributes = attributes;
  for (const Value &operand : operands)
    signature.operands.push_back(storageType(operand.type));
  for (const Value &result : results)
    signature.results.push_back(storageType(result.type));
  show(signature, operands, results, /*isElementwise=*/false, region);
}

void StepEmitter::noteDecision(const Value &value) {
  if (recorder_)
    recorder_->refuse();
  if (!launch_.observers.needs().values || combining_ != 0)
    return;
  const Type type = storageType(value.type);
  const ValueView view{blockOf(value).data, &type, ValueView::Extent::One};
  const ValueDecision decision{infoOfOp("python"), context_.linearProgram, context_.worker, view,
                               context_.loopIterations};
  for (Observer *observer : launch_.observers)
    observer->onDecision(decision);
}

void StepEmitter::runInContext(const OpRequest &request, const Evaluator &evaluator,
                               void *const *results, const void *const *operands) {
  const bool isPure = request.name == "tl.program_id" || request.name == "tl.num_programs";
  const bool isMasked = request.attributes.getBool("has_mask");
  context_.op = launch_.observers.empty() || isPure ? nullptr : infoOfOp(request.name, isMasked);
  evaluator.context(context_, results, operands, evaluator.payload.get());
  if (Change *change = launch_.changes.unnamed(context_.worker))
    change->op = infoOfOp(request.name, isMasked);
  if (context_.spinning) {
    std::memcpy(&spinAddress_, operands[0], sizeof spinAddress_);
    context_.op = infoOfOp(request.name, isMasked);
    context_.waitsByLoads = false;
  }
  if (!notedLines_.empty() &&
      (request.name == "tl.load" || llvm::StringRef(request.name).starts_with("tl.atomic")))
    noteLoad(*infoOfOp(request.name, isMasked), request.operands[0], operands[0]);
  if (launch_.stop)
    locateErrors();
  if (!context_.printed.empty() && launch_.print) {
    launch_.print(context_.printed);
    context_.printed.clear();
  }
}

const OpInfo *StepEmitter::infoOfOp(llvm::StringRef name, bool isMasked, bool isUnsigned) {
  SourceLocation location = location_ ? location_() : SourceLocation();
  std::unique_ptr<OpInfo> &info =
      infos_[(isUnsigned ? "u|" : "") + accessKey(name, location, unrolled_)];
  if (!info) {
    info = std::make_unique<OpInfo>(OpInfo{static_cast<uint32_t>(infos_.size() - 1), name.str(),
                                           std::move(location), isMasked, isUnsigned});
    takeFacts(*info);
  }
  return info.get();
}

void StepEmitter::takeFacts(OpInfo &info) const {
  if (!launch_.info.program)
    return;
  const FlatProgram &program = *launch_.info.program;
  const std::string key = accessKey(info.name, info.location, unrolled_);
  if (const auto form = program.addressForms.find(key); form != program.addressForms.end())
    info.address = form->second;
  if (const auto use = program.resultUses.find(key); use != program.resultUses.end())
    info.resultUse = use->second;
}

void StepEmitter::setUnrolled(size_t depth, int32_t iteration) {
  unrolled_.resize(depth);
  if (iteration >= 0)
    unrolled_.push_back(iteration);
}

void StepEmitter::locateErrors() {
  if (!location_)
    return;
  const SourceLocation location = location_();
  const std::lock_guard<std::mutex> lock(launch_.errorMutex);
  for (Finding &error : launch_.errors)
    if (!error.site.location.isKnown())
      error.site.location = location;
}

Value StepEmitter::intConstant(Type scalarType, int64_t value) {
  if (!scalarType.isPointer() && scalarType.isBool())
    value &= 1;
  return scalarFromBits(scalarType, static_cast<uint64_t>(value));
}

Value StepEmitter::floatConstant(Type scalarType, double value) {
  std::shared_ptr<Block> block = allocateBlock(scalarType);
  numeric::writeDouble(scalarType.dtype, value, block->data);
  const Value constant = wrapBlock(std::move(block), scalarType);
  showAs("arith.constant", {}, {}, constant);
  return constant;
}

Value StepEmitter::scalarFromBits(const Type &type, uint64_t bits) {
  std::shared_ptr<Block> block = allocateBlock(type);
  std::memcpy(block->data, &bits, type.elementBytes());
  const Value scalar = wrapBlock(std::move(block), type);
  showAs("arith.constant", {}, {}, scalar);
  return scalar;
}

ValueList StepEmitter::combineBlocks(
    llvm::StringRef name, const Attributes &attributes, llvm::ArrayRef<Value> operands,
    llvm::ArrayRef<Type> resultTypes, CombineFunction combine,
    llvm::function_ref<void(llvm::ArrayRef<Type>, void *const *, const void *const *, CombineLanes)>
        walk) {
  if (!allKnown(operands))
    return unknownValues(resultTypes);
  llvm::SmallVector<Type, 2> types;
  llvm::SmallVector<const void *, 2> inputs;
  for (const Value &operand : operands) {
    types.push_back(storageType(operand.type));
    inputs.push_back(blockOf(operand).data);
  }
  ValueList values;
  llvm::SmallVector<void *, 2> outputs;
  for (const Type &type : resultTypes) {
    values.push_back(wrapBlock(allocateBlock(type), type));
    outputs.push_back(blockOf(values.back()).data);
  }
  bool isOneOp = true; // each call is one op, the same one
  llvm::StringRef combineOp;
  RegionRecorder recorder;
  std::shared_ptr<const CombineRegion> region;
  const auto watched = [&](llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs) {
    opsCombined_ = 0;
    const bool isRecorded = !region && launch_.observers.needs().values;
    const llvm::SaveAndRestore records(recorder_, isRecorded ? &recorder : nullptr);
    if (isRecorded)
      recorder.begin(lhs, rhs);
    ValueList combined = combine(lhs, rhs);
    if (isRecorded)
      region = recorder.end(combined);
    isOneOp &= opsCombined_ == 1 && (combineOp.empty() || combineOp == lastCombined_);
    combineOp = lastCombined_;
    return combined;
  };
  StepCombine lanes(operands, watched);
  {
    const llvm::SaveAndRestore isInside(combining_, combining_ + 1);
    walk(types, outputs.data(), inputs.data(), lanes);
  }
  if (lanes.isValid()) {
    Attributes shown = attributes;
    shown.set("combine", isOneOp && operands.size() == 1 ? combineOp.str() : "");
    showAs(name, shown, operands, values, region.get());
  }
  if (!lanes.error().empty())
    fail(lanes.error(), {});
  return lanes.isValid() ? values : unknownValues(resultTypes);
}

ValueList StepEmitter::reduce(llvm::ArrayRef<Value> operands, int axis, CombineFunction combine) {
  llvm::SmallVector<Type, 2> resultTypes;
  for (const Value &operand : operands) {
    resultTypes.push_back(operand.type);
    resultTypes.back().shape.erase(resultTypes.back().shape.begin() + axis);
  }
  return combineBlocks(
      "tl.reduce", {{"axis", int64_t{axis}}}, operands, resultTypes, combine,
      [axis](llvm::ArrayRef<Type> types, void *const *results, const void *const *inputs,
             CombineLanes lanes) { reduceBlocks(types, axis, results, inputs, lanes); });
}

ValueList StepEmitter::scan(llvm::ArrayRef<Value> operands, int axis, bool reverse,
                            CombineFunction combine) {
  llvm::SmallVector<Type, 2> resultTypes;
  for (const Value &operand : operands)
    resultTypes.push_back(operand.type);
  return combineBlocks("tl.scan", {{"axis", int64_t{axis}}, {"reverse", reverse}}, operands,
                       resultTypes, combine,
                       [axis, reverse](llvm::ArrayRef<Type> types, void *const *results,
                                       const void *const *inputs, CombineLanes lanes) {
                         scanBlocks(types, axis, reverse, results, inputs, lanes);
                       });
}

Value StepEmitter::runBlock(const Evaluator &evaluator, const Value &operand, const Type &result) {
  if (!evaluator.block || !operand)
    return {};
  Value value = wrapBlock(allocateBlock(result), result);
  void *const output = blockOf(value).data;
  const void *const input = blockOf(operand).data;
  evaluator.block(&output, &input, evaluator.payload.get());
  return value;
}

Value StepEmitter::reduceByOp(llvm::StringRef combineOp, const Value &operand, int axis) {
  Type result = operand.type;
  result.shape.erase(result.shape.begin() + axis);
  const Value value =
      runBlock(chooseKnownReduce(combineOp, storageType(operand.type), axis), operand, result);
  if (value)
    showAs("tl.reduce", {{"axis", int64_t{axis}}, {"combine", combineOp.str()}}, operand, value);
  return value;
}

Value StepEmitter::scanByOp(llvm::StringRef combineOp, const Value &operand, int axis,
                            bool reverse) {
  const Value value = runBlock(chooseKnownScan(combineOp, storageType(operand.type), axis, reverse),
                               operand, operand.type);
  if (value)
    showAs("tl.scan", {{"axis", int64_t{axis}}, {"reverse", reverse}, {"combine", combineOp.str()}},
           operand, value);
  return value;
}

void StepEmitter::beginLaunch(bool hasAtomics) {
  launch_.info.workers = 1;
  launch_.info.memory = &launch_.memory;
  launch_.info.hasAtomics = hasAtomics;
  launch_.info.countsChanges = true;
  launch_.changes.begin(launch_.info.workers, launch_.info.mayWait);
  launch_.observers.startRun(ObserverList::Run::Only);
  for (Observer *observer : launch_.observers)
    observer->onLaunchBegin(launch_.info);
}

void StepEmitter::endLaunch() {
  const ObserverList observers = launch_.observers; // they may run programs by themselves
  for (Observer *observer : observers)
    observer->onLaunchEnd();
}

void StepEmitter::beginProgram(std::array<int32_t, 3> program) {
  const std::array<int32_t, 3> &grid = launch_.info.grid;
  context_.program = program;
  context_.linearProgram =
      program[0] + int64_t{grid[0]} * (program[1] + int64_t{grid[1]} * program[2]);
  ++begun_;
  context_.worker = 0;
  context_.sequence = 0;
  context_.lastSeen.clear();
  context_.printed.clear();
  for (Observer *observer : launch_.observers)
    observer->onProgramBegin(context_.linearProgram, context_.worker);
}

bool StepEmitter::takeSpin() { return std::exchange(context_.spinning, false); }

int StepEmitter::suspendProgram() {
  suspended_[nextSuspended_] = {context_, spinAddress_, std::move(unrolled_)};
  unrolled_.clear();
  context_.loopIterations.clear();
  context_.spinning = false;
  return nextSuspended_++;
}

void StepEmitter::resumeProgram(int number) {
  const auto found = suspended_.find(number);
  context_ = std::move(found->second.context);
  spinAddress_ = found->second.spinAddress;
  unrolled_ = std::move(found->second.unrolled);
  suspended_.erase(found);
}

void StepEmitter::noteLoad(const OpInfo &load, const Value &pointer, const void *address) {
  const SourceLocation *at = &load.location;
  while (at && !llvm::is_contained(notedLines_, at->line))
    at = at->caller.get();
  if (!at)
    return;
  lastLoad_ = &load;
  lastLoadAddress_ = 0; // of one element alone
  if (!pointer.type.isBlock())
    std::memcpy(&lastLoadAddress_, address, sizeof lastLoadAddress_);
}

bool StepEmitter::goesOnForEver(llvm::ArrayRef<Value> deciding, uint64_t others,
                                std::vector<int> lines, bool isFirst) {
  uint64_t state = others;
  if (!lines.empty())
    state ^= launch_.progress.load();
  for (const Value &value : deciding) {
    const auto bytes = static_cast<size_t>(value.type.numElements() * value.type.elementBytes());
    state =
        31 * state +
        llvm::xxh3_64bits(llvm::ArrayRef(static_cast<const uint8_t *>(blockOf(value).data), bytes));
  }
  const uint64_t last = std::exchange(context_.loopState, state);
  if (isFirst) {
    context_.loopAnchor = state;
    lastLoad_ = nullptr;
    notedLines_ = std::move(lines);
    return false;
  }
  if (last == state)
    return true;
  lastLoadAddress_ = 0; // a cycle of several iterations looks at several
  return context_.loopAnchor == state;
}

bool StepEmitter::waitsByLoads() {
  if (!lastLoad_)
    return false;
  context_.op = lastLoad_;
  context_.waitsByLoads = true;
  spinAddress_ = lastLoadAddress_;
  return true;
}

void StepEmitter::reportEndlessLoop(std::optional<EndlessLoop::Bounds> bounds) {
  const llvm::ArrayRef<int64_t> loops = context_.loopIterations;
  endInEndlessLoop(launch_,
                   {infoOfOp("scf.while"), context_.linearProgram, loops.drop_back(), bounds});
}

std::vector<StuckProgram> StepEmitter::suspendedAnd(std::vector<StuckProgram> stuck) const {
  for (const auto &[number, program] : suspended_)
    stuck.push_back(stuckProgram(program.context, program.spinAddress));
  llvm::sort(stuck,
             [](const StuckProgram &a, const StuckProgram &b) { return a.program < b.program; });
  return stuck;
}

std::optional<int64_t> StepEmitter::crowd() const {
  const bool isAsked = launch_.observers.needs().residency && mayExceedResidency(launch_.info);
  return isAsked ? std::optional(kMultiprocessors) : std::nullopt;
}

void StepEmitter::tellNotResident() {
  interpreter::tellNotResident(launch_, suspendedAnd({}), begun_);
}

void StepEmitter::reportDeadlock() {
  endInDeadlock(launch_, suspendedAnd({stuckProgram(context_, spinAddress_)}));
}

void StepEmitter::endProgram() {
  for (Observer *observer : launch_.observers)
    observer->onProgramEnd(context_.linearProgram, context_.worker);
}

} // namespace blockscope::interpreter
