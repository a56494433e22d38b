// The tables of what a GPU would do. Private to the writer and the reader, which both go by these
// columns.
#pragma once

#include "core/trace/table_rows.h"
#include "core/trace/trace.h"

namespace blockscope {

template <typename Row> inline constexpr auto kGpuColumns = std::tuple<>();

template <>
inline constexpr auto kGpuColumns<TraceGpuTarget> =
    std::tuple{RowColumn{"target", &TraceGpuTarget::target},
               RowColumn{"device", &TraceGpuTarget::device},
               RowColumn{"warps", &TraceGpuTarget::warps},
               RowColumn{"bytes_per_second", &TraceGpuTarget::bytesPerSecond}};

template <>
inline constexpr auto kGpuColumns<TracePeak> =
    std::tuple{RowColumn{"unit", &TracePeak::unit}, RowColumn{"dtype", &TracePeak::dtype},
               RowColumn{"flops_per_second", &TracePeak::flopsPerSecond}};

template <>
inline constexpr auto kGpuColumns<TraceTraffic> =
    std::tuple{RowColumn{"op", &TraceTraffic::op},
               RowColumn{"way", &TraceTraffic::way},
               RowColumn{"bytes", &TraceTraffic::bytes},
               RowColumn{"accesses", &TraceTraffic::accesses},
               RowColumn{"requests", &TraceTraffic::requests},
               RowColumn{"sectors", &TraceTraffic::sectors},
               RowColumn{"least_sectors", &TraceTraffic::leastSectors}};

template <>
inline constexpr auto kGpuColumns<TraceExchange> =
    std::tuple{RowColumn{"source", &TraceExchange::source},
               RowColumn{"line", &TraceExchange::line},
               RowColumn{"column", &TraceExchange::column},
               RowColumn{"what", &TraceExchange::what},
               RowColumn{"bytes", &TraceExchange::bytes},
               RowColumn{"wavefronts", &TraceExchange::wavefronts},
               RowColumn{"least_wavefronts", &TraceExchange::leastWavefronts},
               RowColumn{"in_loop", &TraceExchange::inLoop}};

template <>
inline constexpr auto kGpuColumns<TraceWork> =
    std::tuple{RowColumn{"source", &TraceWork::source}, RowColumn{"line", &TraceWork::line},
               RowColumn{"unit", &TraceWork::unit}, RowColumn{"dtype", &TraceWork::dtype},
               RowColumn{"flops", &TraceWork::flops}};

} // namespace blockscope
