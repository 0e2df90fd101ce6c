// SPDX-License-Identifier: Apache-2.0
// The greedy loop: it iterates over all steps until an iteration keeps nothing. If that ends with a
// case that is not small, it tries again with sizes first and other seeds of the same fill. Finally
// it does the same with data that are 0 except the elements that the failure needs.
#include "mote/oracle/shrink.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "mote/oracle/exactness.h"
#include "mote/oracle/generate.h"
#include "shrink/steps.h"

namespace mote {
namespace {

/// The number of seeds tried for one smaller case, in addition to its own.
constexpr std::uint64_t kSeeds = 4;

enum class Way : std::uint8_t { simplest_fill, smallest_sizes, few_elements };

class Shrinker {
 public:
  Shrinker(const std::function<bool(const Case&)>& fails, const ShrinkLimits& limits)
      : fails_(fails), limits_(limits) {}

  Shrunk run(const Case& start) {
    Case smallest = by(Way::simplest_fill, start);
    if (input_elements(smallest) > kSmallCase && !exhausted()) {
      const Case other = by(Way::simplest_fill, by(Way::smallest_sizes, start));
      if (input_elements(other) < input_elements(smallest)) smallest = other;
    }
    while (!exhausted() && smallest.fill.kind != FillKind::zeros) {
      const std::optional<Case> sparse = sparser(smallest);
      if (!sparse) break;
      if (!(measure(*sparse) < measure(smallest))) {
        const auto set = std::ssize(sparse->set);
        if (2 * set <= input_elements(smallest) && input_elements(smallest) > 1)
          shrunk_.sparsest = sparse;
        break;
      }
      smallest = by(Way::simplest_fill, *sparse);  // a simple fill may suffice there too
    }
    shrunk_.smallest = smallest;
    if (input_elements(smallest) > kSmallCase) shrunk_.reason = why_not_smaller(smallest);
    return shrunk_;
  }

 private:
  Case by(Way way, const Case& start) {
    current_ = start;
    way_ = way;
    been_ = {to_string(start)};
    for (const Search search : {Search::quick, Search::thorough})
      while (round(search) && !exhausted()) {
      }
    return current_;
  }

  /// The case with fill=zeros and the elements that the failure needs, in the smallest shapes found
  /// for these.
  std::optional<Case> sparser(const Case& c) {
    if (input_elements(c) > kMaxToClear || c.indices != 0) return std::nullopt;
    const std::optional<Case> listed = with_elements_listed(c);
    if (!listed || !is_failing(*listed, to_string(*listed))) return std::nullopt;
    return by(Way::few_elements, *listed);
  }

  /// The number of input elements, and the number of unusual parameters and tensors.
  static std::pair<std::int64_t, std::int64_t> measure(const Case& c) {
    std::int64_t unusual = std::ssize(c.inputs);
    for (const auto* tensors : {&c.inputs, &c.outputs})
      for (const CaseTensor& t : *tensors)
        unusual += (t.layout.contiguous() ? 0 : 1) + (t.in_place.empty() ? 0 : 1);
    for (const ParamDecl& p : c.program->params)
      unusual += p.default_value && c.params.at(p.name).as_real() == *p.default_value ? 0 : 1;
    return {input_elements(c), unusual};
  }

  /// Runs each step as often as it is kept; returns true if one was.
  bool round(Search search) {
    bool changed = false;
    const Offer offer = [this](const Case& candidate) { return keep(candidate); };
    for (const ShrinkStep& step : shrink_steps(current_, search)) {
      if (way_ != Way::simplest_fill && step.name == "fill") continue;
      while (!exhausted() && step.run(current_, offer)) changed = true;
    }
    return changed;
  }

  bool exhausted() const {
    return shrunk_.tries >= limits_.tries || work_ > limits_.multiply_adds ||
           seconds() > limits_.seconds || limits_.stopping();
  }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  bool keep(const Case& candidate) {
    if (try_case(candidate)) return true;
    if (way_ != Way::smallest_sizes || input_elements(candidate) >= input_elements(current_))
      return false;
    Case other = candidate;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      other.fill.seed = seed;
      if (try_case(other)) return true;
    }
    for (const FillKind kind : {FillKind::uniform, FillKind::extreme}) {
      other.fill = {kind, 0};
      if (try_case(other)) return true;
    }
    return false;
  }

  /// Runs a case that this search has not kept before. A step may lead back (a derived size is
  /// smaller than the free sizes allow, and solving gives the same sizes again): such a case would
  /// be kept forever.
  bool try_case(const Case& candidate) {
    std::string text = to_string(candidate);
    if (been_.contains(text) || !is_failing(candidate, text)) return false;
    been_.insert(std::move(text));
    current_ = candidate;
    ++shrunk_.steps;
    return true;
  }

  /// True if the case fails; each case runs only once.
  bool is_failing(const Case& candidate, const std::string& text) {
    if (const auto known = failing_.find(text); known != failing_.end()) return known->second;
    if (exhausted()) return false;
    ++shrunk_.tries;
    work_ += multiply_adds(*candidate.program, candidate.binding);
    return failing_[text] = fails_(candidate);
  }

  std::string why_not_smaller(const Case& c) const {
    if (limits_.stopping()) return "shrinking was interrupted";
    if (exhausted())
      return fmt::format("shrinking stopped after {} tries, {:.0f} s", shrunk_.tries, seconds());
    std::vector<std::string> needed;
    const Domain& domain = domain_of(c.program);
    const KnobValues at = knob_values(domain, c.binding.values);
    for (std::size_t k = 0; k < domain.knobs.size(); ++k)
      if (at.values[k] > std::max<std::int64_t>(domain.knobs[k].least, 1))
        needed.push_back(fmt::format("{} = {}", domain.knobs[k].name, at.values[k]));
    return fmt::format("with less of {} alone it does not fail", fmt::join(needed, " or "));
  }

  const std::function<bool(const Case&)>& fails_;
  ShrinkLimits limits_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Shrunk shrunk_;
  Case current_;
  std::set<std::string> been_;           ///< cases that this search kept
  std::map<std::string, bool> failing_;  ///< true for failing cases, of all that were run
  Way way_ = Way::simplest_fill;
  double work_ = 0;
};

}  // namespace

Shrunk shrink(const Case& start, const std::function<bool(const Case&)>& fails,
              const ShrinkLimits& limits) {
  return Shrinker(fails, limits).run(start);
}

std::int64_t input_elements(const Case& c) {
  std::int64_t elements = 0;
  for (const CaseTensor& t : c.inputs) {
    std::vector<std::int64_t> distinct = t.shape;
    for (const int axis : t.layout.repeated) {
      auto& extent = distinct[static_cast<std::size_t>(axis)];
      extent = std::min<std::int64_t>(extent, 1);
    }
    elements += volume(distinct);
  }
  return elements;
}

}  // namespace mote
