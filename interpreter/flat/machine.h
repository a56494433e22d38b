// Runs flat programs: the registers of one program instance, and the loop over instructions.
#pragma once

#include "interpreter/execution_context.h"
#include "interpreter/flat/flat_program.h"

#include <memory>
#include <vector>

namespace blockscope::interpreter {

/// Registers of one program instance, and the pointer table of its program. Reused from program to
/// program; a suspended instance keeps its own.
class Frame {
public:
  /// `arguments` are one address per parameter of the program; they must outlive the frame.
  Frame(const FlatProgram &program, llvm::ArrayRef<void *> arguments);
  ~Frame();
  Frame(const Frame &) = delete;
  Frame &operator=(const Frame &) = delete;

  /// False when there was no memory for the registers.
  bool isValid() const { return memory_ != nullptr; }
  void **pointers() { return pointers_.data(); }
  llvm::ArrayRef<std::byte> bytes() const { return {memory_, bytes_}; }

  /// Runs combine program `number` over `n` lanes: out[k] = combine(lhs..., rhs...)[k].
  void combine(uint32_t number, int64_t n, void *const *out, const void *const *lhs,
               const void *const *rhs, ExecutionContext &context);

  /// Runs program `number`, of a tl.map, for all elements.
  void map(uint32_t number, void *const *out, const void *const *in, ExecutionContext &context);

private:
  struct Combine;
  std::byte *memory_ = nullptr;
  size_t bytes_ = 0;
  std::vector<void *> pointers_;
  std::vector<std::unique_ptr<Combine>> combines_;
};

enum class RunStatus : uint8_t {
  Done,
  Suspended, ///< it spins at an atomic or volatile load; may be resumed
  Stopped,   ///< LaunchState::stop was set
};

/// Runs from instruction `pc` on until the program is done, spins or is stopped; updates `pc`.
/// `lanes` limits the elements of every instruction (combine programs).
RunStatus run(const FlatProgram &program, Frame &frame, uint32_t &pc, ExecutionContext &context,
              int64_t lanes = INT64_MAX);

} // namespace blockscope::interpreter
