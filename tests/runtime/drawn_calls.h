// SPDX-License-Identifier: Apache-2.0
// Draws random legal calls of ops, without the oracle's types (the oracle's headers and the
// runtime's share names).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mote/base/dtype.h"

namespace mote::test {

struct DrawnTensor {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;
};

struct DrawnCall {
  std::string op;
  std::string text;  ///< the text that replays the case
  DType dtype;       ///< the dtype of the instance
  std::vector<std::pair<std::string, std::variant<std::int64_t, double>>> params;
  std::vector<std::optional<DrawnTensor>> inputs;  ///< by the op's positions
  std::vector<DrawnTensor> outputs;
};

/// Draws `count` calls for each dtype of each op and gradient that has kernels.
std::vector<DrawnCall> draw_calls(std::uint64_t seed, std::uint64_t count);

}  // namespace mote::test
