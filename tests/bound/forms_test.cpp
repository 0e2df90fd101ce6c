// SPDX-License-Identifier: Apache-2.0
// Tests forms: each equals its op in exact arithmetic. A correct kernel of a form is never refused
// by the form's bound, and by the op's own bound only as expected; a defective one is refused by
// both.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "cases.h"
#include "ground_truth.h"
#include "mote/base/error.h"
#include "perturbed.h"
#include "winograd_kernel.h"

namespace mote::test {
namespace {

/// Draws a case that the form applies to; for a Winograd form, 3 x 3 kernels over images of any
/// size.
std::optional<Case> form_case(const OpRecord& record, const std::string& form, std::int64_t round) {
  if (!form.starts_with("winograd")) return draw_case(record, DType::f32, round);
  std::mt19937_64 engine(static_cast<std::uint64_t>(round) + 17);
  const auto upto = [&](int n) { return static_cast<int>(engine() % std::uint64_t(n)); };
  const int groups = 1 + upto(2), channels = 1 + upto(3), outputs = 1 + upto(2);
  const int h = 3 + upto(6), w = 3 + upto(6);
  return parse_case(
      fmt::format("conv2d x=f32[{},{},{},{}] w=f32[{},{},3,3]{} pads={},{},{},{} groups={}",
                  1 + upto(2), groups * channels, h, w, groups * outputs, channels,
                  round % 2 == 0 ? fmt::format(" b=f32[{}]", groups * outputs) : "", upto(3),
                  upto(3), upto(3), upto(3), groups));
}

std::map<std::string, Number> params_of(const Program& p, const Case& c) {
  std::map<std::string, Number> params;
  for (const ParamDecl& d : p.params)
    if (const auto at = c.params.find(d.name); at != c.params.end()) params.insert(*at);
  return params;
}

/// Calls f for cases of every form of every op that $MOTE_OP selects.
void for_each_form(int rounds, const std::function<void(const OpRecord&, const Form&, const Case&,
                                                        const Program& form, int round)>& f) {
  for (const OpRecord& record : catalogue()) {
    if (!is_wanted(record.name)) continue;
    for (const Form& form : record.forms)
      for (int round = 0; round < rounds; ++round)
        if (const auto c = form_case(record, form.name, round))
          f(record, form, *c, *instantiate(record, c->instance, form.name), round);
  }
}

TEST(BoundForms, EqualTheOpInExactArithmetic) {
  std::map<std::string, int> compared;
  for_each_form(12, [&](const OpRecord& record, const Form& form, const Case& c, const Program& p,
                        int round) {
    const auto kind = static_cast<Data>(round % (kDataKinds - 1));  // a kind with finite data
    const std::vector<Array> inputs = draw_inputs(c, kind, static_cast<std::uint64_t>(round) + 5);
    const auto op = ground_truth(*c.program, inputs, c.params);
    const auto other = ground_truth(p, inputs, params_of(p, c));
    ASSERT_EQ(op.size(), other.size());
    for (std::size_t k = 0; k < op.size(); ++k) {
      ASSERT_EQ(op[k].shape, other[k].shape);
      for (std::size_t at = 0; at < op[k].elements.size(); ++at) {
        const auto &a = std::get<mpfr::mpreal>(op[k].elements[at]),
                   &b = std::get<mpfr::mpreal>(other[k].elements[at]);
        ++compared[record.name + " " + form.name];
        // Data are below 2^40 and tests small, so that the error of 320 bits is far below 2^-150.
        if ((mpfr::isnan(a) && mpfr::isnan(b)) || a == b ||
            abs(a - b) < ldexp(mpfr::mpreal(1), -150))
          continue;
        ADD_FAILURE() << record.name << " " << form.name << ": " << to_string(c) << "\n  output "
                      << k << " [" << at << "]: " << b.toString(20) << ", the op has "
                      << a.toString(20);
        return;
      }
    }
  });
  for (const auto& [what, count] : compared) EXPECT_GT(count, 20) << what;
}

TEST(BoundForms, NoCorrectImplementationIsRefused) {
  std::int64_t runs = 0;
  for_each_form(kDataKinds, [&](const OpRecord& record, const Form& form, const Case& c,
                                const Program& p, int round) {
    const auto seed = static_cast<std::uint64_t>(round);
    const std::vector<Array> inputs =
        draw_inputs(c, static_cast<Data>(round % kDataKinds), seed * 31 + 5);
    const auto params = params_of(p, c);
    const Bounds bounds = bounds_of(bound(p), inputs, params);
    const std::vector<Array> reference = evaluate(p, inputs, params);
    for (std::uint64_t k = 0; k < 6; ++k, ++runs) {
      const Style style = random_style(seed * 6 + k);
      const Verdicts v =
          judge(bounds, evaluate_perturbed(p, inputs, params, style, seed * 6 + k), reference);
      EXPECT_EQ(v.refused, 0) << record.name << " " << form.name << ": " << to_string(c) << "\n  "
                              << to_string(style) << "\n  " << v.first;
    }
  });
  EXPECT_GT(runs, 0);
}

// ---- kernels in float

using Kernel = std::function<Array(const Case&, const std::vector<Array>&)>;

struct JudgedForm {
  int runs = 0, refused_by_form = 0, refused_by_op = 0;
  std::string first;
};

/// Judges the kernels on cases of the form, for every finite kind of data.
std::vector<JudgedForm> judged(const std::string& op, const std::string& form,
                               const std::vector<Kernel>& kernels, int rounds_of_data = 2) {
  const OpRecord& record = find_op(op);
  std::vector<JudgedForm> all(kernels.size());
  for (int round = 0; round < rounds_of_data * (kDataKinds - 1); ++round) {
    const auto c = form_case(record, form, round);
    if (!c) continue;
    const Program& p = *instantiate(record, c->instance, form);
    const int kind = round % (kDataKinds - 1);
    const std::vector<Array> inputs =
        draw_inputs(*c, static_cast<Data>(kind), static_cast<std::uint64_t>(round) * 3 + 1);
    const std::vector<Array> reference = evaluate(*c->program, inputs, c->params);
    const Bounds own = bounds_of(bound(p), inputs, params_of(p, *c));
    const Bounds direct = bounds_of(bound(*c->program), inputs, c->params);
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      const Array y = kernels[k](*c, inputs);
      const Verdicts v = judge(own, {y}, reference);
      ++all[k].runs;
      all[k].refused_by_form += v.refused > 0 ? 1 : 0;
      all[k].refused_by_op += judge(direct, {y}, reference).refused > 0 ? 1 : 0;
      if (v.refused > 0 && all[k].first.empty())
        all[k].first = fmt::format("{} data {}: {}", to_string(*c), kind, v.first);
    }
  }
  return all;
}

Kernel winograd_in(const WinogradStyle& style) {
  return [style](const Case& c, const std::vector<Array>& inputs) {
    std::vector<std::int64_t> pads;
    for (const char* p : {"pads0", "pads1", "pads2", "pads3"})
      pads.push_back(c.params.at(p).integer());
    return winograd(inputs, pads, static_cast<int>(c.params.at("groups").integer()), style);
  };
}

std::string winograd_name(int m) { return fmt::format("winograd_f{}", m); }

TEST(BoundForms, WinogradKernelsPassTheirOwnFormUnlessTheyAreDefective) {
  for (const int m : {2, 4}) {
    std::vector<Kernel> kernels;
    for (int choice = 0; choice < 16; ++choice)
      kernels.push_back(winograd_in({.m = m,
                                     .columns_first = (choice & 1) != 0,
                                     .fused = (choice & 2) != 0,
                                     .weights_in_double = (choice & 4) != 0,
                                     .backward = (choice & 8) != 0}));
    const std::size_t correct = kernels.size();
    kernels.push_back(winograd_in({.m = m, .constant_off = 1e-4}));
    kernels.push_back(winograd_in({.m = m, .last_tile_at_edge = true}));
    const std::vector<JudgedForm> all = judged("conv2d", winograd_name(m), kernels);
    for (std::size_t k = 0; k < correct; ++k) {
      EXPECT_EQ(all[k].refused_by_form, 0) << "F" << m << " choice " << k << ": " << all[k].first;
      EXPECT_GT(all[k].refused_by_op, 0) << "F" << m << " choice " << k;
    }
    EXPECT_GT(all[correct].refused_by_form, all[correct].runs / 2) << "F" << m;
    EXPECT_GT(all[correct + 1].refused_by_form, all[correct + 1].runs / 4) << "F" << m;
  }
}

TEST(BoundForms, OneFormIsNotAnother) {
  EXPECT_GT(judged("conv2d", "winograd_f2", {winograd_in({.m = 4})})[0].refused_by_form, 0);
}

/// Computes f(row) for each of the R · C rows of x[R, N, C].
Array over_rows(const Array& x, const std::function<float(const std::vector<float>&)>& f) {
  Array y{x.dtype, {x.shape[0], x.shape[2]}, {}};
  for (std::int64_t r = 0; r < x.shape[0]; ++r)
    for (std::int64_t c = 0; c < x.shape[2]; ++c) {
      std::vector<float> row;
      for (std::int64_t n = 0; n < x.shape[1]; ++n)
        row.push_back(static_cast<float>(
            x.values[static_cast<std::size_t>((r * x.shape[1] + n) * x.shape[2] + c)].real()));
      y.values.emplace_back(double{f(row)});
    }
  return y;
}

struct Sums {
  float of_x = 0, of_squares = 0;
};
Sums sums(const std::vector<float>& x, bool fused) {
  Sums s;
  for (const float v : x) {
    s.of_x += v;
    s.of_squares = fused ? std::fma(v, v, s.of_squares) : s.of_squares + v * v;
  }
  return s;
}

Kernel one_pass_in(const std::function<float(const Sums&, float n, float divisor)>& f, bool fused) {
  return [=](const Case& c, const std::vector<Array>& inputs) {
    const auto correction = static_cast<float>(c.params.at("correction").integer());
    return over_rows(inputs[0], [&](const std::vector<float>& row) {
      const auto n = static_cast<float>(row.size());
      return f(sums(row, fused), n, std::max(n - correction, 0.0F));
    });
  };
}

TEST(BoundForms, OnePassVariancePassesItsOwnFormAndNotTheOps) {
  for (const bool fused : {false, true}) {
    const std::vector<Kernel> kernels = {
        one_pass_in([](const Sums& s, float n,
                       float d) { return (s.of_squares - s.of_x * s.of_x / n) / d; },
                    fused),
        one_pass_in([](const Sums& s, float n,
                       float d) { return (s.of_squares - s.of_x * (s.of_x / n)) * (1 / d); },
                    fused),
        one_pass_in(
            [](const Sums& s, float n, float d) {
              const float mean = s.of_x / n;
              return (s.of_squares / n - mean * mean) * (n / d);
            },
            fused)};
    for (const JudgedForm& j : judged("var", "one_pass", kernels, 8)) {
      EXPECT_EQ(j.refused_by_form, 0) << j.first;
      EXPECT_GT(j.refused_by_op, 0);
    }
  }
  const Kernel off =
      one_pass_in([](const Sums& x, float n,
                     float d) { return (x.of_squares - x.of_x * x.of_x / n * 1.001F) / d; },
                  false);
  const JudgedForm wrong = judged("var", "one_pass", {off}, 8)[0];
  EXPECT_GT(wrong.refused_by_form, wrong.runs / 4);
}

TEST(BoundForms, SigmoidByTanhPassesItsOwnFormAndNotTheOps) {
  const auto kernel = [](float slope) -> Kernel {
    return [slope](const Case&, const std::vector<Array>& inputs) {
      Array y{DType::f32, inputs[0].shape, {}};
      for (const Number& n : inputs[0].values)
        y.values.emplace_back(
            double{0.5F + 0.5F * std::tanh(slope * static_cast<float>(n.real()))});
      return y;
    };
  };
  const std::vector<JudgedForm> all = judged("sigmoid", "tanh", {kernel(0.5F), kernel(0.4999F)}, 8);
  EXPECT_EQ(all[0].refused_by_form, 0) << all[0].first;
  EXPECT_GT(all[0].refused_by_op, 0);
  EXPECT_GT(all[1].refused_by_form, 5);
}

TEST(BoundForms, PaddingThatIsMultipliedMakesNanAtTheBorder) {
  const Case c = parse_case("conv1d x=f32[1,1,3] w=f32[1,1,3] pads=1,1");
  const Array x{DType::f32, {1, 1, 3}, {1.0, 2.0, 3.0}};
  const Array w{DType::f32, {1, 1, 3}, {std::numeric_limits<double>::infinity(), 1.0, 1.0}};
  const Program& form = *instantiate(find_op("conv1d"), c.instance, "padding_multiplied");
  const Array y = evaluate(form, {x, w}, c.params)[0];
  EXPECT_TRUE(std::isnan(y.values[0].real()));
  const std::vector<Array> reference = evaluate(*c.program, {x, w}, c.params);
  EXPECT_EQ(judge(bounds_of(bound(form), {x, w}, c.params), {y}, reference).refused, 0);
  EXPECT_EQ(judge(bounds_of(bound(*c.program), {x, w}, c.params), {y}, reference).refused, 1);
}

/// The first tap of gw reads x[-1], which is padding.
TEST(BoundForms, TheGradientOfAFormIsAFormOfTheGradient) {
  const Case c = parse_case("conv1d.grad gy=f32[1,1,3] x=f32[1,1,3] w=f32[1,1,3] pads=1,1");
  const Array gy{DType::f32, {1, 1, 3}, {std::numeric_limits<double>::infinity(), 1.0, 1.0}};
  const Array x{DType::f32, {1, 1, 3}, {1.0, 2.0, 3.0}};
  const OpRecord& gradient = find_op("conv1d.grad");
  const Program& form = *instantiate(gradient, c.instance, "padding_multiplied");
  const auto first_of_gw = [&](const Program& p) {
    const auto gw = std::ranges::find(p.outputs, "gw", &Output::name) - p.outputs.begin();
    return evaluate(p, {gy, x, x}, c.params)[static_cast<std::size_t>(gw)].values[0].real();
  };
  EXPECT_TRUE(std::isnan(first_of_gw(form)));
  EXPECT_EQ(first_of_gw(*c.program), 3.0);
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The first query attends to the first key only; a NaN in the second key or its value shows in the
/// result.
TEST(BoundForms, AHiddenKeyThatIsMultipliedLetsNaNThrough) {
  const Case c = parse_case("attention q=f32[1,1,2,1] k=f32[1,1,2,1] v=f32[1,1,2,1] causal=1");
  const auto tensor = [](double first, double second) {
    return Array{DType::f32, {1, 1, 2, 1}, {first, second}};
  };
  const Program& form = *instantiate(find_op("attention"), c.instance, "hidden_multiplied");
  for (const bool in_key : {false, true}) {
    const std::vector<Array> inputs = {tensor(1, 2), tensor(1, in_key ? kNaN : 1),
                                       tensor(3, in_key ? 4 : kNaN)};
    const std::vector<Array> reference = evaluate(*c.program, inputs, c.params);
    EXPECT_EQ(reference[0].values[0].real(), 3);
    const Array y = evaluate(form, inputs, c.params)[0];
    EXPECT_TRUE(std::isnan(y.values[0].real()));
    EXPECT_EQ(judge(bounds_of(bound(form), inputs, c.params), {y}, reference).refused, 0);
    EXPECT_EQ(judge(bounds_of(bound(*c.program), inputs, c.params), {y}, reference).refused, 1);
  }
}

/// The first query's gradient reads the second key's k, and the second key's gradient reads the
/// first query, each times 0.
TEST(BoundForms, SoDoItsGradients) {
  const Case c = parse_case(
      "attention.grad gy=f32[1,1,2,1] q=f32[1,1,2,1] k=f32[1,1,2,1] v=f32[1,1,2,1] y=f32[1,1,2,1] "
      "causal=1");
  const auto tensor = [](double first, double second) {
    return Array{DType::f32, {1, 1, 2, 1}, {first, second}};
  };
  const Program& form = *instantiate(find_op("attention.grad"), c.instance, "hidden_multiplied");
  const auto value = [&](const Program& p, const std::vector<Array>& in, const char* name,
                         std::size_t at) {
    const auto k = std::ranges::find(p.outputs, name, &Output::name) - p.outputs.begin();
    return evaluate(p, in, c.params)[static_cast<std::size_t>(k)].values[at].real();
  };
  const std::vector<Array> hidden_value = {tensor(1, 1), tensor(1, 2), tensor(1, 1),
                                           tensor(3, kNaN), tensor(3, 3)};
  EXPECT_TRUE(std::isnan(value(form, hidden_value, "gq", 0)));
  EXPECT_FALSE(std::isnan(value(*c.program, hidden_value, "gq", 0)));
  const std::vector<Array> of_first_query = {tensor(kNaN, 1), tensor(1, 2), tensor(1, 1),
                                             tensor(3, 4), tensor(3, 3)};
  EXPECT_TRUE(std::isnan(value(form, of_first_query, "gv", 1)));
  EXPECT_FALSE(std::isnan(value(*c.program, of_first_query, "gv", 1)));
}

TEST(BoundForms, AnUnknownFormNamesThoseThatThereAre) {
  const OpRecord& conv = find_op("conv2d");
  try {
    instantiate(conv, {DType::f32, 3}, "winograd_f3");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "op conv2d: unknown form 'winograd_f3' (known: direct, padding_multiplied, "
                 "winograd_f2, winograd_f4)");
  }
  EXPECT_EQ(instantiate(conv, {DType::f32, 3}, kDirect), instantiate(conv, {DType::f32, 3}));
}

}  // namespace
}  // namespace mote::test
