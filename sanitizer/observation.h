// What sanitizers see of the interpreter, under the names that it has there.
#pragma once

#include "interpreter/describe.h"
#include "interpreter/observer.h"

namespace blockscope::sanitizer {

using interpreter::Access;
using interpreter::AccessBox;
using interpreter::AccessRun;
using interpreter::Allocation;
using interpreter::AtomicScope;
using interpreter::AtomicSemantics;
using interpreter::BadLane;
using interpreter::DeviceAddress;
using interpreter::kBoxRank;
using interpreter::LaunchInfo;
using interpreter::MemoryMap;
using interpreter::Observer;
using interpreter::OpInfo;

using interpreter::badLaneCode;
using interpreter::beginFinding;
using interpreter::bytesText;
using interpreter::describeBadLane;
using interpreter::describeElement;
using interpreter::describeSite;
using interpreter::laneIndex;
using interpreter::programIndex;
using interpreter::semanticsText;

} // namespace blockscope::sanitizer
