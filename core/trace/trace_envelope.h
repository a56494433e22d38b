// The 512 bytes before the HDF5 part: name, version, length and checksum of the file as text.
//
// They are read first, so a file that is cut short or was altered ends in an error that says so.
// The checksum is no protection against a file that was made to do harm.
#pragma once

#include "core/trace/file_bytes.h"

#include <cstdint>
#include <string>

namespace blockscope {

/// Version 1, which is read too, had 16 bits for the numbers of ops and arguments.
inline constexpr int kTraceFormatVersion = 2;
inline constexpr uint64_t kTraceEnvelopeBytes = 512;

/// Marks `path`, a closed HDF5 file with a user block, as a recording that has not ended.
/// Errors: false, with the reason in `error`.
bool writeUnfinishedEnvelope(const std::string &path, std::string &error);

/// The text of the envelope of a finished file; `crc` is that of what follows the envelope.
std::string finishedEnvelope(int version, uint64_t fileBytes, uint32_t crc);

/// Writes length and checksum of the finished file `path`.
/// Errors: false, with the reason in `error`.
bool writeFinishedEnvelope(const std::string &path, std::string &error);

/// The version of a whole, unaltered trace file that can be read.
/// Errors: 0, with the reason in `error`.
int checkEnvelope(const FileBytes &file, std::string &error);

} // namespace blockscope
