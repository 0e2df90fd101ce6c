// SPDX-License-Identifier: Apache-2.0
// Converts a point of a domain to sizes and back: each pivot is the least size that reaches its
// derived sizes, found by bisection, since they all grow with it.
#include <algorithm>

#include "mote/oracle/domain.h"

namespace mote {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 40U;

/// The derived sizes of one pivot, as functions of it.
class PivotSolver {
 public:
  PivotSolver(const Domain& domain, Symbol pivot, Sizes& sizes)
      : least_(domain.least.at(pivot)), slot_(sizes[pivot]), sizes_(sizes) {
    for (std::size_t k = 0; k < domain.knobs.size(); ++k) {
      if (domain.knobs[k].pivot == pivot) knobs_.push_back(k);
    }
    domain_ = &domain;
  }

  const std::vector<std::size_t>& knobs() const { return knobs_; }

  /// The least value at which every derived size is at least `wanted`.
  std::optional<std::int64_t> reach(const std::vector<std::int64_t>& wanted) const {
    if (reaches(least_, wanted)) return least_;
    std::int64_t low = least_;
    std::int64_t high = least_ + 1;
    for (std::int64_t step = 1; !reaches(high, wanted); step *= 2) {
      if (high > kLargestSize) return std::nullopt;
      low = high;
      high += step;
    }
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (reaches(middle, wanted) ? high : low) = middle;
    }
    return high;
  }

  std::vector<std::int64_t> derived_at(std::int64_t value) const {
    slot_ = value;
    std::vector<std::int64_t> all;
    for (const std::size_t k : knobs_) all.push_back(evaluate(domain_->knobs[k].value, sizes_));
    return all;
  }

  /// The distance above `value`, at most `limit`, within which all derived sizes stay the same.
  std::int64_t slack(std::int64_t value, std::int64_t limit) const {
    const std::vector<std::int64_t> here = derived_at(value);
    std::int64_t slack = 0;
    while (slack < limit && derived_at(value + slack + 1) == here) ++slack;
    return slack;
  }

 private:
  bool reaches(std::int64_t value, const std::vector<std::int64_t>& wanted) const {
    const std::vector<std::int64_t> got = derived_at(value);
    for (std::size_t k = 0; k < got.size(); ++k) {
      if (got[k] < wanted[k]) return false;
    }
    return true;
  }

  const Domain* domain_ = nullptr;
  std::int64_t least_;
  std::int64_t& slot_;
  Sizes& sizes_;
  std::vector<std::size_t> knobs_;
};

}  // namespace

Sizes param_values(const Program& program, const Params& params) {
  Sizes values;
  for (const ParamDecl& p : program.params) {
    const auto at = params.find(p.name);
    if (p.is_integer && at != params.end()) {
      values[Symbol(SymbolKind::param, p.name)] = at->second.integer();
    }
  }
  return values;
}

std::optional<Sizes> solve(const Domain& domain, const KnobValues& at, const Params& params) {
  Sizes sizes = param_values(*domain.program, params);
  for (const auto& [symbol, least] : domain.least) sizes[symbol] = least;
  for (std::size_t k = 0; k < domain.knobs.size(); ++k) {
    const Knob& knob = domain.knobs[k];
    if (!knob.pivot) sizes[*knob.value.as_symbol()] = std::max(at.values[k], knob.least);
  }
  for (const Symbol pivot : domain.pivots) {
    const PivotSolver solver(domain, pivot, sizes);
    std::vector<std::int64_t> wanted;
    for (const std::size_t k : solver.knobs()) {
      wanted.push_back(std::max(at.values[k], domain.knobs[k].least));
    }
    const std::optional<std::int64_t> value = solver.reach(wanted);
    if (!value) return std::nullopt;
    const auto slack = at.slack.find(pivot);
    const std::int64_t more = slack == at.slack.end() ? 0 : solver.slack(*value, slack->second);
    sizes[pivot] = *value + more;
  }
  return sizes;
}

KnobValues knob_values(const Domain& domain, const Sizes& sizes) {
  KnobValues at;
  for (const Knob& knob : domain.knobs) at.values.push_back(evaluate(knob.value, sizes));
  for (const Symbol pivot : domain.pivots) {
    Sizes scratch = sizes;
    const PivotSolver solver(domain, pivot, scratch);
    std::vector<std::int64_t> wanted;
    for (const std::size_t k : solver.knobs()) wanted.push_back(at.values[k]);
    const std::optional<std::int64_t> value = solver.reach(wanted);
    at.slack[pivot] = value ? sizes.at(pivot) - *value : 0;
  }
  return at;
}

std::vector<std::vector<std::int64_t>> input_shapes(const Program& program, const Sizes& sizes) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Uop& input : program.inputs) {
    std::vector<std::int64_t>& shape = shapes.emplace_back();
    for (const Expr& e : input.shape()) shape.push_back(evaluate(e, sizes));
  }
  return shapes;
}

}  // namespace mote
