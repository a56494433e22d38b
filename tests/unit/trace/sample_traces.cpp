// Writers of the synthetic traces.
#include "tests/unit/trace/sample_traces.h"

#include "core/trace/trace_writer.h"

#include <algorithm>
#include <random>
#include <vector>

namespace blockscope {
namespace {

TraceArgument tensor(const char *name, const char *dtype, int64_t elementBytes,
                     std::vector<int64_t> shape) {
  TraceArgument argument;
  argument.name = name;
  argument.dtype = dtype;
  argument.elementBytes = elementBytes;
  argument.strides.assign(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    argument.strides[dim - 1] = argument.strides[dim] * shape[dim];
  argument.storageBytes = elementBytes;
  for (const int64_t extent : shape)
    argument.storageBytes *= extent;
  argument.shape = std::move(shape);
  return argument;
}

TraceArgument scalar(const char *name, int64_t value) {
  TraceArgument argument;
  argument.name = name;
  argument.dtype = "i32";
  argument.value = std::to_string(value);
  return argument;
}

TraceOp op(const char *name, TraceOpKind kind, int32_t line, int32_t column, const char *variable) {
  return {name, kind, 0, line, column, variable, ""};
}

TraceFinding finding(FindingCode code, const char *message, int32_t opAndArgument, int64_t program,
                     int32_t line, int32_t column, int64_t count) {
  TraceFinding result;
  result.code = code;
  result.severity = infoOf(code).severity;
  result.message = message;
  result.site.location.line = line;
  result.site.location.column = column;
  result.count = count;
  result.op = result.argument = opAndArgument;
  result.program = program;
  result.source = 0;
  result.json = "{}";
  return result;
}

/// One run of `count` neighbours.
TraceRun run(uint32_t program, uint32_t op, int32_t argument, int64_t firstElement, uint32_t count,
             uint8_t elementBytes, TraceAccessKind kind) {
  TraceRun result;
  result.program = program;
  result.op = op;
  result.argument = argument;
  result.offsetBytes = firstElement * elementBytes;
  result.innerCount = count;
  result.innerStrideBytes = elementBytes;
  result.elementBytes = elementBytes;
  result.kind = kind;
  result.flags = kTraceFirstOfBlock;
  return result;
}

TraceRun tile(uint32_t program, uint32_t op, int32_t argument, int64_t firstElement,
              uint32_t columns, uint32_t rows, int64_t rowElements, uint8_t elementBytes,
              TraceAccessKind kind) {
  TraceRun result = run(program, op, argument, firstElement, columns, elementBytes, kind);
  result.outerCount = rows;
  result.outerStrideBytes = rowElements * elementBytes;
  return result;
}

constexpr TraceAccessKind kRead = TraceAccessKind::Read;
constexpr TraceAccessKind kWrite = TraceAccessKind::Write;

const char *const kAddSource = R"(import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Add two vectors, one block of elements per program."""
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 1024),)
    add_kernel[grid](x, y, out, x.numel(), BLOCK=1024)
    return out
)";

const char *const kMatmulSource = R"(import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        ks = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * stride_am + ks[None, :])
        b = tl.load(b_ptr + ks[:, None] * stride_bk + cols[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * stride_cm + cols[None, :], acc.to(tl.float16))
)";

const char *const kBrokenSource = R"(import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    # BUG: BLOCK is 128, a row has 100 columns, and there is no mask.
    x = tl.load(x_ptr + row * n_cols + cols)
    total = tl.sum(x, axis=0)
    tl.store(out_ptr + row - 1, total)
)";

bool finish(TraceWriter &writer, const TraceLaunch &launch) {
  return writer.endLaunch(launch) && writer.close();
}

} // namespace

