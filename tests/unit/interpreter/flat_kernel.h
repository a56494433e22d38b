// Runs kernels given as IR text, for the tests of the flat program.
#pragma once

#include "core/ir/tl_dialect.h"
#include "interpreter/flat/builder.h"
#include "interpreter/launch.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cstring>
#include <functional>
#include <mutex>

namespace blockscope::interpreter {

/// A kernel from text with its tensors. Scalars and tensors are passed in order.
class FlatKernel {
public:
  explicit FlatKernel(llvm::StringRef text, const FlatOptions &options = {}) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    tl::loadDialects(context);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "kernel.mlir");
    EXPECT_TRUE(module);
    if (module)
      program = buildFlatProgram(*module, &error, options);
    if (error.empty())
      EXPECT_TRUE(program.isValid());
  }

  /// Adds a tensor argument over `data`, which must stay alive.
  template <typename T> FlatKernel &tensor(std::vector<T> &data) {
    Allocation allocation;
    allocation.info.name = "t" + std::to_string(arguments_.size());
    allocation.info.shape = {static_cast<int64_t>(data.size())};
    allocation.info.strides = {1};
    allocation.info.elementBytes = sizeof(T);
    allocation.info.storageBytes = static_cast<int64_t>(data.size() * sizeof(T));
    allocation.view = allocation.storage = reinterpret_cast<std::byte *>(data.data());
    allocation.storageBytes = allocation.info.storageBytes;
    tensors_.push_back(std::move(allocation));
    arguments_.push_back({~0ULL});
    return *this;
  }
  template <typename T> FlatKernel &scalar(T value) {
    arguments_.emplace_back();
    std::memcpy(&arguments_.back().bits, &value, sizeof value);
    return *this;
  }

  LaunchResult run(std::array<int32_t, 3> grid, int threads = 2,
                   llvm::function_ref<bool()> poll = {}, Observer *observer = nullptr) {
    const auto watch = [&](LaunchState &launch) {
      if (observer)
        launch.observers.add(*observer);
    };
    return runWatched(grid, threads, watch, poll);
  }

  LaunchResult runWatched(std::array<int32_t, 3> grid, int threads,
                          llvm::function_ref<void(LaunchState &)> watch,
                          llvm::function_ref<bool()> poll = {}) {
    setenv("BLOCKSCOPE_THREADS", std::to_string(threads).c_str(), 1);
    LaunchState launch;
    launch.info.grid = grid;
    launch.info.kernel = program.name;
    std::mutex printing;
    launch.print = [&](llvm::StringRef text) {
      if (print)
        return print(launch, text);
      const std::lock_guard lock(printing);
      printed += text;
    };
    watch(launch);
    std::vector<ArgumentValue> values;
    size_t next = 0;
    for (const ArgumentValue &argument : arguments_)
      values.push_back(argument.bits == ~0ULL
                           ? ArgumentValue{launch.memory.add(tensors_[next++]).base}
                           : argument);
    return launchFlat(program, launch, values, poll);
  }

  FlatProgram program;
  std::string error;
  std::string printed;
  std::function<void(LaunchState &, llvm::StringRef)> print; ///< in place of `printed`

private:
  std::vector<Allocation> tensors_;
  std::vector<ArgumentValue> arguments_;
};

} // namespace blockscope::interpreter
