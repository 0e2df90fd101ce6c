// SPDX-License-Identifier: Apache-2.0
// Reductions along one axis, and of whole images.
#include <map>

#include "ops.h"

namespace mote::cudnn {
namespace {

/// Returns the value of cudnnReduceTensorOp_t.
int operation_of(const std::string& op) {
  static const std::map<std::string, int> operations = {{"sum", kReduceAdd},
                                                        {"prod", kReduceMultiply},
                                                        {"reduce_min", kReduceMinimum},
                                                        {"reduce_max", kReduceMaximum},
                                                        {"mean", kReduceAverage},
                                                        {"norm1", kReduceNorm1},
                                                        {"norm2", kReduceNorm2},
                                                        {"global_max_pool", kReduceMaximum},
                                                        {"global_avg_pool", kReduceAverage}};
  return operations.at(op);
}

}  // namespace

Work reduction(const Reader& call) {
  const bool of_images = call.op().starts_with("global");
  const Tensor x = widened(call.input(0, "x", of_images ? 4 : 3));
  const Tensor y =
      of_images ? call.output(0, "y", 4) : widened(with_axis(call.output(0, "y", 2), 1));
  const std::int64_t n = of_images ? x.dims[1] : 1;
  nvidia::require_dims(y, {x.dims[0], n, of_images ? 1 : x.dims[2], 1});
  const auto desc = made(calls().create_reduction, calls().destroy_reduction);
  calls().set_reduction(desc.get(), operation_of(call.op()), compute_type(y.dtype), kPropagateNan,
                        kNoIndices, kIndicesOf32Bits);
  const auto from = describe(x), to = describe(y);
  auto handle = Cudnn::library().take();
  std::size_t bytes = 0;
  calls().reduction_workspace(handle.get(), desc.get(), from.get(), to.get(), &bytes);
  return work_of(std::move(handle), {{bytes, [=](Handle* with, const OnDevice& at) {
                                        calls().reduce(with, desc.get(), nullptr, 0, at.workspace,
                                                       bytes, one(y.dtype), from.get(),
                                                       at.data[x.slot], zero(y.dtype), to.get(),
                                                       at.data[y.slot]);
                                      }}});
}

}  // namespace mote::cudnn
