// SPDX-License-Identifier: Apache-2.0
// Tests `mote check` and `mote replay` as a user runs them: exit codes, one line for a mistake,
// replay lines that work in a shell.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "mote/macroops/catalogue.h"
#include "mote/oracle/case.h"
#include "shell.h"
#include "temporary_folder.h"

namespace mote {
namespace {

using Result = test::Ran;

/// Runs `mote ARGUMENTS` in a shell; returns both streams.
Result mote_run(const std::string& arguments, const std::string& prefix = "") {
  return test::run_in_shell(prefix + " " + MOTE_TOOL + " " + arguments);
}

std::string plugin(const std::string& name) {
  return std::string("--plugin ") + MOTE_MUTANTS_FOLDER + "/" + name + ".so";
}

/// Returns the arguments of the line "replay: mote replay '…'".
std::string replay_arguments(const std::string& out) {
  const std::string mark = "replay: mote ";
  const std::size_t at = out.find(mark);
  if (at == std::string::npos) return "";
  return out.substr(at + mark.size(), out.find('\n', at) - at - mark.size());
}

void expect_one_line(const std::string& arguments, const std::string& part) {
  const Result r = mote_run(arguments);
  EXPECT_EQ(r.code, 2) << arguments << "\n" << r.out;
  EXPECT_NE(r.out.find(part), std::string::npos) << arguments << "\n" << r.out;
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 1) << r.out;
}

TEST(Cli, MistakesAreOneLineAndExitTwo) {
  expect_one_line("check gem", "did you mean gemm");
  expect_one_line("check gemm --backend nothing", "unknown backend 'nothing'");
  expect_one_line("check gemm --dtype f8", "known: f32, f64, f16, bf16, i32, i64, i8, u8, bool");
  expect_one_line("check gemm --plugin /nonexistent.so", "No such file");
  expect_one_line("check gemm --budget soon", "expected a time such as 60s");
  expect_one_line("check gemm --cases nothing",
                  "known: bert_base, llama, mobilenetv2, resnet50, speed, unet");
  for (const char* count : {"-3", "abc", "99999999999999999999", "1.5"}) {
    expect_one_line(std::string("check gemm --count ") + count,
                    std::string("count '") + count + "': expected a whole number from 0 to ");
  }
  for (const char* seed : {"-1", "abc", "99999999999999999999"}) {
    expect_one_line(
        std::string("check gemm --seed ") + seed,
        std::string("seed '") + seed + "': expected a whole number from 0 to 18446744073709551615");
  }
  expect_one_line("check gemm --max-failures 0",
                  "max-failures '0': expected a whole number from 1");
  expect_one_line("check --cases /dev/null", "/dev/null: holds no case");
  expect_one_line("check gemm --nothing", "--nothing");
  expect_one_line("replay 'gemm a=f32[2,3] b=f32[4,4]'", "must be K = 3, got 4");
  expect_one_line("replay 'gemm a=f32[2,3] b=f32[3,4] backend=nothing'", "unknown backend");
  expect_one_line("replay 'gemm a=f32[2,3] b=f32[3,4] plugin=/nonexistent.so'", "No such file");
  expect_one_line("replay 'gemm a=f32[1000000,1000000] b=f32[1000000,1000000]'",
                  "case needs 50.9 TiB");
  expect_one_line("replay 'gemm a=f32[200,300] b=f32[300,400]' --memory 100K",
                  "100.0 KiB are available");
  expect_one_line("replay ''", "empty case");
}

TEST(Cli, MalformedProgramTextIsExitTwo) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("malformed.mote", "op broken\ninput x f32[N\n");
  expect_one_line("check " + path, path + ": program text: line ");
  expect_one_line("replay '" + path + " x=f32[3]'", path + ": program text: line ");
}

