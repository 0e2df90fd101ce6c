// SPDX-License-Identifier: Apache-2.0
// Runs samples: the smallest case with one change, and drawn cases.
#include <algorithm>

#include "case/like.h"
#include "diagnosis/find_condition.h"
#include "mote/base/error.h"
#include "mote/oracle/exactness.h"

namespace mote::diagnosis {
namespace {

constexpr std::uint64_t kDrawn = 80;
constexpr std::uint64_t kOfOtherDtype = 6;  ///< the number of cases of each dtype
constexpr std::uint64_t kSeed = 0xd1a9;
constexpr int kMaxEnded = 60;     ///< crashes take time; a hang counts as twenty
constexpr double kMaxWork = 3e8;  ///< multiply-adds of all samples together
/// The cost of filling, storing and comparing an element, in multiply-adds: about a microsecond.
constexpr double kElement = 64;

void vary_sizes(Sampler& to, const Case& smallest) {
  const std::size_t knobs = domain_of(smallest.program).knobs.size();
  for (const std::int64_t value : {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33})
    for (std::size_t k = 0; k < knobs; ++k)
      if (const auto c = with_knob(smallest, k, value)) to.add(*c, false);
}

/// Adds the case with each of a few fills.
void add_with_fills(Sampler& to, Case c) {
  for (const FillKind kind : {FillKind::index, FillKind::integer, FillKind::uniform}) {
    c.fill = {kind, 1};
    to.add(c, false);
  }
}

/// Varies two equal sizes together, since a failure may require that they are equal. If both become
/// 1, most axes are indistinguishable, so several fills show whether the failure requires that.
void vary_equal_sizes(Sampler& to, const Case& smallest) {
  const std::vector<std::int64_t> own = to_draft(smallest).at.values;
  for (std::size_t a = 0; a < own.size(); ++a)
    for (std::size_t b = a + 1; b < own.size(); ++b)
      for (const std::int64_t value : {1, 2, 3, 4, 5, 8, 17}) {
        if (own[a] != own[b] || value == own[a]) continue;
        const auto first = with_knob(smallest, a, value);
        const auto both = first ? with_knob(*first, b, value) : std::nullopt;
        if (!both) continue;
        to.add(*both, false);
        if (value == 1) add_with_fills(to, *both);
      }
}

void vary_params(Sampler& to, const Case& smallest) {
  for (const ParamDecl& p : smallest.program->params) {
    for (const double value : {0.0, 1.0, 2.0, 3.0, -1.0}) {
      Case c = smallest;
      c.params[p.name] = p.is_integer ? Number(static_cast<std::int64_t>(value)) : Number(value);
      try {
        complete(c);
        to.add(c, false);
      } catch (const Error&) {
        continue;
      }
    }
  }
}

void vary_layouts(Sampler& to, const Case& smallest) {
  for (std::size_t k = 0; k < smallest.outputs.size(); ++k) {
    Case c = smallest;
    c.outputs[k].in_place.clear();
    if (!smallest.outputs[k].in_place.empty()) to.add(c, false);
  }
  for (auto Case::*tensors : {&Case::inputs, &Case::outputs}) {
    for (std::size_t k = 0; k < (smallest.*tensors).size(); ++k) {
      const int rank = static_cast<int>((smallest.*tensors)[k].shape.size());
      std::vector<CaseLayout> layouts = {{}, {.order = {}, .pad = 3, .offset = 0, .repeated = {}}};
      if (rank >= 2)
        layouts.push_back({.order = swapped_order(rank), .pad = 0, .offset = 0, .repeated = {}});
      for (const CaseLayout& layout : layouts) {
        Case c = smallest;
        if ((c.*tensors)[k].left_out) continue;
        (c.*tensors)[k].layout = layout;
        to.add(c, false);
      }
    }
  }
}

void vary_fill(Sampler& to, const Case& smallest) {
  using enum FillKind;
  for (const FillKind kind : {integer, index, uniform, mean, special}) {
    Case c = smallest;
    c.fill = {kind, 1};
    to.add(c, false);
  }
}

void vary_dtype(Sampler& to, const Case& smallest) {
  for (const DType dtype : smallest.target->dtypes())
    for (std::uint64_t k = 0; k < kOfOtherDtype && dtype != smallest.instance.dtype; ++k) try {
        to.add(drawn_like(smallest, dtype, k), false);
      } catch (const Error&) {  // there is nothing to draw
        break;
      }
}

}  // namespace

double work_of(const Case& c) {
  double elements = 0;
  for (const auto* tensors : {&c.inputs, &c.outputs})
    for (const CaseTensor& t : *tensors) elements += static_cast<double>(volume(t.shape));
  return multiply_adds(*c.program, c.binding) + kElement * elements;
}

const Sample* Sampler::add(const Case& c, bool drawn) {
  if (is_spent()) return nullptr;
  Sample sample{c, {}, drawn, {}};
  try {
    work_ += work_of(c);
    if (is_spent()) return nullptr;
    sample.outcome = judge_(c);
  } catch (const Error&) {  // does not fit into memory
    return nullptr;
  }
  if (is_lost(sample.outcome.verdict)) ended_ += sample.outcome.verdict == Verdict::hung ? 20 : 1;
  if (!sample.outcome.judged()) return nullptr;
  sample.contents = contents_of(c);
  all.push_back(std::move(sample));
  return &all.back();
}

bool Sampler::is_spent() const {
  return work_ > most_work_ || ended_ > kMaxEnded || deadline_.is_over();
}

namespace {

Case drawn(const Case& smallest, DType dtype, std::uint64_t k, const DrawStyle& style) {
  Case c = generate(smallest.target, dtype, {kSeed, k, 0}, style);
  c.indices = smallest.indices;
  c.backend = smallest.backend;
  c.plugin = smallest.plugin;
  return c;
}

}  // namespace

Case drawn_like(const Case& smallest, DType dtype, std::uint64_t k) {
  return drawn(smallest, dtype, k, {});
}

Case drawn_like(const Case& smallest, std::uint64_t k) {
  return drawn_like(smallest, smallest.instance.dtype, k);
}

Case drawn_with_inputs_of(const Case& smallest, std::uint64_t k) {
  DrawStyle style;
  style.inputs = smallest.instance.input_mask;
  return drawn(smallest, smallest.instance.dtype, k, style);
}

Case drawn_with_sizes_of(const Case& smallest, std::uint64_t k) {
  const Case c = drawn_with_inputs_of(smallest, k);
  if (c.program != smallest.program) return c;
  const Draft own = to_draft(smallest);
  Draft draft = to_draft(c);
  draft.ones = own.ones;
  draft.missing = own.missing;
  for (std::size_t a = 0; a < own.at.values.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (own.at.values[a] == own.at.values[b]) draft.at.values[a] = draft.at.values[b];
  return like(draft, c).value_or(c);
}

std::vector<Sample> samples(const Case& smallest, const Judge& judge, const Deadline& deadline) {
  Sampler sampler(judge, kMaxWork, deadline);
  vary_sizes(sampler, smallest);
  vary_equal_sizes(sampler, smallest);
  vary_params(sampler, smallest);
  vary_layouts(sampler, smallest);
  vary_fill(sampler, smallest);
  for (std::uint64_t k = 0; k < kDrawn && !sampler.is_spent(); ++k)
    sampler.add(drawn_like(smallest, k), true);
  vary_dtype(sampler, smallest);
  return std::move(sampler.all);
}

}  // namespace mote::diagnosis
