// The causes of HDF5's errors.
#include "core/trace/hdf5_handle.h"

#include <string_view>

namespace blockscope {
namespace {

thread_local std::string latestCause;

/// HDF5 describes failed system calls at length, with the system's text in quotes.
std::string_view causeIn(std::string_view description) {
  constexpr std::string_view kBegin = "error message = '";
  const size_t begin = description.find(kBegin);
  if (begin == std::string_view::npos)
    return description;
  const std::string_view message = description.substr(begin + kBegin.size());
  return message.substr(0, message.find('\''));
}

/// The innermost error says most.
herr_t keepFirst(unsigned depth, const H5E_error2_t *error, void *) {
  if (depth == 0 && error->desc)
    latestCause = causeIn(error->desc);
  return 0;
}

herr_t keepCause(hid_t stack, void *) {
  return H5Ewalk2(stack, H5E_WALK_UPWARD, keepFirst, nullptr);
}

} // namespace

void keepHdf5Errors() { H5Eset_auto2(H5E_DEFAULT, keepCause, nullptr); }

std::string hdf5Cause() { return latestCause.empty() ? "" : ": " + latestCause; }

} // namespace blockscope