bool writeVectorAddTrace(const std::string &path, int64_t elements, int64_t block) {
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  if (!writer)
    return false;
  writer->addSource({"add.py", kAddSource, 1});
  TraceLaunch launch;
  launch.kernel = "add_kernel";
  launch.grid = {(elements + block - 1) / block, 1, 1};
  launch.parameters = {{"BLOCK", std::to_string(block)}};
  launch.options = {{"num_warps", "4"}, {"num_stages", "3"}};
  launch.arguments = {tensor("x_ptr", "fp32", 4, {elements}),
                      tensor("y_ptr", "fp32", 4, {elements}),
                      tensor("out_ptr", "fp32", 4, {elements}), scalar("n", elements)};
  launch.ops = {op("tl.load", TraceOpKind::Read, 12, 9, "x"),
                op("tl.load", TraceOpKind::Read, 13, 9, "y"),
                op("tl.store", TraceOpKind::Write, 14, 5, "")};
  writer->beginLaunch();
  for (int64_t program = 0; program < launch.grid[0]; ++program) {
    const auto count = static_cast<uint32_t>(std::min(block, elements - program * block));
    std::vector<TraceRun> runs;
    for (uint16_t index = 0; index < 3; ++index) {
      runs.push_back(run(static_cast<uint32_t>(program), index, static_cast<int16_t>(index),
                         program * block, count, 4, index < 2 ? kRead : kWrite));
      runs.back().maskedLanes = static_cast<uint32_t>(block) - count;
    }
    writer->appendRuns(runs);
  }
  return finish(*writer, launch);
}

bool writeMatmulTrace(const std::string &path, int64_t size) {
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  if (!writer)
    return false;
  writer->addSource({"matmul.py", kMatmulSource, 1});
  TraceLaunch launch;
  launch.kernel = "matmul_kernel";
  launch.grid = {size / 32, size / 32, 1};
  launch.parameters = {{"BLOCK_M", "32"}, {"BLOCK_N", "32"}, {"BLOCK_K", "32"}};
  launch.options = {{"num_warps", "4"}};
  launch.arguments = {tensor("a_ptr", "fp16", 2, {size, size}),
                      tensor("b_ptr", "fp16", 2, {size, size}),
                      tensor("c_ptr", "fp16", 2, {size, size}),
                      scalar("M", size),
                      scalar("N", size),
                      scalar("K", size),
                      scalar("stride_am", size),
                      scalar("stride_bk", size),
                      scalar("stride_cm", size)};
  launch.ops = {op("tl.load", TraceOpKind::Read, 15, 13, "a"),
                op("tl.load", TraceOpKind::Read, 16, 13, "b"),
                op("tl.store", TraceOpKind::Write, 18, 5, "")};
  writer->beginLaunch();
  for (int64_t y = 0; y < launch.grid[1]; ++y)
    for (int64_t x = 0; x < launch.grid[0]; ++x) {
      const auto program = static_cast<uint32_t>(x + launch.grid[0] * y);
      std::vector<TraceRun> runs;
      for (int64_t k = 0; k < size; k += 32) {
        runs.push_back(tile(program, 0, 0, x * 32 * size + k, 32, 32, size, 2, kRead));
        runs.push_back(tile(program, 1, 1, k * size + y * 32, 32, 32, size, 2, kRead));
      }
      runs.push_back(tile(program, 2, 2, x * 32 * size + y * 32, 32, 32, size, 2, kWrite));
      writer->appendRuns(runs);
    }
  return finish(*writer, launch);
}

bool writeBrokenTrace(const std::string &path) {
  constexpr int64_t kRows = 13;
  constexpr int64_t kColumns = 100;
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  if (!writer)
    return false;
  writer->addSource({"row_sum.py", kBrokenSource, 1});
  TraceLaunch launch;
  launch.kernel = "row_sum_kernel";
  launch.grid = {kRows, 1, 1};
  launch.parameters = {{"BLOCK", "128"}};
  launch.options = {{"num_warps", "4"}};
  launch.arguments = {tensor("x_ptr", "fp32", 4, {kRows, kColumns}),
                      tensor("out_ptr", "fp32", 4, {kRows}), scalar("n_cols", kColumns)};
  launch.ops = {op("tl.load", TraceOpKind::Read, 10, 9, "x"),
                op("tl.store", TraceOpKind::Write, 12, 5, "")};
  writer->beginLaunch();
  for (uint32_t row = 0; row < kRows; ++row) {
    const uint32_t inside = row + 1 < kRows ? 128 : 100;
    std::vector<TraceRun> runs = {run(row, 0, 0, row * kColumns, inside, 4, kRead)};
    if (inside < 128) {
      runs.push_back(run(row, 0, 0, kRows * kColumns, 128 - inside, 4, kRead));
      runs.back().flags = kTraceOutsideView | kTraceOutsideStorage;
    }
    runs.push_back(run(row, 1, 1, static_cast<int64_t>(row) - 1, 1, 4, kWrite));
    if (row == 0)
      runs.back().flags |= kTraceOutsideView | kTraceOutsideStorage;
    writer->appendRuns(runs);
  }
  launch.findings = {
      finding(FindingCode::OobLoad,
              "load of 4 bytes at byte 5200 of 'x_ptr', which has 5200 bytes; 28 lanes of program "
              "(12, 0, 0)",
              0, 12, 10, 9, 28),
      finding(FindingCode::OobStore, "store of 4 bytes at byte -4 of 'out_ptr'", 1, 0, 12, 5, 1),
      finding(FindingCode::RaceSameValue, "28 elements of the next row enter the sum of row 0", 0,
              1, 10, 9, 336)};
  return finish(*writer, launch);
}

