// Findings as JSON. Field names are part of the public format (docs/findings/README.md).
#include "core/report.h"

#include "llvm/Support/JSON.h"

namespace blockscope {

namespace {

llvm::json::Value numbers(llvm::ArrayRef<int64_t> values) {
  llvm::json::Array array;
  for (int64_t value : values)
    array.push_back(value);
  return array;
}

llvm::json::Value triple(const std::array<int32_t, 3> &values) {
  return llvm::json::Array{values[0], values[1], values[2]};
}

llvm::json::Value named(llvm::ArrayRef<std::pair<std::string, std::string>> values) {
  llvm::json::Object object;
  for (const auto &[name, value] : values)
    object[llvm::json::fixUTF8(name)] = llvm::json::fixUTF8(value);
  return object;
}

llvm::json::Object siteObject(const AccessSite &site) {
  llvm::json::Object object{
      {"file", llvm::json::fixUTF8(site.location.file)},
      {"line", site.location.line},
      {"column", site.location.column},
      {"function", llvm::json::fixUTF8(site.location.function)},
      {"variable", llvm::json::fixUTF8(site.location.variable)},
      {"access", accessKindName(site.kind)},
      {"program", triple(site.program)},
      {"lane", site.lane},
      {"lane_index", numbers(site.laneIndex)},
      {"block_shape", numbers(site.blockShape)},
      {"loop_iterations", numbers(site.loopIterations)},
      {"access_bytes", site.accessBytes},
  };
  if (!site.semantics.empty())
    object["semantics"] = site.semantics;
  if (!site.value.empty())
    object["value"] = llvm::json::fixUTF8(site.value);
  llvm::json::Array calls;
  for (const SourceLocation *c = site.location.caller.get(); c; c = c->caller.get())
    calls.push_back(llvm::json::Object{{"file", llvm::json::fixUTF8(c->file)},
                                       {"line", c->line},
                                       {"column", c->column},
                                       {"function", llvm::json::fixUTF8(c->function)}});
  if (!calls.empty())
    object["called_from"] = std::move(calls);
  return object;
}

llvm::json::Value findingObject(const Finding &finding) {
  llvm::json::Object object = siteObject(finding.site);
  object["code"] = finding.code;
  object["severity"] = severityName(finding.severity);
  object["message"] = llvm::json::fixUTF8(finding.message);
  object["kernel"] = llvm::json::fixUTF8(finding.kernel);
  object["grid"] = triple(finding.grid);
  object["launch"] = finding.launchIndex;
  object["meta_parameters"] = named(finding.metaParameters);
  object["element"] = numbers(finding.elementIndex);
  object["byte_offset"] = finding.byteOffset;
  object["distance_bytes"] = finding.distanceBytes;
  object["values"] = named(finding.values);
  object["hint"] = llvm::json::fixUTF8(finding.hint);
  object["count"] = finding.count;
  object["program_count"] = finding.programCount;
  if (!finding.model.empty())
    object["model"] = finding.model;
  if (finding.tensor) {
    object["tensor"] = llvm::json::fixUTF8(finding.tensor->name);
    object["tensor_dtype"] = finding.tensor->dtype;
    object["tensor_shape"] = numbers(finding.tensor->shape);
    object["tensor_strides"] = numbers(finding.tensor->strides);
    object["storage_bytes"] = finding.tensor->storageBytes;
  }
  if (finding.other)
    object["other"] = siteObject(*finding.other);
  return object;
}

std::string print(const llvm::json::Value &value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::formatv("{0:2}", value);
  return text;
}

} // namespace

std::string findingAsJson(const Finding &finding) { return print(findingObject(finding)); }

std::string findingsAsJson(llvm::ArrayRef<Finding> findings) {
  llvm::json::Array array;
  for (const Finding &finding : findings)
    array.push_back(findingObject(finding));
  return print(std::move(array));
}

} // namespace blockscope
