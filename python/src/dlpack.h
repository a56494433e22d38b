// The part of DLPack's interface for C (version 1) that launches use: a tensor's address, device
// and dtype by one call, and the stream that its library works in.
//
// A class offers it as `__dlpack_c_exchange_api__`, a capsule of a table of functions that lives as
// long as the process.
// Source: https://dmlc.github.io/dlpack/latest/c_api.html
#pragma once

#include <cstdint>

namespace blockscope::python {

struct Dlpack {
  static constexpr const char *kCapsule = "dlpack_exchange_api";
  static constexpr uint32_t kMajorVersion = 1;

  enum DeviceType : int32_t { kCpu = 1, kCuda = 2 };
  /// Of elements.
  enum TypeCode : uint8_t {
    kInt = 0,
    kUInt = 1,
    kFloat = 2,
    kBfloat = 4,
    kBool = 6,
    kFloat8E4M3Fn = 10,
    kFloat8E4M3FnUz = 11,
    kFloat8E5M2 = 12,
    kFloat8E5M2FnUz = 13,
  };

  struct Tensor {
    void *data;
    int32_t deviceType, device;
    int32_t rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; ///< the library's; strides in elements
    uint64_t byteOffset;
  };

  struct ExchangeApi {
    uint32_t majorVersion, minorVersion;
    const ExchangeApi *older; ///< of another major version, or null
    void *allocate, *share, *import;
    /// Describes a tensor of the class that has the table. Errors: not 0, with Python's error set.
    int (*describe)(void *tensor, Tensor *description);
    /// Errors: not 0, with Python's error set.
    int (*currentStream)(int32_t deviceType, int32_t device, void **stream);
  };
};

} // namespace blockscope::python
