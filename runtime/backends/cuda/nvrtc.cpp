// SPDX-License-Identifier: Apache-2.0
#include "nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "mote/base/cuda_libraries.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_cuda.h"

namespace mote::cuda {

struct NvrtcProgram;  // an opaque type

namespace {

/// Returns the target's name in options.
std::string name_of(const Target& target) {
  return fmt::format("{}_{}", target.is_ptx ? "compute" : "sm", target.architecture);
}

/// Returns the number before the text.
int number_before(const std::string& line, const std::string& text) {
  const std::size_t end = line.find(text);
  if (end == std::string::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

}  // namespace

/// The functions of NVRTC. Statuses are an enum whose 0 is success.
struct Nvrtc::Functions {
  std::shared_ptr<void> library;
  int (*version)(int*, int*) = nullptr;
  int (*create)(NvrtcProgram**, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(NvrtcProgram**) = nullptr;
  int (*compile)(NvrtcProgram*, int, const char* const*) = nullptr;
  int (*log_size)(NvrtcProgram*, std::size_t*) = nullptr;
  int (*log)(NvrtcProgram*, char*) = nullptr;
  int (*cubin_size)(NvrtcProgram*, std::size_t*) = nullptr;
  int (*cubin)(NvrtcProgram*, char*) = nullptr;
  int (*ptx_size)(NvrtcProgram*, std::size_t*) = nullptr;
  int (*ptx)(NvrtcProgram*, char*) = nullptr;
  int (*architecture_count)(int*) = nullptr;
  int (*architectures)(int*) = nullptr;
  const char* (*error)(int) = nullptr;

  template <typename F>
  bool get(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library.get(), name));
    return function != nullptr;
  }
  bool get_all() {
    return get(version, "nvrtcVersion") && get(create, "nvrtcCreateProgram") &&
           get(destroy, "nvrtcDestroyProgram") && get(compile, "nvrtcCompileProgram") &&
           get(log_size, "nvrtcGetProgramLogSize") && get(log, "nvrtcGetProgramLog") &&
           get(cubin_size, "nvrtcGetCUBINSize") && get(cubin, "nvrtcGetCUBIN") &&
           get(ptx_size, "nvrtcGetPTXSize") && get(ptx, "nvrtcGetPTX") &&
           get(architecture_count, "nvrtcGetNumSupportedArchs") &&
           get(architectures, "nvrtcGetSupportedArchs") && get(error, "nvrtcGetErrorString");
  }
  void check(int status, const char* what) const {
    if (status != 0) throw Error(fmt::format("NVRTC: {}: {}", what, error(status)));
  }
};

Nvrtc::Nvrtc() : functions_(std::make_unique<Functions>()) {}
Nvrtc::~Nvrtc() = default;

std::shared_ptr<const Nvrtc> Nvrtc::find(std::string& why, std::optional<int> driver) {
  why.clear();
  for (const std::string& path : nvrtc_candidates()) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      if (why.empty()) why = dlerror();
      continue;
    }
    const std::shared_ptr<Nvrtc> found(new Nvrtc());
    found->path_ = path;
    found->functions_->library.reset(handle, [](void* library) { dlclose(library); });
    if (!found->functions_->get_all()) {
      why = path + ": not an NVRTC that mote knows";
      continue;
    }
    const int major = found->numbers().first;
    if (!driver || major <= *driver / 1000) return found;
    why = fmt::format("{} makes code for drivers of CUDA {}, this one is of CUDA {}.{}", path,
                      major, *driver / 1000, *driver % 1000 / 10);
  }
  return nullptr;
}

std::pair<int, int> Nvrtc::numbers() const {
  int major = 0;
  int minor = 0;
  functions_->check(functions_->version(&major, &minor), "nvrtcVersion");
  return {major, minor};
}

std::string Nvrtc::version() const {
  const auto [major, minor] = numbers();
  return fmt::format("{}.{}", major, minor);
}

