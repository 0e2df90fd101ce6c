// SPDX-License-Identifier: Apache-2.0
// Draws sizes, then changes them by steps until their work is near the goal.
#include "generate/draw_sizes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "mote/oracle/exactness.h"

namespace mote {
namespace {

constexpr std::int64_t kLargestExtent = 1025;
constexpr double kMaxCaseWork = 300'000;
constexpr double kMaxFarWork = 20'000;
/// The maximum work of the other axes in cases with a long axis, and the maximum of the long one
/// itself: the work of a scan is the square of its length, but each of its steps is short.
constexpr double kMaxLongWork = 100'000;
constexpr double kMaxScanWork[] = {1'250'000, 5'000'000, 21'000'000, 70'000'000};

/// Extents that kernels often get wrong are likely: 0 to 3, and the neighbours of powers of two.
std::int64_t draw_extent(Random& random) {
  const std::int64_t kind = random.below(10);
  if (kind < 3) return random.between(1, 3);
  if (kind < 7) return (std::int64_t{4} << random.below(5)) + random.between(-1, 1);
  return random.between(1, 40);
}

std::int64_t near_power(double extent, Random& random) {
  const auto power = std::int64_t{1} << static_cast<unsigned>(std::lround(std::log2(extent)));
  return power + random.between(-1, 1);
}

/// An extent near `extent`: itself, or the neighbour of a power of two.
std::int64_t near_extent(double extent, Random& random) {
  const auto value = std::clamp<std::int64_t>(std::llround(extent), 1, kLargestExtent);
  if (value < 4 || random.chance(40)) return value;
  return std::min(near_power(extent, random), kLargestExtent);
}

/// An extent from a block of threads to beyond the range of 16 bits, and sometimes near 2^20.
std::int64_t draw_long_extent(Random& random) {
  const std::int64_t kind = random.below(20);
  if (kind < 8) {  // blocks of 1,024 and small multiples
    const double extent = random.log_between(1000, 4500);
    return random.chance(50) ? near_power(extent, random) + random.between(0, 2)
                             : std::llround(extent);
  }
  if (kind < 12) {
    const double extent = random.log_between(4097, 65'534);
    return random.chance(50) ? near_power(extent, random) : std::llround(extent);
  }
  if (kind < 17) return 65'536 + random.between(-1, 3);
  if (kind < 19 || random.chance(50)) return std::llround(random.log_between(65'536, 160'000));
  return random.chance(50) ? (std::int64_t{1} << 20U) + random.between(-1, 3)
                           : std::llround(random.log_between(200'000, 1'048'576));
}

class SizeDrawer {
 public:
  SizeDrawer(const Domain& domain, const Params& params, Random& random)
      : domain_(domain), params_(params), random_(random) {}

  KnobValues draw_usual() {
    KnobValues at = draw_extents();
    const bool small = random_.chance(22);
    const double most = std::min(200'000.0, std::pow(1000.0, std::ssize(at.values)));
    const double goal = small ? 600 : random_.log_between(std::min(2'500.0, most / 50), most);
    for (int round = 0; round < 24; ++round) {
      const double work = work_at(at);
      if (work > 1.5 * goal) {
        reduce(at, goal / work);
      } else if (!small && work < goal / 2) {
        grow(at, goal / std::max(work, 1.0));
      } else {
        break;
      }
    }
    coincide(at);
    if (random_.chance(3)) at.values[pick(at)] = 0;
    return at;
  }

  /// Draws one long axis and short ones; the long one is shortened if a scan's work would exceed
  /// its limit.
  KnobValues draw_long() {
    KnobValues at;
    for (std::size_t k = 0; k < domain_.knobs.size(); ++k)
      at.values.push_back(
          random_.pick<std::int64_t>({1, 1, 1, 2, 2, 3, 5, random_.between(1, 40)}));
    const std::size_t k = pick_long(at);
    at.values[k] = draw_long_extent(random_);
    for (std::size_t other = 0; other < at.values.size() && work_at(at) > kMaxLongWork; ++other)
      if (other != k) at.values[other] = 1;
    const std::int64_t kind = random_.below(100);
    const double most = kMaxScanWork[kind < 60 ? 0 : kind < 94 ? 1 : kind < 99 ? 2 : 3];
    while (at.values[k] > 40 && work_at(at) > most) at.values[k] -= at.values[k] / 8;
    return at;
  }

  KnobValues draw_far() {
    KnobValues at;
    for (std::size_t k = 0; k < domain_.knobs.size(); ++k)
      at.values.push_back(random_.pick<std::int64_t>(
          {1, 2, 2, 2, 3, random_.between(2, 5), random_.between(1, 20)}));
    for (std::size_t k = 0; k < at.values.size() && work_at(at) > kMaxFarWork; ++k)
      at.values[k] = std::min<std::int64_t>(at.values[k], 2);
    return at;
  }

 private:
  KnobValues draw_extents() {
    KnobValues at;
    for (std::size_t k = 0; k < domain_.knobs.size(); ++k)
      at.values.push_back(draw_extent(random_));
    for (const Symbol pivot : domain_.pivots) at.slack[pivot] = random_.below(4);
    return at;
  }

  /// Picks a reduced axis in four cases of five.
  std::size_t pick_long(const KnobValues& at) {
    std::vector<std::size_t> reduced;
    for (std::size_t k = 0; k < domain_.knobs.size(); ++k)
      if (domain_.knobs[k].reduced) reduced.push_back(k);
    if (reduced.empty() || random_.chance(20)) return pick(at);
    return reduced[static_cast<std::size_t>(random_.below(std::ssize(reduced)))];
  }

  /// Makes two extents equal, or sometimes all, so that an axis used in place of another shows.
  void coincide(KnobValues& at) {
    if (at.values.size() < 2 || !random_.chance(25)) return;
    const std::size_t from = pick(at);
    const bool all = random_.chance(25);
    KnobValues next = at;
    if (all) {
      next.values.assign(at.values.size(),
                         random_.chance(60) ? draw_extent(random_) : at.values[from]);
    } else {
      const std::size_t other = pick(at);
      next.values[other == from ? (from + 1) % at.values.size() : other] = at.values[from];
    }
    if (work_at(next) <= kMaxCaseWork) at = next;
  }

  std::size_t pick(const KnobValues& at) {
    return static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(at.values.size())));
  }

  double work_at(const KnobValues& at) const {
    const std::optional<Sizes> sizes = solve(domain_, at, params_);
    if (!sizes) return 1e30;
    Binding binding;
    binding.values = *sizes;
    double elements = 0;
    for (const Uop& input : domain_.program->inputs) {
      double volume = 1;
      for (const Expr& e : input.shape()) volume *= static_cast<double>(evaluate(e, *sizes));
      elements += volume;
    }
    return std::max(multiply_adds(*domain_.program, binding), elements);
  }

  void reduce(KnobValues& at, double factor) {
    std::size_t k = pick(at);
    if (random_.chance(60)) {
      k = static_cast<std::size_t>(std::ranges::max_element(at.values) - at.values.begin());
    }
    const auto value = static_cast<double>(at.values[k]);
    at.values[k] = std::min(near_extent(value * std::max(factor, 0.1), random_),
                            std::max<std::int64_t>(at.values[k] - 1, 1));
  }

  void grow(KnobValues& at, double factor) {
    const std::size_t k = pick(at);
    const double by = std::pow(factor, 0.4 + 0.6 * random_.unit());
    at.values[k] =
        std::max(at.values[k], near_extent(static_cast<double>(at.values[k]) * by, random_));
  }

  const Domain& domain_;
  const Params& params_;
  Random& random_;
};

}  // namespace

SizeGoal draw_size_goal(const Domain& domain, Random& random) {
  const bool reduces = std::ranges::any_of(domain.knobs, &Knob::reduced);
  const std::int64_t draw = random.below(100);
  if (draw < (reduces ? 6 : 3)) return SizeGoal::long_axis;
  return draw >= 96 ? SizeGoal::far : SizeGoal::usual;
}

KnobValues draw_sizes(const Domain& domain, const Params& params, SizeGoal goal, Random& random) {
  SizeDrawer drawer(domain, params, random);
  if (domain.knobs.empty()) return {};
  switch (goal) {
    case SizeGoal::long_axis:
      return drawer.draw_long();
    case SizeGoal::far:
      return drawer.draw_far();
    case SizeGoal::usual:
      return drawer.draw_usual();
  }
  return {};
}

}  // namespace mote
