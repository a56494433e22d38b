// blk-view: looks at a trace file, a folder of them or two runs, in a window or, with --png, in a
// picture.
#include "viz/model/csv.h"
#include "viz/model/gpu_view.h"
#include "viz/model/tour.h"
#include "viz/window/offscreen.h"
#include "viz/window/png_file.h"
#include "viz/window/session.h"
#include "viz/window/window.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace blockscope::viz {
namespace {

constexpr int kWrongUse = 2;

constexpr const char *kUsage =
    "usage: blk-view TRACE.h5 [options]\n"
    "       blk-view FOLDER [options]            a list of its traces\n"
    "       blk-view --compare A.h5 B.h5 [options]\n"
    "       blk-view --tour [TRACE.h5] [--step N]   what is what; 'blockscope view --tour' "
    "records\n"
    "                                            the trace where there is none yet\n"
    "  --png OUT.png     draw into a file instead of a window; needs no display\n"
    "  --size 1600x1000  width and height in pixels\n"
    "  --launch N        which launch of the file, from 0; else the first with findings\n"
    "  --tensor NAME     the tensor to show\n"
    "  --program X,Y,Z   the program whose footprint is lit\n"
    "  --op N, --finding N, --cell ROW,COLUMN   what else is chosen\n"
    "  --mode reads|writes|both, --log, --slice N   how the heat map shows it\n"
    "  --time N, --window N   only the first N access runs, or a window of so many around it\n"
    "  --panel history|traffic|roofline   what is open below the heat map\n"
    "  --text-size 150   percent, from 75 to 200\n"
    "  --colors viridis|cividis|grey, --difference-colors blue-orange|purple-green\n"
    "  --csv heat|programs|ops|lines|findings|history|traffic|roofline   print a table instead;\n"
    "        of a comparison heat|tensors|launches, of a folder traces\n";

struct Options {
  std::vector<std::string> traces;
  bool compares = false;
  bool isTour = false;
  long step = 1;
  bool hasStep = false;
  std::string png;
  std::string tensor;
  std::string csv;
  std::string panel;
  int width = 0; ///< 0: none was given
  int height = 0;
  std::optional<long> launch;
  std::optional<std::array<long, 3>> program;
  std::optional<long> op;
  std::optional<long> finding;
  std::optional<std::array<long, 3>> cell;
  std::optional<long> slice;
  std::optional<long> time;
  std::optional<long> window;
  HeatMode mode = HeatMode::Both;
  bool logScale = false;
  bool help = false;
  std::optional<int> textPercent;
  std::optional<CountColors> countColors;
  std::optional<DifferenceColors> differenceColors;
  std::vector<std::string> choices; ///< options that were given and choose in one trace
};

int fail(std::string message) {
  for (char &each : message) // names in it may come from the file: a terminal must not act on them
    each = std::iscntrl(static_cast<unsigned char>(each)) != 0 ? '?' : each;
  std::fprintf(stderr, "blockscope view: %s\n", message.c_str());
  return kWrongUse;
}

bool parseNumbers(const char *text, char separator, int least, int most, std::array<long, 3> &to) {
  int count = 0;
  for (const char *at = text;; ++at) {
    char *end = nullptr;
    if (count == most)
      return false;
    to[static_cast<size_t>(count++)] = std::strtol(at, &end, 10);
    if (end == at)
      return false;
    if (*end == '\0')
      return count >= least;
    if (*end != separator)
      return false;
    at = end;
  }
}

bool isPngName(const std::string &name) {
  std::string end = name.substr(name.size() - std::min<size_t>(name.size(), 4));
  for (char &letter : end)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return end == ".png";
}

std::string problemOfTraces(const Options &options) {
  const size_t count = options.traces.size();
  if (options.hasStep && !options.isTour)
    return "--step is for --tour";
  if (options.isTour && (options.compares || count > 1))
    return "--tour is through one trace";
  if (options.isTour && !options.choices.empty())
    return "'" + options.choices[0] + "' chooses in a trace, but the tour chooses by itself";
  if (options.isTour)
    return "";
  if (options.compares && count != 2)
    return "--compare takes two traces, found " + std::to_string(count);
  if (count == 0)
    return "a trace file is expected";
  return count > 1 && !options.compares
             ? "one trace file is expected, found '" + options.traces[0] + "' and '" +
                   options.traces[1] + "'; --compare shows two"
             : "";
}

/// Empty when the arguments are good, else what is wrong.
std::string parse(int argc, char **argv, Options &options) {
  for (int index = 1; index < argc; ++index) {
    const std::string name = argv[index];
    if (name == "-h" || name == "--help") {
      options.help = true;
      return "";
    }
    if (name == "--log") {
      options.logScale = true;
      continue;
    }
    if (name == "--compare" || name == "--tour") {
      (name == "--tour" ? options.isTour : options.compares) = true;
      continue;
    }
    if (!name.starts_with("--")) {
      options.traces.push_back(name);
      continue;
    }
    if (index + 1 >= argc)
      return "'" + name + "' needs a value, or is no option";
    const char *value = argv[++index];
    if (name == "--program" || name == "--op" || name == "--finding" || name == "--cell" ||
        name == "--tensor" || name == "--slice" || name == "--launch" || name == "--time" ||
        name == "--window" || name == "--panel")
      options.choices.push_back(name);
    std::array<long, 3> numbers{};
    const auto wrong = [&](const char *expected) {
      return "'" + name + "' is '" + value + "', expected " + expected;
    };
    if (name == "--png") {
      if (!isPngName(value))
        return wrong("a name that ends in .png");
      options.png = value;
    } else if (name == "--tensor") {
      options.tensor = value;
    } else if (name == "--csv") {
      options.csv = value;
    } else if (name == "--panel") {
      options.panel = value;
    } else if (name == "--size") {
      if (!parseNumbers(value, 'x', 2, 2, numbers) || numbers[0] < 640 || numbers[1] < 480 ||
          numbers[0] > 16384 || numbers[1] > 16384)
        return wrong("WIDTHxHEIGHT from 640x480 to 16384x16384");
      options.width = static_cast<int>(numbers[0]);
      options.height = static_cast<int>(numbers[1]);
    } else if (name == "--program") {
      if (!parseNumbers(value, ',', 1, 3, numbers))
        return wrong("up to three numbers, as in 3,0,0");
      options.program = numbers;
    } else if (name == "--cell") {
      if (!parseNumbers(value, ',', 2, 2, numbers))
        return wrong("a row and a column, as in 3,17");
      options.cell = numbers;
    } else if (name == "--launch" || name == "--op" || name == "--finding" || name == "--slice" ||
               name == "--time" || name == "--window") {
      if (!parseNumbers(value, ',', 1, 1, numbers) || numbers[0] < 0)
        return wrong("a number from 0");
      (name == "--op"        ? options.op
       : name == "--finding" ? options.finding
       : name == "--launch"  ? options.launch
       : name == "--time"    ? options.time
       : name == "--window"  ? options.window
                             : options.slice) = numbers[0];
    } else if (name == "--step") {
      const auto last = static_cast<long>(tourSteps().size());
      if (!parseNumbers(value, ',', 1, 1, numbers) || numbers[0] < 1 || numbers[0] > last)
        return wrong(("a step of the tour, from 1 to " + std::to_string(last)).c_str());
      options.step = numbers[0];
      options.hasStep = true;
    } else if (name == "--text-size") {
      if (!parseNumbers(value, ',', 1, 1, numbers) || numbers[0] < kLeastTextPercent ||
          numbers[0] > kMostTextPercent)
        return wrong("percent from 75 to 200");
      options.textPercent = static_cast<int>(numbers[0]);
    } else if (name == "--colors") {
      options.countColors = countColorsNamed(value);
      if (!options.countColors)
        return wrong("viridis, cividis or grey");
    } else if (name == "--difference-colors") {
      options.differenceColors = differenceColorsNamed(value);
      if (!options.differenceColors)
        return wrong("blue-orange or purple-green");
    } else if (name == "--mode") {
      const std::string mode = value;
      if (mode != "reads" && mode != "writes" && mode != "both")
        return wrong("reads, writes or both");
      options.mode = mode == "reads"    ? HeatMode::Reads
                     : mode == "writes" ? HeatMode::Writes
                                        : HeatMode::Both;
    } else {
      return "'" + name + "' is no option";
    }
  }
  return problemOfTraces(options);
}

/// "2 (tl.load in line 8), 3 (tl.store in line 9)".
std::string memoryOps(const TraceLaunch &launch) {
  constexpr size_t kMostListed = 12;
  std::string text;
  size_t count = 0;
  for (size_t op = 0; op < launch.ops.size(); ++op) {
    const TraceOp &each = launch.ops[op];
    if (each.name.empty() || ++count > kMostListed)
      continue;
    text += (text.empty() ? "" : ", ") + std::to_string(op) + " (" + each.name + " in line " +
            std::to_string(each.line) + ")";
  }
  if (count > kMostListed)
    text += " and " + std::to_string(count - kMostListed) + " more";
  return text.empty() ? "none" : text;
}

/// Empty when everything that the options name is in the trace, else what is not.
std::string choose(const Options &options, const TraceModel &model, Selection &selection) {
  const TraceLaunch &launch = model.launch();
  if (options.finding) {
    if (*options.finding >= static_cast<long>(launch.findings.size()))
      return "there is no finding " + std::to_string(*options.finding) + "; the launch has " +
             std::to_string(launch.findings.size());
    selectFinding(model, selection, static_cast<int>(*options.finding));
  }
  if (options.op) {
    if (*options.op >= static_cast<long>(launch.ops.size()) ||
        launch.ops[static_cast<size_t>(*options.op)].name.empty())
      return "there is no memory op " + std::to_string(*options.op) + "; the launch has " +
             memoryOps(launch);
    selectOp(model, selection, static_cast<int32_t>(*options.op));
  }
  if (!options.tensor.empty()) {
    int found = -1;
    std::string names;
    for (const int tensor : model.tensors()) {
      const std::string &name = launch.arguments[static_cast<size_t>(tensor)].name;
      names += (names.empty() ? "" : ", ") + name;
      if (name == options.tensor)
        found = tensor;
    }
    if (found < 0)
      return "there is no tensor '" + options.tensor + "'; the launch has " +
             (names.empty() ? "none" : names);
    selectTensor(model, selection, found);
  }
  if (options.program) {
    const auto &[x, y, z] = *options.program;
    const auto &grid = launch.grid;
    if (x < 0 || y < 0 || z < 0 || x >= grid[0] || y >= grid[1] || z >= grid[2])
      return "there is no program (" + std::to_string(x) + ", " + std::to_string(y) + ", " +
             std::to_string(z) + "); the grid is " + std::to_string(grid[0]) + " x " +
             std::to_string(grid[1]) + " x " + std::to_string(grid[2]);
    selectProgram(model, selection, x + grid[0] * (y + grid[1] * z));
  }
  if (options.slice) {
    const int64_t count =
        selection.tensor < 0 ? 1
                             : std::max<int64_t>(1, model.plane(selection.tensor, -1).sliceCount());
    if (*options.slice >= count)
      return "there is no slice " + std::to_string(*options.slice) + "; the tensor has " +
             std::to_string(count);
    selectSlice(model, selection, *options.slice);
  }
  if (options.cell) {
    const long row = (*options.cell)[0], column = (*options.cell)[1];
    selectCell(model, selection, {row, column});
    if (!selection.cell || selection.cell->row != row || selection.cell->column != column)
      return "there is no cell " + std::to_string(row) + "," + std::to_string(column) +
             (selection.cell ? "; the nearest is " + std::to_string(selection.cell->row) + "," +
                                   std::to_string(selection.cell->column)
                             : std::string("; no tensor is chosen"));
  }
  selection.mode = options.mode;
  selection.logScale = options.logScale;
  const size_t runs = model.accesses().rows;
  if (options.time && static_cast<size_t>(*options.time) > runs)
    return "'--time' is '" + std::to_string(*options.time) + "', expected access runs from 0 to " +
           std::to_string(runs) + ": the launch has no more";
  if (options.window && (*options.window == 0 || static_cast<size_t>(*options.window) > runs))
    return "'--window' is '" + std::to_string(*options.window) +
           "', expected access runs from 1 to " + std::to_string(runs) + ": the launch has no more";
  if (options.time)
    selectTime(model, selection, static_cast<size_t>(*options.time));
  if (options.window) {
    selectTimeWindow(model, selection, static_cast<size_t>(*options.window));
    selectTimeMode(model, selection, TimeMode::Around);
  }
  constexpr std::array<std::pair<std::string_view, PanelKind>, 3> kDrawers = {
      {{"history", PanelKind::History},
       {"traffic", PanelKind::Traffic},
       {"roofline", PanelKind::Roofline}}};
  for (const auto &[name, panel] : kDrawers)
    if (options.panel == name)
      focusPanel(selection, panel);
  if (!options.panel.empty() && !selection.drawer)
    return "'--panel' is '" + options.panel + "', expected history, traffic or roofline";
  // In a narrow window one panel is beside the heat map: that of the choice.
  selection.sidePanel = options.finding || (!options.op && !options.program) ? PanelKind::Findings
                        : options.op                                         ? PanelKind::Source
                                                                             : PanelKind::Programs;
  if ((options.finding || options.op || options.program) && !options.cell && !selection.drawer)
    selection.opened = selection.sidePanel;
  return "";
}

/// A reader that has what it wants (`| head`) is told nothing.
int print(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return 0;
  return errno == EPIPE ? 1 : fail("cannot write the table: " + std::string(std::strerror(errno)));
}

int wrongTable(const Options &options, const char *expected) {
  return fail("'--csv' is '" + options.csv + "', expected " + expected);
}

int printCsv(const Options &options, Session &session) {
  if (Comparison *comparison = session.comparison()) {
    constexpr std::array<const char *, 3> kTables = {"heat", "tensors", "launches"};
    for (size_t table = 0; table < kTables.size(); ++table)
      if (options.csv == kTables[table]) {
        const CompareView &view = session.compareView();
        const bool hasTensor = view.tensor < comparison->tensors().size();
        if (table == 0 && hasTensor && !comparison->tensors()[view.tensor].problem.empty())
          return fail(comparison->tensors()[view.tensor].problem);
        return print(csvOf(*comparison, view, static_cast<CompareTable>(table)));
      }
    return wrongTable(options, "heat, tensors or launches of two runs");
  }
  if (!session.hasModel()) {
    while (session.readOn()) {
    }
    return options.csv == "traces" ? print(csvOf(*session.folder()))
                                   : wrongTable(options, "traces, of a folder");
  }
  constexpr std::array<const char *, kPanelCount> kNames = {
      "heat", "programs", "ops", "lines", "findings", "history", "traffic", "roofline"};
  if (options.csv == "history" && !session.selection().cell)
    return fail("'--csv history' needs the element: --cell ROW,COLUMN");
  if ((options.csv == "traffic" || options.csv == "roofline") &&
      !session.model().launch().gpu.isThere())
    return fail("'--csv " + options.csv + "' needs a prediction for a GPU, and launch " +
                std::to_string(session.model().launchIndex()) + " has none: " + kHowToPredict);
  for (int panel = 0; panel < kPanelCount; ++panel)
    if (options.csv == kNames[static_cast<size_t>(panel)])
      return print(csvOf(session.model(), session.selection(), static_cast<PanelKind>(panel)));
  return wrongTable(options, "heat, programs, ops, lines, findings, history, traffic or roofline");
}

/// A tensor, a slice, a program and a cell of two runs. Empty when they are there.
std::string choose(const Options &options, const Comparison &comparison, CompareView &view) {
  for (const std::string &name : options.choices)
    if (name == "--op" || name == "--finding" || name == "--time" || name == "--window" ||
        name == "--panel")
      return "'" + name + "' chooses in one run, found two";
  const auto &tensors = comparison.tensors();
  if (!options.tensor.empty()) {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const TensorPair &each) {
      return each.name == options.tensor;
    });
    if (found == tensors.end()) {
      std::string names;
      for (const TensorPair &each : tensors)
        names += (names.empty() ? "" : ", ") + each.name;
      return "there is no tensor '" + options.tensor + "'; the launches have " +
             (names.empty() ? "none" : names);
    }
    chooseTensor(comparison, view, static_cast<size_t>(found - tensors.begin()));
  }
  if (tensors.empty())
    return options.choices.empty() ? "" : "the launches have no tensor to choose in";
  const Side side = sideWithTensor(comparison, view);
  Options rest = options;
  rest.tensor.clear();
  Selection selection = selectionOf(comparison, view, side);
  const std::string problem = choose(rest, comparison.run(side), selection);
  takeOver(selection, view);
  return problem;
}

