// SPDX-License-Identifier: Apache-2.0
// Draws again for a subject that declines. The draw for a position is a pure function of target,
// dtype, seed, position and the cases that the subject takes, so that shards and resumed campaigns
// agree.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mote/oracle/generate.h"

namespace mote {

/// The styles, from any call to calls with a choice of inputs, a common layout and default
/// parameters.
std::vector<DrawStyle> draw_styles(const Target& target);

struct Position {
  std::shared_ptr<const Target> target;
  DType dtype = DType::f32;
  std::uint64_t seed = 0;
  std::uint64_t position = 0;
  std::map<std::string, std::int64_t> extents = {};  ///< DrawStyle::extents
};
/// True if the subject takes the case.
using Takes = std::function<bool(const Case&)>;
/// Another draw that the subject takes, for one that it declines: any call first, then calls of
/// drawn styles. nullopt if it takes none of kMaxAttempts.
std::optional<Case> another_draw(const Position& of, const Takes& takes);
constexpr std::uint64_t kMaxAttempts = 32;

/// True for one position in eight, which keeps its first draw, so that declined cases are counted
/// and coverage shows them.
bool keeps_first_draw(std::uint64_t position);

}  // namespace mote
