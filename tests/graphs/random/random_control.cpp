// SPDX-License-Identifier: Apache-2.0
// Random loops and branches: bodies are random graphs themselves, with loops and branches in them
// up to three levels deep. Loops run 0, 1, 2 or 5 times, or as often as a value of the graph around
// says.
#include <algorithm>

#include "mote/symbolic/control.h"
#include "random_nodes.h"

namespace mote::test {
namespace {

constexpr int kDeepest = 3;

TensorForm row_major(const TensorForm& form) { return {form.dtype, form.shape}; }

/// Returns the symbol with the form that an input of a sub-graph has.
TensorSymbol given(GraphBuilder& b, TensorSymbol x) {
  const TensorForm form = b.graph().form(x);
  b.note_read(x);
  return form == row_major(form) ? x : b.graph().convert(x, row_major(form));
}

void grow_inside(GraphBuilder& inner, const NodeChoice& choice) {
  const int count = 1 + inner.rng().below(5);
  for (int attempt = 0; attempt < 4 * count; ++attempt) {
    if (inner.graph().node_count() >= static_cast<std::size_t>(count)) break;
    const int kind = inner.rng().below(100);
    if (kind < 45) {
      add_pointwise(inner, choice);
    } else if (kind < 60) {
      add_chain(inner, choice);
    } else if (kind < 70) {
      add_parts(inner, choice);
    } else if (kind < 78) {
      add_view(inner);
    } else if (kind < 84) {
      add_conversion(inner);
    } else if (kind < 92) {
      add_loop(inner, choice);
    } else {
      add_branches(inner, choice);
    }
  }
}

/// Returns what a body computes of that form: something new, an input, or a part of a tensor.
TensorSymbol result(GraphBuilder& inner, const TensorForm& form,
                    const std::vector<TensorSymbol>& carried) {
  SymbolicGraph& g = inner.graph();
  const int kind = inner.rng().below(100);
  if (kind < 25) {
    std::vector<TensorSymbol> same;
    for (const TensorSymbol x : carried)
      if (g.form(x) == form) same.push_back(x);
    if (!same.empty()) return inner.rng().pick(same);
  }
  const TensorSymbol x = inner.operand(form.dtype, form.shape);
  if (kind < 45 && g.form(x) == form) return x;
  if (form.dtype == DType::boolean) return given(inner, x);
  const TensorSymbol y = inner.operand(form.dtype, form.shape);
  const TensorSymbol z = g.add(inner.rng().pick<const char*>({"add", "mul", "max"}), {x, y});
  return g.form(z) == form ? z : given(inner, z);
}

/// Returns one of the results once more, if one has the form, or another result.
TensorSymbol result_or_one_again(GraphBuilder& inner, const TensorForm& form,
                                 const std::vector<TensorSymbol>& carried,
                                 const std::vector<TensorSymbol>& results) {
  if (inner.rng().chance(25))
    for (const TensorSymbol x : results)
      if (inner.graph().form(x) == form) return x;
  return result(inner, form, carried);
}

/// Lists symbols of the graph around for the inputs of a graph that are not given yet.
std::vector<TensorSymbol> symbols_for(GraphBuilder& b, const SymbolicGraph& sub,
                                      std::vector<TensorSymbol> symbols, std::size_t count) {
  const std::vector<std::uint32_t> inputs = input_indices(sub);
  for (std::size_t k = symbols.size(); k < count; ++k) {
    const TensorForm form = sub.symbols()[inputs[k]].form;
    symbols.push_back(given(b, b.operand(form.dtype, form.shape)));
  }
  return symbols;
}

TensorSymbol integer(SymbolicGraph& g, std::int64_t value) {
  Tensor x(DType::i64, AxisList{});
  x.set({}, value);
  return g.constant({}, x);
}

/// Returns an i64[] between 0 and 5 that follows from the data.
TensorSymbol data_count(GraphBuilder& b) {
  SymbolicGraph& g = b.graph();
  const TensorSymbol x = b.operand(DType::i64, {});
  return g.add("min", {g.add("max", {x, integer(g, 0)}), integer(g, 5)});
}

/// Returns the first element of the tensor as an integer; none if it has no element.
TensorSymbol first_element(SymbolicGraph& g, TensorSymbol x) {
  while (g.form(x).shape.size() > 0) {
    if (g.form(x).shape[0] == 0) return {};
    x = g.select(x, 0, 0);
  }
  return g.form(x).dtype == DType::i64 ? x : g.convert(x, {DType::i64, {}});
}

/// Returns the number of iterations that are left, but 0 where `early` is; `early` may be left out.
TensorSymbol iterations_left(SymbolicGraph& body, TensorSymbol end, TensorSymbol counter,
                             TensorSymbol early) {
  const TensorSymbol left = body.add("sub", {end, counter});
  if (!early) return left;
  // The least integer is its own absolute value, and less than any number that is left.
  const TensorSymbol positive = body.add("max", {body.add("abs", {early}), integer(body, 0)});
  return body.add("min", {left, positive});
}

/// Returns a graph that passes its input on.
SymbolicGraph passing(const TensorForm& form, const char* name) {
  SymbolicGraph g(name);
  g.set_outputs({g.input("go", form)});
  return g;
}

/// Returns the condition as what a branch or a loop of the body gives.
TensorSymbol given_inside(GraphBuilder& inner, TensorSymbol left, TensorSymbol go) {
  SymbolicGraph& body = inner.graph();
  const TensorForm form = body.form(go);
  if (inner.rng().chance(50)) {
    const TensorSymbol index =
        body.add("max", {body.add("min", {left, integer(body, 1)}), integer(body, 0)});
    std::vector<CaseBranch> branches;
    branches.emplace_back(passing(form, "end"), std::vector{go});
    branches.emplace_back(passing(form, "go_on"), std::vector{go});
    return body.output(body.add_case_of(index, std::move(branches)), 0);
  }
  SymbolicGraph again = passing(form, "again");
  const TensorSymbol counter = again.input("counter", {DType::i64, {}});
  again.set_outputs({again.outputs()[0], again.add("sub", {integer(again, 1), counter})});
  return body.output(body.add_while(again, std::vector{go}, {.has_counter = true}), 0);
}

/// Values that a sub-graph gets: at least one, at most three.
std::vector<TensorSymbol> some_values(GraphBuilder& b, const NodeChoice& choice) {
  std::vector<TensorSymbol> values;
  const int count = 1 + b.rng().below(3);
  for (int k = 0; k < count; ++k) {
    const TensorSymbol x = b.some_value(b.rng().chance(70) ? choice.dtype : std::nullopt);
    if (x && count_of(b.graph().form(x).shape) <= 512) values.push_back(given(b, x));
  }
  return values;
}

}  // namespace

bool add_loop(GraphBuilder& b, const NodeChoice& choice) {
  if (b.depth() >= kDeepest) return false;
  const std::vector<TensorSymbol> carried = some_values(b, choice);
  if (carried.empty()) return false;
  GraphBuilder inner(b.rng().next(), b.has_exact_reals());
  inner.set_depth(b.depth() + 1);
  SymbolicGraph& body = inner.graph();
  std::vector<TensorSymbol> inputs;
  for (const TensorSymbol x : carried) {
    inputs.push_back(body.input("p" + std::to_string(inputs.size()), b.graph().form(x)));
    inner.publish(inputs.back());
  }
  const int kind = b.rng().below(5);
  const bool is_by_data = kind == 4;
  const std::int64_t times =
      std::vector<std::int64_t>{0, 1, 2, 5, 0}[static_cast<std::size_t>(kind)];
  const TensorSymbol limit = is_by_data ? body.input("limit", {DType::i64, {}}) : TensorSymbol{};
  grow_inside(inner, choice);
  std::vector<TensorSymbol> outputs;
  for (const TensorSymbol x : inputs) outputs.push_back(result(inner, body.form(x), inputs));
  // It may be a new input, and the counter is the last one.
  TensorSymbol early;
  if (inner.rng().chance(25))
    early = inner.operand(DType::i64, {});
  else if (inner.rng().chance(33))
    early = first_element(body, inner.rng().pick(outputs));
  const TensorSymbol counter = body.input("counter", {DType::i64, {}});
  for (TensorSymbol& output : outputs)
    if (body.form(output) == body.form(counter) && inner.rng().chance(25)) output = counter;
  const TensorSymbol end = is_by_data ? limit : integer(body, times);
  const TensorSymbol left = iterations_left(body, end, counter, early);
  if (b.rng().chance(50)) {
    const TensorSymbol go = body.tensor({DType::boolean, {}});
    body.copy(left, go);
    outputs.push_back(go);
  } else {
    outputs.push_back(left);
  }
  if (inner.depth() < kDeepest && inner.rng().chance(20))
    outputs.back() = given_inside(inner, left, outputs.back());
  body.set_outputs(outputs);
  const std::size_t count = input_indices(body).size() - 1;
  std::vector<TensorSymbol> symbols = carried;
  if (is_by_data) symbols.push_back(given(b, data_count(b)));
  symbols = symbols_for(b, body, std::move(symbols), count);
  body.rename_graph(is_by_data ? "times_by_data" : "times_" + std::to_string(times));
  const NodeSymbol node = b.graph().add_while(body, symbols, {.has_counter = true});
  for (const std::uint32_t output : b.graph().info(node).outputs) b.publish(b.graph().at(output));
  return true;
}

bool add_branches(GraphBuilder& b, const NodeChoice& choice) {
  if (b.depth() >= kDeepest) return false;
  const std::vector<TensorSymbol> like = some_values(b, choice);
  if (like.empty()) return false;
  const int count = 1 + b.rng().below(3);
  std::vector<CaseBranch> branches;
  for (int k = 0; k < count; ++k) {
    GraphBuilder inner(b.rng().next(), b.has_exact_reals());
    inner.set_depth(b.depth() + 1);
    std::vector<TensorSymbol> inputs;
    for (const TensorSymbol x : like) {
      inputs.push_back(inner.graph().input("p" + std::to_string(inputs.size()), b.graph().form(x)));
      inner.publish(inputs.back());
    }
    grow_inside(inner, choice);
    std::vector<TensorSymbol> outputs;
    for (const TensorSymbol x : inputs)
      outputs.push_back(result_or_one_again(inner, inner.graph().form(x), inputs, outputs));
    inner.graph().set_outputs(outputs);
    inner.graph().rename_graph("branch" + std::to_string(k));
    std::vector<TensorSymbol> symbols =
        symbols_for(b, inner.graph(), like, input_indices(inner.graph()).size());
    branches.emplace_back(inner.graph(), std::move(symbols));
  }
  SymbolicGraph& g = b.graph();
  const bool may_be_none = b.rng().chance(60);
  // The index is below the number of branches, and not negative if one must run.
  TensorSymbol index = g.add("min", {b.operand(DType::i64, {}), integer(g, count - 1)});
  if (!may_be_none) index = g.add("max", {index, integer(g, 0)});
  std::vector<TensorSymbol> otherwise;
  if (may_be_none) otherwise = like;
  const NodeSymbol node = g.add_case_of(index, std::move(branches), otherwise);
  for (const std::uint32_t output : g.info(node).outputs) b.publish(g.at(output));
  return true;
}

}  // namespace mote::test
