// SPDX-License-Identifier: Apache-2.0
// Draws inputs, outputs and shapes of random programs, and chooses the next node to add.
#include "program_builder.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>

namespace mote::test {
namespace {

const Expr kA = Expr::size("A");
const Expr kB = Expr::size("B");
const Expr kC = Expr::size("C");

std::map<Symbol, std::int64_t> every_size(const Expr& e, std::int64_t a, std::int64_t c) {
  std::map<Symbol, std::int64_t> values;
  for (const Symbol s : e.symbols()) values.emplace(s, s.name() == "C" ? c : a);
  return values;
}

}  // namespace

Expr ProgramBuilder::some_extent() {
  return rng_.pick<Expr>({kA, kA, kA, kB, kB, kB, kC, kC, Expr(1), Expr(2), Expr(3)});
}

ProgramBuilder::Extents ProgramBuilder::some_shape(int rank) {
  Extents shape;
  for (int k = 0; k < rank; ++k) shape.push_back(some_extent());
  return shape;
}

bool ProgramBuilder::fits(const Extents& shape) const {
  if (shape.size() > 4) return false;
  std::int64_t count = 1;
  for (const Expr& e : shape) {
    const Expr extent = unaliased(e);
    count *= evaluate(extent, every_size(extent, 5, 5));
  }
  return count <= budget_.most_elements;
}

bool ProgramBuilder::surely_positive(const Expr& extent) {
  return evaluate(extent, every_size(extent, 0, 1)) >= 1;
}

bool ProgramBuilder::same_shape(const Extents& a, const Extents& b) const {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const Expr& x, const Expr& y) { return unaliased(x) == unaliased(y); });
}

// Draws one axis of an input: a size, another name for it that unification must find, or 1|size.
Axis ProgramBuilder::some_axis() {
  const Expr extent = some_extent();
  Axis axis(extent);
  if (extent.constant() || extent == kC) return axis;
  if (rng_.chance(8)) {
    const Symbol other(SymbolKind::size, extent == kA ? "P" : "Q");
    alias_.emplace(other, extent);
    if (rng_.chance(50)) constraints_.push_back({Expr(other), extent});
    return Axis(Expr(other));
  }
  axis.broadcast = rng_.chance(8);
  return axis;
}

void ProgramBuilder::add_inputs() {
  const int count = 1 + rng_.below(3);
  std::set<Symbol> known;
  for (int k = 0; k < count; ++k) {
    Shape shape;
    const int rank = rng_.pick({0, 1, 2, 2, 2, 3, 3});
    for (int axis = 0; axis < rank; ++axis) shape.push_back(some_axis());
    inputs_.push_back(input(std::string(1, static_cast<char>('x' + k)), some_dtype(), shape));
    for (const Expr& e : inputs_.back().shape())
      for (const Symbol s : e.symbols()) known.insert(s);
  }
  // Every size must follow from an input; one more input gives the missing sizes.
  Shape rest;
  for (const Expr& e : {kA, kB, kC})
    if (!known.contains(*e.as_symbol())) rest.emplace_back(e);
  if (rng_.chance(30)) rest.emplace_back(rng_.pick({kA * kB, kB * 2, kA * kC, kC + 1, kA * 2 + 1}));
  if (!rest.empty()) inputs_.push_back(input("w", DType::f64, rest));
  pool_ = inputs_;
}

const Uop& ProgramBuilder::recent() {
  const int n = static_cast<int>(pool_.size());
  if (rng_.chance(25)) return rng_.pick(pool_);
  return pool_[static_cast<std::size_t>(n - 1 - rng_.below(std::min(n, 4)))];
}

