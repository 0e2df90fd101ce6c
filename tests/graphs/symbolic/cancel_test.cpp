// SPDX-License-Identifier: Apache-2.0
// The pass cancel.
#include <gtest/gtest.h>

#include <cmath>

#include "pass_case.h"

namespace mote {
namespace {

using test::apply_and_compare;
using test::node_total;

constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16,   DType::i8,
                             DType::u8,  DType::i32, DType::i64, DType::boolean};

/// exp(convert(convert(x, between), dtype)), or by the ops cast_*.
SymbolicGraph there_and_back(DType dtype, DType between, bool by_ops) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {dtype, {2, 3}});
  const auto to = [&](TensorSymbol from, DType type) {
    return by_ops ? g.add("cast_" + std::string(name(type)), {from})
                  : g.convert(from, {type, {2, 3}});
  };
  const TensorSymbol y = to(to(x, between), dtype);
  g.set_outputs({g.convert(y, {DType::f64, {2, 3}})});
  return g;
}

/// True if every pattern of bits that is a value of `dtype` survives; for 32 and 64 bits some.
bool survives(DType dtype, DType between) {
  const std::int64_t count = size_of(dtype) == 1 ? 256 : 65536;
  const Tensor x(dtype, {count});
  for (std::int64_t k = 0; k < count; ++k) {
    auto* bytes =
        static_cast<unsigned char*>(x.data()) + static_cast<std::size_t>(k) * size_of(dtype);
    std::uint64_t bits = static_cast<std::uint64_t>(k);
    if (size_of(dtype) >= 4)
      bits = (bits << (8 * (size_of(dtype) - 2))) | (bits * 40503U & 0xFFFFU);
    std::memcpy(bytes, &bits, size_of(dtype));
  }
  const Tensor y(between, {count});
  const Tensor z(dtype, {count});
  copy(x, y);
  copy(y, z);
  for (std::int64_t k = 0; k < count; ++k) {
    // A signalling NaN may become a quiet one.
    if (is_real(dtype) && std::isnan(x.real_at({k}))) continue;
    const auto at = static_cast<std::size_t>(k) * size_of(dtype);
    if (std::memcmp(static_cast<char*>(x.data()) + at, static_cast<char*>(z.data()) + at,
                    size_of(dtype)) != 0)
      return false;
  }
  return true;
}

TEST(Cancel, ConversionsThatLoseNothingAndNoOthers) {
  for (const DType dtype : kDTypes)
    for (const DType between : kDTypes)
      for (const bool by_ops : {false, true}) {
        SymbolicGraph g = there_and_back(dtype, between, by_ops);
        const std::size_t before = node_total(g);
        apply_and_compare(g, {"cancel"});
        SCOPED_TRACE(std::string(name(dtype)) + " by " + std::string(name(between)));
        if (node_total(g) < before) {
          EXPECT_TRUE(survives(dtype, between));
        } else if (is_real(dtype) && size_of(dtype) > 2) {
          EXPECT_FALSE(survives(dtype, between));
        }
      }
  SymbolicGraph g = there_and_back(DType::f32, DType::f64, false);
  EXPECT_EQ(apply_and_compare(g, {"cancel", "prune"}), "prune: 1 node removed, 2 symbols removed");
  SymbolicGraph lossy = there_and_back(DType::f32, DType::f16, false);
  EXPECT_EQ(apply_and_compare(lossy, {"cancel"}), "cancel: nothing");
}

TEST(Cancel, QuietNaNsKeepTheirBits) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2}});
  const TensorSymbol y = g.convert(g.convert(x, {DType::f64, {2}}), {DType::f32, {2}});
  g.set_outputs({y});
  const Tensor nan(DType::f32, {2});
  const std::uint32_t bits[] = {0x7FC12345U, 0xFFC54321U};
  std::memcpy(nan.data(), bits, sizeof bits);
  EXPECT_EQ(test::bytes_of(evaluate(g, {{x, nan}}, {y})[0]), test::bytes_of(nan));
  EXPECT_EQ(apply_and_compare(g, {"cancel"}), "cancel: 1 node undone");
  EXPECT_EQ(test::bytes_of(evaluate(g, {{x, nan}}, {y})[0]), test::bytes_of(nan));
}

TEST(Cancel, TransposesAndPermutedViews) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3, 4}});
  const TensorSymbol a = g.add("transpose", {g.add("transpose", {x})});
  // A copy of a view of a copy of a view.
  const TensorSymbol b = g.convert(g.permute(x, {2, 0, 1}), {DType::f32, {4, 2, 3}});
  const TensorSymbol c = g.convert(g.permute(b, {1, 2, 0}), {DType::f32, {2, 3, 4}});
  // An op and a view.
  const TensorSymbol d =
      g.convert(g.permute(g.add("transpose", {x}), {0, 2, 1}), {DType::f32, {2, 3, 4}});
  g.set_outputs({g.add("exp", {a}), g.add("exp", {c}), g.add("exp", {d})});
  EXPECT_EQ(apply_and_compare(g, {"cancel"}), "cancel: 3 nodes undone");
  for (const std::uint32_t output : g.output_indices())
    EXPECT_EQ(g.nodes()[g.symbols()[output].producer].inputs.front(), x.index);
}

TEST(Cancel, NotOtherOrdersOfAxes) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {3, 3, 3}});
  const TensorSymbol b = g.convert(g.permute(x, {2, 0, 1}), {DType::f32, {3, 3, 3}});
  const TensorSymbol c = g.convert(g.permute(b, {2, 0, 1}), {DType::f32, {3, 3, 3}});
  const TensorSymbol d =
      g.convert(g.permute(g.add("transpose", {x}), {1, 0, 2}), {DType::f32, {3, 3, 3}});
  g.set_outputs({g.add("exp", {c}), g.add("exp", {d})});
  EXPECT_EQ(apply_and_compare(g, {"cancel"}), "cancel: nothing");
}

