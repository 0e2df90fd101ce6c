// SPDX-License-Identifier: Apache-2.0
// Tests which iterations of a loop are known to access different elements of a flattened tensor.
// MOTE_RANDOM_PROGRAMS sets the number of random nests, MOTE_SEED the first seed.
#include "schedule/iterations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <set>
#include <string>

#include "loop_variables.h"
#include "random/rng.h"
#include "random_run.h"

namespace mote {
namespace {

using namespace test;

const Expr A = size("A"), B = size("B"), C = size("C");

/// A loop from 0 on.
struct Around {
  std::string name;
  Expr end, step = 1;
};
/// Loops, outermost first, around stores under conditions.
struct Nest {
  std::vector<Around> loops;
  Conditions conditions;
  std::vector<std::vector<Expr>> indices{};  ///< of the elements of one tensor
  Conditions of_first{};                     ///< the first store alone is under these too
};

LoopProgram program_of(const Nest& nest) {
  Body body;
  for (const auto& index : nest.indices) body.push_back(store("t", index, real(1)));
  if (!nest.of_first.empty()) body.front() = when(nest.of_first, {body.front()});
  if (!nest.conditions.empty()) body = {when(nest.conditions, std::move(body))};
  for (std::size_t k = nest.loops.size(); k-- > 0;) {
    Stmt s = loop(nest.loops[k].name, nest.loops[k].end, std::move(body));
    std::get<Loop>(s.kind).step = nest.loops[k].step;
    body = {std::move(s)};
  }
  const Uop x = input("x", DType::f32, {"A", "B", "C"});
  return loops_of({"flat", "", {}, {x}, {{"y", x}}, {}, {}}, std::move(body),
                  {temporary("t", std::vector<Expr>(nest.indices.front().size(), A * B * C))});
}

/// Returns true if the iterations of the loop are found to be independent, without elements of
/// their own.
bool are_independent(const Nest& nest, const std::string& of) {
  const LoopProgram p = program_of(nest);
  const Stmt* s = &p.body.front();
  while (std::get<Loop>(s->kind).variable.name() != of) s = &std::get<Loop>(s->kind).body.front();
  const auto own = independent_iterations(p, *s);
  return own && own->empty();
}

/// Returns true if an element is stored by two iterations of the loop within one of the loops
/// around it.
bool meet(const Nest& nest, const std::string& of, const std::map<Symbol, std::int64_t>& sizes) {
  std::map<std::vector<std::int64_t>, std::int64_t> iteration_of;  // by outer values and element
  bool found = false;
  std::map<Symbol, std::int64_t> values = sizes;
  const auto visit = [&](const auto& self, std::size_t depth) -> void {
    if (depth < nest.loops.size()) {
      const Around& l = nest.loops[depth];
      for (std::int64_t v = 0; v < evaluate(l.end, values); v += *l.step.constant()) {
        values[variable(l.name)] = v;
        self(self, depth + 1);
      }
      values.erase(variable(l.name));
      return;
    }
    const auto hold = [&](const Conditions& all) {
      return std::ranges::all_of(all,
                                 [&](const Condition& c) { return evaluate(c.e, values) >= 0; });
    };
    if (!hold(nest.conditions)) return;
    std::vector<std::int64_t> key;
    for (std::size_t k = 0; nest.loops[k].name != of; ++k)
      key.push_back(values.at(variable(nest.loops[k].name)));
    for (const std::vector<Expr>& index : nest.indices) {
      if (&index == &nest.indices.front() && !hold(nest.of_first)) continue;
      std::vector<std::int64_t> element = key;
      for (const Expr& e : index) element.push_back(evaluate(e, values));
      const std::int64_t iteration = values.at(variable(of));
      found =
          found || iteration_of.emplace(std::move(element), iteration).first->second != iteration;
    }
  };
  visit(visit, 0);
  return found;
}

/// Returns true if an element is so stored for some small sizes.
bool meet_for_some_sizes(const Nest& nest, const std::string& of) {
  bool any = false;
  for (std::int64_t sizes = 0; sizes < 5 * 5 * 3 && !any; ++sizes)
    any = meet(nest, of,
               {{*A.as_symbol(), 1 + sizes % 5},
                {*B.as_symbol(), 1 + sizes / 5 % 5},
                {*C.as_symbol(), 1 + sizes / 25}});
  return any;
}

void expect_apart(const Nest& nest, const std::vector<std::string>& loops) {
  for (const std::string& of : loops) {
    EXPECT_TRUE(are_independent(nest, of)) << of << " of\n" << to_string(program_of(nest));
    EXPECT_FALSE(meet_for_some_sizes(nest, of)) << of;
  }
}

/// Iterations do meet, and are not taken for independent.
void expect_meetings(const Nest& nest, const std::vector<std::string>& loops) {
  for (const std::string& of : loops) {
    EXPECT_FALSE(are_independent(nest, of)) << of << " of\n" << to_string(program_of(nest));
    EXPECT_TRUE(meet_for_some_sizes(nest, of)) << of;
  }
}

const Expr q = var("j") + var("k");

/// A loop over parts of B, whose iterations only the digits of an index tell apart: q is less than
/// B, or `below`, by the condition alone.
Nest in_parts(const Expr& index, const Expr& below = B) {
  return {{{"j", below, 4}, {"i", A}, {"k", 4}}, {nonneg(below - 1 - q)}, {{index}}};
}

TEST(Iterations, AreApartByTheDigitsOfAFlattenedIndex) {
  for (const Expr& index : {i * B + q, q * A + i, q * A + A - 1 - i, i * (B + 1) + q})
    expect_apart(in_parts(index), {"i", "j", "k"});
  expect_apart(in_parts(i * B + q, B - 1), {"i", "j", "k"});
  expect_apart(in_parts(i * 32 + 2 * q, 16), {"i", "j", "k"});
}

TEST(Iterations, MayMeetWhereADigitOverlapsTheNext) {
  expect_meetings(in_parts(i * B + q, B + 1), {"i", "j"});
  expect_meetings(in_parts(i * (B - 1) + q), {"i", "j"});
  expect_meetings(in_parts(i * C + q), {"i", "j"});
  expect_meetings(in_parts(i * B + q + B - 1 - 2 * i), {"j"});
  expect_meetings(in_parts(q * (A - 1) + i), {"i", "j"});
  expect_meetings(in_parts(i * 32 + 2 * q, 17), {"j"});
}

TEST(Iterations, AreApartByThreeDigits) {
  const auto nest = [&](const Expr& index) {
    Nest made = in_parts(index);
    made.loops.insert(made.loops.begin() + 1, {"c", C});
    return made;
  };
  const Expr c = var("c");
  expect_apart(nest((c * A + i) * B + q), {"i", "j", "k", "c"});
  expect_apart(nest((i * B + q) * C + c), {"i", "j", "k", "c"});
  expect_meetings(nest((c * (A - 1) + i) * B + q), {"c"});
  expect_meetings(nest((i * B + q) * (C - 1) + c), {"j", "c"});
}

/// All references must have the same digits.
TEST(Iterations, MayMeetWhereTwoElementsHaveDifferentStrides) {
  Nest nest = in_parts(i * B + q);
  nest.indices.push_back({q * A + i});
  expect_meetings(nest, {"j"});
  nest.indices.back() = {i * B + q + A * B};
  expect_apart(nest, {"j"});
}

/// What holds around one store says nothing of another: C may be 1 around the second.
TEST(Iterations, MayMeetWhereTheStrideIsKnownAtOneStoreOnly) {
  const Expr j = var("j"), index = i * (C - 1) + j;
  const Nest one{{{"j", C}, {"i", A}}, {nonneg(C - 2)}, {{index}}};
  expect_apart(one, {"i"});
  expect_meetings({one.loops, {}, {{index}, {index}}, one.conditions}, {"i"});
}

TEST(Iterations, AreApartByQuotientAndRemainder) {
  const auto nest = [](std::vector<Expr> index) {
    return Nest{{{"i", 2 * A * B}}, {}, {std::move(index)}};
  };
  for (const std::vector<Expr>& index : {std::vector{i / B, i % B}, {i % B, i / B}})
    expect_apart(nest(index), {"i"});
  expect_apart(nest({i / (B * C), i / C % B, i % C}), {"i"});
  expect_apart(nest({i / C / B, i / C % B, i % C}), {"i"});
  for (const std::vector<Expr>& index :
       {std::vector{i / B, i % C}, {i / (B + 1), i % B}, {i / B, (2 * i) % B}, {i % B}})
    expect_meetings(nest(index), {"i"});
  expect_meetings(nest({i / (B * C), i / C % A, i % C}), {"i"});
}

/// Draws a nest of three loops, one of them perhaps over parts of a size, and indices whose strides
/// are near those of a flattened tensor.
Nest random_nest(Rng& rng) {
  const auto some_size = [&] { return rng.pick({A, B, C, Expr(2), Expr(3)}); };
  const auto about = [&](const Expr& e) { return rng.chance(75) ? e : e + rng.below(3) - 1; };
  const Expr parts = some_size(), other = some_size();
  Nest nest{{{"j", parts, 2}, {"i", other}, {"k", 2}}, {}};
  if (rng.chance(85)) nest.conditions.push_back(nonneg(about(parts) - 1 - q));
  rng.shuffle(nest.loops);
  const auto digits = [&]() -> Expr {
    const Expr own = rng.chance(80) ? i : other - 1 - i;
    const Expr flat = rng.chance(50) ? own * about(parts) + q : q * about(other) + own;
    return rng.chance(80) ? flat : flat * rng.pick({Expr(2), C, C - 1}) + rng.below(2);
  };
  std::vector<Expr> index = {digits()};
  if (rng.chance(40)) {
    const Expr n = index.front(), radix = some_size();
    index = {n / radix, n % (rng.chance(75) ? radix : radix + 1)};
    if (index.back().constant()) index.pop_back();
  }
  nest.indices.push_back(index);
  if (rng.chance(20)) {
    for (Expr& e : index) e = e + rng.below(2) * A;
    nest.indices.push_back(index);
    if (rng.chance(50)) nest.of_first.push_back(nonneg(var(rng.pick({"i", "j", "k"})) - 1));
  }
  return nest;
}

/// Whatever is found to be independent is so for all small sizes.
TEST(Iterations, AreNeverTakenForIndependentIfTwoMeet) {
  const std::string how_many = environment("MOTE_RANDOM_PROGRAMS");
  const int count = how_many.empty() ? 400 : std::stoi(how_many);
  const std::uint64_t first = first_seed();
  std::cout << count << " random nests from MOTE_SEED=" << first << "\n";
  int independent = 0, apart = 0;
  for (int k = 0; k < count && !HasFailure(); ++k) {
    Rng rng(first + static_cast<std::uint64_t>(k));
    const Nest nest = random_nest(rng);
    for (const char* of : {"i", "j", "k"}) {
      const bool is_found = are_independent(nest, of);
      const bool any = meet_for_some_sizes(nest, of);
      independent += is_found ? 1 : 0;
      apart += any ? 0 : 1;
      EXPECT_FALSE(is_found && any)
          << "MOTE_RANDOM_PROGRAMS=1 MOTE_SEED=" << first + static_cast<std::uint64_t>(k)
          << ", loop " << of << " of\n"
          << to_string(program_of(nest));
    }
  }
  std::cout << fmt::format("  {} of {} loops are independent; {} are found\n", apart, 3 * count,
                           independent);
  if (count >= 200) {
    EXPECT_GE(2 * independent, apart) << "hardly any is found";
  }
}

/// Returns the temporaries that the iterations of r have for themselves if t is filled in two
/// loops, [0, `first_end`) and [second_begin, B), and read from 0 to B; nullopt if they depend on
/// one another.
std::optional<std::set<std::string>> own_if_filled(const Expr& first_end,
                                                   const Expr& second_begin) {
  const Uop x = input("x", DType::f32, {"A", "B"});
  const auto fill = [&](const std::string& v, const Expr& begin, const Expr& end) {
    Stmt s = loop(v, end, {store("t", {var(v)}, at("x", {var("r"), var(v)}))});
    std::get<Loop>(s.kind).begin = begin;
    return s;
  };
  Body body = {fill("i", 0, first_end), fill("j", second_begin, B),
               loop("k", B, {store("y", {var("r"), var("k")}, at("t", {var("k")}))})};
  const LoopProgram p = loops_of({"parts", "", {}, {x}, {{"y", x}}, {}, {}},
                                 {loop("r", A, std::move(body))}, {temporary("t", {B})});
  return independent_iterations(p, p.body.front());
}

/// Iterations share a temporary that each fills whole, in one loop or in two that meet.
TEST(Iterations, OwnATemporaryThatTwoLoopsFill) {
  const std::set<std::string> t = {"t"};
  EXPECT_EQ(own_if_filled(B / 2, B / 2), t);
  EXPECT_EQ(own_if_filled(B / 2 + 1, B / 2), t) << "the parts overlap";
  EXPECT_EQ(own_if_filled(B / 2, B / 2 + 1), std::nullopt) << "an element between them is missing";
  EXPECT_EQ(own_if_filled(B / 2, 1), std::nullopt) << "if B = 1, element 0 is missing";
}

}  // namespace
}  // namespace mote
