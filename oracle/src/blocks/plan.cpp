// From nodes to stages, regions and arrays.
#include "plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "decide.h"
#include "demand.h"
#include "flat.h"
#include "thin.h"

namespace mote::blocks {
namespace {

/// A node that is the same value stands for it.
Uop plain(const Uop& u) {
  Uop v = u;
  while (const auto* s = as<uop::StopGradient>(v)) v = s->x;
  return v;
}

bool is_constant(const Uop& u) { return as<uop::Scalar>(u) || as<uop::Param>(u); }
bool is_scatter(const Uop& u) { return as<uop::Scatter>(u) || as<uop::SelectScatter>(u); }
/// It takes in its operands' blocks as they come; of a scatter all but the base's.
bool takes_in(const Uop& u) { return as<uop::Reduce>(u) || is_scatter(u); }
/// It is a whole array, whoever reads it.
bool is_array(const Uop& u) { return as<uop::Input>(u) || takes_in(u); }
/// A cast that leaves the value as it is: reals are doubles whatever their dtype.
bool is_widening(const Uop& u) {
  const auto* m = as<uop::Map>(u);
  return m && m->op == MapOp::cast && u.dtype() == DType::f64 && is_real(m->args[0].dtype());
}
/// Booleans as reals.
bool is_of_booleans(const Uop& u) {
  const auto* m = as<uop::Map>(u);
  return m && m->op == MapOp::cast && is_real(u.dtype()) && m->args[0].dtype() == DType::boolean;
}
/// The operands whose elements are read at any place, not only at the result's own.
bool reads_anywhere(const Uop& u, std::size_t operand) {
  return as<uop::Reindex>(u) || ((as<uop::Select>(u) || is_scatter(u)) && operand == 0);
}

class Planner {
 public:
  /// With those thin regions; null: with all that there can be.
  Planner(const Program& program, const Thins* thins)
      : program_(program), params_(facts_of(program)) {
    if (thins) thin_ = *thins;
    std::vector<Uop> outputs;
    for (const Output& o : program.outputs) outputs.push_back(plain(o.value));
    if (!thins) demand_.emplace(outputs);
    for (const Uop& u : outputs) put_in_order(u);
    for (const Uop& u : outputs) keep(u);
  }

  const Thins& thins() const { return thin_; }

  Plan run() {
    for (const Uop& u : order_) set_stage(u);
    for (const Uop& u : order_) keep_operands(u);
    for (const Uop& u : order_) weigh(u);
    for (std::size_t k = order_.size(); k-- > 0;) keep_or_repeat(order_[k]);
    for (const Uop& u : order_) place(u);
    for (const Uop& u : order_) compute(u);
    gather();
    for (const Output& o : program_.outputs)
      plan_.outputs.push_back(places_.at(plain(o.value).id()));
    return std::move(plan_);
  }

 private:
  /// Stage, shape, conditions.
  using Key = std::tuple<int, std::vector<Expr>, std::vector<const UopNode*>>;

  /// Operands first, each node once.
  void put_in_order(const Uop& u) {
    if (!seen_.insert(u.id()).second) return;
    if (const auto* r = as<uop::Reduce>(u); r && demand_)
      if (auto thin = thinned(*r, demand_->conditions_of_terms(u, *r)))
        thin_.emplace(u.id(), std::move(*thin));
    for (const Uop& x : args(u)) put_in_order(x);
    order_.push_back(u);
  }
  const Thin* thin(const Uop& u) const {
    const auto at = thin_.find(u.id());
    return at == thin_.end() ? nullptr : &at->second;
  }
  std::vector<Uop> args(const Uop& u) {
    if (const Thin* t = thin(u); t && as<uop::Reduce>(u)) return {plain(t->x)};
    std::vector<Uop> all = operands(u);
    for (std::size_t k = 0; k < all.size(); ++k)
      all[k] = is_scatter(u)          ? operand(k == 0 ? source(all[k]) : all[k])
               : as<uop::Map>(u)      ? operand(all[k])
               : reads_anywhere(u, k) ? source(all[k])
                                      : plain(all[k]);
    return all;
  }
  /// Of what is read at any place; elements are converted where they are read.
  static Uop source(const Uop& given) {
    Uop x = plain(given);
    while (is_widening(x)) x = plain(as<uop::Map>(x)->args[0]);
    return x;
  }
  /// Of a Map or a scatter: one element that stands for all of x, computed once, or x.
  Uop operand(const Uop& given) {
    const Uop x = plain(given);
    if (x.shape().empty()) return x;
    if (const auto known = operands_.find(x.id()); known != operands_.end()) return known->second;
    const Uop one = one_of(x);
    operands_.emplace(x.id(), one);
    return one;
  }
  Uop one_of(const Uop& x) {
    const auto* r = as<uop::Reindex>(x);
    if (r && r->x.shape().empty()) return plain(r->x);
    if (const auto* i = as<uop::Iota>(x)) {
      const auto moves = [&](int axis) { return i->value.symbols().contains(loop_symbol(axis)); };
      for (int axis = 0; axis < x.rank(); ++axis)
        if (moves(axis)) return x;
      const Uop one = iota(i->value, Shape{});
      return x.dtype() == DType::i64 ? one : cast(one, x.dtype());
    }
    const auto* m = as<uop::Map>(x);
    if (m == nullptr) return x;
    std::vector<Uop> ones;
    for (const Uop& arg : m->args) {
      ones.push_back(operand(arg));
      if (!ones.back().shape().empty()) return x;
    }
    return m->op == MapOp::cast ? cast(ones[0], x.dtype()) : map(m->op, ones);
  }
  /// The stage in which its blocks are computed; of an array, from which on it can be read.
  int stage(const Uop& u) const { return stages_.at(u.id()); }
  /// From which stage on all of it can be read.
  int whole(const Uop& u) const {
    if (is_constant(u)) return 0;
    return is_array(u) ? stage(u) : stage(u) + 1;
  }
  static bool same_shape(const Uop& a, const Uop& b) { return a.shape() == b.shape(); }
  /// The stage of a reader's region because of that operand.
  int needed_by(const Uop& reader, const Uop& x, bool anywhere) const {
    const bool beside = !anywhere && !is_array(x) && same_shape(reader, x);
    return is_constant(x) ? -1 : beside ? stage(x) : whole(x);
  }

