// SPDX-License-Identifier: Apache-2.0
// Writes loops as C: limits that do not change stand before the outermost loop that they fit, and a
// simd loop that asks for strides has a form for those and one for all others.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "c/known_masks.h"
#include "c/writer.h"
#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "passes/conditions.h"
#include "passes/leave_out.h"

namespace mote::emit {
namespace {

/// The bytes of a line of the cache, and the most that are prefetched for a loop: of longer rows
/// the processor itself fetches what follows.
constexpr std::int64_t kCacheLineBytes = 64;
constexpr std::int64_t kMaxPrefetchedBytes = 1 << 14;

/// Returns the one statement of a loop that copies reals to a temporary; null for other loops.
const Store* copy_to_temporary(const LoopProgram& p, const Loop& l) {
  const auto* store = l.body.size() != 1 ? nullptr : std::get_if<Store>(&l.body[0].kind);
  if (store == nullptr || !std::holds_alternative<value::Load>(store->value->kind)) return nullptr;
  const bool is_wide = store->value->dtype == DType::f32 || store->value->dtype == DType::f64;
  const bool is_temporary = find_tensor(p, store->tensor)->role == TensorRole::temporary;
  return is_wide && is_temporary ? store : nullptr;
}

/// Returns true if the loop copies reals of a tensor, of which it reads each or every second one,
/// to adjacent elements of a temporary: a compiler takes every second one from two vectors.
bool may_copy_every_second(const LoopProgram& p, const Loop& l) {
  const Store* store = copy_to_temporary(p, l);
  return store != nullptr && l.adjacent_under_ones.size() == 1 &&
         std::ranges::none_of(store->index, [&](const Expr& e) {
           return e.mentions(l.adjacent_under_ones.front());
         });
}

/// Returns true if the loop lies in one over blocks, which run in order.
bool is_in_block(const Body& body, Symbol variable, bool in_block = false) {
  return std::ranges::any_of(body, [&](const Stmt& s) {
    const Body* inner = nested_body(s);
    const Loop* l = as_loop(s);
    if (l != nullptr && l->variable == variable) return in_block;
    const bool is_over_blocks = l != nullptr && l->kind == LoopKind::serial && l->step != Expr(1);
    return inner != nullptr && is_in_block(*inner, variable, in_block || is_over_blocks);
  });
}

/// Returns true if the loop fills adjacent elements of a temporary in each block, a constant number
/// of them: whole vectors are stored, though their elements are read one by one. Copies that are
/// made once would be no reason for the longer text.
bool fills_whole_vectors(const LoopProgram& p, const Loop& l) {
  const Store* store = copy_to_temporary(p, l);
  return store != nullptr && (l.end - l.begin).constant() &&
         store->index.back() == Expr(l.variable) && is_in_block(p.body, l.variable);
}

bool has_transcendental(const Body& body) {
  bool found = false;
  for_each(body, [&](const Stmt& s) {
    for_each_value(s, [&](const Value& v) {
      const auto* op = std::get_if<value::Op>(&v->kind);
      found = found || (op != nullptr && info(op->op).is_transcendental);
    });
  });
  return found;
}

bool stores_results(const LoopProgram& p, const Body& body) {
  return std::ranges::any_of(accesses(body), [&](const Access& a) {
    return a.write && find_tensor(p, a.tensor)->role == TensorRole::output;
  });
}

/// Returns the number of iterations of a loop in vectors that stores the results of a whole tile in
/// registers. Returns nullopt for other loops, and for functions that take long: the last tile may
/// have fewer iterations, which run without vectors.
std::optional<std::int64_t> iterations_of_whole_tile(const LoopProgram& p, const Loop& l) {
  const auto is_in_registers = [](const TensorDecl& t) {
    return t.memory == TensorMemory::registers;
  };
  if (l.kind != LoopKind::simd || std::ranges::none_of(p.tensors, is_in_registers) ||
      !stores_results(p, l.body) || has_transcendental(l.body))
    return std::nullopt;
  for (const Expr& e : arms(l.end, Atom::Kind::min))
    if (const auto iterations = (e - l.begin).constant(); iterations && e != l.end)
      return iterations;
  return std::nullopt;
}

}  // namespace

Text Writer::limit(const Expr& e, const std::string& hint, const Facts& facts) {
  if (const auto known = limits_.find(&e); known != limits_.end()) return known->second;
  printer_.set_divides_rarely(mentions_loop(e));
  const Text text = printer_.expr(e, facts);
  printer_.set_divides_rarely(false);
  if (printer_.is_polynomial(e)) return text;
  const std::string name = names_.fresh(hint);
  line(fmt::format("const int64_t {} = {};", name, text.text));
  return {name};
}

/// Computes, before a loop, the limits of the loops in it that neither it nor they change.
void Writer::limits_ahead(const Body& b, std::set<Symbol>& changing, const Facts& facts) {
  for (const Stmt& s : b) {
    if (const auto* branch = std::get_if<If>(&s.kind)) limits_ahead(branch->body, changing, facts);
    const auto* l = std::get_if<Loop>(&s.kind);
    if (!l || !loops_over_panels(*l).empty()) continue;
    if (l->kind == LoopKind::unrolled) rows_ahead(*l, changing, facts);
    const auto is_fixed = [&](const Expr& e) {
      return !e.has_load() && !limits_.contains(&e) &&
             std::ranges::none_of(e.symbols(), [&](Symbol v) { return changing.contains(v); });
    };
    const std::string& v = names_.symbol(l->variable);
    if (is_fixed(l->begin)) limits_[&l->begin] = limit(l->begin, v + "_begin", facts);
    if (is_fixed(l->end)) limits_[&l->end] = limit(l->end, v + "_end", facts);
    changing.insert(l->variable);
    limits_ahead(l->body, changing, facts);
  }
}

/// Computes, before a loop in vectors, the values of indices with quotients that it does not
/// change: the compiler leaves divisions in a loop that may have no iterations.
std::map<Expr, std::string> Writer::quotients_ahead(const Loop& l, const Facts& facts) {
  std::map<Expr, std::string> constants;
  if (l.kind != LoopKind::simd) return constants;
  const auto can_be_ahead = [&](const Expr& e) {
    bool has_quotient = false, is_defined = !e.has_load() && !e.mentions(l.variable);
    (void)e.transform([&](const Atom& a) {
      const bool divides = a.kind == Atom::Kind::div || a.kind == Atom::Kind::mod;
      has_quotient = has_quotient || divides;
      is_defined = is_defined && (!divides || facts.prove_positive(a.args[1]));
      return rebuild(a);
    });
    return has_quotient && is_defined;
  };
  for (const Stmt& s : l.body)
    for_each_value(s, [&](const Value& v) {
      const auto* index = std::get_if<value::Index>(&v->kind);
      if (index == nullptr || constants.contains(index->e) || !can_be_ahead(index->e)) return;
      const std::string name = names_.fresh("constant");
      const std::size_t uses_begin = printer_.uses().mark();
      const std::string text = printer_.expr(index->e, facts).text;
      define(name, uses_begin, fmt::format("const int64_t {} = {};", name, text));
      constants.emplace(index->e, name);
    });
  return constants;
}

/// Reads, before a loop in vectors, the elements of temporaries that it does not change: a compiler
/// that expects a store in the loop to change them may leave it without vectors.
void Writer::elements_ahead(const Loop& l, const Facts& facts) {
  if (l.kind != LoopKind::simd || !p_.native || printer_.target() != Target::c) return;
  std::set<std::string> stored;
  for (const Access& a : accesses(l.body))
    if (a.write) stored.insert(a.tensor);
  const auto is_ahead = [&](const value::Load& load) {
    const TensorDecl& t = *find_tensor(p_, load.tensor);
    return t.role == TensorRole::temporary && !t.shape.empty() && !stored.contains(t.name) &&
           t.memory == TensorMemory::automatic && !t.per &&
           std::ranges::all_of(load.index,
                               [&](const Expr& e) {
                                 const auto symbol = e.as_symbol();
                                 return symbol && symbol->kind() == SymbolKind::loop &&
                                        *symbol != l.variable;
                               }) &&
           is_in_range(p_, load, facts);  // the loop may have no iterations
  };
  std::set<std::string> known;  // what elements that were read already are printed as
  const std::function<void(const Value&)> read = [&](const Value& v) {
    if (const auto* op = std::get_if<value::Op>(&v->kind)) std::ranges::for_each(op->args, read);
    const auto* load = std::get_if<value::Load>(&v->kind);
    if (load == nullptr || !is_ahead(*load)) return;
    const TensorDecl& t = *find_tensor(p_, load->tensor);
    const std::string element = printer_.element(t, load->index, facts);
    if (!known.insert(element).second) return;
    const std::string name = names_.fresh(names_.tensor(t.name) + "_here");
    known.insert(name);
    line(fmt::format("const {} {} = {};", local_type(t, true), name, element));
    printer_.hold(t.name, load->index, name);
  };
  for (const Stmt& s : l.body) {
    if (const auto* let = std::get_if<Let>(&s.kind)) read(let->value);
    if (const auto* store = std::get_if<Store>(&s.kind)) read(store->value);
    if (const auto* fold = std::get_if<Fold>(&s.kind)) read(fold->value);
  }
}

/// Returns the test whether the strides make the loop's iterations access adjacent elements, where
/// parameters have that value.
std::string Writer::adjacent_test(const Loop& l, int parameter) const {
  std::string test;
  for (const KnownStride& k : l.adjacent_under)
    test +=
        fmt::format("{}{} == {}", test.empty() ? "" : " && ",
                    printer_.named_stride(k.tensor, static_cast<std::size_t>(k.axis)), k.stride);
  for (const Symbol one : l.adjacent_under_ones)
    test += fmt::format("{}{} == {}", test.empty() ? "" : " && ", printer_.read(names_.symbol(one)),
                        parameter);
  return test;
}

/// Returns the test whether a call has all of these outputs.
std::string Writer::all_wanted_test(const std::set<Symbol>& outputs) const {
  std::string test;
  for (const Symbol output : outputs)
    test +=
        fmt::format("{}{} >= 1", test.empty() ? "" : " && ", printer_.read(names_.symbol(output)));
  return test;
}

/// Moves the elements, which are adjacent, to the cache, one of each line of it.
void Writer::prefetch(const Loop& l, const PrefetchedElement& e, const Facts& facts) {
  const TensorDecl& t = *find_tensor(p_, e.tensor);
  const auto bytes = static_cast<std::int64_t>(size_of(t.dtype));
  const Symbol element(SymbolKind::loop, names_.fresh(names_.symbol(l.variable)));
  names_.add_local(element.name());
  std::vector<Expr> index;
  for (const Expr& i : e.index) index.push_back(i.substitute({{l.variable, Expr(element)}}));
  Facts inside = facts;
  inside.set_range(element, l.begin, l.end);
  const Expr end = min(l.end, l.begin + kMaxPrefetchedBytes / bytes);
  line(fmt::format("for (int64_t {0} = {1}; {0} < {2}; {0} += {3}) {{", element.name(),
                   printer_.expr(l.begin, facts).text, printer_.expr(end, facts).text,
                   kCacheLineBytes / bytes));
  ++indent_;
  printer_.uses().call("mote_prefetch");
  line(fmt::format("mote_prefetch(&{});", printer_.element(t, index, inside)));
  --indent_;
  line("}");
}

void Writer::loop_pragmas(const Loop& l) {
  if (l.kind == LoopKind::simd) pragma("simd" + lanes(l));
}

void Writer::loop(const Loop& l, const Facts& facts) {
  if (l.kind == LoopKind::unrolled) {
    register_loops(l, facts);
    return;
  }
  if (l.kind == LoopKind::transposed) {
    transposed_loops(l, facts);
    return;
  }
  if (const auto chain = loops_over_panels(l); !chain.empty()) {
    loop_over_panels(chain, facts);
    return;
  }
  if (loops_in_order_or_apart(l, facts)) return;
  if (const std::string test = test_of_one_run(l); !test.empty()) {
    loops_in_one_run(l, test, facts);
    return;
  }
  if (results_in_squares_or_apart(l, facts) || columns_transposed_or_apart(l, facts)) return;
  open_accumulators(l);
  if (l.kind == LoopKind::threads) {
    threads_loops(l, facts);
    return;
  }
  std::set<Symbol> changing = {l.variable};
  limits_ahead(l.body, changing, facts);
  const std::string& v = names_.symbol(l.variable);
  const std::string begin = limit(l.begin, v + "_begin", facts).text;
  const std::string end = limit(l.end, v + "_end", facts).text;
  const std::string step =
      l.step == Expr(1) ? v + "++" : fmt::format("{} += {}", v, printer_.expr(l.step, facts).text);
  for (const PrefetchedElement& e : l.prefetched) prefetch(l, e, facts);
  const std::size_t held_before = printer_.count_held();
  elements_ahead(l, facts);
  printer_.set_constants(quotients_ahead(l, facts));
  printer_.set_divisors(divisors_ahead(l, facts));
  Facts inside = facts;
  inside.set_range(l.variable, l.begin, l.end);
  const LoopHead head{v, begin, end, step};
  if (const auto whole = iterations_of_whole_tile(p_, l)) {
    forms_of_results(l, {*whole, fmt::format("{} == {} + {}", end, begin, *whole), head}, facts,
                     inside);
  } else {
    forms_of_loop(l, head, inside);
  }
  printer_.set_constants({});
  printer_.set_divisors({});
  printer_.release_to(held_before);
  for (const Accumulator& a : l.accumulators)
    if (!accumulators_read_.contains(a.name)) line(fmt::format("(void){};", names_.result(a.name)));
}

std::string LoopHead::text() const {
  return fmt::format("for (int64_t {0} = {1}; {0} < {2}; {3}) {{", variable, begin, end, step);
}

void Writer::iterations(const Loop& l, const LoopHead& head, const Body& of_loop,
                        const Facts& inside) {
  line(head.text());
  ++indent_;
  open_scope(l.variable, inside);
  body(of_loop, inside);
  --indent_;
  line("}");
}

/// Writes iterations that a compiler may run in vectors, which branches on the outputs of a call
/// would keep it from: where there are some, calls that have all outputs get a form without. A loop
/// whose accesses a compiler would make wrongly in vectors runs in order.
void Writer::iterations_in_vectors(const Loop& l, const LoopHead& head, const Body& of_loop,
                                   const Facts& inside) {
  const bool in_vectors = l.kind == LoopKind::simd && !has_known_mask(p_, l, of_loop);
  const auto with_pragmas = [&](const Facts& facts) {
    printer_.set_in_vectors(in_vectors);
    auto blocks = in_vectors ? blocks_of_lanes(l, of_loop, facts) : std::nullopt;
    if (blocks) {
      iterations_by_lanes(l, head, of_loop, std::move(*blocks), facts);
    } else {
      if (in_vectors || l.kind != LoopKind::simd) loop_pragmas(l);
      iterations(l, head, of_loop, facts);
    }
    printer_.set_in_vectors(false);
  };
  const std::set<Symbol> outputs = wanted_in(of_loop);
  if (!in_vectors || outputs.empty()) {
    with_pragmas(inside);
    return;
  }
  Facts with_all = inside;
  for (const Symbol output : outputs) with_all.set_lower(output, 1);
  in_two_forms(
      all_wanted_test(outputs), [&] { with_pragmas(with_all); }, [&] { with_pragmas(inside); });
}

/// Writes the results of a tile: in vectors, of which a whole tile has a fixed number, where it is
/// whole and its elements are adjacent; one by one otherwise. The loop of a whole tile begins at 0:
/// a compiler that lets integers wrap around would not know its number of iterations otherwise.
void Writer::forms_of_results(const Loop& l, const TileResults& tile, const Facts& facts,
                              const Facts& inside) {
  const std::string& v = names_.symbol(l.variable);
  Loop whole = l;
  whole.variable = Symbol(SymbolKind::loop, names_.fresh(v));
  names_.add_local(whole.variable.name());
  whole.begin = 0;
  whole.end = tile.iterations;
  substitute(whole.body, {{l.variable, l.begin + Expr(whole.variable)}});
  Facts of_whole = facts;
  of_whole.set_range(whole.variable, whole.begin, whole.end);
  for (const Expr& e : arms(l.end, Atom::Kind::min))
    of_whole.assume_nonneg(e - l.begin - tile.iterations);
  rewrite_exprs(whole.body, [&](const Expr& e) { return of_whole.simplify(e); });
  const LoopHead head{whole.variable.name(), "0", fmt::format("{}", tile.iterations),
                      whole.variable.name() + "++"};
  const std::string adjacent = adjacent_test(l, 1);
  in_two_forms((adjacent.empty() ? "" : adjacent + " && ") + tile.test_of_whole,
               [&] {
                 printer_.assume(l.adjacent_under);
                 iterations_in_vectors(whole, head, whole.body, of_whole);
                 printer_.assume({});
               },
               [&] { iterations(l, tile.head, l.body, inside); });
}

/// Writes the loop with that head: in one form, or in several of which calls run one.
void Writer::forms_of_loop(const Loop& l, const LoopHead& head, const Facts& inside) {
  const auto in_order = [&] { iterations(l, head, l.body, inside); };
  if (const std::string test = test_of_all_rows(l); !test.empty()) {
    const auto with_all_rows = [&] {
      has_all_rows_ = true;
      in_order();
      has_all_rows_ = false;
    };
    in_two_forms(test, with_all_rows, in_order);
    return;
  }
  if (l.adjacent_under.empty() && l.adjacent_under_ones.empty()) {
    iterations_in_vectors(l, head, l.body, inside);
    return;
  }
  // A single statement is written with the value of the parameters; several may declare scalars,
  // which are known by their statements.
  const auto with_adjacent = [&](int parameter) {
    Body adjacent = l.body;
    if (l.body.size() == 1)
      for (const Symbol one : l.adjacent_under_ones) substitute(adjacent, {{one, parameter}});
    printer_.assume(l.adjacent_under);
    iterations_in_vectors(l, head, l.body.size() == 1 ? adjacent : l.body, inside);
    printer_.assume({});
  };
  const auto apart = [&] {
    if (fills_whole_vectors(p_, l))
      iterations_in_vectors(l, head, l.body, inside);
    else
      in_order();
  };
  const auto otherwise = [&] {
    if (may_copy_every_second(p_, l))
      in_two_forms(
          adjacent_test(l, 2), [&] { with_adjacent(2); }, apart);
    else
      apart();
  };
  in_two_forms(
      adjacent_test(l, 1), [&] { with_adjacent(1); }, otherwise);
}

}  // namespace mote::emit
