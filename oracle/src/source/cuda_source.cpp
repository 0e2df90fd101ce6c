// SPDX-License-Identifier: Apache-2.0
// In: the file's text; out: C around each of its functions, as `mote emit OP --plugin` prints it, a
// table of them, and one library of both and the file, compiled by nvcc if there is a GPU to run
// it, and otherwise by the C++ compiler, for the shim.
#include "source/cuda_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

#include "mote/base/command.h"
#include "mote/base/cuda_libraries.h"
#include "mote/base/error.h"
#include "mote/base/plugin_search.h"
#include "mote/base/temporary_folder.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/oracle/c_compiler.h"
#include "mote/oracle/resolve.h"
#include "source/build_c.h"
#include "source/embedded_headers.h"
#include "source/launcher_text.h"
#include "source/shared_memory.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "// mote:";
constexpr const char* kExpected =
    "// mote: OP FUNCTION [DTYPE] [row-major] [nondeterministic] [accumulator=TYPE] "
    "[without=INPUT,…] [needs=TENSOR,…]";

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

Launcher declared(const std::string& line) {
  std::istringstream stream(line);
  std::string op, word;
  std::optional<DType> dtype;
  std::vector<std::string> without;
  Launcher out;
  if (!(stream >> op >> out.options.function)) throw Error(fmt::format("expected '{}'", kExpected));
  if (!is_c_name(out.options.function))
    throw Error(fmt::format("expected the name of a C function, got '{}'", out.options.function));
  while (stream >> word) {
    if (word == "row-major") {
      out.options.row_major = true;
    } else if (word == "nondeterministic") {
      out.options.nondeterministic = true;
    } else if (word.starts_with("accumulator=")) {
      out.options.accumulator = word.substr(word.find('=') + 1);
    } else if (word.starts_with("needs=")) {
      out.options.needs = split(word.substr(word.find('=') + 1), ',');
    } else if (word.starts_with("without=")) {
      without = split(word.substr(word.find('=') + 1), ',');
    } else {
      dtype = require_dtype(word);
    }
  }
  out.op = resolve_without(op, dtype, without);
  return out;
}

std::vector<Launcher> declared_in(const std::string& path, const std::string& text) {
  std::vector<Launcher> all;
  const std::vector<std::string> lines = split(text, '\n');
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (!lines[k].starts_with(kMark)) continue;
    try {
      all.push_back(declared(lines[k].substr(kMark.size())));
    } catch (const Error& e) {
      throw Error(fmt::format("{}:{}: {}", path, k + 1, e.what()));
    }
  }
  if (all.empty())
    throw Error(fmt::format("{}: no line says what it computes: expected '{}'", path, kExpected));
  return all;
}

/// The text before the file: the signatures that it must have.
std::string expected_signatures(const std::vector<Launcher>& all, LauncherMachine machine) {
  std::string out = "#include \"mote_launch.h\"\n";
  if (machine == LauncherMachine::shim)
    out += "#include \"mote_cuda_checked.h\"\nMOTE_HOST_DEFINE\n";
  for (const Launcher& d : all) {
    std::vector<std::string> types = argument_types(d);
    types.emplace_back("cudaStream_t");
    out += fmt::format("extern \"C\" int {}({});\n", d.options.function, fmt::join(types, ", "));
  }
  return out;
}

/// A library of mote that the file's library is linked with.
fs::path part_of_mote(const std::string& name) {
  std::vector<std::string> tried;
  std::string file = beside_plugins(name, &tried);
  if (file.empty())
    throw Error(fmt::format("{}, which .cu files are linked with, is not there: {}", name,
                            fmt::join(tried, ", ")));
  return file;
}

/// The command of nvcc: $NVCC, or nvcc if the shell finds it, or nvcc in the toolkit's usual
/// folders.
std::vector<std::string> nvcc_command() {
  const std::vector<std::string> given = command_named("NVCC", "nvcc");
  if (std::getenv("NVCC") != nullptr || run_command({given[0], "--version"}).ok) return given;
  const char* home = std::getenv("CUDA_HOME");
  for (const std::string folder : {home != nullptr ? home : "", "/usr/local/cuda"}) {
    const std::string file = folder + "/bin/nvcc";
    if (std::error_code failed; !folder.empty() && fs::exists(file, failed)) return {file};
  }
  return {};
}

/// The machine that $MOTE_CUDA_SOURCE names (gpu or host); if it is not set, a GPU if there is one
/// and nvcc.
LauncherMachine machine_for_sources() {
  const char* given = std::getenv("MOTE_CUDA_SOURCE");
  const std::string where = given != nullptr ? given : "";
  if (where == "host") return LauncherMachine::shim;
  if (!where.empty() && where != "gpu")
    throw Error(fmt::format("MOTE_CUDA_SOURCE: expected gpu or host, got '{}'", where));
  const bool has_nvcc = !nvcc_command().empty();
  if (where == "gpu" && !has_nvcc)
    throw Error(
        "MOTE_CUDA_SOURCE=gpu: no nvcc by $NVCC, on the path, in $CUDA_HOME/bin or "
        "/usr/local/cuda/bin");
  return where == "gpu" || (has_nvcc && gpu_count() > 0) ? LauncherMachine::gpu
                                                         : LauncherMachine::shim;
}

