// A finding: what a check found in a run, or the GPU compiler in a kernel, as data. Text, JSON and
// the viewer print this struct; nothing else has the facts of a report.
#pragma once

#include "core/finding_codes.h"
#include "core/source_location.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace blockscope {

/// Names and texts, in order: "x" -> "4096".
using NamedValues = std::vector<std::pair<std::string, std::string>>;

/// What kind of memory operation an access is.
enum class AccessKind : uint8_t { Load, Store, AtomicLoad, AtomicStore, AtomicRmw, AtomicCas };
constexpr AccessKind kAllAccessKinds[] = {AccessKind::Load,       AccessKind::Store,
                                          AccessKind::AtomicLoad, AccessKind::AtomicStore,
                                          AccessKind::AtomicRmw,  AccessKind::AtomicCas};

constexpr bool isAtomic(AccessKind kind) {
  return kind != AccessKind::Load && kind != AccessKind::Store;
}
constexpr bool writesMemory(AccessKind kind) {
  return kind != AccessKind::Load && kind != AccessKind::AtomicLoad;
}

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

/// One lane of one execution of an op.
struct Execution {
  std::optional<AccessKind> access; ///< none: the op does not access memory
  std::array<int32_t, 3> program = {0, 0, 0};
  int64_t lane = 0;               ///< flat index in the block
  std::vector<int64_t> laneIndex; ///< the same per dimension of the block
  std::vector<int64_t> blockShape;
  std::vector<int64_t> loopIterations; ///< outermost first
  int64_t accessBytes = 0;
  std::string semantics; ///< "acq_rel, gpu" of an atomic, else empty
  std::string value;     ///< stored or loaded value, when known
};

/// What a place has to do with a finding.
enum class SiteRole : uint8_t {
  Here,        ///< it happened here, or holds here too
  OtherSide,   ///< the other access of a race
  AllocatedAt, ///< the memory comes from here
  BornAt,      ///< the value comes from here; of several the first is nearest to where it was found
  Through,     ///< the value went through here on its way from its birth; the nearest comes first
  ReadAt,      ///< the host reads it here
  ArrivesAt,   ///< the value that was born at the place of the finding is seen here
  UsedAt,      ///< the value decides something here
  ChangedAt,   ///< what is waited for was changed here last
};

/// A place, and what ran there.
struct Site {
  SiteRole role = SiteRole::Here;
  SourceLocation location;
  std::optional<Execution> execution; ///< none where nothing ran: on the host, in the compiler
};

/// The launch in which something was found.
struct LaunchFacts {
  std::string kernel;
  std::array<int32_t, 3> grid = {1, 1, 1};
  NamedValues metaParameters;
  int64_t index = 0; ///< counts the launches of the process
};

/// What an access touched.
///
/// Units: byte offsets are from the argument's first element and may be negative; distance is in
/// bytes from the nearest valid byte, 0 when not meaningful.
struct Element {
  TensorInfo tensor;
  std::vector<int64_t> index; ///< in the tensor; may be outside its shape
  int64_t byteOffset = 0;
  int64_t distanceBytes = 0;
};

/// The two numbers of a message, in the unit of its code.
struct Measure {
  int64_t found = 0, expected = 0;
};

/// How much of the rounding error of an output one source line brings.
struct ErrorShare {
  SourceLocation location;
  std::string what; ///< what rounds there: "a sum in fp16"
  double share = 0; ///< 0 to 1
};

/// The program that changed an element last.
struct Holder {
  enum class State : uint8_t {
    Ended,
    Waits,  ///< too
    Itself, ///< it is the program that waits for the element
  };
  std::array<int32_t, 3> program = {0, 0, 0};
  State state = State::Ended;
  SourceLocation location;
  bool hasTaken = false; ///< by a compare-and-swap, or an exchange as the waiting one tries: a lock
};

/// A program that waits for an element.
struct Wait {
  std::array<int32_t, 3> program = {0, 0, 0};
  SourceLocation location;
  std::string element;          ///< "'lock_ptr'[1]"
  std::string value;            ///< that it has, or empty
  std::optional<Holder> holder; ///< nobody, or not known
  bool isUntouched = false;     ///< no program of the launch has changed it
};

/// Programs that wait for one another.
struct WaitingFacts {
  /// The finding's own program, whom it waits for, whom that one waits for and so on; then others.
  std::vector<Wait> waits;
  int64_t programs = 0; ///< that wait; `waits` has the first few
  int64_t circle = 0;   ///< programs that wait for one another, with the finding's; 0: none
};

struct Finding {
  FindingCode code = FindingCode::Unknown;
  Severity severity = Severity::Error;
  std::string message; ///< one line, lower case
  Site site;           ///< where it was found
  std::vector<Site> related;
  std::optional<LaunchFacts> launch; ///< none: found while the kernel was compiled
  std::optional<Element> element;
  NamedValues values;
  std::vector<ErrorShare> shares; ///< largest first; the rest is in lines that are not here
  std::optional<Measure> measure;
  std::optional<WaitingFacts> waiting;
  std::string cost;         ///< what it costs in speed, or empty
  std::string hint;         ///< at most one, or empty
  std::string model;        ///< "tile" or "warp" for orders inside a program, else empty
  int64_t count = 1;        ///< how many occurrences were folded into this one
  int64_t programCount = 1; ///< in how many programs

  /// Returns the first place with this role beside `site`, or null.
  const Site *find(SiteRole role) const {
    for (const Site &place : related)
      if (place.role == role)
        return &place;
    return nullptr;
  }
};

} // namespace blockscope
