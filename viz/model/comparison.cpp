// Matching of two runs.
#include "viz/model/comparison.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace blockscope::viz {
namespace {

constexpr size_t kMaxLaunches = 10'000; ///< of a run, that are matched
/// Of a tensor that is looked through before it is chosen.
constexpr int64_t kMostElements = int64_t{1} << 24;

std::string inQuotes(const std::string &name) { return "'" + name + "'"; }

std::string counted(uint64_t count, const char *noun) {
  return std::to_string(count) + " " + noun +
         (count == 1                      ? ""
          : noun == std::string("launch") ? "es"
                                          : "s");
}

/// What the list of launches says of one.
struct LaunchFacts {
  std::string kernel;
  bool hasFindings = false;
};

bool readFacts(const std::string &path, const TraceLimits &limits, std::vector<LaunchFacts> &facts,
               std::string &error) {
  const std::unique_ptr<TraceReader> reader = TraceReader::open(path, error, limits);
  if (!reader)
    return false;
  if (reader->launchCount() == 0) {
    error = "trace file '" + path + "': holds no launch; was a kernel launched while it recorded?";
    return false;
  }
  for (size_t launch = 0; launch < std::min(reader->launchCount(), kMaxLaunches); ++launch) {
    const std::optional<TraceLaunch> tables = reader->readLaunch(launch, error);
    if (!tables)
      return false;
    facts.push_back({tables->kernel, !tables->findings.empty()});
  }
  return true;
}

std::vector<std::string> kernelsOf(const std::vector<LaunchFacts> &facts) {
  std::vector<std::string> kernels;
  for (const LaunchFacts &each : facts)
    kernels.push_back(each.kernel);
  return kernels;
}

/// "softmax_kernel, add_kernel".
std::string namesOf(std::vector<std::string> kernels) {
  constexpr size_t kMostNamed = 4;
  std::sort(kernels.begin(), kernels.end());
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  std::string text;
  for (size_t at = 0; at < std::min(kernels.size(), kMostNamed); ++at)
    text += (at > 0 ? ", " : "") + inQuotes(kernels[at]);
  return text + (kernels.size() > kMostNamed ? ", ..." : "");
}

/// One sentence for each kernel of which the runs have not the same number of launches.
std::vector<std::string> notesOfLaunches(const std::vector<LaunchPair> &pairs) {
  std::vector<std::string> order;
  std::map<std::string, std::array<uint64_t, 2>> counts;
  for (const LaunchPair &pair : pairs) {
    if (!counts.contains(pair.kernel))
      order.push_back(pair.kernel);
    for (size_t side = 0; side < 2; ++side)
      counts[pair.kernel][side] += pair.launch[side] >= 0 ? 1 : 0;
  }
  std::vector<std::string> notes;
  for (const std::string &kernel : order) {
    const auto [a, b] = counts[kernel];
    if (a == b)
      continue;
    if (a == 0 || b == 0)
      notes.push_back("Only " + std::string(b == 0 ? "A" : "B") + " launches " + inQuotes(kernel) +
                      ": " + counted(a + b, "launch") + ".");
    else
      notes.push_back("A has " + counted(a, "launch") + " of " + inQuotes(kernel) + ", B has " +
                      std::to_string(b) + ": the last " + std::to_string(a > b ? a - b : b - a) +
                      " of " + (a > b ? "A" : "B") + " " +
                      (a - b == 1 || b - a == 1 ? "has" : "have") + " no partner.");
  }
  return notes;
}

std::string gridText(const TraceLaunch &launch) {
  return std::to_string(launch.grid[0]) + " x " + std::to_string(launch.grid[1]) + " x " +
         std::to_string(launch.grid[2]);
}

std::map<std::string, std::string> valuesOf(const TraceLaunch &launch) {
  std::map<std::string, std::string> values;
  for (const auto *list : {&launch.parameters, &launch.options})
    for (const TraceNamedValue &each : *list)
      values[each.name] = each.value;
  for (const TraceArgument &argument : launch.arguments)
    if (!argument.isTensor())
      values[argument.name] = argument.value;
  return values;
}

/// Grid, constants, options and scalars that differ.
void addNotesOfValues(const TraceLaunch &a, const TraceLaunch &b, std::vector<std::string> &notes) {
  if (a.grid != b.grid)
    notes.push_back("The grid is " + gridText(a) + " in A, " + gridText(b) +
                    " in B; programs are matched by their number.");
  const auto ofA = valuesOf(a);
  const auto ofB = valuesOf(b);
  for (const auto &[name, value] : ofA) {
    const auto other = ofB.find(name);
    if (other == ofB.end())
      notes.push_back("Only A has " + name + " (" + value + ").");
    else if (other->second != value)
      notes.push_back(name + " is " + value + " in A, " + other->second + " in B.");
  }
  for (const auto &[name, value] : ofB)
    if (!ofA.contains(name))
      notes.push_back("Only B has " + name + " (" + value + ").");
}

void addNotesOfFindings(const TraceLaunch &a, const TraceLaunch &b,
                        std::vector<std::string> &notes) {
  std::map<std::string, std::array<uint64_t, 2>> counts;
  for (const TraceFinding &each : a.findings)
    ++counts[std::string(codeText(each.code))][0];
  for (const TraceFinding &each : b.findings)
    ++counts[std::string(codeText(each.code))][1];
  for (const auto &[code, count] : counts) {
    if (count[0] == count[1])
      continue;
    if (count[0] == 0 || count[1] == 0)
      notes.push_back("Only " + std::string(count[1] == 0 ? "A" : "B") + " has the finding " +
                      code + ".");
    else
      notes.push_back("A has " + counted(count[0], "finding") + " " + code + ", B has " +
                      std::to_string(count[1]) + ".");
  }
}

const TraceArgument *tensorNamed(const TraceLaunch &launch, const std::string &name, int &number) {
  for (size_t index = 0; index < launch.arguments.size(); ++index)
    if (launch.arguments[index].isTensor() && launch.arguments[index].name == name) {
      number = static_cast<int>(index);
      return &launch.arguments[index];
    }
  return nullptr;
}

/// Why there is no difference of a tensor; empty where there is one.
std::string problemOf(const TensorPair &pair, const std::array<const TraceArgument *, 2> &found) {
  for (const Side side : kSides) {
    const auto index = static_cast<size_t>(side);
    const char *other = sideName(side == Side::A ? Side::B : Side::A);
    if (found[index] == nullptr)
      return "Only " + std::string(other) + " has the tensor " + inQuotes(pair.name) + ".";
    if (pair.argument[index] < 0)
      return inQuotes(pair.name) + " is too large to be drawn in " + sideName(side) + ".";
  }
  if (found[0]->shape != found[1]->shape)
    return inQuotes(pair.name) + " has the shape " + indexText(found[0]->shape) + " in A, " +
           indexText(found[1]->shape) + " in B: there is no difference of these.";
  return "";
}

std::vector<TensorPair> matchTensors(const TraceModel &a, const TraceModel &b,
                                     std::vector<std::string> &notes) {
  std::vector<TensorPair> pairs;
  const std::array<const TraceModel *, 2> models = {&a, &b};
  for (const TraceModel *model : models)
    for (const TraceArgument &argument : model->launch().arguments) {
      const bool isKnown = std::any_of(pairs.begin(), pairs.end(), [&](const TensorPair &each) {
        return each.name == argument.name;
      });
      if (!argument.isTensor() || isKnown)
        continue;
      TensorPair pair;
      pair.name = argument.name;
      std::array<const TraceArgument *, 2> found{};
      for (size_t side = 0; side < 2; ++side) {
        found[side] = tensorNamed(models[side]->launch(), pair.name, pair.argument[side]);
        if (!models[side]->isShown(pair.argument[side]))
          pair.argument[side] = -1;
      }
      pair.problem = problemOf(pair, found);
      if (!pair.problem.empty())
        notes.push_back(pair.problem);
      else if (found[0]->dtype != found[1]->dtype)
        notes.push_back(inQuotes(pair.name) + " is of " + found[0]->dtype + " in A, of " +
                        found[1]->dtype + " in B; elements are matched by their index.");
      else if (found[0]->strides != found[1]->strides)
        notes.push_back(inQuotes(pair.name) + " has the strides " + indexText(found[0]->strides) +
                        " in A, " + indexText(found[1]->strides) +
                        " in B; elements are matched by their index.");
      if (pair.argument[0] >= 0 || pair.argument[1] >= 0)
        pairs.push_back(std::move(pair));
    }
  return pairs;
}

std::string shownName(const std::string &path, bool hasFolder) {
  const std::filesystem::path file(path);
  const std::string folder = file.parent_path().filename().string();
  return hasFolder && !folder.empty() ? folder + "/" + file.filename().string()
                                      : file.filename().string();
}

} // namespace

