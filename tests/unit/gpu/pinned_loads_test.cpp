// Which loads ptxas may not put off.
#include "gpu_backend/codegen/pinned_loads.h"

#include "llvm/ADT/StringRef.h"

#include <gtest/gtest.h>

namespace blockscope::gpu {
namespace {

std::string kernelOf(llvm::StringRef body) {
  return (".visible .entry k()\n.reqntid 128\n{\n" + body + "\tret;\n}\n").str();
}

constexpr llvm::StringLiteral kLoads = "\tmov.b32 \t%r1, 0;\n"
                                       "\t@%p1 ld.global.b32 %r1, [%rd1];\n"
                                       "\tadd.s64 \t%rd3, %rd1, 4;\n"
                                       "\tld.global.v2.b16 {%rs1, %rs2}, [%rd3];\n";

TEST(PinnedLoads, ThatFollowEachOtherHaveABranchBehindThem) {
  const std::string ptx = withPinnedLoads(kernelOf(kLoads.str() + "\tadd.s32 \t%r2, %r1, 1;\n"));
  const llvm::StringRef text = ptx;
  const size_t last = text.find("%rs2}"), branch = text.find("@%pinned bra \t$L__pinned0;"),
               use = text.find("add.s32 \t%r2"), code = text.find("$L__pinned0:\n");
  EXPECT_LT(last, branch);
  EXPECT_LT(branch, use);
  EXPECT_LT(use, code);
  EXPECT_TRUE(text.drop_front(code).contains("st.shared.b32 \t[%pinwarps], %r1;\n"
                                             "\tst.shared.b16 \t[%pinwarps], %rs2;\n\tret;\n}"));
  EXPECT_LT(text.find("mov.u32 \t%pinwarps, %nwarpid;"), last);
  EXPECT_EQ(text.count("$L__pinned"), 2U);
}

TEST(PinnedLoads, AreLeftAloneWhereNoneFollowsAnother) {
  for (const llvm::StringRef between :
       {"\tadd.s32 \t%r2, %r1, 1;\n", "\tst.global.b32 [%rd2], %r9;\n", "\tbar.sync \t0;\n",
        "$L__BB0_1:\n", "\t@%p2 bra \t$L__BB0_1;\n"}) {
    const std::string ptx = kernelOf("\tld.global.b32 %r1, [%rd1];\n" + between.str() +
                                     "\tld.global.b32 %r3, [%rd1];\n");
    EXPECT_EQ(withPinnedLoads(ptx), ptx) << between.str();
  }
}

TEST(PinnedLoads, AreCountedInGroups) {
  const auto groupsIn = [](const std::string &body) {
    int groups = 7;
    withPinnedLoads(kernelOf(body), &groups);
    return groups;
  };
  const std::string use = "\tadd.s32 \t%r2, %r1, 1;\n", one = "\tld.global.b32 %r5, [%rd1];\n";
  EXPECT_EQ(groupsIn(use), 0);
  EXPECT_EQ(groupsIn(one), 0);
  EXPECT_EQ(groupsIn(kLoads.str() + use), 1);
  EXPECT_EQ(groupsIn(kLoads.str() + use + one), 1);
  EXPECT_EQ(groupsIn(kLoads.str() + use + kLoads.str() + use), 2);
}

TEST(PinnedLoads, HaveTheirCodeBehindAllOfTheKernel) {
  const std::string assembly = "\t// begin inline asm\n{\n.reg .b32 t;\n}\n\t// end inline asm\n";
  const std::string ptx =
      withPinnedLoads(kernelOf(kLoads.str() + assembly + "\tmov.b32 %r7, 7;\n"));
  EXPECT_LT(ptx.find("mov.b32 %r7, 7;\n\tret;\n$L__pinned0:"), ptx.size());
  EXPECT_TRUE(llvm::StringRef(ptx).contains(assembly));
}

TEST(PinnedLoads, AreLeftAloneWhereThereIsNoKernel) {
  EXPECT_EQ(withPinnedLoads(kLoads), kLoads.str());
}

} // namespace
} // namespace blockscope::gpu
