// Adapters of products: matrices, convolutions, Einstein sums.
#include <fmt/format.h>

#include <algorithm>

#include "call.h"
#include "mote/base/error.h"
#include "window.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

Outputs gemm(const Call& c) {
  const auto matrix = [&](std::size_t k, const char* flag) {
    return c.integer(flag, 0) != 0 ? permuted(c.in(k), {1, 0}) : c.in(k);
  };
  const Array a = matrix(0, "transA"), b = matrix(1, "transB");
  const Params params = {{"alpha", c.real("alpha", 1)}, {"beta", c.real("beta", 1)}};
  if (!c.has(2)) return {c.kernels().run("gemm", a.dtype, {&a, &b}, params)};
  const Array added = broadcast_to(c.in(2), {a.shape.at(0), b.shape.at(1)});
  return {c.kernels().run("gemm", a.dtype, {&a, &b, &added}, params)};
}

/// Vectors become a row or a column, whose axis the result loses again.
Outputs matmul(const Call& c) {
  Array a = c.in(0), b = c.in(1);
  const bool row = a.shape.size() == 1, column = b.shape.size() == 1;
  if (row) a = reshaped(a, {1, a.shape[0]});
  if (column) b = reshaped(b, {b.shape[0], 1});
  Array y = c.matmul(a, b);
  Dims shape = y.shape;
  if (row) shape.erase(shape.end() - 2);
  if (column) shape.pop_back();
  return {reshaped(y, shape)};
}

Outputs conv(const Call& c) {
  const Dims image = spatial(c.in(0));
  if (image.size() > 3) throw NotApplicable("more than three spatial axes");
  const Window w = window_of(c, image, spatial(c.in(1)));
  Params params = window_params(w, image.size());
  params["groups"] = c.integer("group", 1);
  const std::string op = fmt::format("conv{}d", image.size());
  return {c.kernels().run(op, c.dtype(), {&c.in(0), &c.in(1), c.find(2)}, params)};
}

/// Pads and output pads of a transposed convolution: given, or such that the output has the shape
/// that is asked for (what would be a negative pad becomes output pad).
struct TransposedPads {
  Dims pads, output;
};
TransposedPads transposed_pads(const Call& c, const Window& w, const Dims& image) {
  const std::size_t axes = image.size();
  const std::string automatic = c.text("auto_pad", "NOTSET");
  const bool same = automatic.starts_with("SAME");
  TransposedPads p{c.dims("pads", Dims(2 * axes, 0)), c.dims("output_padding", Dims(axes, 0))};
  if (!same && !c.has_attribute("output_shape")) return p;
  const Dims asked = c.dims("output_shape");
  p.pads.assign(2 * axes, 0);
  for (std::size_t k = 0; k < axes; ++k) {
    const std::int64_t wanted = asked.empty() ? image[k] * w.strides[k] : asked.at(k);
    const std::int64_t reach = w.dilations[k] * (w.kernel[k] - 1) + 1;
    const std::int64_t total = w.strides[k] * (image[k] - 1) + p.output[k] + reach - wanted;
    p.output[k] += std::max<std::int64_t>(-total, 0);
    const std::int64_t padded = std::max<std::int64_t>(total, 0);
    p.pads[k] = automatic == "SAME_UPPER" ? padded / 2 : padded - padded / 2;
    p.pads[k + axes] = padded - p.pads[k];
  }
  return p;
}

Outputs conv_transpose(const Call& c) {
  const Dims image = spatial(c.in(0));
  const std::size_t axes = image.size();
  Window w{
      spatial(c.in(1)), c.dims("strides", Dims(axes, 1)), c.dims("dilations", Dims(axes, 1)), {}};
  const TransposedPads p = transposed_pads(c, w, image);
  w.pads = p.pads;
  const Array x = with_spatial_axes(c.in(0), 2), kernel = with_spatial_axes(c.in(1), 2);
  Params params = window_params(w, 2);
  params["groups"] = c.integer("group", 1);
  for (std::size_t k = 0; k < axes; ++k) {
    params[fmt::format("output_pad{}", 2 - axes + k)] = p.output.at(k);
  }
  Array y = c.kernels().run("conv_transpose2d", c.dtype(), {&x, &kernel, c.find(2)}, params);
  Dims shape = y.shape;
  if (axes == 1) shape.erase(shape.begin() + 2);
  return {reshaped(y, shape)};
}

