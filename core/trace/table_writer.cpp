// Writing of the small tables.
#include "core/trace/table_writer.h"

#include "core/trace/trace_chunk.h"

#include <algorithm>

namespace blockscope {
namespace {

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

Hdf5Group createGroup(hid_t parent, const char *name) {
  return Hdf5Group(H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
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

Hdf5Dataset createColumn(hid_t group, const char *name, hid_t type, size_t chunkRows,
                         const void *defaultValue) {
  const hsize_t none = 0;
  const hsize_t unlimited = H5S_UNLIMITED;
  const hsize_t chunk = std::max<size_t>(1, chunkRows);
  const Hdf5Space space(H5Screate_simple(1, &none, &unlimited));
  const Hdf5Properties properties(H5Pcreate(H5P_DATASET_CREATE));
  if (!space || !properties || H5Pset_chunk(properties.get(), 1, &chunk) < 0 ||
      (H5Tget_size(type) > 1 && H5Pset_shuffle(properties.get()) < 0) ||
      H5Pset_deflate(properties.get(), kTraceDeflateLevel) < 0 ||
      H5Pset_fill_value(properties.get(), type, defaultValue) < 0)
    return {};
  return Hdf5Dataset(
      H5Dcreate2(group, name, type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT));
}

} // namespace blockscope
