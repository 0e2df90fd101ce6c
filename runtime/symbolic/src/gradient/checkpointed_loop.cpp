// SPDX-License-Identifier: Apache-2.0
#include "gradient/checkpointed_loop.h"

#include <algorithm>
#include <map>
#include <utility>

#include "control/live_carries.h"
#include "control/splice.h"
#include "gradient/body_gradient.h"
#include "gradient/control_gradient.h"
#include "gradient/plain.h"
#include "mote/runtime/status.h"

namespace mote {
namespace {

using SymbolList = std::vector<TensorSymbol>;

// These belong to the gradient that this thread builds.
thread_local std::map<std::shared_ptr<const ControlInfo>, std::vector<bool>> kept_values;

TensorSymbol one(SymbolicGraph& graph) {
  Tensor number(DType::i64, AxisList{});
  number.set({}, std::int64_t{1});
  return graph.constant({}, number);
}

}  // namespace

void forget_kept_values() { kept_values.clear(); }

CheckpointedLoop::CheckpointedLoop(std::shared_ptr<const ControlInfo> control,
                                   const WideMask& wanted)
    : owner_(std::move(control)),
      control_(*owner_),
      body_(control_.graphs[0]),
      inputs_(input_indices(body_)) {
  if (const std::optional<std::uint32_t> keep = keep_of(body_)) {
    const auto token = std::ranges::find(body_.output_indices(), body_.nodes()[*keep].outputs[0]);
    keep_ = keep;
    token_ = static_cast<std::size_t>(token - body_.output_indices().begin());
    tape_ = tape_of(body_.nodes()[*keep]);
  } else {
    tape_ = new_tape();
  }
  for (std::size_t k = 0; k < carried(); ++k)
    if (is_real(form(k).dtype)) real_.push_back(k);
  for (std::size_t k = result_count(control_); k < input_count(control_, 0); ++k) {
    rest_.push_back(k);
    if (is_in(wanted, k) && is_real(form(k).dtype)) added_.push_back(k);
  }
  if (read_kept()) return;
  const auto known = kept_values.find(owner_);
  kept_ = known != kept_values.end() ? known->second
                                     : kept_values.emplace(owner_, needed_by_parts()).first->second;
}

/// Reads which values are kept off the node that keeps them. False if there is none yet, or if it
/// keeps others than carried inputs in their order.
bool CheckpointedLoop::read_kept() {
  if (!keep_) return false;
  kept_.assign(carried(), false);
  const ShortList& values = body_.nodes()[*keep_].inputs;
  std::size_t next = 0;
  for (std::size_t v = 1; v < values.size(); ++v) {
    while (next < carried() && inputs_[next] != values[v]) ++next;
    if (next == carried()) return false;
    kept_[next++] = true;
  }
  return true;
}

/// Returns which carried values a part of the loop must begin with, for all gradients that its
/// inputs may have.
std::vector<bool> CheckpointedLoop::needed_by_parts() const {
  ControlInfo again;
  again.graphs.push_back(part());
  again.has_counter = true;
  WideMask all;
  for (std::size_t k = 0; k < input_count(again, 0); ++k) all.add(k);
  try {
    const TrialScope trial;
    const BodyGradient way(again, all, all, false);
    std::vector<bool> used(carried() + 1);
    used.back() = true;  // the token
    std::vector<bool> needed = live_carries(*way.recorded(), std::move(used));
    needed.pop_back();
    return needed;
  } catch (const StatusError& e) {
    if (e.status() != MOTE_UNSUPPORTED) throw;
    return std::vector<bool>(carried(), true);  // some of these have no gradient: all is kept
  }
}

/// Returns the name with enough behind it that nothing in the body has it.
std::string CheckpointedLoop::free_name(std::string name) const {
  while (body_.has(name)) name += "_";
  return name;
}

std::shared_ptr<ControlInfo> CheckpointedLoop::recorded() const {
  if (token_) return std::make_shared<ControlInfo>(control_);
  SymbolicGraph body(body_.name(), body_.registry());
  SymbolList given, values;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    if (k == carried()) {
      values.insert(values.begin(), body.input(free_name("tape"), {DType::f64, {}}));
    }
    given.push_back(body.input(body_.symbols()[inputs_[k]].name, form(k)));
    if (k < carried() && kept_[k]) values.push_back(given.back());
  }
  if (inputs_.size() == carried())
    values.insert(values.begin(), body.input(free_name("tape"), {DType::f64, {}}));
  const SymbolList made = splice(body, body_, given);
  SymbolList outputs;
  for (const std::uint32_t output : body_.output_indices()) outputs.push_back(made[output]);
  const TensorSymbol next = body.tensor({DType::f64, {}});
  body.call(tape_keep(tape_, control_.checkpoints), values, SymbolList{next});
  outputs.insert(outputs.end() - 1, next);
  body.set_outputs(outputs);
  auto control = std::make_shared<ControlInfo>(control_);
  control->graphs[0] = std::move(body);
  return control;
}