/// Empty when everything that the options name is in what is shown.
std::string chooseIn(const Options &options, Session &session) {
  std::string problem;
  if (Comparison *comparison = session.comparison())
    problem = choose(options, *comparison, session.compareView());
  else if (session.hasModel() && !options.isTour)
    problem = choose(options, session.model(), session.selection());
  else if (!options.choices.empty())
    problem = "'" + options.choices[0] +
              "' chooses in a trace, found a folder: name one of its "
              "files";
  return problem;
}

/// Where `blockscope view --tour` keeps the trace of the tour.
std::string keptTour() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  return (cache != nullptr && cache[0] != '\0' ? std::string(cache)
          : home != nullptr                    ? std::string(home) + "/.cache"
                                               : std::string("/nowhere")) +
         "/blockscope/tour.h5";
}

std::unique_ptr<Session> openTour(const Options &options, std::string &error) {
  const std::string path = options.traces.empty() ? keptTour() : options.traces[0];
  std::error_code ignored;
  if (options.traces.empty() && !std::filesystem::is_regular_file(path, ignored)) {
    error = "the trace of the tour is not there yet: blockscope view --tour records it";
    return nullptr;
  }
  return Session::openTour(path, static_cast<size_t>(options.step - 1), error);
}

std::unique_ptr<Session> openSession(const Options &options, std::string &error) {
  if (options.isTour)
    return openTour(options, error);
  if (options.compares)
    return Session::openComparison(options.traces[0], options.traces[1], options.launch, error);
  std::error_code ignored;
  return std::filesystem::is_directory(options.traces[0], ignored)
             ? Session::openFolder(options.traces[0], error)
             : Session::open(options.traces[0], options.launch, error);
}

