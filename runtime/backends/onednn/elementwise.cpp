// SPDX-License-Identifier: Apache-2.0
// Functions of one element, operations on two tensors with NumPy's broadcasting, and concat.
#include <map>

#include "ops.h"

namespace mote::onednn {
namespace {

using dnnl::algorithm;
constexpr std::initializer_list<Layouts> kDense = {Layouts::dense};

struct Function {
  algorithm what;
  float alpha = 0;
  float beta = 0;
};

Function function_of(const Reader& call) {
  static const std::map<std::string, Function> functions = {
      {"abs", {algorithm::eltwise_abs}},
      {"exp", {algorithm::eltwise_exp}},
      {"gelu", {algorithm::eltwise_gelu_erf}},
      {"gelu_tanh", {algorithm::eltwise_gelu_tanh}},
      {"mish", {algorithm::eltwise_mish}},
      {"relu", {algorithm::eltwise_relu}},
      {"round", {algorithm::eltwise_round}},
      {"sigmoid", {algorithm::eltwise_logistic}},
      {"softplus", {algorithm::eltwise_soft_relu}},
      {"sqrt", {algorithm::eltwise_sqrt}},
      {"tanh", {algorithm::eltwise_tanh}}};
  const std::string op = call.op();
  if (op == "elu") return {algorithm::eltwise_elu, call.real("alpha", 1)};
  if (op == "leaky_relu") return {algorithm::eltwise_relu, call.real("alpha", 0.01, true)};
  return functions.at(op);
}

}  // namespace

Jobs eltwise(const Reader& call) {
  using Eltwise = dnnl::eltwise_forward;
  const Function f = function_of(call);
  // The kernel for layouts that are not dense computes a sigmoid by another formula.
  const auto layouts = f.what == algorithm::eltwise_logistic ? kDense : kAsTheyLie;
  return {make_job<Eltwise>({call.input(0, 4).as(DNNL_ARG_SRC), call.output(0, 4).as(DNNL_ARG_DST)},
                            layouts, [&](const auto& d) {
                              return Eltwise::primitive_desc(
                                  Eltwise::desc(dnnl::prop_kind::forward_inference, f.what, d[0],
                                                f.alpha, f.beta),
                                  attributes(), engine());
                            })};
}

Jobs binary(const Reader& call) {
  static const std::map<std::string, algorithm> operations = {
      {"add", algorithm::binary_add},    {"sub", algorithm::binary_sub},
      {"mul", algorithm::binary_mul},    {"div", algorithm::binary_div},
      {"max", algorithm::binary_max},    {"min", algorithm::binary_min},
      {"equal", algorithm::binary_eq},   {"not_equal", algorithm::binary_ne},
      {"greater", algorithm::binary_gt}, {"greater_or_equal", algorithm::binary_ge},
      {"less", algorithm::binary_lt},    {"less_or_equal", algorithm::binary_le}};
  using Binary = dnnl::binary;
  const algorithm what = operations.at(call.op());
  const View y = call.output(0, 4, /*any_type=*/true);
  const bool compares = what >= algorithm::binary_ge && what <= algorithm::binary_ne;
  if (y.type != (compares ? memory::data_type::u8 : memory::data_type::f32))
    decline("y is of another dtype");
  const std::vector<Argument> arguments = {call.input(0, 4).as(DNNL_ARG_SRC_0),
                                           call.input(1, 4).as(DNNL_ARG_SRC_1), y.as(DNNL_ARG_DST)};
  // If y's layout differs from a's, version 2.6 writes the results of a comparison in the wrong
  // order.
  return {make_job<Binary>(arguments, compares ? kDense : kAsTheyLie, [&](const auto& d) {
    return Binary::primitive_desc(Binary::desc(what, d[0], d[1], d[2]), attributes(), engine());
  })};
}

Jobs concat(const Reader& call) {
  using Concat = dnnl::concat;
  const View a = call.input(0, 3, true), b = call.input(1, 3, true), y = call.output(0, 3, true);
  if (a.type != b.type || a.type != y.type) decline("dtypes differ");
  const std::vector<Argument> arguments = {a.as(DNNL_ARG_MULTIPLE_SRC),
                                           b.as(DNNL_ARG_MULTIPLE_SRC + 1), y.as(DNNL_ARG_DST)};
  return {make_job<Concat>(arguments, kAsTheyLie, [&](const auto& d) {
    return Concat::primitive_desc(d[2], 1, {d[0], d[1]}, engine(), attributes());
  })};
}

}  // namespace mote::onednn