void ProgramBuilder::add_node() {
  using Make = Uop (ProgramBuilder::*)(const Uop&);
  struct Choice {
    int weight;
    Make make;
  };
  // The last are twins, which only some programs have.
  static constexpr std::array kChoices = std::to_array<Choice>({
      {6, &ProgramBuilder::make_unary},       {12, &ProgramBuilder::make_binary},
      {5, &ProgramBuilder::make_where},       {8, &ProgramBuilder::make_mask},
      {4, &ProgramBuilder::make_cast},        {14, &ProgramBuilder::make_reduce},
      {6, &ProgramBuilder::make_broadcast},   {9, &ProgramBuilder::make_shift},
      {4, &ProgramBuilder::make_permutation}, {6, &ProgramBuilder::make_merge},
      {6, &ProgramBuilder::make_split},       {4, &ProgramBuilder::make_diagonal},
      {4, &ProgramBuilder::make_pick},        {6, &ProgramBuilder::make_any_map},
      {5, &ProgramBuilder::make_window},      {8, &ProgramBuilder::make_select},
      {6, &ProgramBuilder::make_scatter},     {5, &ProgramBuilder::make_select_scatter},
      {4, &ProgramBuilder::make_param},       {2, &ProgramBuilder::make_stop},
      {4, &ProgramBuilder::make_product},     {4, &ProgramBuilder::make_normalised},
      {3, &ProgramBuilder::make_running},     {9, &ProgramBuilder::make_masked},
      {6, &ProgramBuilder::make_overlap},     {6, &ProgramBuilder::make_twin},
  });
  const std::size_t count = kChoices.size() - (budget_.has_twins ? 0 : 1);
  const std::span choices(kChoices.data(), count);
  int sum = 0;
  for (const Choice& c : choices) sum += c.weight;
  int at = rng_.below(sum);
  const Choice* choice = kChoices.data();
  while (at >= choice->weight) at -= (choice++)->weight;
  const Uop u = recent();
  const Uop made = (this->*choice->make)(u);
  const bool is_bare = made && (std::holds_alternative<uop::Scalar>(made.node().kind) ||
                                std::holds_alternative<uop::Param>(made.node().kind));
  if (made && !is_bare && fits(made.shape())) pool_.push_back(made);
}

ProgramSpec ProgramBuilder::finish() {
  std::set<const UopNode*> read;
  for (const Uop& u : pool_)
    for (const Uop& x : topological(std::array{u}))
      if (x.id() != u.id()) read.insert(x.id());
  std::vector<Uop> values;
  const auto most = static_cast<std::size_t>(rng_.below(3)) + 1;
  for (std::size_t k = pool_.size(); k-- > inputs_.size() && values.size() < most;)
    if (!read.contains(pool_[k].id())) values.push_back(pool_[k]);
  if (rng_.chance(30)) values.push_back(recent());  // a node that others read
  if (rng_.chance(10)) values.push_back(values.front());
  rng_.shuffle(values);
  ProgramSpec spec;
  spec.inputs = inputs_;
  spec.constraints = constraints_;
  for (std::size_t k = 0; k < values.size(); ++k)
    spec.outputs.push_back({std::string(1, static_cast<char>('e' + k)), values[k]});
  ParamDecl stride, pad, eps;
  stride.name = "s", stride.lower = 1, stride.upper = 3, stride.default_value = 1;
  pad.name = "p", pad.lower = -1, pad.upper = 2, pad.default_value = 0;
  eps.name = "eps", eps.is_integer = false, eps.default_value = 0.5;
  spec.params = {stride, pad, eps};
  return spec;
}

namespace {

constexpr int kPercentOfProducts = 30;
constexpr int kMaxTries = 20;

Program finished(ProgramBuilder& builder, std::uint64_t seed) {
  ProgramSpec spec = builder.finish();
  spec.name = "random_" + std::to_string(seed);
  return make_program(std::move(spec));
}

}  // namespace

Program random_program(std::uint64_t seed, const Budget& budget) {
  Rng rng(seed);
  ProgramBuilder builder(rng, budget);
  if (budget.has_products && rng.chance(kPercentOfProducts)) {
    builder.add_products();
    const int nodes = builder.node_count() + rng.below(3);
    for (int tries = 0; builder.node_count() < nodes && tries < kMaxTries; ++tries)
      builder.add_node();
    return finished(builder, seed);
  }
  builder.add_inputs();
  const bool is_long = rng.chance(10);
  const int nodes = (is_long ? budget.most_nodes : 0) + budget.least_nodes +
                    rng.below(budget.most_nodes - budget.least_nodes + 1);
  while (builder.node_count() < nodes) builder.add_node();
  return finished(builder, seed);
}

}  // namespace mote::test
