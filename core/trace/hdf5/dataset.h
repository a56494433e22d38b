// Datasets and attributes: what their headers say, held to what the file can hold.
#pragma once

#include "core/trace/hdf5/file.h"

#include <optional>

namespace blockscope::hdf5 {

/// The type of an element: a little-endian integer, or text of fixed length.
struct ElementType {
  enum class Kind : uint8_t { Signed, Unsigned, Text };
  Kind kind = Kind::Unsigned;
  uint32_t bytes = 0;
  bool operator==(const ElementType &) const = default;
  template <typename T> static constexpr ElementType of() {
    return {T(-1) < T(0) ? Kind::Signed : Kind::Unsigned, sizeof(T)};
  }
};

/// One attribute of an object.
struct Attribute {
  ElementType type;
  std::vector<uint64_t> extents;
  std::vector<unsigned char> values;
};

/// Nothing when there is no attribute `name` of this form.
std::optional<Attribute> readAttribute(const Object &object, const std::string &name);

/// Rows that are packed together, from `row` on; the last chunk may have rows after the dataset's.
struct Chunk {
  uint64_t row = 0;
  uint64_t address = 0;
  uint32_t bytes = 0;
  bool isPlain = false; ///< stored as it is: deflate would have made it longer
};

/// A dataset of one or more dimensions; the first counts its rows.
class Dataset {
public:
  ElementType type;
  std::vector<uint64_t> extents;
  uint64_t rowBytes = 0;
  uint64_t chunkRows = 0;  ///< 0: contiguous
  uint64_t chunkBytes = 0; ///< of a whole chunk, unpacked; below 2^32
  bool isShuffled = false;
  bool isDeflated = false;

  /// Reads the header: afterwards rows times row bytes is below 2^63.
  /// Errors: false, with what is wrong ("has the wrong type") in `problem`.
  bool open(const File &file, uint64_t address, std::string &problem);
  uint64_t rows() const { return extents[0]; }
  /// Whether a file of this size can hold all rows of a small table.
  bool canHold(const File &file) const;

  /// Reads where the chunks are that the file has, by ascending rows, each in the dataset once.
  /// Together they are not larger than the file, and none has more than deflate can make of it.
  /// Errors: false when they are not so.
  bool readChunks(const File &file, std::vector<Chunk> &chunks) const;

  /// Reads all rows of a small table, which is contiguous or in one chunk.
  /// Shapes: `to` has `rows() * rowBytes` bytes.
  /// Errors: false when they cannot be read.
  bool readAll(const File &file, std::span<unsigned char> to) const;

private:
  bool openLayout(const Object &header, std::string &problem);
  bool openFilters(const Object &header);

  uint64_t address_ = kNowhere; ///< of the rows, or of the tree of chunks
};

} // namespace blockscope::hdf5
