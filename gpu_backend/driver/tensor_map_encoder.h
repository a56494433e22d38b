// Tensor maps of a kernel, encoded for the arguments of a launch.
#pragma once

#include "gpu_backend/driver/cuda_api.h"
#include "gpu_backend/tensor_map.h"

#include <mutex>
#include <optional>
#include <string_view>

namespace blockscope {

/// Returns the value of an expression of tensor_map.h for the 8-byte cells of a launch's arguments.
///
/// Errors: nothing for a division by zero, an argument that is not there, or what is no expression.
std::optional<int64_t> evaluate(std::string_view expression, const uint64_t *arguments, int count);

/// Encodes the maps of one kernel. Maps whose numbers are those of the launch before are kept.
class TensorMapEncoder {
public:
  explicit TensorMapEncoder(std::vector<TensorMap> maps);

  size_t size() const { return maps_.size(); }
  /// Encodes all maps into `encoded`, which has room for `size()`.
  ///
  /// Errors: false when the hardware has no map for these numbers: a size below 1 or above 2^32, an
  /// address or stride that is no multiple of 16 bytes.
  bool encode(const uint64_t *arguments, int count, CUtensorMap *encoded);

private:
  struct Kept {
    std::vector<int64_t> numbers; ///< base, sizes, strides
    CUtensorMap encoded;
  };
  std::vector<TensorMap> maps_;
  std::mutex mutex_;
  std::vector<uint64_t> arguments_; ///< of the launch before
  std::vector<Kept> kept_;          ///< one for each map
};

} // namespace blockscope