/// What was given counts more than what was kept.
void takeOptions(const Options &options, WindowState &state) {
  constexpr int kUsualWidth = 1600;
  constexpr int kUsualHeight = 1000;
  if (options.width > 0 || state.width == 0) {
    state.width = options.width > 0 ? options.width : kUsualWidth;
    state.height = options.width > 0 ? options.height : kUsualHeight;
  }
  state.look.textPercent = options.textPercent.value_or(state.look.textPercent);
  state.look.countColors = options.countColors.value_or(state.look.countColors);
  state.look.differenceColors = options.differenceColors.value_or(state.look.differenceColors);
}

int showWindow(const Options &options, Session &session) {
  const std::string path = stateFilePath();
  std::string problem;
  std::optional<WindowState> kept = readState(path, problem);
  if (!problem.empty())
    std::fprintf(stderr, "blockscope view: '%s' is not used: %s\n", path.c_str(), problem.c_str());
  WindowState state = kept.value_or(WindowState());
  takeOptions(options, state);
  session.selection().look = state.look;
  if (!kept && problem.empty() && !options.isTour)
    session.selection().notice =
        "here for the first time? blockscope view --tour says what is what";
  std::string error;
  if (!runWindow(session, state, error))
    return fail(error);
  writeState(path, state); // where it cannot be kept, the next start is as the first
  return 0;
}

