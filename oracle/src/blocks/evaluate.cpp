// Which plan a case gets, and the memory that it takes.
#include "evaluate.h"

#include <algorithm>
#include <limits>

#include "hoist.h"
#include "run.h"
#include "storage.h"
#include "thin.h"

namespace mote::blocks {

Evaluator::Evaluator(const std::shared_ptr<const Program>& program, Thinning thinning)
    : program_(program),
      plan_(make_plan(hoisted(*program, Masks::hoisted))),
      thinning_(thinning),
      thin_(make_thin_plan(hoisted(*program, Masks::left))) {}

/// An element that is chosen takes about twice as long as one of a region that is not thin.
const Plan& Evaluator::plan(const Case& c) const {
  constexpr double kShare = 0.5;
  if (!thin_) return plan_;
  if (thinning_ == Thinning::always) return *thin_;
  const Sizes& sizes = c.binding.values;
  double all = 0;
  double chosen = 0;
  for (const Stage& stage : thin_->stages) {
    for (const Region& region : stage.regions) {
      if (region.conditions.empty()) continue;
      const Extents shape = extents_of(region.shape, sizes);
      double count = 1;
      for (const std::int64_t extent : shape) count *= static_cast<double>(extent);
      if (count > 0x1p62) return plan_;  // bytes() will say that it is too many
      all += count;
      if (count > 0) chosen += count * chosen_share(region.conditions, shape, sizes);
    }
  }
  return chosen < kShare * all ? *thin_ : plan_;
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
      return step.result.kind != Place::Kind::array ||
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
