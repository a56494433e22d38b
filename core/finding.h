// A finding: what a check found, as data. Text, JSON, SARIF and the viewer print this struct.
#pragma once

#include "core/source_location.h"

#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace blockscope {

enum class Severity : uint8_t { Note, Warning, Error };

/// What kind of memory operation an access is.
enum class AccessKind : uint8_t { Load, Store, AtomicRmw, AtomicCas };

/// The tensor argument (or other allocation) that an access was attributed to.
struct TensorInfo {
  std::string name;  ///< the kernel's parameter name, or how the allocation was found
  std::string dtype; ///< "fp32"
  std::vector<int64_t> shape;
  std::vector<int64_t> strides; ///< in elements
  int64_t elementBytes = 1;
  int64_t storageBytes = 0;       ///< the whole storage behind the argument
  int64_t storageOffsetBytes = 0; ///< of the argument's first element in that storage
};

/// One access as a report tells it: who, where, which element.
struct AccessSite {
  SourceLocation location;
  AccessKind kind = AccessKind::Load;
  std::array<int32_t, 3> program = {0, 0, 0};
  int64_t lane = 0;               ///< flat index in the block
  std::vector<int64_t> laneIndex; ///< the same per dimension of the block
  std::vector<int64_t> blockShape;
  std::vector<int64_t> loopIterations; ///< outermost first
  int64_t accessBytes = 0;
  std::string semantics; ///< "acq_rel, gpu" of an atomic, else empty
  std::string value;     ///< stored or loaded value, when known
};

/// What a check found.
///
/// Units: byte offsets are from the argument's first element and may be negative; distance is in
/// bytes from the nearest valid byte, 0 when not meaningful.
struct Finding {
  std::string code; ///< one of core/finding_codes.def
  Severity severity = Severity::Error;
  std::string message; ///< one line, lower case
  std::string kernel;
  std::array<int32_t, 3> grid = {1, 1, 1};
  std::vector<std::pair<std::string, std::string>> metaParameters;
  int64_t launchIndex = 0;
  AccessSite site;
  std::optional<AccessSite> other; ///< the other side of a race
  std::optional<TensorInfo> tensor;
  std::vector<int64_t> elementIndex; ///< in the tensor; may be outside its shape
  int64_t byteOffset = 0;
  int64_t distanceBytes = 0;
  std::vector<std::pair<std::string, std::string>> values; ///< named values: "x" -> "4096"
  std::string hint;                                        ///< at most one
  std::string model;        ///< "tile" or "warp" for orders inside a program, else empty
  int64_t count = 1;        ///< how many occurrences were folded into this one
  int64_t programCount = 1; ///< in how many programs
};

} // namespace blockscope
