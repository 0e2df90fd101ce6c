// mote_conformance: runs the ONNX node tests of Debian's libonnx-testdata on mote's ops and prints
// the table by operator. Exit: 0 passed; 1 a test failed, or fewer pass than a given table says;
// 2 usage; 77 the tests are not installed.
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
  std::string folder = "/usr/share/libonnx-testdata/data/node";
  std::string filter, markdown, floor;
  bool list = false;
};

constexpr const char* kIntroduction =
    "# Conformance: the ONNX node tests\n\n"
    "Written by `build/release/bin/mote_conformance --markdown docs/conformance.md`; ctest (label "
    "`conformance`) runs the same and fails\nwhen a test fails, or when fewer pass of an operator "
    "than this file says. The tests are those of Debian's `libonnx-testdata`\n(ONNX 1.12, opset "
    "17), their inputs as they are. Every call runs the generated C, which must agree with "
    "`evaluate` bit for bit; the\nresult is compared bit for bit where it must be exact (integers, "
    "booleans, moved data, sums that are representable), else by\nONNX's own rule, rtol 1e-3 and "
    "atol 1e-7. An operator that is no single op here is composed of several; \"expanded\" is an\n"
    "operator that ONNX itself writes as a graph of others.\n\n";

std::vector<Result> run_all(const Options& options) {
  std::vector<Result> results;
  for (const std::string& folder : mote::onnx::find_tests(options.folder)) {
    const std::string test = std::filesystem::path(folder).filename().string();
    if (test.find(options.filter) == std::string::npos) continue;
    results.push_back(mote::onnx::run_test(folder));
    const Result& r = results.back();
    if (r.verdict == Verdict::failed)
      fmt::print(stderr, "failed: {} ({}): {}\n", r.test, r.op, r.reason);
    if (options.list && r.verdict != Verdict::failed) {
      fmt::print(stderr, "{}: {} ({}) {}\n", r.verdict == Verdict::passed ? "passed" : "n/a",
                 r.test, r.op, r.reason);
    }
  }
  return results;
}

int run(const Options& options) {
  if (!std::filesystem::is_directory(options.folder)) {
    fmt::print(
        "skipped: {} is not there (Debian package libonnx-testdata; "
        "tools/install_packages.sh installs it)\n",
        options.folder);
    return kSkipped;
  }
  const std::string earlier = options.floor.empty() ? "" : mote::onnx::read_file(options.floor);
  const std::vector<Result> results = run_all(options);
  const std::string table = mote::onnx::table(results);
  fmt::print("{}", table);
  if (!options.markdown.empty()) std::ofstream(options.markdown) << kIntroduction << table;
  bool failed = results.empty();
  for (const Result& r : results) failed = failed || r.verdict == Verdict::failed;
  for (const std::string& loss : mote::onnx::losses(earlier, results)) {
    fmt::print(stderr, "fewer tests pass than {} says: {}\n", options.floor, loss);
    failed = true;
  }
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Runs the ONNX node tests on mote's ops.");
  app.add_option("--folder", options.folder, "the tests: one folder each")->capture_default_str();
  app.add_option("--filter", options.filter, "only tests with this in their name");
  app.add_option("--markdown", options.markdown, "write the table to this file");
  app.add_option("--floor", options.floor, "a table: as many tests of each operator must pass");
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
