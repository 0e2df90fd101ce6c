// SPDX-License-Identifier: Apache-2.0
// Finds the parts of CUDA on this machine as a program does, by loading the libraries.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "finding.h"
#include "mote/base/cuda_libraries.h"

namespace mote::tool {
namespace {

/// A library of NVIDIA, and the texts to print if it is missing.
struct Wanted {
  std::string name;
  const char* variable;  ///< this variable may name the file
  std::vector<std::string> candidates;
  const char* costs;
  const char* remedy;
};

/// The loaded library; null with the loader's reason if it cannot be loaded.
std::shared_ptr<void> opened(const std::string& path, std::string& reason) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return {handle, [](void* library) { dlclose(library); }};
  const char* const why = dlerror();
  reason = why != nullptr ? why : path + ": cannot be loaded";
  return nullptr;
}

template <typename Function>
Function* function_in(const std::shared_ptr<void>& library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library.get(), name));
}

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// The finding if none of the candidates can be used. `reason` is the problem of the first that
/// exists, or empty.
Finding unusable(const Wanted& wanted, const std::string& reason) {
  Finding f{.name = wanted.name,
            .state = reason.empty() ? "missing" : "failed",
            .found = reason,
            .costs = wanted.costs,
            .remedy = wanted.remedy};
  if (reason.empty())
    f.found = fmt::format("{}: cannot open shared object file: No such file or directory",
                          fmt::join(wanted.candidates, ", "));
  if (is_set(wanted.variable)) {
    f.found = fmt::format("${}: {}", wanted.variable, f.found);
    f.remedy = fmt::format("correct ${} or unset it", wanted.variable);
  }
  return f;
}

/// True for the loader's message about a missing file.
bool says_that_there_is_none(const std::string& reason, const std::string& path) {
  return reason == path + ": cannot open shared object file: No such file or directory";
}

/// The finding of `look` for the first candidate that can be loaded and that it accepts; `look`
/// gives the reason why it refuses others.
Finding look_at(
    const Wanted& wanted,
    const std::function<std::optional<Finding>(
        const std::shared_ptr<void>&, const std::string& path, std::string& reason)>& look) {
  std::string wrong;  // the problem with the first one that exists
  for (const std::string& path : wanted.candidates) {
    std::string reason;
    const auto library = opened(path, reason);
    if (library != nullptr) {
      if (auto found = look(library, path, reason)) return *std::move(found);
    } else if (says_that_there_is_none(reason, path)) {
      continue;
    }
    if (wrong.empty()) wrong = reason;
  }
  return unusable(wanted, wrong);
}

using Version = std::function<std::optional<std::string>(const std::shared_ptr<void>&)>;

/// `objection` returns the problem with that version, or an empty text.
Finding look_at_version(const Wanted& wanted, const char* function, const Version& version_of,
                        const std::function<std::string(const std::string&)>& objection = nullptr) {
  return look_at(wanted,
                 [&](const std::shared_ptr<void>& library, const std::string& path,
                     std::string& reason) -> std::optional<Finding> {
                   const auto version = version_of(library);
                   if (!version) {
                     reason = fmt::format("{}: not that library: it has no {}", path, function);
                     return std::nullopt;
                   }
                   if (objection) reason = objection(*version);
                   if (!reason.empty()) {
                     reason = path + " " + reason;
                     return std::nullopt;
                   }
                   return Finding{.name = wanted.name,
                                  .state = "ok",
                                  .found = fmt::format("{}: version {}", path, *version),
                                  .details = {{"path", path}, {"version", *version}}};
                 });
}

/// Finds a library whose version is 10000 major + 100 minor + patch.
Finding look_at_kernels(const Wanted& wanted, const char* function) {
  return look_at_version(wanted, function,
                         [&](const std::shared_ptr<void>& library) -> std::optional<std::string> {
                           const auto version = function_in<std::size_t()>(library, function);
                           if (version == nullptr) return std::nullopt;
                           const std::size_t v = version();
                           return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
                         });
}

/// Finds NVRTC; with a driver ("CUDA 12.8"), its major version must not be later.
Finding look_at_nvrtc(const std::string& driver) {
  return look_at_version(
      {"nvrtc", "MOTE_NVRTC", nvrtc_candidates(), "CUDA text is not compiled for GPUs",
       "install the CUDA toolkit, or set CUDA_HOME or MOTE_NVRTC"},
      "nvrtcVersion",
      [](const std::shared_ptr<void>& library) -> std::optional<std::string> {
        const auto version = function_in<int(int*, int*)>(library, "nvrtcVersion");
        int major = 0;
        int minor = 0;
        if (version == nullptr || version(&major, &minor) != 0) return std::nullopt;
        return fmt::format("{}.{}", major, minor);
      },
      [&](const std::string& version) -> std::string {
        const int major = std::atoi(version.c_str());
        const std::string_view prefix = "CUDA ";
        if (driver.empty() || major <= std::atoi(driver.substr(prefix.size()).c_str())) return "";
        return fmt::format("makes code for drivers of CUDA {}, this one is of {}", major, driver);
      });
}