int drawPng(const Options &options, Session &session) {
  WindowState state; // a picture is the same whatever was kept
  takeOptions(options, state);
  session.selection().look = state.look;
  std::string error;
  const std::unique_ptr<Offscreen> screen =
      Offscreen::create(state.width, state.height, error, state.look.textPercent);
  if (!screen)
    return fail(error);
  while (session.readOn()) {
  }
  // Layout and scrolling settle in the second; a range of time may need many.
  constexpr int kMostFrames = 20'000;
  for (int frame = 0; frame < 3 || session.isMoving(); ++frame) {
    if (frame == kMostFrames)
      return fail("the accesses up to --time are too many to be counted one by one");
    screen->frame([&] { session.draw(); });
  }
  const std::vector<Rgba> pixels = screen->pixels();
  session.dropPictures(); // before the context goes
  if (!writePng(options.png, pixels, state.width, state.height, error))
    return fail(error);
  return 0;
}

int run(int argc, char **argv) {
  Options options;
  if (const std::string problem = parse(argc, argv, options); !problem.empty())
    return fail(problem + "; --help lists the options");
  if (options.help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  std::string error;
  std::set_new_handler([] {
    std::fputs("blockscope view: the trace needs more memory than there is\n", stderr);
    std::_Exit(kWrongUse);
  });
  const std::unique_ptr<Session> session = openSession(options, error);
  if (!session)
    return fail(error);
  if (const std::string problem = chooseIn(options, *session); !problem.empty())
    return fail(problem);
  if (!options.csv.empty())
    return printCsv(options, *session);
  if (!options.png.empty())
    return drawPng(options, *session);
  return showWindow(options, *session);
}

} // namespace
} // namespace blockscope::viz

int main(int argc, char **argv) { return blockscope::viz::run(argc, argv); }
