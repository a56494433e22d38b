// Reads HDF5 files of the one form that trace files have; everything else is an error.
//
// The HDF5 library is not safe on files that were made to attack it. Traces come from strangers, so
// they are read by this code, which knows a small part of the format (the HDF5 File Format
// Specification, version 3.0, what libhdf5 writes by default): superblock 0, object headers 1,
// groups by symbol tables, datasets that are contiguous or in chunks of shuffled and deflated rows.
// There are no links to elsewhere, no other files, no plug-ins, no global heap.
//
// Every place is held to the file's size, and every record of a tree is read at most once: the work
// for a file is linear in its size, whatever it claims.
#pragma once

#include "core/trace/file_bytes.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blockscope::hdf5 {

/// The address that means "nothing is stored".
inline constexpr uint64_t kNowhere = UINT64_MAX;

/// An HDF5 file after a user block. Addresses count from the end of that block.
class File {
public:
  /// Errors: false when the bytes from `userBlock` on are no HDF5 file of this form.
  bool open(FileBytes bytes, uint64_t userBlock);

  /// Object header of the root group.
  uint64_t root() const { return root_; }
  /// Bytes after the user block.
  uint64_t sizeBytes() const { return bytes_.size() - userBlock_; }
  /// Errors: false when the file ends before that, or cannot be read.
  bool read(uint64_t address, std::span<unsigned char> to) const;

private:
  FileBytes bytes_;
  uint64_t userBlock_ = 0;
  uint64_t root_ = 0;
};

/// The kinds of messages in an object header that matter here; the values are those of the file.
enum class MessageKind : uint16_t {
  Dataspace = 0x01,
  Datatype = 0x03,
  ExternalFiles = 0x07,
  Layout = 0x08,
  Filters = 0x0b,
  Attribute = 0x0c,
  Continuation = 0x10,
  SymbolTable = 0x11,
};

/// One message of an object header.
struct Message {
  uint16_t kind = 0;
  std::vector<unsigned char> bytes;
};

/// The header of a group or dataset.
class Object {
public:
  /// Errors: false when there is no object header of this form at `address`.
  bool open(const File &file, uint64_t address);
  /// The first message of a kind; null when there is none.
  const Message *find(MessageKind kind) const;
  const std::vector<Message> &messages() const { return messages_; }

private:
  std::vector<Message> messages_;
};

/// A group: names and the objects that they stand for.
class Group {
public:
  /// Errors: false when there is no group of this form at `address`.
  bool open(const File &file, uint64_t address);
  const Object &header() const { return header_; }
  size_t size() const { return members_.size(); }
  /// The object called `name`; `kNowhere` when there is none, or a link to elsewhere.
  uint64_t find(std::string_view name) const;

private:
  struct Member {
    std::string name;
    uint64_t address = kNowhere;
  };
  Object header_;
  std::vector<Member> members_; ///< by name
};

} // namespace blockscope::hdf5
