// SPDX-License-Identifier: Apache-2.0
// The findings that `mote doctor` reports.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mote::tool {

/// One line. `state` is "ok", "missing" (it could be here and is not) or "failed" (it is here and
/// does not work). `costs` and `remedy` are empty if it is ok.
struct Finding {
  std::string name;
  std::string state = {};
  std::string found = {};
  std::string costs = {};
  std::string remedy = {};
  nlohmann::ordered_json details = nlohmann::ordered_json::object();
};

/// The findings on CUDA: whether there are a toolkit, a driver and a GPU ("cuda"); then NVRTC,
/// cuBLAS, cuDNN, and the driver with its GPUs.
std::vector<Finding> look_at_cuda();

}  // namespace mote::tool