std::vector<LaunchPair> matchLaunches(const std::vector<std::string> &kernelsOfA,
                                      const std::vector<std::string> &kernelsOfB) {
  std::map<std::string, std::vector<int64_t>> launchesOfB;
  for (size_t launch = 0; launch < kernelsOfB.size(); ++launch)
    launchesOfB[kernelsOfB[launch]].push_back(static_cast<int64_t>(launch));
  std::map<std::string, size_t> seen;
  std::vector<LaunchPair> pairs;
  for (size_t launch = 0; launch < kernelsOfA.size(); ++launch) {
    const std::string &kernel = kernelsOfA[launch];
    const std::vector<int64_t> &others = launchesOfB[kernel];
    const size_t place = seen[kernel]++;
    pairs.push_back(
        {kernel, {static_cast<int64_t>(launch), place < others.size() ? others[place] : -1}});
  }
  for (size_t launch = 0, number = 0; launch < kernelsOfB.size(); ++launch) {
    const std::vector<int64_t> &all = launchesOfB[kernelsOfB[launch]];
    number = static_cast<size_t>(std::find(all.begin(), all.end(), static_cast<int64_t>(launch)) -
                                 all.begin());
    if (number >= seen[kernelsOfB[launch]])
      pairs.push_back({kernelsOfB[launch], {-1, static_cast<int64_t>(launch)}});
  }
  return pairs;
}

