// SPDX-License-Identifier: Apache-2.0
// Turns nodes into stages, regions and arrays.
#include "plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "decide.h"
#include "flat.h"
#include "schedule.h"

namespace mote::blocks {
namespace {

/// True for a cast of booleans to reals.
bool is_of_booleans(const Uop& u) {
  const auto* m = as<uop::Map>(u);
  return m && m->op == MapOp::cast && is_real(u.dtype()) && m->args[0].dtype() == DType::boolean;
}

class Planner {
 public:
  Planner(const Program& program, const Masks& masks)
      : program_(program), params_(facts_of(program.params)), schedule_(program, &masks) {}

  Plan run() {
    for (const Uop& u : schedule_.order()) place(u);
    for (const Uop& u : schedule_.order()) compute(u);
    gather();
    for (const Output& o : program_.outputs)
      plan_.outputs.push_back(locations_.at(plain(o.value).id()));
    return std::move(plan_);
  }

 private:
  /// The stage, shape and conditions of a region.
  using Key = std::tuple<int, std::vector<Expr>, std::vector<const UopNode*>>;

  /// Assigns locations to constants and arrays; other nodes have locations in their regions.
  void place(const Uop& u) {
    const bool single = u.shape().empty();
    if (is_constant(u)) {
      locations_[u.id()] = {Location::Kind::constant, static_cast<int>(plan_.constants.size()),
                            single};
      plan_.constants.push_back(u);
    } else if (schedule_.is_kept(u)) {
      locations_[u.id()] = {Location::Kind::array, static_cast<int>(plan_.arrays.size()), single};
      const auto* in = as<uop::Input>(u);
      plan_.arrays.push_back({u, in ? *find_input(program_, in->name) : -1});
      last_read_.push_back(-1);
    }
  }

  struct Draft {
    Region region;
    std::unordered_map<const UopNode*, int> blocks;  ///< steps, by the node that they compute
    /// The positions that steps make, by axis, tensor and index.
    std::map<std::tuple<int, std::vector<Expr>, const UopNode*>, int> located;
  };

  void compute(const Uop& u) {
    if (is_constant(u) || as<uop::Input>(u)) return;
    if (is_scatter(u)) return scatter(u);
    if (const auto* r = as<uop::Reduce>(u)) {
      const Uop x = schedule_.args(u)[0];
      const int at = schedule_.reduced_in(x);
      Draft& draft = draft_of(at, plain(r->x), schedule_.mask(u));
      const bool counts =
          r->op == ReduceOp::sum && is_of_booleans(x) && !locations_.contains(x.id());
      const Uop from = counts ? schedule_.args(x)[0] : x;
      Step step{u, locations_.at(u.id()), {place_in(draft, at, from)}};
      step.counts = counts;
      if (schedule_.mask(u)) step.positions = read_of(draft.region, kept_axes(*r), u.shape());
      draft.region.steps.push_back(std::move(step));
      return;
    }
    if (!schedule_.is_kept(u)) return;  // it is computed when it is read
    Draft& draft = draft_of(schedule_.stage(u), u, schedule_.mask(u));
    if (!schedule_.mask(u)) return add_step(draft, schedule_.stage(u), u);
    Step step{u, locations_.at(u.id()), {place_in(draft, schedule_.stage(u), u)}};
    step.positions = read_of(draft.region, own_loops(u), u.shape());
    step.stores = true;
    draft.region.steps.push_back(std::move(step));
  }

  Draft& draft_of(int stage, const Uop& u, const Mask* mask = nullptr) {
    std::vector<const UopNode*> conditions;
    if (mask)
      for (const Uop& c : mask->conditions) conditions.push_back(c.id());
    std::ranges::sort(conditions);
    Draft& draft = drafts_[{stage, u.shape(), conditions}];
    draft.region.shape = u.shape();
    if (mask) draft.region.conditions = mask->conditions;
    return draft;
  }
  static bool is_masked(const Draft& draft) { return !draft.region.conditions.empty(); }
  static std::vector<Expr> kept_axes(const uop::Reduce& r) {
    std::vector<Expr> at;
    for (int k = 0; k < r.x.rank(); ++k)
      if (std::ranges::find(r.axes, k) == r.axes.end()) at.push_back(Expr::loop(k));
    return at;
  }

