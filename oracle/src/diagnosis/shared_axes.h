// SPDX-License-Identifier: Apache-2.0
// An axis that several inputs share, by the name of its size: "K" of a and of b.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/hypotheses.h"

namespace mote::diagnosis {

struct SharedAxis {
  std::string name;
  std::vector<std::pair<std::size_t, std::size_t>> members;  ///< (input, axis)
};

std::vector<SharedAxis> shared_axes(const Observed& o);

/// The names of the inputs: "a, b".
std::string members_text(const Observed& o, const SharedAxis& axis);

/// The inputs with each member's index i along the axis replaced by from(i).
std::vector<Dense> moved_along(const Observed& of, const SharedAxis& axis,
                               const std::function<std::int64_t(std::int64_t)>& from);

/// The extent that all members have; nullopt if they differ, as with one that repeats.
std::optional<std::int64_t> extent_of(const Observed& of, const SharedAxis& axis);

}  // namespace mote::diagnosis
