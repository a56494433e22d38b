// Runs a program with a time limit.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <functional>
#include <string>

namespace blockscope::gpu {

/// How a program ended.
struct ProgramEnd {
  enum class How { Exited, Killed, TimedOut, Interrupted, NotStarted };
  How how = How::Exited;
  int status = 0;   ///< the exit status, or the signal that killed it
  std::string text; ///< "ended with status 1", for messages
};

/// Runs `program` and waits for it. What it prints goes to the file `output`; it reads nothing.
/// `arguments` begin with the program's name, `environment` has "NAME=value".
///
/// After `seconds` (0: no limit), or when `isInterrupted` (may be empty) says so, the program and
/// all that it has started are killed. When this process ends, however it is killed, the program
/// ends too.
ProgramEnd runProgram(const std::string &program, llvm::ArrayRef<std::string> arguments,
                      llvm::ArrayRef<std::string> environment, const std::string &output,
                      int seconds, const std::function<bool()> &isInterrupted);

} // namespace blockscope::gpu
