// SPDX-License-Identifier: Apache-2.0
// Tests `mote doctor` from outside: its lines, their keys, and plug-ins that cannot be loaded or
// crash when loaded.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "temporary_folder.h"

namespace mote {
namespace {

using test::read;

namespace fs = std::filesystem;

class Doctor : public testing::Test {
 protected:
  Doctor() {
    std::string name = (fs::temp_directory_path() / "mote-doctor-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    folder_ = name;
  }
  ~Doctor() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  /// Builds a plug-in that runs these statements when it is loaded.
  fs::path plugin(const std::string& name, const std::string& at_load) const {
    const fs::path source = write(name + ".c",
                                  "#include <stdlib.h>\n#include <unistd.h>\n"
                                  "__attribute__((constructor)) static void load(void) {" +
                                      at_load + "}\n");
    fs::path library = folder_ / (name + ".so");
    const std::string command =
        fmt::format("cc -shared -fPIC -o '{}' '{}'", library.string(), source.string());
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return library;
  }

  /// Expects exit code 0 and an empty standard error; returns the output.
  std::string doctor(const std::string& arguments, const std::string& environment = "") const {
    const fs::path out = folder_ / "out", err = folder_ / "err";
    const int status = std::system(
        fmt::format("MOTE_PLUGIN_PATH='{}' {} '{}' doctor {} >'{}' 2>'{}'", folder_.string(),
                    environment, MOTE_TOOL, arguments, out.string(), err.string())
            .c_str());
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
    EXPECT_EQ(read(err), "");
    return read(out);
  }

  /// Returns the findings by name; every line is an object with the five keys.
  std::multimap<std::string, nlohmann::json> findings(const std::string& environment = "") const {
    std::multimap<std::string, nlohmann::json> all;
    std::istringstream lines(doctor("--json", environment));
    for (std::string line; std::getline(lines, line);) {
      const auto finding = nlohmann::json::parse(line);
      for (const char* key : {"name", "state", "found", "costs", "remedy"}) {
        EXPECT_TRUE(finding.at(key).is_string()) << line;
      }
      const bool ok = finding.at("state") == "ok";
      EXPECT_EQ(finding.at("costs").get<std::string>().empty(), ok) << line;
      EXPECT_EQ(finding.at("remedy").get<std::string>().empty(), ok) << line;
      all.emplace(finding.at("name"), finding);
    }
    return all;
  }

  /// Returns the finding about that plug-in.
  std::string problem(const fs::path& path) const {
    const std::string prefix = path.string() + ": ";
    for (const auto& [name, finding] : findings()) {
      const std::string found = finding.at("found");
      if (name != "plugin" || !found.starts_with(prefix)) continue;
      EXPECT_EQ(finding.at("state"), "failed");
      return found.substr(prefix.size());
    }
    return "nothing about " + path.string();
  }

  fs::path folder_;
};

std::int64_t number(const nlohmann::json& finding, const char* key) {
  return finding.at(key).get<std::int64_t>();
}

TEST_F(Doctor, NamesWhatMattersOnThisMachine) {
  const auto all = findings();
  for (const char* name : {"mote", "c_compiler", "openmp", "cuda", "nvrtc", "cublas", "cudnn",
                           "gpu", "memory", "cpus", "cpu_features", "case_groups", "terminal"}) {
    EXPECT_EQ(all.count(name), 1U) << name;
  }
  const auto one = [&](const char* name) { return all.find(name)->second; };
  EXPECT_EQ(one("c_compiler").at("state"), "ok");
  EXPECT_GT(number(one("memory"), "available_bytes"), 0);
  EXPECT_GE(number(one("cpus"), "usable"), 1);
  EXPECT_GE(number(one("cpus"), "online"), number(one("cpus"), "usable"));
  EXPECT_EQ(one("terminal").at("stdout"), false);
  EXPECT_EQ(one("case_groups").at("groups"),
            nlohmann::json({"bert_base", "llama", "mobilenetv2", "resnet50", "speed", "unet"}));
  EXPECT_EQ(all.count("plugin"), 0U);
}

TEST_F(Doctor, TextHasALineForEachFinding) {
  std::string text = doctor("");
  const auto all = findings();
  std::istringstream shown(text);
  for (std::string line; std::getline(shown, line);) EXPECT_LE(line.size(), 100U) << line;
  const std::string next = "\n" + std::string(25, ' ');  // the indentation of continuation lines
  for (std::size_t at; (at = text.find(next)) != std::string::npos;)
    text.replace(at, next.size(), " ");
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(text, '\n')), all.size());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string state = line.substr(0, line.find(' '));
    EXPECT_TRUE(state == "ok" || state == "missing" || state == "failed") << line;
    EXPECT_EQ(line.find("; cost: ") == std::string::npos, state == "ok") << line;
    EXPECT_EQ(line.find("; remedy: ") == std::string::npos, state == "ok") << line;
  }
}

