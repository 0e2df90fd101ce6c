// SPDX-License-Identifier: Apache-2.0
// Softmax, normalisation, reduction along one axis.
#include <map>

#include "ops.h"

namespace mote::onednn {
namespace {

constexpr auto kInference = dnnl::prop_kind::forward_inference;

}  // namespace

Jobs softmax(const Reader& call) {
  using Softmax = dnnl::softmax_v2_forward;
  const auto algorithm =
      call.op() == "softmax" ? dnnl::algorithm::softmax_accurate : dnnl::algorithm::softmax_log;
  return {make_job<Softmax>({call.input(0, 3).as(DNNL_ARG_SRC), call.output(0, 3).as(DNNL_ARG_DST)},
                            kAsTheyLie, [&](const auto& d) {
                              return Softmax::primitive_desc(
                                  Softmax::desc(kInference, algorithm, d[0], d[1], 1), attributes(),
                                  engine());
                            })};
}

Jobs layer_norm(const Reader& call) {
  using Norm = dnnl::layer_normalization_forward;
  std::vector<Argument> arguments = {call.input(0, 2).as(DNNL_ARG_SRC),
                                     call.output(0, 2).as(DNNL_ARG_DST)};
  dnnl::normalization_flags flags = dnnl::normalization_flags::none;
  if (call.has_input(1)) {
    flags |= dnnl::normalization_flags::use_scale;
    arguments.push_back(call.input(1, 1).as(DNNL_ARG_SCALE));
  }
  if (call.has_input(2)) {
    flags |= dnnl::normalization_flags::use_shift;
    arguments.push_back(call.input(2, 1).as(DNNL_ARG_SHIFT));
  }
  return {make_job<Norm>(arguments, {Layouts::dense}, [&](const auto& d) {
    return Norm::primitive_desc(Norm::desc(kInference, d[0], call.real("eps", 1e-5), flags),
                                attributes(), engine());
  })};
}

Jobs batch_norm(const Reader& call) {
  using Norm = dnnl::batch_normalization_forward;
  const auto flags = dnnl::normalization_flags::use_global_stats |
                     dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const std::vector<Argument> arguments = {
      call.input(0, 3).as(DNNL_ARG_SRC),      call.input(1, 1).as(DNNL_ARG_SCALE),
      call.input(2, 1).as(DNNL_ARG_SHIFT),    call.input(3, 1).as(DNNL_ARG_MEAN),
      call.input(4, 1).as(DNNL_ARG_VARIANCE), call.output(0, 3).as(DNNL_ARG_DST)};
  return {make_job<Norm>(arguments, {Layouts::dense}, [&](const auto& d) {
    return Norm::primitive_desc(Norm::desc(kInference, d[0], call.real("eps", 1e-5), flags),
                                attributes(), engine());
  })};
}

// The catalogue's window of an even size reaches one channel further at the end; oneDNN documents
// no rule.
Jobs lrn(const Reader& call) {
  using Norm = dnnl::lrn_forward;
  const memory::dim size = call.integer("size", 1);
  if (size % 2 == 0) decline("the number of channels in a sum is even");
  const std::vector<Argument> arguments = {call.input(0, 3).with_axis(3).as(DNNL_ARG_SRC),
                                           call.output(0, 3).with_axis(3).as(DNNL_ARG_DST)};
  return {make_job<Norm>(arguments, {Layouts::dense}, [&](const auto& d) {
    return Norm::primitive_desc(
        Norm::desc(kInference, dnnl::algorithm::lrn_across_channels, d[0], size,
                   call.real("alpha", 1e-4), call.real("beta", 0.75), call.real("bias", 1)),
        attributes(), engine());
  })};
}

Jobs reduction(const Reader& call) {
  using dnnl::algorithm;
  struct Kind {
    algorithm what;
    float power;
  };
  static const std::map<std::string, Kind> kinds = {
      {"sum", {algorithm::reduction_sum, 0}},
      {"mean", {algorithm::reduction_mean, 0}},
      {"prod", {algorithm::reduction_mul, 0}},
      {"reduce_max", {algorithm::reduction_max, 0}},
      {"reduce_min", {algorithm::reduction_min, 0}},
      {"norm1", {algorithm::reduction_norm_lp_sum, 1}},
      {"norm2", {algorithm::reduction_norm_lp_sum, 2}},
      {"sumsq", {algorithm::reduction_norm_lp_power_p_sum, 2}}};
  const Kind kind = kinds.at(call.op());
  using Reduction = dnnl::reduction;
  const std::vector<Argument> arguments = {call.input(0, 3).as(DNNL_ARG_SRC),
                                           call.output(0, 2).with_axis(1).as(DNNL_ARG_DST)};
  // oneDNN rejects a reduction along an axis of extent 1, which would be a copy.
  return {make_job<Reduction>(arguments, kAsTheyLie, [&](const auto& d) {
    return Reduction::primitive_desc(Reduction::desc(kind.what, d[0], d[1], kind.power, 0),
                                     attributes(), engine());
  })};
}

}  // namespace mote::onednn
