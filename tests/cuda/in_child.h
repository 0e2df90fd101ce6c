// SPDX-License-Identifier: Apache-2.0
// Runs a part of a test in a process of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <functional>
#include <string>

namespace mote::test {

/// Returns the text that the body computes in a child process, since a GPU is opened once per
/// process and may be lost. The caller must load libraries before the fork.
inline std::string in_child(const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    std::string text;
    try {
      text = body();
    } catch (const std::exception&
                 e) {  // must not reach the test's own frames, which the child has copies of
      text = std::string("an exception: ") + e.what();
    }
    const bool written = write(ends[1], text.data(), text.size()) >= 0;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  std::array<char, 1024> chunk{};
  for (ssize_t n = 0; (n = read(ends[0], chunk.data(), chunk.size())) > 0;)
    said.append(chunk.data(), static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? said : said + " (the process crashed)";
}

}  // namespace mote::test
