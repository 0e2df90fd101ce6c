// SPDX-License-Identifier: Apache-2.0
// Runs commands as a user types them, for tests of the programs.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace mote::test {

struct Ran {
  int code = -1;    ///< 128 if the command did not end by itself
  std::string out;  ///< both streams
};

inline Ran run_in_shell(const std::string& line) {
  Ran ran;
  std::FILE* pipe = popen((line + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  std::array<char, 4096> chunk{};
  for (std::size_t n = 0; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
    ran.out.append(chunk.data(), n);
  const int status = pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return ran;
}

}  // namespace mote::test
