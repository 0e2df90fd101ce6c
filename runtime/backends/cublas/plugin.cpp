// SPDX-License-Identifier: Apache-2.0
// The backends cublas and cublas_tf32: gemm, matmul and matmul_integer by cuBLASLt on the first
// GPU. Equations are the catalogue's.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "cuda/offered_device.h"
#include "product.h"

namespace mote::cublas {
namespace {

using nvidia::Kind;
using nvidia::Op;
using nvidia::Reader;
using nvidia::Table;
using nvidia::Tensor;

/// Returns a factor as cuBLAS takes it: a double for doubles, else a float.
double as_passed(double factor, DType dtype) {
  return dtype == DType::f64 ? factor : static_cast<double>(static_cast<float>(factor));
}

/// Computes y = alpha a b + beta c; beta = 0 never reads c.
nvidia::Work gemm(const Reader& call) {
  const Tensor a = call.input(0, "a", 2);
  const Tensor b = call.input(1, "b", 2);
  const Tensor y = call.output(0, "y", 2);
  nvidia::require_dims(b, {a.dims[1], b.dims[1]});
  nvidia::require_dims(y, {a.dims[0], b.dims[1]});
  Product p{stack_of(a), stack_of(b), stack_of(y), stack_of(y)};
  p.kind = call.kind();
  p.alpha = call.real("alpha", 1);
  p.alpha = as_passed(p.alpha, y.dtype);
  // With alpha = 0 cuBLAS reads neither a nor b; but 0 times their infinities is NaN.
  if (p.alpha == 0 || !std::isfinite(p.alpha)) nvidia::decline("alpha is 0 or not finite");
  if (call.has_input(2)) {
    const Tensor c = call.input(2, "c", 2);
    nvidia::require_dims(c, y.dims);
    p.beta = as_passed(call.real("beta", 1), y.dtype);
    if (!std::isfinite(p.beta)) nvidia::decline("beta is not finite");
    if (p.beta != 0) p.c = stack_of(c);
  }
  return work_of(p);
}

void require_batches(const Stack& s, const Stack& y, const Stack& other) {
  for (std::size_t k = 0; k < 2; ++k) {
    if (s.batch[k] != y.batch[k] && s.batch[k] != 1)
      nvidia::reject(s.tensor.text() + ": its batches are not those of " + y.tensor.text());
    if (s.batch[k] == 1 && other.batch[k] == 1 && y.batch[k] != 1)
      nvidia::reject(y.tensor.text() + " has batches where its operands have one");
  }
}

nvidia::Work product_of(const Stack& a, const Stack& b, const Stack& y, Kind kind) {
  require_batches(a, y, b);
  require_batches(b, y, a);
  if (a.cols != b.rows || y.rows != a.rows || y.cols != b.cols)
    nvidia::reject(y.tensor.text() + " is not the product's shape, of " + a.tensor.text() +
                   " and " + b.tensor.text());
  return work_of({a, b, y, y, 1, 0, kind});
}

/// Computes y[p, q] = a[p, q] b[p, q]; a batch axis of extent 1 repeats.
nvidia::Work matmul(const Reader& call) {
  return product_of(stack_of(call.input(0, "a", 4)), stack_of(call.input(1, "b", 4)),
                    stack_of(call.output(0, "y", 4)), call.kind());
}

/// Computes y[p] = a[p] b[p] for i8, exactly; a batch axis of extent 1 repeats.
nvidia::Work matmul_integer(const Reader& call) {
  constexpr std::int64_t kLeastZero = -128;
  for (const char* zero : {"a_zero", "b_zero"})
    if (call.integer(zero, 0, kLeastZero) != 0)
      nvidia::decline(std::string(zero) + " is not 0, and cuBLASLt has no zero points");
  const Stack a = stack_of(call.input(0, "a", 3));
  const Stack b = stack_of(call.input(1, "b", 3));
  const Stack y = stack_of(call.output(0, "y", 3, DType::i32));
  return product_of(a, b, y, call.kind());
}

constexpr std::array kOverC = {mote_op_pair{.input = 2, .output = 0}};

/// A contract for gemm, which may overwrite c, and one for matmul.
struct Contracts {
  mote_contract gemm, matmul;
};
constexpr Contracts contracts(Kind kind) {
  const std::span<const mote_accuracy> sums = nvidia::sums_of(kind);
  return {nvidia::contract({.kind = kind, .functions = sums, .in_place = kOverC}),
          nvidia::contract({.kind = kind, .functions = sums})};
}
constexpr Contracts kF32 = contracts(Kind::f32);
constexpr Contracts kF64 = contracts(Kind::f64);
constexpr Contracts kNarrow = contracts(Kind::narrow);
constexpr Contracts kTf32 = contracts(Kind::tf32);

constexpr mote_contract kInteger = nvidia::contract({.kind = Kind::i8});

constexpr std::array kFactors = {"alpha", "beta"};
constexpr std::array kZeros = {"a_zero", "b_zero"};

constexpr std::array<Op, 2> ops(const Contracts& by) {
  return {Op{"gemm", gemm, &by.gemm, kFactors}, Op{"matmul", matmul, &by.matmul}};
}
constexpr auto kF32Ops = ops(kF32);
constexpr auto kF64Ops = ops(kF64);
constexpr auto kNarrowOps = ops(kNarrow);
constexpr auto kTf32Ops = ops(kTf32);
constexpr std::array kIntegerOps = {Op{"matmul_integer", matmul_integer, &kInteger, kZeros}};
constexpr Table kF32Table = {"cublas", Kind::f32, kF32Ops};
constexpr Table kF64Table = {"cublas", Kind::f64, kF64Ops};
constexpr Table kNarrowTable = {"cublas", Kind::narrow, kNarrowOps};
constexpr Table kIntegerTable = {"cublas", Kind::i8, kIntegerOps};
constexpr Table kTf32Table = {"cublas_tf32", Kind::tf32, kTf32Ops};

}  // namespace
}  // namespace mote::cublas

extern "C" mote_status mote_plugin_devices(const mote_device** devices, int32_t* count) {
  return mote::cuda::offer_device(devices, count);
}

extern "C" mote_status mote_plugin_init(mote_plugin* plugin) {
  using namespace mote::cublas;
  static const mote::nvidia::Backends backends(
      "cublas", mote::nvidia::kernels_of<kF32Table, kF64Table, kNarrowTable, kIntegerTable>(),
      "cublas_tf32", mote::nvidia::kernels_of<kTf32Table>());
  return backends.offer(*plugin);
}
