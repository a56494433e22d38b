// Findings as text and as JSON: one struct, printed and read back.
#include "core/report.h"
#include "core/source_text.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <set>

namespace blockscope {
namespace {

SourceLocation place(const char *file, int32_t line, int32_t column) {
  SourceLocation location;
  location.file = file;
  location.line = line;
  location.column = column;
  return location;
}

Execution execution(int32_t program, int64_t lane) {
  Execution ran;
  ran.access = AccessKind::Load;
  ran.program = {program, 0, 0};
  ran.lane = lane;
  ran.laneIndex = {lane};
  ran.blockShape = {64};
  ran.accessBytes = 4;
  return ran;
}

/// Programs that wait, with everything that is told of them.
WaitingFacts waitingFacts() {
  SourceLocation called = place("k.py", 2, 9);
  called.caller = std::make_shared<SourceLocation>(place("main.py", 7, 1));
  const Holder waits{{1, 0, 0}, Holder::State::Waits, place("k.py", 1, 1), true};
  const Holder ended{{0, 1, 0}, Holder::State::Ended, called, false};
  const Holder itself{{3, 1, 0}, Holder::State::Itself, place("other.py", 5, 1), true};
  WaitingFacts facts;
  facts.waits = {{{3, 0, 0}, called, "'x'[1]", "1", waits, false},
                 {{1, 0, 0}, place("k.py", 1, 1), "'y'[0]", "0", std::nullopt, true},
                 {{2, 0, 0}, place("k.py", 1, 1), "'y'[0]", "0", std::nullopt, true},
                 {{2, 1, 0}, place("k.py", 1, 1), "what it loads", "", ended, false},
                 {{3, 1, 0}, place("k.py", 1, 1), "'y'[1]", "7", itself, false}};
  facts.programs = 12;
  facts.circle = 2;
  return facts;
}

/// A finding of a run with everything that one can have.
Finding fullFinding() {
  Finding finding;
  finding.code = FindingCode::RaceReadWrite;
  finding.severity = Severity::Error;
  finding.message = "programs 3 and 1 access 'x' \"at\" byte 12";
  finding.site.location = place("k.py", 2, 9);
  finding.site.location.function = "inner";
  finding.site.location.variable = "x";
  auto caller = std::make_shared<SourceLocation>(place("k.py", 3, 5));
  caller->function = "kernel";
  caller->caller = std::make_shared<SourceLocation>(place("main.py", 7, 1));
  finding.site.location.caller = caller;
  finding.site.execution = execution(3, 12);
  finding.site.execution->loopIterations = {4, 1};
  finding.site.execution->semantics = "acq_rel, gpu";
  finding.site.execution->value = "1.5";
  Site other{SiteRole::OtherSide, place("k.py", 1, 1), execution(1, 0)};
  other.execution->access = AccessKind::Store;
  other.execution->value = "2";
  finding.related.push_back(other);
  finding.related.push_back({SiteRole::ReadAt, place("host.py", 9, 7), std::nullopt});
  finding.related.push_back({SiteRole::Through, place("k.py", 4, 1), std::nullopt});
  finding.related.push_back({SiteRole::AllocatedAt, place("host.py", 1, 3), std::nullopt});
  for (const int32_t line : {3, 2, 1})
    finding.related.push_back({SiteRole::BornAt, place("k.py", line, 1), execution(line, 7)});
  finding.launch = {"kernel", {4, 2, 1}, {{"BLOCK", "64"}}, 5};
  finding.element = {{"x", "fp32", {8, 8}, {8, 1}, 4, 256, 0}, {0, 3}, 12, -4};
  finding.values = {{"left", "-7"}};
  finding.shares = {{place("k.py", 2, 9), "a cast to bf16", 0.902},
                    {place("other.py", 7, 1), "exp in fp32", 0.004}};
  finding.waiting = waitingFacts();
  finding.hint = "use an atomic";
  finding.model = "tile";
  finding.count = 3;
  finding.programCount = 2;
  return finding;
}

class ReportTest : public ::testing::Test {
protected:
  ReportTest() {
    setSourceProvider([](const std::string &file) -> std::optional<std::string> {
      if (file == "k.py")
        return "first line\n    x = tl.load(p)\r\n\tthird";
      return std::nullopt;
    });
  }
  ~ReportTest() override { setSourceProvider({}); }
};

TEST_F(ReportTest, TheTextHasEveryPlaceAndFact) {
  EXPECT_EQ(findingAsText(fullFinding(), /*color=*/false),
            R"(k.py:2:9: error[race-read-write]: programs 3 and 1 access 'x' "at" byte 12
  2 |     x = tl.load(p)
    |         ^
  called from: k.py:3:5 in kernel
  called from: main.py:7:1
  where: kernel 'kernel', program (3, 0, 0), lane 12 of block [64], iterations [4, 1] of the loops, grid (4, 2, 1)
  tensor: x, fp32 [8, 8], strides [8, 1]; element [0, 3] at byte 12, 4 bytes before the start
  order: acq_rel, gpu
  values: left = -7
  waiting:
    program (3, 0, 0) in line 2 (from main.py line 7) for 'x'[1] = 1, taken by program (1, 0, 0) in line 1, which waits, too
    programs (1, 0, 0), (2, 0, 0) in line 1 for 'y'[0] = 0, which no program of this launch has changed
    program (2, 1, 0) in line 1 for what it loads, last changed by program (0, 1, 0) in line 2 (from main.py line 7), which has ended
    program (3, 1, 0) in line 1 for 'y'[1] = 7, taken by itself in other.py line 5
    and 7 more
  other side: store at k.py:1:1, program (1, 0, 0), lane 0 of block [64], value 2
  1 | first line
    | ^
  read at: host.py:9:7
  through: k.py:4:1
  allocated at: host.py:1:3
  born at: load at k.py:3:1, program (3, 0, 0), lane 7 of block [64]
  3 | 	third
    | ^
  born at: load at k.py:2:1, program (2, 0, 0), lane 7 of block [64]
  2 |     x = tl.load(p)
    | ^
  born at: load at k.py:1:1, program (1, 0, 0), lane 7 of block [64]
  1 | first line
    | ^
  error from:
         90 %  line 2, a cast to bf16:  x = tl.load(p)
    under 1 %  other.py line 7, exp in fp32
          9 %  other lines
  model: tile
  launch: number 5 with BLOCK = 64
  count: 3 times, in 2 programs
  hint: use an atomic
)");
}

TEST_F(ReportTest, ANoteOfTheCompilerHasNoLaunch) {
  Finding note;
  note.code = FindingCode::BankConflict;
  note.severity = Severity::Warning;
  note.message = "4-way bank conflicts";
  note.site.location = place("k.py", 2, 5);
  for (const auto &other :
       {place("k.py", 3, 1), place("k.py", 3, 9), place("k.py", 2, 7), place("other.py", 9, 2)})
    note.related.push_back({SiteRole::Here, other, std::nullopt});
  note.measure = {4, 1};
  note.cost = "4 times as long";
  EXPECT_EQ(findingAsText(note, /*color=*/false),
            R"(k.py:2:5: warning[bank-conflict]: 4-way bank conflicts
  2 |     x = tl.load(p)
    |     ^
  also: line 3, other.py:9:2
  cost: 4 times as long
)");
  const std::string json = findingAsJson(note);
  EXPECT_NE(json.find("\"found\": 4"), std::string::npos) << json;
  EXPECT_EQ(json.find("\"program\""), std::string::npos) << json;
  EXPECT_EQ(findingAsJson(*findingFromJson(json)), json);
  EXPECT_EQ(findingAsText(*findingFromJson(json), false), findingAsText(note, false));
}

TEST_F(ReportTest, JsonIsReadBackWhole) {
  const Finding finding = fullFinding();
  const std::string json = findingAsJson(finding);
  const std::optional<Finding> read = findingFromJson(json);
  ASSERT_TRUE(read);
  EXPECT_EQ(findingAsJson(*read), json);
  EXPECT_EQ(findingAsText(*read, false), findingAsText(finding, false));
  EXPECT_EQ(read->code, FindingCode::RaceReadWrite);
  ASSERT_EQ(read->related.size(), 7U);
  EXPECT_EQ(read->find(SiteRole::BornAt)->location.line, 3);
  EXPECT_FALSE(read->find(SiteRole::AllocatedAt)->execution);
  EXPECT_EQ(read->waiting->circle, 2);
}

TEST_F(ReportTest, AnAssertAccessesNothing) {
  Finding finding = fullFinding();
  finding.related.clear();
  EXPECT_NE(findingAsJson(finding).find("\"access\""), std::string::npos);
  finding.site.execution->access = std::nullopt;
  const std::string json = findingAsJson(finding);
  EXPECT_EQ(json.find("\"access"), std::string::npos) << json;
  EXPECT_FALSE(findingFromJson(json)->site.execution->access);
}

TEST_F(ReportTest, WhatIsNoFindingIsRefused) {
  for (const std::string &text :
       {std::string(), std::string("[]"), std::string("{}"), std::string("{\"code\": 3}"),
        std::string("{\"code\": \"oob-load\""), std::string("{\"code\": \"\xff\"}"),
        "{\"code\": \"oob-load\", \"x\": " + std::string(100'000, '[') + "}"})
    EXPECT_FALSE(findingFromJson(text)) << text.substr(0, 50);
  const auto odd = findingFromJson(R"({"code": "of tomorrow", "line": "x", "called_from": [1, {}],
      "grid": [1], "program": [], "other": 5, "born_at": [7], "values": {"a": 1}, "kernel": null,
      "waiting": [3, {}, {"holder": {"state": "asleep"}}]})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->waiting->waits.size(), 2U);
  EXPECT_EQ(odd->code, FindingCode::Unknown);
  EXPECT_EQ(odd->launch->grid, (std::array<int32_t, 3>{1, 1, 1}));
}

TEST_F(ReportTest, EveryCodeHasOneText) {
  std::set<std::string_view> texts;
  for (const FindingCodeInfo &info : findingCodes()) {
    EXPECT_TRUE(texts.insert(info.text).second) << info.text;
    EXPECT_EQ(parseFindingCode(info.text), info.code);
    EXPECT_EQ(&infoOf(info.code), &info);
    EXPECT_EQ(parseSeverity(severityName(info.severity)), info.severity);
    EXPECT_FALSE(info.summary.empty());
  }
  EXPECT_GT(texts.size(), 20U);
  EXPECT_EQ(parseFindingCode("unknown"), std::nullopt);
}

} // namespace
} // namespace blockscope
