// SPDX-License-Identifier: Apache-2.0
// Tests the search and choice of backends by name, and a campaign's exit code for them.
#include <gtest/gtest.h>

#include <filesystem>

#include "mote/base/error.h"
#include "mote/oracle/campaign.h"
#include "mutant.h"
#include "temporary_folder.h"

namespace mote {
namespace {

using test::mutant;

TEST(Backends, UnknownNamesAndLibraries) {
  const Backends backends = find_backends({mutant("gemm_correct")});
  try {
    select_backends(backends, {"nothing"});
    FAIL();
  } catch (const Error& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("unknown backend 'nothing'"), std::string::npos) << what;
    EXPECT_NE(what.find("gemm_correct"), std::string::npos) << what;
    EXPECT_EQ(what.find("openblas", what.find("known, but not here")), std::string::npos) << what;
  }
  EXPECT_EQ(select_backends(backends, {"cudnn"}).absent, (std::vector<std::string>{"cudnn"}));
  try {
    find_backends({"/nonexistent/lib.so"});
    FAIL();
  } catch (const Error& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("/nonexistent/lib.so"), std::string::npos) << what;
    EXPECT_NE(what.find("No such file"), std::string::npos) << what;
  }
}

std::string loading_error(const std::vector<std::string>& paths) {
  try {
    find_backends(paths);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Backends, TwoOfTheSameNameAreAnErrorThatNamesBoth) {
  const test::TemporaryFolder folder;
  const std::string twin = (folder.path() / "twin.so").string();
  std::filesystem::copy_file(mutant("gemm_correct"), twin);
  const std::string what = loading_error({mutant("gemm_correct"), twin});
  EXPECT_NE(what.find("two backends are called gemm_correct"), std::string::npos) << what;
  EXPECT_NE(what.find(mutant("gemm_correct")), std::string::npos) << what;
  EXPECT_NE(what.find(twin), std::string::npos) << what;
  EXPECT_EQ(loading_error({twin, twin}), "no error");
}

TEST(Backends, APlugInThatCrashesWhileLoadingIsNamed) {
  const std::string path = std::string(MOTE_TEST_PLUGINS) + "/aborts_in_init.so";
  EXPECT_EQ(loading_error({path}), "plug-in " + path + ": crashed while loading (SIGABRT)");
}

TEST(ExitCode, FollowsItsOrder) {
  const BackendEntry a{find_backends({mutant("gemm_correct")}).all.at(0).backend, "a.so", "a.so"};
  CampaignResult result;
  EXPECT_EQ(exit_code(result, {}, true), 77);
  const Backends kept = find_backends({mutant("gemm_correct"), mutant("gemm_k_tail")});
  const std::vector<BackendEntry> both = {kept.all.at(0), kept.all.at(1)};
  EXPECT_EQ(exit_code(result, both, false), 4);
  Row row;
  row.backend = both[0].name();
  row.judged = 1;
  row.counts[std::size_t(Verdict::passed)] = 1;
  result.rows = {row};
  EXPECT_EQ(exit_code(result, both, false), 0);
  EXPECT_EQ(exit_code(result, both, true), 4);
  row.counts[std::size_t(Verdict::out_of_bounds)] = 1;
  result.rows = {row};
  EXPECT_EQ(exit_code(result, both, true), 1);
  row.counts[std::size_t(Verdict::hung)] = 1;
  result.rows = {row};
  EXPECT_EQ(exit_code(result, both, true), 3);
}

}  // namespace
}  // namespace mote
