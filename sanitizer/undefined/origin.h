// Where undefined values come from, and the way they went.
//
// Each undefined element of a value, and each undefined byte of memory, has an origin: a chain of
// the ops that it went through, back to where it was born. Chains share their tails; of an op that
// runs many times there is one link, and a birth tells of the last execution that gave birth.
#pragma once

#include "sanitizer/observation.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <vector>

namespace blockscope::sanitizer {

/// Names an origin in one launch; 0 is none: the element is defined.
using OriginId = uint32_t;
constexpr OriginId kDefined = 0;

/// How undefined data came to be.
enum class Birth : uint8_t {
  MaskedLanes, ///< lanes of a load that its mask leaves out, and no `other` fills
  NeverWritten ///< memory that was allocated and never written
};

/// An origin that outlives its launch.
struct Trail {
  Birth birth = Birth::MaskedLanes;
  /// The ops it went through, nearest first, then the place of its birth.
  std::vector<Site> sites;
  NamedValues values; ///< what is known of its birth
  /// Of what a kernel stored: by which launch, and to which argument.
  std::shared_ptr<const LaunchFacts> launch;
  std::shared_ptr<const Allocation> allocation;
  /// Defined elements went into it too (a sum): what comes of it is never dropped as padding.
  bool isMixed = false;

  /// Names the cause: places of the birth and of the way.
  std::string key() const;
};

/// What rules for ops ask of a table of origins: they know nothing else of what they follow.
class OriginRules {
public:
  virtual ~OriginRules() = default;
  /// What an op makes of an element with this origin.
  virtual OriginId after(const OpInfo &op, OriginId origin) = 0;
  /// The same of an op that puts elements without an origin together with others.
  virtual OriginId mixed(const OpInfo &op, OriginId origin) = 0;
};

/// The origins of one launch.
class OriginTable : public OriginRules {
public:
  explicit OriginTable(const LaunchInfo &launch) : launch_(launch) { links_.emplace_back(); }

  /// Lanes of a load that have no value: [first, last] are the outermost of `count`.
  OriginId bornInLoad(const OpValues &load, int64_t first, int64_t last, int64_t count);
  /// What a load took from undefined memory.
  OriginId fromMemory(const OpInfo &load, const std::shared_ptr<const Trail> &trail);
  OriginId after(const OpInfo &op, OriginId origin) override { return link(op, origin, false); }
  OriginId mixed(const OpInfo &op, OriginId origin) override { return link(op, origin, true); }

  bool isMixed(OriginId origin) const { return links_[origin].isMixed; }
  /// Tells of an origin; `here` is left out of the way.
  Trail trail(OriginId origin, const SourceLocation &here) const;

private:
  struct Link {
    const OpInfo *op = nullptr;
    OriginId parent = kDefined; ///< none: it was born here, or came from memory
    uint32_t length = 0;        ///< of the chain
    bool isMixed = false;
    std::shared_ptr<const Trail> before; ///< of what came from memory
  };
  /// The last execution of a load that left lanes without a value.
  struct Born {
    const Type *type = nullptr;
    int64_t program = 0, first = 0, last = 0, count = 0;
    llvm::SmallVector<int64_t, 4> loopIterations;
  };

  OriginId link(const OpInfo &op, OriginId parent, bool isMixed);
  void tellBirth(Trail &trail, const OpInfo &op, const Born &born) const;

  const LaunchInfo &launch_;
  std::vector<Link> links_;
  llvm::DenseMap<std::pair<const OpInfo *, uint64_t>, OriginId> known_; ///< parent and isMixed
  /// The link that was asked for last: mostly the next one is the same.
  std::pair<const OpInfo *, uint64_t> last_ = {nullptr, 0};
  OriginId lastLink_ = kDefined;
  llvm::DenseMap<const OpInfo *, std::pair<OriginId, Born>> births_;
  llvm::DenseMap<std::pair<const OpInfo *, const Trail *>, OriginId> loaded_;
};

} // namespace blockscope::sanitizer
