// SPDX-License-Identifier: Apache-2.0
#include "gradient_truth.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <unordered_map>

#include "mote/base/error.h"
#include "mote/uops/gradient.h"

namespace mote::test {
namespace {

const std::string& name_of(const Uop& u) { return std::get<uop::Input>(u.node().kind).name; }

std::optional<std::size_t> output_named(const Program& p, const std::string& name) {
  const auto at = std::ranges::find(p.outputs, name, &Output::name);
  if (at == p.outputs.end()) return std::nullopt;
  return static_cast<std::size_t>(at - p.outputs.begin());
}

/// Returns the gradient's outputs with each input that is an output of the op replaced by the op's
/// body.
std::vector<Output> composed(const Program& op, const Program& gradient) {
  const std::vector<Uop> wanted = roots(gradient);
  std::unordered_map<const UopNode*, Uop> done;
  for (const Uop& u : topological(wanted)) {
    if (const auto* input = std::get_if<uop::Input>(&u.node().kind)) {
      const auto k = output_named(op, input->name);
      const bool given = k && !find_input(op, input->name);
      done.emplace(u.id(), given ? op.outputs[*k].value : u);
      continue;
    }
    std::vector<Uop> args;
    for (const Uop& a : operands(u)) args.push_back(done.at(a.id()));
    done.emplace(u.id(), args.empty() ? u : with_operands(u, args));
  }
  std::vector<Output> outputs;
  for (const Output& o : gradient.outputs) outputs.push_back({o.name, done.at(o.value.id())});
  return outputs;
}

}  // namespace

GradientOfOp gradient_of_op(const OpRecord& record, DType dtype, const Program& gradient) {
  TensorMask mask = 0;
  for (std::size_t k = 0; k < record.inputs.size(); ++k)
    if (!record.inputs[k].optional || find_input(gradient, record.inputs[k].name))
      mask |= mask_bit(k);
  GradientOfOp g;
  g.op = instantiate(record, {dtype, mask});
  const std::vector<std::string> names = mote::gradient(*g.op).gradient_names;
  ProgramSpec spec;
  spec.name = gradient.name;
  spec.params = g.op->params;
  for (const std::string& name : names) {
    const auto at = name.empty() ? std::nullopt : find_input(gradient, name);
    g.from.push_back(at ? std::optional(spec.inputs.size()) : std::nullopt);
    if (at) spec.inputs.push_back(gradient.inputs[static_cast<std::size_t>(*at)]);
  }
  for (const Uop& u : g.op->inputs) {
    g.inputs.push_back(spec.inputs.size());
    const auto at = find_input(gradient, name_of(u));
    spec.inputs.push_back(at ? gradient.inputs[static_cast<std::size_t>(*at)] : u);
  }
  spec.outputs = composed(*g.op, gradient);
  g.gradient = make_program(std::move(spec));
  const std::vector<bool> read = read_inputs(*g.op);
  for (std::size_t k = 0; k < read.size(); ++k)
    if (read[k] && is_real(g.op->inputs[k].dtype())) g.wrt.push_back(k);
  if (g.wrt.size() != g.gradient.outputs.size())
    throw InternalError(record.name + ": other gradients than inputs");
  return g;
}

std::vector<Array> draw_operands(const GradientOfOp& g, const Case& c, bool wide, Data kind,
                                 std::uint64_t seed) {
  const std::vector<Array> drawn = draw_inputs(c, kind, seed);
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> any(-200, 200);
  std::vector<Array> all;
  for (const Uop& u : g.gradient.inputs) {
    Array a{u.dtype(), {}, {}};
    for (const Expr& e : u.shape()) a.shape.push_back(evaluate(e, c.binding.values));
    const std::int64_t count = element_count(a.shape);
    const auto given = find_input(*c.program, name_of(u));
    if (wide && is_real(a.dtype)) {
      for (std::int64_t k = 0; k < count; ++k) a.values.push_back(store_as(any(engine), a.dtype));
    } else if (is_real(a.dtype)) {
      a.values = draw(kind, a.dtype, count, seed + 13 * all.size());
    } else {
      const auto& values = drawn.at(static_cast<std::size_t>(given.value())).values;
      for (std::int64_t k = 0; k < count; ++k)
        a.values.push_back(values[static_cast<std::size_t>(k) % values.size()]);
    }
    all.push_back(std::move(a));
  }
  return all;
}

Derivative derivative(const GradientOfOp& g, const std::vector<Array>& operands,
                      const std::map<std::string, Number>& params, std::size_t k, std::size_t at,
                      double step) {
  std::vector<DualArray> inputs;
  std::mt19937_64 engine(7);
  std::uniform_real_distribution<double> direction(0.5, 1);
  for (const std::size_t position : g.inputs) {
    inputs.push_back(as_dual(operands[position]));
    if (step == 0) continue;
    for (Dual& d : inputs.back().reals) {
      const Quad move = Quad(step) * direction(engine) * (engine() % 2 == 0 ? 1 : -1);
      d.value += move * std::max(absolute(d.value), Quad(0x1p-60));
    }
  }
  inputs.at(g.wrt[k]).reals.at(at).tangent = 1;
  DualTrace trace;
  const std::vector<DualArray> y = evaluate_dual(*g.op, inputs, params, &trace);
  Derivative d{true, 0, trace.decisions};
  for (std::size_t o = 0; o < y.size(); ++o) {
    if (!g.from[o]) continue;
    const Array& gy = operands[*g.from[o]];
    for (std::size_t n = 0; n < y[o].reals.size(); ++n)
      d.value += Quad(gy.values[n].real()) * y[o].reals[n].tangent;
  }
  d.finite = d.value - d.value == 0;
  return d;
}

}  // namespace mote::test
