// SPDX-License-Identifier: Apache-2.0
// Rebuilds programs with the public builders after an edit; returns nullopt if the result is not
// legal.
#include "edit_program.h"

#include "mote/base/error.h"

namespace mote::test {
namespace {

ProgramSpec spec_of(const Program& p) {
  ProgramSpec spec;
  spec.name = p.name;
  spec.params = p.params;
  spec.inputs = p.inputs;
  spec.outputs = p.outputs;
  spec.constraints = p.constraints;
  return spec;
}

std::optional<Program> made(ProgramSpec spec) {
  try {
    return make_program(std::move(spec));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

const uop::Input& as_input(const Uop& u) { return std::get<uop::Input>(u.node().kind); }

using Env = std::map<Symbol, Expr>;

/// Makes a node of the same kind with other operands and symbols.
Uop rebuilt(const Uop& u, const std::vector<Uop>& args, const Env& env) {
  const uop::Kind& kind = u.node().kind;
  Shape shape = axes_of(u);
  for (Axis& a : shape) a = Axis(a.extent.substitute(env));
  if (const auto* in = std::get_if<uop::Input>(&kind)) {
    for (std::size_t k = 0; k < shape.size(); ++k) shape[k].broadcast = in->broadcast[k];
    return input(in->name, u.dtype(), shape);
  }
  if (const auto* iota_node = std::get_if<uop::Iota>(&kind))
    return cast(iota(iota_node->value.substitute(env), shape), u.dtype());
  if (const auto* r = std::get_if<uop::Reindex>(&kind)) {
    std::vector<IndexText> from;
    for (const Expr& e : r->from) from.emplace_back(e.substitute(env));
    return reindex(args[0], shape, from, r->fill);
  }
  if (const auto* m = std::get_if<uop::Map>(&kind))
    return m->op == MapOp::cast ? cast(args[0], u.dtype()) : map(m->op, args);
  if (const auto* r = std::get_if<uop::Reduce>(&kind)) return reduce(r->op, args[0], r->axes);
  if (const auto* s = std::get_if<uop::Select>(&kind))
    return select(args[0], s->axis, args[1], s->fill);
  if (const auto* s = std::get_if<uop::Scatter>(&kind)) {
    std::vector<IndexText> to;
    for (const Expr& e : s->to) to.emplace_back(e.substitute(env));
    return scatter(s->op, args[0], args[1], to);
  }
  if (const auto* s = std::get_if<uop::SelectScatter>(&kind))
    return select_scatter(s->op, args[0], args[1], s->axis, args[2]);
  if (std::holds_alternative<uop::StopGradient>(kind)) return stop_gradient(args[0]);
  return u;
}

std::optional<Program> edited_with(const Program& p, ProgramSpec spec, const Replace& replace) {
  try {
    std::unordered_map<const UopNode*, Uop> now;
    for (const Uop& u : nodes_of(p)) {
      std::vector<Uop> args = operands(u);
      for (Uop& a : args) a = now.at(a.id());
      Uop node = replace(u, args);
      now.emplace(u.id(), node ? node : made_of(u, args));
    }
    for (Output& o : spec.outputs) o.value = now.at(o.value.id());
    return made(std::move(spec));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

Shape axes_of(const Uop& u) {
  Shape shape;
  for (const Expr& e : u.shape()) shape.emplace_back(e);
  return shape;
}

std::vector<Uop> nodes_of(const Program& p) {
  const std::vector<Uop> roots = mote::roots(p);
  return topological(roots);
}

Uop made_of(const Uop& u, const std::vector<Uop>& args) {
  return args.empty() ? u : rebuilt(u, args, {});
}

std::optional<Program> edited(const Program& p, const Replace& replace,
                              const std::vector<Uop>& more_inputs) {
  ProgramSpec spec = spec_of(p);
  spec.inputs.insert(spec.inputs.end(), more_inputs.begin(), more_inputs.end());
  return edited_with(p, std::move(spec), replace);
}

std::optional<Program> without_output(const Program& p, std::size_t k) {
  ProgramSpec spec = spec_of(p);
  spec.outputs.erase(spec.outputs.begin() + static_cast<std::ptrdiff_t>(k));
  return made(std::move(spec));
}

std::optional<Program> without_input(const Program& p, std::size_t k) {
  for (const Uop& u : nodes_of(p))
    if (u.id() == p.inputs[k].id()) return std::nullopt;
  ProgramSpec spec = spec_of(p);
  spec.inputs.erase(spec.inputs.begin() + static_cast<std::ptrdiff_t>(k));
  return made(std::move(spec));
}

std::optional<Program> without_param(const Program& p, std::size_t k) {
  ProgramSpec spec = spec_of(p);
  spec.params.erase(spec.params.begin() + static_cast<std::ptrdiff_t>(k));
  return made(std::move(spec));
}

std::optional<Program> with_output(const Program& p, std::size_t k, const Uop& value) {
  ProgramSpec spec = spec_of(p);
  spec.outputs[k].value = value;
  return made(std::move(spec));
}

std::optional<Program> with_symbol(const Program& p, Symbol symbol, const Expr& value) {
  const Env env{{symbol, value}};
  ProgramSpec spec = spec_of(p);
  try {
    for (Uop& u : spec.inputs) u = rebuilt(u, {}, env);
    for (Constraint& c : spec.constraints) c = {c.left.substitute(env), c.right.substitute(env)};
    return edited_with(p, std::move(spec), [&](const Uop& u, const std::vector<Uop>& args) {
      return rebuilt(u, args, env);
    });
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<Program> with_real_input(const Program& p, std::size_t k) {
  const Uop& old = p.inputs[k];
  if (old.dtype() == DType::f64) return std::nullopt;
  Shape shape = axes_of(old);
  for (std::size_t a = 0; a < shape.size(); ++a) shape[a].broadcast = as_input(old).broadcast[a];
  ProgramSpec spec = spec_of(p);
  const Uop real = input(as_input(old).name, DType::f64, shape);
  spec.inputs[k] = real;
  // There is no cast: many programs are also legal in doubles.
  const auto replaced = [&](const Uop& u, const std::vector<Uop>& args) {
    return u.id() == old.id() ? real : made_of(u, args);
  };
  return edited_with(p, std::move(spec), replaced);
}

}  // namespace mote::test
