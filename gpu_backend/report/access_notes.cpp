// Accesses of global memory: how many sectors of 32 bytes one warp touches against the fewest that
// hold its bytes, and by what pieces.
//
// One instruction is looked at first. Only if it touches too much, all of the warp's are: what lies
// between the pieces of one may be what the next one takes, which costs instructions but no memory.
#include "core/ir/convert.h"
#include "core/ir/facts.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/passes/axis_info.h"
#include "gpu_backend/report/address_probe.h"
#include "gpu_backend/report/kernel_notes.h"

#include "core/ir/tl_dialect.h"

#include "llvm/ADT/STLExtras.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int64_t kSectorBytes = 32, kWidestBytes = 16, kAlignment = 16;
constexpr int64_t kFewSectors = 8; ///< an access of fewer is cheap, whatever it is
constexpr int64_t kMostRegisters = 64;

struct Access {
  Operation *op = nullptr;
  llvm::StringRef name; ///< "load of"
  Value pointer, mask;
  LinearLayout layout;
  ShapeBits shape;
  int dim = 0, vector = 1; ///< this many elements along `dim` in one instruction
  int64_t elementBytes = 4;

  int64_t vectorBytes() const { return vector * elementBytes; }
  RankedTensorType type() const { return cast<RankedTensorType>(pointer.getType()); }
  int64_t step(int along) const { return int64_t{1} << shape.shift(along); }
};

std::optional<Access> accessOf(Operation *op) {
  Access access;
  access.op = op;
  const bool isKnown = llvm::TypeSwitch<Operation *, bool>(op)
                           .Case([&](tl::LoadOp load) {
                             access.name = "load of";
                             access.mask = load.getMask();
                             return true;
                           })
                           .Case([&](tlg::AsyncCopyOp copy) {
                             access.name = "load of";
                             access.mask = copy.getMask();
                             return true;
                           })
                           .Case([&](tl::StoreOp store) {
                             access.name = "store to";
                             access.mask = store.getMask();
                             return true;
                           })
                           .Default([&](Operation *) {
                             access.name = "atomic on";
                             return tl::isAtomic(op);
                           });
  if (!isKnown || !tlg::hasLayout(op->getOperand(0).getType()))
    return std::nullopt;
  access.pointer = op->getOperand(0);
  access.layout = tlg::layoutOf(access.pointer.getType());
  access.shape = ShapeBits(access.type().getShape());
  access.elementBytes =
      tlg::elementBytes(cast<tl::PtrType>(access.type().getElementType()).getPointee());
  const auto vector = op->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
  access.dim = vector ? vector[0] : access.shape.rank() - 1;
  access.vector = vector ? vector[1] : 1;
  return access;
}

/// The sectors that pieces of memory lie in, and the fewest that would hold their bytes.
struct Traffic {
  int64_t sectors = 0, bytes = 0;

  Traffic(llvm::ArrayRef<int64_t> addresses, int64_t pieceBytes) {
    llvm::SmallVector<int64_t, 64> starts(addresses), touched;
    llvm::sort(starts);
    starts.erase(llvm::unique(starts), starts.end());
    for (const int64_t start : starts)
      for (int64_t at = start / kSectorBytes; at <= (start + pieceBytes - 1) / kSectorBytes; ++at)
        if (touched.empty() || touched.back() < at)
          touched.push_back(at);
    sectors = static_cast<int64_t>(touched.size());
    bytes = pieceBytes * static_cast<int64_t>(starts.size());
  }
  int64_t expected() const { return (bytes + kSectorBytes - 1) / kSectorBytes; }
  double ratio() const { return static_cast<double>(sectors) / static_cast<double>(expected()); }
};

std::string quoted(BlockArgument argument) {
  const std::string name = fromMlirLocation(argument.getLoc()).variable;
  return name.empty() ? llvm::formatv("argument {0}", argument.getArgNumber()).str()
                      : "'" + name + "'";
}

std::string quoted(llvm::ArrayRef<BlockArgument> arguments) {
  return llvm::join(
      llvm::map_range(arguments, [](BlockArgument argument) { return quoted(argument); }), ", ");
}

