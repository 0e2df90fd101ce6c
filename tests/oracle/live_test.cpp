// SPDX-License-Identifier: Apache-2.0
// Tests that `mote check` prints failures as they are found, once each, in one process and with
// workers; that it stops when more cases can show nothing new; and that its JSON is always valid.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "mote/oracle/text.h"
#include "shell.h"
#include "temporary_folder.h"

namespace mote {
namespace {

test::Ran mote_run(const std::string& arguments, const std::string& prefix = "") {
  return test::run_in_shell(prefix + " " + MOTE_TOOL + " " + arguments);
}

std::string plugin(const std::string& name) {
  return std::string(" --plugin ") + MOTE_MUTANTS_FOLDER + "/" + name + ".so ";
}

std::string rules() { return std::string(" --plugin ") + MOTE_TEST_PLUGINS + "/breaks_rules.so "; }

std::ptrdiff_t times(const std::string& text, const std::string& part) {
  std::ptrdiff_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
  return all;
}

std::ptrdiff_t of_type(const std::vector<nlohmann::json>& lines, const std::string& type) {
  return std::ranges::count_if(lines, [&](const auto& line) { return line.at("type") == type; });
}

class Live : public testing::TestWithParam<const char*> {};

TEST_P(Live, EachFailureIsPrintedWhenItIsFoundAndOnce) {
  const test::Ran r =
      mote_run("check neg --dtype f32 --count 60 --seed 1 --timeout 300ms --warm-up 1s" + rules() +
               "--backend crashes,changes_x,keeps_rules " + GetParam());
  EXPECT_EQ(r.code, 3) << r.out;
  const std::ptrdiff_t failures = times(r.out, "  replay: ");
  EXPECT_GE(failures, 2) << r.out;
  EXPECT_EQ(times(r.out, "  smallest case: "), failures) << r.out;
  EXPECT_EQ(times(r.out, "which is made smaller now\n"), failures) << r.out;
  const std::size_t table = r.out.find("\nop ");
  ASSERT_NE(table, std::string::npos) << r.out;
  EXPECT_LT(r.out.rfind("  replay: "), table) << r.out;
  for (const char* line : {"\ncrashed: neg on crashes, ", "\nchanged input: neg on changes_x, "}) {
    const std::size_t at = r.out.find(line, table);  // the number of times, at the end
    ASSERT_NE(at, std::string::npos) << r.out;
    EXPECT_NE(r.out.find(" time", at), std::string::npos) << r.out;
    EXPECT_EQ(r.out.find(line, at + 1), std::string::npos) << r.out;
  }
}

TEST_P(Live, JsonTellsOfAFailureWhenItIsFound) {
  const auto lines = json_lines(
      mote_run("check gemm --json --count 60 --seed 3" + plugin("gemm_k_tail") + GetParam()).out);
  EXPECT_EQ(of_type(lines, "found"), 1);
  EXPECT_EQ(of_type(lines, "failure"), 1);
  ASSERT_GT(lines.size(), 2U);
  EXPECT_EQ(lines[1].at("type"), "found");
  EXPECT_EQ(lines[1].at("verdict"), "failed");
}

TEST_P(Live, FailFastEndsWithTheFirst) {
  for (const char* option : {"--fail-fast ", "--max-failures 1 "}) {
    const test::Ran r =
        mote_run("check neg --dtype f32 --count 100000 --seed 1" + rules() +
                 "--backend crashes,changes_x --timeout 300ms --warm-up 1s " + option + GetParam());
    EXPECT_EQ(r.code, r.out.find("crashed: ") != std::string::npos ? 3 : 1) << r.out;
    EXPECT_GE(times(r.out, "  smallest case: "), 1) << r.out;
    EXPECT_LE(times(r.out, "  smallest case: "), *GetParam() == '\0' ? 1 : 2) << r.out;
  }
}

TEST_P(Live, ABudgetEndsWhenNothingIsLeftToLearn) {
  const test::Ran r = mote_run("check gemm --dtype f32 --budget 300s --seed 1" +
                               plugin("gemm_k_tail") + GetParam());
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_NE(r.out.find("; ended early,"), std::string::npos) << r.out;
}

INSTANTIATE_TEST_SUITE_P(Workers, Live, testing::Values("", " --workers 2"), [](const auto& param) {
  return std::string(*param.param == '\0' ? "One" : "Two");
});

TEST(Check, ABudgetGoesOnWhereSomethingPasses) {
  const test::Ran r = mote_run("check gemm --dtype f32 --budget 1500ms --seed 1" +
                               plugin("gemm_k_tail") + plugin("gemm_correct"));
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_EQ(r.out.find("ended early"), std::string::npos) << r.out;
}

TEST(Check, DtypesThatAreDeclinedDoNotKeepItFromEnding) {
  const test::Ran r = mote_run("check gemm --budget 300s --seed 1" + plugin("gemm_k_tail"));
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_NE(r.out.find("; ended early"), std::string::npos) << r.out;
}

TEST(Check, FailFastAndMaxFailuresExcludeEachOther) {
  const test::Ran r = mote_run("check gemm --fail-fast --max-failures 3");
  EXPECT_EQ(r.code, 2) << r.out;
}

TEST(Check, JsonIsValidWhateverThePathIs) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "not \xff\xfe utf8.so").string();
  std::filesystem::copy_file(std::string(MOTE_MUTANTS_FOLDER) + "/gemm_k_tail.so", path);
  for (const char* workers : {"", " --workers 2"}) {
    const test::Ran r = mote_run("check gemm --json --count 40 --seed 3 --plugin '" + path + "'" +
                                 workers + " --html '" + (folder.path() / "p\xff.html").string() +
                                 "' --junit '" + (folder.path() / "j\xff.xml").string() + "'");
    EXPECT_EQ(r.code, 1) << r.out;
    EXPECT_TRUE(is_utf8(r.out)) << r.out;
    const auto lines = json_lines(r.out);
    EXPECT_EQ(of_type(lines, "failure"), 1) << r.out;
    for (const auto& line : lines) {
      if (line.at("type") != "failure") continue;
      const std::string replay = line.at("replay");
      ASSERT_TRUE(replay.starts_with("mote replay ")) << replay;
      EXPECT_EQ(mote_run(replay.substr(5)).code, 1) << replay;  // the printed command works
    }
    for (const char* file : {"p\xff.html", "j\xff.xml"})
      EXPECT_TRUE(is_utf8(test::read(folder.path() / file))) << file;
  }
  const test::Ran doctor = mote_run("doctor --json", "MOTE_PLUGIN_PATH='" + path + "'");
  EXPECT_TRUE(is_utf8(doctor.out));
  EXPECT_GT(json_lines(doctor.out).size(), 5U);
}