TEST(Cli, AMistakeInAFileOfCasesNamesItsLine) {
  const test::TemporaryFolder folder;
  const std::string bad =
      folder.write("bad.cases", "# head\n\nadd a=f32[1] b=f32[1]\ngemm a=f32[1,2] b=f32[3,1]\n");
  expect_one_line("check --cases " + bad, bad + ": line 4: gemm: ");
  expect_one_line("replay " + bad, bad + ": line 4: gemm: ");
  const std::string other = folder.write("other.cases", "add a=f32[1] b=f32[1] backend=nosuch\n");
  expect_one_line("check --cases " + other,
                  other + ": line 1: unknown backend 'nosuch' (on this machine: gen");
}

TEST(Cli, ACaseThatNothingRunsIsInTheTable) {
  const test::TemporaryFolder folder;
  const std::string path =
      folder.write("two.cases", "gemm a=f32[3,9] b=f32[9,2]\nsoftmax x=f32[2,3,4]\n");
  const Result r = mote_run("check --cases " + path + " " + plugin("gemm_correct"));
  EXPECT_EQ(r.code, 0) << r.out;
  EXPECT_NE(r.out.find("gemm_correct declined softmax f32 (softmax f32: no kernel for softmax)"),
            std::string::npos)
      << r.out;
}

TEST(Cli, APlugInMayLieAnywhere) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "with blank, and comma.so").string();
  std::filesystem::copy_file(std::string(MOTE_MUTANTS_FOLDER) + "/gemm_k_tail_late.so", path);
  const Result r = mote_run("check gemm --count 40 --seed 3 --plugin '" + path + "'");
  EXPECT_EQ(r.code, 1) << r.out;
  const Result again = mote_run(replay_arguments(r.out));
  EXPECT_EQ(again.code, 1) << again.out;
  EXPECT_NE(again.out.find("expected 285, got 204"), std::string::npos) << again.out;
}

TEST(Cli, APlugInThatCrashesWhileLoadingIsNamed) {
  const std::string path = std::string(MOTE_TEST_PLUGINS) + "/aborts_in_init.so";
  expect_one_line("check gemm --plugin " + path,
                  "plug-in " + path + ": crashed while loading (SIGABRT)");
  const Result found = mote_run("check gemm --backend openblas --count 20 --seed 1",
                                std::string("MOTE_PLUGIN_PATH=") + MOTE_TEST_PLUGINS);
  EXPECT_EQ(found.code, 0) << found.out;
  EXPECT_NE(found.out.find("left out: plug-in " + path), std::string::npos) << found.out;
}

TEST(Cli, ListsAreRepeatedOrJoined) {
  const std::string both = plugin("gemm_correct") + " " + plugin("gemm_k_tail");
  for (const std::string& list :
       {both, "--plugin " + std::string(MOTE_MUTANTS_FOLDER) + "/gemm_correct.so," +
                  MOTE_MUTANTS_FOLDER + "/gemm_k_tail.so"}) {
    const Result r = mote_run("check " + list + " gemm --count 10 --seed 1");
    EXPECT_NE(r.out.find("backends gemm_correct 1, gemm_k_tail 1"), std::string::npos) << r.out;
  }
}

TEST(Cli, ABackendThatIsNotHereIsSeventySeven) {
  const Result r = mote_run("check gemm --backend cudnn");
  EXPECT_EQ(r.code, 77) << r.out;
  EXPECT_NE(r.out.find("cudnn is not on this machine: its plug-in must be named: --plugin "),
            std::string::npos)
      << r.out;
  EXPECT_EQ(mote_run("check gemm --backend cublas").code, 77);
  EXPECT_EQ(mote_run("replay 'gemm a=f32[2,3] b=f32[3,4] backend=cudnn'").code, 77);
}

TEST(Cli, NothingJudgedIsFour) {
  EXPECT_EQ(mote_run("check softmax --count 5 " + plugin("gemm_correct")).code, 4);
  EXPECT_EQ(mote_run("check gemm --count 0 " + plugin("gemm_correct")).code, 4);
  EXPECT_EQ(mote_run("check gemm --dtype i32 --count 5 " + plugin("gemm_correct")).code, 4);
}

