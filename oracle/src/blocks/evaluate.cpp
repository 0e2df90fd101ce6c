// SPDX-License-Identifier: Apache-2.0
// Chooses the plan for a case, and computes the memory that it takes.
#include "evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "as.h"
#include "hoist.h"
#include "inline.h"
#include "masked.h"
#include "run.h"
#include "storage.h"

namespace mote::blocks {
namespace {

/// The cost of an element of a masked region, relative to an element of another region.
constexpr double kChosen = 1.5;

double count_of(const std::vector<Expr>& shape, const Sizes& sizes) {
  double count = 1;
  for (const std::int64_t extent : extents_of(shape, sizes)) count *= static_cast<double>(extent);
  return count;
}

double share_of(const std::vector<Uop>& conditions, const std::vector<Expr>& shape,
                const Sizes& sizes) {
  // bytes() reports that this is too much.
  if (count_of(shape, sizes) > 0x1p62) return 1;
  return chosen_share(conditions, extents_of(shape, sizes), sizes);
}

/// The cost of a step for one element, in units of plain arithmetic on a block: steps that read or
/// write other memory cost more.
double weight(const Step& step) {
  constexpr double kRead = 3;
  constexpr double kKept = 2;
  const bool keeps =
      step.result.kind == Location::Kind::array && as<uop::Reduce>(step.node) == nullptr;
  return (as<uop::Reindex>(step.node) || step.gathers ? kRead : 1) + (keeps ? kKept : 0);
}

/// The number of computed elements times the weights of their steps.
double work(const Plan& plan, const Sizes& sizes) {
  double total = 0;
  for (const Stage& stage : plan.stages) {
    for (const Region& region : stage.regions) {
      double count = count_of(region.shape, sizes);
      if (!region.conditions.empty())
        count *= kChosen * share_of(region.conditions, region.shape, sizes);
      double steps = 0;
      for (const Step& step : region.steps) steps += weight(step);
      total += count * steps;
    }
  }
  return total;
}

}  // namespace

struct Evaluator::Body {
  Body(const Program& p, bool is_masked, bool is_always)
      : program(p), plain(make_plan(hoisted(p).program)), always(is_always) {
    if (!is_masked) return;
    masks = find_masks(program);
    for (const Uop& u : topological(roots(program))) {
      const auto at = masks.find(u.id());
      if (at == masks.end()) continue;
      const auto* r = as<uop::Reduce>(u);
      const std::vector<Expr>& shape = r ? r->x.shape() : u.shape();
      const auto is_same = [&](const Group& g) {
        return g.shape == shape && g.conditions.size() == at->second.conditions.size() &&
               std::ranges::equal(g.conditions, at->second.conditions, {}, &Uop::id, &Uop::id);
      };
      auto group = std::ranges::find_if(groups, is_same);
      if (group == groups.end())
        group = groups.insert(groups.end(), {shape, at->second.conditions, {}});
      group->nodes.push_back(u.id());
    }
  }

  /// The plan with those groups masked of which few elements count.
  const Plan& plan(const Sizes& sizes) {
    std::vector<bool> which;
    for (const Group& g : groups)
      which.push_back(always || share_of(g.conditions, g.shape, sizes) * kChosen < 1);
    if (std::ranges::find(which, true) == which.end()) return plain;
    if (const auto known = plans.find(which); known != plans.end()) return known->second;
    Masks wanted;
    for (std::size_t k = 0; k < groups.size(); ++k)
      for (const UopNode* node : groups[k].nodes)
        if (which[k]) wanted.emplace(node, masks.at(node));
    const Hoisted made = hoisted(program, wanted);
    return plans.emplace(which, make_plan(made.program, made.masks)).first->second;
  }

  /// Nodes that are masked together.
  struct Group {
    std::vector<Expr> shape;
    std::vector<Uop> conditions;
    std::vector<const UopNode*> nodes;
  };

  Program program;
  Plan plain;
  bool always;  ///< the groups are masked for all sizes
  Masks masks;
  std::vector<Group> groups;
  std::map<std::vector<bool>, Plan> plans;  ///< the plans, by the groups that are masked
};

Evaluator::Evaluator(const std::shared_ptr<const Program>& program, std::optional<Way> way)
    : program_(program) {
  const bool masks = way != Way::plain && way != Way::inlined;
  const auto add = [&](const Program& p) {
    bodies_.push_back(std::make_unique<Body>(p, masks, way.has_value()));
  };
  std::optional<Program> at_reads;
  if (way != Way::plain && way != Way::masked) at_reads = inlined(*program);
  if (!way || !at_reads) add(*program);
  if (at_reads) add(*at_reads);
}

Evaluator::~Evaluator() = default;

const Plan& Evaluator::plan(const Case& c) const {
  constexpr double kLittle = 3e4;  // choosing takes as long as this work
  const Sizes& sizes = c.binding.values;
  const std::lock_guard lock(mutex_);
  Body& first = *bodies_[0];
  if (!first.always && work(first.plain, sizes) < kLittle) return first.plain;
  const Plan* best = &first.plan(sizes);
  for (std::size_t k = 1; k < bodies_.size(); ++k)
    if (const Plan& other = bodies_[k]->plan(sizes); work(other, sizes) < work(*best, sizes))
      best = &other;
  return *best;
}

void Evaluator::run(const Case& c, const std::vector<Dense>& inputs,
                    std::vector<Dense>& outputs) const {
  run_plan(*program_, plan(c), c, inputs, outputs);
}

std::size_t Evaluator::bytes(const Case& c) const {
  const Plan& plan = this->plan(c);
  constexpr auto kTooMany = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> size;
  for (const ArrayPlan& a : plan.arrays) {
    std::size_t bytes = a.input < 0 || needs_copy(a, c) ? sizeof(Cell) : 0;
    for (const std::int64_t e : extents_of(a.node.shape(), c.binding.values))
      if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(e), &bytes)) return kTooMany;
    size.push_back(bytes);
  }
  std::size_t now = 0;
  std::size_t most = 0;
  const auto add = [&](std::size_t bytes) { return !__builtin_add_overflow(now, bytes, &now); };
  for (std::size_t k = 0; k < size.size(); ++k)
    if (plan.arrays[k].input >= 0 && !add(size[k])) return kTooMany;
  const auto made = [&](const std::vector<Step>& steps) {
    return std::ranges::all_of(steps, [&](const Step& step) {
      return step.result.kind != Location::Kind::array ||
             add(size[static_cast<std::size_t>(step.result.at)]);
    });
  };
  for (const Stage& stage : plan.stages) {
    for (const Region& region : stage.regions)
      if (!made(region.steps)) return kTooMany;
    most = std::max(most, now);
    for (const int k : stage.last_reads) now -= size[static_cast<std::size_t>(k)];
  }
  return most;
}

}  // namespace mote::blocks