TEST(Cancel, CopiesToAnotherLayoutAndBack) {
  SymbolicGraph g;
  const TensorForm rows{DType::f32, {2, 3}};
  const TensorSymbol x = g.input("x", rows);
  const TensorSymbol y = g.convert(g.convert(x, {DType::f32, {2, 3}, {1, 2}}), rows);
  const TensorSymbol strided = g.convert(x, {DType::f32, {2, 3}, {1, 2}});
  const TensorSymbol same = g.convert(x, rows);
  g.set_outputs({g.add("exp", {y}), g.add("sin", {strided}), g.add("cos", {same})});
  // Strides choose the kernel's version, so `strided` stays.
  EXPECT_EQ(apply_and_compare(g, {"cancel"}), "cancel: 2 nodes undone");
  EXPECT_EQ(g.nodes()[g.symbols()[g.output_indices()[1]].producer].inputs.front(), strided.index);
}

TEST(Cancel, OpsThatAreTheirOwnInverse) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  const TensorSymbol i = g.input("i", {DType::i32, {2, 3}});
  g.set_outputs({g.add("exp", {g.add("neg", {g.add("neg", {x})})}),
                 g.add("exp", {g.add("flip axis=1", {g.add("flip axis=1", {x})})}),
                 g.add("exp", {g.add("flip axis=1", {g.add("flip axis=0", {x})})}),
                 g.add("abs", {g.add("bitwise_not", {g.add("bitwise_not", {i})})})});
  EXPECT_EQ(apply_and_compare(g, {"cancel"}), "cancel: 3 nodes undone");
}

TEST(Cancel, NegKeepsAllBits) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::i8, DType::f32, DType::f64}) {
    const std::int64_t count = size_of(dtype) == 1 ? 256 : 65536;
    const Tensor x(dtype, {count});
    for (std::int64_t k = 0; k < count; ++k) {
      const std::uint64_t bits = static_cast<std::uint64_t>(k)
                                 << (8 * (size_of(dtype) > 2 ? size_of(dtype) - 2 : 0));
      std::memcpy(static_cast<char*>(x.data()) + static_cast<std::size_t>(k) * size_of(dtype),
                  &bits, size_of(dtype));
    }
    const Tensor y = compute(Command("neg", {}), {&x})[0];
    const Tensor z = compute(Command("neg", {}), {&y})[0];
    std::int64_t different = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const auto at = static_cast<std::size_t>(k) * size_of(dtype);
      const bool same = std::memcmp(static_cast<char*>(x.data()) + at,
                                    static_cast<char*>(z.data()) + at, size_of(dtype)) == 0;
      if (!same && !(is_real(dtype) && std::isnan(x.real_at({k})))) ++different;
    }
    EXPECT_EQ(different, 0) << name(dtype);
  }
}

TEST(Cancel, OpsThatALibrarySaysAreTheirOwnInverse) {
  Registry& registry = Registry::global();
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {3}});
  g.set_outputs({g.add("exp", {g.add("recip", {g.add("recip", {x})})})});
  EXPECT_EQ(apply_and_compare(g, {"cancel"}), "cancel: nothing");  // 1/(1/x) rounds twice
  registry.set(registry.get("recip"), kInvolution, false);
  EXPECT_EQ(apply_and_compare(g, {"cancel"}), "cancel: nothing");
  registry.set(registry.get("abs"), kInvolution, true);  // it is not, so the pass shows
  SymbolicGraph f;
  f.set_outputs({f.add("exp", {f.add("abs", {f.add("abs", {f.input("x", {DType::f64, {3}})})})})});
  EXPECT_EQ(apply_passes(f, std::vector<std::string>{"cancel"}).front().text,
            "cancel: 1 node undone");
  registry.set(registry.get("abs"), kInvolution, false, kDefaultLevel + 1);
}

TEST(Cancel, AnOutputStaysATensorOfItsOwn) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  const TensorSymbol y = g.add("transpose", {g.add("transpose", {x})});
  const TensorSymbol z = g.convert(x, {DType::f32, {2, 3}});
  g.set_outputs({y, z});
  EXPECT_EQ(apply_and_compare(g, {"cancel"}), "cancel: 1 node undone");
  EXPECT_EQ(g.outputs().front(), y);
  EXPECT_EQ(g.info(g.producer(y)).kind, NodeKind::copy);
}

TEST(Cancel, NotOrderedOrRecomputedNodes) {
  for (const bool is_ordered : {true, false}) {
    SymbolicGraph g;
    const TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
    const TensorSymbol y = g.add("neg", {g.add("neg", {x})});
    const TensorSymbol z = g.add("sin", {x});
    if (is_ordered)
      g.order(g.producer(z), g.producer(y));
    else
      g.mark_recomputed(g.producer(y), 1);
    g.set_outputs({g.add("exp", {y}), z});
    EXPECT_EQ(apply_and_compare(g, {"cancel"}), "cancel: nothing");
  }
}

TEST(Cancel, LongChainsInLinearTime) {
  SymbolicGraph g;
  TensorSymbol y = g.input("x", {DType::f32, {2, 3}});
  for (int k = 0; k < 2000; ++k)
    y = g.convert(g.convert(y, {DType::f64, {2, 3}}), {DType::f32, {2, 3}});
  g.set_outputs({g.add("exp", {y})});
  EXPECT_EQ(apply_and_compare(g, {"cancel", "prune"}),
            "prune: 2000 nodes removed, 4000 symbols removed");
}

}  // namespace
}  // namespace mote
