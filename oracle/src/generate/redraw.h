// SPDX-License-Identifier: Apache-2.0
// Draws for a subject that declines. Which one stands for a position is a pure function of target,
// dtype, seed, position and what the subject takes, so that shards and resumed campaigns agree.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "mote/oracle/generate.h"

namespace mote {

/// From any call to one with a choice of inputs, a common layout and default parameters.
std::vector<DrawStyle> draw_styles(const Target& target);

struct Position {
  std::shared_ptr<const Target> target;
  DType dtype = DType::f32;
  std::uint64_t seed = 0;
  std::uint64_t position = 0;
};
/// Whether the subject takes the case.
using Takes = std::function<bool(const Case&)>;
/// A draw that the subject takes, for one that it declines: any call first, then calls of drawn
/// styles. None where it takes none of kMaxAttempts.
std::optional<Case> another_draw(const Position& of, const Takes& takes);
constexpr std::uint64_t kMaxAttempts = 32;

/// One position in eight keeps its first draw, so that what is declined is counted and coverage
/// says so.
bool keeps_first_draw(std::uint64_t position);

}  // namespace mote
