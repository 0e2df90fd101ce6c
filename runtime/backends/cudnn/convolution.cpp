// SPDX-License-Identifier: Apache-2.0
// Convolutions over 1 to 3 axes, their gradients, and the transposed one, which is the gradient of
// another with respect to its x. cuDNN's windows have pads of one width on both sides. Only
// deterministic algorithms that sum unmodified products are searched. A convolution of 16-bit reals
// with a bias is a graph; so is one of f32 with a bias and an activation.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "fused_convolution.h"
#include "ops.h"

namespace mote::cudnn {
namespace {

// These algorithms use neither FFT nor Winograd's method, and add in one order.
constexpr std::array kForward = {kImplicitGemm, kPrecomputedGemm, kGemm, kDirect};
constexpr std::array kDataGradients = {kDataGradient};
constexpr std::array kFilterGradients = {kFilterGradient};
/// cuDNN offers each algorithm with several kinds of math.
constexpr int kMaxResults = 32;

struct Window {
  std::size_t axes = 0;
  std::vector<int> stride, dilation, pads;
  int groups = 1;
};

Window window_of(const Reader& call) {
  Window w;
  w.axes = call.op().starts_with("conv1d") ? 1 : call.op().starts_with("conv3d") ? 3 : 2;
  const auto integer = [&](const char* name, std::size_t k, std::int64_t least) {
    return static_cast<int>(call.integer(fmt::format("{}{}", name, k), least, least));
  };
  for (std::size_t k = 0; k < w.axes; ++k) {
    w.stride.push_back(integer("stride", k, 1));
    w.dilation.push_back(integer("dilation", k, 1));
    w.pads.push_back(integer("pads", k, 0));
    if (integer("pads", k + w.axes, 0) != w.pads.back())
      decline(fmt::format("pads of axis {} are {} in front and {} behind", k, w.pads.back(),
                          integer("pads", k + w.axes, 0)));
  }
  if (w.axes == 1) {  // cuDNN requires two axes of taps
    w.stride.insert(w.stride.begin(), 1);
    w.dilation.insert(w.dilation.begin(), 1);
    w.pads.insert(w.pads.begin(), 0);
  }
  w.groups = static_cast<int>(call.integer("groups", 1, 1));
  return w;
}

int rank_of(const Window& w) { return static_cast<int>(w.axes) + 2; }
/// Returns a tensor of the call, with an axis of height if it has none.
Tensor two_axes(Tensor t) { return t.rank() == 3 ? with_axis(std::move(t), 2) : t; }

std::shared_ptr<ConvolutionDesc> describe_window(const Window& w, DType dtype, bool needs_fma) {
  auto desc = made(calls().create_convolution, calls().destroy_convolution);
  calls().set_convolution(desc.get(), static_cast<int>(w.stride.size()), w.pads.data(),
                          w.stride.data(), w.dilation.data(), kCrossCorrelation,
                          compute_type(dtype));
  calls().set_groups(desc.get(), w.groups);
  // The default allows tf32 for f32, and tensor cores for 16-bit products.
  calls().set_math(desc.get(), needs_fma ? kFmaMath : kDefaultMath);
  return desc;
}

/// The descriptors of one convolution, y = x * w. Each step has a description of its own, which has
/// the math of the step's algorithm.
struct Descriptors {
  std::shared_ptr<TensorDesc> x, y;
  std::shared_ptr<FilterDesc> w;
  std::shared_ptr<ConvolutionDesc> convolution;
  bool needs_fma = false;  ///< f32 that must not be rounded to tf32
};

Descriptors describe_all(const Window& window, const Reader& call, const Tensor& x, const Tensor& w,
                         const Tensor& y) {
  const bool needs_fma = call.kind() == Kind::f32;
  Descriptors d{describe(x), describe(y), describe_filter(w),
                describe_window(window, y.dtype, needs_fma), needs_fma};
  std::vector<int> dims(x.rank());
  calls().convolution_dims(d.convolution.get(), d.x.get(), d.w.get(), static_cast<int>(x.rank()),
                           dims.data());
  if (!std::ranges::equal(dims, y.dims))
    nvidia::reject(fmt::format("{}: cuDNN's extents are {}", y.text(), fmt::join(dims, ",")));
  return d;
}

/// Returns the first of the results, best first, that the contract allows.
const AlgorithmResult& choose(std::span<const AlgorithmResult> results,
                              std::span<const int> allowed, bool needs_fma) {
  for (const AlgorithmResult& r : results) {
    const bool keeps_bits = needs_fma ? r.math == kFmaMath : r.math != kConvertingMath;
    if (r.status == 0 && r.determinism == kDeterministic && keeps_bits &&
        r.memory <= kMaxWorkspaceBytes && std::ranges::find(allowed, r.algorithm) != allowed.end())
      return r;
  }
  decline("cuDNN has no algorithm for it that is deterministic and keeps to the contract");
}

/// The algorithm that cuDNN's heuristic chose, and its workspace. The description takes its math,
/// without which the algorithm is another one.
struct Choice {
  int algorithm = 0;
  std::size_t bytes = 0;
};
template <typename Search, typename Size, typename A, typename B, typename C>
Choice choose(const Search& search, const Size& size, std::span<const int> allowed, Handle* handle,
              A* a, B* b, const Descriptors& d, C* c) {
  ConvolutionDesc* const convolution = d.convolution.get();
  std::array<AlgorithmResult, kMaxResults> results{};
  int count = 0;
  search(handle, a, b, convolution, c, kMaxResults, &count, results.data());
  const AlgorithmResult& best =
      choose(std::span(results).first(static_cast<std::size_t>(count)), allowed, d.needs_fma);
  calls().set_math(convolution, best.math);
  Choice chosen{best.algorithm};
  size(handle, a, b, convolution, c, chosen.algorithm, &chosen.bytes);
  return chosen;
}

Tensor bias_of(const Reader& call, const Tensor& y) {
  Tensor b = along_channels(call.input(2, "b", 1), y.rank());
  if (b.dims[1] != y.dims[1]) nvidia::reject(b.text() + " is no bias of " + y.text());
  return b;
}

/// Returns the step that adds the bias; the sum of products was rounded to y's dtype before.
Step add_bias(const Reader& call, const Tensor& y) {
  const Tensor b = bias_of(call, y);
  return {0, [b, y, from = describe(b), to = describe(y)](Handle* handle, const OnDevice& at) {
            calls().add_tensor(handle, one(y.dtype), from.get(), at.data[b.slot], one(y.dtype),
                               to.get(), at.data[y.slot]);
          }};
}

/// Returns the step y = max(y, 0), in place.
Step rectify(const Tensor& y) {
  return {0, [y, relu = describe_activation(kRelu), desc = describe(y)](Handle* handle,
                                                                        const OnDevice& at) {
            calls().activate(handle, relu.get(), one(y.dtype), desc.get(), at.data[y.slot],
                             zero(y.dtype), desc.get(), at.data[y.slot]);
          }};
}

bool is_rectified(const Reader& call) { return call.op() == "conv2d_relu"; }

/// Returns a convolution with its bias, and activation, as one graph, which rounds once.
Step fused(Handle* handle, const Reader& call, const Window& window, const Tensor& x,
           const Tensor& w, const Tensor& y) {
  const auto wide = [](const std::vector<int>& all) { return Graph::Dims(all.begin(), all.end()); };
  return graph_of({.x = x,
                   .w = w,
                   .b = bias_of(call, y),
                   .y = y,
                   .is_rectified = is_rectified(call),
                   .pads = wide(window.pads),
                   .strides = wide(window.stride),
                   .dilations = wide(window.dilation)})
      .step(handle, call.kind());
}

/// Returns nothing if cuDNN has no engine.
std::optional<Step> fused_if_any(Handle* handle, const Reader& call, const Window& window,
                                 const Tensor& x, const Tensor& w, const Tensor& y) {
  try {
    return fused(handle, call, window, x, w, y);
  } catch (const nvidia::Declined&) {
    return std::nullopt;
  }
}

/// Returns a step that runs the graph if the tensors' addresses allow it, else the steps.
Step either(const Step& graph, const std::vector<std::size_t>& tensors,
            const std::vector<Step>& steps) {
  std::size_t most = graph.workspace_bytes;
  for (const Step& s : steps) most = std::max(most, s.workspace_bytes);
  return {most, [=](Handle* with, const OnDevice& at) {
            const auto may_lie = [&](std::size_t t) { return Graph::may_lie_at(at.data[t]); };
            if (std::ranges::all_of(tensors, may_lie)) return graph.run(with, at);
            for (const Step& s : steps) s.run(with, at);
          }};
}

Step data_gradient(Handle* handle, const Descriptors& d, const Tensor& w, const Tensor& gy,
                   const Tensor& gx) {
  const Choice chosen = choose(calls().data_algorithms, calls().data_workspace, kDataGradients,
                               handle, d.w.get(), d.y.get(), d, d.x.get());
  return {chosen.bytes, [=](Handle* with, const OnDevice& at) {
            calls().convolve_data(with, one(gx.dtype), d.w.get(), at.data[w.slot], d.y.get(),
                                  at.data[gy.slot], d.convolution.get(), chosen.algorithm,
                                  at.workspace, chosen.bytes, zero(gx.dtype), d.x.get(),
                                  at.data[gx.slot]);
          }};
}

Step filter_gradient(Handle* handle, const Descriptors& d, const Tensor& x, const Tensor& gy,
                     const Tensor& gw) {
  const auto to = describe_filter(gw);
  const Choice chosen = choose(calls().filter_algorithms, calls().filter_workspace,
                               kFilterGradients, handle, d.x.get(), d.y.get(), d, to.get());
  return {chosen.bytes, [=](Handle* with, const OnDevice& at) {
            calls().convolve_filter(with, one(gw.dtype), d.x.get(), at.data[x.slot], d.y.get(),
                                    at.data[gy.slot], d.convolution.get(), chosen.algorithm,
                                    at.workspace, chosen.bytes, zero(gw.dtype), to.get(),
                                    at.data[gw.slot]);
          }};
}

Step bias_gradient(const Descriptors& d, const Tensor& gy, const Tensor& given) {
  const Tensor gb = along_channels(given, gy.rank());
  if (gb.dims[1] != gy.dims[1]) nvidia::reject(gb.text() + " is no bias of " + gy.text());
  return {0, [=, to = describe(gb)](Handle* handle, const OnDevice& at) {
            calls().bias_gradient(handle, one(gb.dtype), d.y.get(), at.data[gy.slot],
                                  zero(gb.dtype), to.get(), at.data[gb.slot]);
          }};
}

/// Checks OH = (H - 1) stride + (KH - 1) dilation + 1 - 2 pads + output_pad. cuDNN is given y, and
/// so computes the same extents of x for any output_pad below the stride.
void require_transposed_dims(const Reader& call, const Window& window, const Tensor& x,
                             const Tensor& w, const Tensor& y) {
  std::vector<std::int64_t> dims = {x.dims[0], w.dims[1] * window.groups};
  for (std::size_t k = 0; k < window.axes; ++k) {
    const std::int64_t more = call.integer(fmt::format("output_pad{}", k), 0);
    if (more >= window.stride[k]) decline(fmt::format("output_pad{} is not below the stride", k));
    dims.push_back((x.dims[k + 2] - 1) * window.stride[k] +
                   (w.dims[k + 2] - 1) * window.dilation[k] + 1 - std::int64_t{2} * window.pads[k] +
                   more);
  }
  nvidia::require_dims(y, dims);
}

}  // namespace

Work convolution(const Reader& call) {
  const Window window = window_of(call);
  const int rank = rank_of(window);
  const Tensor x = two_axes(call.input(0, "x", rank)), w = two_axes(call.input(1, "w", rank)),
               y = two_axes(call.output(0, "y", rank));
  const Descriptors d = describe_all(window, call, x, w, y);
  auto handle = Cudnn::library().take();
  // For 16-bit reals a separate step for the bias would round twice.
  const bool has_bias = call.has_input(2);
  if (has_bias && call.kind() == Kind::narrow) {
    const Step step = fused(handle.get(), call, window, x, w, y);
    return work_of(std::move(handle), {step});
  }
  const Choice chosen = choose(calls().forward_algorithms, calls().forward_workspace, kForward,
                               handle.get(), d.x.get(), d.w.get(), d, d.y.get());
  std::vector<Step> steps = {{chosen.bytes, [=](Handle* with, const OnDevice& at) {
                                calls().convolve(with, one(y.dtype), d.x.get(), at.data[x.slot],
                                                 d.w.get(), at.data[w.slot], d.convolution.get(),
                                                 chosen.algorithm, at.workspace, chosen.bytes,
                                                 zero(y.dtype), d.y.get(), at.data[y.slot]);
                              }}};
  if (has_bias) steps.push_back(add_bias(call, y));
  if (is_rectified(call)) steps.push_back(rectify(y));
  if (!has_bias || !is_rectified(call) || call.kind() != Kind::f32)
    return work_of(std::move(handle), std::move(steps));
  const std::vector<std::size_t> tensors = {x.slot, w.slot, bias_of(call, y).slot, y.slot};
  if (const auto graph = fused_if_any(handle.get(), call, window, x, w, y))
    steps = {either(*graph, tensors, steps)};
  return work_of(std::move(handle), std::move(steps));
}

Work convolution_gradient(const Reader& call) {
  const Window window = window_of(call);
  const int rank = rank_of(window);
  const Tensor gy = two_axes(call.input(0, "gy", rank)), x = two_axes(call.input(1, "x", rank)),
               w = two_axes(call.input(2, "w", rank));
  auto handle = Cudnn::library().take();
  std::vector<Step> steps;
  if (call.has_output(0)) {
    const Tensor gx = two_axes(call.output(0, "gx", rank));
    nvidia::require_dims(gx, x.dims);
    steps.push_back(data_gradient(handle.get(), describe_all(window, call, gx, w, gy), w, gy, gx));
  }
  if (call.has_output(1)) {
    const Tensor gw = two_axes(call.output(1, "gw", rank));
    nvidia::require_dims(gw, w.dims);
    steps.push_back(
        filter_gradient(handle.get(), describe_all(window, call, x, gw, gy), x, gy, gw));
  }
  if (call.has_output(2))
    steps.push_back(
        bias_gradient(describe_all(window, call, x, w, gy), gy, call.output(2, "gb", 1)));
  return work_of(std::move(handle), std::move(steps));
}

// w is [CI, CO/groups, …]: the filter of a convolution from y to x.
Work transposed_convolution(const Reader& call) {
  const Window window = window_of(call);
  const Tensor x = call.input(0, "x", 4), w = call.input(1, "w", 4), y = call.output(0, "y", 4);
  require_transposed_dims(call, window, x, w, y);
  auto handle = Cudnn::library().take();
  // The sum would be rounded to 16 bits before the bias is added.
  if (call.has_input(2) && call.kind() == Kind::narrow) decline("a bias of 16 bits");
  const Descriptors d = describe_all(window, call, y, w, x);
  std::vector<Step> steps = {data_gradient(handle.get(), d, w, x, y)};
  if (call.has_input(2)) steps.push_back(add_bias(call, y));
  return work_of(std::move(handle), std::move(steps));
}

}  // namespace mote::cudnn
