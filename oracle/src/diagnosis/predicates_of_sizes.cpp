// SPDX-License-Identifier: Apache-2.0
// Predicates of the integers of a case: sizes, numbers of elements, integer parameters. The samples
// decide between which values a limit may lie.
#include <fmt/format.h>

#include <algorithm>

#include "case/like.h"
#include "diagnosis/find_condition.h"
#include "mote/base/error.h"

namespace mote::diagnosis {
namespace {

constexpr std::int64_t kMaxUpTo = 256;                    ///< few samples lie beyond it
constexpr std::int64_t kLargest = std::int64_t{1} << 24;  ///< the maximum extent that is tried

struct Quantity {
  std::string name;
  std::function<std::optional<std::int64_t>(const Case&)> of;
  /// The case with that value of the quantity; k chooses among several variations.
  std::function<std::optional<Case>(const Case&, std::int64_t value, std::uint64_t k)> with;
  std::int64_t least = 0;
  std::optional<std::int64_t> usual;  ///< a parameter's default
  bool is_param = false;
  int cost = 1;
};

Quantity of_size(Symbol size) {
  return {.name = std::string(size.name()),
          .of = [size](const Case& c) -> std::optional<std::int64_t> {
            const auto at = c.binding.values.find(size);
            if (at == c.binding.values.end()) return std::nullopt;
            return at->second;
          },
          .with = [size](const Case& c, std::int64_t value,
                         std::uint64_t) { return with_size(c, size, value); },
          .usual = std::nullopt};
}

bool is_identifier(const std::string& name) {
  return std::ranges::all_of(name, [](char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// A size that follows from others, such as OH.
Quantity of_derived(const std::string& name) {
  const auto find = [name](const Case& c) -> std::optional<std::size_t> {
    const std::vector<Knob>& knobs = domain_of(c.program).knobs;
    const auto at = std::ranges::find(knobs, name, &Knob::name);
    if (at == knobs.end()) return std::nullopt;
    return static_cast<std::size_t>(at - knobs.begin());
  };
  return {.name = name,
          .of = [find](const Case& c) -> std::optional<std::int64_t> {
            const auto k = find(c);
            if (!k) return std::nullopt;
            return evaluate(domain_of(c.program).knobs[*k].value, c.binding.values);
          },
          .with = [find](const Case& c, std::int64_t value, std::uint64_t) -> std::optional<Case> {
            const auto k = find(c);
            return k ? with_knob(c, *k, value) : std::nullopt;
          },
          .usual = std::nullopt};
}

/// The number of elements of an output: all in one axis, or multiplied by one of the case's axes.
Quantity of_elements(const std::string& output) {
  const auto count = [output](const Case& c) -> std::optional<std::int64_t> {
    const auto t = std::ranges::find(c.outputs, output, &CaseTensor::name);
    if (t == c.outputs.end()) return std::nullopt;
    return volume(t->shape);
  };
  return {
      .name = fmt::format("elements of {}", output),
      .of = count,
      .with = [count](const Case& c, std::int64_t value, std::uint64_t k) -> std::optional<Case> {
        const std::size_t knobs = domain_of(c.program).knobs.size();
        if (knobs == 0) return std::nullopt;
        std::optional<Case> next = c;
        for (std::size_t other = 0; next && other < knobs && k % 2 == 0; ++other)
          next = with_knob(*next, other, 1);
        if (!next) return std::nullopt;
        const std::size_t axis = k / 2 % knobs;
        const auto ones = with_knob(*next, axis, 1);
        const std::int64_t others = ones ? count(*ones).value_or(0) : 0;
        if (others < 1 || value % others != 0) return std::nullopt;
        return with_knob(*next, axis, value / others);
      },
      .usual = std::nullopt,
      .cost = 2};
}

Quantity of_param(const ParamDecl& p) {
  return {.name = p.name,
          .of = [name = p.name](const Case& c) -> std::optional<std::int64_t> {
            const auto at = c.params.find(name);
            if (at == c.params.end() || at->second.is_real()) return std::nullopt;
            return at->second.integer();
          },
          .with = [p](const Case& c, std::int64_t value, std::uint64_t) -> std::optional<Case> {
            if (p.lower && value < *p.lower) return std::nullopt;
            if (p.upper && value > *p.upper) return std::nullopt;
            return with_param(c, p.name, Number(value));
          },
          .least = p.lower.value_or(p.upper ? std::min<std::int64_t>(*p.upper, 0) : 0),
          .usual = p.default_value ? std::optional(static_cast<std::int64_t>(*p.default_value))
                                   : std::nullopt,
          .is_param = true};
}

std::vector<Quantity> sizes_of(const Case& smallest) {
  std::vector<Quantity> all;
  for (const SizeRule& rule : smallest.program->size_rules) all.push_back(of_size(rule.size));
  for (const Knob& knob : domain_of(smallest.program).knobs)
    if (knob.pivot && is_identifier(knob.name)) all.push_back(of_derived(knob.name));
  return all;
}

class Adder {
 public:
  Adder(std::vector<Predicate>& to, const std::vector<const Sample*>& failing,
        const std::vector<const Sample*>& passing)
      : all_(to), failing_(failing), passing_(passing) {}

  void add(const Quantity& q) {
    std::vector<std::int64_t> values;
    for (const Sample* s : failing_) {
      const auto value = q.of(s->of);
      if (!value) return;
      values.push_back(*value);
    }
    const auto [lo, hi] = std::ranges::minmax(values);
    if (q.usual && std::ranges::find(values, *q.usual) == values.end())
      add(
          q, fmt::format("{} != {}", q.name, *q.usual), {*q.usual, lo, hi, lo + 1, hi + 1, 2, 3},
          [d = *q.usual](std::int64_t v) { return v != d; }, 0);
    if (lo == hi)
      add(
          q, fmt::format("{} == {}", q.name, lo),
          {lo, lo - 1, lo + 1, 2 * lo, lo + 2, 3 * lo, lo / 2, lo - 2, lo + 8, 4 * lo, 1, 2, 3},
          [lo](std::int64_t v) { return v == lo; }, 0);
    if (lo > q.least)
      add(
          q, fmt::format("{} >= {}", q.name, lo), around(lo),
          [lo](std::int64_t v) { return v >= lo; }, 0, true);
    if (hi <= kMaxUpTo && !q.is_param)
      add(
          q, fmt::format("{} <= {}", q.name, hi), around(hi + 1),
          [hi](std::int64_t v) { return v <= hi; }, 1, true);
    for (const std::int64_t step : {2, 4, 8, 16, 32, 64, 128, 3, 5, 6, 7, 10, 12})
      if (!q.is_param || step == 2) add_residue(q, values, step, lo);
  }

  void add_pair(const Quantity& a, const Quantity& b) {
    using Relation = bool (*)(std::int64_t, std::int64_t);
    const std::pair<const char*, Relation> relations[] = {
        {"==", [](std::int64_t x, std::int64_t y) { return x == y; }},
        {"!=", [](std::int64_t x, std::int64_t y) { return x != y; }},
        {">", [](std::int64_t x, std::int64_t y) { return x > y; }},
        {"<", [](std::int64_t x, std::int64_t y) { return x < y; }},
        {">=", [](std::int64_t x, std::int64_t y) { return x >= y; }},
        {"<=", [](std::int64_t x, std::int64_t y) { return x <= y; }}};
    for (const auto& [sign, relation] : relations) {
      const auto holds = [&a, &b, relation = relation](const Case& c) {
        const auto x = a.of(c), y = b.of(c);
        return x && y && relation(*x, *y);
      };
      keep({fmt::format("{} {} {}", a.name, sign, b.name),
            [a, b, relation = relation](const Sample& s) {
              const auto x = a.of(s.of), y = b.of(s.of);
              return x && y && relation(*x, *y);
            },
            [a, b](const Case& c, std::uint64_t k) { return varied(a, b, c, k); }, 1},
           holds);
    }
  }

 private:
  static std::vector<std::int64_t> around(std::int64_t limit) {
    return {limit - 1, limit,         limit + 1,     limit - 2,
            limit + 2, limit / 2,     2 * limit,     limit - 3,
            limit + 3, 2 * limit + 1, limit + 8,     limit / 2 + 1,
            3 * limit, limit * 3 / 4, limit * 3 / 2, 1,
            2};
  }

  void add_residue(const Quantity& q, const std::vector<std::int64_t>& values, std::int64_t step,
                   std::int64_t lo) {
    const auto residue = [step](std::int64_t v) { return (v % step + step) % step; };
    const std::int64_t base = lo - residue(lo);
    const std::vector<std::int64_t> tried = {
        lo,           base + step,     base + step + 1,        base,
        base + 1,     base + 2 * step, base + step + step / 2, base + 3 * step,
        base - 1,     base + step - 1, base + 2 * step + 1,    base + 2 * step - 1,
        base + 2,     base + 4 * step, base + 4 * step + 2,    lo + step,
        lo + 3 * step};
    if (std::ranges::all_of(values, [&](std::int64_t v) { return residue(v) != 0; }))
      add(
          q, fmt::format("{} % {} != 0", q.name, step), tried,
          [residue](std::int64_t v) { return residue(v) != 0; }, 0, true);
    const std::int64_t r = residue(values.front());
    if (step > 2 || r == 0)
      add(
          q, fmt::format("{} % {} == {}", q.name, step, r), tried,
          [residue, r](std::int64_t v) { return residue(v) == r; }, r == 0 ? 0 : 2, true);
  }

  void add(const Quantity& q, std::string text, std::vector<std::int64_t> tried,
           std::function<bool(std::int64_t)> holds, int cost, bool limits = false) {
    std::erase_if(tried, [&](std::int64_t v) { return v < q.least || v > kLargest; });
    const auto holds_for = [&](const Case& c) {
      const auto value = q.of(c);
      return value && holds(*value);
    };
    keep({std::move(text),
          [q, holds](const Sample& s) {
            const auto value = q.of(s.of);
            return value && holds(*value);
          },
          [q, tried](const Case& c, std::uint64_t k) -> std::optional<Case> {
            if (tried.empty()) return std::nullopt;
            return q.with(c, tried[k % tried.size()], k / tried.size());
          },
          q.cost + cost, false, limits ? q.of : nullptr},
         holds_for);
  }

  static std::optional<Case> varied(const Quantity& a, const Quantity& b, const Case& c,
                                    std::uint64_t k) {
    const auto x = a.of(c), y = b.of(c);
    if (!x || !y) return std::nullopt;
    switch (k % 8) {
      case 0:
        return a.with(c, *y, 0);
      case 1:
        return a.with(c, *y + 1, 0);
      case 2:
        return b.with(c, *x + 1, 0);
      case 3:
        return b.with(c, *x, 0);
      case 4:
        return a.with(c, *y + 4, 0);
      case 5:
        return b.with(c, *x + 3, 0);
      case 6:
        return a.with(c, 2 * *y, 0);
      default:
        return b.with(c, 2 * *x, 0);
    }
  }

  template <typename Holds>
  void keep(Predicate p, const Holds& holds) {
    const auto all = [&](const Sample* s) { return holds(s->of); };
    if (std::ranges::all_of(failing_, all) && !std::ranges::all_of(passing_, all))
      all_.push_back(std::move(p));
  }

  std::vector<Predicate>& all_;
  const std::vector<const Sample*>& failing_;
  const std::vector<const Sample*>& passing_;
};

}  // namespace

void add_quantity_predicates(std::vector<Predicate>& all, const Case& smallest,
                             const std::vector<const Sample*>& failing,
                             const std::vector<const Sample*>& passing) {
  Adder adder(all, failing, passing);
  const std::vector<Quantity> sizes = sizes_of(smallest);
  for (const Quantity& q : sizes) adder.add(q);
  for (const ParamDecl& p : smallest.program->params)
    if (p.is_integer) adder.add(of_param(p));
  for (std::size_t a = 0; a < sizes.size(); ++a)
    for (std::size_t b = a + 1; b < sizes.size(); ++b) adder.add_pair(sizes[a], sizes[b]);
  for (const ParamList& list : param_lists(*smallest.program))
    for (std::size_t a = 0; a < list.members.size(); ++a)
      for (std::size_t b = a + 1; b < list.members.size(); ++b) {
        const auto x = find_param(*smallest.program, list.members[a]);
        const auto y = find_param(*smallest.program, list.members[b]);
        const std::vector<ParamDecl>& params = smallest.program->params;
        const ParamDecl& p = params.at(static_cast<std::size_t>(x.value()));
        const ParamDecl& q = params.at(static_cast<std::size_t>(y.value()));
        if (p.is_integer && q.is_integer) adder.add_pair(of_param(p), of_param(q));
      }
  for (const CaseTensor& t : smallest.outputs) adder.add(of_elements(t.name));
}

}  // namespace mote::diagnosis
