// SPDX-License-Identifier: Apache-2.0
// Tests that parse(print(p)) equals p, for random programs.
#include <gtest/gtest.h>

#include <algorithm>

#include "caught.h"
#include "property.h"

namespace mote {
namespace {

// Draws one random node over the pool; builders refuse operands that do not fit.
Uop random_node(test::Choices& choices, const std::vector<Uop>& pool) {
  using Uops = std::vector<Uop>;
  const auto pick = [&] { return pool[static_cast<std::size_t>(choices.below(int(pool.size())))]; };
  const Uop x = pick();
  const std::vector<int> axes =
      choices.below(2) == 0 ? std::vector<int>{x.rank() - 1} : std::vector<int>{0, x.rank() - 1};
  const auto reduction = static_cast<ReduceOp>(choices.below(8));
  switch (choices.below(12)) {
    case 0:
      return map(static_cast<MapOp>(choices.below(static_cast<int>(MapOp::cast))), Uops{x});
    case 1:
    case 2:
    case 3:
      return map(static_cast<MapOp>(choices.between(static_cast<int>(MapOp::add),
                                                    static_cast<int>(MapOp::logical_xor))),
                 Uops{x, pick()});
    case 4:
      return where(pick(), x, pick());
    case 5:
      return cast(x, all_dtypes()[static_cast<std::size_t>(choices.below(5))]);
    case 6:
      return choices.below(2) == 0 ? sum(x, axes) : max(x, axes);
    case 7:
      return choices.below(3) == 0 ? mean_over(x, axes) : reduce(reduction, x, axes);
    case 8: {
      std::vector<IndexText> from;
      for (int k = 0; k < x.rank(); ++k)
        from.emplace_back(choices.below(3) == 0 ? Expr(choices.between(-1, 2))
                                                : Expr::loop(choices.below(3)) - choices.below(2));
      return reindex(x, {"N", "C", choices.below(2) == 0 ? "1" : "$k + 2"}, from, choices.below(2));
    }
    case 9:
      return select(x, choices.below(2), pick(), choices.below(2));
    case 10:
      return choices.below(2) == 0 ? stop_gradient(x) : squeeze(x, axes);
    default:
      return iota(IndexText(Expr::loop(choices.below(2)) * 2 - Expr::size("C")), shape_of(x));
  }
}

TEST(ProgramText, RandomProgramsParseBackToEqualOnes) {
  int nodes = 0;
  int made = 0;
  const bool held = test::holds(
      "parse(print(p)) equals p", 1000,
      [&](test::Choices& choices) {
        const std::vector<Uop> inputs = {input("x", DType::f32, {"N", "C"}),
                                         input("n", DType::i64, {"N", "C"}),
                                         input("v", DType::f32, {"1|N", "1"})};
        std::vector<Uop> pool = inputs;
        pool.push_back(param("k", DType::i64));
        pool.push_back(param("k", DType::f32));
        pool.push_back(scalar(-2.5, DType::f32));
        pool.push_back(scalar(7, DType::i64));
        pool.push_back(inputs[0] < inputs[2]);
        while (!choices.done()) try {
            pool.push_back(random_node(choices, pool));
            ++nodes;
          } catch (const Error&) {  // this node does not fit
          }
        ProgramSpec spec{"random", "", {{"k", true, 1, {}, {}, ""}}, inputs, {}, {}, {}};
        spec.sizes.push_back({"M", Expr::param("k") + 2});
        const std::size_t outputs = std::min<std::size_t>(3, pool.size());
        for (std::size_t k = 0; k < outputs; ++k)
          spec.outputs.push_back(
              {std::string(1, static_cast<char>('a' + k)), pool[pool.size() - 1 - k]});
        std::optional<Program> p;
        try {
          p = make_program(spec);
        } catch (const Error&) {  // sizes contradict one another
          return true;
        }
        ++made;
        const std::string printed = to_string(*p);
        const Program q = parse_program(printed);
        const bool same_program = equal(*p, q);  // axis names are hints, the first wins
        if (!same_program) std::cerr << printed << "is read as\n" << to_string(q);
        return same_program;
      },
      120);
  EXPECT_TRUE(held);
  EXPECT_GT(nodes, 5000);
  EXPECT_GT(made, 500);
}

}  // namespace
}  // namespace mote
