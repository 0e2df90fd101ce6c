// SPDX-License-Identifier: Apache-2.0
// Assigns a program's nodes to stages.
#include "schedule.h"

#include <algorithm>

#include "index.h"
#include "plan.h"

namespace mote::blocks {
namespace {

/// The node that is read at any location; elements are converted when they are read.
Uop source(const Uop& given) {
  Uop x = plain(given);
  while (is_widening(x)) x = plain(as<uop::Map>(x)->args[0]);
  return x;
}

}  // namespace

Uop plain(const Uop& u) {
  Uop v = u;
  while (const auto* s = as<uop::StopGradient>(v)) v = s->x;
  return v;
}

bool is_widening(const Uop& u) {
  const auto* m = as<uop::Map>(u);
  return m && m->op == MapOp::cast && u.dtype() == DType::f64 && is_real(m->args[0].dtype());
}

bool reads_anywhere(const Uop& u, std::size_t operand) {
  return as<uop::Reindex>(u) || ((as<uop::Select>(u) || is_scatter(u)) && operand == 0);
}

Schedule::Schedule(const Program& program, const Masks* masks) {
  if (masks) masks_ = *masks;
  std::vector<Uop> outputs;
  for (const Output& o : program.outputs) outputs.push_back(plain(o.value));
  if (!masks) demand_.emplace(outputs);
  for (const Uop& u : outputs) put_in_order(u);
  for (const Uop& u : outputs) keep(u);
  for (const Uop& u : order_) set_stage(u);
  for (const Uop& u : order_) keep_operands(u);
  for (const Uop& u : order_) weigh(u);
  for (std::size_t k = order_.size(); k-- > 0;) keep_or_repeat(order_[k]);
  for (const Uop& u : order_) find_mask(u);
}

void Schedule::put_in_order(const Uop& u) {
  if (!seen_.insert(u.id()).second) return;
  if (const auto* r = as<uop::Reduce>(u); r && demand_)
    if (auto mask = masked(*r, demand_->conditions_of_terms(u, *r)))
      masks_.emplace(u.id(), std::move(*mask));
  for (const Uop& x : args(u)) put_in_order(x);
  order_.push_back(u);
}

const Mask* Schedule::mask(const Uop& u) const {
  const auto at = masks_.find(u.id());
  return at == masks_.end() ? nullptr : &at->second;
}

std::vector<Uop> Schedule::args(const Uop& u) {
  if (const Mask* t = mask(u); t && as<uop::Reduce>(u)) return {plain(t->x)};
  std::vector<Uop> all = operands(u);
  for (std::size_t k = 0; k < all.size(); ++k)
    all[k] = is_scatter(u)          ? operand(k == 0 ? source(all[k]) : all[k])
             : as<uop::Map>(u)      ? operand(all[k])
             : reads_anywhere(u, k) ? source(all[k])
                                    : plain(all[k]);
  return all;
}

Uop Schedule::operand(const Uop& given) {
  const Uop x = plain(given);
  if (x.shape().empty()) return x;
  if (const auto known = operands_.find(x.id()); known != operands_.end()) return known->second;
  const Uop one = one_of(x);
  operands_.emplace(x.id(), one);
  return one;
}

Uop Schedule::one_of(const Uop& x) {
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

/// The first stage that can read all of it.
int Schedule::whole(const Uop& u) const {
  if (is_constant(u)) return 0;
  return is_array(u) ? stage(u) : stage(u) + 1;
}

/// The earliest stage of a reader's region that this operand allows.
int Schedule::needed_by(const Uop& reader, const Uop& x, bool anywhere) const {
  const bool beside = !anywhere && !is_array(x) && same_shape(reader, x);
  return is_constant(x) ? -1 : beside ? stage(x) : whole(x);
}

void Schedule::set_stage(const Uop& u) {
  const bool is_given = as<uop::Iota>(u) && u.shape().empty();  // parameters and sizes give it
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

int Schedule::scattered_in(const Uop& u) {
  const std::vector<Uop> all = args(u);
  int at = std::max(0, whole(all[0]));
  for (std::size_t k = 1; k < all.size(); ++k)
    at = std::max(at, all[k].shape().empty() ? whole(all[k]) : reduced_in(all[k]));
  return at;
}

void Schedule::keep(const Uop& u) {
  if (!is_constant(u)) kept_.insert(u.id());
}

void Schedule::keep_operands(const Uop& u) {
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

/// Marks a node that later stages read as kept if computing it again costs more than writing and
/// reading it.
void Schedule::weigh(const Uop& u) {
  int& work = work_[u.id()];
  work = work_again(u);
  if (work >= kMuchWork) heavy_.insert(u.id());
  const bool kept = kept_.contains(u.id()) || (read_later_.contains(u.id()) && work >= kMuchWork);
  if (is_constant(u) || kept) work = 0;
}

/// Visits readers first: a node is kept if regions of several stages read it at its own location;
/// with one reading stage, it is computed there.
void Schedule::keep_or_repeat(const Uop& u) {
  std::set<int>& used = used_[u.id()];
  if (used.size() > 1 && heavy_.contains(u.id())) keep(u);
  if (kept_.contains(u.id())) used = {takes_in(u) ? stage(u) - 1 : stage(u)};
  const std::vector<Uop> all = args(u);
  for (std::size_t k = 0; k < all.size(); ++k)
    if (!reads_anywhere(u, k)) used_[all[k].id()].insert(used.begin(), used.end());
}

/// The number of instructions for an element, from values that all later stages can read.
int Schedule::work_again(const Uop& u) {
  if (as<uop::Reindex>(u) || as<uop::Iota>(u)) return 1;
  const auto* m = as<uop::Map>(u);
  if (!m || is_transcendental(m->op)) return kMuchWork;
  int work = is_widening(u) ? 0 : 1;
  for (const Uop& x : args(u)) work = std::min(work + work_.at(x.id()), kMuchWork);
  return work;
}

/// Limits a kept node to the elements that are read.
void Schedule::find_mask(const Uop& u) {
  if (!demand_ || !is_kept(u) || !as<uop::Map>(u) || u.shape().empty() || !is_apart(u)) return;
  if (auto seen = demand_->conditions(u); !seen.empty()) masks_.emplace(u.id(), Mask{seen, u});
}

}  // namespace mote::blocks