  void set_stage(const Uop& u) {
    const bool is_given = as<uop::Iota>(u) && u.shape().empty();  // by parameters and sizes
    int at = is_constant(u) || as<uop::Map>(u) || is_given ? -1 : 0;
    if (as<uop::Reduce>(u)) {
      at = reduced_in(args(u)[0]) + 1;
    } else if (is_scatter(u)) {
      at = scattered_in(u) + 1;
    } else {
      const std::vector<Uop> all = args(u);
      for (std::size_t k = 0; k < all.size(); ++k)
        at = std::max(at, needed_by(u, all[k], reads_anywhere(u, k)));
    }
    stages_[u.id()] = at;
  }
  int reduced_in(const Uop& x) const { return is_array(x) ? whole(x) : stage(x); }
  int scattered_in(const Uop& u) {
    const std::vector<Uop> all = args(u);
    int at = std::max(0, whole(all[0]));
    for (std::size_t k = 1; k < all.size(); ++k)
      at = std::max(at, all[k].shape().empty() ? whole(all[k]) : reduced_in(all[k]));
    return at;
  }

  void keep(const Uop& u) {
    if (!is_constant(u)) kept_.insert(u.id());
  }
  void keep_operands(const Uop& u) {
    if (is_array(u)) keep(u);
    const std::vector<Uop> all = args(u);
    for (std::size_t k = 0; k < all.size(); ++k) {
      const Uop& x = all[k];
      const bool is_one = is_scatter(u) && x.shape().empty();
      if (reads_anywhere(u, k) || is_one || (!takes_in(u) && !same_shape(u, x))) {
        keep(x);
      } else if (!takes_in(u) && stage(x) < stage(u)) {
        read_later_.insert(x.id());
      }
    }
  }
  /// What later stages read may be kept, if computing it once more costs more than writing and
  /// reading it.
  void weigh(const Uop& u) {
    int& work = work_[u.id()];
    work = work_again(u);
    if (work >= kMuchWork) heavy_.insert(u.id());
    const bool kept = kept_.contains(u.id()) || (read_later_.contains(u.id()) && work >= kMuchWork);
    if (is_constant(u) || kept) work = 0;
  }
  /// Readers first: it is kept if regions of several stages read it at its own place; what only one
  /// needs is computed there.
  void keep_or_repeat(const Uop& u) {
    std::set<int>& used = used_[u.id()];
    if (used.size() > 1 && heavy_.contains(u.id())) keep(u);
    if (kept_.contains(u.id())) used = {takes_in(u) ? stage(u) - 1 : stage(u)};
    const std::vector<Uop> all = args(u);
    for (std::size_t k = 0; k < all.size(); ++k)
      if (!reads_anywhere(u, k)) used_[all[k].id()].insert(used.begin(), used.end());
  }
  /// Instructions for an element, from what all later stages can read.
  int work_again(const Uop& u) {
    if (as<uop::Reindex>(u) || as<uop::Iota>(u)) return 1;
    const auto* m = as<uop::Map>(u);
    if (!m || is_transcendental(m->op)) return kMuchWork;
    int work = is_widening(u) ? 0 : 1;
    for (const Uop& x : args(u)) work = std::min(work + work_.at(x.id()), kMuchWork);
    return work;
  }