namespace {

const char *const kFindingsSource = R"(import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, lock_ptr):
    row = tl.program_id(0)
    cols = tl.arange(0, 16)
    x = tl.load(x_ptr + row * 16 + cols)
    y = x / x
    tl.store(out_ptr + row * 16 + cols, y, mask=cols < 12)
    while tl.atomic_cas(lock_ptr + row % 2, 0, 1) == 1:
        pass
)";

TracePlace place(SiteRole role, int32_t op, int64_t program, int32_t line, const char *access,
                 const char *lane) {
  TracePlace result;
  result.role = role;
  result.source = 0;
  result.line = line;
  result.column = 5;
  result.op = op;
  result.program = program;
  result.access = access;
  result.lane = lane;
  return result;
}

std::vector<TraceFinding> findingsOfAllKinds() {
  TraceFinding undefined =
      finding(FindingCode::UndefinedValue, "this store writes undefined data", 0, 3, 9, 9, 8);
  undefined.places = {place(SiteRole::Here, 1, 3, 11, "store", "4 of [16]"),
                      place(SiteRole::BornAt, 0, 3, 9, "load", "4 of [16]")};
  undefined.elementOffsetBytes = (3 * 16 + 4) * 4;
  undefined.elements = {{0, (3 * 16 + 4) * 4, 8, 1, 0}};
  TraceFinding hole = finding(FindingCode::NeverWritten, "no program writes out_ptr[0:16, 12:16]",
                              1, -1, 11, 5, 64);
  hole.places = {place(SiteRole::Here, 1, -1, 11, "", "")};
  hole.elementOffsetBytes = 12 * 4;
  hole.elements = {{1, 12 * 4, 4, 16, 64}};
  TraceFinding race =
      finding(FindingCode::RaceWriteWrite, "programs 2 and 1 both write 'out_ptr'", 1, 2, 11, 5, 1);
  race.places = {place(SiteRole::Here, 1, 2, 11, "store", "5 of [16]"),
                 place(SiteRole::OtherSide, 1, 1, 11, "store", "5 of [16]")};
  race.places[0].value = "2.5";
  race.elementOffsetBytes = (2 * 16 + 5) * 4;
  race.elements = {{1, (2 * 16 + 5) * 4, 1, 1, 0}};
  race.hint = "give each program its own elements";
  TraceFinding nan =
      finding(FindingCode::NanBorn, "0 / 0 gives NaN, which a store writes", 1, 6, 10, 9, 1);
  nan.op = -1;
  nan.places = {place(SiteRole::Here, -1, 6, 10, "", "0 of [16]"),
                place(SiteRole::ArrivesAt, 1, 6, 11, "store", "0 of [16]")};
  nan.elementOffsetBytes = 6 * 16 * 4;
  nan.elements = {{1, 6 * 16 * 4, 1, 1, 0}};
  TraceFinding deadlock =
      finding(FindingCode::Deadlock, "program 4 waits here for ever", 2, 4, 12, 11, 2);
  deadlock.places = {place(SiteRole::Here, 2, 4, 12, "atomic compare-and-swap", ""),
                     place(SiteRole::ChangedAt, 2, 5, 12, "atomic compare-and-swap", "")};
  deadlock.waits = {{4, 0, 12, 5, "in line 12 for 'lock_ptr'[0] = 1",
                     "taken by program 5 in line 12, which waits, too"},
                    {5, 0, 12, 4, "in line 12 for 'lock_ptr'[1] = 1",
                     "taken by program 4 in line 12, which waits, too"}};
  deadlock.elements = {{2, 0, 2, 1, 0}};
  TraceFinding elsewhere =
      finding(FindingCode::IndexWrap, "this int32 product wraps", 0, -1, 9, 9, 1);
  elsewhere.op = elsewhere.argument = -1;
  elsewhere.values = {{"row", "65536"}, {"stride", "65536"}, {"wrapped", "0"}};
  elsewhere.isElsewhere = true;
  hole.lineShares = {{0, 10, 620, "a quotient in fp32"}, {0, 9, 4, "a cast"}};
  return {undefined, hole, race, nan, deadlock, elsewhere};
}

} // namespace

