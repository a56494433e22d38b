// Uses of loaded values are put off to the end of their group of loads; all else stays in order.
#include "gpu_backend/codegen/loads_first.h"

#include "gpu_backend/codegen/ptx_lines.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

namespace blockscope::gpu {
namespace {

/// Lines that stay together: an instruction, or assembly with the comments around it.
struct Unit {
  std::string text;
  llvm::StringRef location; ///< the line of the source that it comes from, as a directive
  llvm::SmallVector<llvm::StringRef, 8> reads, writes;
  bool isLoad = false; ///< from global memory, and nothing else
  bool isEnd = false;  ///< loads behind it do not go in front of it
  int words = 0;       ///< that a load gives
};

/// Notes the registers of a line of assembly.
void noteRegisters(llvm::StringRef line, Unit &unit) {
  llvm::StringRef code = line.trim();
  if (code.starts_with("//") || code.starts_with("."))
    return;
  if (code.consume_front("@")) {
    const auto [predicate, rest] = code.split(' ');
    unit.reads.push_back(predicate.ltrim('!'));
    code = rest.ltrim();
  }
  if (code.starts_with("{")) { // a scope of its own: any of its registers may be written
    unit.reads = registersOf(code);
    unit.writes = unit.reads;
    return;
  }
  const size_t space = code.find_first_of(" \t");
  llvm::StringRef operands = space == llvm::StringRef::npos ? "" : code.drop_front(space).ltrim();
  // The result is the first operand, or those in its braces, or two predicates with a bar between.
  const size_t end = operands.starts_with("{") ? operands.find('}') : operands.find(',');
  for (const llvm::StringRef result : registersOf(operands.take_front(end))) {
    unit.writes.push_back(result);
    unit.reads.push_back(result); // in part, under a predicate
  }
  for (const llvm::StringRef operand :
       registersOf(end == llvm::StringRef::npos ? "" : operands.drop_front(end)))
    unit.reads.push_back(operand);
  if (!isLoadLine(line))
    return;
  for (const llvm::StringRef result : unit.writes)
    unit.words += result.starts_with("%rd") ? 2 : 1;
}

/// Divides code into units.
llvm::SmallVector<Unit, 0> unitsOf(llvm::StringRef code) {
  llvm::SmallVector<Unit, 0> units;
  llvm::StringRef location;
  bool isInAssembly = false;
  while (!code.empty()) {
    llvm::StringRef line;
    std::tie(line, code) = code.split('\n');
    if (!isInAssembly && line.trim().starts_with(".loc")) {
      location = line;
      continue;
    }
    if (!isInAssembly)
      units.emplace_back().location = location;
    Unit &unit = units.back();
    unit.text += (line + "\n").str();
    if (line.contains(kBeginAssembly)) {
      isInAssembly = true;
      continue;
    }
    if (line.contains(kEndAssembly)) {
      isInAssembly = false;
      continue;
    }
    if (isInAssembly && unit.isLoad) // more than a load
      unit.isEnd = true;
    noteRegisters(line, unit);
    unit.isLoad = isLoadLine(line) && line.count(';') == 1; // of several one may act
    unit.isEnd |= !unit.isLoad && (endsLoads(line) || (isInAssembly && !line.trim().empty()));
  }
  return units;
}

class LoadsFirst {
public:
  explicit LoadsFirst(int most) : most_(most) {}

  std::string of(llvm::StringRef code) {
    for (Unit &unit : unitsOf(code))
      add(unit);
    flush();
    return moved_ ? std::move(text_) : code.str();
  }

private:
  void add(Unit &unit) {
    const bool waits = touches(unit.reads, late_) || touches(unit.writes, lateReads_);
    if (unit.isEnd || (unit.isLoad && (waits || words_ + unit.words > most_))) {
      flush();
    } else if (waits) {
      for (const llvm::StringRef name : unit.writes)
        late_.insert(name);
      for (const llvm::StringRef name : unit.reads)
        lateReads_.insert(name);
      waiting_.push_back(std::move(unit));
      return;
    }
    if (unit.isLoad) {
      moved_ |= !waiting_.empty();
      words_ += unit.words;
      for (const llvm::StringRef name : unit.writes)
        late_.insert(name);
    }
    write(unit);
  }

  void flush() {
    for (const Unit &unit : waiting_)
      write(unit);
    waiting_.clear();
    late_.clear();
    lateReads_.clear();
    words_ = 0;
  }

  void write(const Unit &unit) {
    if (unit.location != location_)
      text_ += (unit.location + "\n").str();
    location_ = unit.location;
    text_ += unit.text;
  }

  static bool touches(llvm::ArrayRef<llvm::StringRef> names, const llvm::StringSet<> &set) {
    return llvm::any_of(names, [&](llvm::StringRef name) { return set.contains(name); });
  }

  int most_, words_ = 0;
  bool moved_ = false;
  std::string text_;
  llvm::StringRef location_;
  llvm::SmallVector<Unit, 0> waiting_;
  llvm::StringSet<> late_;      ///< what loads and units that wait give
  llvm::StringSet<> lateReads_; ///< what units that wait read
};

} // namespace

std::string withLoadsFirst(llvm::StringRef ptx, int words) {
  const auto body = bodyOf(ptx);
  if (!body)
    return ptx.str();
  return (ptx.take_front(body->begin) + LoadsFirst(words).of(ptx.slice(body->begin, body->end)) +
          ptx.drop_front(body->end))
      .str();
}

} // namespace blockscope::gpu