  /// Constants and arrays; the places of others are a region's.
  void place(const Uop& u) {
    const bool single = u.shape().empty();
    if (is_constant(u)) {
      places_[u.id()] = {Place::Kind::constant, static_cast<int>(plan_.constants.size()), single};
      plan_.constants.push_back(u);
    } else if (kept_.contains(u.id())) {
      places_[u.id()] = {Place::Kind::array, static_cast<int>(plan_.arrays.size()), single};
      const auto* in = as<uop::Input>(u);
      plan_.arrays.push_back({u, in ? *find_input(program_, in->name) : -1});
      last_read_.push_back(-1);
      if (demand_ && as<uop::Map>(u) && !single && is_apart(u))
        if (auto seen = demand_->conditions(u); !seen.empty()) thin_.emplace(u.id(), Thin{seen, u});
    }
  }

  struct Draft {
    Region region;
    std::unordered_map<const UopNode*, int> blocks;  ///< steps, by what they compute
    /// Positions that steps make, by axis, tensor and index.
    std::map<std::tuple<int, std::vector<Expr>, const UopNode*>, int> located;
  };

  void compute(const Uop& u) {
    if (is_constant(u) || as<uop::Input>(u)) return;
    if (is_scatter(u)) return scatter(u);
    if (const auto* r = as<uop::Reduce>(u)) {
      const Uop x = args(u)[0];
      const int at = reduced_in(x);
      Draft& draft = draft_of(at, plain(r->x), thin(u));
      const bool counts = r->op == ReduceOp::sum && is_of_booleans(x) && !places_.contains(x.id());
      const Uop from = counts ? args(x)[0] : x;
      Step step{u, places_.at(u.id()), {place_in(draft, at, from)}};
      step.counts = counts;
      if (thin(u)) step.positions = read_of(draft.region, kept_axes(*r), u.shape());
      draft.region.steps.push_back(std::move(step));
      return;
    }
    if (!kept_.contains(u.id())) return;  // it is computed where it is read
    Draft& draft = draft_of(stage(u), u, thin(u));
    if (!thin(u)) return add_step(draft, stage(u), u);
    Step step{u, places_.at(u.id()), {place_in(draft, stage(u), u)}};
    step.positions = read_of(draft.region, own_loops(u), u.shape());
    step.stores = true;
    draft.region.steps.push_back(std::move(step));
  }

  Draft& draft_of(int stage, const Uop& u, const Thin* thin = nullptr) {
    std::vector<const UopNode*> conditions;
    if (thin)
      for (const Uop& c : thin->conditions) conditions.push_back(c.id());
    std::ranges::sort(conditions);
    Draft& draft = drafts_[{stage, u.shape(), conditions}];
    draft.region.shape = u.shape();
    if (thin) draft.region.conditions = thin->conditions;
    return draft;
  }
  static bool is_thin(const Draft& draft) { return !draft.region.conditions.empty(); }
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
    const int at = stage(u) - 1;
    Draft& draft = draft_of(at, s ? s->x : along->x);
    const std::vector<Uop> all = args(u);
    const Place base = read(all[0], at);
    Step step{u, places_.at(u.id()), {base, place_in(draft, at, all[1], true)}};
    if (s) step.positions = read_of(draft.region, s->to, u.shape());
    if (along) step.located = located(draft, at, u, all[2]);
    draft.region.steps.push_back(std::move(step));
  }
  /// Indices along the same axis of tensors of one shape make the same positions.
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

  Place read(const Uop& x, int stage) {
    const Place p = places_.at(x.id());
    if (p.kind == Place::Kind::array) {
      int& last = last_read_[static_cast<std::size_t>(p.at)];
      last = std::max(last, stage);
    }
    return p;
  }

