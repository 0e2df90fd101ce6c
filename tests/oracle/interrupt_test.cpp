// SPDX-License-Identifier: Apache-2.0
// Tests Ctrl-C and TERM: the report contains the findings so far, files are whole, no process is
// left behind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <sstream>
#include <thread>

#include "mote/oracle/campaign.h"
#include "temporary_folder.h"

namespace mote {
namespace {

using Clock = std::chrono::steady_clock;

std::string plugin_path(const std::string& name) {
  return std::string(MOTE_MUTANTS_FOLDER) + "/" + name + ".so";
}

/// A program in a process group of its own, whose standard output is a file.
class Started {
 public:
  explicit Started(const std::vector<std::string>& arguments) : out_(folder_.path() / "out") {
    std::vector<char*> words = {const_cast<char*>(MOTE_TOOL)};
    for (const std::string& a : arguments) words.push_back(const_cast<char*>(a.c_str()));
    words.push_back(nullptr);
    process_ = fork();
    if (process_ == 0) {
      setpgid(0, 0);
      const int file = open(out_.c_str(), O_CREAT | O_WRONLY, 0644);
      dup2(file, STDOUT_FILENO);
      execv(words[0], words.data());
      _exit(127);
    }
    setpgid(process_, process_);
  }
  ~Started() { kill(-process_, SIGKILL); }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  std::string out() const { return test::read(out_); }

