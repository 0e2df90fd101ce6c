// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit tensors: summed in 32 bits, then, if y has 8 bits too, scaled, rounded and
// moved by its zero.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "ops.h"

namespace mote::onednn {
namespace {

constexpr bool kAnyType = true;
constexpr memory::dim kLeastZero = -128;

/// Sets a zero point of the call as an attribute of the primitive. Declines values that no element
/// of the tensor can have: version 2.6 sums wrongly with some of them.
void set_zero(const Reader& call, const char* name, const View& of, int argument,
              dnnl::primitive_attr& attr) {
  const memory::dim zero = call.integer(name, 0, kLeastZero);
  const bool is_signed = of.type == memory::data_type::s8;
  if (zero < (is_signed ? -128 : 0) || zero > (is_signed ? 127 : 255))
    decline(fmt::format("{} is {}, which no element of {} can be", name, zero, of.name));
  if (zero != 0) attr.set_zero_points(argument, 0, {static_cast<std::int32_t>(zero)});
}

/// Sets y's zero; oneDNN adds it before it rounds half to even, so an odd one would reverse ties.
void set_y_zero(const Reader& call, const View& y, dnnl::primitive_attr& attr) {
  if (call.integer("y_zero", 0, kLeastZero) % 2 != 0) decline("y_zero is odd");
  set_zero(call, "y_zero", y, DNNL_ARG_DST, attr);
}

/// Sets the scale of each element along y's `axis`, which is given when the primitive runs.
void set_scale(const View& scale, int axis, dnnl::primitive_attr& attr,
               std::vector<Argument>& arguments) {
  attr.set_output_scales(1 << axis, {DNNL_RUNTIME_F32_VAL});
  Argument argument = scale.as(DNNL_ARG_ATTR_OUTPUT_SCALES);
  argument.is_attribute = true;
  arguments.push_back(argument);
}

/// Returns the sums of a convolution before they are scaled: dense memory that two jobs share.
Argument sums_of(const View& y, int number) {
  constexpr int kSums = 0;
  View sums = y;
  sums.type = memory::data_type::s32;
  sums.data = nullptr;
  memory::dim step = 1;
  for (std::size_t k = sums.dims.size(); k-- > 0; step *= sums.dims[k]) sums.strides[k] = step;
  Argument argument = sums.as(number);
  argument.shared = kSums;
  return argument;
}

/// Computes y from the sums: convolutions take no scale at run time, but reorders do.
Job requantised(const Reader& call, const View& y) {
  dnnl::primitive_attr attr = attributes();
  set_y_zero(call, y, attr);
  std::vector<Argument> arguments = {sums_of(y, DNNL_ARG_FROM), y.as(DNNL_ARG_TO)};
  set_scale(call.input(2, 1), 1, attr, arguments);
  return make_job<dnnl::reorder>(
      arguments, {Layouts::as_they_lie, Layouts::dense}, [&](const auto& d) {
        return dnnl::reorder::primitive_desc(engine(), d[0], engine(), d[1], attr);
      });
}

/// Returns the greatest |x - zero| of an 8-bit tensor's elements.
memory::dim reach(const View& of, memory::dim zero) {
  const memory::dim least = of.type == memory::data_type::s8 ? -128 : 0;
  return std::max(zero - least, least + 255 - zero);
}

/// Declines processors without VNNI, on which oneDNN adds pairs of products in 16 bits that
/// saturate.
void expect_sums_of_32_bits() {
  using dnnl::cpu_isa;
  switch (dnnl::get_effective_cpu_isa()) {
    case cpu_isa::avx2_vnni:
    case cpu_isa::avx512_core_vnni:
    case cpu_isa::avx512_core_bf16:
    case cpu_isa::avx512_core_amx:
      return;
    default:
      decline("sums of products of 8 bits saturate on a CPU without VNNI");
  }
}

/// Declines sums that could be inexact: they wrap in 32 bits, and with a zero point they pass
/// through floats, which hold whole numbers up to 2^24.
void expect_exact_sums(memory::dim terms, memory::dim product, bool has_zero) {
  const memory::dim most = has_zero ? memory::dim{1} << 24 : (memory::dim{1} << 31) - 1;
  if (terms > most / product) decline(fmt::format("sums may exceed {}", most));
}

}  // namespace

Jobs integer_matmul(const Reader& call) {
  using dnnl::matmul;
  expect_sums_of_32_bits();
  const View a = call.input(0, 3, kAnyType), b = call.input(1, 3, kAnyType);
  const View y = call.output(0, 3, kAnyType);
  dnnl::primitive_attr attr = attributes();
  set_zero(call, "a_zero", a, DNNL_ARG_SRC, attr);
  set_zero(call, "b_zero", b, DNNL_ARG_WEIGHTS, attr);
  std::vector<Argument> arguments = {a.as(DNNL_ARG_SRC), b.as(DNNL_ARG_WEIGHTS),
                                     y.as(DNNL_ARG_DST)};
  const memory::dim a_zero = call.integer("a_zero", 0, kLeastZero);
  const memory::dim b_zero = call.integer("b_zero", 0, kLeastZero);
  expect_exact_sums(a.dims.back(), reach(a, a_zero) * reach(b, b_zero), a_zero != 0 || b_zero != 0);
  if (call.op() == "qmatmul") {
    set_y_zero(call, y, attr);
    set_scale(call.input(2, 1), 2, attr, arguments);
  }
  return {make_job<matmul>(arguments, {Layouts::as_they_lie, Layouts::dense}, [&](const auto& d) {
    return matmul::primitive_desc(matmul::desc(d[0], d[1], d[2]), attr, engine());
  })};
}

Jobs integer_convolution(const Reader& call) {
  expect_sums_of_32_bits();
  const ConvolutionWindow w = convolution_window(call, 2);
  const View x = call.input(0, 4, kAnyType), weights = call.input(1, 4, kAnyType);
  const View y = call.output(0, 4, kAnyType);
  const bool scaled = call.op() == "qconv2d";
  dnnl::primitive_attr attr = attributes();
  set_zero(call, "x_zero", x, DNNL_ARG_SRC, attr);
  std::vector<Argument> arguments = {
      x.as(DNNL_ARG_SRC),
      (w.groups == 1 ? weights : weights.split(0, w.groups)).as(DNNL_ARG_WEIGHTS),
      scaled ? sums_of(y, DNNL_ARG_DST) : y.as(DNNL_ARG_DST)};
  const memory::dim x_zero = call.integer("x_zero", 0, kLeastZero);
  expect_exact_sums(weights.dims[1] * weights.dims[2] * weights.dims[3],
                    reach(x, x_zero) * reach(weights, 0), x_zero != 0);
  const bool biased = call.has_input(3);
  if (biased) arguments.push_back(call.input(3, 1, kAnyType).as(DNNL_ARG_BIAS));
  Jobs jobs = {make_job<dnnl::convolution_forward>(arguments, {Layouts::any}, [&](const auto& d) {
    return convolution_desc(w, dnnl::prop_kind::forward_inference, d[0], d[1],
                            biased ? &d[3] : nullptr, d[2], attr);
  })};
  if (scaled) jobs.push_back(requantised(call, y));
  return jobs;
}

}  // namespace mote::onednn
