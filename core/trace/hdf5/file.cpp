// The superblock, object headers and groups.
#include "core/trace/hdf5/file.h"

#include "core/trace/hdf5/cursor.h"
#include "core/trace/hdf5/tree.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace blockscope::hdf5 {
namespace {

using namespace std::string_view_literals;

constexpr uint64_t kSuperblockBytes = 96;
constexpr uint64_t kHeaderPrefixBytes = 16;
/// The names of a trace are shorter, and its attributes smaller.
constexpr uint64_t kMaxHeaderBytes = uint64_t{1} << 20;
constexpr uint64_t kMaxNameBytes = 64;
constexpr uint8_t kSharedFlag = 2;

bool equals(std::span<const unsigned char> bytes, std::string_view text) {
  return std::equal(
      bytes.begin(), bytes.end(), text.begin(), text.end(),
      [](unsigned char byte, char letter) { return byte == static_cast<unsigned char>(letter); });
}

} // namespace

bool File::read(uint64_t address, std::span<unsigned char> to) const {
  return address <= sizeBytes() && bytes_.read(userBlock_ + address, to);
}

bool File::open(FileBytes bytes, uint64_t userBlock) {
  if (bytes.size() < userBlock)
    return false;
  bytes_ = std::move(bytes);
  userBlock_ = userBlock;
  std::array<unsigned char, kSuperblockBytes> block{};
  if (!read(0, block))
    return false;
  Cursor cursor(block);
  const bool isHdf5 = equals(cursor.take(8), "\x89HDF\r\n\x1a\n"sv);
  const bool hasVersions = equals(cursor.take(5), "\0\0\0\0\0"sv);
  const bool hasSizes = equals(cursor.take(3), "\x08\x08\0"sv);
  cursor.skip(8); // sizes of nodes, flags
  const auto base = cursor.number<uint64_t>();
  cursor.skip(24 + 8); // free space, end of the file, driver; name of the root
  root_ = cursor.number<uint64_t>();
  return isHdf5 && hasVersions && hasSizes && base == userBlock;
}

bool Object::open(const File &file, uint64_t address) {
  messages_.clear();
  std::array<unsigned char, kHeaderPrefixBytes> prefix{};
  if (!file.read(address, prefix))
    return false;
  Cursor cursor(prefix);
  const auto version = cursor.number<uint16_t>(); // and a reserved byte
  cursor.skip(2 + 4);                             // counts of messages and links
  struct Block {
    uint64_t address, bytes;
  };
  std::vector<Block> blocks = {{address + kHeaderPrefixBytes, cursor.number<uint32_t>()}};
  uint64_t budget = std::min(file.sizeBytes(), kMaxHeaderBytes);
  if (version != 1)
    return false;
  for (size_t index = 0; index < blocks.size(); ++index) {
    const Block block = blocks[index];
    if (!takeFrom(budget, block.bytes))
      return false;
    std::vector<unsigned char> bytes(block.bytes);
    if (!file.read(block.address, bytes))
      return false;
    Cursor rest(bytes);
    while (rest.left() >= 8) {
      const auto kind = rest.number<uint16_t>();
      const auto size = rest.number<uint16_t>();
      const auto flags = rest.number<uint8_t>();
      rest.skip(3);
      const std::span<const unsigned char> content = rest.take(size);
      if (!rest.good() || (flags & kSharedFlag) != 0)
        return false;
      if (kind == static_cast<uint16_t>(MessageKind::Continuation)) {
        Cursor where(content);
        const auto next = where.number<uint64_t>();
        blocks.push_back({next, where.number<uint64_t>()});
        if (!takeFrom(budget, 16) || !where.good()) // an empty block costs, too
          return false;
        continue;
      }
      messages_.push_back({kind, {content.begin(), content.end()}});
    }
  }
  return true;
}

const Message *Object::find(MessageKind kind) const {
  const auto found = std::find_if(messages_.begin(), messages_.end(), [&](const Message &each) {
    return each.kind == static_cast<uint16_t>(kind);
  });
  return found == messages_.end() ? nullptr : &*found;
}

bool Group::open(const File &file, uint64_t address) {
  members_.clear();
  const Message *table =
      header_.open(file, address) ? header_.find(MessageKind::SymbolTable) : nullptr;
  if (table == nullptr)
    return false;
  Cursor places(table->bytes);
  const auto tree = places.number<uint64_t>();
  const auto heap = places.number<uint64_t>();
  std::array<unsigned char, 32> heapHeader{};
  if (!places.good() || !file.read(heap, heapHeader))
    return false;
  Cursor cursor(heapHeader);
  const bool isHeap = equals(cursor.take(8), "HEAP\0\0\0\0"sv);
  const auto heapBytes = cursor.number<uint64_t>();
  cursor.skip(8); // the free list
  const auto heapAddress = cursor.number<uint64_t>();
  uint64_t budget = file.sizeBytes();
  if (!isHeap || !takeFrom(budget, heapBytes))
    return false;
  std::vector<unsigned char> names(heapBytes);
  if (!file.read(heapAddress, names))
    return false;
  const auto addLeaf = [&](Cursor, uint64_t leaf) {
    std::array<unsigned char, 8> head{};
    if (!takeFrom(budget, head.size()) || !file.read(leaf, head) ||
        !equals(std::span(head).first(6), "SNOD\x01\0"sv))
      return false;
    const uint64_t bytes = uint64_t{40} * (head[6] + 256U * head[7]);
    if (!takeFrom(budget, bytes))
      return false;
    std::vector<unsigned char> entries(bytes);
    if (!file.read(leaf + head.size(), entries))
      return false;
    for (Cursor entry(entries); entry.left() > 0;) {
      const auto name = entry.number<uint64_t>();
      const auto object = entry.number<uint64_t>();
      const bool isLink = entry.number<uint32_t>() == 2;
      entry.skip(4 + 16);
      if (name >= names.size())
        return false;
      const char *text = reinterpret_cast<const char *>(names.data() + name);
      const size_t length = strnlen(text, names.size() - name);
      if (length > kMaxNameBytes || length == names.size() - name)
        return false;
      members_.push_back({std::string(text, length), isLink ? kNowhere : object});
    }
    return true;
  };
  if (!walkTree(file, TreeKind::Group, 8, tree, budget, addLeaf))
    return false;
  std::sort(members_.begin(), members_.end(),
            [](const Member &left, const Member &right) { return left.name < right.name; });
  return true;
}

uint64_t Group::find(std::string_view name) const {
  const auto found = std::lower_bound(
      members_.begin(), members_.end(), name,
      [](const Member &each, std::string_view value) { return each.name < value; });
  return found != members_.end() && found->name == name ? found->address : kNowhere;
}

} // namespace blockscope::hdf5
