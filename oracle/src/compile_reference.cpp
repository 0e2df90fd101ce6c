// A reference compiled at run time: C of the program with its thunk, written beside the headers
// that it needs into a folder of its own, compiled by `cc` without a shell, loaded, and the folder
// removed.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "embedded_headers.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "reference.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFunction = "mote_reference";

/// A new empty folder, removed with this.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code failed;
    fs::path base = fs::temp_directory_path(failed);
    if (failed) base = "/tmp";
    std::string name = (base / "mote-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

bool write_text(const fs::path& path, const std::string& text) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  stream.close();
  return static_cast<bool>(stream);
}

/// Runs cc in the folder, its messages thrown away: the interpreter takes over when it fails.
bool compile_c(const fs::path& folder) {
  const std::string include = "-I" + folder.string();
  const std::string source = (folder / "kernel.c").string();
  const std::string library = (folder / "kernel.so").string();
  std::array<const char*, 14> words = {
      "cc",    "-std=c11", "-O2",           "-ffp-contract=off", "-fwrapv", "-fno-builtin",
      "-fPIC", "-shared",  include.c_str(), source.c_str(),      "-o",      library.c_str(),
      "-lm",   nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "cc", &actions, nullptr,
                                  const_cast<char* const*>(words.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::shared_ptr<const Reference> compile_reference(const Program& program) {
  const TemporaryFolder folder;
  if (folder.path().empty()) return nullptr;
  for (const EmbeddedHeader& header : kEmbeddedHeaders) {
    if (!write_text(folder.path() / header.path, header.text)) return nullptr;
  }
  EmitOptions options;
  options.function = kFunction;
  options.standalone = true;
  options.thunk = true;
  const std::string text = "#include \"mote/base/thunk.h\"\n" +
                           emit_c(compile(std::make_shared<const Program>(program)), options);
  if (!write_text(folder.path() / "kernel.c", text) || !compile_c(folder.path())) return nullptr;
  const std::string path = (folder.path() / "kernel.so").string();
  const std::shared_ptr<void> library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), [](void* p) {
    if (p != nullptr) dlclose(p);
  });
  if (!library) return nullptr;
  using Call = mote_status (*)(const mote_call*, void*);
  const auto call =
      reinterpret_cast<Call>(dlsym(library.get(), (std::string(kFunction) + "_run").c_str()));
  if (call == nullptr) return nullptr;
  const auto run = [library, call](const Case& of, std::vector<Dense>& in,
                                   std::vector<Dense>& out) {
    run_dense(of, in, out, [&](const mote_call* c) { return call(c, nullptr); });
  };
  return std::make_shared<const Reference>(Reference{"C compiled by cc", run});
}

}  // namespace mote
