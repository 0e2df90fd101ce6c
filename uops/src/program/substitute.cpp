// SPDX-License-Identifier: Apache-2.0
// Rebuilds the nodes of a program, operands first, over other inputs and with constant sizes.
#include "mote/uops/substitute.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "graph/node.h"
#include "mote/base/error.h"

namespace mote {
namespace {

void check_value(const Program& p, std::size_t k, const Binding& binding, const Uop& value) {
  std::vector<Expr> expected;
  for (const std::int64_t extent : binding.inputs[k]) expected.emplace_back(extent);
  if (value && value.dtype() == p.inputs[k].dtype() && value.shape() == expected) return;
  throw Error(fmt::format("{}: input {}: got {}, expected {}{}", p.name,
                          std::get<uop::Input>(p.inputs[k].node().kind).name,
                          value ? type_text(value) : "no value", name(p.inputs[k].dtype()),
                          shape_text(expected)));
}

/// Returns the value of a parameter as the evaluator reads it: it is not rounded to 32 bits.
Uop param_value(const uop::Param& param, const Uop& u, const Binding& binding) {
  const Number& value = binding.params.at(param.name);
  return scalar(store_as(value, is_real(u.dtype())      ? DType::f64
                                : is_integer(u.dtype()) ? DType::i64
                                                        : u.dtype()),
                u.dtype());
}

bool is_empty(const std::vector<Expr>& shape) {
  return std::ranges::find(shape, Expr(0)) != shape.end();
}

/// Returns a node without elements, whose indices may divide by 0, as one without indices; and a
/// scatter of nothing as its base. Returns an empty handle for any other node.
Uop without_elements(const Uop& u, const std::vector<Uop>& args,
                     const std::map<Symbol, Expr>& env) {
  std::vector<Expr> shape = u.shape();
  for (Expr& extent : shape) extent = extent.substitute(env);
  if (is_empty(shape))
    return broadcast(scalar(0, u.dtype()), Shape(shape.begin(), shape.end()), {});
  if (std::holds_alternative<uop::Scatter>(u.node().kind) && is_empty(args[1].shape()))
    return args[0];
  return {};
}

}  // namespace

std::vector<Uop> substitute(const Program& program, const Binding& binding,
                            std::span<const Uop> inputs) {
  if (inputs.size() != program.inputs.size())
    throw Error(fmt::format("{}: got {} inputs, expected {}", program.name, inputs.size(),
                            program.inputs.size()));
  std::map<Symbol, Expr> env;
  for (const auto& [symbol, value] : binding.values) env.emplace(symbol, Expr(value));
  std::unordered_map<const UopNode*, Uop> made;
  for (const Uop& u : topological(roots(program))) {
    Uop& value = made[u.id()];
    if (const auto* in = std::get_if<uop::Input>(&u.node().kind)) {
      const auto k = static_cast<std::size_t>(*find_input(program, in->name));
      check_value(program, k, binding, inputs[k]);
      value = inputs[k];
    } else if (const auto* param = std::get_if<uop::Param>(&u.node().kind)) {
      value = param_value(*param, u, binding);
    } else {
      std::vector<Uop> args;
      for (const Uop& x : operands(u)) args.push_back(made.at(x.id()));
      value = without_elements(u, args, env);
      if (!value) value = rebuild(u, args, env);
    }
  }
  std::vector<Uop> outputs;
  for (const Uop& u : roots(program)) outputs.push_back(made.at(u.id()));
  return outputs;
}

}  // namespace mote
