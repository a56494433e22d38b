// The IR builder that Python's front end drives.
#pragma once

#include "core/ir/ir_emitter.h"
#include "interpreter/flat/builder.h"
#include "interpreter/flat/flat_program.h"

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

namespace blockscope::python {

class EmitterScope;

/// One kernel being compiled. Errors of ops are collected and thrown at the next position.
struct PyIrBuilder {
  /// `checksOverflow`: of integers below 64 bits, as core/semantic/semantic.h says. `hasPayloads`:
  /// floats as core/semantic/payload_emitter.h has them.
  PyIrBuilder(bool checksOverflow, bool hasPayloads);

  void setLocation(std::string file, int line, int column, std::string function);
  void popCall();
  /// Errors: throws ValueError with what the emitter reported.
  void throwErrors();
  /// Runs the passes and lowers to the flat program. Errors: ValueError with the user's line.
  std::shared_ptr<interpreter::FlatProgram> compile();
  /// Lowers what was compiled once more, to the form that shows claims.
  std::shared_ptr<interpreter::FlatProgram> compileForClaims();
  /// The same to the form that shows values; `fast` is the one that shows claims.
  std::shared_ptr<interpreter::FlatProgram>
  compileForValues(const std::shared_ptr<interpreter::FlatProgram> &fast);

  const bool checksOverflow, hasPayloads;
  std::string errors;
  IrEmitter emitter;
  std::unique_ptr<EmitterScope> scope;
  std::shared_ptr<SourceLocation> location;
  std::vector<std::string> files; ///< of all functions so far, the kernel's first
  std::vector<std::shared_ptr<const SourceLocation>> calls;

private:
  std::shared_ptr<interpreter::FlatProgram> build(const interpreter::FlatOptions &options);
};

void bindIrBuilder(pybind11::module_ &module);

} // namespace blockscope::python
