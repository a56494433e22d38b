// The bits of an element as text.
#pragma once

#include <cstdint>
#include <string>

namespace blockscope::viz {

/// The value of `bits` in a dtype of the trace ("fp32", "int8"), shortest text that reads back as
/// the same value; "0x..." of `bytes` bytes where the dtype is not known or has another width.
std::string valueText(const std::string &dtype, int bytes, uint64_t bits);

} // namespace blockscope::viz
