// The environment variables that Blockscope reads, as one table (core/settings.def).
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace blockscope {

enum class Setting : uint8_t {
#define BLK_SETTING(name, ...) name,
#include "core/settings.def"
#undef BLK_SETTING
};

enum class SettingKind : uint8_t { Flag, Number, Choice, Position, Program, Text };

/// One variable: a row of the table.
struct SettingInfo {
  const char *variable;
  SettingKind kind;
  const char *defaultText;
  int64_t least, most; ///< of a Number
  const char *choices; ///< of a Choice, with | between them
  const char *help;
};

/// What a text means: of a Flag, of a Number, of all other kinds.
using SettingValue = std::variant<bool, int64_t, std::string>;

/// All rows, by the number of their `Setting`.
llvm::ArrayRef<SettingInfo> settings();

/// "a whole number from 0 to 1024".
std::string expectedOf(const SettingInfo &info);

/// An empty text means the default.
/// Errors: none when the variable may not have this text.
std::optional<SettingValue> valueOf(const SettingInfo &info, llvm::StringRef text);

// What the environment says now. Errors: none; a value that the variable may not have counts as
// unset, since the package refuses it when it is imported (python/blockscope/settings.py).
bool flagOf(Setting setting);
int64_t numberOf(Setting setting);
std::string textOf(Setting setting);

} // namespace blockscope
