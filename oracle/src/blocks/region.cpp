// SPDX-License-Identifier: Apache-2.0
// Arranges the steps of a region once they are all known: which sums are taken together, in which
// order the loops run, which results share memory, and how many elements are taken at a time.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "plan.h"

namespace mote::blocks {
namespace {

/// The axes of a sum of reals that may be taken with others; null for other steps.
const std::vector<int>* summed_axes(const Step& step) {
  const auto* r = as<uop::Reduce>(step.node);
  const bool sums = r && r->op == ReduceOp::sum && !step.gathers;
  return sums && is_real(step.node.dtype()) && !step.counts ? &r->axes : nullptr;
}

}  // namespace

void put_sums_together(Region& region) {
  std::map<std::vector<int>, std::vector<std::size_t>> sums;
  for (std::size_t k = 0; k < region.steps.size(); ++k)
    if (const auto* axes = summed_axes(region.steps[k])) sums[*axes].push_back(k);
  std::vector<Step> steps;
  for (std::size_t k = 0; k < region.steps.size(); ++k) {
    const auto* axes = summed_axes(region.steps[k]);
    if (axes == nullptr) {
      steps.push_back(region.steps[k]);
    } else if (const auto& all = sums.at(*axes); all.back() == k) {
      for (std::size_t sum = 0; sum < all.size(); ++sum) {
        steps.push_back(region.steps[all[sum]]);
        if (sum % kTogether == 0)
          steps.back().together = std::min(kTogether, static_cast<int>(all.size() - sum));
      }
    }
  }
  region.steps = std::move(steps);
}

void order_loops(Region& region) {
  region.order.resize(region.shape.size());
  std::iota(region.order.begin(), region.order.end(), 0);
  std::set<std::vector<int>> axes;
  for (const Step& step : region.steps)
    if (const auto* r = as<uop::Reduce>(step.node); r != nullptr && !step.gathers)
      axes.insert(r->axes);
  if (region.conditions.empty() || axes.size() != 1) return;
  const auto is_kept = [&](std::size_t axis) {
    return std::ranges::find(*axes.begin(), static_cast<int>(axis)) == axes.begin()->end();
  };
  std::stable_partition(region.order.begin(), region.order.end(), is_kept);
}

int share_blocks(std::vector<Step>& steps) {
  int blocks = 0;
  std::map<int, std::size_t> last;
  for (std::size_t k = 0; k < steps.size(); ++k)
    for (const Location& p : steps[k].args)
      if (p.kind == Location::Kind::block) last[p.at] = k;
  std::vector<int> free;
  std::map<int, int> block_of;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    Step& step = steps[k];
    const std::vector<Location> args = step.args;
    for (Location& p : step.args)
      if (p.kind == Location::Kind::block) p.at = block_of.at(p.at);
    if (step.result.kind == Location::Kind::block) {
      if (free.empty()) free.push_back(blocks++);
      block_of[step.result.at] = free.back();
      step.result.at = free.back();
      free.pop_back();
    }
    std::set<int> over;
    for (const Location& p : args)
      if (p.kind == Location::Kind::block && last.at(p.at) == k) over.insert(block_of.at(p.at));
    free.insert(free.end(), over.begin(), over.end());
  }
  return blocks;
}

std::int64_t block_of(const Extents& shape) {
  constexpr std::int64_t kLanes = 8;
  constexpr std::int64_t kLeast = kBlock / 4 * 3;
  std::int64_t best = kBlock;
  std::int64_t row = 1;
  for (std::size_t k = shape.size(); k-- > 0 && row <= kBlock;) {
    row *= shape[k];
    if (row == 0) return kBlock;
    const std::int64_t rows = std::lcm(row, kLanes);
    if (rows < 1 || rows > kBlock) continue;
    if (kBlock / rows * rows >= kLeast) best = kBlock / rows * rows;
  }
  return best;
}

}  // namespace mote::blocks
