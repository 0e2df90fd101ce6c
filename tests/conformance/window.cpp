// SPDX-License-Identifier: Apache-2.0
// Converts attributes of windows to parameters.
#include "window.h"

#include <fmt/format.h>

#include "mote/base/error.h"

namespace mote::onnx {

Window window_of(const Call& c, const Dims& image, Dims kernel) {
  const std::size_t axes = image.size();
  Window w{std::move(kernel), c.dims("strides", Dims(axes, 1)), c.dims("dilations", Dims(axes, 1)),
           c.dims("pads", Dims(2 * axes, 0))};
  const std::string automatic = c.text("auto_pad", "NOTSET");
  if (automatic == "NOTSET" || automatic.empty()) return w;
  w.pads.assign(2 * axes, 0);
  for (std::size_t k = 0; k < axes && automatic != "VALID"; ++k) {
    const std::int64_t stride = w.strides.at(k), outputs = (image[k] + stride - 1) / stride;
    const std::int64_t reach = w.dilations.at(k) * (w.kernel.at(k) - 1) + 1;
    const std::int64_t total = std::max<std::int64_t>((outputs - 1) * stride + reach - image[k], 0);
    w.pads[k] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.pads[k + axes] = total - w.pads[k];
  }
  return w;
}

Params window_params(const Window& w, std::size_t axes) {
  const std::size_t given = w.kernel.size(), first = axes - given;
  Params params;
  for (std::size_t k = 0; k < given; ++k) {
    params[fmt::format("stride{}", first + k)] = w.strides.at(k);
    params[fmt::format("dilation{}", first + k)] = w.dilations.at(k);
    params[fmt::format("pads{}", first + k)] = w.pads.at(k);
    params[fmt::format("pads{}", axes + first + k)] = w.pads.at(given + k);
  }
  return params;
}

Array convolve(const Call& c, const Array& x, const Array& w, const Array* b) {
  const Dims image = spatial(x);
  if (image.size() > 3) throw NotApplicable("more than three spatial axes");
  Params params = window_params(window_of(c, image, spatial(w)), image.size());
  params["groups"] = c.integer("group", 1);
  return c.kernels().run(fmt::format("conv{}d", image.size()), x.dtype, {&x, &w, b}, params);
}

Dims spatial(const Array& x) {
  if (x.shape.size() < 3) throw Error(fmt::format("rank {} has no spatial axes", x.shape.size()));
  return {x.shape.begin() + 2, x.shape.end()};
}

Array with_spatial_axes(const Array& x, std::size_t axes) {
  const std::size_t given = spatial(x).size();
  if (given > axes) {
    throw NotApplicable(fmt::format("{} spatial axes, where the op has {}", given, axes));
  }
  Dims shape = x.shape;
  shape.insert(shape.begin() + 2, axes - given, 1);
  return reshaped(x, std::move(shape));
}

Array without_spatial_axes(Array y, std::size_t axes) {
  Dims shape = y.shape;
  shape.erase(shape.begin() + 2, shape.end() - static_cast<std::ptrdiff_t>(axes));
  return reshaped(std::move(y), std::move(shape));
}

}  // namespace mote::onnx