/// The loop's body for the iterations from `start` to `end`. Its inputs: those that are carried
/// over, on the way the token, those that are not, start, end, on the way the number of iterations
/// left, and the counter.
SymbolicGraph CheckpointedLoop::part(bool is_on_the_way) const {
  SymbolicGraph part(body_.name() + (is_on_the_way ? "_way" : "_again"), body_.registry());
  SymbolList symbols(body_.symbol_count());
  const auto input = [&](std::size_t k) {
    symbols[inputs_[k]] = part.input(body_.symbols()[inputs_[k]].name, form(k));
  };
  for (std::size_t k = 0; k < carried(); ++k) input(k);
  SymbolList marked;
  if (is_on_the_way) marked.push_back(part.input(free_name("tape"), {DType::f64, {}}));
  for (std::size_t k = result_count(control_); k < input_count(control_, 0); ++k) input(k);
  const auto number = [&](std::string name) {
    return part.input(free_name(std::move(name)), {DType::i64, {}});
  };
  const TensorSymbol start = number("start"), end = number("end");
  if (is_on_the_way) marked.push_back(number("left"));
  const TensorSymbol counter = number("iteration");
  const TensorSymbol now = part.add("add", {start, counter});
  TensorSymbol next_token;
  if (is_on_the_way) {
    marked.push_back(now);
    for (std::size_t k = 0; k < carried(); ++k)
      if (kept_[k]) marked.push_back(symbols[inputs_[k]]);
    next_token = part.tensor({DType::f64, {}});
    part.call(tape_mark(tape_, control_.checkpoints), marked, SymbolList{next_token});
  }
  if (control_.has_counter) symbols[inputs_.back()] = now;
  SymbolList asked = body_.outputs();
  asked.resize(carried());
  symbols = splice(
      part, body_, std::move(symbols), [&](std::uint32_t node) { return node != keep_; }, asked);
  SymbolList outputs;
  for (const TensorSymbol output : asked) outputs.push_back(symbols[output.index]);
  if (is_on_the_way) outputs.push_back(next_token);
  outputs.push_back(part.add("sub", {end, now}));
  part.set_outputs(outputs);
  return part;
}

/// Computes the iterations from the first to the second of the numbers again, the third of which is
/// that of the iterations left. `values` are what the first one begins with, and the token, which
/// become what the second one begins with, and the token behind it.
void CheckpointedLoop::go_on(SymbolicGraph& back, SymbolList& values, const SymbolList& given,
                             const SymbolList& numbers) const {
  SymbolList inputs = values;
  inputs.insert(inputs.end(), given.begin(), given.end());
  inputs.insert(inputs.end(), numbers.begin(), numbers.end());
  const NodeSymbol way = back.add_while(part(true), inputs, {.has_counter = true});
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = back.output(way, k);
}

SymbolicGraph CheckpointedLoop::back() const {
  SymbolicGraph back(body_.name() + "_back", body_.registry());
  SymbolList seeds, sums, inputs, given;
  for (const std::size_t k : real_)
    seeds.push_back(back.input("g" + std::to_string(k), plain(form(k))));
  for (const std::size_t k : added_)
    sums.push_back(back.input("sum" + std::to_string(k), plain(form(k))));
  const TensorSymbol left = back.input("left", {DType::i64, {}});
  const TensorSymbol token = back.input("tape", {DType::f64, {}});
  for (const std::size_t k : rest_) given.push_back(back.input("x" + std::to_string(k), form(k)));
  const TensorSymbol start = back.tensor({DType::i64, {}});
  SymbolList taken = {start};
  for (std::size_t k = 0; k < carried(); ++k) {
    inputs.push_back(kept_[k] ? back.tensor(form(k)) : back.zeros(form(k)));
    if (kept_[k]) taken.push_back(inputs.back());
  }
  const bool is_binomial = control_.checkpoints > 0;
  back.call(is_binomial ? tape_reach(tape_, control_.checkpoints) : tape_take(tape_),
            SymbolList{token, left}, taken);
  TensorSymbol first = start, next_token;
  if (is_binomial) {
    first = back.add("sub", {left, one(back)});
    inputs.push_back(token);
    go_on(back, inputs, given, {start, first, left});
    next_token = inputs.back();
    inputs.pop_back();
  }
  inputs.insert(inputs.end(), given.begin(), given.end());
  inputs.insert(inputs.end(), {first, left});
  const NodeSymbol again = back.add_while(part(), inputs, {.has_counter = true});
  // The sums go on from one part to the next, so that each is summed in the order of iterations.
  GradientCall call;
  call.inputs = inputs;
  for (std::size_t k = 0; k < carried(); ++k) call.outputs.push_back(back.output(again, k));
  call.gradients.resize(carried());
  const std::size_t shift = result_count(control_) - carried();
  for (std::size_t k = 0; k < real_.size(); ++k) {
    call.gradients[real_[k]] = seeds[k];
    call.given.add(real_[k]);
    call.wanted.add(real_[k]);
  }
  for (const std::size_t k : added_) call.wanted.add(k - shift);
  const SymbolList gradients = loop_gradient(back, again.index, call, sums);
  SymbolList outputs;
  for (const std::size_t k : real_) outputs.push_back(gradients[k]);
  for (const std::size_t k : added_) outputs.push_back(gradients[k - shift]);
  outputs.push_back(first);
  if (is_binomial) outputs.push_back(next_token);
  outputs.push_back(left);
  back.set_outputs(outputs);
  return back;
}

}  // namespace mote
