// SPDX-License-Identifier: Apache-2.0
// A GPU that is described by its properties alone, as cuDNN 9.8 and later allow: NVIDIA's own cuDNN
// is asked for engines of mote's graphs on it, without a GPU.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "cudnn/graph.h"
#include "in_child.h"

namespace mote::cudnn {

/// The properties of an H100, under the names by which cuDNN 9.19 asks for them.
inline constexpr const char* kH100 = R"({"deviceName": "H100", "deviceVer": 900, "driverVer": 13000,
  "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "warpSize": 32,
  "multiProcessorCount": 132, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
  "l2CacheSize": 52428800, "totalGlobalMem": 85000000000, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
  "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "version": 1})";

inline Target described_gpu() {
  const std::string json = kH100;
  Target target;
  target.device.emplace(descriptor::kDevice)
      .set(attribute::kDeviceJson, of::kChar, static_cast<std::int64_t>(json.size()), json.data())
      .finalize();
  return target;
}

/// Runs `ask` in a process of its own, whose driver is the toolkit's stub: engines that are
/// compiled at run time are offered only if there is a driver.
inline std::string with_driver(const std::function<std::string()>& ask) {
  return test::in_child([&]() -> std::string {
    if (dlopen(MOTE_CUDA_STUB, RTLD_NOW | RTLD_GLOBAL) == nullptr) return dlerror();
    return ask();
  });
}

/// Returns "engines", "none", or the reason why cuDNN does not take the graph.
inline std::string asked(const std::function<Graph()>& make, Kind kind) {
  try {
    return make().configurations(described_gpu(), kind).empty() ? "none" : "engines";
  } catch (const cuda::LibraryError& e) {
    return e.what();
  }
}
inline std::string answer(const std::function<Graph()>& make, Kind kind) {
  return with_driver([&] { return asked(make, kind); });
}

class CudnnGraphLibrary : public testing::Test {
 protected:
  void SetUp() override {
    try {
      if (calls().version() < 90800) GTEST_SKIP() << "cuDNN knows no GPU by its properties";
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();
    }
    const std::string said = test::in_child([] {
      try {
        described_gpu();
        return std::string();
      } catch (const cuda::LibraryError& e) {
        return std::string(e.what());
      }
    });
    // The properties that cuDNN wants are not documented; other releases may want others.
    constexpr std::size_t kTakesThem = 919;
    if (calls().version() / 100 == kTakesThem) {
      ASSERT_EQ(said, "");
    }
    if (!said.empty()) GTEST_SKIP() << "this cuDNN wants other properties: " << said;
  }
};

inline Tensor packed(std::vector<std::int64_t> dims, DType dtype) {
  Tensor t{.name = "t", .dtype = dtype, .dims = dims, .strides = dims};
  std::int64_t inner = 1;
  for (std::size_t k = dims.size(); k-- > 0; inner *= dims[k]) t.strides[k] = inner;
  return t;
}

inline Kind kind_for(DType dtype) { return dtype == DType::f32 ? Kind::f32 : Kind::narrow; }

}  // namespace mote::cudnn
