// SPDX-License-Identifier: Apache-2.0
// The last of shrinking: which elements have to be other than 0. Halves are left out first, then
// smaller parts, at last one by one.
#include <algorithm>
#include <chrono>

#include "mote/oracle/exactness.h"
#include "mote/oracle/shrink.h"
#include "prepared_state.h"

namespace mote {
namespace {

constexpr int kMostTries = 400;

/// Those that the fill gives and that are not 0; of an axis that repeats the first.
std::vector<SetElement> elements_of(const Case& c) {
  std::vector<SetElement> all;
  const std::vector<Dense> inputs =
      filled_inputs(c, judge(*c.program, c.binding, c.fill.kind).radius);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const CaseTensor& t = c.inputs[k];
    for (std::int64_t at = 0; at < inputs[k].count(); ++at) {
      if (inputs[k].is_zero(at)) continue;
      SetElement e{t.name, std::vector<std::int64_t>(t.shape.size()), inputs[k].at(at)};
      std::int64_t rest = at;
      for (std::size_t axis = t.shape.size(); axis-- > 0; rest /= t.shape[axis])
        e.index[axis] = rest % t.shape[axis];
      const bool again = std::ranges::any_of(
          t.layout.repeated, [&](int axis) { return e.index[static_cast<std::size_t>(axis)] > 0; });
      if (!again) all.push_back(std::move(e));
    }
  }
  return all;
}

class Clearer {
 public:
  Clearer(const Case& c, const std::function<bool(const Case&)>& fails, const ShrinkLimits& limits)
      : fails_(fails), limits_(limits), current_(c) {
    current_.fill = {FillKind::zeros, 0};
    current_.set = elements_of(c);
  }

  std::optional<Case> run(std::int64_t elements) {
    if (!keep(current_.set)) return std::nullopt;
    for (std::size_t part = (current_.set.size() + 1) / 2; part > 0; part /= 2) leave_out(part);
    if (2 * std::ssize(current_.set) > elements) return std::nullopt;
    for (std::size_t k = 0; k < current_.set.size(); ++k) {
      std::vector<SetElement> next = current_.set;
      next[k].value = next[k].value.is_real() ? Number(1.0) : Number(std::int64_t{1});
      if (!same(next[k].value, current_.set[k].value)) keep(next);
    }
    return current_;
  }

 private:
  void leave_out(std::size_t part) {
    for (std::size_t from = 0; from < current_.set.size();) {
      std::vector<SetElement> next = current_.set;
      const auto begin = next.begin() + static_cast<std::ptrdiff_t>(from);
      next.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(part, next.size() - from)));
      if (!keep(next)) from += part;
    }
  }

  bool keep(std::vector<SetElement> set) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (++tries_ > std::min(kMostTries, limits_.tries) || seconds > limits_.seconds ||
        limits_.stopping())
      return false;
    Case next = current_;
    next.set = std::move(set);
    if (!fails_(next)) return false;
    current_ = std::move(next);
    return true;
  }

  const std::function<bool(const Case&)>& fails_;
  ShrinkLimits limits_;
  Case current_;
  int tries_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

std::optional<Case> clear_elements(const Case& c, const std::function<bool(const Case&)>& fails,
                                   const ShrinkLimits& limits) {
  const std::int64_t elements = input_elements(c);
  if (elements < 2 || elements > kMostToClear) return std::nullopt;
  return Clearer(c, fails, limits).run(elements);
}

}  // namespace mote
