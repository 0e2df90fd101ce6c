// The gradient of every op of the catalogue, to order 2, against dual numbers and differences; and
// the loops that gradients come to.
#include "mote/uops/gradient.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gradient_check.h"
#include "mote/base/error.h"
#include "mote/codegen/passes.h"
#include "mote/uops/invert.h"
#include "run.h"

namespace mote {
namespace {

bool is_differentiable(const Program& p) {
  const auto& in = p.inputs;
  const auto& out = p.outputs;
  return std::any_of(in.begin(), in.end(), [](const Uop& u) { return is_real(u.dtype()); }) &&
         std::any_of(out.begin(), out.end(),
                     [](const Output& o) { return is_real(o.value.dtype()); });
}

/// Sizes from 1 to 3 and parameters near their defaults, drawn from the seed; reals in (-2, 2), or
/// in (1/4, 1). Throws Error where they do not fit together.
test::GradientCase some_case(const Program& p, std::uint64_t seed, bool positive) {
  test::GradientCase c{p, {}, {}};
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  const auto below = [&](std::int64_t n) {
    state = (state ^ (state >> 29U)) * 0xbf58476d1ce4e5b9U;
    return static_cast<std::int64_t>((state >> 33U) % static_cast<std::uint64_t>(n));
  };
  std::map<Symbol, std::int64_t> values;
  for (const SizeRule& r : p.size_rules) values[r.size] = 1 + below(3);
  for (const ParamDecl& d : p.params) {
    if (!d.is_integer) {
      c.params[d.name] = Number(d.default_value.value_or(0.5));
      continue;
    }
    const std::int64_t low = d.lower.value_or(-1);
    const std::int64_t n =
        low + below(std::min<std::int64_t>(d.upper.value_or(low + 1) - low + 1, 3));
    c.params[d.name] = Number(n);
    values[Symbol(SymbolKind::param, d.name)] = n;
  }
  for (const Uop& u : p.inputs) {
    Dims shape;
    for (const Expr& e : u.shape()) shape.push_back(evaluate(e, values));
    Array a = test::random_array(u.dtype(), shape, seed * 64 + c.inputs.size());
    for (Number& n : a.values)
      if (positive && is_real(u.dtype())) n = Number(0.25 + (n.real() + 2) * 0.1875);
    c.inputs.push_back(std::move(a));
  }
  mote::bind(
      p,
      [&] {
        std::vector<Dims> shapes;
        for (const Array& a : c.inputs) shapes.push_back(a.shape);
        return shapes;
      }(),
      c.params);
  return c;
}

TEST(Gradient, OfEveryOp) {
  int ops = 0;
  for (const OpRecord& record : catalogue()) {
    if (std::find(record.dtypes.begin(), record.dtypes.end(), DType::f64) == record.dtypes.end())
      continue;
    const auto p = instantiate(record, {DType::f64, full_mask(record)});
    if (!is_differentiable(*p)) continue;
    ++ops;
    int judged = 0, cases = 0;
    for (std::uint64_t seed = 1; seed < 60 && cases < 3; ++seed) {
      test::GradientCase c;
      try {
        c = some_case(*p, seed, seed % 2 == 0);
      } catch (const Error&) {
        continue;  // a window larger than the image, say
      }
      ++cases;
      const std::string text = check_gradient(std::move(c), 2, seed, &judged);
      EXPECT_EQ(text, "") << record.name << " seed " << seed;
      if (!text.empty()) break;
    }
    EXPECT_GE(judged, 2) << record.name;
  }
  EXPECT_GE(ops, 90);
}

// ---- forms

LoopCount gradient_form(const std::string& op, const std::string& wrt) {
  const OpRecord& record = find_op(op);
  GradientRequest request;
  if (!wrt.empty()) request.wrt = {wrt};
  const auto p = instantiate(record, {DType::f32, full_mask(record)});
  return count(compile(std::make_shared<const Program>(invert(gradient(*p, request).program))));
}

TEST(GradientForms, OneNestWithoutTemporariesOrScatters) {
  const std::pair<const char*, const char*> cases[] = {
      {"matmul", "a"},           {"matmul", "b"},     {"conv1d", "x"},
      {"conv2d", "x"},           {"conv2d", "w"},     {"conv2d", "b"},
      {"conv3d", "x"},           {"conv3d", "w"},     {"conv_transpose2d", "x"},
      {"conv_transpose2d", "w"}, {"avg_pool2d", "x"}, {"adaptive_avg_pool2d", "x"},
      {"log_softmax", "x"},      {"logsumexp", "x"},  {"layer_norm", "x"},
      {"rms_norm", "x"},         {"gelu", "x"},       {"tile", "x"}};
  for (const auto& [op, wrt] : cases) {
    const auto c = gradient_form(op, wrt);
    EXPECT_EQ(c.nests, 1) << op << " " << wrt;
    EXPECT_EQ(c.temporaries, 0) << op << " " << wrt;
    EXPECT_EQ(c.scatters, 0) << op << " " << wrt;
  }
}

TEST(GradientForms, NormsKeepMeanAndSlopePerGroup) {
  for (const char* op : {"layer_norm", "rms_norm", "group_norm", "instance_norm"}) {
    const auto c = gradient_form(op, "");
    EXPECT_LE(c.temporaries, 2) << op;
    EXPECT_EQ(c.scatters, 0) << op;
  }
}

TEST(GradientForms, SoftmaxKeepsARow) {
  const auto c = gradient_form("softmax", "x");
  EXPECT_EQ(c.nests, 1);
  EXPECT_LE(c.temporaries, 1);
  EXPECT_LE(c.temporary_axes, 1);
}

}  // namespace
}  // namespace mote