  /// Where a region finds an operand that it reads element by element.
  Place place_in(Draft& draft, int stage, const Uop& given, bool of_map = false) {
    const Uop x = of_map ? operand(given) : plain(given);
    if (can_read(draft, stage, x)) {
      Place p = read(x, stage);
      p.single = x.shape().empty();
      return is_thin(draft) && p.kind == Place::Kind::array && !p.single ? gathered(draft, x, p)
                                                                         : p;
    }
    if (is_widening(x) && !is_given_in_floats(args(x)[0]))
      return place_in(draft, stage, args(x)[0], true);
    if (!draft.blocks.contains(x.id())) add_step(draft, stage, x);
    return {Place::Kind::block, draft.blocks.at(x.id()), false};
  }
  /// A thin region leaves elements out: it can't read what another region of its stage computes,
  /// nor they what it stores.
  bool can_read(const Draft& draft, int stage, const Uop& x) const {
    if (!places_.contains(x.id())) return false;
    return (!is_thin(draft) && !stores_thin(x)) || is_constant(x) || is_array(x) ||
           this->stage(x) < stage;
  }
  bool stores_thin(const Uop& x) const { return as<uop::Map>(x) && thin(x); }
  Place gathered(Draft& draft, const Uop& x, const Place& from) {
    const auto [at, is_new] =
        draft.blocks.try_emplace(x.id(), static_cast<int>(draft.region.steps.size()));
    if (is_new) {
      Step step{x, {Place::Kind::block, at->second, false}, {from}};
      step.positions = read_of(draft.region, own_loops(x), x.shape());
      step.gathers = true;
      draft.region.steps.push_back(std::move(step));
    }
    return {Place::Kind::block, at->second, false};
  }
  /// Each step that reads it converts it.
  static bool is_given_in_floats(const Uop& u) {
    return as<uop::Input>(u) && u.dtype() == DType::f32;
  }

  /// Nodes between a tree's operands and its root are computed again where others read them too:
  /// that is less than reading them.
  Fused tree_of(const Uop& u) {
    if (may_be_decided(u)) return {};
    return fused(u, [&](const Uop& x) {
      return x.id() == u.id() || (same_shape(x, u) && !places_.contains(x.id()));
    });
  }

  /// A step of its own can be left out (decide.h).
  bool may_be_decided(const Uop& u) {
    const auto* m = as<uop::Map>(u);
    if (m == nullptr) return false;
    const auto is_one = [&](const Uop& x) { return operand(x).shape().empty(); };
    if (m->op == MapOp::where) return is_one(m->args[0]);
    return (m->op == MapOp::logical_and || m->op == MapOp::logical_or) &&
           std::ranges::any_of(m->args, is_one);
  }

  void add_step(Draft& draft, int stage, const Uop& u) {
    const Fused tree = tree_of(u);
    Step step{u, {}, {}};
    step.loop = tree.loop;
    step.numbers = tree.numbers;
    const std::vector<Uop> all = tree.loop ? tree.operands : args(u);
    for (std::size_t k = 0; k < all.size(); ++k)
      step.args.push_back(reads_anywhere(u, k) ? read(all[k], stage)
                                               : place_in(draft, stage, all[k], as<uop::Map>(u)));
    step.widens = is_widening(u) && step.args[0].kind == Place::Kind::array;
    if (const auto* r = as<uop::Reindex>(u))
      step.positions = read_of(draft.region, r->from, r->x.shape());
    if (const auto* i = as<uop::Iota>(u); i && is_thin(draft))
      step.positions = read_of(draft.region, {i->value}, {});
    const auto kept = places_.find(u.id());
    const int number = static_cast<int>(draft.region.steps.size());
    const bool keeps = kept != places_.end() && !is_thin(draft) && !stores_thin(u);
    step.result = keeps ? kept->second : Place{Place::Kind::block, number, false};
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

  /// Stages count from -1, in which parameters are computed with.
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
      if (std::ranges::any_of(region.steps, is_decidable)) region.undecided = region.steps;
      region.blocks = share_blocks(region.steps);
      stage_at(std::get<0>(key)).regions.push_back(std::move(draft.region));
    }
    std::set<int> outputs;
    for (const Output& o : program_.outputs)
      if (const Place p = places_.at(plain(o.value).id()); p.kind == Place::Kind::array)
        outputs.insert(p.at);
    // One that nobody reads after all is given up where it is made.
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
        if (step.result.kind == Place::Kind::array) arrays.push_back(step.result.at);
    return arrays;
  }

  const Program& program_;
  Facts params_;
  std::optional<Demand> demand_;  ///< where thin regions are to be found
  Plan plan_;
  std::vector<Uop> order_;
  std::set<const UopNode*> seen_;
  Thins thin_;
  std::unordered_map<const UopNode*, Uop> operands_;  ///< operand()
  std::unordered_map<const UopNode*, int> work_;
  std::unordered_map<const UopNode*, int> stages_;
  std::set<const UopNode*> read_later_;  ///< at their own place, by nodes of later stages
  std::set<const UopNode*> heavy_;       ///< take much work
  std::unordered_map<const UopNode*, std::set<int>> used_;  ///< in which stages, at its own place
  std::set<const UopNode*> kept_;
  std::unordered_map<const UopNode*, Place> places_;
  std::vector<int> last_read_;  ///< by array
  std::map<Key, Draft> drafts_;
};

}  // namespace

Plan make_plan(const Program& program, const Thins& thins) {
  return Planner(program, &thins).run();
}

Thins find_thins(const Program& program) {
  Planner planner(program, nullptr);
  planner.run();
  return planner.thins();
}

}  // namespace mote::blocks
