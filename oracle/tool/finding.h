// SPDX-License-Identifier: Apache-2.0
// What `mote doctor` reports.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mote::tool {

/// One line. `state`: "ok"; "missing", what could be here and is not; "failed", what is here and
/// does not work. `costs` and `remedy` are empty where it is ok.
struct Finding {
  std::string name;
  std::string state = {};
  std::string found = {};
  std::string costs = {};
  std::string remedy = {};
  nlohmann::ordered_json details = nlohmann::ordered_json::object();
};

/// Whether there are a toolkit, a driver and a GPU ("cuda"); then NVIDIA's compiler as a library,
/// its libraries of kernels, its driver and the GPUs that it sees.
std::vector<Finding> look_at_cuda();

}  // namespace mote::tool
