// In: the file's text; out: C around each of its functions, as `mote emit OP --plugin` prints it, a
// table of them, and both compiled into one library with the file.
#include "cuda_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

#include "embedded_headers.h"
#include "mote/base/command.h"
#include "mote/base/error.h"
#include "mote/base/plugin_search.h"
#include "mote/base/temporary_folder.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/passes.h"
#include "mote/oracle/c_compiler.h"
#include "mote/oracle/plugin_text.h"
#include "mote/oracle/resolve.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "// mote:";
constexpr const char* kExpected =
    "// mote: OP FUNCTION [DTYPE] [row-major] [accumulator=TYPE] [without=INPUT,…]";

/// One kernel of the file.
struct Declared {
  Resolved op;
  PluginOptions options;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

Declared declared(const std::string& line) {
  std::istringstream stream(line);
  std::string op, word;
  std::optional<DType> dtype;
  std::vector<std::string> without;
  Declared out;
  if (!(stream >> op >> out.options.function)) throw Error(fmt::format("expected '{}'", kExpected));
  while (stream >> word) {
    if (word == "row-major") {
      out.options.row_major = true;
    } else if (word.starts_with("accumulator=")) {
      out.options.accumulator = word.substr(word.find('=') + 1);
    } else if (word.starts_with("without=")) {
      without = split(word.substr(word.find('=') + 1), ',');
    } else {
      dtype = require_dtype(word);
    }
  }
  out.op = resolve_without(op, dtype, without);
  return out;
}

std::vector<Declared> declared_in(const std::string& path, const std::string& text) {
  std::vector<Declared> all;
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

std::vector<std::string> types_of(const Declared& d) {
  return c_argument_types(compile(d.op.program));
}

/// What stands before the file: the signatures that it must have.
std::string expected_signatures(const std::vector<Declared>& all) {
  std::string out = "#include \"mote_launch.h\"\nMOTE_HOST_DEFINE\n";
  for (const Declared& d : all) {
    std::vector<std::string> types = types_of(d);
    types.emplace_back("cudaStream_t");
    out += fmt::format("extern \"C\" int {}({});\n", d.options.function, fmt::join(types, ", "));
  }
  return out;
}

/// A plug-in of one function, whose names do not meet those of the others.
std::string around(const Declared& d) {
  const std::string& f = d.options.function;
  return fmt::format("#define mote_plugin_init {0}_plugin\n#define {0} {0}_of_call\n", f) +
         plugin_around(d.op, d.options);
}

/// The function with the stream that it gets, and its kernel's `run` in every order of threads.
std::string adapter(const Declared& d) {
  const std::string& f = d.options.function;
  std::string declarations, arguments;
  const std::vector<std::string> types = types_of(d);
  for (std::size_t k = 0; k < types.size(); ++k) {
    declarations += fmt::format("{}{} a{}", k > 0 ? ", " : "", types[k], k);
    arguments += fmt::format("a{}, ", k);
  }
  return fmt::format(
      "int {0}({1}, void* stream);\n"
      "int {0}_of_call({1});\n"
      "int {0}_of_call({1}) {{ return mote_host_returned({0}({2}NULL)); }}\n"
      "mote_status {0}_plugin(mote_plugin* plugin);\n"
      "static mote_status (*{0}_once)(const mote_call*, void*);\n"
      "static mote_status {0}_in_orders(const mote_call* call, void* stream) {{\n"
      "  (void)stream;\n"
      "  return mote_host_run({0}_once, call);\n"
      "}}\n\n",
      f, declarations, arguments);
}

std::string table(const std::string& name, const std::vector<Declared>& all) {
  std::string out =
      "#include \"mote/base/kernel.h\"\n\n"
      "mote_status mote_host_run(mote_status (*run)(const mote_call*, void*), const mote_call*);\n"
      "int mote_host_returned(int status);\n\n";
  std::string fill;
  for (std::size_t k = 0; k < all.size(); ++k) {
    out += adapter(all[k]);
    fill += fmt::format(
        "  {0}_plugin(&one);\n"
        "  kernels[{1}] = one.backends->kernels[0];\n"
        "  {0}_once = kernels[{1}].run;\n"
        "  kernels[{1}].run = {0}_in_orders;\n",
        all[k].options.function, k);
  }
  return out + fmt::format(R"(mote_status mote_plugin_init(mote_plugin* plugin) {{
  static mote_kernel kernels[{0}];
  static mote_backend backend = {{.size = sizeof(mote_backend),
                                 .name = "{1}",
                                 .version = "",
                                 .kernel_count = {0},
                                 .kernels = kernels}};
  mote_plugin one = {{.size = sizeof(mote_plugin), .abi_version = MOTE_ABI_VERSION}};
{2}  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}}
)",
                           all.size(), name, fill);
}

void write(const fs::path& path, const std::string& text) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  if (!stream.flush()) throw Error(path.string() + ": cannot be written");
}

void compile(const std::string& what, const std::vector<std::string>& words) {
  const CommandResult result = run_command(words);
  if (!result.ok) throw Error(fmt::format("{}: {} failed:\n{}", what, words[0], result.messages));
}

/// C in the folder as an object.
fs::path object_of(const fs::path& folder, const std::string& name, const std::string& text) {
  const fs::path source = folder / (name + ".c");
  fs::path object = folder / (name + ".o");
  write(source, text);
  std::vector<std::string> words = c_compiler();
  words.insert(words.end(), {"-std=c11", "-O1", "-fPIC", "-fvisibility=hidden",
                             "-I" + folder.string(), "-c", source, "-o", object});
  compile(source, words);
  return object;
}

std::string shim() {
  std::vector<std::string> tried;
  std::string file = beside_plugins("cuda_shim.so", &tried);
  if (file.empty())
    throw Error(
        fmt::format("the shim that .cu files run on is not there: {}", fmt::join(tried, ", ")));
  return file;
}

/// Products are not fused into sums, for the numbers to be those of every machine.
void link(const std::string& path, const fs::path& folder, const std::vector<std::string>& objects,
          const fs::path& library) {
  const fs::path shim_file = shim();
  std::vector<std::string> words = command_named("CXX", "c++");
  words.insert(words.end(), {"-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fPIC", "-shared",
                             "-fvisibility=hidden", "-DMOTE_CUDA_HOST", "-I" + folder.string(),
                             "-include", folder / "expected.h", "-x", "c++", path, "-x", "none"});
  words.insert(words.end(), objects.begin(), objects.end());
  words.insert(words.end(), {shim_file, "-Wl,-rpath," + shim_file.parent_path().string(),
                             "-Wl,--no-undefined", "-lm", "-o", library});
  compile(path, words);
}

void build(const std::string& path, const fs::path& folder, const fs::path& library) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(path + ": cannot be read");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::vector<Declared> all = declared_in(path, text);
  for (const EmbeddedHeader& header : kEmbeddedHeaders) write(folder / header.path, header.text);
  for (const EmbeddedHeader& header : kCudaHeaders) write(folder / header.path, header.text);
  write(folder / "mote_cuda.h", cuda_header());
  write(folder / "expected.h", expected_signatures(all));
  std::vector<std::string> objects = {
      object_of(folder, "table", table(fs::path(path).stem(), all))};
  for (const Declared& d : all)
    objects.push_back(object_of(folder, "around_" + d.options.function, around(d)));
  link(path, folder, objects, library);
}

}  // namespace

std::string beside_plugins(const std::string& name, std::vector<std::string>* tried) {
  for (const PluginPlace& place : plugin_places()) {
    const fs::path file = (fs::path(place.path) / ".." / name).lexically_normal();
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