std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  return "[" +
         llvm::join(llvm::map_range(shape, [](int64_t v) { return std::to_string(v); }), ", ") +
         "]";
}

/// "load of 'x_ptr'".
std::string nameOf(const Access &access) {
  const BlockArgument tensor = AddressProbe::tensorOf(access.pointer);
  return access.name.str() + " " + (tensor ? quoted(tensor) : "addresses from memory");
}

/// What would be known if more arguments were multiples of 16.
class WhatIf {
public:
  explicit WhatIf(func::FuncOp function) : function_(function) {
    for (const BlockArgument argument : function.getBody().getArguments())
      if (isa<tl::PtrType, IntegerType>(argument.getType()) && !argument.getType().isInteger(1) &&
          !isAligned(argument))
        unaligned_.push_back(argument);
  }

  const AxisAnalysis &now() { return analysis(now_, {}); }
  /// All arguments multiples of 16, but `except`.
  const AxisAnalysis &allBut(BlockArgument except) {
    llvm::SmallVector<BlockArgument> aligned;
    llvm::copy_if(unaligned_, std::back_inserter(aligned),
                  [&](BlockArgument argument) { return argument != except; });
    return analysis(allBut_[except], aligned);
  }
  llvm::ArrayRef<BlockArgument> unaligned() const { return unaligned_; }

private:
  bool isAligned(BlockArgument argument) {
    const auto known = function_.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                               tlg::kDivisibilityAttribute);
    return known && known.getInt() % kAlignment == 0;
  }

  const AxisAnalysis &analysis(std::unique_ptr<AxisAnalysis> &made,
                               llvm::ArrayRef<BlockArgument> aligned) {
    if (made)
      return *made;
    const Attribute before = function_.getArgAttrsAttr();
    for (const BlockArgument argument : aligned)
      function_.setArgAttr(argument.getArgNumber(), tlg::kDivisibilityAttribute,
                           Builder(function_.getContext()).getI32IntegerAttr(kAlignment));
    made = std::make_unique<AxisAnalysis>(function_);
    if (before)
      function_.setArgAttrsAttr(cast<ArrayAttr>(before));
    else
      function_.removeArgAttrsAttr();
    return *made;
  }

  func::FuncOp function_;
  llvm::SmallVector<BlockArgument> unaligned_;
  std::unique_ptr<AxisAnalysis> now_;
  llvm::DenseMap<Value, std::unique_ptr<AxisAnalysis>> allBut_;
};

class AccessReport {
public:
  AccessReport(func::FuncOp function, std::vector<Finding> &notes)
      : probe_(function), whatIf_(function), notes_(notes) {}

  void look(const Access &access) {
    const RegisterRuns runs = contiguity(access.layout, access.shape, access.dim, access.vector);
    const auto elements = [&](size_t instructions) {
      llvm::SmallVector<uint32_t, 64> result;
      for (size_t i = 0; i < instructions; ++i)
        for (uint32_t lane = 0; lane < 32; ++lane)
          result.push_back(access.layout.registerElement(runs.order[i * runs.length]) ^
                           access.layout.laneElement(lane));
      return result;
    };
    const Traffic one(probe_.addresses(access.pointer, elements(1)), access.vectorBytes());
    if (one.ratio() < 2 || one.sectors < kFewSectors)
      return lookAtPieces(access);
    const auto instructions = static_cast<size_t>(runs.distinct / runs.length);
    const Traffic all(
        probe_.addresses(access.pointer, elements(std::min<size_t>(instructions, kMostRegisters))),
        access.vectorBytes());
    if (all.ratio() < 2)
      return lookAtPieces(access);
    noteTraffic(access, all);
  }

private:
  Finding &add(const Access &access, FindingCode code, Severity severity) {
    Finding &note = notes_.emplace_back(noteAt(code, fromMlirLocation(access.op->getLoc())));
    note.severity = severity;
    return note;
  }

