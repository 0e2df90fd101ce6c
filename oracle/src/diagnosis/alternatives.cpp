// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/alternatives.h"

#include <algorithm>
#include <functional>

#include "diagnosis/collector.h"

namespace mote::diagnosis {
namespace {

constexpr int kThrough = 3;  ///< functions that a summand is moved through

/// True for a scalar repeated in every element.
bool is_repeated(const Uop& u) {
  const auto* r = std::get_if<uop::Reindex>(&u.node().kind);
  return r != nullptr && r->from.empty();
}

void add_operands(Collector& all, const Uop& u) {
  const uop::Map* m = map_of(u);
  if (m == nullptr) return;
  for (const Uop& arg : m->args) {
    all.add([&] { return shaped(arg, u); });
    if (const uop::Map* inner = map_of(arg))
      for (const Uop& a : inner->args) all.add([&] { return shaped(a, u); });
  }
}

/// The node u with `b` in place of `a`, which is found through maps.
Uop replaced_below(const Uop& u, const Uop& a, const Uop& b, int depth) {
  if (u.id() == a.id()) return b;
  const uop::Map* m = map_of(u);
  if (m == nullptr || depth == 0) return u;
  std::vector<Uop> args = m->args;
  for (Uop& arg : args) arg = replaced_below(arg, a, b, depth - 1);
  return with_operands(u, args);
}

/// Collects the sums and differences below u, found through maps.
void find_sums(const Uop& u, int depth, std::vector<Uop>& sums) {
  const uop::Map* m = map_of(u);
  if (m == nullptr || depth == 0) return;
  for (const Uop& arg : m->args) {
    const uop::Map* inner = map_of(arg);
    if (inner != nullptr && (inner->op == MapOp::add || inner->op == MapOp::sub))
      sums.push_back(arg);
    find_sums(arg, depth - 1, sums);
  }
}

void add_summands_outside(Collector& all, const Uop& u) {
  std::vector<Uop> sums;
  find_sums(u, kThrough, sums);
  for (const Uop& sum : sums) {
    const uop::Map& s = *map_of(sum);
    for (int kept = 0; kept < 2; ++kept) {
      const Uop& a = s.args[static_cast<std::size_t>(kept)];
      const Uop& b = s.args[static_cast<std::size_t>(1 - kept)];
      const bool is_taken_away = s.op == MapOp::sub && kept == 0;
      const auto joined = [&](const Uop& x) {
        const Uop outside = b.dtype() == x.dtype() ? b : cast(b, x.dtype());
        return is_taken_away ? x - outside : x + outside;
      };
      all.add([&] { return joined(replaced_below(u, sum, shaped(a, sum), kThrough)); });
      if (map_of(u)->op == MapOp::rsqrt && map_of(u)->args[0].id() == sum.id())
        all.add([&] { return map(MapOp::recip, std::vector<Uop>{joined(sqrt(shaped(a, sum)))}); });
    }
  }
}

/// Adds u with b added to a value below it, through at most `depth` functions.
void add_inside(Collector& all, const Uop& u, const Uop& b, int depth,
                const std::function<Uop(const Uop&)>& rebuilt) {
  const uop::Map* f = map_of(u);
  if (f == nullptr || depth == 0) return;
  for (std::size_t a = 0; a < f->args.size(); ++a) {
    const auto with = [&, a](const Uop& arg) {
      std::vector<Uop> args = f->args;
      args[a] = arg;
      return rebuilt(with_operands(u, args));
    };
    all.add([&] { return with(f->args[a] + b); });
    add_inside(all, f->args[a], b, depth - 1, with);
  }
}

void add_summands_inside(Collector& all, const Uop& u) {
  const uop::Map* m = map_of(u);
  if (m == nullptr || m->op != MapOp::add) return;
  for (std::size_t k = 0; k < 2; ++k)
    add_inside(all, m->args[k], m->args[1 - k], kThrough, [](const Uop& x) { return x; });
}

/// Adds (sqrt(a) + b)/sqrt(c) for sqrt(a/c) + b, in which b is corrected too.
void add_summands_in_quotients(Collector& all, const Uop& u) {
  const uop::Map* m = map_of(u);
  if (m == nullptr || m->op != MapOp::add) return;
  for (std::size_t k = 0; k < 2; ++k) {
    const uop::Map* root = map_of(m->args[k]);
    const bool is_unary = root != nullptr && root->args.size() == 1;
    const uop::Map* ratio = is_unary ? map_of(root->args[0]) : nullptr;
    if (ratio == nullptr || (ratio->op != MapOp::div && ratio->op != MapOp::mul)) continue;
    const Uop& b = m->args[1 - k];
    for (std::size_t inner = 0; inner < 2; ++inner)
      all.add([&] {
        const Uop kept = map(root->op, std::vector<Uop>{shaped(ratio->args[inner], u)}) + b;
        const Uop outer = map(root->op, std::vector<Uop>{shaped(ratio->args[1 - inner], u)});
        return ratio->op == MapOp::mul ? kept * outer : inner == 0 ? kept / outer : outer / kept;
      });
  }
}

void add_reindexed_later(Collector& all, const Uop& u) {
  const auto* r = std::get_if<uop::Reindex>(&u.node().kind);
  const uop::Map* m = r != nullptr ? map_of(r->x) : nullptr;
  if (m == nullptr) return;
  all.add([&] {
    std::vector<Uop> args;
    for (const Uop& arg : m->args)
      args.push_back(is_repeated(arg)  ? shaped(operands(arg)[0], u)
                     : arg.rank() == 0 ? arg
                                       : reindex(arg, shape_of(u), {r->from.begin(), r->from.end()},
                                                 is_real(arg.dtype()) ? Number(0.0) : Number(0)));
    return m->op == MapOp::cast ? cast(args[0], u.dtype()) : map(m->op, args);
  });
}

std::vector<MapOp> family_of(MapOp op) {
  static const std::vector<std::vector<MapOp>> families = {
      {MapOp::floor, MapOp::trunc, MapOp::round, MapOp::ceil},
      {MapOp::lt, MapOp::le, MapOp::ge, MapOp::gt},
      {MapOp::add, MapOp::sub},
      {MapOp::max, MapOp::min},
      {MapOp::mul, MapOp::div}};
  for (const std::vector<MapOp>& family : families)
    if (std::ranges::find(family, op) != family.end()) return family;
  return {};
}

void add_other_functions(Collector& all, const Uop& u) {
  if (const uop::Map* m = map_of(u))
    for (const MapOp op : family_of(m->op))
      if (op != m->op) all.add([&] { return map(op, m->args); });
  if (const auto* s = std::get_if<uop::Scatter>(&u.node().kind))
    all.add([&] { return scatter(ScatterOp::set, s->base, s->x, {s->to.begin(), s->to.end()}); });
  if (const auto* s = std::get_if<uop::SelectScatter>(&u.node().kind)) {
    all.add([&] { return select_scatter(ScatterOp::set, s->base, s->x, s->axis, s->index); });
    if (s->op != ScatterOp::add) return;
    all.add([&] {  // all read the old value before any writes
      const Uop nothing =
          shaped(scalar(is_real(u.dtype()) ? Number(0.0) : Number(0), u.dtype()), u);
      return s->base + select_scatter(ScatterOp::set, nothing, s->x, s->axis, s->index);
    });
  }
}

/// Adds sums along another axis, and sums with as many additional ones as fill the last block.
void add_other_sums(Collector& all, const Uop& u) {
  Uop below = u;
  while (const auto* r = std::get_if<uop::Reindex>(&below.node().kind)) below = r->x;
  const auto* reduced = std::get_if<uop::Reduce>(&below.node().kind);
  if (reduced == nullptr) return;
  if (below.id() != u.id() && reduced->x.shape() == u.shape())
    for (int axis = 0; axis < u.rank(); ++axis)
      all.add([&] {
        std::vector<int> others;
        for (int a = 0; a < u.rank(); ++a)
          if (a != axis) others.push_back(a);
        return broadcast(reduce(reduced->op, reduced->x, {axis}), shape_of(u), others);
      });
  if (below.id() != u.id() || reduced->op != ReduceOp::sum || reduced->axes.size() != 1) return;
  const Expr& extent = reduced->x.shape()[static_cast<std::size_t>(reduced->axes[0])];
  for (const int block : {2, 4, 8, 16, 32, 64})
    all.add([&] { return u + cast(iota((-extent) % Expr(block), shape_of(u)), u.dtype()); });
}

void add_other_inputs(Collector& all, const Uop& u, const Surroundings& around) {
  if (is_constant(u)) return;
  for (const Uop& input : around.inputs) all.add([&] { return input; });
}

}  // namespace

Surroundings::Surroundings(const Program& program) : inputs(program.inputs) {
  const auto add = [&](DType t) {
    if (is_real(t) || t == DType::boolean || t == DType::i64) return;
    const std::vector<DType> alike =
        size_of(t) == 1 ? std::vector{DType::i8, DType::u8} : std::vector{t};
    for (const DType narrow : alike)
      if (std::ranges::find(integers, narrow) == integers.end()) integers.push_back(narrow);
  };
  for (const Uop& input : program.inputs) add(input.dtype());
  for (const Output& output : program.outputs) add(output.value.dtype());
}

bool are_interchangeable(const Uop& a, const Uop& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape();
}

std::vector<Alternative> alternatives(const Uop& u, const Surroundings& around) {
  if (std::holds_alternative<uop::Input>(u.node().kind)) return {};
  Collector all(u);
  add_operands(all, u);
  add_summands_outside(all, u);
  add_summands_inside(all, u);
  add_summands_in_quotients(all, u);
  add_reindexed_later(all, u);
  add_other_functions(all, u);
  add_other_sums(all, u);
  add_other_values(all, u, around);
  add_other_inputs(all, u, around);
  add_other_locations(all, u);
  return all.take();
}

namespace {

/// The alternatives of u, and of the value that u only moves or casts.
std::vector<Alternative> alternatives_below(const Uop& u, const Surroundings& around) {
  std::vector<Alternative> all = alternatives(u, around);
  const uop::Map* m = map_of(u);
  const bool is_the_same =
      std::holds_alternative<uop::Reindex>(u.node().kind) || (m != nullptr && m->op == MapOp::cast);
  if (!is_the_same) return all;
  const Uop below = operands(u)[0];
  for (const Alternative& other : alternatives_below(below, around))
    if (are_interchangeable(other.uop, below))
      all.push_back({with_operands(u, {other.uop}), other.kind, other.words});
  return all;
}

std::vector<Uop> transposed(const Uop& u) {
  std::vector<Uop> all;
  for (int a = 0; a < u.rank(); ++a)
    for (int b = a + 1; b < u.rank(); ++b) {
      std::vector<IndexText> from;
      for (int axis = 0; axis < u.rank(); ++axis)
        from.emplace_back(Expr::loop(axis == a ? b : axis == b ? a : axis));
      all.push_back(reindex(u, shape_of(u), from,
                            is_real(u.dtype()) ? Number(0.0) : Number(std::int64_t{0})));
    }
  return all;
}

std::vector<Uop> transposed_reads(const Uop& u, int depth) {
  if (std::holds_alternative<uop::Input>(u.node().kind)) return transposed(u);
  const bool is_elementwise =
      map_of(u) != nullptr || std::holds_alternative<uop::StopGradient>(u.node().kind);
  std::vector<Uop> all;
  if (!is_elementwise || depth == 0) return all;
  const std::vector<Uop> args = operands(u);
  for (std::size_t k = 0; k < args.size(); ++k)
    for (const Uop& read : transposed_reads(args[k], depth - 1)) {
      std::vector<Uop> changed = args;
      changed[k] = read;
      all.push_back(with_operands(u, changed));
    }
  return all;
}

}  // namespace

std::vector<Alternative> with_transposed_reads(const Uop& u) {
  std::vector<Alternative> all;
  for (const Uop& read : transposed_reads(u, kThrough)) all.push_back({read, "another axis", ""});
  return all;
}

std::vector<Alternative> with_another_operand(const Uop& u, const Surroundings& around) {
  const std::vector<Uop> args = operands(u);
  Collector all(u);
  for (std::size_t k = 0; k < args.size(); ++k)
    for (const Alternative& other : alternatives_below(args[k], around))
      all.add(
          [&] {
            std::vector<Uop> changed = args;
            changed[k] = other.uop;
            return with_operands(u, changed);
          },
          other.kind, other.words);
  return all.take();
}

}  // namespace mote::diagnosis
