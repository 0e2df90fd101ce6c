// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/failing_cases.h"

#include <algorithm>
#include <tuple>

#include "diagnosis/contents.h"
#include "mote/base/error.h"
#include "mote/oracle/exactness.h"
#include "mote/oracle/generate.h"

namespace mote::diagnosis {
namespace {

constexpr std::uint64_t kFirstFresh = 1000;  ///< positions that samples() does not draw
constexpr std::uint64_t kMaxFresh = 40;
constexpr std::uint64_t kMaxDrawnFresh = 100;  ///< drawn cases from which they are chosen
constexpr double kHeavyWork = 50'000;          ///< multiply-adds

/// True if the data lie at the limits of arithmetic, where a kernel's own roundings and overflows
/// hide other defects.
bool has_edges(const Case& c) { return c.fill.kind >= FillKind::ties; }

/// True if no input holds NaN or an infinity.
bool is_finite(const std::vector<Contents>& of) {
  return std::ranges::none_of(
      of, [](const Contents& c) { return c.nan || c.infinity || c.minus_infinity; });
}

}  // namespace

bool is_heavy(const Case& c) { return multiply_adds(*c.program, c.binding) > kHeavyWork; }

FailingCases::FailingCases(const Case& smallest, const Outcome& outcome,
                           const std::vector<Sample>& samples, const Judge& judge,
                           const Deadline& deadline)
    : smallest_(smallest),
      ones_(to_draft(smallest).ones),
      outcome_(outcome),
      judge_(judge),
      deadline_(deadline) {
  for (const Sample& s : samples)
    if (is_alike(s.of, s.outcome)) alike_.push_back(&s);
  const auto others = std::stable_partition(
      alike_.begin(), alike_.end(), [this](const Sample* s) { return !has_other_inputs(s->of); });
  if (others - alike_.begin() >= static_cast<std::ptrdiff_t>(kCases))
    alike_.erase(others, alike_.end());
  const bool finite = is_finite(contents_of(smallest));
  std::ranges::stable_sort(alike_, {}, [this, finite](const Sample* s) {
    return std::tuple(!s->drawn, has_edges(s->of), is_finite(s->contents) != finite,
                      other_params(s->of), s->of.fill.kind == smallest_.fill.kind,
                      multiply_adds(*s->of.program, s->of.binding));
  });
  drawn_ = std::ranges::count_if(alike_, &Sample::drawn);
}

std::vector<Observed> FailingCases::first() {
  std::vector<Observed> all;
  if (auto o = observe(smallest_, outcome_)) all.push_back(*std::move(o));
  for (; !all.empty() && used_ < std::ssize(alike_) && all.size() < kCases; ++used_) {
    const Sample& s = *alike_[static_cast<std::size_t>(used_)];
    if (auto o = observe(s.of, s.outcome)) all.push_back(*std::move(o));
  }
  return all;
}

std::optional<Observed> FailingCases::next() {
  while (used_ < drawn_) {
    const Sample& s = *alike_[static_cast<std::size_t>(--drawn_)];
    if (auto o = observe(s.of, s.outcome)) return o;
  }
  while (fresh_ < kMaxFresh && drawn_fresh_ < kMaxDrawnFresh && !deadline_.is_over()) {
    const std::uint64_t k = kFirstFresh + drawn_fresh_++;
    const Case c =
        k % 2 == 0 ? drawn_with_inputs_of(smallest_, k) : drawn_with_sizes_of(smallest_, k);
    if (c.program != smallest_.program || is_heavy(c) || has_edges(c)) continue;
    ++fresh_;
    try {
      const Outcome outcome = judge_(c);
      if (!is_alike(c, outcome)) continue;
      if (auto o = observe(c, outcome)) return o;
    } catch (const Error&) {  // does not fit into memory
      continue;
    }
  }
  return std::nullopt;
}

bool FailingCases::is_alike(const Case& c, const Outcome& o) const {
  return o.verdict == outcome_.verdict && c.program == smallest_.program &&
         !o.differences.empty() && !is_heavy(c);
}

/// True if it has other optional inputs than the smallest, or inputs that repeat along other axes.
bool FailingCases::has_other_inputs(const Case& c) const {
  return c.instance.input_mask != smallest_.instance.input_mask || to_draft(c).ones != ones_;
}

/// The number of parameters that differ from the smallest's.
std::ptrdiff_t FailingCases::other_params(const Case& c) const {
  return std::ranges::count_if(c.params, [&](const auto& p) {
    const auto own = smallest_.params.find(p.first);
    return own == smallest_.params.end() || !same(own->second, p.second);
  });
}

}  // namespace mote::diagnosis
