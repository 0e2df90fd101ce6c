// Naming and running the C compiler. The output of a command goes to a file in memory, so that no
// pipe has to be emptied meanwhile.
#include "mote/oracle/c_compiler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <sstream>

#include "mote/codegen/passes.h"
#include "mote/uops/program.h"
#include "reference.h"

namespace mote {
namespace {

std::string contents(int file) {
  std::string text;
  std::array<char, 4096> part{};
  lseek(file, 0, SEEK_SET);
  for (ssize_t got = 0; (got = read(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

/// The exit status as waitpid gives it, or -1.
int run_into(int file, const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, file, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return status;
}

}  // namespace

std::vector<std::string> c_compiler() {
  const char* chosen = std::getenv("CC");
  std::istringstream stream(chosen != nullptr ? chosen : "");
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words.empty() ? std::vector<std::string>{"cc"} : words;
}

bool c_compiler_works() {
  const auto twice =
      std::make_shared<const Program>(parse_program("op twice\ninput x f32[N]\noutput y = x*2\n"));
  return compile_reference(std::make_shared<const LoopProgram>(compile(twice))) != nullptr;
}

std::optional<std::string> run_command(const std::vector<std::string>& words) {
  const int file = memfd_create("mote-command", MFD_CLOEXEC);
  if (file < 0 || words.empty()) return std::nullopt;
  const int status = run_into(file, words);
  std::string text = contents(file);
  close(file);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

}  // namespace mote
