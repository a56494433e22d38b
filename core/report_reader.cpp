// Reads findings back from JSON: those of traces and of compiled kernels that were kept on disk.
#include "core/report.h"

#include "llvm/Support/JSON.h"

#include <algorithm>

namespace blockscope {

namespace {

using Object = llvm::json::Object;

constexpr int kMostDepth = 32; // the parser calls itself for every level

bool isTooDeep(llvm::StringRef text) {
  int depth = 0, most = 0;
  for (const char c : text) { // brackets in texts count too: such a finding is still far from it
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    most = std::max(most, depth);
  }
  return most > kMostDepth;
}

void read(const Object &object, llvm::StringRef name, std::string &to) {
  if (const auto text = object.getString(name))
    to = text->str();
}

template <typename Integer> void read(const Object &object, llvm::StringRef name, Integer &to) {
  if (const auto number = object.getInteger(name))
    to = static_cast<Integer>(*number);
}

void read(const Object &object, llvm::StringRef name, std::vector<int64_t> &to) {
  if (const llvm::json::Array *array = object.getArray(name))
    for (const llvm::json::Value &value : *array)
      to.push_back(value.getAsInteger().value_or(0));
}

void read(const Object &object, llvm::StringRef name, std::array<int32_t, 3> &to) {
  const llvm::json::Array *array = object.getArray(name);
  for (size_t i = 0; array && i < std::min<size_t>(array->size(), 3); ++i)
    to[i] = static_cast<int32_t>((*array)[i].getAsInteger().value_or(0));
}

void read(const Object &object, llvm::StringRef name, NamedValues &to) {
  if (const Object *values = object.getObject(name))
    for (const auto &[key, value] : *values)
      to.emplace_back(key.str(), value.getAsString().value_or("").str());
}

SourceLocation readPlace(const Object &object) {
  SourceLocation location;
  read(object, "file", location.file);
  read(object, "line", location.line);
  read(object, "column", location.column);
  read(object, "function", location.function);
  read(object, "variable", location.variable);
  if (const llvm::json::Array *calls = object.getArray("called_from")) // innermost first
    for (size_t i = calls->size(); i-- > 0;)
      if (const Object *call = (*calls)[i].getAsObject()) {
        auto caller = std::make_shared<SourceLocation>(readPlace(*call));
        caller->caller = location.caller;
        location.caller = std::move(caller);
      }
  return location;
}

std::optional<AccessKind> readAccess(const Object &object) {
  const auto text = object.getString("access");
  for (const AccessKind kind : kAllAccessKinds)
    if (text && accessKindName(kind) == *text)
      return kind;
  return std::nullopt;
}

Site readSite(const Object &object, SiteRole role) {
  Site site{role, readPlace(object), std::nullopt};
  if (!object.getArray("program"))
    return site;
  Execution &ran = site.execution.emplace();
  ran.access = readAccess(object);
  read(object, "program", ran.program);
  read(object, "lane", ran.lane);
  read(object, "lane_index", ran.laneIndex);
  read(object, "block_shape", ran.blockShape);
  read(object, "loop_iterations", ran.loopIterations);
  read(object, "access_bytes", ran.accessBytes);
  read(object, "semantics", ran.semantics);
  read(object, "value", ran.value);
  return site;
}

void readSites(const Object &object, llvm::StringRef name, SiteRole role, Finding &finding) {
  if (const llvm::json::Array *sites = object.getArray(name))
    for (const llvm::json::Value &site : *sites)
      if (const Object *place = site.getAsObject())
        finding.related.push_back(readSite(*place, role));
}

void readLaunch(const Object &object, Finding &finding) {
  LaunchFacts &launch = finding.launch.emplace();
  read(object, "kernel", launch.kernel);
  read(object, "grid", launch.grid);
  read(object, "launch", launch.index);
  read(object, "meta_parameters", launch.metaParameters);
}

void readElement(const Object &object, Finding &finding) {
  Element &element = finding.element.emplace();
  read(object, "tensor", element.tensor.name);
  read(object, "tensor_dtype", element.tensor.dtype);
  read(object, "tensor_shape", element.tensor.shape);
  read(object, "tensor_strides", element.tensor.strides);
  read(object, "storage_bytes", element.tensor.storageBytes);
  read(object, "element", element.index);
  read(object, "byte_offset", element.byteOffset);
  read(object, "distance_bytes", element.distanceBytes);
}

void readShares(const Object &object, Finding &finding) {
  if (const llvm::json::Array *shares = object.getArray("shares"))
    for (const llvm::json::Value &share : *shares)
      if (const Object *place = share.getAsObject()) {
        ErrorShare &each = finding.shares.emplace_back();
        each.location = readPlace(*place);
        read(*place, "what", each.what);
        each.share = place->getNumber("share").value_or(0);
      }
}

Holder::State readState(const Object &object) {
  const auto text = object.getString("state");
  return text == "waits"    ? Holder::State::Waits
         : text == "itself" ? Holder::State::Itself
                            : Holder::State::Ended;
}

void readWaiting(const Object &object, Finding &finding) {
  const llvm::json::Array *waits = object.getArray("waiting");
  if (!waits)
    return;
  WaitingFacts &facts = finding.waiting.emplace();
  read(object, "waiting_programs", facts.programs);
  read(object, "circle", facts.circle);
  for (const llvm::json::Value &value : *waits)
    if (const Object *each = value.getAsObject()) {
      Wait &wait = facts.waits.emplace_back();
      wait.location = readPlace(*each);
      read(*each, "program", wait.program);
      read(*each, "element", wait.element);
      read(*each, "value", wait.value);
      wait.isUntouched = each->getBoolean("untouched").value_or(false);
      if (const Object *by = each->getObject("holder")) {
        Holder &holder = wait.holder.emplace();
        holder.location = readPlace(*by);
        holder.state = readState(*by);
        read(*by, "program", holder.program);
        holder.hasTaken = by->getBoolean("taken").value_or(false);
      }
    }
}

} // namespace

std::optional<Finding> findingFromJson(llvm::StringRef text) {
  if (isTooDeep(text))
    return std::nullopt;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const Object *object = value->getAsObject();
  if (!object || !object->getString("code"))
    return std::nullopt;
  Finding finding;
  finding.code = parseFindingCode(*object->getString("code")).value_or(FindingCode::Unknown);
  if (const auto severity = object->getString("severity"))
    finding.severity = parseSeverity(*severity).value_or(Severity::Error);
  read(*object, "message", finding.message);
  finding.site = readSite(*object, SiteRole::Here);
  if (const Object *other = object->getObject("other"))
    finding.related.push_back(readSite(*other, SiteRole::OtherSide));
  readSites(*object, "arrives_at", SiteRole::ArrivesAt, finding);
  readSites(*object, "read_at", SiteRole::ReadAt, finding);
  readSites(*object, "used_at", SiteRole::UsedAt, finding);
  readSites(*object, "changed_at", SiteRole::ChangedAt, finding);
  readSites(*object, "through", SiteRole::Through, finding);
  readSites(*object, "allocated_at", SiteRole::AllocatedAt, finding);
  readSites(*object, "born_at", SiteRole::BornAt, finding);
  readSites(*object, "also", SiteRole::Here, finding);
  if (object->get("kernel"))
    readLaunch(*object, finding);
  if (object->get("tensor"))
    readElement(*object, finding);
  read(*object, "values", finding.values);
  readShares(*object, finding);
  readWaiting(*object, finding);
  if (object->get("expected")) {
    Measure &measure = finding.measure.emplace();
    read(*object, "found", measure.found);
    read(*object, "expected", measure.expected);
  }
  read(*object, "cost", finding.cost);
  read(*object, "hint", finding.hint);
  read(*object, "model", finding.model);
  read(*object, "count", finding.count);
  read(*object, "program_count", finding.programCount);
  return finding;
}

} // namespace blockscope
