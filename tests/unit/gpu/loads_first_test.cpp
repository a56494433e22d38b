// Which uses of loads ptxas finds behind all of them.
#include "gpu_backend/codegen/loads_first.h"

#include "llvm/ADT/StringRef.h"

#include <gtest/gtest.h>

namespace blockscope::gpu {
namespace {

constexpr int kMany = 64;

std::string kernelOf(llvm::StringRef body) {
  return (".visible .entry k()\n.reqntid 128\n{\n" + body + "\tret;\n}\n").str();
}

std::string moved(llvm::StringRef body, int words = kMany) {
  return withLoadsFirst(kernelOf(body), words);
}

TEST(LoadsFirst, UsesWaitForTheNextLoads) {
  EXPECT_EQ(moved("\tmov.b32 \t%r1, 0;\n"
                  "\t@%p1 ld.global.b32 %r1, [%rd1];\n"
                  "\tsetp.gt.f32 \t%p3, %r1, 0f00000000;\n"
                  "\tselp.b32 \t%r5, %r4, %r6, %p3;\n"
                  "\tadd.s64 \t%rd2, %rd1, 4;\n"
                  "\tld.global.b32 %r2, [%rd2];\n"
                  "\tadd.s32 \t%r7, %r2, %r5;\n"),
            kernelOf("\tmov.b32 \t%r1, 0;\n"
                     "\t@%p1 ld.global.b32 %r1, [%rd1];\n"
                     "\tadd.s64 \t%rd2, %rd1, 4;\n"
                     "\tld.global.b32 %r2, [%rd2];\n"
                     "\tsetp.gt.f32 \t%p3, %r1, 0f00000000;\n"
                     "\tselp.b32 \t%r5, %r4, %r6, %p3;\n"
                     "\tadd.s32 \t%r7, %r2, %r5;\n"));
}

TEST(LoadsFirst, NoLoadGoesInFrontOfWhatActs) {
  for (const llvm::StringRef between :
       {"\tst.global.b32 [%rd9], %r1;\n", "\tbar.sync \t0;\n", "$L__BB0_1:\n",
        "\t@%p2 bra \t$L__BB0_1;\n", "\tatom.global.add.u32 %r9, [%rd9], 1;\n",
        "\tld.acquire.gpu.global.b32 %r9, [%rd9];\n",
        "\t// begin inline asm\n\tmov.u32 %r9, %clock;\n\t// end inline asm\n",
        "\t// begin inline asm\n\tld.global.b32 %r8, [%rd8]; mov.b32 %r9, %r8;\n"
        "\t// end inline asm\n"}) {
    const std::string body = "\tld.global.b32 %r1, [%rd1];\n\tadd.s32 \t%r4, %r1, 1;\n" +
                             between.str() + "\tld.global.b32 %r2, [%rd2];\n";
    EXPECT_EQ(moved(body), kernelOf(body)) << between.str();
  }
}

TEST(LoadsFirst, RegistersKeepTheValuesThatTheirReadersWant) {
  // The address of a load comes from a load; a register that waits to be read is written anew.
  for (const llvm::StringRef next :
       {"\tcvt.u64.u32 \t%rd2, %r4;\n\tld.global.b32 %r2, [%rd2];\n",
        "\tmov.b32 \t%r3, 7;\n\tld.global.b32 %r2, [%rd3+8];\n\tadd.s32 \t%r5, %r3, 1;\n",
        "\tld.global.b32 %r3, [%rd3];\n"}) {
    const std::string text =
        moved(("\tld.global.b32 %r1, [%rd1];\n\tadd.s32 \t%r4, %r1, %r3;\n" + next).str());
    const llvm::StringRef code = text;
    const size_t read = code.find("add.s32 \t%r4");
    for (const llvm::StringRef write : {"mov.b32 \t%r3", "ld.global.b32 %r3", "cvt.u64.u32"})
      if (const size_t at = code.find(write); at != llvm::StringRef::npos)
        EXPECT_LT(read, at) << text;
  }
}

TEST(LoadsFirst, OnlySoManyWordsWaitForTheirUse) {
  const std::string body = "\tld.global.v2.b32 {%r1, %r2}, [%rd1];\n\tadd.s32 \t%r4, %r1, %r2;\n"
                           "\tld.global.b64 %rd5, [%rd2];\n";
  EXPECT_NE(moved(body, 4), kernelOf(body));
  EXPECT_EQ(moved(body, 3), kernelOf(body));
}

TEST(LoadsFirst, LinesOfTheSourceStayWithTheirCode) {
  const std::string text = moved("\t.loc\t1 2 3\n\tld.global.b32 %r1, [%rd1];\n"
                                 "\t.loc\t1 5 3\n\tadd.s32 \t%r4, %r1, 1;\n"
                                 "\t.loc\t1 7 3\n\tld.global.b32 %r2, [%rd2];\n");
  EXPECT_TRUE(llvm::StringRef(text).contains(
      "\t.loc\t1 7 3\n\tld.global.b32 %r2, [%rd2];\n\t.loc\t1 5 3\n\tadd.s32"))
      << text;
}

TEST(LoadsFirst, ScopesOfOneLineMayWriteWhatTheyName) {
  const std::string scope = "\t{ .reg .b16 tmp; mov.b32 {tmp, %rs1}, %r1; }\n";
  const std::string use = "\tcvt.u32.u16 \t%r5, %rs1;\n", load = "\tld.global.b32 %r2, [%rd2];\n";
  EXPECT_EQ(moved("\tld.global.b32 %r1, [%rd1];\n" + scope + use + load),
            kernelOf("\tld.global.b32 %r1, [%rd1];\n" + load + scope + use));
}

TEST(LoadsFirst, AssemblyOfOneLoadIsOne) {
  const std::string load = "\t// begin inline asm\n\t@%p1 ld.global.b32 %r2, [%rd2];\n"
                           "\t// end inline asm\n";
  const std::string use = "\tadd.s32 \t%r4, %r1, 1;\n";
  EXPECT_EQ(moved("\tld.global.b32 %r1, [%rd1];\n" + use + load),
            kernelOf("\tld.global.b32 %r1, [%rd1];\n" + load + use));
}

} // namespace
} // namespace blockscope::gpu