  /// The elements of two neighbouring threads, and the dimension along which they differ.
  static std::pair<uint32_t, int> neighbours(const Access &access) {
    for (const ElementBits lane : access.layout.lanes)
      for (int dim = 0; dim < access.shape.rank(); ++dim)
        if ((lane & access.shape.mask(dim)) != 0)
          return {lane, dim};
    return {0, 0};
  }

  void noteTraffic(const Access &access, const Traffic &all) {
    const auto [neighbour, dim] = neighbours(access);
    const uint32_t pair[] = {0, neighbour};
    const AddressProbe::Dependence dependence = probe_.dependsOn(access.pointer, pair);
    const std::string sectors =
        llvm::formatv("{0} sectors of {1} bytes, expected {2} for {3}", all.sectors, kSectorBytes,
                      all.expected(), counted(all.bytes, "byte"));
    const std::string cost = llvm::formatv("up to {0} times the memory traffic",
                                           (all.sectors + all.expected() / 2) / all.expected());
    if (dependence.onData) {
      Finding &note = add(access, FindingCode::Gather, Severity::Note);
      note.message = nameOf(access) + ": addresses come from data, so a warp may touch " + sectors;
      note.cost = cost;
      note.hint = isa<tl::LoadOp, tl::StoreOp, tlg::AsyncCopyOp>(access.op)
                      ? "sort the indices, or gather whole rows: a last dimension of the block "
                        "along which addresses are neighbours"
                      : "fewer atomics: add up in the program first (tl.histogram, tl.sum), then "
                        "once for each element";
      note.measure = {all.sectors, all.expected()};
      return;
    }
    Finding &note =
        add(access, FindingCode::Uncoalesced, all.ratio() > 2 ? Severity::Warning : Severity::Note);
    note.cost = cost;
    note.measure = {all.sectors, all.expected()};
    const std::string block =
        llvm::formatv("dimension {0} of its block {1}", dim, shapeText(access.type().getShape()));
    if (!dependence.arguments.empty()) {
      const std::string names = quoted(dependence.arguments);
      note.message = llvm::formatv(
          "{0} cannot be shown to be coalesced: along {1} elements lie apart by {2}, known only "
          "when it runs; a warp may touch {3}",
          nameOf(access), block, names, sectors);
      note.hint = llvm::formatv(
          "make the tensor contiguous along this dimension (a stride of 1 is compiled in), let "
          "another dimension be the contiguous one, or make {0} a tl.constexpr",
          names);
      return;
    }
    const AddressProbe::Numbers places = probe_.addresses(access.pointer, pair);
    const int64_t apart = std::abs(places[1] - places[0]);
    note.message = llvm::formatv("uncoalesced {0}: a warp touches {1}; along {2} threads are "
                                 "{3} apart",
                                 nameOf(access), sectors, block, counted(apart, "byte"));
    note.hint = hintFor(access, dim, apart);
  }

  std::string hintFor(const Access &access, int dim, int64_t apart) {
    if (apart == access.vectorBytes()) // short rows
      return llvm::formatv("a block of at least {0} elements along dimension {1} fills sectors",
                           kSectorBytes / access.elementBytes, dim);
    for (int other = 0; other < access.shape.rank(); ++other)
      if (other != dim && distanceAlong(access, other) == access.elementBytes)
        return llvm::formatv("dimension {0} is the contiguous one; tl.trans of the value before "
                             "the access, or a larger block along it",
                             other);
    return "make the tensor contiguous along this dimension, or load what lies between too and "
           "take the part that is needed";
  }

  int64_t distanceAlong(const Access &access, int dim) {
    if (access.shape.width(dim) == 0)
      return 0;
    const auto places =
        probe_.addresses(access.pointer, {0, static_cast<uint32_t>(access.step(dim))});
    return places[1] - places[0];
  }

  /// How many elements one instruction of a thread could take.
  int64_t possibleVector(const Access &access) {
    const llvm::ArrayRef<int64_t> shape = access.type().getShape();
    const int64_t threads = int64_t{access.layout.laneCount()} * access.layout.warpCount();
    int64_t width = std::min(kWidestBytes / access.elementBytes, shape[access.dim]);
    width = std::min(width, (int64_t{1} << access.shape.width()) / threads);
    if (width <= access.vector)
      return access.vector;
    const auto last = static_cast<uint32_t>((width - 1) * access.step(access.dim));
    const auto places = probe_.addresses(access.pointer, {0, last});
    return places[1] - places[0] == (width - 1) * access.elementBytes ? width : access.vector;
  }

