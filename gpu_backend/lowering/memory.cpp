// Loads and stores of global memory: runs of neighbouring elements in one instruction, predicated
// instead of branched around.
#include "gpu_backend/lowering/each_register.h"
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/words.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/passes/equal_runs.h"
#include "gpu_backend/passes/joined_accesses.h"
#include "gpu_backend/passes/read_only_loads.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The registers of an access, grouped into instructions.
struct AccessRuns {
  int length = 1;
  llvm::SmallVector<uint32_t> order; ///< run i has order[i * length] and those after it
  size_t distinct =
      1; ///< how many of `order` are different elements, the others are copies of them
};

AccessRuns runsOf(Operation *op, Type pointerType) {
  auto type = dyn_cast<RankedTensorType>(pointerType);
  if (!type)
    return {1, {0}, 1};
  const auto vector = op->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
  const int dim = vector ? vector[0] : type.getRank() - 1;
  const RegisterRuns runs =
      contiguity(tlg::layoutOf(type), ShapeBits(type.getShape()), dim, vector ? vector[1] : 1);
  return {runs.length, {runs.order.begin(), runs.order.end()}, static_cast<size_t>(runs.distinct)};
}

/// The number of the first one of the elements that a load brings from where it brings that of
/// register `reg`.
ElementBits sourceOf(Operation *load, uint32_t reg) {
  auto type = dyn_cast<RankedTensorType>(load->getResult(0).getType());
  return type ? tlg::layoutOf(type).registerElement(reg) &
                    ~equalBits(load, ShapeBits(type.getShape()))
              : 0;
}

llvm::Value *maskOf(Lowering &lowering, Value mask, uint32_t reg) {
  if (!mask)
    return nullptr;
  const llvm::ArrayRef<llvm::Value *> registers = lowering.get(mask);
  return registers[registers.size() == 1 ? 0 : reg];
}

/// The qualifiers of an access. PTX takes a cache operator or an eviction priority, not both; the
/// priority is only a hint, so it gives way unless the operator is the default anyway.
std::string modifiers(llvm::StringRef cache, llvm::StringRef eviction, bool isVolatile,
                      bool isReadOnly) {
  if (isVolatile)
    return ".volatile.global";
  const bool hasPriority = !eviction.empty() && eviction != "evict_normal";
  const bool isDefault = cache == ".ca" || cache == ".wb";
  const std::string readOnly = isReadOnly ? ".nc" : "";
  if (hasPriority && (cache.empty() || isDefault))
    return ".global" + readOnly + ".L1::" + eviction.str();
  return ".global" + cache.str() + readOnly;
}

std::string vectorSuffix(const WordFormat &words) {
  return words.count == 1 ? llvm::formatv(".b{0}", words.bits).str()
                          : llvm::formatv(".v{0}.b{1}", words.count, words.bits).str();
}

/// "{$0, $1}" or "$0".
std::string operandList(int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += llvm::formatv("{0}${1}", i == 0 ? "" : ", ", first + i).str();
  return count == 1 ? text : "{" + text + "}";
}

/// The accesses that are one instruction for each element, in the order of memory: one, and those
/// behind it that are joined to it; none for one of these.
template <typename Access> llvm::SmallVector<Access> joinedTo(Access access) {
  const auto joined = access->template getAttrOfType<IntegerAttr>(kJoinedAttribute);
  llvm::SmallVector<Access> accesses;
  Operation *next = access;
  for (int64_t i = 0; i < (joined ? joined.getInt() : 1); ++i, next = next->getNextNode())
    accesses.push_back(cast<Access>(next));
  return accesses;
}