  static std::vector<Expr> own_loops(const Uop& u) {
    std::vector<Expr> own;
    for (int k = 0; k < u.rank(); ++k) own.push_back(Expr::loop(k));
    return own;
  }

  void scatter(const Uop& u) {
    const auto* s = as<uop::Scatter>(u);
    const auto* along = as<uop::SelectScatter>(u);
    const int at = schedule_.stage(u) - 1;
    Draft& draft = draft_of(at, s ? s->x : along->x);
    const std::vector<Uop> all = schedule_.args(u);
    const Location base = read(all[0], at);
    Step step{u, locations_.at(u.id()), {base, place_in(draft, at, all[1], true)}};
    if (s) step.positions = read_of(draft.region, s->to, u.shape());
    if (along) step.located = located(draft, at, u, all[2]);
    draft.region.steps.push_back(std::move(step));
  }
  /// The positions of a SelectScatter; indices along the same axis of tensors of one shape make the
  /// same positions.
  int located(Draft& draft, int stage, const Uop& u, const Uop& index) {
    const auto [at, is_new] = draft.located.try_emplace(
        {as<uop::SelectScatter>(u)->axis, u.shape(), index.id()}, draft.region.located);
    if (is_new) {
      Step step{u, {}, {place_in(draft, stage, index, true)}};
      step.locates = true;
      step.located = draft.region.located++;
      draft.region.steps.push_back(std::move(step));
    }
    return at->second;
  }

  Location read(const Uop& x, int stage) {
    const Location p = locations_.at(x.id());
    if (p.kind == Location::Kind::array) {
      int& last = last_read_[static_cast<std::size_t>(p.at)];
      last = std::max(last, stage);
    }
    return p;
  }

  /// The location at which a region reads an operand element by element.
  Location place_in(Draft& draft, int stage, const Uop& given, bool of_map = false) {
    const Uop x = of_map ? schedule_.operand(given) : plain(given);
    // The schedule may have folded nodes of a tree, and with them a constant that the tree reads.
    if (is_constant(x) && !locations_.contains(x.id())) place(x);
    if (can_read(draft, stage, x)) {
      Location p = read(x, stage);
      p.single = x.shape().empty();
      return is_masked(draft) && p.kind == Location::Kind::array && !p.single
                 ? gathered(draft, x, p)
                 : p;
    }
    if (is_widening(x) && !is_given_in_floats(schedule_.args(x)[0]))
      return place_in(draft, stage, schedule_.args(x)[0], true);
    if (!draft.blocks.contains(x.id())) add_step(draft, stage, x);
    return {Location::Kind::block, draft.blocks.at(x.id()), false};
  }
  /// True if the region can read x. A masked region leaves elements out: it can't read what another
  /// region of its stage computes, nor can others read what it stores.
  bool can_read(const Draft& draft, int stage, const Uop& x) const {
    if (!locations_.contains(x.id())) return false;
    return (!is_masked(draft) && !stores_masked(x)) || is_constant(x) || is_array(x) ||
           schedule_.stage(x) < stage;
  }
  bool stores_masked(const Uop& x) const { return as<uop::Map>(x) && schedule_.mask(x); }
  Location gathered(Draft& draft, const Uop& x, const Location& from) {
    const auto [at, is_new] =
        draft.blocks.try_emplace(x.id(), static_cast<int>(draft.region.steps.size()));
    if (is_new) {
      Step step{x, {Location::Kind::block, at->second, false}, {from}};
      step.positions = read_of(draft.region, own_loops(x), x.shape());
      step.gathers = true;
      draft.region.steps.push_back(std::move(step));
    }
    return {Location::Kind::block, at->second, false};
  }
  /// Such an input is converted by each step that reads it.
  static bool is_given_in_floats(const Uop& u) {
    return as<uop::Input>(u) && u.dtype() == DType::f32;
  }

  /// The tree of a node. Nodes between its operands and its root are computed again if others read
  /// them too: that costs less than reading them.
  Fused tree_of(const Uop& u) {
    if (may_be_decided(u)) return {};
    return fused(u, [&](const Uop& x) {
      return x.id() == u.id() || (same_shape(x, u) && !locations_.contains(x.id()));
    });
  }

