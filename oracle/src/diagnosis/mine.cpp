// SPDX-License-Identifier: Apache-2.0
// Samples, and a greedy cover: predicates that hold wherever it fails, until none that passes is
// left.
#include "diagnosis/mine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mote/base/error.h"
#include "mote/oracle/exactness.h"
#include "mote/oracle/generate.h"

namespace mote::diagnosis {
namespace {

constexpr std::uint64_t kDrawn = 80;
constexpr std::uint64_t kSeed = 0xd1a9;
constexpr std::size_t kMostPredicates = 3;
/// Of those that pass: fewer may pass for their data's sake.
constexpr std::ptrdiff_t kLeastExcluded = 3;
constexpr int kMostEnded = 30;     ///< crashes, which take time; a hang takes that of ten
constexpr double kMostWork = 3e8;  ///< multiply-adds of all samples together
/// What filling, storing and comparing an element takes, in multiply-adds: about a microsecond.
constexpr double kElement = 64;

double work_of(const Case& c) {
  double elements = 0;
  for (const auto* tensors : {&c.inputs, &c.outputs})
    for (const CaseTensor& t : *tensors) elements += static_cast<double>(volume(t.shape));
  return multiply_adds(*c.program, c.binding) + kElement * elements;
}

class Sampler {
 public:
  explicit Sampler(const std::function<Outcome(const Case&)>& judge) : judge_(judge) {}

  void add(const Case& c, bool drawn) {
    work_ += work_of(c);
    if (work_ > kMostWork || ended_ > kMostEnded) return;
    Sample sample{c, {}, drawn};
    try {
      sample.outcome = judge_(c);
    } catch (const Error&) {  // does not fit into memory
      return;
    }
    if (is_lost(sample.outcome.verdict)) ended_ += sample.outcome.verdict == Verdict::hung ? 10 : 1;
    if (sample.outcome.judged()) all.push_back(std::move(sample));
  }

  std::vector<Sample> all;

 private:
  const std::function<Outcome(const Case&)>& judge_;
  double work_ = 0;
  int ended_ = 0;
};

void vary_sizes(Sampler& to, const Case& smallest) {
  const Domain& domain = domain_of(smallest.program);
  const Draft draft = to_draft(smallest);
  for (std::size_t k = 0; k < domain.knobs.size(); ++k) {
    for (const std::int64_t value : {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33}) {
      Draft next = draft;
      next.at.values[k] = value;
      try {
        std::optional<Case> c = to_case(next);
        if (!c) continue;
        c->fill = smallest.fill;
        c->set = moved_elements(*c, smallest);
        for (std::size_t t = 0; t < c->inputs.size(); ++t)
          c->inputs[t].layout = smallest.inputs[t].layout;
        for (std::size_t t = 0; t < c->outputs.size(); ++t) {
          c->outputs[t].layout = smallest.outputs[t].layout;
          c->outputs[t].left_out = smallest.outputs[t].left_out;
          const auto shared = shared_input(smallest, smallest.outputs[t]);
          if (shared && may_share(*c, *shared, t))
            c->outputs[t].in_place = smallest.outputs[t].in_place;
        }
        to.add(*c, false);
      } catch (const Error&) {  // not legal
        continue;
      }
    }
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

}  // namespace

Case drawn_like(const Case& smallest, std::uint64_t k) {
  Case c = generate(smallest.target, smallest.instance.dtype, kSeed, k);
  c.backend = smallest.backend;
  c.plugin = smallest.plugin;
  return c;
}

std::vector<Sample> samples(const Case& smallest,
                            const std::function<Outcome(const Case&)>& judge) {
  Sampler sampler(judge);
  vary_sizes(sampler, smallest);
  vary_params(sampler, smallest);
  vary_layouts(sampler, smallest);
  vary_fill(sampler, smallest);
  for (std::uint64_t k = 0; k < kDrawn; ++k) sampler.add(drawn_like(smallest, k), true);
  return std::move(sampler.all);
}

MinedCondition mine(const Case& smallest, const std::vector<Sample>& all) {
  std::vector<const Sample*> failing, passing;
  for (const Sample& s : all) (s.failed() ? failing : passing).push_back(&s);
  if (passing.empty()) return {"", true, std::ssize(all)};
  std::vector<Predicate> usable = predicates(smallest);
  std::erase_if(usable, [&](const Predicate& p) {
    return std::ranges::any_of(failing, [&](const Sample* s) { return !p.holds(s->of); });
  });
  std::vector<std::string> chosen;
  while (!passing.empty() && chosen.size() < kMostPredicates) {
    const auto excluded = [&](const Predicate& p) {
      return std::ranges::count_if(passing, [&](const Sample* s) { return !p.holds(s->of); });
    };
    const auto best = std::ranges::max_element(usable, {}, excluded);
    if (best == usable.end() || excluded(*best) < kLeastExcluded) break;
    std::erase_if(passing, [&](const Sample* s) { return !best->holds(s->of); });
    chosen.push_back(best->text);
  }
  return {fmt::format("{}", fmt::join(chosen, " and ")), passing.empty(),
          std::ssize(failing) + std::ssize(passing)};
}

}  // namespace mote::diagnosis
