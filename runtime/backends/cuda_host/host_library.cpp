// SPDX-License-Identifier: Apache-2.0
// Compiles and loads kernels for the host: text, compiler, loader.
#include "host_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "cuda/file_cache.h"
#include "cuda/groups.h"
#include "host_header.h"
#include "mote/base/command.h"
#include "mote/base/error.h"
#include "mote/base/temporary_folder.h"
#include "mote/codegen/emit_cuda.h"

namespace mote::cuda_host {
namespace {

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__)
constexpr const char* kSanitizer = "-fsanitize=address";
#elif defined(__SANITIZE_THREAD__)
constexpr const char* kSanitizer = "-fsanitize=thread";
#else
constexpr const char* kSanitizer = nullptr;
#endif

std::string first_lines(const std::string& text, int count) {
  std::size_t at = 0;
  for (int k = 0; k < count && at != std::string::npos; ++k) at = text.find('\n', at + 1);
  return text.substr(0, at);
}

std::vector<std::string> command_with(std::initializer_list<const char*> more) {
  std::vector<std::string> words = command_named("CXX", "c++");
  words.insert(words.end(), more.begin(), more.end());
  if (kSanitizer != nullptr) words.emplace_back(kSanitizer);
  return words;
}

/// Returns the compiler's command, with the reference's arithmetic (MOTE_REFERENCE_FLAGS). It uses
/// -O0, since cases are small and kernels are many. Kernels have the sanitizer of this code, and
/// checks for errors that a GPU traps.
std::vector<std::string> compiler() {
  return command_with({"-x", "c++", "-std=c++17", "-O0", "-w", "-fPIC", "-fvisibility=hidden",
                       "-ffp-contract=off", "-frounding-math", "-fwrapv", "-fno-builtin",
                       "-fsanitize=alignment,bounds", "-fno-sanitize-recover=all",
                       "-DMOTE_CUDA_HOST", "-c"});
}

/// Returns the linker's command; it is separate so that the checks call mote's functions and not
/// the compiler's library.
std::vector<std::string> linker() { return command_with({"-shared"}); }

void run(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  const CommandResult result = run_command(words);
  if (!result.ok)
    throw Error(fmt::format("{} failed: {}", words[0], first_lines(result.messages, 8)));
}

std::string version_of_compiler() {
  std::vector<std::string> words = command_named("CXX", "c++");
  words.emplace_back("--version");
  return run_command(words).output;
}

std::string compiled(const std::string& source) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "kernels.cpp";
  const fs::path object = folder.path() / "kernels.o";
  const fs::path made = folder.path() / "kernels.so";
  const bool written = cuda::write_bytes(folder.path() / "mote_cuda.h", cuda_header()) &&
                       cuda::write_bytes(folder.path() / "mote_cuda_host.h", kHostHeader) &&
                       cuda::write_bytes(folder.path() / "mote_cuda_checked.h", kCheckedHeader) &&
                       cuda::write_bytes(file, source);
  if (!written) throw Error(folder.path().string() + ": cannot be written");
  run(compiler(), {"-I" + folder.path().string(), file, "-o", object});
  run(linker(), {object, "-o", made});
  const auto bytes = cuda::read_bytes(made);
  if (!bytes) throw Error(made.string() + ": cannot be read");
  return *bytes;
}

HostLibrary load(const std::string& path) {
  HostLibrary out;
  out.handle.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), [](void* library) {
    if (library != nullptr) dlclose(library);
  });
  if (out.handle == nullptr) throw Error(fmt::format("{}: {}", path, dlerror()));
  using Bind = const mote_host_kernel* (*)(const mote_host_calls*, char**, char**);
  const auto bind = reinterpret_cast<Bind>(dlsym(out.handle.get(), "mote_host_bind"));
  if (bind == nullptr) throw Error(path + ": no mote_host_bind");
  const mote_host_kernel* kernel = bind(shim::calls(), &out.shared_begin, &out.shared_end);
  for (; kernel->name != nullptr; ++kernel) out.kernels.emplace(kernel->name, kernel->call);
  return out;
}

/// The number of libraries that the catalogue's kernels are compiled into.
constexpr std::uint32_t kGroups = 12;

HostLibrary library_of_group(std::uint32_t group, cuda::Variant variant) {
  return compile_for_host(cuda::key_of_group(group, kGroups, variant), [&] {
    const cuda::GroupSource source = cuda::source_of_group(group, kGroups, variant);
    return host_source(source.functions, source.text);
  });
}

}  // namespace

std::string host_source(const std::vector<std::string>& kernels, const std::string& text) {
  std::string out =
      "#include \"mote_cuda.h\"\n#include \"mote_cuda_checked.h\"\nMOTE_HOST_DEFINE\n" + text +
      "\nstatic const mote_host_kernel kernels[] = {\n";
  for (const std::string& k : kernels) out += fmt::format("    MOTE_HOST_KERNEL({}),\n", k);
  return out +
         "    {nullptr, nullptr}};\n"
         "extern \"C\" __attribute__((visibility(\"default\"))) const mote_host_kernel*\n"
         "mote_host_bind(const mote_host_calls* calls, char** begin, char** end) {\n"
         "  mote_host = calls;\n  *begin = __start_mote_shared;\n  *end = __stop_mote_shared;\n"
         "  return kernels;\n}\n";
}

HostLibrary compile_for_host(const std::string& key, const std::function<std::string()>& source) {
  static const std::string version = version_of_compiler();
  const std::string whole = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", fmt::join(compiler(), " "),
                                        version, cuda_header(), kHostHeader, kCheckedHeader, key);
  const cuda::FileCache cache(cuda::cache_folder() / "cuda_host");
  if (const auto known = cache.find(whole)) return load(known->string());
  const std::string bytes = compiled(source());
  if (const auto kept = cache.put(whole, bytes)) return load(kept->string());
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "kernels.so";
  if (!cuda::write_bytes(file, bytes)) throw Error(file.string() + ": cannot be written");
  return load(file.string());
}

const HostLibrary& library_of(const cuda::OpInstance& instance, cuda::Variant variant) {
  static std::mutex mutex;
  static std::map<std::pair<std::uint32_t, cuda::Variant>, HostLibrary> loaded;
  const std::lock_guard lock(mutex);
  const std::uint32_t group = cuda::group_of(instance.record(), kGroups);
  const auto known = loaded.find({group, variant});
  return known != loaded.end()
             ? known->second
             : loaded.emplace(std::pair(group, variant), library_of_group(group, variant))
                   .first->second;
}

std::string run_launch(const HostLibrary& library, cuda::Launch& launch,
                       const shim::Options& options) {
  const auto kernel = library.kernels.at(launch.kernel->function);
  std::vector<void*> arguments;
  for (cuda::ArgumentValue& a : launch.arguments) arguments.push_back(a.words.data());
  shim::Shape shape;
  shape.grid.x = static_cast<unsigned>(launch.blocks);
  shape.block.x = static_cast<unsigned>(launch.threads);
  shape.shared_begin = library.shared_begin;
  shape.shared_end = library.shared_end;
  return shim::launch(shape, options, [&] { kernel(arguments.data()); });
}

}  // namespace mote::cuda_host
