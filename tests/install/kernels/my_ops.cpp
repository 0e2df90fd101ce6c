// SPDX-License-Identifier: Apache-2.0
// Defines y = x * sigmoid(beta*x): swish, which the catalogue has only for beta = 1.
#include <mote/macroops/library.h>
#include <mote/uops/uop.h>

namespace mote {

std::vector<OpRecord> library_ops() {
  OpRecord swish;
  swish.name = "swish";
  swish.family = "activation";
  swish.equation = "y[i] = x[i] / (1 + exp(-beta*x[i]))";
  swish.inputs = {{"x"}};
  swish.dtypes = {DType::f32, DType::f64};
  swish.params = {{.name = "beta",
                   .is_integer = false,
                   .default_value = 1.0,
                   .lower = {},
                   .upper = {},
                   .meaning = "how steep"}};
  swish.source = "Ramachandran, Zoph, Le 2017";
  swish.define = [](const Instance& instance) {
    const Uop x = input("x", instance.dtype, {"N"});
    return ProgramSpec{.name = {},
                       .equation = {},
                       .params = {},
                       .inputs = {x},
                       .outputs = {{"y", x / (1 + exp(-(param("beta", instance.dtype) * x)))}},
                       .sizes = {},
                       .constraints = {}};
  };
  return {swish};
}

}  // namespace mote
