// Names for kernels of any name, programs with a time limit, fatal errors of LLVM that a process
// survives, PTX that ptxas gets wrong.
#include "core/guarded.h"
#include "gpu_backend/codegen/cta_counts.h"
#include "gpu_backend/codegen/ptxas_mistakes.h"
#include "gpu_backend/codegen/register_demand.h"
#include "gpu_backend/codegen/run_program.h"
#include "gpu_backend/codegen/wide_sums.h"
#include "gpu_backend/kernel_names.h"

#include "llvm/Support/ErrorHandling.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace blockscope::gpu {
namespace {

TEST(KernelNames, ShortOnesStay) {
  EXPECT_EQ(fileStem("add_kernel"), "add_kernel");
  EXPECT_EQ(symbolOf("add_kernel"), "add_kernel");
  EXPECT_EQ(symbolOf(std::string(300, 'k')), std::string(300, 'k'));
}

TEST(KernelNames, OthersDiffer) {
  const std::string a = std::string(300, 'k') + "a", b = std::string(300, 'k') + "b";
  EXPECT_LT(fileStem(a).size(), 120U);
  EXPECT_NE(fileStem(a), fileStem(b));
  EXPECT_NE(symbolOf("größe"), symbolOf("grüße"));
  for (const llvm::StringRef name : {"_", "WARP_SZ", "shared_memory", "__nv_expf"})
    EXPECT_NE(symbolOf(name), name);
}

TEST(WideSums, AreAProductAndASum) {
  EXPECT_EQ(withWideSumsApart("\tmad.wide.s32 \t%rd3, %r1, 4, %rd2;\n\tret;\n"),
            "\tmul.wide.s32 \t%rd3, %r1, 4;\n\tadd.s64 \t%rd3, %rd2, %rd3;\n\tret;\n");
  EXPECT_EQ(withWideSumsApart("\tmad.wide.u32 \t%rd3, %r1, %r2, 16;\n"),
            "\tmul.wide.u32 \t%rd3, %r1, %r2;\n\tadd.s64 \t%rd3, 16, %rd3;\n");
  for (const char *other : {"\tmad.wide.s32 \t%rd3, %r1, 4, %rd3;\n", // the sum would be lost
                            "\tmad.wide.s16 \t%r3, %rs1, 4, %r2;\n",
                            "\tmad.lo.s32 \t%r3, %r1, 4, %r2;\n", "\tret;", ""})
    EXPECT_EQ(withWideSumsApart(other), other);
}

/// A loop with wgmma, between what is before and behind it.
std::string aroundLoop(llvm::StringRef before, llvm::StringRef inside, llvm::StringRef behind) {
  return (before + "$L__BB0_2:\n" + inside +
          "\twgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r9}, %rd8, %rd9, p, 1, 1, 0, 1;\n"
          "\t@%p1 bra \t$L__BB0_2;\n" +
          behind)
      .str();
}

TEST(OffsetsShifted, WhereLoopsWithWgmmaUseThem) {
  const std::string product = "\tmul.wide.s32 \t%rd1, %r1, 8;\n",
                    shift = "\tcvt.s64.s32 \t%rd1, %r1;\n\tshl.b64 \t%rd1, %rd1, 3;\n",
                    use = "\tadd.s64 \t%rd3, %rd2, %rd1;\n", sum = "\tadd.s64 \t%rd2, %rd1, 64;\n",
                    useOfSum = "\tmov.b64 \t%rd3, %rd2;\n";
  EXPECT_EQ(withOffsetsShifted(aroundLoop(product, use, "")), aroundLoop(shift, use, ""));
  EXPECT_EQ(withOffsetsShifted(aroundLoop(product + sum, useOfSum, "")),
            aroundLoop(shift + sum, useOfSum, ""));
  EXPECT_EQ(withOffsetsShifted(aroundLoop("", product, "")), aroundLoop("", shift, ""));
  EXPECT_EQ(withOffsetsShifted(aroundLoop("\tmul.wide.u32 \t%rd1, %r1, 2;\n", use, "")),
            aroundLoop("\tcvt.u64.u32 \t%rd1, %r1;\n\tshl.b64 \t%rd1, %rd1, 1;\n", use, ""));
}

TEST(OffsetsShifted, ElsewhereAreProducts) {
  const std::string product = "\tmul.wide.s32 \t%rd1, %r1, 8;\n",
                    use = "\tadd.s64 \t%rd3, %rd2, %rd1;\n";
  for (const std::string &code : {aroundLoop(product, "", use), aroundLoop("", "", product + use),
                                  aroundLoop("\tmul.wide.s32 \t%rd1, %r1, 12;\n", use, ""),
                                  aroundLoop("\tmul.wide.s32 \t%rd1, %r1, %r2;\n", use, ""),
                                  product + "$L__BB0_2:\n" + use + "\t@%p1 bra \t$L__BB0_2;\n"})
    EXPECT_EQ(withOffsetsShifted(code), code);
}

TEST(PtxasMistakes, NegationsAndSelectionsAreSaidOtherwise) {
  EXPECT_EQ(withoutPtxasMistakes("\tneg.s16 \t%rs2, %rs1;\n\tret;\n"),
            "\tmul.lo.s16 \t%rs2, %rs1, -1;\n\tret;\n");
  EXPECT_EQ(withoutPtxasMistakes("\tabs.s16 \t%rs2, %rs1;"),
            "\tmul.lo.s16 \t%rs2, %rs1, -1;\n\tmax.s16 \t%rs2, %rs2, %rs1;");
  EXPECT_EQ(withoutPtxasMistakes("\tselp.f32 \t%r1, 0f80000000, 0fBF800000, %p2;\n"),
            "\tselp.b32 \t%r1, 0x80000000, 0xBF800000, %p2;\n");
  EXPECT_EQ(withoutPtxasMistakes("\tselp.f64 \t%rd1, %rd2, 0d8000000000000000, %p2;\n"),
            "\tselp.b64 \t%rd1, %rd2, 0x8000000000000000, %p2;\n");
}

TEST(PtxasMistakes, ComparisonsWithZeroAreSaidOtherwiseBesideLop3) {
  const std::string lop3 = "lop3.b32 %r1, %r2, %r3, %r4, 0x1b;\n";
  EXPECT_EQ(withoutPtxasMistakes(lop3 + "\tsetp.eq.s32 \t%p1, %r1, 0;\n"),
            lop3 + "\tsetp.lt.u32 \t%p1, %r1, 1;\n");
  for (const char *other : {"\tsetp.eq.b32 \t%p1, %r1, 5;\n", "\tsetp.ne.b32 \t%p1, %r1, 0;\n"})
    EXPECT_EQ(withoutPtxasMistakes(lop3 + other), lop3 + other);
  const char *alone = "\tsetp.eq.b32 \t%p1, %r1, 0;\n";
  EXPECT_EQ(withoutPtxasMistakes(alone), alone);
}

TEST(PtxasMistakes, OtherLinesStay) {
  for (const char *text :
       {"", "\n", "\tneg.s32 \t%r2, %r1;\n", "\tneg.s16x2 \t%r2, %r1;\n",
        "\tselp.f32 \t%r1, %r2, %r3, %p2;\n", "\tselp.f32 \t%r1, 0f3F800000, 0f00000000, %p2;\n",
        "{ neg.s16 a, b; neg.s16 c, d; }", "// neg.s16 %rs2, %rs1;\n", "\tabs.s16 \t%rs1, %rs1;\n",
        "\tret;"})
    EXPECT_EQ(withoutPtxasMistakes(text), text);
}

TEST(RegisterDemand, CountsWhatLivesAtOnce) {
  EXPECT_EQ(registerDemand(""), 0);
  // Two loaded values of 32 bits, their address of 64, of which one use is the last.
  EXPECT_EQ(registerDemand("\t.reg .b32 \t%r<100>;\n"
                           "\tld.param.b64 \t%rd7, [k_param_0];\n"
                           "\tld.global.v2.b32 \t{%r1, %r2}, [%rd7];\n"
                           "\tmov.u32 \t%r3, %tid.x;\n"
                           "\tsetp.lt.s32 \t%p1, %r3, 7;\n"
                           "\tadd.s32 \t%r4, %r1, %r2;\n"
                           "\tadd.s32 \t%r5, %r4, 1;\n"),
            3);
}

ProgramEnd runShell(const std::string &text, int seconds,
                    const std::function<bool()> &isInterrupted = {}) {
  return runProgram("/bin/sh", {"sh", "-c", text}, {}, "/dev/null", seconds, isInterrupted);
}

/// So many values of 32 bits that live at once.
std::string valuesAtOnce(int count) {
  std::string made, used;
  for (int i = 1; i <= count; ++i) {
    made += "\tld.global.b32 \t%r" + std::to_string(i) + ", [%rd1];\n";
    used += "\tst.global.b32 \t[%rd1], %r" + std::to_string(i) + ";\n";
  }
  return "{\n" + made + used + "\tret;\n}\n";
}

TEST(CtaCounts, OneThatIsFarWhereAllValuesHaveRoom) {
  GpuKernel kernel;
  kernel.target = *GpuTarget::parse("sm_90a");
  kernel.numWarps = 4;
  kernel.registers = 160; // three CTAs; four have 128
  kernel.ptx = valuesAtOnce(100);
  EXPECT_EQ(oneCtaMoreIfItFits(kernel), 4);
  kernel.ptx = valuesAtOnce(150);
  EXPECT_EQ(oneCtaMoreIfItFits(kernel), std::nullopt);
  kernel.registers = 168; // too far, whatever the values
  kernel.ptx = valuesAtOnce(100);
  EXPECT_EQ(oneCtaMoreIfItFits(kernel), std::nullopt);
}

TEST(RunProgram, TellsHowItEnded) {
  using How = ProgramEnd::How;
  EXPECT_EQ(runShell("exit 3", 60).status, 3);
  EXPECT_EQ(runShell("exit 3", 0).text, "ended with status 3");
  EXPECT_EQ(runShell("kill -KILL $$", 60).how, How::Killed);
  EXPECT_EQ(runShell("sleep 1000", 1).how, How::TimedOut);
  EXPECT_EQ(runShell("sleep 1000", 60, [] { return true; }).how, How::Interrupted);
  EXPECT_EQ(runProgram("/nowhere", {"nowhere"}, {}, "/dev/null", 1, {}).how, How::NotStarted);
}

TEST(Guarded, KeepsWhatItReturns) {
  int value = 0;
  std::string error;
  EXPECT_TRUE(runGuarded([&] { value = 7; }, error));
  EXPECT_EQ(value, 7);
  EXPECT_TRUE(error.empty());
}

TEST(Guarded, SurvivesFatalErrors) {
  for (int round = 0; round < 3; ++round) {
    std::string error;
    EXPECT_FALSE(runGuarded([] { llvm::report_fatal_error("no such thing"); }, error));
    EXPECT_EQ(error, "no such thing");
  }
}

TEST(GuardedDeathTest, OthersEndTheProcessWithAWord) {
  std::string error;
  EXPECT_TRUE(runGuarded([] {}, error)); // the handler is there
  EXPECT_DEATH(llvm::report_fatal_error("outside"), "LLVM ERROR: outside");
}

} // namespace
} // namespace blockscope::gpu
