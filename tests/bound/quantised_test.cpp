// SPDX-License-Identifier: Apache-2.0
// Tests the bound on quantised kernels as people write them: other sums of the same integers and
// other methods to scale and round, none refused; and the same with one defect, each refused on
// some data.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "judge.h"
#include "mote/macroops/catalogue.h"
#include "mote/uops/evaluate.h"

namespace mote::test::quantised {
namespace {

using Whole = std::int64_t;

struct Range {
  Whole least, greatest;
};

/// One element of y: a row of a and a column of b, or one x; their scales; zero points.
struct Problem {
  std::vector<Whole> a, b;
  float x = 0, scale = 1;
  Whole a_zero = 0, b_zero = 0, y_zero = 0;
  Range range{0, 255};
};
using Kernel = std::function<Whole(const Problem&)>;
struct Named {
  std::string name;
  Kernel run;
};

// ---- sums of products

Whole total(const Problem& p) {
  Whole y = 0;
  for (std::size_t k = 0; k < p.a.size(); ++k) y += (p.a[k] - p.a_zero) * (p.b[k] - p.b_zero);
  return y;
}
/// Sums the operands unchanged, and subtracts the zero points' share afterwards.
Whole corrected(const Problem& p) {
  Whole products = 0, of_a = 0, of_b = 0;
  for (std::size_t k = 0; k < p.a.size(); ++k) {
    products += p.a[k] * p.b[k];
    of_a += p.a[k];
    of_b += p.b[k];
  }
  return products - p.a_zero * of_b - p.b_zero * of_a +
         p.a_zero * p.b_zero * static_cast<Whole>(p.a.size());
}
/// Sums in float if every partial sum is exact.
Whole in_float(const Problem& p) {
  float y = 0, size = 0;
  for (std::size_t k = p.a.size(); k-- > 0;) {
    const auto term = static_cast<float>((p.a[k] - p.a_zero) * (p.b[k] - p.b_zero));
    y += term;
    size += std::fabs(term);
  }
  return size < 0x1p24F ? static_cast<Whole>(y) : total(p);
}
Whole in_16_bits(const Problem& p) { return static_cast<std::int16_t>(total(p)); }
/// Adds pairs of products with saturation, as 16-bit vector instructions do.
Whole saturating_pairs(const Problem& p) {
  Whole y = 0;
  for (std::size_t k = 0; k < p.a.size(); k += 2) {
    Whole pair = (p.a[k] - p.a_zero) * (p.b[k] - p.b_zero);
    if (k + 1 < p.a.size()) pair += (p.a[k + 1] - p.a_zero) * (p.b[k + 1] - p.b_zero);
    y += std::clamp<Whole>(pair, -32768, 32767);
  }
  return y;
}
Whole without_a_zero(const Problem& p) {
  Problem q = p;
  q.a_zero = 0;
  return total(q);
}
Whole without_b_zero(const Problem& p) {
  Problem q = p;
  q.b_zero = 0;
  return total(q);
}
Whole without_last(const Problem& p) {
  Problem q = p;
  q.a.pop_back();
  return total(q);
}

// ---- to 8 bits

Whole clamped(Whole v, const Range& r) { return std::clamp(v, r.least, r.greatest); }
/// Clamps large values so that the result fits an integer.
double bounded(double v) { return std::clamp(v, -1e6, 1e6); }

Whole nearest(double v, const Problem& p) {
  return clamped(static_cast<Whole>(std::nearbyint(bounded(v))) + p.y_zero, p.range);
}
/// Rounds by adding 1.5 * 2^23 in float, which leaves no bits for a fraction.
Whole by_adding(double v, const Problem& p) {
  volatile float moved = static_cast<float>(bounded(v)) + 12582912.0F;
  return clamped(static_cast<Whole>(moved - 12582912.0F) + p.y_zero, p.range);
}
Whole clamped_first(double v, const Problem& p) {
  const auto least = static_cast<double>(p.range.least - p.y_zero);
  const auto greatest = static_cast<double>(p.range.greatest - p.y_zero);
  return static_cast<Whole>(std::nearbyint(std::clamp(v, least, greatest))) + p.y_zero;
}
Whole half_away(double v, const Problem& p) {
  return clamped(static_cast<Whole>(std::round(bounded(v))) + p.y_zero, p.range);
}
Whole truncated(double v, const Problem& p) {
  return clamped(static_cast<Whole>(bounded(v)) + p.y_zero, p.range);
}
Whole moved_first(double v, const Problem& p) {
  return clamped(static_cast<Whole>(std::nearbyint(bounded(v) + static_cast<double>(p.y_zero))),
                 p.range);
}
Whole wrapped(double v, const Problem& p) {
  const Whole y = static_cast<Whole>(std::nearbyint(bounded(v))) + p.y_zero;
  return p.range.least < 0 ? static_cast<std::int8_t>(y) : static_cast<std::uint8_t>(y);
}
Whole without_zero(double v, const Problem& p) {
  return clamped(static_cast<Whole>(std::nearbyint(bounded(v))), p.range);
}
Whole one_more(double v, const Problem& p) {
  return clamped(static_cast<Whole>(std::nearbyint(bounded(v))) + p.y_zero + 1, p.range);
}

using Rounding = Whole (*)(double, const Problem&);
const std::vector<std::pair<std::string, Rounding>> kCorrectRoundings = {
    {"nearest", nearest}, {"by adding", by_adding}, {"clamped first", clamped_first}};
const std::vector<std::pair<std::string, Rounding>> kDefectiveRoundings = {
    {"half away from 0", half_away},     {"truncated", truncated},
    {"rounded after zero", moved_first}, {"wrapped", wrapped},
    {"no zero", without_zero},           {"one more", one_more}};

// ---- scaling

float product(float a, float b) { return a * b; }
double times_scale(Whole v, const Problem& p) { return product(static_cast<float>(v), p.scale); }
double times_scale_in_double(Whole v, const Problem& p) {
  return static_cast<double>(v) * static_cast<double>(p.scale);
}
/// Scales by a factor of 31 bits and a shift, as kernels without floats do.
double fixed_point(Whole v, const Problem& p) {
  int exponent = 0;
  const auto factor = static_cast<Whole>(std::ldexp(std::frexp(p.scale, &exponent), 31));
  return std::ldexp(static_cast<double>(v) * static_cast<double>(factor), exponent - 31);
}
double in_bf16(Whole v, const Problem& p) {
  const double scale = store_as(static_cast<double>(p.scale), DType::bf16).real();
  return product(static_cast<float>(v), static_cast<float>(scale));
}
double divided(const Problem& p) { return p.x / p.scale; }
double by_reciprocal(const Problem& p) { return product(p.x, 1 / p.scale); }
double divided_in_double(const Problem& p) {
  return static_cast<double>(p.x) / static_cast<double>(p.scale);
}
double divided_in_bf16(const Problem& p) {
  return p.x / store_as(static_cast<double>(p.scale), DType::bf16).real();
}

struct Kernels {
  std::vector<Named> correct, defective;
};

Kernels products() {
  return {{{"direct", total}, {"corrected", corrected}, {"float", in_float}},
          {{"16 bits", in_16_bits},
           {"saturating pairs", saturating_pairs},
           {"no zero of a", without_a_zero},
           {"no zero of b", without_b_zero},
           {"no last term", without_last}}};
}

Kernels scaled_products() {
  Kernels k;
  const std::vector<std::pair<std::string, double (*)(Whole, const Problem&)>> scalings = {
      {"float", times_scale}, {"double", times_scale_in_double}, {"fixed point", fixed_point}};
  const Kernels sums = products();
  for (const Named& sum : sums.correct)
    for (const auto& [how, scale] : scalings)
      for (const auto& [way, round] : kCorrectRoundings)
        k.correct.push_back({sum.name + ", " + how + ", " + way,
                             [round = round, scale = scale, run = sum.run](const Problem& p) {
                               return round(scale(run(p), p), p);
                             }});
  for (const Named& sum : sums.defective)
    k.defective.push_back(
        {sum.name, [=](const Problem& p) { return nearest(times_scale(sum.run(p), p), p); }});
  for (const auto& [way, round] : kDefectiveRoundings)
    k.defective.push_back(
        {way, [round = round](const Problem& p) { return round(times_scale(total(p), p), p); }});
  k.defective.push_back(
      {"scale in bf16", [](const Problem& p) { return nearest(in_bf16(total(p), p), p); }});
  return k;
}

Kernels quotients() {
  Kernels k;
  const std::vector<std::pair<std::string, double (*)(const Problem&)>> divisions = {
      {"float", divided}, {"reciprocal", by_reciprocal}, {"double", divided_in_double}};
  for (const auto& [how, divide] : divisions)
    for (const auto& [way, round] : kCorrectRoundings)
      k.correct.push_back({how + ", " + way, [round = round, divide = divide](const Problem& p) {
                             return round(divide(p), p);
                           }});
  for (const auto& [way, round] : kDefectiveRoundings)
    k.defective.push_back(
        {way, [round = round](const Problem& p) { return round(divided(p), p); }});
  k.defective.push_back(
      {"scale in bf16", [](const Problem& p) { return nearest(divided_in_bf16(p), p); }});
  return k;
}

// ---- data, and results

/// Draws scales that lead to exact ties or none, and that saturate rarely or often.
float draw_scale(std::mt19937_64& engine, double size) {
  const double fit = std::exp2(std::floor(std::log2(60 / std::max(size, 1.0))));
  switch (engine() % 4) {
    case 0:
      return static_cast<float>(fit);
    case 1:
      return 0.5F;
    case 2:
      return static_cast<float>(fit * (1 + static_cast<double>(engine() % 1000) / 1000));
    default:
      return static_cast<float>(5 * fit);
  }
}

Problem draw_problem(DType dtype, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const IntegerRange of_dtype = integer_range(dtype);
  Problem p;
  p.range = {of_dtype.least, of_dtype.greatest};
  const auto any = [&](Whole least, Whole greatest) {
    return least + static_cast<Whole>(engine() % static_cast<std::uint64_t>(greatest - least + 1));
  };
  const bool small = engine() % 3 == 0;
  const Whole length = std::vector<Whole>{1, 2, 7, 64, 300}[engine() % 5];
  p.a_zero = small ? 1 : any(of_dtype.least, of_dtype.greatest);
  p.b_zero = small ? 1 : any(-128, 127);
  p.y_zero = any(-9, 9) + (of_dtype.least < 0 ? 0 : 120);
  for (Whole k = 0; k < length; ++k) {
    p.a.push_back(small ? any(0, 3) : any(of_dtype.least, of_dtype.greatest));
    p.b.push_back(small ? any(-3, 3) : any(-128, 127));
  }
  p.scale = draw_scale(engine, std::fabs(static_cast<double>(total(p))));
  p.x = static_cast<float>(any(-400, 400)) * (engine() % 2 == 0 ? 0.5F : 0.3F) * p.scale;
  return p;
}

Array whole_array(DType dtype, std::vector<std::int64_t> shape, const std::vector<Whole>& values) {
  Array a{dtype, std::move(shape), {}};
  for (const Whole v : values) a.values.emplace_back(v);
  return a;
}
Array float_array(std::vector<std::int64_t> shape, float v) {
  return {DType::f32, std::move(shape), {Number(static_cast<double>(v))}};
}

struct Call {
  std::vector<Array> inputs;
  std::map<std::string, Number> params;
};
Call call_of(const std::string& op, DType dtype, const Problem& p) {
  if (op == "quantize")
    return {{float_array({1, 1, 1}, p.x), float_array({1}, p.scale),
             whole_array(dtype, {1}, {p.y_zero})},
            {}};
  const auto k = std::ssize(p.a);
  Call c{{whole_array(dtype, {1, 1, k}, p.a), whole_array(DType::i8, {1, k, 1}, p.b)},
         {{"a_zero", Number(p.a_zero)}, {"b_zero", Number(p.b_zero)}}};
  if (op == "matmul_integer") return c;
  c.inputs.push_back(float_array({1}, p.scale));
  c.params["y_zero"] = Number(p.y_zero);
  return c;
}

void expect_told_apart(const std::string& op, DType dtype, const Kernels& kernels) {
  const OpRecord& record = find_op(op);
  const auto program = instantiate(record, {dtype, full_mask(record)});
  const Program b = bound(*program);
  std::map<std::string, int> refused;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem p = draw_problem(dtype, seed);
    const Call call = call_of(op, dtype, p);
    const Bounds bounds = bounds_of(b, call.inputs, call.params);
    const std::vector<Array> reference = evaluate(*program, call.inputs, call.params);
    const auto verdict = [&](const Named& kernel) {
      Array y = reference[0];
      y.values[0] = store_as(Number(kernel.run(p)), y.dtype);
      return judge(bounds, {y}, reference);
    };
    for (const Named& kernel : kernels.correct) {
      const Verdicts v = verdict(kernel);
      EXPECT_EQ(v.refused, 0) << op << " " << name(dtype) << " " << kernel.name << ", seed " << seed
                              << ": " << v.first;
    }
    for (const Named& kernel : kernels.defective)
      refused[kernel.name] += verdict(kernel).refused > 0 ? 1 : 0;
  }
  for (const Named& kernel : kernels.defective)
    EXPECT_GT(refused[kernel.name], 0)
        << op << " " << name(dtype) << ": " << kernel.name << " is never refused";
}

TEST(Quantised, KernelsAndTheirDefectsAreToldApart) {
  for (const DType dtype : {DType::u8, DType::i8}) {
    expect_told_apart("matmul_integer", dtype, products());
    expect_told_apart("qmatmul", dtype, scaled_products());
    expect_told_apart("quantize", dtype, quotients());
  }
}

}  // namespace
}  // namespace mote::test::quantised