LogicalResult lowerLoad(Lowering &lowering, Operation *op) {
  auto load = cast<tl::LoadOp>(op);
  const llvm::SmallVector<tl::LoadOp> loads = joinedTo(load);
  if (loads.empty())
    return success();
  llvm::IRBuilder<> &builder = lowering.builder();
  const Type type = load.getType();
  const AccessRuns runs = runsOf(op, load.getPointer().getType());
  const llvm::ArrayRef<llvm::Value *> pointers = lowering.get(load.getPointer());
  const bool isReadOnly = op->hasAttr(kReadOnlyAttribute);
  const bool isPlain = !load.getMask() && !isReadOnly && !load.getIsVolatile() &&
                       load.getCacheModifier().empty() && load.getEvictionPolicy().empty();
  const int count = runs.length * static_cast<int>(loads.size()); // elements of an instruction
  const WordFormat words =
      wordsOf(count * Lowering::elementBytes(type), Lowering::elementBytes(type));
  llvm::SmallVector<Registers> results(loads.size(), Registers(Lowering::registerCount(type)));
  llvm::DenseMap<ElementBits, llvm::ArrayRef<uint32_t>> sources; // what was loaded from where
  for (size_t i = 0; i < runs.distinct; i += runs.length) {
    const llvm::ArrayRef<uint32_t> run = llvm::ArrayRef(runs.order).slice(i, runs.length);
    const auto [source, isNew] = sources.try_emplace(sourceOf(op, run.front()), run);
    if (!isNew) {
      for (Registers &each : results)
        for (auto [reg, other] : llvm::zip_equal(run, source->second))
          each[reg] = each[other];
      continue;
    }
    llvm::Value *pointer = pointers[run.front()];
    llvm::SmallVector<llvm::Value *> loaded;
    if (isPlain) {
      auto *vector = llvm::FixedVectorType::get(lowering.memoryType(type), count);
      llvm::Value *all = builder.CreateAlignedLoad(
          vector, pointer, llvm::Align(count * Lowering::elementBytes(type)));
      for (int j = 0; j < count; ++j)
        loaded.push_back(fromMemory(lowering, builder.CreateExtractElement(all, j), type));
    } else {
      llvm::Value *mask = maskOf(lowering, load.getMask(), run.front());
      llvm::SmallVector<llvm::Value *> others;
      for (const uint32_t reg : run) {
        llvm::Value *other = llvm::Constant::getNullValue(lowering.elementType(type));
        if (load.getOther()) {
          const llvm::ArrayRef<llvm::Value *> given = lowering.get(load.getOther());
          other = given[given.size() == 1 ? 0 : reg];
        }
        others.append(loads.size(), other);
      }
      llvm::SmallVector<llvm::Value *> operands = packWords(lowering, others, type, words);
      std::string constraints = words.constraintList("=");
      for (int word = 0; word < words.count; ++word)
        constraints += llvm::formatv(",{0}", word).str();
      constraints += ",l";
      operands.push_back(pointer);
      std::string text = "ld" +
                         modifiers(load.getCacheModifier(), load.getEvictionPolicy(),
                                   load.getIsVolatile(), isReadOnly) +
                         vectorSuffix(words) + " " + operandList(0, words.count) +
                         llvm::formatv(", [${0}];", 2 * words.count).str();
      if (mask) {
        text = llvm::formatv("@${0} ", 2 * words.count + 1).str() + text;
        constraints += ",b";
        operands.push_back(mask);
      }
      llvm::Value *result =
          lowering.assembly(words.structType(lowering), text, constraints, operands);
      loaded = unpackWords(lowering, result, type, count, words);
    }
    for (auto [i, value] : llvm::enumerate(loaded)) // a run of joined loads has one element
      results[i % loads.size()][run[i / loads.size()]] = value;
  }
  for (auto [each, values] : llvm::zip_equal(loads, results)) {
    for (size_t i = runs.distinct; i < runs.order.size(); ++i)
      values[runs.order[i]] = values[runs.order[i % runs.distinct]];
    lowering.set(each->getResult(0), values);
  }
  return success();
}

