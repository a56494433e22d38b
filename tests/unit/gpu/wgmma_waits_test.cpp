// Which arithmetic the waits for wgmma go in front of.
#include "gpu_backend/codegen/wgmma_waits.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

namespace blockscope::gpu {
namespace {

constexpr llvm::StringLiteral kWait = "\t// begin inline asm\n"
                                      "\twgmma.wait_group.sync.aligned 0;\n"
                                      "\t// end inline asm\n";

/// A loop that computes `inLoop` values between its copies and its wait, with a wait behind it.
std::string loopWith(int inLoop, bool isMoved) {
  std::string arithmetic;
  for (int i = 0; i < inLoop; ++i)
    arithmetic += "\tadd.s32 \t%r" + std::to_string(i) + ", %r9, 1;\n";
  const std::string behind = "\tadd.s32 \t%r8, %r9, 2;\n";
  const std::string moved = kWait.str();
  return "$L__BB0_1:\n\t@%p1 cp.async.ca.shared.global [%r1], [%rd1], 4;\n" +
         (isMoved ? moved + arithmetic : arithmetic + moved) + "\t@%p2 bra \t$L__BB0_1;\n" +
         "$L__BB0_2:\n" + behind + moved + "\tret;\n";
}

std::string withLastWaitFirst(std::string ptx) {
  const std::string behind = "\tadd.s32 \t%r8, %r9, 2;\n";
  const size_t at = ptx.find(behind);
  ptx.erase(at, behind.size());
  return ptx.insert(at + kWait.size(), behind);
}

TEST(WgmmaWaits, ComeFirstBehindLoops) {
  EXPECT_EQ(withWaitsFirst(loopWith(3, false)), withLastWaitFirst(loopWith(3, false)));
}

TEST(WgmmaWaits, ComeBeforeLittleArithmeticInLoopsWhereAskedFor) {
  EXPECT_EQ(withWaitsFirst(loopWith(8, false), true), withLastWaitFirst(loopWith(8, true)));
  EXPECT_EQ(withWaitsFirst(loopWith(9, false), true), withLastWaitFirst(loopWith(9, false)));
}

TEST(WgmmaWaits, StayBehindWhatActs) {
  const std::string ptx = "$L__BB0_1:\n\tst.shared.b32 \t[%r1], %r2;\n" + kWait.str() + "\tret;\n";
  EXPECT_EQ(withWaitsFirst(ptx, true), ptx);
}

} // namespace
} // namespace blockscope::gpu
