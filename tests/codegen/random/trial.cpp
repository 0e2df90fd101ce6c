// SPDX-License-Identifier: Apache-2.0
// Draws sizes, parameters and data of trials from a seed, and writes and reads their text.
#include "trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>

#include "mote/base/error.h"

namespace mote::test {
namespace {

constexpr std::array kFillNames = {"integers", "reals", "special", "units", "infinities"};

double some_real(Rng& rng, Fill fill) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (fill == Fill::integers) return rng.below(9) - 4;
  if (fill == Fill::units || fill == Fill::infinities) return rng.below(3) - 1;
  if (fill == Fill::special && rng.chance(25)) return rng.pick({kNan, kInf, -kInf, -0.0, 0.0});
  const double magnitude = rng.chance(20) ? rng.pick({1e-3, 1e6, 1e30}) : 1.0;
  return (rng.unit() * 4 - 2) * magnitude;
}

Number some_element(Rng& rng, DType dtype, Fill fill) {
  if (is_real(dtype)) return store_as(Number(some_real(rng, fill)), dtype);
  if (dtype == DType::boolean) return Number(rng.below(2));
  if (fill == Fill::units || fill == Fill::infinities)
    return store_as(Number(rng.below(3) - 1), dtype);
  if (fill != Fill::integers && rng.chance(5))
    return store_as(Number(static_cast<std::int64_t>(rng.next())), dtype);
  return store_as(Number(rng.below(9) - 2), dtype);
}

constexpr int kPercentOfRepeated = 10;

void make_some_infinite(Array& a, Rng& rng) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (a.values.empty()) return;
  for (int count = 1 + rng.below(3); count > 0; --count)
    a.values[static_cast<std::size_t>(rng.below(static_cast<int>(a.values.size())))] =
        Number(rng.pick({kInf, -kInf, kNan}));
}

/// Gives all elements along the axis the value of the first.
void repeat_along(Array& a, std::size_t axis) {
  std::size_t step = 1;
  for (std::size_t k = axis + 1; k < a.shape.size(); ++k)
    step *= static_cast<std::size_t>(a.shape[k]);
  const auto extent = static_cast<std::size_t>(a.shape[axis]);
  for (std::size_t k = 0; k < a.values.size(); ++k)
    a.values[k] = a.values[k - k / step % extent * step];
}

/// True if the size of this axis, which may be 1, is known from the axis alone.
bool gives_size(const Program& p, int input, int axis) {
  for (const SizeRule& rule : p.size_rules)
    if (!rule.candidates.empty() && rule.candidates.front() == std::pair(input, axis)) return true;
  return false;
}

std::string number_text(const Number& n) {
  return n.is_real() ? fmt::format("{:a}", n.real()) : std::to_string(n.integer());
}

}  // namespace

std::map<Symbol, std::int64_t> values_of(const Trial& t) {
  std::map<Symbol, std::int64_t> values;
  for (const auto& [name, size] : t.sizes) values.emplace(Symbol(SymbolKind::size, name), size);
  for (const auto& [name, value] : t.params)
    if (!value.is_real()) values.emplace(Symbol(SymbolKind::param, name), value.integer());
  return values;
}

bool meets_constraints(const Program& p, const Trial& t) {
  const std::map<Symbol, std::int64_t> values = values_of(t);
  return std::ranges::all_of(p.constraints, [&](const Constraint& c) {
    return evaluate(c.left, values) == evaluate(c.right, values);
  });
}

std::map<std::string, Number> some_params(const Program& p, Rng& rng) {
  std::map<std::string, Number> params;
  for (const ParamDecl& param : p.params) {
    if (param.is_integer) {
      const auto low = static_cast<int>(param.lower.value_or(0));
      const auto high = static_cast<int>(param.upper.value_or(low + 3));
      params.emplace(param.name, Number(low + rng.below(high - low + 1)));
    } else {
      params.emplace(param.name, Number(rng.pick({0.5, 1e-5, -1.0, 0.1})));
    }
  }
  return params;
}

