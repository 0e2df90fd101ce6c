// SPDX-License-Identifier: Apache-2.0
#include "tile_trials.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "mote/codegen/walk.h"

namespace mote::test {
namespace {

/// A number of iterations, and an amount that a step takes of them.
struct Amount {
  Expr extent;
  std::int64_t amount;
  bool is_of_tile = false;
  friend auto operator<=>(const Amount&, const Amount&) = default;
};

/// Returns the numbers of iterations of the program's loops that sizes alone tell, by variable.
std::map<std::string, Expr> extents_of(const LoopProgram& p) {
  std::map<std::string, Expr> extents;
  for_each(p.body, [&](const Stmt& s) {
    const auto* loop = std::get_if<Loop>(&s.kind);
    if (loop == nullptr || loop->step != Expr(1)) return;
    const Expr extent = loop->end - loop->begin;
    const auto is_size = [](Symbol v) { return v.kind() == SymbolKind::size; };
    if (!extent.has_load() && std::ranges::all_of(extent.symbols(), is_size))
      extents.emplace(loop->variable.name(), extent);
  });
  return extents;
}

bool has_tiles(StepKind kind) {
  return kind == StepKind::tile || kind == StepKind::tile_window || kind == StepKind::tile_rows;
}

/// Returns the amounts of the versions' steps, and those that the options say of all loops: blocks
/// of a sum, rows of tiles that share a panel, the lanes of a vector.
std::vector<Amount> amounts_of(const LoopProgram& loops, const Schedule& schedule,
                               const ScheduleOptions& options) {
  const std::map<std::string, Expr> extents = extents_of(loops);
  std::set<Amount> found;
  for (const Version& v : schedule.versions)
    for (const TakenStep& taken : v.steps)
      for (const StepTarget& target : taken.step.targets) {
        const auto extent = extents.find(target.name);
        if (extent == extents.end()) continue;
        const bool is_of_tile = has_tiles(taken.step.kind);
        if (target.amount > 1) found.insert({extent->second, target.amount, is_of_tile});
        if (is_of_tile) found.insert({extent->second, options.tiles * target.amount});
        if (v.program.vector_bytes != 0) found.insert({extent->second, v.program.vector_bytes / 4});
      }
  for (const auto& [name, extent] : extents) found.insert({extent, options.block});
  std::erase_if(found, [](const Amount& a) { return a.extent.symbols().empty(); });
  return {found.begin(), found.end()};
}

/// Counts an extent of 0 as 1: strides, and smaller versions of the program, are large without it.
std::int64_t elements_of(const std::vector<Uop>& nodes, const Trial& t) {
  const std::map<Symbol, std::int64_t> values = values_of(t);
  std::int64_t sum = 0;
  for (const Uop& u : nodes) {
    std::int64_t count = 1;
    for (const Expr& e : u.shape()) count *= std::max<std::int64_t>(evaluate(e, values), 1);
    sum += count;
  }
  return sum;
}

/// Gives one of the extent's sizes, which is not in `given`, a value for which the extent is at
/// least `wanted`, and more only by what the size's factor adds; returns the size, or nullopt.
std::optional<Symbol> reach(const Expr& extent, std::int64_t wanted, const std::set<Symbol>& given,
                            Trial& t, Rng& rng) {
  std::vector<Symbol> sizes;
  for (const Symbol s : extent.symbols()) sizes.push_back(s);
  const Symbol size = rng.pick(sizes);
  const auto linear = linear_in(extent, size);
  if (!linear || !t.sizes.contains(size.name()) || given.contains(size)) return std::nullopt;
  const std::map<Symbol, std::int64_t> values = values_of(t);
  const std::int64_t factor = evaluate(linear->factor, values);
  const std::int64_t rest = evaluate(linear->rest, values);
  if (factor < 1 || wanted < rest + factor) return std::nullopt;
  t.sizes[size.name()] = (wanted - rest + factor - 1) / factor;
  return size;
}

}  // namespace

std::vector<Trial> tile_trials(const LoopProgram& loops, const Schedule& schedule,
                               const ScheduleOptions& options, std::uint64_t seed, int count,
                               std::int64_t most) {
  const Program& p = *loops.source;
  Rng rng(seed ^ 0x711e711e711eU);
  const std::vector<Uop> all = inputs_and_roots(p.inputs, p.outputs);
  const std::vector<Uop> nodes = topological(all);
  const std::vector<Amount> amounts = amounts_of(loops, schedule, options);
  std::vector<Trial> trials;
  for (int k = 0; k < count; ++k) {
    Trial t;
    for (const SizeRule& rule : p.size_rules)
      t.sizes.emplace(rule.size.name(), rule.size.name() == "C"
                                            ? rng.pick({1, 1, 2, 3})
                                            : rng.pick({0, 1, 1, 1, 1, 2, 2, 3}));
    t.params = some_params(p, rng);
    std::vector<Amount> order = amounts;
    rng.shuffle(order);
    if (rng.chance(60)) std::ranges::stable_partition(order, &Amount::is_of_tile);
    std::set<Symbol> given;
    for (const Amount& a : order) {
      Trial larger = t;
      const std::int64_t wanted = a.amount * rng.pick({1, 1, 1, 2, 3}) + rng.pick({-1, 0, 0, 1});
      const auto size = reach(a.extent, wanted, given, larger, rng);
      if (!size || elements_of(nodes, larger) > most) continue;
      given.insert(*size);
      t = std::move(larger);
    }
    if (!meets_constraints(p, t)) continue;
    t.seed = rng.next() % 1000000;
    t.fill = rng.pick({Fill::integers, Fill::units, Fill::units, Fill::infinities});
    trials.push_back(std::move(t));
  }
  return trials;
}

}  // namespace mote::test
