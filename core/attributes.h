// Attributes of an op as both executors see them: no MLIR, cheap to copy.
#pragma once

#include "core/type.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <variant>
#include <vector>

namespace blockscope {

/// One attribute value. Booleans are `bool`, never 0 or 1. Type attributes hold a `Type`.
using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
                               std::vector<std::string>, Type>;

struct NamedAttribute {
  std::string name;
  Attribute value;
};

/// A short list of named attributes; look-up is linear.
class Attributes {
public:
  Attributes() = default;
  Attributes(std::initializer_list<NamedAttribute> list) : list_(list) {}

  void set(llvm::StringRef name, Attribute value);
  const Attribute *find(llvm::StringRef name) const;
  bool getBool(llvm::StringRef name, bool otherwise = false) const;
  int64_t getInt(llvm::StringRef name, int64_t otherwise = 0) const;
  double getFloat(llvm::StringRef name, double otherwise = 0) const;
  llvm::StringRef getString(llvm::StringRef name, llvm::StringRef otherwise = "") const;
  llvm::ArrayRef<int64_t> getInts(llvm::StringRef name) const;

  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  bool empty() const { return list_.empty(); }

private:
  llvm::SmallVector<NamedAttribute, 4> list_;
};

} // namespace blockscope
