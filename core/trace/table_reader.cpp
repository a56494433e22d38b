// Reading of the small tables. The numbers of the file are little-endian, as those of this machine.
#include "core/trace/table_reader.h"

#include <bit>
#include <cstring>

namespace blockscope {

static_assert(std::endian::native == std::endian::little);

void TraceTableReader::fail(const std::string &name, const std::string &what) {
  if (error_.empty())
    error_ = "'" + path_ + "/" + name + "' " + what;
}

/// Opens a dataset that must have `rank` dimensions and exactly the type; without a type, text.
bool TraceTableReader::open(const char *name, std::optional<hdf5::ElementType> type, size_t rank) {
  if (!error_.empty())
    return false;
  const uint64_t address = group_.find(name);
  std::string problem;
  if (address == hdf5::kNowhere)
    fail(name, "is missing");
  else if (!dataset_.open(file_, address, problem))
    fail(name, problem);
  else if (type ? dataset_.type != *type : dataset_.type.kind != hdf5::ElementType::Kind::Text)
    fail(name, "has the wrong type");
  else if (dataset_.extents.size() != rank)
    fail(name, "has the wrong number of dimensions, expected " + std::to_string(rank));
  else if (rows_ && dataset_.rows() != *rows_)
    fail(name, "has " + std::to_string(dataset_.rows()) + " rows, its neighbours have " +
                   std::to_string(*rows_));
  else
    rows_ = dataset_.rows();
  return error_.empty();
}

bool TraceTableReader::take(const char *name, uint64_t rows, uint64_t rowBytes) {
  if (!dataset_.canHold(file_)) {
    fail(name, "says it has " + std::to_string(rows) + " rows of " +
                   std::to_string(dataset_.rowBytes) + " bytes, more than a file of " +
                   std::to_string(file_.sizeBytes()) + " bytes can hold");
    return false;
  }
  if (!budget_.take(rows, rowBytes))
    fail(name, "needs " + budget_.excuse());
  return error_.empty();
}

void TraceTableReader::read(const char *name, std::span<unsigned char> to) {
  if (!dataset_.readAll(file_, to))
    fail(name, "cannot be read");
}

std::vector<std::vector<int64_t>> TraceTableReader::matrix(const char *name) {
  constexpr uint64_t kMaxWidth = 64;
  if (!open(name, hdf5::ElementType::of<int64_t>(), 2))
    return {};
  const uint64_t width = dataset_.extents[1];
  if (width > kMaxWidth) {
    fail(name, "has rows of " + std::to_string(width) + " numbers, at most 64 are expected");
    return {};
  }
  if (!take(name, dataset_.rows(), 2 * dataset_.rowBytes + sizeof(std::vector<int64_t>)))
    return {};
  std::vector<int64_t> block(dataset_.rows() * width);
  read(name, {reinterpret_cast<unsigned char *>(block.data()), block.size() * sizeof(int64_t)});
  std::vector<std::vector<int64_t>> rows;
  for (auto at = block.begin(); rows.size() < dataset_.rows(); at += static_cast<long>(width))
    rows.emplace_back(at, at + static_cast<long>(width));
  return rows;
}

std::vector<std::string> TraceTableReader::text(const char *name) {
  if (!open(name, std::nullopt, 1) ||
      !take(name, dataset_.rows(), 2 * dataset_.rowBytes + sizeof(std::string)))
    return {};
  const size_t width = dataset_.rowBytes;
  std::vector<unsigned char> block(dataset_.rows() * width);
  read(name, block);
  std::vector<std::string> rows;
  for (uint64_t row = 0; row < dataset_.rows(); ++row) {
    const char *begin = reinterpret_cast<const char *>(block.data()) + row * width;
    rows.emplace_back(begin, strnlen(begin, width));
  }
  return rows;
}

std::string TraceTableReader::textAttribute(const char *name) {
  const auto found = hdf5::readAttribute(group_.header(), name);
  if (!found || found->type.kind != hdf5::ElementType::Kind::Text || !found->extents.empty()) {
    fail(name, "(an attribute) is missing or is no text");
    return {};
  }
  const char *begin = reinterpret_cast<const char *>(found->values.data());
  return {begin, strnlen(begin, found->values.size())};
}

std::vector<int64_t> TraceTableReader::numberAttribute(const char *name, size_t count) {
  std::vector<int64_t> values(count);
  const auto found = hdf5::readAttribute(group_.header(), name);
  if (found && found->type == hdf5::ElementType::of<int64_t>() && found->extents.size() == 1 &&
      found->values.size() == count * sizeof(int64_t))
    std::memcpy(values.data(), found->values.data(), found->values.size());
  else
    fail(name, "(an attribute) is missing or is not " + std::to_string(count) + " numbers");
  return values;
}

} // namespace blockscope
