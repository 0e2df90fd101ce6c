// SPDX-License-Identifier: Apache-2.0
// Hypotheses with factors and summands that are missing, doubled, or replaced: parameters, sizes,
// 1.
#include <fmt/format.h>

#include <cmath>

#include "diagnosis/hypotheses.h"
#include "mote/base/error.h"

namespace mote::diagnosis {
namespace {

/// A number of a case with its name: "1 - momentum".
struct NamedNumber {
  std::string text;
  std::function<double(const Case&)> of;
};

std::vector<NamedNumber> constants() {
  std::vector<NamedNumber> all;
  for (const double value : {-1.0, 2.0, 0.5})
    all.push_back({fmt::format("{}", value), [value](const Case&) { return value; }});
  return all;
}

std::vector<NamedNumber> of_params(const Observed& o) {
  std::vector<NamedNumber> all;
  for (const ParamDecl& p : o.of.program->params) {
    const auto add = [&](const char* text, auto f) {
      all.push_back({fmt::format(fmt::runtime(text), p.name), [name = p.name, f](const Case& c) {
                       return static_cast<double>(f(c.params.at(name).as_real()));
                     }});
    };
    add("{}", [](double v) { return v; });
    add("1/{}", [](double v) { return 1 / v; });
    if (p.is_integer) continue;
    add("1 - {}", [](double v) { return 1 - v; });
    add("1/(1 - {})", [](double v) { return 1 / (1 - v); });
  }
  return all;
}

std::vector<NamedNumber> of_sizes(const Observed& o) {
  std::vector<NamedNumber> all;
  for (const auto& [symbol, value] : o.of.binding.values) {
    if (symbol.kind() != SymbolKind::size) continue;
    const auto add = [&, symbol = symbol](const char* text, auto f) {
      all.push_back({fmt::format(fmt::runtime(text), symbol.name()), [symbol, f](const Case& c) {
                       return f(static_cast<double>(c.binding.values.at(symbol)));
                     }});
    };
    add("{0}", [](double n) { return n; });
    add("1/{0}", [](double n) { return 1 / n; });
    add("sqrt({0})", [](double n) { return std::sqrt(n); });
    add("1/sqrt({0})", [](double n) { return 1 / std::sqrt(n); });
    add("{0}/({0} - 1)", [](double n) { return n / (n - 1); });
    add("({0} - 1)/{0}", [](double n) { return (n - 1) / n; });
    add("sqrt(({0} - 1)/{0})", [](double n) { return std::sqrt((n - 1) / n); });
  }
  return all;
}

/// The value x * factor + summand as an element of x's dtype; for integers the lowest bits.
Number moved(const Number& x, double factor, double summand) {
  const double value = x.as_real() * factor + summand;
  if (x.is_real()) return Number(value);
  return Number(std::abs(value) < 0x1p62 ? static_cast<std::int64_t>(value) : std::int64_t{0});
}

Dense moved(const Dense& x, double factor, double summand) {
  Dense y(x.dtype(), x.count());
  for (std::int64_t at = 0; at < x.count(); ++at) y.set(at, moved(x.at(at), factor, summand));
  return y;
}

std::optional<std::vector<Dense>> input_moved(const Observed& of, std::size_t input, double factor,
                                              double summand) {
  if (!std::isfinite(factor)) return std::nullopt;
  std::vector<Dense> inputs = copies_of(of.inputs);
  inputs[input] = moved(inputs[input], factor, summand);
  return recompute(of.of, std::move(inputs));
}

std::optional<std::vector<Dense>> outputs_moved(const Observed& of, double factor, double summand) {
  if (!std::isfinite(factor)) return std::nullopt;
  std::vector<Dense> outputs;
  for (const Dense& y : of.expected)
    outputs.push_back(is_real(y.dtype()) || factor == 1 ? moved(y, factor, summand) : copy_of(y));
  return outputs;
}

std::vector<NamedNumber> factors_of(const Observed& o) {
  std::vector<NamedNumber> all = constants();
  for (const auto& more : {of_params(o), of_sizes(o)})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

void add_output_factors(std::vector<Hypothesis>& all, const Observed& o) {
  for (const NamedNumber& q : factors_of(o))
    all.push_back({"constant factor", fmt::format("with the outputs times {}", q.text),
                   [q](const Observed& of) { return outputs_moved(of, q.of(of.of), 0); }});
}

void add_input_factors(std::vector<Hypothesis>& all, const Observed& o) {
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k) {
    if (o.of.inputs[k].dtype == DType::boolean) continue;
    for (const NamedNumber& q : factors_of(o))
      all.push_back({"constant factor",
                     fmt::format("with {} times {}", o.of.inputs[k].name, q.text),
                     [q, k](const Observed& of) { return input_moved(of, k, q.of(of.of), 0); }});
  }
}

void add_summands(std::vector<Hypothesis>& all, const Observed& o) {
  for (const double summand : {1.0, -1.0}) {
    const std::string text = fmt::format("{} 1", summand > 0 ? "plus" : "minus");
    all.push_back({"off by one", fmt::format("with the outputs {}", text),
                   [=](const Observed& of) { return outputs_moved(of, 1, summand); }});
    for (std::size_t k = 0; k < o.of.inputs.size(); ++k)
      all.push_back({"off by one", fmt::format("with {} {}", o.of.inputs[k].name, text),
                     [=](const Observed& of) { return input_moved(of, k, 1, summand); }});
  }
}

std::optional<std::vector<Dense>> with_value(const Observed& of, const ParamDecl& p, double value) {
  if (!std::isfinite(value) || std::abs(value) > 0x1p31) return std::nullopt;
  return with_params(
      of, {{p.name, p.is_integer ? Number(static_cast<std::int64_t>(value)) : Number(value)}});
}

void add_other_values(std::vector<Hypothesis>& all, const Observed& o, const ParamDecl& p) {
  const auto add = [&](const std::string& text, std::function<double(const Case&, double)> f) {
    all.push_back({"another parameter value", fmt::format("with {} as {}", text, p.name),
                   [p, f = std::move(f)](const Observed& of) {
                     return with_value(of, p, f(of.of, of.of.params.at(p.name).as_real()));
                   }});
  };
  for (const double value : {0.0, 1.0})
    add(fmt::format("{}", value), [value](const Case&, double) { return value; });
  const auto own = [&](const char* text, auto f) {
    add(fmt::format(fmt::runtime(text), p.name), [f](const Case&, double v) { return f(v); });
  };
  own("-{}", [](double v) { return -v; });
  own("|{}|", [](double v) { return std::abs(v); });
  if (p.is_integer) {
    own("{} + 1", [](double v) { return v + 1; });
    own("{} - 1", [](double v) { return v - 1; });
    return;
  }
  own("1 - {}", [](double v) { return 1 - v; });
  own("1/{}", [](double v) { return 1 / v; });
  own("2 {}", [](double v) { return 2 * v; });
  own("{}/2", [](double v) { return v / 2; });
  own("sqrt({})", [](double v) { return std::sqrt(v); });
  own("{}^2", [](double v) { return v * v; });
  for (const NamedNumber& q : of_params(o))
    add(fmt::format("{} times {}", p.name, q.text),
        [q](const Case& c, double v) { return v * q.of(c); });
}

/// Adds one parameter in place of another, within families of parameters and across them.
void add_exchanges(std::vector<Hypothesis>& all, const Observed& o) {
  const std::vector<ParamDecl>& params = o.of.program->params;
  for (const ParamDecl& a : params)
    for (const ParamDecl& b : params) {
      if (a.name == b.name || a.is_integer != b.is_integer) continue;
      if (a.name < b.name)
        all.push_back({"another parameter value",
                       fmt::format("with {} and {} exchanged", a.name, b.name),
                       [a = a.name, b = b.name](const Observed& of) {
                         const auto& p = of.of.params;
                         return with_params(of, {{a, p.at(b)}, {b, p.at(a)}});
                       }});
      all.push_back({"another parameter value",
                     fmt::format("with {} in place of {}", b.name, a.name),
                     [a = a.name, b = b.name](const Observed& of) {
                       return with_params(of, {{a, of.of.params.at(b)}});
                     }});
    }
}

}  // namespace

std::vector<Hypothesis> quantity_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  add_output_factors(all, o);
  add_exchanges(all, o);
  for (const ParamDecl& p : o.of.program->params) add_other_values(all, o, p);
  add_input_factors(all, o);
  add_summands(all, o);
  return all;
}

}  // namespace mote::diagnosis
