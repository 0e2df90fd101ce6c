// The committed lists of variants against the bound: no correct one is refused, every defective one
// is refused on some data. MOTE_BOUND_TABLE=1 prints, for each op, the share of runs that are
// refused, beside the tolerances that others use.
#include "variants.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>

#include "judge.h"
#include "mote/macroops/catalogue.h"
#include "mote/uops/evaluate.h"
#include "tolerances.h"

namespace mote::test {
namespace {

/// One op on one set of data: reference and bound once, then any variant.
struct Bench {
  Problem problem;
  std::vector<Array> inputs;
  std::vector<Array> reference;
  Bounds bounds;
};

Bench make_bench(const std::string& op, const Program& p, const Program& b, int columns, Data data,
                 std::uint64_t seed) {
  Bench t;
  const std::int64_t rows = 3, n = columns, other = 4;
  t.problem = {static_cast<int>(rows), columns, {}};
  std::vector<std::vector<std::int64_t>> shapes;
  if (op == "matmul") {
    shapes = {{1, 1, rows, n}, {1, 1, n, other}};
  } else if (p.inputs[0].rank() == 2) {
    shapes = {{rows, n}};
  } else if (p.inputs[0].rank() == 3) {
    shapes = {{rows, n, 1}};
  } else {
    shapes = {{1, 1, rows, n}};
  }
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    Array a{DType::f32, shapes[k], {}};
    std::int64_t count = 1;
    for (const auto e : shapes[k]) count *= e;
    // A second input of the same kind, but not one-hot, so that the first is seen.
    const Data kind = k > 0 && data == Data::onehot ? Data::uniform : data;
    a.values = draw(kind, DType::f32, count, seed + k);
    Floats& floats = t.problem.inputs.emplace_back();
    for (const Number& v : a.values) floats.push_back(static_cast<float>(v.real()));
    t.inputs.push_back(std::move(a));
  }
  std::map<std::string, Number> params;
  if (op == "var") params["correction"] = Number(0);
  t.reference = evaluate(p, t.inputs, params);
  t.bounds = bounds_of(b, t.inputs, params);
  return t;
}

Array as_array(const Floats& y, const Array& like) {
  Array a{DType::f32, like.shape, {}};
  for (const float v : y) a.values.emplace_back(static_cast<double>(v));
  return a;
}

struct Counts {
  std::int64_t correct = 0, defective = 0;
  std::array<std::int64_t, kJudges> alarms{}, kills{};
  std::array<std::map<std::string, bool>, kJudges> killed;
};

Counts run_op(const VariantsOfOp& v) {
  const OpRecord& record = find_op(v.op);
  const auto p = instantiate(record, {DType::f32, 1U | (v.op == "matmul" ? 2U : 0U)});
  const Program b = bound(*p);
  Counts c;
  for (const int n : {1, 2, 7, 16, 64, 200}) {
    for (int kind = 0; kind < kDataKinds; ++kind) {
      const auto data = static_cast<Data>(kind);
      if (data == Data::special)
        continue;  // policies differ: every_op and the rules test have these
      const Bench t = make_bench(v.op, *p, b, n, data, static_cast<std::uint64_t>(n * 31 + kind));
      for (const Variant& variant : v.correct) {
        const Array y = as_array(variant.run(t.problem), t.reference[0]);
        const auto refused = refusals(t.bounds, {y}, t.reference);
        ++c.correct;
        for (std::size_t k = 0; k < refused.size(); ++k) c.alarms[k] += refused[k] ? 1 : 0;
        EXPECT_FALSE(refused[0]) << v.op << ": " << variant.name << ", n " << n << ", data " << kind
                                 << "\n  " << judge(t.bounds, {y}, t.reference).first;
      }
      for (const Variant& variant : v.defective) {
        const auto refused =
            refusals(t.bounds, {as_array(variant.run(t.problem), t.reference[0])}, t.reference);
        ++c.defective;
        for (std::size_t k = 0; k < refused.size(); ++k) {
          c.kills[k] += refused[k] ? 1 : 0;
          c.killed[k][variant.name] = c.killed[k][variant.name] || refused[k];
        }
      }
    }
  }
  return c;
}

void print_counts(const std::string& op, const Counts& c) {
  fmt::print("| {} | {} | {} |", op, c.correct, c.defective);
  for (std::size_t k = 0; k < kJudges; ++k) {
    std::int64_t never = 0;
    for (const auto& [name, killed] : c.killed[k]) never += killed ? 0 : 1;
    fmt::print(" {} / {:.0f}% / {} |", c.alarms[k],
               100.0 * double(c.kills[k]) / double(std::max<std::int64_t>(c.defective, 1)), never);
  }
  fmt::print("\n");
}

TEST(Variants, CorrectOnesAreAcceptedAndDefectiveOnesAreNot) {
  const bool table = std::getenv("MOTE_BOUND_TABLE") != nullptr;
  if (table) {
    fmt::print("| op | correct | defective |");
    for (const char* judge : kJudgeNames) fmt::print(" {} |", judge);
    fmt::print("\n");
  }
  for (const VariantsOfOp& v : variants()) {
    const Counts c = run_op(v);
    if (table) print_counts(v.op, c);
    EXPECT_EQ(c.alarms[0], 0) << v.op;
    for (const auto& [name, killed] : c.killed[0])
      EXPECT_TRUE(killed) << v.op << ": " << name << " is never refused";
  }
}

/// Another formula that an implementation declares: the bound of its own program takes it, the
/// op's does not.
TEST(Variants, AFormIsBoundedByItsOwnProgram) {
  const Program plain = parse_program("op t\ninput x f32[N]\noutput y = 1/(1 + exp(-x))\n");
  const Program form = parse_program("op t\ninput x f32[N]\noutput y = tanh(x*0.5)*0.5 + 0.5\n");
  const Program own = bound(form), direct = bound(plain);
  std::int64_t refused_by_own = 0, refused_by_direct = 0, bugs = 0;
  for (int kind = 0; kind < kDataKinds; ++kind) {
    const Array x{DType::f32, {64}, draw(static_cast<Data>(kind), DType::f32, 64, 5)};
    Array y{DType::f32, {64}, {}}, wrong = y;
    for (const Number& n : x.values) {
      const auto v = static_cast<float>(n.real());
      y.values.emplace_back(static_cast<double>(0.5F + 0.5F * std::tanh(0.5F * v)));
      wrong.values.emplace_back(static_cast<double>(0.5F + 0.5F * std::tanh(0.4999F * v)));
    }
    const std::vector<Array> reference = evaluate(form, {x}, {});
    refused_by_own += judge(bounds_of(own, {x}, {}), {y}, reference).refused;
    refused_by_direct += judge(bounds_of(direct, {x}, {}), {y}, reference).refused;
    bugs += judge(bounds_of(own, {x}, {}), {wrong}, reference).refused;
  }
  EXPECT_EQ(refused_by_own, 0);
  EXPECT_GT(refused_by_direct, 0);
  EXPECT_GT(bugs, 50);
}

}  // namespace
}  // namespace mote::test