std::vector<int> Nvrtc::architectures() const {
  int count = 0;
  functions_->check(functions_->architecture_count(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> all(static_cast<std::size_t>(count));
  functions_->check(functions_->architectures(all.data()), "nvrtcGetSupportedArchs");
  return all;
}

std::vector<std::string> Nvrtc::options_for(const Target& target, Effort effort) const {
  std::vector<std::string> options = {
      fmt::format("--gpu-architecture={}", name_of(target)), "--std=c++17",
      fmt::format("--fmad={}", effort == Effort::full), "--ptxas-options=-v",
      "--diag-suppress=177"};  // 177: a constant that nothing reads
  if (effort == Effort::quick && numbers() >= std::pair(12, 9))
    options.emplace_back("--Ofast-compile=min");
  return options;
}

Compiled Nvrtc::compile(const std::string& source, const Target& target, Effort effort) const {
  const Functions& f = *functions_;
  const std::string header = cuda_header();
  const char* const header_text = header.c_str();
  const char* const header_name = "mote_cuda.h";
  NvrtcProgram* made = nullptr;
  f.check(f.create(&made, source.c_str(), "mote.cu", 1, &header_text, &header_name),
          "nvrtcCreateProgram");
  const std::shared_ptr<NvrtcProgram> program(made, [&f](NvrtcProgram* p) { f.destroy(&p); });
  const std::vector<std::string> options = options_for(target, effort);
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  const int status = f.compile(made, static_cast<int>(words.size()), words.data());
  Compiled out;
  std::size_t bytes = 0;
  f.check(f.log_size(made, &bytes), "nvrtcGetProgramLogSize");
  out.log.resize(bytes);
  f.check(f.log(made, out.log.data()), "nvrtcGetProgramLog");
  while (!out.log.empty() && out.log.back() == '\0') out.log.pop_back();
  if (status != 0)
    throw Error(fmt::format("NVRTC {} for {}: {}\n{}", version(), name_of(target), f.error(status),
                            out.log));
  if (target.is_ptx)
    f.check(f.ptx_size(made, &bytes), "nvrtcGetPTXSize");
  else
    f.check(f.cubin_size(made, &bytes), "nvrtcGetCUBINSize");
  out.code.resize(bytes);
  if (target.is_ptx)
    f.check(f.ptx(made, out.code.data()), "nvrtcGetPTX");
  else
    f.check(f.cubin(made, out.code.data()), "nvrtcGetCUBIN");
  return out;
}

std::string Nvrtc::description(const Target& target, Effort effort) const {
  std::string out = "NVRTC " + version();
  for (const std::string& option : options_for(target, effort)) out += " " + option;
  return out;
}

std::string Nvrtc::cache_key(const std::string& key, const Target& target, Effort effort) const {
  return description(target, effort) + "\n" + cuda_header() + "\n" + key;
}

// An entry has the length of the log, a newline, the log and the code.
std::optional<Compiled> Nvrtc::from_cache(const FileCache& cache, const std::string& key) {
  const auto path = cache.find(key);
  const auto bytes = path ? read_bytes(*path) : std::nullopt;
  if (!bytes) return std::nullopt;
  std::size_t length = 0;
  const auto [end, failed] = std::from_chars(bytes->data(), bytes->data() + bytes->size(), length);
  const auto at = static_cast<std::size_t>(end - bytes->data()) + 1;
  if (failed != std::errc() || at + length > bytes->size()) return std::nullopt;
  return Compiled{bytes->substr(at + length), bytes->substr(at, length)};
}

void Nvrtc::keep(const FileCache& cache, const std::string& key, const Compiled& made) {
  cache.put(key, fmt::format("{}\n", made.log.size()) + made.log + made.code);
}

// The log lists a function that several kernels call once, after any kernel.
std::map<std::string, KernelResources> resources_in(const std::string& log) {
  static const std::string kEntry = "Compiling entry function '";
  static const std::string kFunction = "Function properties for ";
  std::map<std::string, KernelResources> all;
  KernelResources* current = nullptr;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    const std::string line = log.substr(at, end - at);
    at = end + 1;
    if (const std::size_t entry = line.find(kEntry); entry != std::string::npos) {
      const std::size_t name = entry + kEntry.size();
      current = &all[line.substr(name, line.find('\'', name) - name)];
    } else if (const std::size_t function = line.find(kFunction); function != std::string::npos) {
      current = &all[line.substr(function + kFunction.size())];
    }
    if (current == nullptr) continue;
    if (line.find(" bytes stack frame") != std::string::npos) {
      current->stack = std::max(current->stack, number_before(line, " bytes stack frame"));
      current->spill_stores = number_before(line, " bytes spill stores");
      current->spill_loads = number_before(line, " bytes spill loads");
    }
    if (line.find("Used ") != std::string::npos) {
      current->registers = number_before(line, " registers");
      current->shared = number_before(line, " bytes smem");
      current->stack =
          std::max(current->stack, number_before(line, " bytes cumulative stack size"));
    }
  }
  return all;
}

}  // namespace mote::cuda
