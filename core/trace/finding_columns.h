// The tables with any number of rows for each finding. Private to the writer and the reader, which
// both go by these columns.
#pragma once

#include "core/trace/trace.h"

#include <tuple>

namespace blockscope {

/// A column with text or numbers: its name in the file, and where a row has its value.
template <typename Row, typename Value> struct FindingColumn {
  using Type = Value;
  const char *name;
  Value Row::*value;
};

/// The columns of a row. The role of a place, which is an enumerator, is apart.
template <typename Row> inline constexpr auto kFindingColumns = std::tuple<>();

template <>
inline constexpr auto kFindingColumns<TracePlace> = std::tuple{
    FindingColumn{"source", &TracePlace::source},   FindingColumn{"line", &TracePlace::line},
    FindingColumn{"column", &TracePlace::column},   FindingColumn{"op", &TracePlace::op},
    FindingColumn{"program", &TracePlace::program}, FindingColumn{"access", &TracePlace::access},
    FindingColumn{"lane", &TracePlace::lane},       FindingColumn{"loop", &TracePlace::loop},
    FindingColumn{"value", &TracePlace::value}};

template <>
inline constexpr auto kFindingColumns<TraceElements> =
    std::tuple{FindingColumn{"argument", &TraceElements::argument},
               FindingColumn{"offset", &TraceElements::offsetBytes},
               FindingColumn{"inner_count", &TraceElements::innerCount},
               FindingColumn{"outer_count", &TraceElements::outerCount},
               FindingColumn{"outer_stride", &TraceElements::outerStrideBytes}};

template <>
inline constexpr auto kFindingColumns<TraceShare> = std::tuple{
    FindingColumn{"source", &TraceShare::source}, FindingColumn{"line", &TraceShare::line},
    FindingColumn{"permille", &TraceShare::permille}, FindingColumn{"what", &TraceShare::what}};

template <>
inline constexpr auto kFindingColumns<TraceWait> =
    std::tuple{FindingColumn{"program", &TraceWait::program},
               FindingColumn{"source", &TraceWait::source},
               FindingColumn{"line", &TraceWait::line},
               FindingColumn{"holder", &TraceWait::holder},
               FindingColumn{"waits", &TraceWait::waits},
               FindingColumn{"holder_text", &TraceWait::holderText}};

} // namespace blockscope
