// SPDX-License-Identifier: Apache-2.0
// Tests the bound on the list of other formulas: none is refused on any data, infinities and NaN
// included; with one of their factors in tf32 each is refused on some data.
#include "gradient_variants.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "judge.h"
#include "mote/macroops/catalogue.h"
#include "mote/uops/evaluate.h"

namespace mote::test {
namespace {

/// A gradient of the catalogue with all its inputs.
struct Subject {
  Program program, bound;
  /// Accepts elements that `bound` refuses on data that are not finite, as `mote check` does.
  std::optional<Program> open;
  std::map<std::string, Number> params;
};
Contract contract_for(const OpRecord& record, bool open_infinities) {
  Contract c;
  c.open_infinities = open_infinities;
  c.rounded_inputs = {record.given_outputs.begin(), record.given_outputs.end()};
  return c;
}
Subject subject_of(const GradientVariants& v, DType dtype = DType::f32) {
  const OpRecord& record = find_op(v.op);
  Subject s{*instantiate(record, {dtype, full_mask(record)}), {}, {}, v.params};
  for (const ParamDecl& d : s.program.params) {
    const double given = d.default_value.value_or(1);
    s.params.try_emplace(d.name,
                         d.is_integer ? Number(static_cast<std::int64_t>(given)) : Number(given));
  }
  s.bound = bound(s.program, contract_for(record, false));
  if (gradient_order(record) > 0) s.open = bound(s.program, contract_for(record, true));
  return s;
}

std::int64_t size_named(const GradientVariants& v, const std::string& name,
                        const GradientProblem& p) {
  std::int64_t size = 1;
  if (name == "R" || name == "K") size = kRows;
  if (name == "N" || name == "L") size = kColumns;
  if (const auto given = v.sizes.find(name); given != v.sizes.end()) size = given->second;
  return size == kRows          ? p.rows
         : size == kColumns     ? p.columns
         : size == kHalfColumns ? (p.columns + 1) / 2
                                : size;
}

/// One set of data and its bound.
struct Judging {
  GradientProblem problem;
  std::vector<Array> inputs;
  std::vector<Array> reference;
  Bounds bounds;
  std::optional<Bounds> open;
  bool finite = true;
};

/// Removes extreme values: the associations of a product overflow or underflow at different values,
/// which is not compared here.
float without_extremes(float x) {
  if (std::fabs(x) > 1e30F && std::isfinite(x)) return std::copysign(2.0F, x);
  if (std::fabs(x) < 1e-30F && x != 0) return std::copysign(0.5F, x);
  return x;
}

Judging judging(const GradientVariants& v, const Subject& s, std::int64_t columns, Data data,
                std::uint64_t seed) {
  Judging j;
  j.problem = {3, columns, {}};
  std::map<Symbol, std::int64_t> values;
  for (const SizeRule& r : s.program.size_rules)
    values[r.size] = size_named(v, r.size.name(), j.problem);
  for (const ParamDecl& d : s.program.params)
    if (d.is_integer) values[Symbol(SymbolKind::param, d.name)] = s.params.at(d.name).integer();
  const std::size_t hot = seed % s.program.inputs.size();
  for (const Uop& u : s.program.inputs) {
    Array a{u.dtype(), {}, {}};
    for (const Expr& e : u.shape()) a.shape.push_back(evaluate(e, values));
    // Only one of the inputs is one-hot, so that its element shows.
    const bool plain = data == Data::onehot && j.inputs.size() != hot;
    const std::int64_t count = element_count(a.shape);
    if (is_real(a.dtype))
      a.values = draw(plain ? Data::uniform : data, a.dtype, count, seed + j.inputs.size());
    for (std::int64_t k = std::ssize(a.values); k < count; ++k)
      a.values.emplace_back((k * 5 + 1) % columns);  // the index of a class
    Floats& floats = j.problem.inputs.emplace_back();
    for (const Number& n : a.values)
      floats.push_back(without_extremes(static_cast<float>(n.as_real())));
    j.inputs.push_back(std::move(a));
  }
  if (v.prepare) v.prepare(j.problem);
  for (std::size_t k = 0; k < j.inputs.size(); ++k)
    for (std::size_t at = 0; at < j.inputs[k].values.size(); ++at) {
      float& x = j.problem.inputs[k][at];
      if (!is_real(j.inputs[k].dtype)) continue;
      const Number stored = store_as(static_cast<double>(x), j.inputs[k].dtype);
      j.inputs[k].values[at] = stored;
      x = static_cast<float>(stored.real());
      j.finite = j.finite && std::isfinite(x);
    }
  j.reference = evaluate(s.program, j.inputs, s.params);
  j.bounds = bounds_of(s.bound, j.inputs, s.params);
  if (!j.finite && s.open) j.open = bounds_of(*s.open, j.inputs, s.params);
  return j;
}

Array element_of(const Array& a, std::size_t at) { return {a.dtype, {1}, {a.values[at]}}; }

/// Returns the inputs of the refused element: one element of each input as large as the output, and
/// all of the small inputs.
std::string inputs_at(const Judging& j, std::size_t at, std::size_t size) {
  std::string text;
  for (const Array& a : j.inputs) {
    text += text.empty() ? "" : "; ";
    if (a.values.size() == size && size > 12) {
      text += fmt::format("{}", a.values[at].real());
      continue;
    }
    for (std::size_t k = 0; k < std::min<std::size_t>(a.values.size(), 12); ++k)
      text += fmt::format("{}{}", k == 0 ? "" : " ", a.values[k].as_real());
    if (a.values.size() > 12) text += " …";
  }
  return text;
}

/// The refusals of one variant's output.
struct Refusals {
  std::int64_t elements = 0, indeterminate = 0, refused = 0;
  std::string first;
};

/// Judges one element of output k by these bounds.
Verdicts verdict_at(const Bounds& bounds, const Array& y, const Array& reference, std::size_t k,
                    std::size_t at) {
  return judge({{element_of(bounds.ends[2 * k], at), element_of(bounds.ends[2 * k + 1], at)}},
               {element_of(y, at)}, {element_of(reference, at)});
}

Refusals refusals_of(const Subject& s, const Judging& j, const GradientVariant& variant) {
  const auto& outputs = s.program.outputs;
  const auto named = std::ranges::find(outputs, variant.output, &Output::name);
  if (named == outputs.end()) {
    ADD_FAILURE() << s.program.name << " has no output " << variant.output;
    return {};
  }
  const auto k = static_cast<std::size_t>(named - outputs.begin());
  const Array& reference = j.reference[k];
  Array y{reference.dtype, reference.shape, {}};
  for (const float e : variant.run(j.problem))
    y.values.push_back(store_as(static_cast<double>(e), y.dtype));
  EXPECT_EQ(y.values.size(), reference.values.size()) << s.program.name << " " << variant.name;
  const Verdicts all = judge({{j.bounds.ends[2 * k], j.bounds.ends[2 * k + 1]}}, {y}, {reference});
  Refusals r{all.elements, all.indeterminate, 0, {}};
  for (std::size_t at = 0; at < y.values.size() && all.refused > 0; ++at) {
    const Verdicts one = verdict_at(j.bounds, y, reference, k, at);
    if (one.refused == 0 || (j.open && verdict_at(*j.open, y, reference, k, at).refused == 0))
      continue;
    if (r.refused++ == 0)
      r.first = fmt::format("[{}] of {}: {}", at, inputs_at(j, at, y.values.size()), one.first);
  }
  return r;
}

/// True if the variant makes NaN of infinities; Kahan's sum has inf - inf in its correction.
bool loses_infinities(const GradientVariant& v) {
  return v.finite_only || v.name.ends_with("kahan");
}

struct VariantCounts {
  std::int64_t runs = 0, elements = 0, indeterminate = 0, refused_runs = 0;
};

void run_variants(const GradientVariants& v, DType dtype, bool finite, VariantCounts& counts) {
  const Subject s = subject_of(v, dtype);
  std::map<std::string, int> refusals;
  for (const std::int64_t n : {1, 2, 7, 16, 64}) {
    if (n > (finite && dtype == DType::f32 ? v.most_columns : 16)) continue;
    for (int kind = 0; kind < kDataKinds; ++kind) {
      const auto seed = static_cast<std::uint64_t>(n * 31 + kind);
      const Judging j = judging(v, s, n, static_cast<Data>(kind), seed);
      if (j.finite != finite) continue;
      for (const GradientVariant& variant : v.correct) {
        if (!finite && loses_infinities(variant)) continue;
        const Refusals r = refusals_of(s, j, variant);
        ++counts.runs;
        counts.elements += r.elements;
        counts.indeterminate += r.indeterminate;
        if (r.refused == 0) continue;
        ++counts.refused_runs;
        if (refusals[variant.output + variant.name]++ > 0) continue;
        ADD_FAILURE() << s.program.name << " " << name(dtype) << " " << variant.output << ": "
                      << variant.name << ", n " << n << ", data " << kind << "\n  " << r.refused
                      << " of " << r.elements << ", first " << r.first;
      }
    }
  }
}

std::vector<GradientVariants> all_gradients() {
  std::vector<GradientVariants> all;
  for (auto part : {activation_gradients, elementwise_gradients, row_gradients, norm_gradients,
                    linear_gradients, attention_gradients})
    for (GradientVariants& v : part()) all.push_back(std::move(v));
  return all;
}

void expect_accepted(bool finite, const char* what) {
  VariantCounts counts;
  std::int64_t ops = 0;
  for (const GradientVariants& v : all_gradients()) {
    run_variants(v, DType::f32, finite, counts);
    ++ops;
  }
  fmt::print("{}: {} lists, {} runs of {} elements, {} indeterminate, {} runs refused\n", what, ops,
             counts.runs, counts.elements, counts.indeterminate, counts.refused_runs);
  EXPECT_LE(10 * counts.indeterminate, 3 * counts.elements);
}

TEST(GradientVariants, AreAcceptedOnFiniteData) { expect_accepted(true, "finite"); }

/// The variants compute in float and store 16 bits.
TEST(GradientVariants, AreAcceptedWhereTensorsAreOf16Bits) {
  VariantCounts counts;
  for (const GradientVariants& v : all_gradients())
    for (const DType dtype : find_op(v.op).dtypes)
      if (dtype == DType::f16 || dtype == DType::bf16)
        for (const bool finite : {true, false}) run_variants(v, dtype, finite, counts);
  fmt::print("16 bits: {} runs of {} elements, {} indeterminate\n", counts.runs, counts.elements,
             counts.indeterminate);
  EXPECT_GT(counts.runs, 0);
}

/// Returns the number of refused runs of the first variant of that output, with input k in tf32.
int refusals_in_tf32(const GradientVariants& v, const Subject& s, const std::string& output) {
  const auto first = std::ranges::find(v.correct, output, &GradientVariant::output);
  int refused = 0;
  for (int kind = 0; kind < kDataKinds - 1; ++kind) {
    Judging j = judging(v, s, 7, static_cast<Data>(kind), static_cast<std::uint64_t>(kind));
    for (Floats& input : j.problem.inputs)
      for (float& x : input) x = tf32_of(x);
    refused += refusals_of(s, j, *first).refused > 0 ? 1 : 0;
  }
  return refused;
}

TEST(GradientVariants, WithInputsInTf32EachIsRefused) {
  for (const GradientVariants& v : all_gradients()) {
    const Subject s = subject_of(v);
    std::set<std::string> outputs;
    for (const GradientVariant& variant : v.correct) {
      if (!outputs.insert(variant.output).second) continue;
      EXPECT_GT(refusals_in_tf32(v, s, variant.output), 0) << v.op << " " << variant.output;
    }
  }
}

TEST(GradientVariants, AreAcceptedOnInfinitiesAndNaN) { expect_accepted(false, "special"); }

}  // namespace
}  // namespace mote::test