/// The compiler's command. Products are not fused into sums, so that the numbers are those of every
/// machine. A frame larger than a thread's stack hits the guard page, not another thread's stack;
/// faults that a GPU traps are reported to the shim.
std::vector<std::string> command_for_shim(const std::string& path, const fs::path& folder) {
  std::vector<std::string> words = command_named("CXX", "c++");
  words.insert(words.end(),
               {"-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fstack-clash-protection",
                "-fsanitize=alignment,bounds", "-fno-sanitize-recover=all", "-fPIC",
                "-fvisibility=hidden", "-DMOTE_CUDA_HOST", "-I" + folder.string(), "-include",
                folder / "expected.h", "-x", "c++", path});
  return words;
}

/// The number of kernels that the file and its includes declare.
int kernels_in(const std::string& path, const fs::path& folder) {
  std::vector<std::string> words = command_for_shim(path, folder);
  words.insert(words.end(), {"-E", "-DMOTE_HOST_MARKS_KERNELS"});
  const std::string text = run_command(words).output;
  constexpr std::string_view kKernel = "mote_host_marked_kernel";
  int count = 0;
  for (std::size_t at = 0; (at = text.find(kKernel, at)) != std::string::npos; ++at) ++count;
  return count;
}

/// The text of the shared memory of a file with one kernel, which a launch needs. Throws Error for
/// a function with too much, as nvcc does.
std::string known_shared_memory(const std::string& path, const fs::path& object, int kernels) {
  constexpr std::uint64_t kMaxSharedBytes = std::uint64_t{48} << 10U;
  std::uint64_t all = 0;
  for (const auto& [function, bytes] : static_shared_memory(object)) {
    all += bytes;
    if (!function.empty() && bytes > kMaxSharedBytes)
      throw Error(fmt::format("{}: {} has {} bytes of static shared memory, expected at most {}",
                              path, function, bytes, kMaxSharedBytes));
  }
  if (kernels != 1) return "";
  return fmt::format(
      "#include <stddef.h>\n"
      "extern const size_t mote_host_static_bytes;\n"
      "const size_t mote_host_static_bytes = {};\n",
      all);
}

/// Compiles and links separately, so that the compiler's sanitizer library is not linked, which
/// would report those faults in place of the shim.
void link_for_shim(const std::string& path, const fs::path& folder,
                   const std::vector<std::string>& objects, const fs::path& library) {
  const fs::path part = part_of_mote("cuda_shim.so");
  const fs::path object = folder / "kernels.o";
  std::vector<std::string> words = command_for_shim(path, folder);
  words.insert(words.end(), {"-c", "-o", object});
  run_compiler(path, words);
  const std::string known = known_shared_memory(path, object, kernels_in(path, folder));
  std::vector<std::string> link = command_named("CXX", "c++");
  link.insert(link.end(), {"-shared", "-Wl,--no-undefined", object,
                           object_of(folder, "shared_memory", known, {"-O1"})});
  link.insert(link.end(), objects.begin(), objects.end());
  link.insert(link.end(),
              {part, "-Wl,-rpath=" + part.parent_path().string(), "-lm", "-o", library});
  run_compiler(path, link);
}

/// Compiles with nvcc's defaults, for the GPU of this machine.
void link_for_gpu(const std::string& path, const fs::path& folder,
                  const std::vector<std::string>& objects, const fs::path& library) {
  const fs::path part = part_of_mote("cuda_launcher.so");
  std::vector<std::string> words = nvcc_command();
  words.insert(words.end(),
               {"-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden",
                "-I" + folder.string(), "-include", folder / "expected.h", path});
  words.insert(words.end(), objects.begin(), objects.end());
  words.insert(words.end(),
               {part, "-Xlinker", "-rpath=" + part.parent_path().string(), "-lm", "-o", library});
  run_compiler(path, words);
}

std::string contents_of(const std::string& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed))
    throw Error(path + ": is a folder, expected a file of CUDA C++");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(stream), {}};
}

void build(const std::string& path, const fs::path& folder, const fs::path& library) {
  const std::string text = contents_of(path);
  const std::vector<Launcher> all = declared_in(path, text);
  const LauncherMachine machine = machine_for_sources();
  write_headers(folder);
  for (const EmbeddedHeader& header : kCudaHeaders) write_source(folder / header.path, header.text);
  write_source(folder / "mote_cuda.h", cuda_header());
  write_source(folder / "expected.h", expected_signatures(all, machine));
  std::vector<std::string> objects = {
      object_of(folder, "table", launcher_table(fs::path(path).stem(), all, machine), {"-O1"})};
  for (const Launcher& d : all)
    objects.push_back(
        object_of(folder, "around_" + d.options.function, launcher_plugin(d), {"-O1"}));
  const auto link = machine == LauncherMachine::gpu ? link_for_gpu : link_for_shim;
  link(path, folder, objects, library);
}

}  // namespace

std::string beside_plugins(const std::string& name, std::vector<std::string>* tried) {
  for (const PluginLocation& location : plugin_locations()) {
    const fs::path file = (fs::path(location.path) / ".." / name).lexically_normal();
    if (std::error_code failed; fs::exists(file, failed)) return file;
    if (tried != nullptr) tried->push_back(file);
  }
  return "";
}

bool is_cuda_source(std::string_view path) { return path.ends_with(".cu"); }

std::string compile_cuda_source(const std::string& path) {
  static std::mutex mutex;
  static std::list<TemporaryFolder> folders;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  std::error_code failed;
  const std::string file = fs::weakly_canonical(path, failed);
  if (const auto at = known.find(file); at != known.end()) return at->second;
  const fs::path& folder = folders.emplace_back().path();
  const fs::path library = folder / (fs::path(path).stem().string() + ".so");
  build(path, folder, library);
  return known[file] = library;
}

}  // namespace mote