std::unique_ptr<Comparison> Comparison::open(const std::string &pathA, const std::string &pathB,
                                             std::optional<size_t> launchOfA, std::string &error) {
  const TraceLimits limits = TraceLimits::ofThisMachine();
  std::array<std::vector<LaunchFacts>, 2> facts;
  if (!readFacts(pathA, limits, facts[0], error) || !readFacts(pathB, limits, facts[1], error))
    return nullptr;
  auto result = std::make_unique<Comparison>();
  result->paths_ = {pathA, pathB};
  const bool isSameName = shownName(pathA, false) == shownName(pathB, false);
  result->names_ = {shownName(pathA, isSameName), shownName(pathB, isSameName)};
  const std::vector<std::string> ofA = kernelsOf(facts[0]);
  const std::vector<std::string> ofB = kernelsOf(facts[1]);
  result->launches_ = matchLaunches(ofA, ofB);
  result->launchNotes_ = notesOfLaunches(result->launches_);
  std::optional<size_t> chosen;
  for (size_t at = 0; at < result->launches_.size(); ++at) {
    const LaunchPair &pair = result->launches_[at];
    if (launchOfA ? pair.launch[0] == static_cast<int64_t>(*launchOfA) : pair.isWhole() && !chosen)
      chosen = at;
    if (!launchOfA && pair.isWhole() &&
        (facts[0][static_cast<size_t>(pair.launch[0])].hasFindings ||
         facts[1][static_cast<size_t>(pair.launch[1])].hasFindings)) {
      chosen = at;
      break;
    }
  }
  if (!chosen && launchOfA) {
    error = "A has no launch " + std::to_string(*launchOfA) + "; it holds " +
            std::to_string(ofA.size());
    return nullptr;
  }
  if (!chosen) {
    error =
        "the two runs have no kernel in common: A launches " + namesOf(ofA) + ", B " + namesOf(ofB);
    return nullptr;
  }
  if (!result->launches_[*chosen].isWhole()) {
    error = "launch " + std::to_string(*launchOfA) + " of A, of " +
            inQuotes(result->launches_[*chosen].kernel) + ", has no partner in B";
    return nullptr;
  }
  return result->openPair(*chosen, error) ? std::move(result) : nullptr;
}

bool Comparison::openPair(size_t pair, std::string &error) {
  TraceLimits limits = TraceLimits::ofThisMachine();
  limits.machineBytes /= 2; // there are two runs
  std::array<std::unique_ptr<TraceModel>, 2> opened;
  for (size_t side = 0; side < 2; ++side) {
    opened[side] = TraceModel::open(paths_[side], static_cast<size_t>(launches_[pair].launch[side]),
                                    error, limits);
    if (!opened[side])
      return false;
  }
  difference_ = {};
  models_ = std::move(opened);
  pair_ = pair;
  notes_ = launchNotes_;
  const TraceLaunch &a = models_[0]->launch();
  const TraceLaunch &b = models_[1]->launch();
  tensors_ = matchTensors(*models_[0], *models_[1], notes_);
  addNotesOfValues(a, b, notes_);
  addNotesOfFindings(a, b, notes_);
  totals_.clear();
  for (size_t tensor = tensors_.size(); tensor-- > 0;)
    if (tensors_[tensor].problem.empty() &&
        models_[0]->layout(tensors_[tensor].argument[0]).elementCount() <= kMostElements)
      difference(tensor);
  return true;
}

