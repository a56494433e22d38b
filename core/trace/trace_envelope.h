// The 512 bytes before the HDF5 part: name, version, length and checksum of the file as text.
//
// The HDF5 library is not safe on damaged input; a file is handed to it only after the checksum of
// every byte was found right. So a truncated or altered file ends in a clear error.
#pragma once

#include <cstdint>
#include <string>

namespace blockscope {

inline constexpr int kTraceFormatVersion = 1;
inline constexpr uint64_t kTraceEnvelopeBytes = 512;

/// Marks `path`, a closed HDF5 file with a user block, as a recording that has not ended.
/// Errors: false, with the reason in `error`.
bool writeUnfinishedEnvelope(const std::string &path, std::string &error);

/// Writes length and checksum of the finished file `path`.
/// Errors: false, with the reason in `error`.
bool writeFinishedEnvelope(const std::string &path, std::string &error);

/// True when `path` is a whole, unaltered trace file of this version; else says why not.
bool checkEnvelope(const std::string &path, std::string &error);

} // namespace blockscope
