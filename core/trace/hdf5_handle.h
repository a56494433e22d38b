// Owners for HDF5 identifiers, and silence for HDF5's own error printing.
#pragma once

#include <hdf5.h>

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

/// Turns HDF5's printing of its error stack off, for this thread.
inline void silenceHdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

} // namespace blockscope
