// SPDX-License-Identifier: Apache-2.0
// One step of an optimiser: new weights and state from old ones and a gradient.
#include "families.h"

namespace mote {
namespace {

Uop of(DType t, const char* name) { return input(name, t, {"N"}); }

ProgramSpec sgd(const Instance& instance) {
  const DType t = instance.dtype;
  const Uop w = of(t, "w"), g = of(t, "g"), m = of(t, "m"), mu = param("momentum", t);
  const Uop slope = g + param("weight_decay", t) * w;
  const Uop stateless = eq(iota("$step", {}), 1) || eq(mu, 0);
  const Uop moved = where(stateless, slope, mu * m + (1 - param("dampening", t)) * slope);
  const Uop nesterov = iota("$nesterov", shape_of(w)) > 0;
  const Uop next = w - param("lr", t) * where(nesterov, slope + mu * moved, moved);
  return spec({w, g, m}, {{"w_next", next}, {"m_next", moved}});
}

ProgramSpec adam(const Instance& instance) {
  const DType t = instance.dtype;
  const Uop w = of(t, "w"), g = of(t, "g"), m = of(t, "m"), v = of(t, "v");
  const Uop beta1 = param("beta1", t), beta2 = param("beta2", t);
  const Uop slope = g + param("weight_decay", t) * w;
  const Uop m_next = beta1 * m + (1 - beta1) * slope;
  const Uop v_next = beta2 * v + (1 - beta2) * (slope * slope);
  const Uop step = index_as("$step", shape_of(w), t);
  const Uop spread = sqrt(v_next / (1 - pow(beta2, step))) + param("eps", t);
  const Uop next = w - param("lr", t) * (m_next / (1 - pow(beta1, step))) / spread;
  return spec({w, g, m, v}, {{"w_next", next}, {"m_next", m_next}, {"v_next", v_next}});
}

}  // namespace

std::vector<OpRecord> optimiser_ops() {
  const ParamDecl step = integer_param("step", 1, std::nullopt, "which step this is, from 1");
  const ParamDecl decay = value_param("weight_decay", 0, "weights added to the gradient");
  return {
      {.name = "sgd",
       .family = "optimiser",
       .equation =
           "w' = w - lr*(nesterov ? d + momentum*m' : m'), m' = step == 1 or momentum == 0 ? d "
           ": momentum*m + (1 - dampening)*d, d = g + weight_decay*w",
       .inputs = {{"w"}, {"g"}, {"m"}},
       .dtypes = dtypes::kReal,
       .params = {step, value_param("lr", 0.001, "length of the step"),
                  value_param("momentum", 0, "what the state keeps"),
                  value_param("dampening", 0, "what the state leaves out of the gradient"), decay,
                  flag_param("nesterov", 0, "1 looks one step ahead")},
       .in_place = {{0, 0}, {2, 1}},
       .policy =
           "the first step, and every step without momentum, takes d as state, whatever m holds",
       .source = "PyTorch SGD",
       .define = sgd},
      {.name = "adam",
       .family = "optimiser",
       .equation = "w' = w - lr * (m'/(1 - beta1^step)) / (sqrt(v'/(1 - beta2^step)) + eps), m' = "
                   "beta1*m + (1 - beta1)*d, v' = beta2*v + (1 - beta2)*d^2, d = g + "
                   "weight_decay*w",
       .inputs = {{"w"}, {"g"}, {"m"}, {"v"}},
       .dtypes = dtypes::kReal,
       .params = {step, value_param("lr", 0.001, "length of the step"),
                  value_param("beta1", 0.9, "what m keeps"),
                  value_param("beta2", 0.999, "what v keeps"),
                  value_param("eps", 1e-8, "added to the root"), decay},
       .in_place = {{0, 0}, {2, 1}, {3, 2}},
       .policy = "both states are corrected for their bias by step",
       .source = "Kingma and Ba, Adam, 2015; PyTorch Adam",
       .define = adam},
  };
}

}  // namespace mote
