// SPDX-License-Identifier: Apache-2.0
// Runs commands. Their output goes to files in memory, so that no pipe has to be emptied meanwhile.
#include "mote/base/command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace mote {
namespace {

class MemoryFile {
 public:
  MemoryFile() : file_(memfd_create("mote-command", MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (file_ >= 0) close(file_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return file_; }
  std::string contents() const {
    std::string text;
    std::array<char, 4096> part{};
    lseek(file_, 0, SEEK_SET);
    for (ssize_t got = 0; (got = read(file_, part.data(), part.size())) > 0;)
      text.append(part.data(), static_cast<std::size_t>(got));
    return text;
  }

 private:
  int file_;
};

/// Returns 0, or the error number if it was not started; `status` is as waitpid gives it.
int run_into(const MemoryFile& output, const MemoryFile& messages,
             const std::vector<std::string>& words, int& status) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, messages.descriptor(), STDERR_FILENO);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return failed;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return errno;
  return 0;
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& words) {
  if (words.empty()) return {false, "", "no command"};
  const MemoryFile output;
  const MemoryFile messages;
  if (output.descriptor() < 0 || messages.descriptor() < 0)
    return {false, "", std::strerror(errno)};
  int status = 0;
  const int failed = run_into(output, messages, words, status);
  if (failed != 0) return {false, "", words[0] + ": " + std::strerror(failed)};
  return {WIFEXITED(status) && WEXITSTATUS(status) == 0, output.contents(), messages.contents()};
}

std::vector<std::string> command_named(const char* variable, const char* otherwise) {
  const char* chosen = std::getenv(variable);
  std::istringstream stream(chosen != nullptr ? chosen : "");
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words.empty() ? std::vector<std::string>{otherwise} : words;
}

}  // namespace mote
