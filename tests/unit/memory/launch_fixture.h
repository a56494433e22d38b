// A launch with tensors in host memory, an emitter that runs ops at once, and an observer that
// remembers what it was told.
#pragma once

#include "interpreter/step_emitter.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace blockscope::interpreter::testing {

/// Copies what the events point to.
struct Recorder : Observer {
  struct Seen {
    AccessKind kind;
    std::string allocation;
    int64_t minOffset, maxOffset, activeLanes;
    std::vector<AccessRun> runs;
    std::vector<uint8_t> mask;
    AtomicSemantics semantics;
    AtomicScope scope;
    int32_t line;
  };
  std::vector<Seen> accesses;
  std::vector<RefusedLane> refused;
  std::vector<int64_t> failedAsserts;
  int barriers = 0;
  std::string printed;
  bool takesOver = true;

  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.needs.runs = true;
    plan.takesRefusedLanes = plan.takesAsserts = takesOver;
    return plan;
  }
  void onAccess(const Access &access) override {
    accesses.push_back({access.kind, access.allocation ? access.allocation->info.name : "",
                        access.minOffset, access.maxOffset, access.activeLanes, access.runs.vec(),
                        access.mask ? std::vector<uint8_t>(access.mask, access.mask + access.lanes)
                                    : std::vector<uint8_t>(),
                        access.semantics, access.scope, access.op ? access.op->location.line : 0});
  }
  void onRefusedLanes(const Access &, llvm::ArrayRef<RefusedLane> lanes) override {
    refused.insert(refused.end(), lanes.begin(), lanes.end());
  }
  void onBarrier(int64_t, int) override { ++barriers; }
  void onAssert(const FailedAssert &failed) override { failedAsserts = failed.lanes.vec(); }
  void onPrint(const OpInfo *, int64_t, llvm::StringRef text) override { printed += text; }
};

struct LaunchTest : ::testing::Test {
  LaunchState launch;
  Recorder recorder;
  std::string printed;
  StepEmitter emitter{launch, [] { return SourceLocation{"kernel.py", 12, 3, "kernel", "", {}}; }};

  LaunchTest() {
    launch.info.kernel = "kernel";
    launch.print = [this](llvm::StringRef text) { printed += text.str(); };
    emitter.beginProgram({0, 0, 0});
  }

  /// Adds a tensor over `storage`; strides in elements.
  template <typename T>
  Value addTensor(const std::string &name, std::vector<T> &storage, DType dtype,
                  std::vector<int64_t> shape = {}, std::vector<int64_t> strides = {},
                  int64_t offset = 0) {
    Allocation allocation;
    allocation.info.name = name;
    allocation.info.dtype = dtypeName(dtype).str();
    allocation.info.shape =
        shape.empty() ? std::vector<int64_t>{static_cast<int64_t>(storage.size())} : shape;
    allocation.info.strides = strides.empty() ? std::vector<int64_t>{1} : strides;
    allocation.info.elementBytes = sizeof(T);
    allocation.info.storageBytes = static_cast<int64_t>(storage.size() * sizeof(T));
    allocation.storage = reinterpret_cast<std::byte *>(storage.data());
    allocation.storageBytes = allocation.info.storageBytes;
    allocation.view = allocation.storage + offset * static_cast<int64_t>(sizeof(T));
    return emitter.scalarFromBits(Type::get(dtype).pointerTo(),
                                  launch.memory.add(std::move(allocation)).base);
  }

  Value emit(llvm::StringRef name, llvm::ArrayRef<Value> operands, Type type,
             const Attributes &attributes = {}) {
    Value value = emitter.emit({name, operands, attributes, {type}})[0];
    EXPECT_EQ(emitter.takeFailure(), "");
    return value;
  }
  template <typename T>
  Value block(DType dtype, const std::vector<T> &values, std::vector<int64_t> shape = {}) {
    if (shape.empty())
      shape = {static_cast<int64_t>(values.size())};
    std::shared_ptr<Block> result = allocateBlock(Type::get(dtype, shape));
    std::memcpy(result->data, values.data(), values.size() * sizeof(T));
    return {Type::get(dtype, shape), result};
  }
  /// A block of pointers at these element offsets.
  Value at(const Value &pointer, const std::vector<int32_t> &offsets,
           std::vector<int64_t> shape = {}) {
    const Value indices = block(DType::Int32, offsets, std::move(shape));
    const Type type = pointer.type.withShape(indices.type.shape);
    const Value pointers = emit("tl.splat", {pointer}, type);
    return emit("tl.addptr", {pointers, indices}, type);
  }
  std::vector<int32_t> iota(int count, int first = 0, int step = 1) {
    std::vector<int32_t> result(count);
    for (int i = 0; i < count; ++i)
      result[i] = first + i * step;
    return result;
  }
  Value load(const Value &pointers, const Attributes &attributes = {}) {
    return emit("tl.load", {pointers}, pointers.type.pointee(), attributes);
  }
  Value loadMasked(const Value &pointers, const std::vector<uint8_t> &mask) {
    return emit("tl.load", {pointers, block(DType::Int1, mask, shapeOf(pointers))},
                pointers.type.pointee(), {{"has_mask", true}});
  }
  void store(const Value &pointers, const Value &values) {
    emitter.emit({"tl.store", {pointers, values}, {}, {}});
  }
  void storeMasked(const Value &pointers, const Value &values, const std::vector<uint8_t> &mask) {
    emitter.emit(
        {"tl.store", {pointers, values, block(DType::Int1, mask, shapeOf(pointers))}, {}, {}});
  }
  static std::vector<int64_t> shapeOf(const Value &value) {
    return {value.type.shape.begin(), value.type.shape.end()};
  }
  template <typename T> static std::vector<T> valuesOf(const Value &value) {
    const auto *data = static_cast<Block *>(value.handle.get())->as<T>();
    return {data, data + value.type.numElements()};
  }
};

} // namespace blockscope::interpreter::testing