std::optional<size_t> Comparison::nextPair(int step) const {
  for (auto at = static_cast<int64_t>(pair_) + step;
       at >= 0 && at < static_cast<int64_t>(launches_.size()); at += step)
    if (launches_[static_cast<size_t>(at)].isWhole())
      return static_cast<size_t>(at);
  return std::nullopt;
}

const DifferenceMap *Comparison::difference(size_t tensor) const {
  if (tensor >= tensors_.size() || !tensors_[tensor].problem.empty())
    return nullptr;
  if (!difference_.second || difference_.first != tensor)
    difference_ = {tensor,
                   std::make_unique<DifferenceMap>(run(Side::A), tensors_[tensor].argument[0],
                                                   run(Side::B), tensors_[tensor].argument[1])};
  for (const HeatMode mode : {HeatMode::Reads, HeatMode::Writes, HeatMode::Both})
    totals_[tensor][static_cast<size_t>(mode)] = difference_.second->totals(mode);
  return difference_.second.get();
}

const DifferenceTotals *Comparison::totals(size_t tensor, HeatMode mode) const {
  const auto found = totals_.find(tensor);
  return found == totals_.end() ? nullptr : &found->second[static_cast<size_t>(mode)];
}

CompareView firstView(const Comparison &comparison) {
  CompareView view;
  for (size_t tensor = comparison.tensors().size(); tensor-- > 0;) {
    const DifferenceTotals *totals = comparison.totals(tensor, HeatMode::Both);
    if (totals != nullptr && totals->largest > 0)
      view.tensor = tensor; // the first that differs says most
  }
  return view;
}

Selection selectionOf(const Comparison &comparison, const CompareView &view, Side side) {
  Selection selection = view.shared;
  selection.tensor = view.tensor < comparison.tensors().size()
                         ? comparison.tensors()[view.tensor].argument[static_cast<size_t>(side)]
                         : -1;
  selection.focus = PanelKind::Heatmap;
  selection.isOfTwo = true;
  selection.finding = -1;
  selection.range = rangeOf(comparison, view);
  selection.pictures = view.pictures[static_cast<size_t>(side)];
  if (selection.tensor >= 0 &&
      selection.slice >= comparison.run(side).plane(selection.tensor, -1).sliceCount())
    selection.slice = -1;
  return selection;
}

Side sideWithTensor(const Comparison &comparison, const CompareView &view) {
  return view.tensor < comparison.tensors().size() &&
                 comparison.tensors()[view.tensor].argument[0] < 0
             ? Side::B
             : Side::A;
}

Region contentOf(const Comparison &comparison, const CompareView &view) {
  Region all;
  bool isFirst = true;
  for (const Side side : kSides) {
    const int argument = comparison.tensors()[view.tensor].argument[static_cast<size_t>(side)];
    if (argument < 0)
      continue;
    const Region &content = comparison.run(side).outsideCells(argument, view.shared.slice).content;
    all = isFirst
              ? content
              : Region{std::min(all.left, content.left), std::min(all.top, content.top),
                       std::max(all.right, content.right), std::max(all.bottom, content.bottom)};
    isFirst = false;
  }
  return all;
}

CountRange rangeOf(const Comparison &comparison, const CompareView &view) {
  CountRange range;
  if (view.tensor >= comparison.tensors().size())
    return range;
  for (const Side side : kSides) {
    const int argument = comparison.tensors()[view.tensor].argument[static_cast<size_t>(side)];
    if (argument < 0)
      continue;
    const HeatMap &heat = comparison.run(side).heat(argument);
    const uint32_t least = heat.minimum(view.shared.mode);
    if (least > 0 && (range.minimum == 0 || least < range.minimum))
      range.minimum = least;
    range.maximum = std::max(range.maximum, heat.maximum(view.shared.mode));
  }
  return range;
}

void chooseTensor(const Comparison &comparison, CompareView &view, size_t tensor) {
  if (tensor >= comparison.tensors().size() || tensor == view.tensor)
    return;
  view.tensor = tensor;
  view.shared.cell.reset();
  view.shared.slice = -1;
  view.shared.isFitted = true;
}

} // namespace blockscope::viz
