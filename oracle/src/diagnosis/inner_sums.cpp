// SPDX-License-Identifier: Apache-2.0
// Tests sums inside an op that are kept in fewer bits: it computes the terms, sums them as a kernel
// may have, and evaluates the rest of the program from there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "blocks/evaluate.h"
#include "diagnosis/hypotheses.h"
#include "diagnosis/said.h"
#include "mote/base/error.h"

namespace mote::diagnosis {
namespace {

constexpr std::int64_t kMaxInnerTerms = std::int64_t{1} << 18;  ///< of all sums of a node

/// A method by which a kernel may add up terms.
struct Accumulator {
  std::string name;
  std::function<double(double)> keep;  ///< the stored value of a sum
  std::function<double(double)> term;  ///< the stored value of a term before it is added
  bool pairs = false;                  ///< two terms are added, kept, and then added in full
  /// The range [begin, end) of the terms that are added, by their number; empty: all are.
  std::function<std::pair<std::size_t, std::size_t>(std::size_t)> part = {};
};

double stored(double value, DType dtype) { return store_as(Number(value), dtype).as_real(); }

std::vector<Accumulator> accumulators(DType dtype) {
  const auto same = [](double v) { return v; };
  const auto in = [](DType t) { return [t](double v) { return stored(v, t); }; };
  const auto saturated = [](double v) { return std::clamp(v, -32768.0, 32767.0); };
  const auto wrapped = [](double v) {
    return static_cast<double>(static_cast<std::int32_t>(static_cast<std::int64_t>(v)));
  };
  std::vector<Accumulator> all;
  if (is_real(dtype)) {
    std::vector<DType> narrow;
    std::ranges::copy_if(kShortReals, std::back_inserter(narrow), is_narrow);
    for (const DType t : narrow) all.push_back({std::string(name(t)), in(t), same});
    for (const DType t : narrow)
      all.push_back({fmt::format("{0}, of terms in {0}", name(t)), in(t), in(t)});
    for (const DType t : narrow)
      all.push_back({fmt::format("full, of terms in {}", name(t)), same, in(t)});
    if (dtype == DType::f64) all.push_back({"f32", in(DType::f32), same});
    return all;
  }
  return {{"16 bits that saturate", saturated, same},
          {"16 bits that saturate, in pairs of terms", saturated, same, true},
          {"16 bits that saturate, of terms that do", saturated, saturated},
          {"16 bits that wrap",
           [](double v) {
             return static_cast<double>(static_cast<std::int16_t>(static_cast<std::int64_t>(v)));
           },
           same},
          {"32 bits that wrap", wrapped, same},
          {"a float", in(DType::f32), same}};
}

/// Sums without some of the terms.
std::vector<Accumulator> partial_sums() {
  const auto same = [](double v) { return v; };
  std::vector<Accumulator> all;
  for (const std::size_t step : {4U, 8U, 16U, 2U, 32U, 64U})
    all.push_back({"", same, same, false,
                   [step](std::size_t n) { return std::pair(std::size_t{0}, n - n % step); }});
  all.push_back({"", same, same, false, [](std::size_t n) {
                   return std::pair(std::size_t{0}, n - std::min<std::size_t>(n, 1));
                 }});
  all.push_back({"", same, same, false,
                 [](std::size_t n) { return std::pair(std::min<std::size_t>(n, 1), n); }});
  return all;
}

double add_up(const std::vector<double>& terms, const Accumulator& how) {
  double sum = 0, pair = 0;
  const auto [from, to] =
      how.part ? how.part(terms.size()) : std::pair(std::size_t{0}, terms.size());
  for (std::size_t k = from; k < to; ++k) {
    const double term = how.term(terms[k]);
    if (!how.pairs) {
      sum = how.keep(sum + term);
      continue;
    }
    pair += term;
    if (k % 2 == 0 && k + 1 < terms.size()) continue;
    sum += how.keep(std::exchange(pair, 0));
  }
  return sum;
}

/// A sum of a program, the program of its terms, and the program that takes their sums.
struct InnerSum {
  std::string text;
  std::vector<int> axes;
  std::vector<Expr> shape;  ///< the shape of the terms
  std::shared_ptr<const Program> terms, rest;
  DType dtype = DType::f32;  ///< the dtype of the sum
};

/// The size that is summed over, or n if it is not one of the op's.
std::string terms_of(const InnerSum& sum) {
  if (sum.axes.size() != 1) return "n";
  const auto size = sum.shape[static_cast<std::size_t>(sum.axes[0])].as_symbol();
  return size ? size->name() : "n";
}

std::shared_ptr<const Program> with_value_given(const Program& program, const Uop& node,
                                                const std::vector<Uop>& nodes) {
  auto rest = std::make_shared<Program>(program);
  const DType wide = is_real(node.dtype()) ? DType::f64 : DType::i64;
  const Uop given = input("terms_summed", wide, shape_of(node));
  rest->inputs.push_back(given);
  std::map<const UopNode*, Uop> now;
  for (const Uop& u : nodes) {
    const std::vector<Uop> args = operands(u);
    std::vector<Uop> changed;
    for (const Uop& arg : args) changed.push_back(now.at(arg.id()));
    const bool same = std::ranges::equal(args, changed, {}, &Uop::id, &Uop::id);
    now.emplace(u.id(), u.id() == node.id() ? cast(given, node.dtype())
                        : same              ? u
                                            : with_operands(u, changed));
  }
  for (Output& o : rest->outputs) o.value = now.at(o.value.id());
  return rest;
}

std::vector<InnerSum> inner_sums(const Program& program) {
  const std::vector<Uop> roots = mote::roots(program);
  const std::vector<Uop> nodes = topological(roots);
  std::vector<InnerSum> all;
  for (const Uop& u : nodes) {
    const auto* r = std::get_if<uop::Reduce>(&u.node().kind);
    if (r == nullptr || r->op != ReduceOp::sum || u.dtype() == DType::boolean) continue;
    try {
      auto terms = std::make_shared<Program>(program);
      terms->outputs = {{"terms", cast(r->x, is_real(u.dtype()) ? DType::f64 : DType::i64)}};
      all.push_back({said(u), r->axes, r->x.shape(), std::move(terms),
                     with_value_given(program, u, nodes), u.dtype()});
    } catch (const Error&) {
      continue;
    }
  }
  return all;
}

std::vector<std::int64_t> extents(const std::vector<Expr>& shape, const Case& c) {
  std::vector<std::int64_t> all;
  for (const Expr& e : shape) all.push_back(evaluate(e, c.binding.values));
  return all;
}

/// The terms of each sum, in row-major order, by the row-major position of the sum.
std::vector<std::vector<double>> terms_of(const InnerSum& sum, const Observed& of) {
  const std::vector<std::int64_t> shape = extents(sum.shape, of.of);
  std::vector<Dense> values;
  values.emplace_back(is_real(sum.dtype) ? DType::f64 : DType::i64, volume(shape));
  blocks::Evaluator(sum.terms, blocks::Way::plain).run(of.of, of.inputs, values);
  std::vector<std::int64_t> kept = shape;
  for (const int axis : sum.axes) kept[static_cast<std::size_t>(axis)] = 1;
  const std::vector<std::int64_t> strides = place(kept, {}).strides;
  std::vector<std::int64_t> to = strides;
  for (const int axis : sum.axes) to[static_cast<std::size_t>(axis)] = 0;
  std::vector<std::vector<double>> terms(static_cast<std::size_t>(volume(kept)));
  for_each_element(shape, to, [&](std::int64_t linear, std::int64_t at) {
    terms[static_cast<std::size_t>(at)].push_back(values[0].at(linear).as_real());
  });
  return terms;
}

std::optional<std::vector<Dense>> summed(const InnerSum& sum, const Accumulator& how,
                                         const Observed& of) {
  if (volume(extents(sum.shape, of.of)) > kMaxInnerTerms) return std::nullopt;
  const auto terms = terms_of(sum, of);
  Case c = of.of;
  std::vector<std::int64_t> shape;
  const std::vector<std::int64_t> all = extents(sum.shape, of.of);
  for (std::size_t axis = 0; axis < all.size(); ++axis)
    if (std::ranges::find(sum.axes, static_cast<int>(axis)) == sum.axes.end())
      shape.push_back(all[axis]);
  const DType wide = is_real(sum.dtype) ? DType::f64 : DType::i64;
  c.inputs.push_back({.name = "terms_summed", .dtype = wide, .shape = shape, .layout = {}});
  c.binding.inputs.push_back(shape);
  std::vector<Dense> inputs = copies_of(of.inputs);
  inputs.emplace_back(wide, volume(shape));
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const double total = add_up(terms[k], how);
    inputs.back().set(static_cast<std::int64_t>(k),
                      is_real(wide) ? Number(total) : Number(static_cast<std::int64_t>(total)));
  }
  std::vector<Dense> outputs;
  for (const Dense& y : of.expected) outputs.emplace_back(y.dtype(), y.count());
  blocks::Evaluator(sum.rest, blocks::Way::plain).run(c, inputs, outputs);
  return outputs;
}

}  // namespace

std::vector<Hypothesis> inner_sum_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  for (const InnerSum& sum : inner_sums(*o.of.program)) {
    const auto add = [&](const char* kind, std::string text, const Accumulator& how) {
      all.push_back({kind, std::move(text),
                     [sum, how](const Observed& of) -> std::optional<std::vector<Dense>> {
                       try {
                         return summed(sum, how, of);
                       } catch (const Error&) {  // an index divides by 0
                         return std::nullopt;
                       }
                     }});
    };
    for (const Accumulator& how : accumulators(sum.dtype))
      add("narrow accumulator", fmt::format("with {} kept in {}", sum.text, how.name), how);
    const std::vector<Accumulator> partial = partial_sums();
    const char* left_out[] = {"% 4", "% 8", "% 16", "% 2", "% 32", "% 64", "the last", "the first"};
    for (std::size_t k = 0; k < partial.size(); ++k)
      add("missing term",
          k < 6 ? fmt::format("without the last {0} {1} of the {0} terms of {2}", terms_of(sum),
                              left_out[k], sum.text)
                : fmt::format("without {} term of {}", left_out[k], sum.text),
          partial[k]);
  }
  return all;
}

}  // namespace mote::diagnosis
