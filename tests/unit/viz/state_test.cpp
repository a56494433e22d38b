// The state of the window comes back as it was; a file that is broken is left out.
#include "viz/model/commands.h"
#include "viz/window/state_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace blockscope::viz {
namespace {

std::string freshPath(const std::string &name) {
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / (std::to_string(::getpid()) + "-state");
  std::filesystem::create_directories(folder);
  return (folder / name).string();
}

TEST(StateFileTest, WhatIsWrittenComesBack) {
  const std::string path = freshPath("below") + "/not/there/viewer";
  WindowState state;
  state.x = -20;
  state.y = 40;
  state.width = 1234;
  state.height = 777;
  state.look = {150,   CountColors::Cividis, DifferenceColors::PurpleGreen, 0.25F, 0.5F, 0.75F,
                0.125F};
  ASSERT_TRUE(writeState(path, state));
  std::string problem;
  EXPECT_EQ(readState(path, problem), state);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()),
                    std::filesystem::directory_iterator()),
      1); // nothing half-written is left
}

TEST(StateFileTest, NothingNeedsIt) {
  std::string problem;
  EXPECT_EQ(readState(freshPath("missing"), problem), std::nullopt);
  EXPECT_EQ(readState("", problem), std::nullopt);
  EXPECT_EQ(problem, "");
  EXPECT_FALSE(writeState("", WindowState()));
  EXPECT_FALSE(writeState("/proc/nowhere/viewer", WindowState()));
}

TEST(StateFileTest, ABrokenOneIsLeftOutWithItsReason) {
  const std::string path = freshPath("broken");
  const auto problemOf = [&path](const std::string &text) {
    std::ofstream(path) << text;
    std::string problem;
    EXPECT_EQ(readState(path, problem), std::nullopt) << text;
    return problem;
  };
  const std::string head = "blockscope-viewer 1\n";
  EXPECT_NE(problemOf("\x7f"
                      "ELF")
                .find("it does not begin with"),
            std::string::npos);
  EXPECT_NE(problemOf("").find("it does not begin with"), std::string::npos);
  EXPECT_NE(problemOf(head + std::string(9000, 'x')).find("too long"), std::string::npos);
  for (const char *line :
       {"text-size 900", "text-size big", "size 10 10", "size 1600", "colors rainbow",
        "difference-colors red", "columns 0.2 7", "rows nan nan", "place a b"})
    EXPECT_EQ(problemOf(head + "colors grey\n" + line + "\n"),
              "line 3 has a value that it cannot have")
        << line;
}

TEST(StateFileTest, NamesOfLaterVersionsArePassedOver) {
  const std::string path = freshPath("later");
  std::ofstream(path) << "blockscope-viewer 1\nshape round\ntext-size 175\n";
  std::string problem;
  const std::optional<WindowState> state = readState(path, problem);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->look.textPercent, 175);
}

TEST(StateFileTest, LiesWhereTheDesktopSays) {
  const char *before = std::getenv("XDG_STATE_HOME");
  const std::string kept = before != nullptr ? before : "";
  setenv("XDG_STATE_HOME", "/somewhere", 1);
  EXPECT_EQ(stateFilePath(), "/somewhere/blockscope/viewer");
  setenv("XDG_STATE_HOME", "relative", 1); // to be ignored, says the standard
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(stateFilePath(), "/home/me/.local/state/blockscope/viewer");
  if (before != nullptr)
    setenv("XDG_STATE_HOME", kept.c_str(), 1);
  else
    unsetenv("XDG_STATE_HOME");
}

TEST(TextSizeTest, KeysWithControlChangeIt) {
  Selection selection;
  const auto press = [&selection](char character) {
    const auto command = commandOf(static_cast<uint32_t>(character), /*control=*/true);
    ASSERT_TRUE(command);
    EXPECT_TRUE(applyEverywhere(*command, selection));
  };
  press('+');
  EXPECT_EQ(selection.look.textPercent, 125);
  for (int times = 0; times < 9; ++times)
    press('=');
  EXPECT_EQ(selection.look.textPercent, kMostTextPercent);
  for (int times = 0; times < 9; ++times)
    press('-');
  EXPECT_EQ(selection.look.textPercent, kLeastTextPercent);
  press('0');
  EXPECT_EQ(selection.look.textPercent, 100);
  EXPECT_EQ(commandOf('+', /*control=*/false), Command::ZoomIn);
  EXPECT_EQ(commandOf('q', /*control=*/true), std::nullopt);
}

} // namespace
} // namespace blockscope::viz