TEST(Cli, WhatIsRequiredAndNotThereIsFour) {
  const std::string few = "check neg --dtype f32 --backend gen --count 3 --seed 1 --require ";
  EXPECT_EQ(mote_run(few + "gen").code, 0);
  EXPECT_EQ(mote_run(few + "coverage=1%").code, 0);
  const Result covered = mote_run(few + "coverage=100");
  EXPECT_EQ(covered.code, 4) << covered.out;
  EXPECT_NE(covered.out.find("mote: required: coverage "), std::string::npos) << covered.out;
  const Result absent = mote_run("check neg --backend cudnn --require cudnn");
  EXPECT_EQ(absent.code, 4) << absent.out;
  EXPECT_NE(absent.out.find("backend cudnn judged no case"), std::string::npos) << absent.out;
  EXPECT_EQ(mote_run(few + "nothing").code, 2);
  EXPECT_EQ(mote_run(few + "coverage=x").code, 2);
}

/// A case that a person gives has exit code 0 or 1, even if it proves nothing.
TEST(Cli, AGivenCaseIsJudged) {
  const std::string empty = "replay 'matmul a=f32[1,1,2,0] b=f32[1,1,0,3] backend=gen'";
  EXPECT_EQ(mote_run(empty).code, 0) << mote_run(empty).out;
  const std::string none = "'gemm a=f32[0,3] b=f32[3,2]'";
  const Result r = mote_run("replay --backend gen " + none);
  EXPECT_EQ(r.code, 0) << r.out;
  EXPECT_NE(r.out.find("proves nothing: no output has an element"), std::string::npos) << r.out;
  const test::TemporaryFolder folder;
  const std::string list = folder.path() / "list.cases";
  std::ofstream(list) << "gemm a=f32[0,3] b=f32[3,2]\n";
  const Result listed = mote_run("check gemm --backend gen --cases " + list);
  EXPECT_EQ(listed.code, 0) << listed.out;
  EXPECT_NE(listed.out.find("proves nothing: no output has an element"), std::string::npos)
      << listed.out;
  const std::string nan =
      "replay 'gemm a=f32[1,1] b=f32[1,1] c=f32[1,1] beta=0 fill=index:0 "
      "set=c[0,0]=nan' --backend ";
  EXPECT_EQ(mote_run(nan + "gen").code, 0);
  EXPECT_EQ(mote_run(nan + "gemm_beta_reads_c " + plugin("gemm_beta_reads_c")).code, 1);
}

