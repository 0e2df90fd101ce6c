// `mote check` and `mote replay` as a user runs them: exit codes, one line for a mistake, replay
// lines that work in a shell.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace mote {
namespace {

struct Result {
  int code = -1;
  std::string out;
};

/// Runs `mote ARGUMENTS` in a shell; both streams come back.
Result mote_run(const std::string& arguments, const std::string& prefix = "") {
  const std::string line = prefix + " " + MOTE_TOOL + " " + arguments + " 2>&1";
  Result result;
  std::FILE* pipe = popen(line.c_str(), "r");
  std::array<char, 4096> chunk{};
  for (std::size_t n = 0; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) {
    result.out.append(chunk.data(), n);
  }
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return result;
}

std::string plugin(const std::string& name) {
  return std::string("--plugin ") + MOTE_MUTANTS_FOLDER + "/" + name + ".so";
}

/// The arguments of the line "replay: mote replay '…'".
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
  expect_one_line("check gemm --dtype f16", "known: f32, f64, i32, i64, bool");
  expect_one_line("check gemm --plugin /nonexistent.so", "No such file");
  expect_one_line("check gemm --budget soon", "expected a time such as 60s");
  expect_one_line("check gemm --cases nothing", "known: bert_base, resnet50");
  expect_one_line("check gemm --count -3", "count");
  expect_one_line("check gemm --nothing", "--nothing");
  expect_one_line("replay 'gemm a=f32[2,3] b=f32[4,4]'", "must be K = 3, got 4");
  expect_one_line("replay 'gemm a=f32[2,3] b=f32[3,4] backend=nothing'", "unknown backend");
  expect_one_line("replay 'gemm a=f32[2,3] b=f32[3,4] plugin=/nonexistent.so'", "No such file");
  expect_one_line("replay 'gemm a=f32[1000000,1000000] b=f32[1000000,1000000]'",
                  "case needs 29.1 TiB");
  expect_one_line("replay 'gemm a=f32[200,300] b=f32[300,400]' --memory 100K",
                  "100.0 KiB are available");
  expect_one_line("replay ''", "empty case");
}

TEST(Cli, MalformedProgramTextIsExitTwo) {
  const std::string path = testing::TempDir() + "malformed.mote";
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("op broken\ninput x f32[N\n", file);
  std::fclose(file);
  expect_one_line("check " + path, path + ": program text: line ");
  expect_one_line("replay '" + path + " x=f32[3]'", path + ": program text: line ");
}

TEST(Cli, ABackendThatIsNotHereIsSeventySeven) {
  const Result r = mote_run("check gemm --backend cudnn");
  EXPECT_EQ(r.code, 77) << r.out;
  EXPECT_NE(r.out.find("cudnn is not on this machine"), std::string::npos) << r.out;
  EXPECT_EQ(mote_run("replay 'gemm a=f32[2,3] b=f32[3,4] backend=cudnn'").code, 77);
}

TEST(Cli, NothingJudgedIsFour) {
  EXPECT_EQ(mote_run("check softmax --count 5 " + plugin("gemm_correct")).code, 4);
  EXPECT_EQ(mote_run("check gemm --count 0 " + plugin("gemm_correct")).code, 4);
  EXPECT_EQ(mote_run("check gemm --dtype i32 --count 5 " + plugin("gemm_correct")).code, 4);
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

TEST(Cli, AFailureIsOneAndItsReplayLineWorks) {
  const Result r = mote_run("check gemm --count 40 --seed 3 " + plugin("gemm_k_tail_late"));
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_NE(r.out.find("y[0,0]: expected 285, got 204"), std::string::npos) << r.out;
  const Result again = mote_run(replay_arguments(r.out));
  EXPECT_EQ(again.code, 1) << again.out;
  EXPECT_NE(again.out.find("y[0,0]: expected 285, got 204"), std::string::npos) << again.out;
}

TEST(Cli, ACrashIsThreeAndItsReplayLineWorks) {
  const Result r = mote_run("check gemm --count 200 --seed 3 " + plugin("gemm_crash"));
  EXPECT_EQ(r.code, 3) << r.out;
  EXPECT_NE(r.out.find("crashed: SIG"), std::string::npos) << r.out;
  const Result again = mote_run(replay_arguments(r.out));
  EXPECT_EQ(again.code, 3) << again.out;
  EXPECT_NE(again.out.find("crashed: SIG"), std::string::npos) << again.out;
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
  EXPECT_EQ(rows, 4);
  EXPECT_EQ(failures, 1);
  const auto crash =
      lines_of(mote_run("check gemm --json --count 200 --seed 3 " + plugin("gemm_crash")));
  EXPECT_EQ(crash.back().at("type"), "crash");
  EXPECT_TRUE(crash.back().contains("replay"));
}

TEST(Cli, CasesComeFromAFileOrAGroup) {
  const std::string path = testing::TempDir() + "some.cases";
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("# two\ngemm a=f32[3,9] b=f32[9,2]\ngemm a=f32[3,8] b=f32[8,2]\n", file);
  std::fclose(file);
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

TEST(Cli, AProgramFileStandsForAnOp) {
  const Result r =
      mote_run("check " + std::string(MOTE_EXAMPLES_FOLDER) + "/conv2d.mote --count 30 --seed 1 " +
               plugin("conv2d_right_pad_is_left"));
  EXPECT_EQ(r.code, 1) << r.out;
  const Result again = mote_run(replay_arguments(r.out));
  EXPECT_EQ(again.code, 1) << again.out;
}

TEST(Cli, ALibraryThatCannotBeLoadedIsNamedWithTheReason) {
  const std::string folder = testing::TempDir() + "mote_plugins";
  const std::string path = folder + "/broken.so";
  ASSERT_EQ(std::system(("mkdir -p " + folder + " && echo no library > " + path).c_str()), 0);
  const Result r =
      mote_run("check gemm --backend openblas --count 20 --seed 1", "MOTE_PLUGIN_PATH=" + folder);
  EXPECT_NE(r.out.find("left out: plug-in " + path), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("too short"), std::string::npos) << r.out;
  EXPECT_EQ(r.code, 0) << r.out;
}

}  // namespace
}  // namespace mote