/// The labels of an Einstein sum: of each input, and of the output.
struct Labels {
  std::vector<std::string> inputs;
  std::string output;
};
Labels labels_of(const Call& c) {
  std::string text = c.text("equation", "");
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  Labels labels;
  for (std::size_t k = 0; k < c.input_count(); ++k) {
    const std::size_t comma = left.find(',');
    std::string own = left.substr(0, comma);
    left = comma == std::string::npos ? "" : left.substr(comma + 1);
    if (own.find('.') != std::string::npos) throw NotApplicable("Einsum: '...' is not mapped");
    for (const char label : own) {
      if (std::ranges::count(own, label) > 1) {
        throw NotApplicable("a diagonal: a view of the input, and its sum");
      }
    }
    labels.inputs.push_back(std::move(own));
  }
  if (arrow == std::string::npos) throw NotApplicable("Einsum: an output that is not given");
  labels.output = text.substr(arrow + 2);
  return labels;
}

/// x's axes in the order of `wanted`, all others summed.
Array arranged(const Call& c, Array x, std::string labels, const std::string& wanted) {
  std::vector<std::size_t> summed;
  for (std::size_t k = 0; k < labels.size(); ++k) {
    if (wanted.find(labels[k]) == std::string::npos) summed.push_back(k);
  }
  if (!summed.empty()) x = c.reduce("sum", x, summed, false);
  std::erase_if(labels, [&](char l) { return wanted.find(l) == std::string::npos; });
  std::vector<std::size_t> order;
  for (const char l : wanted) order.push_back(labels.find(l));
  return labels == wanted ? x : c.transpose(x, order);
}

/// Labels of both and of the output are batches, of both only are summed.
Outputs einsum(const Call& c) {
  const Labels labels = labels_of(c);
  if (c.input_count() == 1) return {arranged(c, c.in(0), labels.inputs[0], labels.output)};
  if (c.input_count() != 2) throw NotApplicable("Einsum of more than two tensors");
  const std::string &a = labels.inputs[0], &b = labels.inputs[1];
  std::string batch, summed, rows, columns;
  for (const char l : a) {
    const bool in_b = b.find(l) != std::string::npos;
    const bool kept = labels.output.find(l) != std::string::npos;
    if (in_b) (kept ? batch : summed) += l;
    if (!in_b && kept) rows += l;
  }
  for (const char l : b) {
    if (a.find(l) == std::string::npos && labels.output.find(l) != std::string::npos) columns += l;
  }
  const Array left = arranged(c, c.in(0), a, batch + rows + summed);
  const Array right = arranged(c, c.in(1), b, batch + summed + columns);
  const std::size_t n = batch.size(), m = n + rows.size(), k = n + summed.size();
  const Dims &s = left.shape, &t = right.shape;
  const Array product =
      c.matmul(reshaped(left, {volume(s, 0, n), volume(s, n, m), volume(s, m, s.size())}),
               reshaped(right, {volume(t, 0, n), volume(t, n, k), volume(t, k, t.size())}));
  Dims shape(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(m));
  shape.insert(shape.end(), t.begin() + static_cast<std::ptrdiff_t>(k), t.end());
  return {arranged(c, reshaped(product, shape), batch + rows + columns, labels.output)};
}

}  // namespace

Adapters linear_adapters() {
  return {{"Gemm", gemm},
          {"MatMul", matmul},
          {"Conv", conv},
          {"ConvTranspose", conv_transpose},
          {"Einsum", einsum}};
}

}  // namespace mote::onnx