/// A case that run declines after can_run accepted it is not judged, and is reported.
TEST(Cli, DecliningIsNotFree) {
  const Result r = mote_run("check sum --count 200 --seed 1 " + plugin("sum_declines_data"));
  EXPECT_EQ(r.code, 4) << r.out;
  EXPECT_NE(r.out.find("declined: "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("run declines what can_run accepted: negative elements"), std::string::npos)
      << r.out;
  EXPECT_NE(r.out.find("only f32 and f64 on the CPU"), std::string::npos) << r.out;
  EXPECT_EQ(mote_run("check sum --count 200 --seed 1 " + plugin("sum_correct")).code, 0);
}

TEST(Cli, OptionsMayStandBeforeTheOp) {
  const Result r = mote_run("check --backend openblas,gemm_correct " + plugin("gemm_correct") +
                            " gemm --count 10");
  EXPECT_EQ(r.code, 0) << r.out;
  EXPECT_NE(r.out.find("openblas"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("gemm_correct"), std::string::npos) << r.out;
}

TEST(Cli, APassIsZeroAndShowsTheTable) {
  const Result r = mote_run("check gemm --count 40 --seed 3 " + plugin("gemm_correct"));
  EXPECT_EQ(r.code, 0) << r.out;
  EXPECT_NE(r.out.find("mote check: seed 3, backends gemm_correct"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("gemm  f32    gemm_correct"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("\npassed: "), std::string::npos) << r.out;
}

TEST(Cli, TheEnvironmentGivesASeed) {
  const std::string arguments = "check gemm --count 3 " + plugin("gemm_correct");
  const Result given = mote_run(arguments, "MOTE_SEED=7");
  EXPECT_NE(given.out.find("mote check: seed 7, "), std::string::npos) << given.out;
  const Result chosen = mote_run(arguments + " --seed 8", "MOTE_SEED=7");
  EXPECT_NE(chosen.out.find("mote check: seed 8, "), std::string::npos) << chosen.out;
  const Result wrong = mote_run(arguments, "MOTE_SEED=seven");
  EXPECT_EQ(wrong.code, 2) << wrong.out;
  EXPECT_NE(wrong.out.find("MOTE_SEED 'seven': expected a whole number"), std::string::npos)
      << wrong.out;
}

TEST(Cli, AFailureIsOneAndItsReplayLineWorks) {
  const Result r = mote_run("check gemm --count 40 --seed 3 " + plugin("gemm_k_tail_late"));
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_NE(r.out.find("y[0,0]: expected 285, got 204"), std::string::npos) << r.out;
  const Result again = mote_run(replay_arguments(r.out));
  EXPECT_EQ(again.code, 1) << again.out;
  EXPECT_NE(again.out.find("y[0,0]: expected 285, got 204"), std::string::npos) << again.out;
}

/// A tool of another name knows ops that mote does not (mote_add_kernels).
TEST(Cli, TheReplayLineCallsTheToolThatPrintsIt) {
  const test::TemporaryFolder folder;
  const std::string tool = (folder.path() / "my tool").string();
  std::filesystem::create_symlink(MOTE_TOOL, tool);
  const Result r = test::run_in_shell("'" + tool + "' check gemm --dtype f32 --count 60 --seed 1 " +
                                      plugin("gemm_k_tail"));
  const std::string mark = "replay: ";
  const std::size_t at = r.out.find(mark);
  ASSERT_NE(at, std::string::npos) << r.out;
  const std::size_t begin = at + mark.size();
  const std::string line = r.out.substr(begin, r.out.find('\n', at) - begin);
  EXPECT_TRUE(line.starts_with("'" + tool + "' replay 'gemm ")) << line;
  EXPECT_EQ(test::run_in_shell(line).code, 1) << line;
}

TEST(Cli, ACrashIsThreeAndItsReplayLineWorks) {
  const Result r = mote_run("check gemm --count 200 --seed 3 " + plugin("gemm_crash"));
  EXPECT_EQ(r.code, 3) << r.out;
  EXPECT_NE(r.out.find("crashed: gemm on gemm_crash, "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("SIGSEGV: writes address 0x0"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("\nFAILED: "), std::string::npos) << r.out;
  const Result again = mote_run(replay_arguments(r.out));
  EXPECT_EQ(again.code, 3) << again.out;
  EXPECT_NE(again.out.find("crashed: gemm "), std::string::npos) << again.out;
}

TEST(Cli, ACrashInProcessEndsIt) {
  const Result r = mote_run("check gemm --count 200 --seed 3 --in-process " + plugin("gemm_crash"));
  EXPECT_EQ(r.code, 3) << r.out;
  EXPECT_NE(r.out.find("crashed: SIG"), std::string::npos) << r.out;
  const Result again = mote_run(replay_arguments(r.out) + " --in-process");
  EXPECT_EQ(again.code, 3) << again.out;
  EXPECT_NE(again.out.find("crashed: SIG"), std::string::npos) << again.out;
}

TEST(Cli, ACampaignGoesOnAfterEachBrokenRule) {
  const std::string rules = std::string("--plugin ") + MOTE_TEST_PLUGINS + "/breaks_rules.so";
  const Result r =
      mote_run("check neg --dtype f32 --count 30 --seed 1 --timeout 200ms --warm-up 1s " + rules +
               " --backend crashes,hangs,changes_x,rounds_upward,keeps_rules");
  EXPECT_EQ(r.code, 3) << r.out;
  for (const char* part :
       {"crashed: neg on crashes, ", "hung: neg on hangs, ", "changed input: neg on changes_x, ",
        "changed mode: neg on rounds_upward, ", "diagnosis: hung: no result after 0.2 s",
        "writes x, its input"}) {
    EXPECT_NE(r.out.find(part), std::string::npos) << part << "\n" << r.out;
  }
  EXPECT_EQ(r.out.find("on keeps_rules"), std::string::npos) << r.out;
  const Result again = mote_run(replay_arguments(r.out));
  EXPECT_NE(again.code, 0) << again.out;
}

/// Returns the table, without the times below it.
std::string table(const std::string& out) {
  const std::size_t begin = out.find("\nop ");
  EXPECT_NE(begin, std::string::npos) << out;
  return begin == std::string::npos ? "" : out.substr(begin, out.find("\npassed") - begin);
}

TEST(Cli, WorkersShareTheCases) {
  const std::string arguments = "check gemm --dtype f32 --count 60 --seed 4 ";
  const Result one = mote_run(arguments + plugin("gemm_k_tail_late"));
  const Result three = mote_run(arguments + "--workers 3 " + plugin("gemm_k_tail_late"));
  EXPECT_EQ(three.code, 1) << three.out;
  const auto rows = [](const std::string& out) { return out.substr(0, out.find("\nfailed: ")); };
  EXPECT_EQ(rows(table(one.out)), rows(table(three.out)));
  const Result part =
      mote_run(arguments + plugin("gemm_correct"), "GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=1");
  EXPECT_EQ(part.code, 0) << part.out;
  EXPECT_EQ(table(part.out),
            table(mote_run(arguments + "--shard 1/4 " + plugin("gemm_correct")).out));
  EXPECT_NE(table(part.out), table(mote_run(arguments + plugin("gemm_correct")).out));
  expect_one_line("check gemm --shard 4/4", "shard '4': expected a whole number from 0 to 3");
}

TEST(Cli, AKilledCampaignGoesOn) {
  const test::TemporaryFolder folder;
  const std::string journal = folder.path() / "journal";
  const std::string arguments = "check gemm --dtype f32 --count 400 " + plugin("gemm_correct");
  const std::string kept = arguments + " --journal " + journal;
  mote_run(kept, "timeout -s KILL 0.3");
  const Result r = mote_run(kept);
  EXPECT_EQ(r.code, 0) << r.out;
  const std::string seed = r.out.substr(r.out.find("seed"), r.out.find(',') - r.out.find("seed"));
  const Result whole = mote_run(arguments + " --" + seed);
  EXPECT_EQ(table(whole.out), table(r.out));
}

TEST(Cli, ACrashLosesNothingThatWasCounted) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("crash.cases",
                                        "gemm a=f32[1,3] b=f32[3,4] fill=index:0\n"
                                        "softmax x=f32[2,3,4]\n"
                                        "gemm a=f32[5,3] b=f32[3,128] fill=index:0\n");
  const std::string arguments = "check --in-process --cases " + path + " " + plugin("gemm_crash");
  const Result r = mote_run(arguments);
  EXPECT_EQ(r.code, 3) << r.out;
  const std::size_t table = r.out.find("\nafter 2 cases:\n");
  ASSERT_NE(table, std::string::npos) << r.out;
  EXPECT_LT(table, r.out.find("crashed: SIG")) << r.out;
  EXPECT_NE(r.out.find("gemm  f32    gemm_crash       1       1", table), std::string::npos)
      << r.out;
  const Result json = mote_run(arguments + " --json");
  std::istringstream lines(json.out);
  std::string line;
  std::getline(lines, line);
  ASSERT_TRUE(std::getline(lines, line)) << json.out;
  EXPECT_EQ(nlohmann::json::parse(line).at("type"), "row");
  EXPECT_EQ(nlohmann::json::parse(line).at("judged"), 1);
}

TEST(Cli, JsonIsALineEach) {
  const auto lines_of = [](const Result& r) {
    std::vector<nlohmann::json> lines;
    std::istringstream stream(r.out);
    for (std::string line; std::getline(stream, line);) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  };
  const auto lines =
      lines_of(mote_run("check gemm --json --count 40 --seed 3 " + plugin("gemm_k_tail")));
  EXPECT_EQ(lines.front().at("type"), "campaign");
  EXPECT_EQ(lines.front().at("seed"), 3);
  EXPECT_EQ(lines.back().at("type"), "result");
  EXPECT_EQ(lines.back().at("exit"), 1);
  int rows = 0;
  int failures = 0;
  for (const auto& line : lines) {
    rows += line.at("type") == "row";
    failures += line.at("type") == "failure";
  }
  EXPECT_EQ(rows, std::ssize(find_op("gemm").dtypes));
  EXPECT_EQ(failures, 1);
  const auto crash = lines_of(
      mote_run("check gemm --json --count 200 --seed 3 --in-process " + plugin("gemm_crash")));
  EXPECT_EQ(crash.back().at("type"), "crash");
  EXPECT_TRUE(crash.back().contains("replay"));
}

TEST(Cli, CasesComeFromAFileOrAGroup) {
  const test::TemporaryFolder folder;
  const std::string path =
      folder.write("some.cases", "# two\ngemm a=f32[3,9] b=f32[9,2]\ngemm a=f32[3,8] b=f32[8,2]\n");
  const Result r = mote_run("check --cases " + path + " " + plugin("gemm_k_tail_late"));
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_NE(r.out.find("2 cases judged"), std::string::npos) << r.out;
  const Result words =
      mote_run("replay gemm 'a=f32[1,9]' 'b=f32[9,1]' " + plugin("gemm_k_tail_late"));
  EXPECT_EQ(words.code, 1) << words.out;
  const Result replay = mote_run("replay " + path + " " + plugin("gemm_k_tail_late"));
  EXPECT_EQ(replay.code, 1) << replay.out;
  const Result group = mote_run("check matmul --cases bert_base --backend openblas");
  EXPECT_EQ(group.code, 0) << group.out;
}

TEST(Cli, EveryGroupThatComesWithMoteIsCases) {
  const auto folder = std::filesystem::path(MOTE_TOOL).parent_path() / "../share/mote/cases";
  std::size_t groups = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    ++groups;
    EXPECT_NO_THROW(EXPECT_FALSE(read_cases(file.path()).empty())) << file.path();
  }
  EXPECT_GE(groups, 5U);
}

TEST(Cli, AProgramFileStandsForAnOp) {
  const Result r =
      mote_run("check " + std::string(MOTE_EXAMPLES_FOLDER) + "/conv2d.mote --count 30 --seed 1 " +
               plugin("conv2d_right_pad_is_left"));
  EXPECT_EQ(r.code, 1) << r.out;
  const Result again = mote_run(replay_arguments(r.out));
  EXPECT_EQ(again.code, 1) << again.out;
}

TEST(Cli, ALibraryThatCannotBeLoadedIsNamedWithTheReason) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("broken.so", "no library\n");
  const Result r = mote_run("check gemm --backend openblas --count 20 --seed 1",
                            "MOTE_PLUGIN_PATH=" + folder.path().string());
  EXPECT_NE(r.out.find("left out: plug-in " + path), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("too short"), std::string::npos) << r.out;
  EXPECT_EQ(r.code, 0) << r.out;
}

}  // namespace
}  // namespace mote
