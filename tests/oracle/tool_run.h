// SPDX-License-Identifier: Apache-2.0
// Runs the tool from outside, for tests of what it prints.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "temporary_folder.h"

namespace mote::test {

struct Result {
  int code;
  std::string out;
  std::string err;
};

/// Runs `command` (a shell's) with that standard input.
inline Result shell(const std::string& command, const std::string& input = "") {
  const TemporaryFolder folder;
  const std::string in = folder.write("in", input);
  const std::string out = folder.path() / "out", err = folder.path() / "err";
  const int status =
      std::system(fmt::format("{{ {}; }} <'{}' >'{}' 2>'{}'", command, in, out, err).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(out), read(err)};
}

inline Result mote(const std::string& arguments, const std::string& input = "") {
  return shell(fmt::format("'{}' {}", MOTE_TOOL, arguments), input);
}

/// Expects exit code 0 and an empty standard error; returns the output.
inline std::string good(const std::string& arguments, const std::string& input = "") {
  const Result r = mote(arguments, input);
  EXPECT_EQ(r.code, 0) << arguments << "\n" << r.err;
  EXPECT_EQ(r.err, "") << arguments;
  return r.out;
}

/// Expects exit code 2, an empty standard output and one line on standard error; returns that line.
inline std::string bad(const std::string& arguments, const std::string& input = "") {
  const Result r = mote(arguments, input);
  EXPECT_EQ(r.code, 2) << arguments << "\n" << r.err;
  EXPECT_EQ(r.out, "") << arguments;
  EXPECT_TRUE(r.err.starts_with("mote: ")) << r.err;
  EXPECT_EQ(std::ranges::count(r.err, '\n'), 1) << r.err;
  return r.err;
}

inline void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
}

/// Expects that each file compiles alone, without a warning, as strict C11.
inline void expect_compiles(const std::string& files, const std::filesystem::path& folder) {
  const Result r = shell(fmt::format(
      "cd '{}' && cc -std=c11 -Wall -Wextra -Wconversion -Werror -c {}", folder.string(), files));
  EXPECT_EQ(r.code, 0) << r.err.substr(0, 4000);
}

/// An op that the catalogue does not have.
inline constexpr const char* kRelu6 = R"mote(op relu6 "y = min(max(x, 0), 6)"
input x f32[N]
output y = min(max(x, 0), 6)
)mote";

}  // namespace mote::test
