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

/// An op or gradient that has kernels.
struct DrawableOp {
  std::string name;
  std::string family;
  std::vector<DType> dtypes;
  int gradient_order = 0;
};
std::vector<DrawableOp> drawable_ops();

/// The wishes about one call.
struct CallWishes {
  std::int64_t most = 0;                  ///< the largest size, or the least that is legal; 0: any
  std::optional<std::size_t> input = {};  ///< the position of an input that takes `shape`
  /// Extents that are no free sizes of their own are not granted.
  std::vector<std::int64_t> shape = {};
};
/// Draws call `position` of the seed's stream, for an op of drawable_ops() and one of its dtypes.
/// Wishes are granted as far as the result is legal.
DrawnCall draw_call(const std::string& op, DType dtype, std::uint64_t seed, std::uint64_t position,
                    const CallWishes& wishes);

/// Returns the elements of an input of that name under a fill such as "uniform:9f21" (fill.h).
/// Integers are at most `radius`.
std::vector<double> drawn_elements(const std::string& fill, const std::string& name, DType dtype,
                                   std::int64_t count, std::int64_t radius);

}  // namespace mote::test