Finding look_at_cublas() {
  return look_at_kernels(
      {"cublas", "MOTE_CUBLAS", cublas_candidates(), "the backend cublas declines each call",
       "install the CUDA toolkit, or set CUDA_HOME or MOTE_CUBLAS"},
      "cublasLtGetVersion");
}

Finding look_at_cudnn() {
  return look_at_kernels(
      {"cudnn", "MOTE_CUDNN", cudnn_candidates(), "the backend cudnn declines each call",
       "install cuDNN 9, or set CUDA_HOME or MOTE_CUDNN"},
      "cudnnGetVersion");
}

/// The driver's functions that describe the machine.
struct Driver {
  explicit Driver(const std::shared_ptr<void>& library)
      : init(function_in<int(unsigned)>(library, "cuInit")),
        version(function_in<int(int*)>(library, "cuDriverGetVersion")),
        count(function_in<int(int*)>(library, "cuDeviceGetCount")),
        name(function_in<int(char*, int, int)>(library, "cuDeviceGetName")),
        attribute(function_in<int(int*, int, int)>(library, "cuDeviceGetAttribute")) {}
  bool is_one() const {
    return init != nullptr && version != nullptr && count != nullptr && name != nullptr &&
           attribute != nullptr;
  }
  /// A text such as "H100 (sm_90)".
  std::string describe(int device) const {
    std::array<char, 128> text{};
    int major = 0, minor = 0;
    attribute(&major, 75, device);  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
    attribute(&minor, 76, device);
    const bool is_named = name(text.data(), int{text.size()}, device) == 0;
    return fmt::format("{} (sm_{}{})", is_named ? text.data() : "a GPU", major, minor);
  }

  int (*init)(unsigned);
  int (*version)(int*);
  int (*count)(int*);
  int (*name)(char*, int, int);
  int (*attribute)(int*, int, int);
};

/// Finds the GPUs that the driver sees; mote uses the first. `brief` summarises the driver and
/// GPUs.
Finding look_at_gpu(std::string& brief) {
  const Wanted wanted = {"gpu",
                         "MOTE_CUDA_DRIVER",
                         {cuda_driver()},
                         "CUDA kernels run on the host's shim only",
                         "a machine with an NVIDIA GPU and its driver"};
  brief = "no driver";
  Finding f = look_at(wanted,
                      [&](const std::shared_ptr<void>& library, const std::string& path,
                          std::string& reason) -> std::optional<Finding> {
                        const Driver driver(library);
                        if (!driver.is_one()) {
                          reason = path + ": not a driver that mote knows";
                          return std::nullopt;
                        }
                        constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE
                        const int status = driver.init(0);
                        if (status != 0 && status != kNoDevice) {
                          brief = "a driver that does not start";
                          reason = fmt::format("{}: cuInit returned {}", path, status);
                          return std::nullopt;
                        }
                        int devices = 0, version = 0;
                        if (status == kNoDevice || driver.count(&devices) != 0) devices = 0;
                        driver.version(&version);
                        const std::string of =
                            fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
                        std::vector<std::string> names;
                        for (int k = 0; k < devices; ++k) names.push_back(driver.describe(k));
                        Finding found{.name = "gpu", .details = {{"names", names}, {"driver", of}}};
                        if (names.empty()) {
                          brief = "a driver, but no GPU";
                          found.state = "missing";
                          found.found = fmt::format("{}, a driver of {}, but no GPU", path, of);
                          found.costs = wanted.costs;
                          found.remedy = wanted.remedy;
                          return found;
                        }
                        brief = "a GPU";
                        found.state = "ok";
                        found.found = fmt::format("{}; driver of {}", names.front(), of);
                        if (names.size() > 1)
                          found.found += fmt::format(
                              "; not used: {}", fmt::join(names.begin() + 1, names.end(), ", "));
                        return found;
                      });
  if (!f.details.contains("names")) f.details["names"] = nlohmann::json::array();
  return f;
}

/// Summarises in one line what CUDA kernels can do here.
Finding situation(const Finding& nvrtc, const Finding& gpu, const std::string& driver) {
  const bool has_toolkit = nvrtc.state == "ok", has_gpu = gpu.state == "ok";
  Finding f{.name = "cuda",
            .state = "ok",
            .found = fmt::format("{}, {}", has_toolkit ? "a toolkit" : "no toolkit", driver),
            .details = {{"toolkit", has_toolkit}, {"gpu", has_gpu}}};
  if (has_toolkit && has_gpu) return f;
  f.state = gpu.state == "failed" || nvrtc.state == "failed" ? "failed" : "missing";
  f.costs = has_toolkit ? "CUDA kernels are compiled for GPUs and run on the host's shim"
            : has_gpu   ? "kernels of NVIDIA's libraries alone run on the GPU"
                        : "CUDA kernels run on the host's shim, and are not compiled for GPUs";
  f.remedy = has_gpu ? nvrtc.remedy : gpu.remedy;
  return f;
}

}  // namespace

std::vector<Finding> look_at_cuda() {
  std::string driver;
  const Finding gpu = look_at_gpu(driver);
  const Finding nvrtc = look_at_nvrtc(gpu.details.value("driver", ""));
  return {situation(nvrtc, gpu, driver), nvrtc, look_at_cublas(), look_at_cudnn(), gpu};
}

}  // namespace mote::tool
