// blk-view: looks at a trace file, in a window or, with --png, in a picture.
#include "viz/model/csv.h"
#include "viz/window/offscreen.h"
#include "viz/window/png_file.h"
#include "viz/window/session.h"
#include "viz/window/window.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

namespace blockscope::viz {
namespace {

constexpr int kWrongUse = 2;

constexpr const char *kUsage =
    "usage: blk-view TRACE.h5 [options]\n"
    "  --png OUT.png     draw into a file instead of a window; needs no display\n"
    "  --size 1600x1000  width and height in pixels\n"
    "  --launch N        which launch of the file, from 0; else the first with findings\n"
    "  --tensor NAME     the tensor to show\n"
    "  --program X,Y,Z   the program whose footprint is lit\n"
    "  --op N, --finding N, --cell ROW,COLUMN   what else is chosen\n"
    "  --mode reads|writes|both, --log, --slice N   how the heat map shows it\n"
    "  --csv heat|programs|ops|lines|findings   print a table instead\n";

struct Options {
  std::string trace;
  std::string png;
  std::string tensor;
  std::string csv;
  int width = 1600;
  int height = 1000;
  std::optional<long> launch;
  std::optional<std::array<long, 3>> program;
  std::optional<long> op;
  std::optional<long> finding;
  std::optional<std::array<long, 3>> cell;
  std::optional<long> slice;
  HeatMode mode = HeatMode::Both;
  bool logScale = false;
  bool help = false;
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
    if (!name.starts_with("--")) {
      if (!options.trace.empty())
        return "one trace file is expected, found '" + options.trace + "' and '" + name + "'";
      options.trace = name;
      continue;
    }
    if (index + 1 >= argc)
      return "'" + name + "' needs a value, or is no option";
    const char *value = argv[++index];
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
    } else if (name == "--launch" || name == "--op" || name == "--finding" || name == "--slice") {
      if (!parseNumbers(value, ',', 1, 1, numbers) || numbers[0] < 0)
        return wrong("a number from 0");
      (name == "--op"        ? options.op
       : name == "--finding" ? options.finding
       : name == "--launch"  ? options.launch
                             : options.slice) = numbers[0];
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
  return options.trace.empty() ? "a trace file is expected" : "";
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
  return "";
}

int printCsv(const Options &options, Session &session) {
  constexpr std::array<const char *, kPanelCount> kNames = {"heat", "programs", "ops", "lines",
                                                            "findings"};
  for (int panel = 0; panel < kPanelCount; ++panel)
    if (options.csv == kNames[static_cast<size_t>(panel)]) {
      const std::string text =
          csvOf(session.model(), session.selection(), static_cast<PanelKind>(panel));
      return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
                     std::fflush(stdout) == 0
                 ? 0
                 : fail("cannot write the table");
    }
  return fail("'--csv' is '" + options.csv + "', expected heat, programs, ops, lines or findings");
}

int drawPng(const Options &options, Session &session) {
  std::string error;
  const std::unique_ptr<Offscreen> screen = Offscreen::create(options.width, options.height, error);
  if (!screen)
    return fail(error);
  for (int frame = 0; frame < 3; ++frame) // layout and scrolling settle in the second
    screen->frame([&] { session.draw(); });
  const std::vector<Rgba> pixels = screen->pixels();
  session.selection().pictures.reset(); // before the context goes
  if (!writePng(options.png, pixels, options.width, options.height, error))
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
  const std::unique_ptr<Session> session = Session::open(options.trace, options.launch, error);
  if (!session)
    return fail(error);
  if (const std::string problem = choose(options, session->model(), session->selection());
      !problem.empty())
    return fail(problem);
  if (!options.csv.empty())
    return printCsv(options, *session);
  if (!options.png.empty())
    return drawPng(options, *session);
  return runWindow(*session, options.width, options.height, error) ? 0 : fail(error);
}

} // namespace
} // namespace blockscope::viz

int main(int argc, char **argv) { return blockscope::viz::run(argc, argv); }
