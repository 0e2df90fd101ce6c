// SPDX-License-Identifier: Apache-2.0
// mote_conformance runs ONNX tests, by default those of Debian's libonnx-testdata, on mote's ops
// and prints the tables by operator. Exit codes: 0 passed; 1 a test failed, or a given table is
// wrong; 2 usage; 77 the tests are not installed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>

#include "model.h"
#include "mote/base/error.h"
#include "report.h"

namespace {

using mote::onnx::Result;
using mote::onnx::Verdict;

constexpr int kSkipped = 77;

struct Options {
  std::string folder = "/usr/share/libonnx-testdata/data";
  std::string source = "Debian's libonnx-testdata (ONNX 1.12, opset 17)";
  std::string filter, markdown, floor;
  bool list = false;
};

/// The folders of tests, and a description of them.
struct Set {
  const char* folder;
  const char* title;
};
constexpr Set kSets[] = {{"node", "One operator each, and the same as graphs of others"},
                         {"pytorch-operator", "Operators as PyTorch exports them"},
                         {"pytorch-converted", "Layers as PyTorch exports them"},
                         {"simple", "Small models"}};

constexpr const char* kIntroduction =
    "# Conformance: the ONNX tests\n\n"
    "Written by `build/release/bin/mote_conformance{}--markdown {}`; ctest (label `conformance`) "
    "runs the same and fails\nwhen a test fails, or when a row of this file is no longer so. The "
    "tests are those of {},\ntheir inputs as they are. Every call runs the generated C, which must "
    "agree with `evaluate` bit for bit (calls of more than\na million multiply-adds go without "
    "it); the result is compared bit for bit where it must be exact (integers, booleans, moved "
    "data,\nsums that are representable, one operation that IEEE 754 rounds), else by ONNX's own "
    "rule, rtol 1e-3 (bfloat16: 2^-6) and atol 1e-7.\nAn operator that is no single op here is "
    "composed of several; what only views say (reshape, squeeze) runs no kernel and is not\n"
    "counted as passed; \"expanded\" is an operator that ONNX itself writes as a graph of "
    "others.\n";

std::string introduction(const Options& options) {
  const bool standard = options.folder == Options().folder;
  const std::string choice =
      standard ? " " : fmt::format(" --folder {} --source \"{}\" ", options.folder, options.source);
  return fmt::format(kIntroduction, choice, options.markdown, options.source);
}

void report(const Result& r, bool list) {
  if (r.verdict == Verdict::failed) {
    fmt::print(stderr, "failed: {} ({}): {}\n", r.test, r.op, r.reason);
  } else if (list) {
    fmt::print(stderr, "{}: {} ({}) {}\n", r.verdict == Verdict::passed ? "passed" : "n/a", r.test,
               r.op, r.reason);
  }
}

std::vector<Result> run_set(const Options& options, const std::string& folder) {
  std::vector<Result> results;
  for (const std::string& test : mote::onnx::find_tests(folder)) {
    if (std::filesystem::path(test).filename().string().find(options.filter) == std::string::npos) {
      continue;
    }
    results.push_back(mote::onnx::run_test(test));
    report(results.back(), options.list);
  }
  return results;
}

/// True if a test ran, none failed, no operator passes fewer tests than the floor's table says, and
/// that table is up to date.
bool judge(const std::vector<Result>& results, const Options& options, const std::string& now) {
  bool well = !results.empty();
  for (const Result& r : results) well = well && r.verdict != Verdict::failed;
  if (options.floor.empty()) return well;
  const std::string earlier = mote::onnx::read_file(options.floor);
  for (const std::string& loss : mote::onnx::losses(earlier, results)) {
    fmt::print(stderr, "fewer tests pass than {} says: {}\n", options.floor, loss);
    well = false;
  }
  for (const std::string& row : mote::onnx::outdated(earlier, now)) {
    fmt::print(stderr, "{} is out of date (--markdown writes it): {}\n", options.floor, row);
    well = false;
  }
  return well;
}

int run(const Options& options) {
  if (!std::filesystem::is_directory(options.folder)) {
    fmt::print("skipped: {} is not there (tests/README.md says how it gets there)\n",
               options.folder);
    return kSkipped;
  }
  std::vector<Result> all;
  std::string text;
  for (const Set& set : kSets) {
    const std::string folder = options.folder + "/" + set.folder;
    if (!std::filesystem::is_directory(folder)) continue;
    const std::vector<Result> results = run_set(options, folder);
    if (results.empty()) continue;
    text += fmt::format("\n## {} (`{}`)\n\n{}", set.title, set.folder, mote::onnx::table(results));
    all.insert(all.end(), results.begin(), results.end());
  }
  text += fmt::format("\n## What is not reached\n\n{}", mote::onnx::unreached(all));
  fmt::print("{}", text);
  const bool well = judge(all, options, text);
  if (!options.markdown.empty()) std::ofstream(options.markdown) << introduction(options) << text;
  return well ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Runs the ONNX node tests on mote's ops.");
  app.add_option("--folder", options.folder, "the tests: folders node, simple, ...")
      ->capture_default_str();
  app.add_option("--source", options.source, "what they are, for the table's introduction");
  app.add_option("--filter", options.filter, "only tests with this in their name");
  app.add_option("--markdown", options.markdown, "write the table to this file");
  app.add_option("--floor", options.floor,
                 "such a file: what it says must be so, and as many tests pass");
  app.add_flag("--list", options.list, "a line for every test, on stderr");
  try {
    app.parse(argc, argv);
    return run(options);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "mote_conformance: {}\n", e.what());
    return 1;
  }
}
