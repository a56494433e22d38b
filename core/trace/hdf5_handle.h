// Owners for HDF5 identifiers, and HDF5's own errors as text instead of print.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

namespace blockscope {

/// Owns one HDF5 identifier and closes it with `Close`.
template <herr_t (*Close)(hid_t)> class Hdf5Handle {
public:
  Hdf5Handle() = default;
  explicit Hdf5Handle(hid_t id) : id_(id) {}
  Hdf5Handle(Hdf5Handle &&other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Hdf5Handle &operator=(Hdf5Handle &&other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Hdf5Handle() { close(); }

  bool close() { return id_ < 0 || Close(std::exchange(id_, -1)) >= 0; }
  explicit operator bool() const { return id_ >= 0; }
  hid_t get() const { return id_; }

private:
  hid_t id_ = -1;
};

using Hdf5File = Hdf5Handle<H5Fclose>;
using Hdf5Group = Hdf5Handle<H5Gclose>;
using Hdf5Dataset = Hdf5Handle<H5Dclose>;
using Hdf5Space = Hdf5Handle<H5Sclose>;
using Hdf5Type = Hdf5Handle<H5Tclose>;
using Hdf5Attribute = Hdf5Handle<H5Aclose>;
using Hdf5Properties = Hdf5Handle<H5Pclose>;

/// The HDF5 type on disk and in memory of a C++ number.
template <typename T> hid_t hdf5TypeOf();
template <> inline hid_t hdf5TypeOf<uint8_t>() { return H5T_STD_U8LE; }
template <> inline hid_t hdf5TypeOf<int32_t>() { return H5T_STD_I32LE; }
template <> inline hid_t hdf5TypeOf<uint32_t>() { return H5T_STD_U32LE; }
template <> inline hid_t hdf5TypeOf<int64_t>() { return H5T_STD_I64LE; }

/// Has HDF5 keep its errors for `hdf5Cause` instead of printing them, for this thread.
void keepHdf5Errors();
/// Returns ": " and the cause of HDF5's latest error on this thread ("No space left on device",
/// "object header message is too large"), or nothing.
std::string hdf5Cause();

} // namespace blockscope
