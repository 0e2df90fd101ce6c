// What of CUDA is on this machine, seen as a program sees it: by loading the libraries.
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <functional>
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

/// The first of the libraries that can be loaded and says its version.
std::optional<Finding> found(
    const std::string& name, const std::vector<std::string>& candidates,
    const std::function<std::optional<std::string>(const std::shared_ptr<void>&)>& version_of) {
  for (const std::string& path : candidates) {
    const auto library = opened(path);
    const auto version = library == nullptr ? std::nullopt : version_of(library);
    if (!version) continue;
    return Finding{.name = name,
                   .state = "ok",
                   .found = fmt::format("{}: version {}", path, *version),
                   .details = {{"path", path}, {"version", *version}}};
  }
  return std::nullopt;
}

/// A library whose version is 10000 major + 100 minor + patch.
Finding look_at_kernels(const std::string& name, const std::vector<std::string>& candidates,
                        const char* version_function, const Finding& where_missing) {
  const auto version_of = [&](const std::shared_ptr<void>& library) -> std::optional<std::string> {
    const auto version = function_in<std::size_t()>(library, version_function);
    if (version == nullptr) return std::nullopt;
    const std::size_t v = version();
    return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
  };
  return found(name, candidates, version_of).value_or(where_missing);
}

}  // namespace

Finding look_at_nvrtc() {
  const auto version_of = [](const std::shared_ptr<void>& library) -> std::optional<std::string> {
    const auto version = function_in<int(int*, int*)>(library, "nvrtcVersion");
    int major = 0;
    int minor = 0;
    if (version == nullptr || version(&major, &minor) != 0) return std::nullopt;
    return fmt::format("{}.{}", major, minor);
  };
  return found("nvrtc", nvrtc_candidates(), version_of)
      .value_or(Finding{.name = "nvrtc",
                        .state = "missing",
                        .found = "libnvrtc.so.13 or .12 cannot be loaded",
                        .costs = "CUDA text is not compiled for GPUs",
                        .remedy = "install the CUDA toolkit, or set CUDA_HOME or MOTE_NVRTC"});
}

Finding look_at_cublas() {
  return look_at_kernels("cublas", cublas_candidates(), "cublasLtGetVersion",
                         {.name = "cublas",
                          .state = "missing",
                          .found = "libcublasLt.so.13 or .12 cannot be loaded",
                          .costs = "the backend cublas declines each call",
                          .remedy = "install the CUDA toolkit, or set CUDA_HOME or MOTE_CUBLAS"});
}

Finding look_at_cudnn() {
  return look_at_kernels("cudnn", cudnn_candidates(), "cudnnGetVersion",
                         {.name = "cudnn",
                          .state = "missing",
                          .found = "libcudnn.so.9 cannot be loaded",
                          .costs = "the backend cudnn declines each call",
                          .remedy = "install cuDNN 9, or set CUDA_HOME or MOTE_CUDNN"});
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
