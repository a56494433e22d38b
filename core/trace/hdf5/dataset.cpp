// Messages of datasets and attributes, chunks, small tables.
#include "core/trace/hdf5/dataset.h"

#include "core/trace/hdf5/cursor.h"
#include "core/trace/hdf5/tree.h"

#include <zlib.h>

#include <algorithm>

namespace blockscope::hdf5 {
namespace {

constexpr uint64_t kMaxExtents = 2;
/// Deflate makes at most this many bytes from one: a match of 258 bytes takes 2 bits.
constexpr uint64_t kMaxExpansion = 1032;
constexpr uint16_t kDeflate = 1;
constexpr uint16_t kShuffle = 2;

std::optional<ElementType> parseType(Cursor cursor) {
  const auto head = cursor.number<uint8_t>();
  const auto bits = cursor.number<uint8_t>();
  cursor.skip(2);
  ElementType type;
  type.bytes = cursor.number<uint32_t>();
  const int version = head >> 4;
  if (version < 1 || version > 3 || type.bytes == 0)
    return std::nullopt;
  switch (head & 15) {
  case 0: { // integer
    const auto bitOffset = cursor.number<uint16_t>();
    const uint64_t precision = cursor.number<uint16_t>();
    type.kind = (bits & 8) != 0 ? ElementType::Kind::Signed : ElementType::Kind::Unsigned;
    const bool isLittleEndian = (bits & 1) == 0;
    if (!cursor.good() || !isLittleEndian || bitOffset != 0 || precision != 8ULL * type.bytes ||
        type.bytes > 8)
      return std::nullopt;
    return type;
  }
  case 3: // text of fixed length
    type.kind = ElementType::Kind::Text;
    return cursor.good() ? std::optional(type) : std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<std::vector<uint64_t>> parseExtents(Cursor cursor) {
  const auto version = cursor.number<uint8_t>();
  const uint64_t rank = cursor.number<uint8_t>();
  cursor.skip(6); // flags; maximal extents, if any, follow the extents
  std::vector<uint64_t> extents;
  for (uint64_t dim = 0; dim < rank && rank <= kMaxExtents; ++dim)
    extents.push_back(cursor.number<uint64_t>());
  if (version != 1 || rank > kMaxExtents || !cursor.good())
    return std::nullopt;
  return extents;
}

uint64_t roundedUp(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

/// Nothing when its name is another.
std::optional<Attribute> parseAttribute(Cursor cursor, const std::string &name) {
  const auto version = cursor.number<uint16_t>(); // and a reserved byte
  const uint64_t nameBytes = cursor.number<uint16_t>();
  const uint64_t typeBytes = cursor.number<uint16_t>();
  const uint64_t spaceBytes = cursor.number<uint16_t>();
  const auto found = cursor.take(roundedUp(nameBytes));
  const auto type = parseType(Cursor(cursor.take(roundedUp(typeBytes))));
  auto extents = parseExtents(Cursor(cursor.take(roundedUp(spaceBytes))));
  if (version != 1 || !cursor.good() || !type || !extents || nameBytes != name.size() + 1 ||
      !std::equal(name.begin(), name.end(), found.begin()))
    return std::nullopt;
  uint64_t bytes = type->bytes;
  for (const uint64_t extent : *extents)
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      return std::nullopt;
  const auto values = cursor.take(bytes);
  if (!cursor.good())
    return std::nullopt;
  return Attribute{*type, std::move(*extents), {values.begin(), values.end()}};
}

} // namespace

std::optional<Attribute> readAttribute(const Object &object, const std::string &name) {
  for (const Message &message : object.messages())
    if (message.kind == static_cast<uint16_t>(MessageKind::Attribute))
      if (std::optional<Attribute> found = parseAttribute(Cursor(message.bytes), name))
        return found;
  return std::nullopt;
}

bool Dataset::openFilters(const Object &header) {
  const Message *message = header.find(MessageKind::Filters);
  if (message == nullptr)
    return true;
  Cursor cursor(message->bytes);
  const auto version = cursor.number<uint8_t>();
  const int count = cursor.number<uint8_t>();
  cursor.skip(6);
  for (int index = 0; index < count; ++index) {
    const auto filter = cursor.number<uint16_t>();
    const uint64_t nameBytes = cursor.number<uint16_t>();
    cursor.skip(2); // flags
    const uint64_t values = cursor.number<uint16_t>();
    cursor.skip(nameBytes + 4 * (values + values % 2));
    const bool inOrder = !isDeflated && !(filter == kShuffle && isShuffled);
    if (!cursor.good() || !inOrder || (filter != kDeflate && filter != kShuffle))
      return false;
    (filter == kDeflate ? isDeflated : isShuffled) = true;
  }
  return version == 1;
}

bool Dataset::openLayout(const Object &header, std::string &problem) {
  const Message *message = header.find(MessageKind::Layout);
  Cursor cursor(message != nullptr ? std::span<const unsigned char>(message->bytes)
                                   : std::span<const unsigned char>());
  const auto version = cursor.number<uint8_t>();
  const auto kind = cursor.number<uint8_t>();
  problem = "is not stored as the columns of a trace are";
  if (version != 3 || !openFilters(header))
    return false;
  if (kind == 1) { // contiguous
    address_ = cursor.number<uint64_t>();
    return cursor.good() && cursor.number<uint64_t>() == rows() * rowBytes && !isDeflated &&
           !isShuffled;
  }
  if (kind != 2 || cursor.number<uint8_t>() != extents.size() + 1 || !isDeflated)
    return false;
  address_ = cursor.number<uint64_t>();
  chunkRows = cursor.number<uint32_t>();
  for (size_t dim = 1; dim < extents.size(); ++dim)
    if (cursor.number<uint32_t>() != extents[dim])
      return false;
  return cursor.number<uint32_t>() == type.bytes && cursor.good() && chunkRows > 0 &&
         !__builtin_mul_overflow(chunkRows, rowBytes, &chunkBytes) && chunkBytes <= UINT32_MAX;
}

bool Dataset::open(const File &file, uint64_t address, std::string &problem) {
  *this = Dataset();
  Object header;
  if (!header.open(file, address)) {
    problem = "is no dataset that can be read";
    return false;
  }
  if (header.find(MessageKind::ExternalFiles) != nullptr) {
    problem = "is kept in another file";
    return false;
  }
  const Message *typeMessage = header.find(MessageKind::Datatype);
  const Message *spaceMessage = header.find(MessageKind::Dataspace);
  const auto foundType =
      typeMessage != nullptr ? parseType(Cursor(typeMessage->bytes)) : std::nullopt;
  auto foundExtents =
      spaceMessage != nullptr ? parseExtents(Cursor(spaceMessage->bytes)) : std::nullopt;
  if (!foundType) {
    problem = "has the wrong type";
    return false;
  }
  if (!foundExtents || foundExtents->empty()) {
    problem = "has a shape that no column of a trace has";
    return false;
  }
  type = *foundType;
  extents = std::move(*foundExtents);
  rowBytes = type.bytes;
  uint64_t whole = 0;
  for (size_t dim = 1; dim < extents.size(); ++dim)
    if (__builtin_mul_overflow(rowBytes, extents[dim], &rowBytes))
      rowBytes = UINT64_MAX;
  if (__builtin_mul_overflow(rowBytes, rows(), &whole) || whole > uint64_t{INT64_MAX}) {
    problem = "has more rows than a file can";
    return false;
  }
  return openLayout(header, problem);
}

bool Dataset::canHold(const File &file) const {
  return rows() * rowBytes / (isDeflated ? kMaxExpansion : 1) <= file.sizeBytes();
}

bool Dataset::readChunks(const File &file, std::vector<Chunk> &chunks) const {
  chunks.clear();
  if (address_ == kNowhere)
    return true;
  uint64_t nodeBudget = file.sizeBytes();
  uint64_t dataBudget = file.sizeBytes();
  uint64_t next = 0; ///< the first row that the next chunk may have
  const auto add = [&](Cursor key, uint64_t address) {
    Chunk chunk;
    chunk.bytes = key.number<uint32_t>();
    const auto skippedFilters = key.number<uint32_t>();
    chunk.row = key.number<uint64_t>();
    chunk.address = address;
    uint64_t others = 0;
    for (size_t dim = 0; dim < extents.size(); ++dim) // the last is that of the element's bytes
      others |= key.number<uint64_t>();
    chunk.isPlain = skippedFilters == 1 && !isShuffled && chunk.bytes == chunkBytes;
    if ((skippedFilters != 0 && !chunk.isPlain) || others != 0 || chunk.row < next ||
        chunk.row >= rows() || chunk.row % chunkRows != 0 || !takeFrom(dataBudget, chunk.bytes) ||
        chunkBytes / kMaxExpansion > chunk.bytes)
      return false;
    next = chunk.row + 1;
    chunks.push_back(chunk);
    return true;
  };
  const uint64_t keyBytes = 8 + 8 * (extents.size() + 1);
  return walkTree(file, TreeKind::Chunks, keyBytes, address_, nodeBudget, add);
}

bool Dataset::readAll(const File &file, std::span<unsigned char> to) const {
  if (to.empty())
    return true;
  if (chunkRows == 0)
    return address_ != kNowhere && file.read(address_, to);
  std::vector<Chunk> chunks;
  if (chunkRows != rows() || isShuffled || !readChunks(file, chunks) || chunks.size() != 1)
    return false;
  if (chunks[0].isPlain)
    return file.read(chunks[0].address, to);
  std::vector<unsigned char> packed(chunks[0].bytes);
  uLongf bytes = to.size();
  return file.read(chunks[0].address, packed) &&
         uncompress(to.data(), &bytes, packed.data(), packed.size()) == Z_OK && bytes == to.size();
}

} // namespace blockscope::hdf5
