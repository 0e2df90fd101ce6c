// SPDX-License-Identifier: Apache-2.0
// Draws random cases for loop programs, and compares results.
#include "pass_testing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "mote/base/error.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/walk.h"
#include "mote/macroops/catalogue.h"

namespace mote::test {
namespace {

constexpr int kCases = 40;

struct Case {
  std::vector<Array> inputs;
  std::map<std::string, Number> params;
};

/// The reals that are drawn: sums of whole numbers are the same in any order.
enum class Reals : std::uint8_t { any, whole };

Array random_array(const Uop& u, const std::map<Symbol, std::int64_t>& values, Reals reals,
                   std::mt19937& engine) {
  Array a;
  a.dtype = u.dtype();
  for (const Expr& e : u.shape()) a.shape.push_back(evaluate(e, values));
  std::uniform_int_distribution<int> small(-3, 3);
  std::uniform_real_distribution<double> real(-1, 1);
  const bool whole = engine() % 2 == 0 || reals == Reals::whole;
  for (std::int64_t k = element_count(a.shape); k > 0; --k) {
    if (u.dtype() == DType::boolean) {
      a.values.emplace_back(std::int64_t{small(engine) > 0});
    } else if (is_integer(u.dtype())) {
      a.values.push_back(store_as(std::int64_t{small(engine)}, u.dtype()));
    } else {
      const double v = whole ? small(engine) : real(engine);
      a.values.push_back(store_as(v, u.dtype()));
    }
  }
  return a;
}

Case random_case(const Program& p, Reals reals, std::mt19937& engine) {
  constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 5};
  Case c;
  std::map<Symbol, std::int64_t> values;
  for (const ParamDecl& d : p.params) {
    const std::int64_t v = d.lower.value_or(0) + static_cast<std::int64_t>(engine() % 3);
    c.params[d.name] = d.is_integer ? Number(v) : Number(0.5 * static_cast<double>(v));
    if (d.is_integer) values[Symbol(SymbolKind::param, d.name)] = v;
  }
  for (const SizeRule& r : p.size_rules) values[r.size] = kSizes[engine() % 5];
  for (const Uop& u : p.inputs) c.inputs.push_back(random_array(u, values, reals, engine));
  return c;
}

bool is_legal(const LoopProgram& p, const Case& c) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Array& a : c.inputs) shapes.push_back(a.shape);
  try {
    return meets_demands(p, mote::bind(*p.source, shapes, c.params));
  } catch (const Error&) {
    return false;
  }
}

/// Returns a case whose derived sizes are not negative, and that meets the program's demands.
Case legal_case(const LoopProgram& p, Reals reals, std::mt19937& engine) {
  constexpr int kTries = 1000;
  for (int k = 0; k < kTries; ++k)
    if (Case c = random_case(*p.source, reals, engine); is_legal(p, c)) return c;
  throw Error(p.name + ": no legal case among those drawn");
}

/// True if the arrays are equal bit for bit; all NaNs are equal.
bool are_identical(const Array& a, const Array& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                    [](const Number& x, const Number& y) { return identical(x, y); });
}

std::string text_of(const Array& a) {
  std::vector<std::string> values;
  for (const Number& n : a.values)
    values.push_back(n.is_real() ? fmt::format("{}", n.real()) : fmt::format("{}", n.integer()));
  return fmt::format("[{}]({})", fmt::join(a.shape, ","), fmt::join(values, " "));
}

std::string text_of(const Case& c) {
  std::string out;
  for (const Array& a : c.inputs) out += (out.empty() ? "inputs " : ", ") + text_of(a);
  for (const auto& [name, n] : c.params)
    out += fmt::format(", {}={}", name, n.is_real() ? n.real() : static_cast<double>(n.integer()));
  return out;
}

template <typename F, typename G>
void expect_alike(const LoopProgram& p, const F& expected, const G& got, Reals reals = Reals::any) {
  std::mt19937 engine(7);
  for (int k = 0; k < kCases; ++k) {
    const Case c = legal_case(p, reals, engine);
    const std::vector<Array> want = expected(c);
    const std::vector<Array> have = got(c);
    ASSERT_EQ(want.size(), have.size());
    for (std::size_t o = 0; o < want.size(); ++o)
      ASSERT_TRUE(are_identical(want[o], have[o]))
          << "case " << k << ", output " << p.source->outputs[o].name << ": expected "
          << text_of(want[o]) << ", got " << text_of(have[o]) << ", " << text_of(c) << "\n"
          << to_string(p);
  }
}