TEST_F(Doctor, ListsTheFoldersInWhichPlugInsAreLookedFor) {
  const auto all = findings();
  const auto [begin, end] = all.equal_range("plugin_folder");
  ASSERT_EQ(std::distance(begin, end), 2);
  EXPECT_EQ(begin->second.at("path"), folder_.string());
  EXPECT_EQ(begin->second.at("libraries"), 0);
  const std::string text = doctor("", "MOTE_PLUGIN_PATH=/nonexistent/folder");
  EXPECT_NE(text.find("missing  plugin folder   /nonexistent/folder: No such file"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("correct $MOTE_PLUGIN_PATH"), std::string::npos) << text;
}

/// The finding about a library, and the variable that names its file.
struct Named {
  const char* finding;
  const char* variable;
};
constexpr std::array kNamed = {Named{"nvrtc", "MOTE_NVRTC"}, Named{"cublas", "MOTE_CUBLAS"},
                               Named{"cudnn", "MOTE_CUDNN"}, Named{"gpu", "MOTE_CUDA_DRIVER"}};

TEST_F(Doctor, NamesTheLibraryThatAVariableAsksFor) {
  const std::string none = write("none.so", "no library at all, whatever its name may say of it");
  const std::string other = plugin("other", "");
  for (const Named& n : kNamed) {
    const auto about = [&](const std::string& file) {
      return findings(fmt::format("{}='{}'", n.variable, file)).find(n.finding)->second;
    };
    const std::string from = fmt::format("${}: ", n.variable);
    const nlohmann::json missing = about("/nonexistent/library.so");
    EXPECT_EQ(missing.at("state"), "missing");
    EXPECT_EQ(missing.at("found"), from +
                                       "/nonexistent/library.so: cannot open shared object "
                                       "file: No such file or directory");
    EXPECT_NE(std::string(missing.at("remedy")).find(fmt::format("correct ${}", n.variable)),
              std::string::npos)
        << missing;
    const nlohmann::json text = about(none);
    EXPECT_EQ(text.at("state"), "failed");
    EXPECT_TRUE(std::string(text.at("found")).starts_with(from + none + ": ")) << text;
    const nlohmann::json strange = about(other);
    EXPECT_EQ(strange.at("state"), "failed");
    EXPECT_TRUE(std::string(strange.at("found")).starts_with(from + other + ": not ")) << strange;
  }
}

/// The variable simulates a machine without a toolkit, although this one may have one in the
/// loader's path.
TEST_F(Doctor, SaysWhetherThereIsAToolkitADriverAndAGpu) {
  const auto situation = [&](const std::string& environment) {
    return std::string(
        findings(environment + " MOTE_CUDA_DRIVER=/nonexistent").find("cuda")->second.at("found"));
  };
  EXPECT_EQ(situation("MOTE_NVRTC=/nonexistent"), "no toolkit, no driver");
  const auto all = findings();
  if (all.find("nvrtc")->second.at("state") == "ok") {
    EXPECT_EQ(situation(""), "a toolkit, no driver");
  }
}

TEST_F(Doctor, OpenBlasIsDescribedOrMissing) {
  for (const auto& [name, finding] : findings()) {
    if (name != "backend" || finding.at("backend") != "openblas") continue;
    if (finding.at("state") == "missing") {
      EXPECT_NE(std::string(finding.at("remedy")).find("libopenblas-openmp-dev"),
                std::string::npos);
      return;
    }
    EXPECT_TRUE(std::string(finding.at("config")).starts_with("OpenBLAS ")) << finding;
    EXPECT_NE(finding.at("core"), "") << finding;
    EXPECT_GE(number(finding, "threads"), 1) << finding;
    return;
  }
  ADD_FAILURE() << "nothing about openblas";
}

TEST_F(Doctor, APlugInThatIsNoneIsNamedWithItsReason) {
  const std::string no_library = problem(write("text.so", "not a library"));
  EXPECT_NE(no_library.find("too short"), std::string::npos) << no_library;
  const std::string no_symbol = problem(plugin("quiet", ""));
  EXPECT_NE(no_symbol.find("mote_plugin_init"), std::string::npos) << no_symbol;
}

TEST_F(Doctor, APlugInThatEndsTheProcessIsAFinding) {
  const std::string crash = problem(plugin("crashing", "abort();"));
  EXPECT_NE(crash.find("SIGABRT"), std::string::npos) << crash;
  const std::string exit = problem(plugin("leaving", "_exit(5);"));
  EXPECT_NE(exit.find("exit code 5"), std::string::npos) << exit;
}

TEST_F(Doctor, WithoutACompilerTheInterpreterJudges) {
  const auto all = findings("CC=/nonexistent/cc");
  const nlohmann::json& compiler = all.find("c_compiler")->second;
  EXPECT_EQ(compiler.at("state"), "missing");
  EXPECT_EQ(compiler.at("command"), "/nonexistent/cc");
  EXPECT_NE(std::string(compiler.at("costs")).find("interpreter"), std::string::npos);
  const auto useless = findings("CC=true").find("c_compiler")->second;
  EXPECT_EQ(useless.at("state"), "failed");
  EXPECT_EQ(findings("CC='cc -O1'").find("c_compiler")->second.at("state"), "ok");
}

}  // namespace
}  // namespace mote
