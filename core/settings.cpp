// Reading of environment variables.
#include "core/settings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"

#include <cstdlib>

namespace blockscope {
namespace {

constexpr SettingInfo kSettings[] = {
#define BLK_SETTING(name, variable, kind, defaultText, least, most, choices, help)                 \
  {variable, SettingKind::kind, defaultText, least, most, choices, help},
#include "core/settings.def"
#undef BLK_SETTING
};

llvm::SmallVector<llvm::StringRef> choicesOf(const SettingInfo &info) {
  llvm::SmallVector<llvm::StringRef> choices;
  llvm::StringRef(info.choices).split(choices, '|');
  return choices;
}

std::optional<SettingValue> parseFlag(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<SettingValue>>(text.trim().lower())
      .Cases({"1", "true", "on", "yes", "y"}, true)
      .Cases({"0", "false", "off", "no", "n"}, false)
      .Default(std::nullopt);
}

std::optional<SettingValue> parseNumber(const SettingInfo &info, llvm::StringRef text) {
  int64_t value = 0;
  if (text.trim().getAsInteger(10, value) || value < info.least || value > info.most)
    return std::nullopt;
  return value;
}

/// The three numbers of a program.
bool isPosition(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 3> parts;
  text.split(parts, ',');
  return parts.size() == 3 && llvm::all_of(parts, [](llvm::StringRef part) {
           uint32_t value = 0;
           return !part.trim().getAsInteger(10, value);
         });
}

bool isProgram(llvm::StringRef path) {
  return llvm::sys::fs::can_execute(path) && !llvm::sys::fs::is_directory(path);
}

SettingValue environmentValue(Setting setting) {
  const SettingInfo &info = kSettings[static_cast<size_t>(setting)];
  const char *text = std::getenv(info.variable);
  if (text != nullptr)
    if (std::optional<SettingValue> value = valueOf(info, text))
      return *std::move(value);
  return *valueOf(info, "");
}

} // namespace

llvm::ArrayRef<SettingInfo> settings() { return kSettings; }

std::string expectedOf(const SettingInfo &info) {
  switch (info.kind) {
  case SettingKind::Flag:
    return "0 or 1";
  case SettingKind::Number:
    return "a whole number from " + std::to_string(info.least) + " to " + std::to_string(info.most);
  case SettingKind::Choice:
    return "one of " + llvm::join(choicesOf(info), ", ");
  case SettingKind::Position:
    return "x,y,z as in 3,0,0";
  case SettingKind::Program:
    return "the path of a program";
  case SettingKind::Text:
    return "text";
  }
  return {};
}

std::optional<SettingValue> valueOf(const SettingInfo &info, llvm::StringRef text) {
  bool isGood = text.empty();
  if (isGood)
    text = info.defaultText;
  switch (info.kind) {
  case SettingKind::Flag:
    return parseFlag(text);
  case SettingKind::Number:
    return parseNumber(info, text);
  case SettingKind::Choice:
    isGood |= llvm::is_contained(choicesOf(info), text);
    break;
  case SettingKind::Position:
    isGood |= isPosition(text);
    break;
  case SettingKind::Program:
    isGood |= isProgram(text);
    break;
  case SettingKind::Text:
    isGood = true;
    break;
  }
  return isGood ? std::optional<SettingValue>(text.str()) : std::nullopt;
}

bool flagOf(Setting setting) { return std::get<bool>(environmentValue(setting)); }

int64_t numberOf(Setting setting) { return std::get<int64_t>(environmentValue(setting)); }

std::string textOf(Setting setting) { return std::get<std::string>(environmentValue(setting)); }

} // namespace blockscope