/// Returns true if statements add to elements of tensors.
bool adds_to_elements(const LoopProgram& p) {
  bool adds = false;
  for_each(p.body, [&](const Stmt& s) {
    const auto* reduce = std::get_if<StoreReduce>(&s.kind);
    adds = adds || (reduce != nullptr && reduce->op == ScatterOp::add);
  });
  return adds;
}

}  // namespace

std::shared_ptr<const Program> program(const std::string& text) {
  return std::make_shared<const Program>(parse_program(text));
}

LoopProgram compiled_op(const std::string& op, DType dtype) {
  const OpRecord& record = find_op(op);
  return compile(instantiate(record, {dtype, full_mask(record)}));
}

LoopProgram running_sum() {
  const Expr n = var("n");
  const Value before = guard_value({nonneg(n - 1)}, at("t", {n - 1}), 0.0);
  return loops_of(copy_spec("running"),
                  {loop("k", size("N"), {store("t", {var("k")}, at("x", {var("k")}))}),
                   loop("n", size("N"), {store("t", {n}, op(MapOp::add, {before, at("x", {n})}))}),
                   loop("m", size("N"), {store("y", {var("m")}, at("t", {var("m")}))})},
                  {temporary("t", {size("N")})});
}

void expect_same_meaning(const LoopProgram& a, const LoopProgram& b) {
  // Tiles in registers may take sums in another order; a sum in an element of a tensor, not in an
  // accumulator, is rounded as it grows.
  expect_alike(
      b, [&](const Case& c) { return interpret(a, c.inputs, c.params); },
      [&](const Case& c) { return interpret(b, c.inputs, c.params); },
      b.vector_bytes == 0 && adds_to_elements(a) == adds_to_elements(b) ? Reals::any
                                                                        : Reals::whole);
}

void expect_right(const LoopProgram& p) {
  expect_alike(
      p, [&](const Case& c) { return evaluate(*p.source, c.inputs, c.params); },
      [&](const Case& c) { return interpret(p, c.inputs, c.params); });
}

LoopProgram run_checked(LoopProgram (*pass)(LoopProgram), const LoopProgram& p) {
  verify(p);
  LoopProgram after = pass(p);
  verify(after);
  expect_same_meaning(p, after);
  return after;
}

LoopProgram expect_golden_pass(LoopProgram (*pass)(LoopProgram), const LoopProgram& p) {
  LoopProgram after = run_checked(pass, p);
  EXPECT_NE(to_string(after), to_string(p));
  expect_golden("before\n" + to_string(p) + "\nafter\n" + to_string(after));
  return after;
}

void expect_unchanged(LoopProgram (*pass)(LoopProgram), const LoopProgram& p) {
  EXPECT_EQ(to_string(run_checked(pass, p)), to_string(p));
}

Schedule scheduled(const LoopProgram& p, bool may_multiply_padding) {
  ScheduleOptions options{.may_multiply_padding = may_multiply_padding};
  Schedule s = schedule(p, options);
  verify(s);
  // The sizes drawn are less than those of a tile: the same steps are checked with smaller ones.
  options.shapes = {{8, 1, 2}};
  options.block = 2;
  options.tiles = 2;
  options.least_iterations = 1;
  options.rows = 2;
  options.sums = 2;
  const Schedule small = schedule(p, options);
  verify(small);
  for (const Schedule* all : std::initializer_list<const Schedule*>{&s, &small})
    for (const Version& v : all->versions)
      if (all == &small || v.program.demands.empty()) expect_same_meaning(p, v.program);
  return s;
}

void expect_golden_schedule(const LoopProgram& p, bool may_multiply_padding) {
  const Schedule s = scheduled(p, may_multiply_padding);
  expect_golden(to_string(s) + "\n" + emit_c(s, {.function = "", .standalone = true}));
}

}  // namespace mote::test
