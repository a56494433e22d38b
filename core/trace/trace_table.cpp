// Reading and writing of the small tables.
#include "core/trace/trace_table.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace blockscope {
namespace {

/// Deflate makes at most this many bytes from one.
constexpr uint64_t kMaxExpansion = 1100;
constexpr uint64_t kMaxTextBytes = uint64_t{256} << 20;

Hdf5Type textType(size_t bytes) {
  Hdf5Type type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), std::max<size_t>(1, bytes));
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

} // namespace

void TraceTableWriter::write(const char *name, hid_t type, const std::vector<hsize_t> &dims,
                             const void *values) {
  if (!good_)
    return;
  const Hdf5Space space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
  const Hdf5Properties properties(H5Pcreate(H5P_DATASET_CREATE));
  uint64_t bytes = H5Tget_size(type);
  for (const hsize_t extent : dims)
    bytes *= extent;
  if (bytes >= 4096) { // worth a chunk and its index
    H5Pset_chunk(properties.get(), static_cast<int>(dims.size()), dims.data());
    H5Pset_deflate(properties.get(), 6);
  }
  const Hdf5Dataset dataset(
      H5Dcreate2(group_, name, type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT));
  good_ = dataset &&
          (bytes == 0 || H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
}

void TraceTableWriter::matrix(const char *name, const std::vector<int64_t> &values, size_t width) {
  write(name, H5T_STD_I64LE, {values.size() / width, width}, values.data());
}

void TraceTableWriter::text(const char *name, const std::vector<std::string> &values) {
  size_t width = 1;
  for (const std::string &value : values)
    width = std::max(width, value.size());
  std::vector<char> block(width * values.size());
  for (size_t row = 0; row < values.size(); ++row)
    std::copy(values[row].begin(), values[row].end(), block.begin() + row * width);
  write(name, textType(width).get(), {values.size()}, block.data());
}

void TraceTableWriter::attribute(const char *name, const std::string &value) {
  const Hdf5Type type = textType(value.size());
  const Hdf5Space space(H5Screate(H5S_SCALAR));
  const Hdf5Attribute attribute(
      H5Acreate2(group_, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  good_ = good_ && attribute && H5Awrite(attribute.get(), type.get(), value.c_str()) >= 0;
}

void TraceTableWriter::attribute(const char *name, const std::vector<int64_t> &values) {
  const hsize_t count = values.size();
  const Hdf5Space space(H5Screate_simple(1, &count, nullptr));
  const Hdf5Attribute attribute(
      H5Acreate2(group_, name, H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  good_ = good_ && attribute && H5Awrite(attribute.get(), H5T_STD_I64LE, values.data()) >= 0;
}

void TraceTableReader::fail(const std::string &name, const std::string &what) {
  if (error_.empty())
    error_ = "'" + path_ + "/" + name + "' " + what;
}

/// Opens a dataset that must have `rank` dimensions and exactly the type; returns its dimensions.
/// `type` -1 means text.
std::vector<uint64_t> TraceTableReader::open(const char *name, hid_t type, int rank) {
  if (!error_.empty())
    return {};
  H5L_info_t link;
  if (H5Lget_info(group_, name, &link, H5P_DEFAULT) < 0) {
    fail(name, "is missing");
    return {};
  }
  if (link.type != H5L_TYPE_HARD) {
    fail(name, "is a link, not a dataset");
    return {};
  }
  dataset_ = Hdf5Dataset(H5Dopen2(group_, name, H5P_DEFAULT));
  const Hdf5Type found(dataset_ ? H5Dget_type(dataset_.get()) : -1);
  const Hdf5Space space(dataset_ ? H5Dget_space(dataset_.get()) : -1);
  if (!found || !space) {
    fail(name, "is no dataset that can be read");
    return {};
  }
  const bool rightType =
      type >= 0 ? H5Tequal(found.get(), type) > 0
                : H5Tget_class(found.get()) == H5T_STRING && H5Tis_variable_str(found.get()) == 0;
  if (!rightType) {
    fail(name, "has the wrong type");
    return {};
  }
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  if (H5Sget_simple_extent_ndims(space.get()) != rank ||
      H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr) != rank) {
    fail(name, "has the wrong number of dimensions, expected " + std::to_string(rank));
    return {};
  }
  if (rows_ < 0)
    rows_ = static_cast<int64_t>(dims[0]);
  if (static_cast<int64_t>(dims[0]) != rows_) {
    fail(name,
         "has " + std::to_string(dims[0]) + " rows, its neighbours have " + std::to_string(rows_));
    return {};
  }
  return {dims.begin(), dims.begin() + rank};
}

bool TraceTableReader::checkSize(const char *name, uint64_t rows, uint64_t rowBytes) {
  const uint64_t limit = fileBytes_ * kMaxExpansion;
  if (rowBytes == 0 || rows <= limit / rowBytes)
    return true;
  fail(name, "says it has " + std::to_string(rows) + " rows of " + std::to_string(rowBytes) +
                 " bytes, more than a file of " + std::to_string(fileBytes_) + " bytes can hold");
  return false;
}

void TraceTableReader::read(const char *name, hid_t type, void *values) {
  if (H5Dread(dataset_.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
    fail(name, "cannot be read");
}

std::vector<std::vector<int64_t>> TraceTableReader::matrix(const char *name) {
  const std::vector<uint64_t> dims = open(name, H5T_STD_I64LE, 2);
  if (dims.empty())
    return {};
  if (dims[1] > 64) {
    fail(name, "has rows of " + std::to_string(dims[1]) + " numbers, at most 64 are expected");
    return {};
  }
  if (!checkSize(name, dims[0], 8 * dims[1]))
    return {};
  std::vector<int64_t> block(dims[0] * dims[1]);
  if (!block.empty())
    read(name, H5T_STD_I64LE, block.data());
  std::vector<std::vector<int64_t>> rows;
  for (uint64_t row = 0; row < dims[0]; ++row)
    rows.emplace_back(block.begin() + row * dims[1], block.begin() + (row + 1) * dims[1]);
  return rows;
}

std::vector<std::string> TraceTableReader::text(const char *name) {
  const std::vector<uint64_t> dims = open(name, -1, 1);
  if (dims.empty())
    return {};
  const Hdf5Type type(H5Dget_type(dataset_.get()));
  const size_t width = H5Tget_size(type.get());
  if (!checkSize(name, dims[0], width))
    return {};
  if (dims[0] * width > kMaxTextBytes) {
    fail(name, "has more than 256 MiB of text");
    return {};
  }
  std::vector<char> block(dims[0] * width);
  if (!block.empty())
    read(name, type.get(), block.data());
  std::vector<std::string> rows;
  for (uint64_t row = 0; row < dims[0]; ++row) {
    const char *begin = block.data() + row * width;
    rows.emplace_back(begin, strnlen(begin, width));
  }
  return rows;
}

std::string TraceTableReader::textAttribute(const char *name) {
  if (!error_.empty())
    return {};
  const Hdf5Attribute attribute(H5Aopen(group_, name, H5P_DEFAULT));
  const Hdf5Type type(attribute ? H5Aget_type(attribute.get()) : -1);
  const Hdf5Space space(attribute ? H5Aget_space(attribute.get()) : -1);
  if (!type || !space || H5Tget_class(type.get()) != H5T_STRING ||
      H5Tis_variable_str(type.get()) != 0 || H5Sget_simple_extent_npoints(space.get()) != 1) {
    fail(name, "(an attribute) is missing or is no text");
    return {};
  }
  std::string value(H5Tget_size(type.get()), '\0');
  if (H5Aread(attribute.get(), type.get(), value.data()) < 0)
    fail(name, "(an attribute) cannot be read");
  value.resize(strnlen(value.data(), value.size()));
  return value;
}

std::vector<int64_t> TraceTableReader::numberAttribute(const char *name, size_t count) {
  if (!error_.empty())
    return std::vector<int64_t>(count);
  const Hdf5Attribute attribute(H5Aopen(group_, name, H5P_DEFAULT));
  const Hdf5Type type(attribute ? H5Aget_type(attribute.get()) : -1);
  const Hdf5Space space(attribute ? H5Aget_space(attribute.get()) : -1);
  std::vector<int64_t> values(count);
  if (!type || !space || H5Tget_class(type.get()) != H5T_INTEGER ||
      H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(count) ||
      H5Aread(attribute.get(), H5T_STD_I64LE, values.data()) < 0)
    fail(name, "(an attribute) is missing or is not " + std::to_string(count) + " numbers");
  return values;
}

} // namespace blockscope