  /// Waits until the text was printed, for a minute at most.
  bool wait_for(const std::string& text) const {
    const auto until = Clock::now() + std::chrono::minutes(1);
    while (out().find(text) == std::string::npos) {
      if (Clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  /// Sends the signal to the program alone, or to its group, as a terminal does.
  void send(int signal, bool group = false) const { kill(group ? -process_ : process_, signal); }
  int exit_code() {
    int status = 0;
    waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  /// True if processes of the group are left; those that have just ended get a second.
  bool leaves_processes() const {
    for (int k = 0; k < 50; ++k) {
      if (kill(-process_, 0) != 0) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

 private:
  test::TemporaryFolder folder_;
  std::string out_;
  pid_t process_ = -1;
};

void let_it_run(double seconds = 0.4) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

struct How {
  const char* name;
  int signal;
  bool group;
  int code;
  std::vector<std::string> options;
};

class Interrupted : public testing::TestWithParam<How> {};

TEST_P(Interrupted, CheckReportsWhatWasFound) {
  const How& how = GetParam();
  const test::TemporaryFolder folder;
  const std::string journal = folder.path() / "journal";
  const std::string junit = folder.path() / "r.xml";
  const std::string html = folder.path() / "r.html";
  std::vector<std::string> arguments = {"check",     "gemm",
                                        "--plugin",  plugin_path("gemm_k_tail"),
                                        "--plugin",  plugin_path("gemm_correct"),
                                        "--budget",  "300s",
                                        "--seed",    "1",
                                        "--junit",   junit,
                                        "--html",    html,
                                        "--journal", journal};
  arguments.insert(arguments.end(), how.options.begin(), how.options.end());
  Started mote(arguments);
  ASSERT_TRUE(mote.wait_for("  replay: mote replay ")) << mote.out();
  const auto sent = Clock::now();
  mote.send(how.signal, how.group);
  EXPECT_EQ(mote.exit_code(), how.code) << mote.out();
  EXPECT_LT(Clock::now() - sent, std::chrono::seconds(10));
  EXPECT_FALSE(mote.leaves_processes());
  const std::string out = mote.out();
  EXPECT_NE(out.find("\nINTERRUPTED: "), std::string::npos) << out;
  EXPECT_EQ(out.find("\nop "), out.rfind("\nop ")) << out;  // one table
  EXPECT_NE(out.find("\nfailed: gemm on gemm_k_tail, "), std::string::npos) << out;
  pugi::xml_document xml;
  EXPECT_TRUE(xml.load_file(junit.c_str()));
  EXPECT_TRUE(xml.select_node("//failure"));
  EXPECT_TRUE(xml.load_file(html.c_str(), pugi::parse_default | pugi::parse_doctype));
  EXPECT_NE(test::read(html).find("</html>"), std::string::npos);
  std::vector<std::string> journals;
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    if (file.path().filename().string().starts_with("journal")) journals.push_back(file.path());
  const CampaignResult kept = merge_journals(journals);  // each line is whole
  EXPECT_EQ(kept.failures.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Signals, Interrupted,
    testing::Values(How{"Int", SIGINT, true, 130, {}}, How{"Term", SIGTERM, false, 143, {}},
                    How{"TermOfTheGroup", SIGTERM, true, 143, {}},
                    How{"IntWithWorkers", SIGINT, true, 130, {"--workers", "2"}},
                    How{"TermWithWorkers", SIGTERM, false, 143, {"--workers", "2"}}),
    [](const auto& param) { return param.param.name; });

TEST(Interrupt, AWorkerThatHangsIsEndedAndNotAccused) {
  Started mote({"check", "neg", "--dtype", "f32", "--plugin",
                std::string(MOTE_TEST_PLUGINS) + "/breaks_rules.so", "--backend", "hangs",
                "--timeout", "300s", "--count", "10"});
  ASSERT_TRUE(mote.wait_for("mote check: "));
  let_it_run();
  const auto sent = Clock::now();
  mote.send(SIGINT, true);
  EXPECT_EQ(mote.exit_code(), 130) << mote.out();
  EXPECT_LT(Clock::now() - sent, std::chrono::seconds(10));
  EXPECT_EQ(mote.out().find("hung"), std::string::npos) << mote.out();
  EXPECT_NE(mote.out().find("\nINTERRUPTED: "), std::string::npos) << mote.out();
  EXPECT_FALSE(mote.leaves_processes());
}

TEST(Interrupt, ASecondOneEndsAtOnce) {
  Started mote({"check", "neg", "--dtype", "f32", "--in-process", "--plugin",
                std::string(MOTE_TEST_PLUGINS) + "/breaks_rules.so", "--backend", "hangs",
                "--count", "10"});
  ASSERT_TRUE(mote.wait_for("mote check: "));
  let_it_run();
  mote.send(SIGINT, true);
  let_it_run();
  mote.send(SIGINT, true);
  EXPECT_EQ(mote.exit_code(), 130) << mote.out();
  EXPECT_EQ(mote.out().find("INTERRUPTED"), std::string::npos) << mote.out();
}

TEST(Interrupt, JsonSaysSo) {
  Started mote(
      {"check", "gemm", "--json", "--plugin", plugin_path("gemm_correct"), "--budget", "300s"});
  ASSERT_TRUE(mote.wait_for("\"campaign\""));
  let_it_run();
  mote.send(SIGINT);
  EXPECT_EQ(mote.exit_code(), 130);
  std::istringstream lines(mote.out());
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line);
  EXPECT_EQ(last.at("type"), "result");
  EXPECT_EQ(last.at("exit"), 130);
  EXPECT_EQ(last.at("interrupted"), true);
}

TEST(Interrupt, MutantsReportsThoseThatWereMeasured) {
  Started mote(
      {"mutants", "gemm_k_tail", "gemm_correct", "softmax_correct", "--count", "10000000"});
  let_it_run(1.5);
  mote.send(SIGTERM, true);
  EXPECT_EQ(mote.exit_code(), 143) << mote.out();
  EXPECT_FALSE(mote.leaves_processes());
  EXPECT_NE(mote.out().find("mutant"), std::string::npos) << mote.out();
}

TEST(Interrupt, ReplayEndsToo) {
  Started mote({"replay",
                "neg x=f32[2,3,4,5] backend=hangs plugin=" + std::string(MOTE_TEST_PLUGINS) +
                    "/breaks_rules.so",
                "--timeout", "300s"});
  let_it_run(1);
  mote.send(SIGINT, true);
  EXPECT_EQ(mote.exit_code(), 130) << mote.out();
  EXPECT_FALSE(mote.leaves_processes());
}

}  // namespace
}  // namespace mote
