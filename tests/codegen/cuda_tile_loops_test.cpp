// SPDX-License-Identifier: Apache-2.0
// Tests the loops of tiles: they compute what the stage did, and wrong ones are found by verify()
// or by the interpreter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "cuda_programs.h"
#include "golden.h"
#include "ir/dependence.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/walk.h"
#include "mote/macroops/catalogue.h"

namespace mote {
namespace {

using namespace test;

/// An array of small whole numbers, whose sums of products are exact.
Array whole(DType dtype, std::vector<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  Array out{dtype, std::move(shape), {}};
  for (std::int64_t k = 0; k < count; ++k)
    out.values.emplace_back(static_cast<double>((k * 7 + 3) % 11 - 5));
  return out;
}

std::string product_of(const std::string& dtype) {
  return fmt::format(R"(op product
input a {0}[B, M, K]; input b {0}[B, K, N]
output y = max(sum[3](a[i0, i1, i3 over B, M, N, K] * b[i0, i3, i2 over B, M, N, K]), 0)
)",
                     dtype);
}

/// Returns the loops of the first kernel of tiles, pipelined or not.
LoopProgram tiles_of(const LoopProgram& p, bool is_pipelined,
                     CudaVariant variant = CudaVariant::gen) {
  const CudaProgram program = cuda_program(p, variant);
  for (const CudaKernel& k : program.kernels)
    if (k.has_tiles() && k.has_pipelined_tiles() == is_pipelined) return k.loops();
  ADD_FAILURE() << "no kernel of tiles";
  return p;
}

void expect_alike(const LoopProgram& p, const LoopProgram& tiles, const std::vector<Array>& inputs,
                  const std::map<std::string, Number>& params = {}) {
  EXPECT_EQ(interpret(tiles, inputs, params), interpret(p, inputs, params)) << to_string(tiles);
}

TEST(CudaTileLoops, OfAProduct) {
  const LoopProgram p = compiled(kProduct);
  const LoopProgram tiles = tiles_of(p, false);
  expect_golden(to_string(tiles));
  for (const std::int64_t m : {0, 1, 63, 65})
    for (const std::int64_t k : {0, 1, 17})
      expect_alike(
          p, tiles,
          {whole(DType::f32, {m, k}), whole(DType::f32, {k, 70}), whole(DType::f32, {70})});
}

TEST(CudaTileLoops, CopyAheadInPipelinedTiles) {
  const LoopProgram p = compiled(product_of("bf16"));
  const LoopProgram tiles = tiles_of(p, true);
  expect_golden(to_string(tiles));
  for (const std::int64_t k : {0, 1, 33, 100})
    expect_alike(p, tiles, {whole(DType::bf16, {2, 3, k}), whole(DType::bf16, {2, k, 5})});
  expect_alike(p, tiles, {whole(DType::bf16, {1, 129, 40}), whole(DType::bf16, {1, 40, 5})});
  const LoopProgram floats = compiled(product_of("f32"));
  expect_alike(floats, tiles_of(floats, true),
               {whole(DType::f32, {1, 3, 20}), whole(DType::f32, {1, 20, 130})});
}

TEST(CudaTileLoops, HoldFragmentsForTensorCores) {
  for (const DType dtype : {DType::f16, DType::f32}) {
    const LoopProgram p = compiled(product_of(std::string(name(dtype))));
    expect_alike(p, tiles_of(p, false, CudaVariant::tf32),
                 {whole(dtype, {2, 66, 18}), whole(dtype, {2, 18, 3})});
  }
}

/// Axes of several loops are counted through, and some products do not count: a missing tap times
/// an infinite weight is no NaN.
TEST(CudaTileLoops, CountThroughTheLoopsOfAConvolution) {
  const OpRecord& op = find_op("conv2d");
  const LoopProgram p = compile(instantiate(op, {DType::f32, full_mask(op)}));
  const LoopProgram tiles = tiles_of(p, false);
  expect_golden(to_string(tiles));
  Array weights = whole(DType::f32, {6, 2, 3, 3});
  weights.values[4] = std::numeric_limits<double>::infinity();
  expect_alike(p, tiles, {whole(DType::f32, {2, 4, 7, 6}), weights, whole(DType::f32, {6})},
               {{"groups", Number(2)},
                {"stride0", Number(2)},
                {"pads0", Number(1)},
                {"pads1", Number(1)},
                {"pads3", Number(2)},
                {"dilation1", Number(2)}});
}

/// Changes the first statement that f changes; returns false if there is none.
bool change(Body& body, const std::function<bool(Stmt&)>& f) {
  return std::ranges::any_of(body, [&](Stmt& s) {
    Body* nested = nested_body(s);
    return f(s) || (nested != nullptr && change(*nested, f));
  });
}

/// Returns what verify() or the interpreter says of the loops after a change.
std::string complaint(LoopProgram p, const std::function<bool(Stmt&)>& f,
                      const std::vector<Array>& inputs) {
  EXPECT_TRUE(change(p.body, f));
  try {
    verify(p);
    (void)interpret(p, inputs, {});
  } catch (const InternalError& e) {
    const std::string text = e.what(), name = "product: ";
    return text.substr(text.find(name) + name.size());
  }
  return "";
}

TEST(CudaTileLoops, AreRejectedWithPlantedErrors) {
  const LoopProgram p = tiles_of(compiled(kProduct), false);
  const std::vector<Array> inputs = {whole(DType::f32, {65, 5}), whole(DType::f32, {5, 3}),
                                     whole(DType::f32, {3})};
  const auto in_branch = [](Stmt& s, std::size_t conditions) {
    auto* branch = std::get_if<If>(&s.kind);
    return branch != nullptr && branch->conditions.size() == conditions ? branch : nullptr;
  };
  // The tail of a tile is not left out.
  const auto without_end = [&](Stmt& s) {
    If* branch = in_branch(s, 2);
    const bool is_of_results =
        branch != nullptr && std::holds_alternative<Let>(branch->body.front().kind);
    if (is_of_results) branch->conditions.pop_back();
    return is_of_results;
  };
  EXPECT_NE(complaint(p, without_end, inputs).find("is out of range"), std::string::npos);
  // The last slice is dropped.
  const auto without_last = [](Stmt& s) {
    Loop* l = as_loop(s);
    if (l == nullptr || l->variable.name() != "k_begin") return false;
    l->end = l->end - 16;
    return true;
  };
  EXPECT_EQ(complaint(p, without_last, inputs), "");
  EXPECT_NE(interpret(p, inputs, {}), [&] {
    LoopProgram changed = p;
    change(changed.body, without_last);
    return interpret(changed, inputs, {});
  }());
  // Tiles overlap.
  const auto overlapping = [](Stmt& s) {
    Loop* l = as_loop(s);
    if (l == nullptr || l->kind != LoopKind::grid) return false;
    l->step = 32;
    return true;
  };
  EXPECT_EQ(complaint(p, overlapping, inputs),
            "the iterations of loop m_begin are not independent");
  // A thread adds to another thread's sums, or gives them.
  const auto adds_to_another = [](Stmt& s) {
    auto* sum = std::get_if<StoreReduce>(&s.kind);
    if (sum != nullptr) sum->index[1] = (sum->index[1] + 1) % 16;
    return sum != nullptr;
  };
  EXPECT_EQ(complaint(p, adds_to_another, inputs),
            "the iterations of loop thread_column2 are not independent");
  const auto gives_of_another = [](Stmt& s) {
    auto* store = std::get_if<Store>(&s.kind);
    if (store == nullptr || store->tensor != "given") return false;
    std::vector<Expr> index = std::get<value::Load>(store->value->kind).index;
    index[1] = (index[1] + 1) % 16;
    store->value = load_value("sums", index, store->value->dtype);
    return true;
  };
  EXPECT_EQ(complaint(p, gives_of_another, inputs),
            "sums is in each thread, and a thread accesses another one's elements");
}

TEST(CudaTileLoops, AreRejectedWhereCopiesAreUnderWay) {
  const LoopProgram p = tiles_of(compiled(product_of("bf16")), true);
  const std::vector<Array> inputs = {whole(DType::bf16, {1, 3, 70}),
                                     whole(DType::bf16, {1, 70, 3})};
  const auto pending = [](int count, int instead) {
    return [=](Stmt& s) {
      auto* wait = std::get_if<WaitForCopies>(&s.kind);
      if (wait == nullptr || wait->pending != count) return false;
      wait->pending = instead;
      return true;
    };
  };
  // The slice that is multiplied may be under way.
  const std::string early = complaint(p, pending(2, 3), inputs);
  EXPECT_NE(early.find("a copy to what it accesses is under way"), std::string::npos) << early;
  // The sums take the place of slices that are under way.
  const std::string late = complaint(p, pending(0, 2), inputs);
  EXPECT_NE(late.find("a copy to what it accesses is under way"), std::string::npos) << late;
  // Two slices instead of three: the copy goes where other threads still read.
  LoopProgram two = p;
  rewrite_exprs(two.body, [](const Expr& e) {
    return e.transform([](const Atom& a) {
      const bool is_slice = a.kind == Atom::Kind::mod && a.args[1] == Expr(3);
      return is_slice ? a.args[0] % 2 : Expr::from_atom(a);
    });
  });
  EXPECT_THROW(verify(two), InternalError);
}

}  // namespace
}  // namespace mote
