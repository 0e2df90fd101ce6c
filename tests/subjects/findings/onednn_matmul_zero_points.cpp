// SPDX-License-Identifier: Apache-2.0
// oneDNN 2.6.3: matmul of u8 by s8 with a negative zero point of the source, one of the weights,
// and output scales that are set at run time gives wrong sums.
//   c++ -std=c++17 onednn_matmul_zero_points.cpp -ldnnl && ./a.out
// According to the matmul primitive's documentation zero points are any 32-bit integers, and
// dst = scale * sum_k (src - src_zero) * (weights - weights_zero).
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <oneapi/dnnl/dnnl.hpp>

using dnnl::memory;

/// Returns the one element of a product over one k, with the scale 1.
int product(std::uint8_t a, std::int8_t b, int a_zero, int b_zero, const char** kernel) {
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc one_u8({1, 1}, memory::data_type::u8, memory::format_tag::ab);
  const memory::desc one_s8({1, 1}, memory::data_type::s8, memory::format_tag::ab);
  const memory::desc one_s32({1, 1}, memory::data_type::s32, memory::format_tag::ab);
  const memory::desc scales({1}, memory::data_type::f32, memory::format_tag::a);
  dnnl::primitive_attr attr;
  attr.set_zero_points(DNNL_ARG_SRC, 0, {a_zero});
  attr.set_zero_points(DNNL_ARG_WEIGHTS, 0, {b_zero});
  attr.set_output_scales(1 << 1, {DNNL_RUNTIME_F32_VAL});
  const dnnl::matmul::primitive_desc made({one_u8, one_s8, one_s32}, attr, engine);
  *kernel = made.impl_info_str();
  float scale = 1;
  std::int32_t y = 0;
  dnnl::matmul(made).execute(stream,
                             {{DNNL_ARG_SRC, memory(one_u8, engine, &a)},
                              {DNNL_ARG_WEIGHTS, memory(one_s8, engine, &b)},
                              {DNNL_ARG_DST, memory(one_s32, engine, &y)},
                              {DNNL_ARG_ATTR_OUTPUT_SCALES, memory(scales, engine, &scale)}});
  stream.wait();
  return y;
}

int main() {
  int wrong = 0;
  for (const int a_zero : {3, -1, -2}) {
    const char* kernel = "";
    const int got = product(255, -1, a_zero, 1, &kernel), expected = (255 - a_zero) * (-1 - 1);
    std::printf("%s: (255 - %d) * (-1 - 1) = %d, expected %d\n", kernel, a_zero, got, expected);
    wrong += got != expected;
  }
  return wrong == 0;
}
