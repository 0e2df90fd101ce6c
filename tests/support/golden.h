// SPDX-License-Identifier: Apache-2.0
// Compares text with golden files: tests/golden/<Suite>.<Name>.txt, the path derived from the
// running test's name. MOTE_UPDATE_GOLDEN=1 rewrites them; look at the diff before you commit it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace mote::test {

inline std::string golden_path() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  return std::string(MOTE_GOLDEN_DIR) + "/" + info->test_suite_name() + "." + info->name() + ".txt";
}

inline void expect_golden(const std::string& text) {
  const std::string path = golden_path();
  if (std::getenv("MOTE_UPDATE_GOLDEN")) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << "no golden file " << path << "; MOTE_UPDATE_GOLDEN=1 writes it";
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << "differs from " << path;
}

}  // namespace mote::test
