// Spatial ops: windows that slide over the last two axes.
#include "families.h"

namespace mote {
namespace {

ProgramSpec max_pool2d(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"N", "C", "H", "W"});
  const Shape taps = {"N", "C", "OH", "OW", "kh: $kernel0", "kw: $kernel1"};
  const Uop windows = reindex(
      x, taps,
      {"i0", "i1", "i2*$stride0 + i4*$dilation0 - $pads0", "i3*$stride1 + i5*$dilation1 - $pads1"},
      neutral(ReduceOp::max, instance.dtype));
  return spec({x}, max_over(windows, {4, 5}), window_sizes("$kernel0", "$kernel1"));
}

std::vector<ParamDecl> max_pool2d_params() {
  std::vector<ParamDecl> params = {
      integer_param("kernel0", 1, std::nullopt, "rows of the window"),
      integer_param("kernel1", 1, std::nullopt, "columns of the window")};
  for (ParamDecl& p : window_params()) params.push_back(std::move(p));
  return params;
}

}  // namespace

std::vector<OpRecord> spatial_ops() {
  return {
      {.name = "max_pool2d",
       .family = "spatial",
       .equation = "y[n, c, oh, ow] = max_kh,kw x[n, c, oh*stride0 + kh*dilation0 - pads0, "
                   "ow*stride1 + kw*dilation1 - pads1]",
       .inputs = {{"x"}},
       .dtypes = dtypes::kNumber,
       .params = max_pool2d_params(),
       .in_place = {},
       .policy = "pads with -inf (integers: the least value); NaN propagates; sizes round down",
       .source = "ONNX opset 17 MaxPool, ceil_mode = 0",
       .define = max_pool2d},
  };
}

}  // namespace mote
