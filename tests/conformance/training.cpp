// SPDX-License-Identifier: Apache-2.0
// Adapters of the optimisers' steps (domain ai.onnx.preview.training). Inputs are R, T, then all X,
// all G, all states; outputs are all new X, then the new states.
#include <cmath>

#include "call.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// A step after which beta^step is 0 for every beta below 0.9999, so that no bias is corrected: the
/// meaning of T = 0 in ONNX.
constexpr std::int64_t kLate = 10'000'000;

/// Computes one tensor's step from the rate, the count of updates, and x, g and the states.
using UpdateStep = std::function<Outputs(const Call&, double rate, std::int64_t t,
                                         const std::vector<const Array*>&)>;

/// Updates every tensor of the node in turn; each has x, g and the states.
Adapter optimiser(std::size_t states, const UpdateStep& step) {
  return [=](const Call& c) -> Outputs {
    const double rate = real_in(c.in(0));
    const std::int64_t t = integers_in(c.in(1)).at(0);
    const std::size_t each = 2 + states, count = (c.input_count() - 2) / each;
    Outputs outputs((1 + states) * count);
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<const Array*> flat;
      std::vector<Array> views;
      views.reserve(each);
      const Dims shape = c.in(2 + k).shape;
      for (std::size_t part = 0; part < each; ++part) {
        const Array& a = c.in(2 + part * count + k);
        views.push_back(reshaped(a, {element_count(a.shape)}));
        flat.push_back(&views.back());
      }
      const Outputs results = step(c, rate, t, flat);
      for (std::size_t part = 0; part <= states; ++part) {
        outputs[part * count + k] = reshaped(results.at(part), shape);
      }
    }
    return outputs;
  };
}

Outputs adam(const Call& c, double rate, std::int64_t t, const std::vector<const Array*>& in) {
  if (c.real("norm_coefficient_post", 0) != 0) {
    throw NotApplicable("adam has no norm_coefficient_post");
  }
  const double beta2 = c.real("beta", 0.999F);
  // ONNX adds epsilon to the root before the bias correction, the op after it.
  const double corrected = t > 0 ? std::sqrt(1 - std::pow(beta2, static_cast<double>(t))) : 1;
  const Params params = {{"step", t > 0 ? t : kLate},
                         {"lr", rate},
                         {"beta1", c.real("alpha", 0.9F)},
                         {"beta2", beta2},
                         {"eps", c.real("epsilon", 1e-6F) / corrected},
                         {"weight_decay", c.real("norm_coefficient", 0)}};
  return c.kernels().run_all("adam", in[0]->dtype, in, params);
}

Outputs momentum(const Call& c, double rate, std::int64_t t, const std::vector<const Array*>& in) {
  const double kept = t > 0 ? c.real("beta", 1) : 1;  // the kept share of the gradient
  if (kept != 1 && c.real("alpha", 0) == 0) {
    throw NotApplicable("sgd without momentum dampens no gradient");
  }
  const Params params = {{"step", 2},  // any step except the first, which would take no state
                         {"lr", rate},
                         {"momentum", c.real("alpha", 0)},
                         {"dampening", 1 - kept},
                         {"weight_decay", c.real("norm_coefficient", 0)},
                         {"nesterov", c.text("mode", "standard") == "nesterov" ? 1 : 0}};
  return c.kernels().run_all("sgd", in[0]->dtype, in, params);
}

/// The op is composed: h' = h + d^2, x' = x - r/(1 + t*decay) * d / (sqrt(h') + eps), d = g +
/// norm*x.
Outputs adagrad(const Call& c, double rate, std::int64_t t, const std::vector<const Array*>& in) {
  const double decayed = rate / (1 + static_cast<double>(t) * c.real("decay_factor", 0));
  const Array decay = c.binary("mul", *in[0], c.real("norm_coefficient", 0));
  const Array d = c.binary("add", *in[1], decay);
  const Array h = c.binary("add", *in[2], c.binary("mul", d, d));
  const Array spread = c.binary("add", c.unary("sqrt", h), c.real("epsilon", 1e-6F));
  const Array step = c.binary("div", c.binary("mul", d, decayed), spread);
  return {c.binary("sub", *in[0], step), h};
}

}  // namespace

Adapters training_adapters() {
  const std::string domain = "ai.onnx.preview.training::";
  return {{domain + "Adam", optimiser(2, adam)},
          {domain + "Momentum", optimiser(1, momentum)},
          {domain + "Adagrad", optimiser(1, adagrad)}};
}

}  // namespace mote::onnx
