// SPDX-License-Identifier: Apache-2.0
// Draws again: of attempts beyond the first few, three in four have one layout for all tensors, and
// half have default parameters.
#include "generate/redraw.h"

#include "generate/random.h"

namespace mote {
namespace {

constexpr std::size_t kMaxOptional = 4;  ///< beyond it, only all and none are used
constexpr std::uint64_t kKept = 8;
/// The attempts that are drawn like any case: a subject that takes about half of all calls usually
/// takes one of them, and they vary most.
constexpr std::uint64_t kFreeAttempts = 3;

std::vector<TensorMask> masks_of(const Target& target) {
  if (target.record() != nullptr && !target.record()->masks.empty()) return target.record()->masks;
  std::vector<TensorMask> optional;
  for (std::size_t k = 0; k < target.inputs().size(); ++k)
    if (target.inputs()[k].optional) optional.push_back(mask_bit(k));
  TensorMask all = 0;
  for (const TensorMask bit : optional) all |= bit;
  const TensorMask full = target.full_mask();
  if (optional.empty()) return {};
  if (optional.size() > kMaxOptional) return {full, full & ~all};
  std::vector<TensorMask> masks;
  for (std::size_t choice = 0; choice < std::size_t{1} << optional.size(); ++choice) {
    TensorMask mask = full;
    for (std::size_t k = 0; k < optional.size(); ++k)
      if ((choice >> k) % 2 == 0) mask &= ~optional[k];
    masks.push_back(mask);
  }
  return masks;
}

}  // namespace

std::vector<DrawStyle> draw_styles(const Target& target) {
  using enum DrawStyle::Layouts;
  std::vector<std::optional<TensorMask>> inputs = {std::nullopt};
  for (const TensorMask mask : masks_of(target)) inputs.emplace_back(mask);
  std::vector<DrawStyle> styles;
  for (const auto layouts : {any, row_major, channels_last, by_columns})
    for (const bool defaults : {false, true})
      for (const auto& mask : inputs) styles.push_back({mask, layouts, defaults, layouts != any, {}});
  return styles;
}

std::optional<Case> another_draw(const Position& of, const Takes& takes) {
  const std::vector<DrawStyle> styles = draw_styles(*of.target);
  Random random(mix(of.seed ^ mix(of.position)));
  for (std::uint64_t attempt = 1; attempt <= kMaxAttempts; ++attempt) {
    const auto drawn = static_cast<std::size_t>(random.below(std::ssize(styles)));
    DrawStyle style = attempt <= kFreeAttempts ? DrawStyle{} : styles[drawn];
    style.extents = of.extents;
    Case c = generate(of.target, of.dtype, {of.seed, of.position, attempt}, style);
    if (takes(c)) return c;
  }
  return std::nullopt;
}

bool keeps_first_draw(std::uint64_t position) { return mix(position + 1) % kKept == 0; }

}  // namespace mote
