// What of CUDA is on this machine, seen as a program sees it: by loading the libraries.
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "finding.h"
#include "mote/base/cuda_libraries.h"

namespace mote::tool {
namespace {

std::shared_ptr<void> opened(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  return {handle, [](void* library) { dlclose(library); }};
}

template <typename Function>
Function* function_in(const std::shared_ptr<void>& library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library.get(), name));
}

/// The names of the GPUs; nullopt where the driver says no.
std::optional<std::vector<std::string>> gpus(const std::shared_ptr<void>& driver,
                                             std::string& reason) {
  const auto init = function_in<int(unsigned)>(driver, "cuInit");
  const auto count = function_in<int(int*)>(driver, "cuDeviceGetCount");
  const auto name = function_in<int(char*, int, int)>(driver, "cuDeviceGetName");
  if (init == nullptr || count == nullptr || name == nullptr) {
    reason = "not a driver that mote knows";
    return std::nullopt;
  }
  int devices = 0;
  if (const int status = init(0); status != 0) {
    reason = fmt::format("cuInit returned {}", status);
    return std::nullopt;
  }
  if (count(&devices) != 0) devices = 0;
  std::vector<std::string> names;
  for (int k = 0; k < devices; ++k) {
    std::array<char, 128> text{};
    names.emplace_back(name(text.data(), int{text.size()}, k) == 0 ? text.data() : "a GPU");
  }
  return names;
}

}  // namespace

Finding look_at_nvrtc() {
  Finding f{.name = "nvrtc"};
  for (const std::string& path : nvrtc_candidates()) {
    const auto library = opened(path);
    if (library == nullptr) continue;
    const auto version = function_in<int(int*, int*)>(library, "nvrtcVersion");
    int major = 0;
    int minor = 0;
    if (version == nullptr || version(&major, &minor) != 0) continue;
    f.state = "ok";
    f.found = fmt::format("{}: version {}.{}", path, major, minor);
    f.details = {{"path", path}, {"version", fmt::format("{}.{}", major, minor)}};
    return f;
  }
  f.state = "missing";
  f.found = "libnvrtc.so.13 or .12 cannot be loaded";
  f.costs = "CUDA text is not compiled for GPUs";
  f.remedy = "install the CUDA toolkit, or set CUDA_HOME or MOTE_NVRTC";
  return f;
}

Finding look_at_gpu() {
  Finding f{.name = "gpu", .state = "missing", .details = {{"names", nlohmann::json::array()}}};
  f.costs = "CUDA kernels run on the host's shim only";
  f.remedy = "a machine with an NVIDIA GPU and its driver";
  const std::string path = cuda_driver();
  const auto driver = opened(path);
  if (driver == nullptr) {
    f.found = fmt::format("no driver: {} cannot be loaded", path);
    return f;
  }
  std::string reason;
  const auto names = gpus(driver, reason);
  if (!names || names->empty()) {
    f.state = names ? "missing" : "failed";
    f.found = names ? "a driver, but no GPU" : fmt::format("{}: {}", path, reason);
    return f;
  }
  f.state = "ok";
  f.costs.clear();
  f.remedy.clear();
  f.details["names"] = *names;
  for (const std::string& name : *names) f.found += (f.found.empty() ? "" : ", ") + name;
  return f;
}

}  // namespace mote::tool
