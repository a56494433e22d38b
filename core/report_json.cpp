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

llvm::json::Object placeObject(const SourceLocation &location) {
  return llvm::json::Object{{"file", llvm::json::fixUTF8(location.file)},
                            {"line", location.line},
                            {"column", location.column},
                            {"function", llvm::json::fixUTF8(location.function)}};
}

llvm::json::Array callers(const SourceLocation &location) {
  llvm::json::Array calls;
  for (const SourceLocation *at = location.caller.get(); at; at = at->caller.get())
    calls.push_back(placeObject(*at));
  return calls;
}

llvm::json::Object placeAndCallers(const SourceLocation &location) {
  llvm::json::Object object = placeObject(location);
  if (llvm::json::Array calls = callers(location); !calls.empty())
    object["called_from"] = std::move(calls);
  return object;
}

llvm::json::Object siteObject(const Site &site) {
  llvm::json::Object object = placeAndCallers(site.location);
  object["variable"] = llvm::json::fixUTF8(site.location.variable);
  if (!site.execution)
    return object;
  const Execution &ran = *site.execution;
  object["program"] = triple(ran.program);
  object["lane"] = ran.lane;
  object["lane_index"] = numbers(ran.laneIndex);
  object["block_shape"] = numbers(ran.blockShape);
  object["loop_iterations"] = numbers(ran.loopIterations);
  if (ran.access) {
    object["access"] = accessKindName(*ran.access);
    object["access_bytes"] = ran.accessBytes;
  }
  if (!ran.semantics.empty())
    object["semantics"] = ran.semantics;
  if (!ran.value.empty())
    object["value"] = llvm::json::fixUTF8(ran.value);
  return object;
}

llvm::json::Array sitesWith(const Finding &finding, SiteRole role) {
  llvm::json::Array sites;
  for (const Site &site : finding.related)
    if (site.role == role)
      sites.push_back(siteObject(site));
  return sites;
}

void addLaunch(llvm::json::Object &object, const Finding &finding) {
  const LaunchFacts &launch = *finding.launch;
  const Element element = finding.element.value_or(Element());
  object["kernel"] = llvm::json::fixUTF8(launch.kernel);
  object["grid"] = triple(launch.grid);
  object["launch"] = launch.index;
  object["meta_parameters"] = named(launch.metaParameters);
  object["element"] = numbers(element.index);
  object["byte_offset"] = element.byteOffset;
  object["distance_bytes"] = element.distanceBytes;
  object["values"] = named(finding.values);
  object["count"] = finding.count;
  object["program_count"] = finding.programCount;
}

llvm::json::Array sharesOf(const Finding &finding) {
  llvm::json::Array shares;
  for (const ErrorShare &each : finding.shares) {
    llvm::json::Object object = placeAndCallers(each.location);
    object["what"] = llvm::json::fixUTF8(each.what);
    object["share"] = each.share;
    shares.push_back(std::move(object));
  }
  return shares;
}

llvm::StringRef stateName(Holder::State state) {
  switch (state) {
  case Holder::State::Ended:
    return "ended";
  case Holder::State::Waits:
    return "waits";
  case Holder::State::Itself:
    return "itself";
  }
  return "";
}

void addWaiting(llvm::json::Object &object, const WaitingFacts &facts) {
  llvm::json::Array waits;
  for (const Wait &wait : facts.waits) {
    llvm::json::Object each = placeAndCallers(wait.location);
    each["program"] = triple(wait.program);
    each["element"] = llvm::json::fixUTF8(wait.element);
    each["value"] = llvm::json::fixUTF8(wait.value);
    each["untouched"] = wait.isUntouched;
    if (wait.holder) {
      llvm::json::Object holder = placeAndCallers(wait.holder->location);
      holder["program"] = triple(wait.holder->program);
      holder["state"] = stateName(wait.holder->state);
      holder["taken"] = wait.holder->hasTaken;
      each["holder"] = std::move(holder);
    }
    waits.push_back(std::move(each));
  }
  object["waiting"] = std::move(waits);
  object["waiting_programs"] = facts.programs;
  object["circle"] = facts.circle;
}

/// What the GPU compiler noted always has these.
void addCompilation(llvm::json::Object &object, const Finding &finding) {
  const Measure measure = finding.measure.value_or(Measure());
  object["called_from"] = callers(finding.site.location);
  object["cost"] = llvm::json::fixUTF8(finding.cost);
  object["found"] = measure.found;
  object["expected"] = measure.expected;
  llvm::json::Array also;
  for (const Site &site : finding.related)
    if (site.role == SiteRole::Here)
      also.push_back(placeObject(site.location));
  object["also"] = std::move(also);
}

llvm::json::Value findingObject(const Finding &finding) {
  llvm::json::Object object = siteObject(finding.site);
  object["code"] = llvm::StringRef(codeText(finding.code));
  object["severity"] = llvm::StringRef(severityName(finding.severity));
  object["message"] = llvm::json::fixUTF8(finding.message);
  object["hint"] = llvm::json::fixUTF8(finding.hint);
  if (finding.launch)
    addLaunch(object, finding);
  else
    addCompilation(object, finding);
  if (!finding.model.empty())
    object["model"] = finding.model;
  if (finding.element) {
    const TensorInfo &tensor = finding.element->tensor;
    object["tensor"] = llvm::json::fixUTF8(tensor.name);
    object["tensor_dtype"] = tensor.dtype;
    object["tensor_shape"] = numbers(tensor.shape);
    object["tensor_strides"] = numbers(tensor.strides);
    object["storage_bytes"] = tensor.storageBytes;
  }
  if (!finding.shares.empty())
    object["shares"] = sharesOf(finding);
  if (finding.waiting)
    addWaiting(object, *finding.waiting);
  if (const Site *other = finding.find(SiteRole::OtherSide))
    object["other"] = siteObject(*other);
  static constexpr std::pair<SiteRole, const char *> kLists[] = {
      {SiteRole::AllocatedAt, "allocated_at"}, {SiteRole::BornAt, "born_at"},
      {SiteRole::Through, "through"},          {SiteRole::ReadAt, "read_at"},
      {SiteRole::ArrivesAt, "arrives_at"},     {SiteRole::UsedAt, "used_at"},
      {SiteRole::ChangedAt, "changed_at"}};
  for (const auto &[role, name] : kLists)
    if (llvm::json::Array sites = sitesWith(finding, role); !sites.empty())
      object[name] = std::move(sites);
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
