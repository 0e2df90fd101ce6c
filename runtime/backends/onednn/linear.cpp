// SPDX-License-Identifier: Apache-2.0
// matmul computes y[p,q,m,n] = sum_k a[p,q,m,k] b[p,q,k,n]; batch axes of extent 1 repeat. gemm
// computes alpha a b.
#include "ops.h"

namespace mote::onednn {
namespace {

using dnnl::matmul;

Job product(const View& a, const View& b, const View& y, const dnnl::primitive_attr& attr) {
  const std::vector<Argument> arguments = {a.as(DNNL_ARG_SRC), b.as(DNNL_ARG_WEIGHTS),
                                           y.as(DNNL_ARG_DST)};
  return make_job<matmul>(arguments, {Layouts::as_they_lie, Layouts::dense}, [&](const auto& d) {
    return matmul::primitive_desc(matmul::desc(d[0], d[1], d[2]), attr, engine());
  });
}

}  // namespace

Jobs matmul(const Reader& call) {
  return {product(call.input(0, 4), call.input(1, 4), call.output(0, 4), attributes())};
}

Jobs gemm(const Reader& call) {
  if (call.has_input(2)) decline("c is given");
  const float alpha = call.real("alpha", 1, /*exact=*/true);
  dnnl::primitive_attr attr = attributes();
  if (alpha != 1) attr.set_output_scales(0, {alpha});
  return {product(call.input(0, 2), call.input(1, 2), call.output(0, 2), attr)};
}

}  // namespace mote::onednn