bool writeFindingsTrace(const std::string &path) {
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  if (!writer)
    return false;
  writer->addSource({"/home/user/copy.py", kFindingsSource, 1});
  TraceLaunch launch;
  launch.kernel = "copy_kernel";
  launch.grid = {16, 1, 1};
  launch.arguments = {tensor("x_ptr", "fp32", 4, {16, 16}), tensor("out_ptr", "fp32", 4, {16, 16}),
                      tensor("lock_ptr", "int32", 4, {2})};
  launch.ops = {op("tl.load", TraceOpKind::Read, 9, 9, "x"),
                op("tl.store", TraceOpKind::Write, 11, 5, ""),
                op("tl.atomic_cas", TraceOpKind::Atomic, 12, 11, "")};
  writer->beginLaunch();
  for (uint32_t row = 0; row < 16; ++row) {
    std::vector<TraceRun> runs = {run(row, 0, 0, row * 16, 16, 4, kRead),
                                  run(row, 1, 1, row * 16, 12, 4, kWrite)};
    if (row == 1)
      runs.push_back(run(row, 1, 1, 2 * 16 + 5, 1, 4, kWrite));
    if (row == 4 || row == 5) // each takes one and waits for the other
      for (const int64_t lock : {row + 1, row})
        runs.push_back(run(row, 2, 2, lock % 2, 1, 4, TraceAccessKind::Atomic));
    writer->appendRuns(runs);
  }
  launch.findings = findingsOfAllKinds();
  return finish(*writer, launch);
}

bool writeGatherTrace(const std::string &path, int64_t accesses) {
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  if (!writer)
    return false;
  writer->addSource(
      {"gather.py", "# a gather\nx = tl.load(table_ptr + tl.load(index_ptr + i))\n", 1});
  constexpr int64_t kBlock = 1024;
  TraceLaunch launch;
  launch.kernel = "gather_kernel";
  launch.grid = {(accesses + kBlock - 1) / kBlock, 1, 1};
  launch.arguments = {tensor("table_ptr", "fp32", 4, {1000, 1000})};
  launch.ops = {op("tl.load", TraceOpKind::Read, 2, 5, "x")};
  writer->beginLaunch();
  std::mt19937_64 random(7);
  std::vector<TraceRun> runs;
  for (int64_t index = 0; index < accesses; ++index) {
    runs.push_back(run(static_cast<uint32_t>(index / kBlock), 0, 0,
                       static_cast<int64_t>(random() % 1'000'000), 1, 4, kRead));
    runs.back().innerStrideBytes = 0;
    runs.back().flags = index % kBlock == 0 ? kTraceFirstOfBlock : 0;
    if (runs.size() == kBlock) {
      writer->appendRuns(runs);
      runs.clear();
    }
  }
  writer->appendRuns(runs);
  return finish(*writer, launch);
}

bool writeViewsTrace(const std::string &path) {
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  if (!writer)
    return false;
  writer->addSource({"views.py", "# two launches\nx = tl.load(p)\n", 1});
  TraceLaunch launch;
  launch.kernel = "cube_kernel";
  launch.grid = {2, 2, 1};
  launch.arguments = {tensor("cube_ptr", "fp32", 4, {4, 6, 10})};
  launch.ops = {op("tl.load", TraceOpKind::Read, 2, 5, "x")};
  writer->beginLaunch();
  for (uint32_t program = 0; program < 4; ++program) {
    const TraceRun each = tile(program, 0, 0, program * 60, 10, program + 1, 10, 4, kRead);
    writer->appendRuns({&each, 1});
  }
  if (!writer->endLaunch(launch))
    return false;

  launch = TraceLaunch();
  launch.kernel = "view_kernel";
  TraceArgument view = tensor("view_ptr", "fp32", 4, {8, 5});
  view.strides = {16, 1}; // columns 4 to 8 of an 8x16 buffer
  view.storageBytes = 8 * 16 * 4;
  view.baseOffsetBytes = 16;
  launch.arguments = {view};
  launch.ops = {op("tl.store", TraceOpKind::Write, 2, 5, "")};
  writer->beginLaunch();
  const TraceRun wide = tile(0, 0, 0, 0, 7, 8, 16, 4, kWrite); // two columns too many
  writer->appendRuns({&wide, 1});
  return finish(*writer, launch);
}

} // namespace blockscope
