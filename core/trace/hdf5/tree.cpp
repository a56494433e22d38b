// Nodes say how high they stand: a child stands one lower, so that a walk ends.
#include "core/trace/hdf5/tree.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace blockscope::hdf5 {
namespace {

constexpr uint64_t kNodeHeaderBytes = 24;
constexpr int kMaxLevel = 16; ///< of nodes with 32 entries or so: more than any file can have
constexpr uint64_t kChildBytes = 8;

struct Walk {
  const File &file;
  TreeKind kind;
  uint64_t keyBytes;
  uint64_t &budget;
  const std::function<bool(Cursor key, uint64_t child)> &visit;

  /// `level` -1: any.
  bool node(uint64_t address, int level) {
    std::array<unsigned char, kNodeHeaderBytes> header{};
    if (!takeFrom(budget, header.size()) || !file.read(address, header))
      return false;
    Cursor cursor(header);
    const auto signature = cursor.take(4);
    const auto foundKind = cursor.number<uint8_t>();
    const int foundLevel = cursor.number<uint8_t>();
    const uint64_t entries = cursor.number<uint16_t>();
    if (!std::equal(signature.begin(), signature.end(), std::string_view("TREE").begin()) ||
        foundKind != static_cast<uint8_t>(kind) || foundLevel > kMaxLevel ||
        (level >= 0 && foundLevel != level))
      return false;
    const uint64_t bytes = entries * (keyBytes + kChildBytes) + keyBytes;
    if (!takeFrom(budget, bytes))
      return false;
    std::vector<unsigned char> body(bytes);
    if (!file.read(address + kNodeHeaderBytes, body))
      return false;
    Cursor rest(body);
    for (uint64_t entry = 0; entry < entries; ++entry) {
      const Cursor key(rest.take(keyBytes));
      const auto child = rest.number<uint64_t>();
      if (!(foundLevel > 0 ? node(child, foundLevel - 1) : visit(key, child)))
        return false;
    }
    return true;
  }
};

} // namespace

bool walkTree(const File &file, TreeKind kind, uint64_t keyBytes, uint64_t root, uint64_t &budget,
              const std::function<bool(Cursor key, uint64_t child)> &visit) {
  return Walk{file, kind, keyBytes, budget, visit}.node(root, -1);
}

} // namespace blockscope::hdf5
