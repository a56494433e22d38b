// Moves: mov, packing and unpacking of registers, special registers, cvta.
#include "interpreter/ptx/decoder.h"

#include "llvm/ADT/StringSwitch.h"

#include <array>
#include <chrono>
#include <optional>

namespace blockscope::interpreter::ptx {
namespace {

using Read = std::function<uint64_t(const ExecutionContext &)>;

uint64_t nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::optional<int> axisOf(llvm::StringRef name, llvm::StringRef prefix) {
  if (!name.consume_front(prefix) || !name.consume_front("."))
    return std::nullopt;
  return llvm::StringSwitch<std::optional<int>>(name)
      .Case("x", 0)
      .Case("y", 1)
      .Case("z", 2)
      .Default(std::nullopt);
}

struct Special {
  int bits = 0; ///< 0: there is no such register
  Read read;
  bool isClock = false;
};

/// On the CPU one thread runs a whole program, and it is alone: a thread block of one thread, a
/// cluster of one thread block, on the only processor. Clocks count nanoseconds.
Special specialOf(llvm::StringRef name) {
  const auto constant = [](int bits, uint64_t value) {
    return Special{bits, [value](const ExecutionContext &) { return value; }};
  };
  for (const llvm::StringRef id : {"%ctaid", "%clusterid"})
    if (const auto axis = axisOf(name, id))
      return {32, [axis = *axis](const ExecutionContext &context) {
                return static_cast<uint64_t>(static_cast<uint32_t>(context.program[axis]));
              }};
  for (const llvm::StringRef count : {"%nctaid", "%nclusterid"})
    if (const auto axis = axisOf(name, count))
      return {32, [axis = *axis](const ExecutionContext &context) {
                return static_cast<uint64_t>(
                    static_cast<uint32_t>(context.launch->info.grid[axis]));
              }};
  for (const llvm::StringRef zero : {"%tid", "%cluster_ctaid"})
    if (axisOf(name, zero))
      return constant(32, 0);
  for (const llvm::StringRef one : {"%ntid", "%cluster_nctaid"})
    if (axisOf(name, one))
      return constant(32, 1);
  const auto clock = [](int bits, int shift) {
    return Special{bits, [shift](const ExecutionContext &) { return nanoseconds() >> shift; },
                   true};
  };
  return llvm::StringSwitch<Special>(name)
      .Cases({"%laneid", "%warpid", "%smid", "%cluster_ctarank"}, constant(32, 0))
      .Cases({"%nwarpid", "%nsmid", "%cluster_nctarank"}, constant(32, 1))
      .Cases({"%dynamic_smem_size", "%total_smem_size"}, constant(32, 0))
      .Case("%gridid", constant(64, 0))
      .Cases({"%lanemask_eq", "%lanemask_le"}, constant(32, 1))
      .Case("%lanemask_lt", constant(32, 0))
      .Case("%lanemask_ge", constant(32, 0xffffffff))
      .Case("%lanemask_gt", constant(32, 0xfffffffe))
      .Cases({"%clock", "%globaltimer_lo"}, clock(32, 0))
      .Cases({"%clock_hi", "%globaltimer_hi"}, clock(32, 32))
      .Cases({"%clock64", "%globaltimer"}, clock(64, 0))
      .Default({});
}

void decodeSpecial(Decoder &d, llvm::StringRef type) {
  const std::string &name = d.operand(1).name;
  const Special special = specialOf(name);
  if (special.bits == 0)
    return d.fail("'" + name + "' is neither declared nor a special register that the CPU has");
  if (blockscope::ptx::typeBits(type) != special.bits)
    return d.fail("'" + name + "' has " + std::to_string(special.bits) + " bits");
  d.out(d.operand(0), type);
  d.set(
      [read = special.read, isClock = special.isClock](const Lanes &lanes) {
        const uint64_t value = read(*lanes.context);
        std::fill_n(lanes.out[0], lanes.count, value);
        if (isClock && lanes.context->launch->info.hasAtomics) // time that passes is progress
          lanes.context->launch->progress.fetch_add(1, std::memory_order_release);
      },
      /*hasEffects=*/true);
}

std::string partType(llvm::StringRef type, size_t parts) {
  return "b" + std::to_string(blockscope::ptx::typeBits(type) / static_cast<int>(parts));
}

void decodeUnpack(Decoder &d, llvm::StringRef type) {
  const std::vector<Operand> &parts = d.operand(0).parts;
  const std::string part = partType(type, parts.size());
  for (const Operand &operand : parts)
    d.out(operand, part);
  d.in(d.operand(1), type);
  const int bits = blockscope::ptx::typeBits(part);
  d.set([bits, count = parts.size()](const Lanes &lanes) {
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    for (size_t k = 0; k < count; ++k)
      for (int64_t i = 0; lanes.out[k] && i < lanes.count; ++i)
        lanes.out[k][i] = lanes.in[0][i] >> k * bits & mask;
  });
}

void decodePack(Decoder &d, llvm::StringRef type) {
  const std::vector<Operand> &parts = d.operand(1).parts;
  const std::string part = partType(type, parts.size());
  d.out(d.operand(0), type);
  for (const Operand &operand : parts)
    d.in(operand, part);
  const int bits = blockscope::ptx::typeBits(part);
  d.set([bits, count = parts.size()](const Lanes &lanes) {
    for (int64_t i = 0; i < lanes.count; ++i) {
      uint64_t word = 0;
      for (size_t k = 0; k < count; ++k)
        word |= lanes.in[k][i] << k * bits;
      lanes.out[0][i] = word;
    }
  });
}

void decodeMov(Decoder &d) {
  const std::string type = d.takeType();
  if (blockscope::ptx::typeBits(type) == 0)
    return d.failType(type);
  if (!d.expectOperands(2))
    return;
  const auto isList = [](const Operand &operand) { return operand.kind == Operand::Kind::Vector; };
  for (const Operand *operand : {&d.operand(0), &d.operand(1)}) {
    const size_t parts = operand->parts.size();
    if (isList(*operand) && parts != 2 && parts != 4 && parts != 8)
      return d.fail("a list has 2, 4 or 8 parts");
  }
  if (isList(d.operand(0)))
    return decodeUnpack(d, type);
  if (isList(d.operand(1)))
    return decodePack(d, type);
  if (d.operand(1).kind == Operand::Kind::Special)
    return decodeSpecial(d, type);
  if (d.plain(type, {type}))
    d.set(each<uint64_t, uint64_t>([](uint64_t a) { return a; }));
}

} // namespace

void decodeMove(Decoder &d) {
  if (d.name() == "mov") {
    decodeMov(d);
  } else if (d.name() == "cvta") { // all addresses are generic ones
    d.take("to");
    if (!d.take("global"))
      return d.fail("only global memory has addresses on the CPU");
    const std::string type = d.takeType();
    if (type != "u64")
      return d.failType(type);
    if (d.plain(type, {type}))
      d.set(each<uint64_t, uint64_t>([](uint64_t a) { return a; }));
  }
}

} // namespace blockscope::interpreter::ptx
