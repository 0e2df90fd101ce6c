// SPDX-License-Identifier: Apache-2.0
// Images of another size, measured from the middles of pixels.
#include "ops.h"

namespace mote::onednn {

// Only dense layouts are used: the kernel for others gives images a depth of 1 and multiplies it by
// weights of 0 too, which makes NaN of infinities.
Jobs resampling(const Reader& call) {
  const bool nearest = call.op() == "resize_nearest2d";
  if (nearest && call.integer("half_pixel", 1) == 0) decline("half_pixel is 0");
  const View x = call.input(0, 4), y = call.output(0, 4);
  constexpr memory::dim kExact = memory::dim{1} << 24;  // positions are floats: (i + 1/2) * extent
  for (std::size_t axis = 2; axis < 4; ++axis)
    if (x.dims[axis] > kExact / 2 / y.dims[axis]) decline("positions are rounded");
  const auto algorithm =
      nearest ? dnnl::algorithm::resampling_nearest : dnnl::algorithm::resampling_linear;
  using Resampling = dnnl::resampling_forward;
  return {make_job<Resampling>(
      {x.as(DNNL_ARG_SRC), y.as(DNNL_ARG_DST)}, {Layouts::dense}, [&](const auto& d) {
        return Resampling::primitive_desc(
            Resampling::desc(dnnl::prop_kind::forward_inference, algorithm, d[0], d[1]),
            attributes(), engine());
      })};
}

}  // namespace mote::onednn