std::vector<Trial> make_trials(const Program& p, std::uint64_t seed, int count) {
  Rng rng(seed ^ 0x5eed5eed5eedU);
  std::vector<Trial> trials;
  for (int k = 0; k < count; ++k) {
    Trial t;
    std::vector<std::int64_t> distinct = {2, 3, 5};
    rng.shuffle(distinct);
    for (const SizeRule& rule : p.size_rules) {
      const std::string& name = rule.size.name();
      std::int64_t size = name == "C" ? rng.pick({1, 2, 3, 5}) : rng.pick({0, 1, 2, 3, 5});
      if (k == 0 && !distinct.empty()) {
        size = distinct.back();
        distinct.pop_back();
      }
      t.sizes.emplace(name, size);
    }
    t.params = some_params(p, rng);
    // A drawn program demands no more than that two names of one size be equal.
    if (!meets_constraints(p, t))
      for (auto& [name, size] : t.sizes) size = 2;
    t.seed = rng.next() % 1000000;
    t.fill = k == 0 ? Fill::reals : rng.pick({Fill::integers, Fill::special, Fill::reals});
    trials.push_back(std::move(t));
  }
  return trials;
}

std::vector<Array> make_inputs(const Program& p, const Trial& t) {
  const std::map<Symbol, std::int64_t> values = values_of(t);
  std::vector<Array> inputs;
  for (int tensor = 0; tensor < static_cast<int>(p.inputs.size()); ++tensor) {
    const Uop& u = p.inputs[static_cast<std::size_t>(tensor)];
    Rng rng((t.seed + 1) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(tensor));
    Array a{u.dtype(), {}, {}};
    for (std::size_t k = 0; k < u.shape().size(); ++k) {
      const bool repeats = std::get<uop::Input>(u.node().kind).broadcast[k] && rng.chance(50) &&
                           !gives_size(p, tensor, static_cast<int>(k));
      a.shape.push_back(repeats ? 1 : evaluate(u.shape()[k], values));
    }
    const std::int64_t count = element_count(a.shape);
    for (std::int64_t k = 0; k < count; ++k) a.values.push_back(some_element(rng, a.dtype, t.fill));
    if (t.fill == Fill::infinities && is_real(a.dtype)) make_some_infinite(a, rng);
    Rng repeating(t.seed * 31 + static_cast<std::uint64_t>(tensor));
    if (!a.shape.empty() && repeating.chance(kPercentOfRepeated))
      repeat_along(a, static_cast<std::size_t>(repeating.below(static_cast<int>(a.shape.size()))));
    inputs.push_back(std::move(a));
  }
  return inputs;
}

std::string to_string(const Trial& t) {
  std::string text = "sizes";
  for (const auto& [name, size] : t.sizes) text += fmt::format(" {}={}", name, size);
  text += " params";
  for (const auto& [name, value] : t.params)
    text += fmt::format(" {}={}", name, number_text(value));
  return text +
         fmt::format(" fill={} seed={}", kFillNames[static_cast<std::size_t>(t.fill)], t.seed);
}

Trial parse_trial(const std::string& text) {
  Trial t;
  std::istringstream words(text);
  bool params = false;
  for (std::string word; words >> word;) {
    if (word == "sizes" || word == "params") {
      params = word == "params";
      continue;
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) throw Error("trial: expected name=value, got '" + word + "'");
    const std::string name = word.substr(0, equals);
    const std::string value = word.substr(equals + 1);
    if (name == "seed") {
      t.seed = std::stoull(value);
    } else if (name == "fill") {
      std::size_t k = 0;
      while (k < kFillNames.size() && value != kFillNames[k]) ++k;
      if (k == kFillNames.size()) throw Error("trial: unknown fill '" + value + "'");
      t.fill = static_cast<Fill>(k);
    } else if (params && value.find_first_of("px.naN") != std::string::npos) {
      t.params[name] = Number(std::strtod(value.c_str(), nullptr));
    } else if (params) {
      t.params[name] = Number(static_cast<std::int64_t>(std::stoll(value)));
    } else {
      t.sizes[name] = std::stoll(value);
    }
  }
  return t;
}

}  // namespace mote::test