TEST(Check, ATerminalsWidthIsKept) {
  for (const int columns : {60, 80, 100, 200}) {
    const test::Ran r = mote_run("check gemm conv2d neg --count 30 --seed 2 --backend gen,openblas",
                                 "COLUMNS=" + std::to_string(columns));
    std::istringstream lines(r.out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(columns_of(line), static_cast<std::size_t>(std::min(columns, 100))) << line;
  }
}

TEST(Check, ColoursWhereTheyAreWanted) {
  const std::string few = "check neg --dtype f32 --count 3 --seed 1 --backend gen";
  const auto has = [&](const std::string& environment, const std::string& option) {
    return mote_run(few + option, environment).out.find("\x1b[") != std::string::npos;
  };
  EXPECT_FALSE(has("", ""));  // there is no terminal
  EXPECT_TRUE(has("", " --color always"));
  EXPECT_TRUE(has("NO_COLOR=1", " --color always"));
  EXPECT_TRUE(has("CLICOLOR_FORCE=1", ""));
  EXPECT_FALSE(has("CLICOLOR_FORCE=0", ""));
  EXPECT_FALSE(has("NO_COLOR=1 CLICOLOR_FORCE=1", ""));
  EXPECT_FALSE(has("CLICOLOR_FORCE=1", " --color never"));
  const test::Ran wrong = mote_run(few + " --color blue");
  EXPECT_EQ(wrong.code, 2) << wrong.out;
  EXPECT_NE(wrong.out.find("expected auto, always or never"), std::string::npos) << wrong.out;
}

/// Runs in a terminal of util-linux's script; skipped if that is missing.
TEST(Check, ProgressAndColoursAreOnATerminal) {
  if (test::run_in_shell("command -v script").code != 0) GTEST_SKIP() << "no script";
  const std::string few = " check neg --dtype f32 --count 400 --seed 1 --backend gen";
  const auto on_terminal = [&](const std::string& environment) {
    return test::run_in_shell("script -qec \"stty cols 70; " + environment + " " + MOTE_TOOL + few +
                              "\" /dev/null")
        .out;
  };
  const std::string shown = on_terminal("TERM=xterm");
  EXPECT_NE(shown.find("\x1b[32mpassed: "), std::string::npos) << shown;
  EXPECT_NE(shown.find(" of 400 cases, 0 failed"), std::string::npos) << shown;
  EXPECT_NE(shown.find(" left; "), std::string::npos) << shown;
  const std::string dumb = on_terminal("TERM=dumb");
  EXPECT_EQ(dumb.find("\x1b["), std::string::npos) << dumb;
  EXPECT_NE(on_terminal("NO_COLOR=1 TERM=xterm").find("\npassed: "), std::string::npos);
}

}  // namespace
}  // namespace mote