LogicalResult lowerStore(Lowering &lowering, Operation *op) {
  auto store = cast<tl::StoreOp>(op);
  llvm::SmallVector<llvm::ArrayRef<llvm::Value *>> values; // side by side, of each element
  for (tl::StoreOp each : joinedTo(store))
    values.push_back(lowering.get(each.getValue()));
  if (values.empty())
    return success();
  llvm::IRBuilder<> &builder = lowering.builder();
  const Type type = store.getValue().getType();
  const AccessRuns runs = runsOf(op, store.getPointer().getType());
  const llvm::ArrayRef<llvm::Value *> pointers = lowering.get(store.getPointer());
  const bool isBlock = tlg::hasLayout(store.getPointer().getType());
  llvm::Value *owner = nullptr;
  uint32_t copies = 0;
  if (isBlock) {
    const LinearLayout layout = tlg::layoutOf(store.getPointer().getType());
    owner = lowering.ownsElements(layout);
    copies = freeBits(layout).registers;
  } else {
    owner = lowering.isFirstThread();
  }
  const bool isPlain = store.getCacheModifier().empty() && store.getEvictionPolicy().empty();
  const int count = runs.length * static_cast<int>(values.size()); // elements of an instruction
  const WordFormat words =
      wordsOf(count * Lowering::elementBytes(type), Lowering::elementBytes(type));
  for (size_t i = 0; i < runs.order.size(); i += runs.length) {
    const llvm::ArrayRef<uint32_t> run = llvm::ArrayRef(runs.order).slice(i, runs.length);
    if ((run.front() & copies) != 0)
      continue;
    llvm::Value *mask = maskOf(lowering, store.getMask(), run.front());
    if (owner)
      mask = mask ? builder.CreateAnd(mask, owner) : owner;
    llvm::SmallVector<llvm::Value *> stored;
    for (const uint32_t reg : run)
      for (const llvm::ArrayRef<llvm::Value *> registers : values)
        stored.push_back(registers[registers.size() == 1 ? 0 : reg]);
    if (isPlain && !mask) {
      builder.CreateAlignedStore(vectorOf(lowering, stored, type), pointers[run.front()],
                                 llvm::Align(count * Lowering::elementBytes(type)));
      continue;
    }
    llvm::SmallVector<llvm::Value *> operands = packWords(lowering, stored, type, words);
    std::string constraints = words.constraintList("") + ",l";
    operands.push_back(pointers[run.front()]);
    std::string text =
        "st" + modifiers(store.getCacheModifier(), store.getEvictionPolicy(), false, false) +
        vectorSuffix(words) + llvm::formatv(" [${0}], ", words.count).str() +
        operandList(0, words.count) + ";";
    if (mask) {
      text = llvm::formatv("@${0} ", words.count + 1).str() + text;
      constraints += ",b";
      operands.push_back(mask);
    }
    // Without the clobber LLVM takes this for no store, and moves loads behind it into branches.
    lowering.assembly(builder.getVoidTy(), text, constraints + ",~{memory}", operands);
  }
  return success();
}

/// Where launches do not overlap, there is nothing to wait for.
LogicalResult lowerGridDependency(Lowering &lowering, Operation *op) {
  if (lowering.target().hasDependentLaunch)
    lowering.assembly(lowering.builder().getVoidTy(),
                      isa<tl::GdcWaitOp>(op) ? "griddepcontrol.wait;"
                                             : "griddepcontrol.launch_dependents;",
                      "~{memory}", {});
  return success();
}

LogicalResult lowerBarrier(Lowering &lowering, Operation *op) {
  if (!op->hasAttr(kCoveredAttribute))
    lowering.barrier();
  return success();
}

llvm::Value *addPointer(Lowering &lowering, Operation *op, Operands x) {
  llvm::IRBuilder<> &builder = lowering.builder();
  auto add = cast<tl::AddPtrOp>(op);
  auto pointer = cast<tl::PtrType>(getElementTypeOrSelf(op->getResult(0).getType()));
  llvm::Value *offset = x[1];
  if (offset->getType()->getIntegerBitWidth() < 64)
    offset = add.getIsUnsigned() ? builder.CreateZExt(offset, builder.getInt64Ty())
                                 : builder.CreateSExt(offset, builder.getInt64Ty());
  return builder.CreateGEP(lowering.memoryType(pointer.getPointee()), x[0], offset);
}

} // namespace

llvm::ArrayRef<LoweringRow> memoryRows() {
  static constexpr LoweringRow kRows[] = {
      {"tl.addptr", eachRegister<addPointer>},
      {"tl.barrier", lowerBarrier},
      {"tl.gdc_launch_dependents", lowerGridDependency},
      {"tl.gdc_wait", lowerGridDependency},
      {"tl.load", lowerLoad},
      {"tl.store", lowerStore},
  };
  return kRows;
}

} // namespace blockscope::gpu