  void lookAtPieces(const Access &access) {
    const bool hasVectors = isa<tl::LoadOp, tl::StoreOp, tlg::AsyncCopyOp>(access.op);
    if (!hasVectors || access.vectorBytes() >= kWidestBytes)
      return;
    const int64_t possible = possibleVector(access);
    const auto width = [&](const AxisAnalysis &axes) {
      return axes.vectorWidth(access.pointer, access.mask, access.dim);
    };
    if (possible <= access.vector || width(whatIf_.now()) >= possible ||
        width(whatIf_.allBut({})) < possible)
      return;
    llvm::SmallVector<BlockArgument, 2> reasons;
    for (const BlockArgument argument : whatIf_.unaligned())
      if (width(whatIf_.allBut(argument)) < possible)
        reasons.push_back(argument);
    if (reasons.empty())
      return;
    const std::string reason = reasonText(reasons);
    const int64_t expected = possible * access.elementBytes;
    const auto [known, isNew] =
        narrow_.try_emplace({reason, access.vectorBytes(), expected}, notes_.size());
    if (!isNew) {
      addPlace(notes_[known->second], fromMlirLocation(access.op->getLoc()));
      return;
    }
    Finding &note = add(access, FindingCode::NarrowAccess,
                        access.vectorBytes() < 4 ? Severity::Warning : Severity::Note);
    note.measure = {access.vectorBytes(), expected};
    note.message =
        llvm::formatv("{0} goes by pieces of {1}, expected {2}: {3}", nameOf(access),
                      counted(access.vectorBytes(), "byte"), counted(expected, "byte"), reason);
    note.cost = llvm::formatv("{0} times the instructions", expected / access.vectorBytes());
    note.hint = hintFor(reasons, possible);
  }

  static std::string reasonText(llvm::ArrayRef<BlockArgument> reasons) {
    std::string text;
    for (const BlockArgument argument : reasons)
      text += (text.empty() ? "" : ", ") + quoted(argument) +
              (isa<tl::PtrType>(argument.getType())
                   ? llvm::formatv(" is not known to begin at a multiple of {0} bytes", kAlignment)
                   : llvm::formatv(" is not known to be a multiple of {0}", kAlignment))
                  .str();
    return text;
  }

  static std::string hintFor(llvm::ArrayRef<BlockArgument> reasons, int64_t elements) {
    for (const BlockArgument argument : reasons)
      if (isa<tl::PtrType>(argument.getType()))
        return "pass a tensor whose data_ptr() is a multiple of 16, a view that begins elsewhere "
               "is not";
    std::string said;
    for (const BlockArgument argument : reasons) {
      const std::string name = fromMlirLocation(argument.getLoc()).variable;
      said += llvm::formatv("{0}{1} = tl.multiple_of({1}, {2})", said.empty() ? "" : "; ",
                            name.empty() ? "..." : name, elements);
    }
    const bool isOne = reasons.size() == 1;
    return llvm::formatv("pad {0} to multiples of 16, which launches recognise; or, if {1} always "
                         "{2} of {3}, say so: {4}",
                         isOne ? "it" : "them", isOne ? "it" : "they",
                         isOne ? "is a multiple" : "are multiples", elements, said);
  }

  AddressProbe probe_;
  WhatIf whatIf_;
  /// By reason and pieces the note of the first such access.
  std::map<std::tuple<std::string, int64_t, int64_t>, size_t> narrow_;
  std::vector<Finding> &notes_;
};

} // namespace

void noteAccesses(func::FuncOp function, std::vector<Finding> &notes) {
  AccessReport report(function, notes);
  function.walk([&](Operation *op) {
    if (const std::optional<Access> access = accessOf(op))
      report.look(*access);
  });
}

} // namespace blockscope::gpu
