// SPDX-License-Identifier: Apache-2.0
// Tests the bound on the committed lists of variants: no correct one is refused, every defective
// one is refused on some data. MOTE_BOUND_TABLE=1 prints, for each op, the share of refused runs,
// next to the tolerances of other projects.
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

/// One op on one set of data: reference and bound are computed once, for all variants.
struct Bench {
  Problem problem;
  std::vector<Array> inputs;
  std::vector<Array> reference;
  Bounds bounds;
};

using Shapes = std::vector<std::vector<std::int64_t>>;
Shapes shapes_of(const std::string& op, const Program& p, std::int64_t rows, std::int64_t n) {
  if (op == "matmul") return {{1, 1, rows, n}, {1, 1, n, 4}};
  if (op == "gemm") return {{rows, n}, {n, 4}, {rows, 4}};
  if (op == "attention") return {{1, 1, rows, 4}, {1, 1, n, 4}, {1, 1, n, 3}};
  if (op == "batch_norm") return {{rows, n, 1}, {n}, {n}, {n}, {n}};
  if (p.inputs[0].rank() == 2) return {{rows, n}};
  if (p.inputs[0].rank() == 3) return {{rows, n, 1}};
  return {{1, 1, rows, n}};
}

Bench make_bench(const std::string& op, const Program& p, const Program& b, int columns, Data data,
                 std::uint64_t seed) {
  Bench t;
  constexpr int kRows = 3;
  t.problem = {kRows, columns, {}};
  const DType dtype = p.inputs[0].dtype();
  const Shapes shapes = shapes_of(op, p, kRows, columns);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    Array a{dtype, shapes[k], {}};
    // The second input is not one-hot, so that the first one's element shows.
    const Data kind = k > 0 && data == Data::onehot ? Data::uniform : data;
    a.values = draw(kind, dtype, element_count(shapes[k]), seed + k);
    Floats& floats = t.problem.inputs.emplace_back();
    for (Number& v : a.values) {
      const bool variance = op == "batch_norm" && k == 4;
      if (variance) v = std::fabs(v.real());
      floats.push_back(static_cast<float>(v.real()));
    }
    t.inputs.push_back(std::move(a));
  }
  std::map<std::string, Number> params;
  if (op == "var") params["correction"] = Number(0);
  if (op == "gemm") params = {{"alpha", Number(kGemmAlpha)}, {"beta", Number(kGemmBeta)}};
  t.reference = evaluate(p, t.inputs, params);
  t.bounds = bounds_of(b, t.inputs, params);
  return t;
}

Array as_array(const Floats& y, const Array& like) {
  Array a{like.dtype, like.shape, {}};
  for (const float v : y) a.values.push_back(store_as(static_cast<double>(v), like.dtype));
  return a;
}

struct Counts {
  std::int64_t correct = 0, defective = 0;
  std::array<std::int64_t, kJudges> alarms{}, kills{};
  std::array<std::map<std::string, bool>, kJudges> killed;
};

/// Returns the inputs that variants have: all required ones, and gemm's c.
TensorMask required(const OpRecord& record) {
  TensorMask mask = 0;
  for (std::size_t k = 0; k < record.inputs.size(); ++k)
    if (!record.inputs[k].optional || record.name == "gemm") mask |= mask_bit(k);
  return mask;
}

bool is_finite(const Problem& p) {
  for (const Floats& input : p.inputs)
    for (const float v : input)
      if (!std::isfinite(v)) return false;
  return true;
}

/// Runs the variants, which compute in float, on tensors of dtype.
Counts run_op(const VariantsOfOp& v, DType dtype) {
  const OpRecord& record = find_op(v.op);
  const auto p = instantiate(record, {dtype, required(record)});
  const Program b = bound(*p);
  Counts c;
  for (const int n : {1, 2, 7, 16, 64, 200}) {
    for (int kind = 0; kind < kDataKinds; ++kind) {
      const auto data = static_cast<Data>(kind);
      const Bench t =
          make_bench(v.op, *p, b, n, data,
                     static_cast<std::uint64_t>(n) * 31 + static_cast<std::uint64_t>(kind));
      // Policies on infinities and NaN differ: the tests of the catalogue's ops and of the rules
      // cover these.
      if (!is_finite(t.problem)) continue;
      for (const Variant& variant : v.correct) {
        const Array y = as_array(variant.run(t.problem), t.reference[0]);
        const auto refused = refusals(t.bounds, {y}, t.reference);
        ++c.correct;
        for (std::size_t k = 0; k < refused.size(); ++k) c.alarms[k] += refused[k] ? 1 : 0;
        EXPECT_FALSE(refused[0]) << v.op << " " << name(dtype) << ": " << variant.name << ", n "
                                 << n << ", data " << kind << "\n  "
                                 << judge(t.bounds, {y}, t.reference).first;
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
    const Counts c = run_op(v, DType::f32);
    if (table) print_counts(v.op, c);
    EXPECT_EQ(c.alarms[0], 0) << v.op;
    for (const auto& [name, killed] : c.killed[0])
      EXPECT_TRUE(killed) << v.op << ": " << name << " is never refused";
  }
}

TEST(Variants, CorrectOnesAreAcceptedWhereTensorsAreOf16Bits) {
  for (const VariantsOfOp& v : variants())
    for (const DType dtype : {DType::f16, DType::bf16})
      EXPECT_EQ(run_op(v, dtype).alarms[0], 0) << v.op << " " << name(dtype);
}

}  // namespace
}  // namespace mote::test
