// A reference compiled at run time: C of the program with its thunk, written beside the headers
// that it needs into a folder of its own, compiled by $CC or `cc` without a shell, loaded, and the
// folder removed.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "embedded_headers.h"
#include "mote/base/command.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "mote/oracle/c_compiler.h"
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

/// Compiles in the folder; the messages are thrown away: the interpreter takes over when it fails.
bool compile_c(const fs::path& folder) {
  std::vector<std::string> words = c_compiler();
  for (const char* word : {"-std=c11", "-O2", "-ffp-contract=off", "-frounding-math", "-fwrapv",
                           "-fno-builtin", "-fPIC", "-shared"}) {
    words.emplace_back(word);
  }
  words.push_back("-I" + folder.string());
  words.push_back(folder / "kernel.c");
  words.insert(words.end(), {"-o", folder / "kernel.so", "-lm"});
  return run_command(words).ok;
}

}  // namespace

std::shared_ptr<const Reference> compile_reference(const std::shared_ptr<const LoopProgram>& loops,
                                                   std::vector<std::string> call_inputs) {
  const TemporaryFolder folder;
  if (folder.path().empty()) return nullptr;
  for (const EmbeddedHeader& header : kEmbeddedHeaders) {
    if (!write_text(folder.path() / header.path, header.text)) return nullptr;
  }
  EmitOptions options;
  options.function = kFunction;
  options.standalone = true;
  options.thunk = true;
  options.call_inputs = std::move(call_inputs);
  const std::string text = "#include \"mote/base/thunk.h\"\n" + emit_c(*loops, options);
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
  const auto bytes = [loops](const Case& of) { return temporary_bytes(*loops, of); };
  return std::make_shared<const Reference>(Reference{"C compiled by cc", run, bytes});
}

}  // namespace mote
