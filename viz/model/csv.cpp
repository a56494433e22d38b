// CSV of each panel's table.
#include "viz/model/csv.h"

#include "viz/model/gpu_view.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

namespace blockscope::viz {
namespace {

/// Whether a terminal would act on a character in place of showing it.
bool isControl(char each) {
  return std::iscntrl(static_cast<unsigned char>(each)) != 0 && each != '\n' && each != '\r' &&
         each != '\t';
}

/// A field as CSV has it. The text is the file's.
std::string quoted(std::string text) {
  std::replace_if(text.begin(), text.end(), isControl, '?');
  if (text.find_first_of(",\"\n\r") == std::string::npos)
    return text;
  std::string result = "\"";
  for (const char each : text)
    result += each == '"' ? "\"\"" : std::string(1, each);
  return result + "\"";
}

/// A name of the file's as a part of a file name: no folders, no surprises.
std::string asFileName(std::string name) {
  constexpr size_t kMaxLetters = 64;
  name.resize(std::min(name.size(), kMaxLetters));
  for (char &each : name)
    if (std::isalnum(static_cast<unsigned char>(each)) == 0 && each != '_')
      each = '-';
  return name;
}

std::vector<std::string> countFields(const AccessCounts &counts) {
  return {std::to_string(counts.loads), std::to_string(counts.stores),
          std::to_string(counts.atomics), std::to_string(counts.outside)};
}

std::string elementRow(const TensorLayout &layout, int64_t slot, const ElementCounts &counts,
                       bool inside) {
  std::vector<std::string> fields;
  for (const int64_t index : layout.indexOf(slot))
    fields.push_back(std::to_string(index));
  fields.insert(fields.end(), {std::to_string(layout.offsetBytesOf(slot)),
                               std::to_string(counts.loads), std::to_string(counts.stores),
                               std::to_string(counts.atomics), inside ? "1" : "0"});
  return csvLine(fields);
}

std::string elementTable(const TraceModel &model, int argument) {
  const TensorLayout &layout = model.layout(argument);
  const HeatMap &heat = model.heat(argument);
  std::vector<std::string> header;
  for (size_t dim = 0; dim < layout.shape().size(); ++dim)
    header.push_back("index" + std::to_string(dim));
  header.insert(header.end(), {"byte_offset", "loads", "stores", "atomics", "inside"});
  std::string text = csvLine(header);
  for (int64_t slot = 0; slot < layout.slotCount(); ++slot)
    if (heat.value(slot, HeatMode::Both) > 0)
      text += elementRow(layout, slot, heat.at(slot), true);
  for (const OutsidePlace &place : heat.outside())
    text += elementRow(layout, place.slot, place.counts, false);
  return text;
}

std::string programTable(const TraceModel &model) {
  std::string text = "program,x,y,z,accesses,outside\n";
  for (size_t program = 0; program < model.programCounts().size(); ++program) {
    const auto at = model.programIndex(static_cast<int64_t>(program));
    const ProgramCounts &counts = model.programCounts()[program];
    text += csvLine({std::to_string(program), std::to_string(at[0]), std::to_string(at[1]),
                     std::to_string(at[2]), std::to_string(counts.accesses),
                     std::to_string(counts.outside)});
  }
  return text;
}

std::string pathOf(const TraceModel &model, int source) {
  return source >= 0 ? model.sources()[static_cast<size_t>(source)].path : "";
}

std::string opTable(const TraceModel &model) {
  std::string text = "op,name,file,line,column,variable,loads,stores,atomics,outside,masked\n";
  const auto &ops = model.launch().ops;
  for (size_t index = 0; index < ops.size(); ++index) {
    if (ops[index].name.empty())
      continue; // an op that accesses no memory
    std::vector<std::string> fields = {std::to_string(index),
                                       ops[index].name,
                                       pathOf(model, ops[index].source),
                                       std::to_string(ops[index].line),
                                       std::to_string(ops[index].column),
                                       ops[index].variable};
    const auto counts = countFields(model.opCounts()[index]);
    fields.insert(fields.end(), counts.begin(), counts.end());
    fields.push_back(std::to_string(model.opCounts()[index].masked));
    text += csvLine(fields);
  }
  return text;
}

std::string lineTable(const TraceModel &model, int source) {
  std::string text = "file,line,loads,stores,atomics,outside,findings\n";
  std::vector<int> lines;
  for (const TraceOp &op : model.launch().ops)
    if (op.source == source)
      lines.push_back(op.line);
  for (const TraceFinding &finding : model.launch().findings)
    if (finding.source == source)
      lines.push_back(finding.site.location.line);
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  for (const int line : lines) {
    std::vector<std::string> fields = {pathOf(model, source), std::to_string(line)};
    const auto counts = countFields(model.lineCounts(source, line));
    fields.insert(fields.end(), counts.begin(), counts.end());
    fields.push_back(std::to_string(model.findingsOfLine(source, line).size()));
    text += csvLine(fields);
  }
  return text;
}

std::string findingTable(const TraceModel &model) {
  std::string text = "severity,code,file,line,column,program,argument,count,message\n";
  for (const TraceFinding &finding : model.launch().findings)
    text +=
        csvLine({std::string(severityName(finding.severity)), std::string(codeText(finding.code)),
                 pathOf(model, finding.source), std::to_string(finding.site.location.line),
                 std::to_string(finding.site.location.column), std::to_string(finding.program),
                 finding.argument >= 0
                     ? model.launch().arguments[static_cast<size_t>(finding.argument)].name
                     : "",
                 std::to_string(finding.count), finding.message});
  return text;
}

/// The chosen element, its accesses one by one.
std::string historyTable(const TraceModel &model, const Selection &selection) {
  std::string text = "access,run,program,x,y,z,op,name,file,line,kind,before,after\n";
  const std::optional<int64_t> slot =
      selection.cell ? slotAt(model, selection, *selection.cell) : std::nullopt;
  if (!slot)
    return text;
  const ElementHistory &history = model.history(selection.tensor, *slot);
  for (size_t number = 0; number < history.entries.size(); ++number) {
    const HistoryEntry &entry = history.entries[number];
    const TraceOp &op = model.launch().ops[static_cast<size_t>(entry.op)];
    const auto at = model.programIndex(entry.program);
    text += csvLine({std::to_string(number), std::to_string(entry.row),
                     std::to_string(entry.program), std::to_string(at[0]), std::to_string(at[1]),
                     std::to_string(at[2]), std::to_string(entry.op), op.name,
                     pathOf(model, op.source), std::to_string(op.line), accessVerb(entry.kind),
                     historyValue(model, selection.tensor, entry, false),
                     historyValue(model, selection.tensor, entry, true)});
  }
  return text;
}

std::string numberText(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

/// What each memory op moves on the GPU, then the exchanges through its shared memory.
std::string trafficTable(const TraceModel &model, bool worstFirst) {
  const TraceGpu &gpu = model.launch().gpu;
  std::string text = "kind,op,name,file,line,tensor,way,bytes,requests,taken,least,ratio\n";
  for (const size_t number : trafficOrder(model, worstFirst)) {
    const TraceTraffic &row = gpu.traffic[number];
    const TraceOp &op = model.launch().ops[static_cast<size_t>(row.op)];
    const int tensor = model.tensorOfOp(row.op);
    text += csvLine({"sectors", std::to_string(row.op), op.name, pathOf(model, op.source),
                     std::to_string(op.line),
                     tensor >= 0 ? model.launch().arguments[static_cast<size_t>(tensor)].name : "",
                     row.way, std::to_string(row.bytes), std::to_string(row.requests),
                     std::to_string(row.sectors), std::to_string(row.leastSectors),
                     numberText(ratioOf(row.sectors, row.leastSectors))});
  }
  for (const size_t number : exchangeOrder(model, worstFirst)) {
    const TraceExchange &row = gpu.exchanges[number];
    text += csvLine({"wavefronts", "", row.what, pathOf(model, row.source),
                     std::to_string(row.line), "", "shared", std::to_string(row.bytes), "",
                     std::to_string(row.wavefronts), std::to_string(row.leastWavefronts),
                     numberText(ratioOf(row.wavefronts, row.leastWavefronts))});
  }
  return text;
}

/// Nothing for a 0, where that stands for a number that is not known.
std::string knownText(double value) { return value > 0 ? numberText(value) : ""; }

/// Flops and bytes by line, then of the launch.
std::string rooflineTable(const TraceModel &model) {
  const Roofline &roofline = model.roofline();
  std::string text = "file,line,unit,dtype,flops,bytes,flops_per_second,bytes_per_second\n";
  for (const auto &[place, work] : roofline.lines)
    text += csvLine({pathOf(model, place.first), std::to_string(place.second), "", "",
                     std::to_string(work.flops), std::to_string(work.bytes), "", ""});
  for (const WorkKind &kind : roofline.kinds)
    text += csvLine({"", "", kind.unit, kind.dtype, std::to_string(kind.flops), "",
                     kind.peak > 0 ? std::to_string(kind.peak) : "", ""});
  for (const int64_t bytes : {roofline.bytesAsked, roofline.bytesOnce})
    text += csvLine({"", "", "", "", std::to_string(roofline.flops), std::to_string(bytes),
                     knownText(roofline.attainable(bytes)), knownText(roofline.bytesPerSecond)});
  return text;
}

} // namespace

std::string csvLine(const std::vector<std::string> &fields) {
  std::string line;
  for (size_t at = 0; at < fields.size(); ++at)
    line += (at > 0 ? "," : "") + quoted(fields[at]);
  return line + "\n";
}

std::string csvOf(const TraceModel &model, const Selection &selection, PanelKind panel) {
  switch (panel) {
  case PanelKind::Heatmap:
    return selection.tensor >= 0 ? elementTable(model, selection.tensor) : "";
  case PanelKind::Programs:
    return programTable(model);
  case PanelKind::Ops:
    return opTable(model);
  case PanelKind::Source:
    return lineTable(model, selection.source);
  case PanelKind::Findings:
    return findingTable(model);
  case PanelKind::History:
    return historyTable(model, selection);
  case PanelKind::Traffic:
    return trafficTable(model, selection.worstFirst);
  case PanelKind::Roofline:
    return rooflineTable(model);
  }
  return "";
}

std::string csvName(const TraceModel &model, const Selection &selection, PanelKind panel) {
  switch (panel) {
  case PanelKind::Heatmap:
    return selection.tensor >= 0
               ? asFileName(model.launch().arguments[static_cast<size_t>(selection.tensor)].name)
               : "none";
  case PanelKind::Programs:
    return "programs";
  case PanelKind::Ops:
    return "ops";
  case PanelKind::Source:
    return "lines";
  case PanelKind::Findings:
    return "findings";
  case PanelKind::History:
    return "history";
  case PanelKind::Traffic:
    return "traffic";
  case PanelKind::Roofline:
    return "roofline";
  }
  return "";
}

} // namespace blockscope::viz