  /// True if its value may be decided, so that it needs a step of its own (decide.h).
  bool may_be_decided(const Uop& u) {
    const auto* m = as<uop::Map>(u);
    if (m == nullptr) return false;
    const auto is_one = [&](const Uop& x) { return schedule_.operand(x).shape().empty(); };
    if (m->op == MapOp::where) return is_one(m->args[0]);
    return (m->op == MapOp::logical_and || m->op == MapOp::logical_or) &&
           std::ranges::any_of(m->args, is_one);
  }

  void add_step(Draft& draft, int stage, const Uop& u) {
    const Fused tree = tree_of(u);
    Step step{u, {}, {}};
    step.loop = tree.loop;
    step.numbers = tree.numbers;
    const std::vector<Uop> all = tree.loop ? tree.operands : schedule_.args(u);
    for (std::size_t k = 0; k < all.size(); ++k)
      step.args.push_back(reads_anywhere(u, k) ? read(all[k], stage)
                                               : place_in(draft, stage, all[k], as<uop::Map>(u)));
    step.widens = is_widening(u) && step.args[0].kind == Location::Kind::array;
    if (const auto* r = as<uop::Reindex>(u))
      step.positions = read_of(draft.region, r->from, r->x.shape());
    if (const auto* i = as<uop::Iota>(u); i && is_masked(draft))
      step.positions = read_of(draft.region, {i->value}, {});
    const auto kept = locations_.find(u.id());
    const int number = static_cast<int>(draft.region.steps.size());
    const bool keeps = kept != locations_.end() && !is_masked(draft) && !stores_masked(u);
    step.result = keeps ? kept->second : Location{Location::Kind::block, number, false};
    draft.blocks[u.id()] = number;
    draft.region.steps.push_back(std::move(step));
  }

  int read_of(Region& region, const std::vector<Expr>& from, const std::vector<Expr>& tensor) {
    const Read read = flattened({from, tensor}, region.shape, params_);
    const auto same = [&](const Read& r) { return r.from == read.from && r.tensor == read.tensor; };
    const auto at = std::ranges::find_if(region.reads, same);
    if (at != region.reads.end()) return static_cast<int>(at - region.reads.begin());
    region.reads.push_back(read);
    return static_cast<int>(region.reads.size()) - 1;
  }

  /// Collects the stages, which count from -1, the stage of computations on parameters.
  void gather() {
    int most = -1;
    for (const auto& [key, draft] : drafts_) most = std::max(most, std::get<0>(key));
    plan_.stages.resize(static_cast<std::size_t>(most) + 2);
    const auto stage_at = [&](int at) -> Stage& {
      return plan_.stages[static_cast<std::size_t>(at) + 1];
    };
    for (auto& [key, draft] : drafts_) {
      Region& region = draft.region;
      put_sums_together(region);
      order_loops(region);
      if (std::ranges::any_of(region.steps, is_decidable)) region.undecided = region.steps;
      region.blocks = share_blocks(region.steps);
      stage_at(std::get<0>(key)).regions.push_back(std::move(draft.region));
    }
    std::set<int> outputs;
    for (const Output& o : program_.outputs)
      if (const Location p = locations_.at(plain(o.value).id()); p.kind == Location::Kind::array)
        outputs.insert(p.at);
    // An array that is never read is freed in the stage that makes it.
    std::vector<int> last = last_read_;
    for (int at = -1; at <= most; ++at)
      for (const int k : made_in(stage_at(at)))
        last[static_cast<std::size_t>(k)] = std::max(last[static_cast<std::size_t>(k)], at);
    for (std::size_t k = 0; k < last.size(); ++k)
      if (!outputs.contains(static_cast<int>(k)))
        stage_at(last[k]).last_reads.push_back(static_cast<int>(k));
  }

  static std::vector<int> made_in(const Stage& stage) {
    std::vector<int> arrays;
    for (const Region& region : stage.regions)
      for (const Step& step : region.steps)
        if (step.result.kind == Location::Kind::array) arrays.push_back(step.result.at);
    return arrays;
  }

  const Program& program_;
  Facts params_;
  Schedule schedule_;
  Plan plan_;
  std::unordered_map<const UopNode*, Location> locations_;
  std::vector<int> last_read_;  ///< the last stage that reads each array
  std::map<Key, Draft> drafts_;
};

}  // namespace

Plan make_plan(const Program& program, const Masks& masks) { return Planner(program, masks).run(); }

Masks find_masks(const Program& program) { return Schedule(program, nullptr).masks(); }

}  // namespace mote::blocks
