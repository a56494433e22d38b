// Collects notes and puts them in the order of the source.
#include "gpu_backend/report/kernel_notes.h"

#include "core/ir/convert.h"
#include "gpu_backend/ir/tlg_dialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <tuple>

using namespace mlir;

namespace blockscope::gpu {

std::string counted(int64_t count, llvm::StringRef noun) {
  return std::to_string(count) + " " + noun.str() + (count == 1 ? "" : "s");
}

static Finding noteCluster(func::FuncOp function, const GpuTarget &target,
                           const GpuOptions &options) {
  llvm::SmallVector<SourceLocation> places;
  if (const auto at = function->getAttrOfType<ArrayAttr>(tlg::kNoClusterAtAttribute))
    for (const Attribute place : at)
      places.push_back(fromMlirLocation(cast<LocationAttr>(place)));
  if (places.empty())
    places.push_back(fromMlirLocation(function.getLoc()));
  Finding note = noteAt(FindingCode::NoCluster, places.front());
  for (const SourceLocation &place : llvm::drop_begin(places))
    addPlace(note, place);
  const auto obstacle = function->getAttrOfType<StringAttr>(tlg::kNoClusterAttribute);
  note.message = llvm::formatv("num_ctas is {0}, but the program runs as one CTA, of {1}: {2}",
                               options.numCtas, counted(options.numWarps, "warp"),
                               obstacle ? obstacle.getValue().str()
                                        : (target.arch + " has no clusters").str());
  note.measure = {1, options.numCtas};
  note.cost = "blocks that were meant for several CTAs take the registers and the shared memory of "
              "one";
  note.hint = "num_ctas=1 with blocks, or num_warps, that suit one CTA";
  return note;
}

void noteKernel(func::FuncOp function, const GpuTarget &target, const GpuOptions &options,
                GpuKernel &kernel) {
  noteAccesses(function, kernel.notes);
  noteDots(function, target, options, kernel.notes);
  if (options.numCtas > 1 && !function->hasAttr(tlg::kClusterAttribute))
    kernel.notes.push_back(noteCluster(function, target, options));
}

Finding noteAt(FindingCode code, const SourceLocation &place) {
  Finding note;
  note.code = code;
  note.severity = infoOf(code).severity;
  note.site.location = place;
  return note;
}

void addPlace(Finding &note, const SourceLocation &place) {
  note.related.push_back({SiteRole::Here, place, std::nullopt});
}

void sortNotes(std::vector<Finding> &notes) {
  const auto placeOf = [](const Site &site) {
    return std::tie(site.location.file, site.location.line, site.location.column);
  };
  const auto key = [&](const Finding &note) {
    return std::tuple_cat(placeOf(note.site), std::tuple(codeText(note.code), note.message));
  };
  llvm::sort(notes, [&](const Finding &a, const Finding &b) { return key(a) < key(b); });
  std::map<std::pair<FindingCode, std::string>, size_t> known;
  std::vector<Finding> merged;
  for (Finding &note : notes) {
    const auto [first, isNew] = known.try_emplace({note.code, note.message}, merged.size());
    if (isNew) {
      merged.push_back(std::move(note));
      continue;
    }
    addPlace(merged[first->second], note.site.location);
    llvm::append_range(merged[first->second].related, note.related);
  }
  for (Finding &note : merged) {
    std::vector<Site> &places = note.related;
    const auto isSame = [&](const Site &a, const Site &b) { return placeOf(a) == placeOf(b); };
    llvm::sort(places, [&](const Site &a, const Site &b) { return placeOf(a) < placeOf(b); });
    places.erase(llvm::unique(places, isSame), places.end());
    llvm::erase_if(places, [&](const Site &other) { return isSame(other, note.site); });
  }
  notes = std::move(merged);
}

} // namespace blockscope::gpu
