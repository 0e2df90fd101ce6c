// SPDX-License-Identifier: Apache-2.0
// The product that all kernels of this backend use, as a call of cuBLASLt.
#pragma once

#include <array>
#include <cstdint>

#include "nvidia/kernels.h"

namespace mote::cublas {

/// A stack of matrices: two batch axes, then rows and columns. Strides of batch axes of extent 1
/// are 0, so that they repeat.
struct Stack {
  nvidia::Tensor tensor;
  std::array<std::int64_t, 2> batch{1, 1};
  std::array<std::int64_t, 2> batch_stride{0, 0};
  std::int64_t rows = 1, cols = 1;
  std::int64_t row_stride = 1, col_stride = 1;

  Stack transposed() const;
};
/// Makes a stack of a tensor of rank 2 to 4.
Stack stack_of(const nvidia::Tensor& t);

/// d = alpha a b + beta c for each batch of d. c has d's extents; if beta is 0, c is not read. In
/// 8-bit products a and b are i8, d is i32, and the factors are 1 and 0.
struct Product {
  Stack a, b, c, d;
  double alpha = 1;
  double beta = 0;
  nvidia::Kind kind = nvidia::Kind::f32;
};

/// Declines layouts that BLAS does not have, and products for which cuBLASLt has no algorithm.
nvidia::Work work_of(const Product& product);

}  // namespace mote::cublas
