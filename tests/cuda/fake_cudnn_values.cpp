// SPDX-License-Identifier: Apache-2.0
// The tensors of the fake cuDNN as mote's own, and calls of mote's catalogue on them.
#include "fake_cudnn_values.h"

#include <cmath>
#include <cstring>
#include <span>

#include "fake_elements.h"
#include "mote/generated/kernels.h"

namespace fake::cudnn {
namespace {

DType dtype_of(int type) {
  static const std::map<int, DType> all = {
      {kFloat, DType::f32}, {kDouble, DType::f64}, {kHalf, DType::f16}, {kBfloat16, DType::bf16}};
  return all.at(type);
}

/// The kernels that the oracle goes by.
const mote_backend& reference() {
  static const std::vector<mote_kernel> kernels = [] {
    std::vector<mote_kernel> all;
    for (const mote_generated_kernel& k : mote::generated_kernels())
      if (std::strcmp(k.variant, "oracle") == 0) all.push_back(k.kernel);
    return all;
  }();
  static const mote_backend backend = {.size = sizeof(mote_backend),
                                       .name = "reference",
                                       .version = "",
                                       .kernel_count = static_cast<std::int32_t>(kernels.size()),
                                       .reserved = 0,
                                       .kernels = kernels.data()};
  return backend;
}

}  // namespace

std::size_t bytes_of(int type, const Dims& dims) {
  std::size_t bytes = mote::size_of(dtype_of(type));
  for (const std::int64_t extent : dims) bytes *= static_cast<std::size_t>(extent);
  return bytes;
}
Tensor view(const TensorDesc& tensor, In data) {
  const DType dtype = dtype_of(tensor.type);
  const auto bytes =
      static_cast<std::size_t>(mote::checked_span(dtype, tensor.dims, tensor.strides));
  if (!is_allocated(reinterpret_cast<std::uint64_t>(data), bytes)) throw IllegalAddress();
  return Tensor::over(const_cast<Out>(data), dtype, tensor.dims, tensor.strides);
}
Tensor converted(const Tensor& values, DType dtype) {
  Tensor all(dtype, values.shape());
  mote::copy(values, all);
  return all;
}
Tensor read(const TensorDesc& tensor, In data) { return converted(view(tensor, data)); }
Tensor filled(const Dims& dims, double number) {
  Tensor all(DType::f64, dims);
  mote::fill(all, number);
  return all;
}
Tensor as_images(const Tensor& values) {
  const std::int64_t images = values.extent(0), channels = values.extent(1);
  return values.reshape({images, channels, values.element_count() / (images * channels)});
}
Tensor rounded(const Tensor& values, int type) {
  return converted(converted(values, dtype_of(type)));
}
Tensor rounded_to_tf32(Tensor values) {
  const auto count = static_cast<std::size_t>(values.element_count());
  for (double& v : std::span(static_cast<double*>(values.data()), count)) v = to_tf32(v);
  return values;
}

void write(const TensorDesc& tensor, Out data, const Tensor& values, double alpha, double beta) {
  const Tensor out = view(tensor, data);
  Tensor all = result("mul", {converted(values), filled({1}, alpha)});
  if (beta != 0) all = result("add", {all, result("mul", {converted(out), filled({1}, beta)})});
  mote::copy(all, out);
}
void write(const TensorDesc& tensor, Out data, const Tensor& values, In alpha, In beta) {
  write(tensor, data, values, factor_of(tensor, alpha), factor_of(tensor, beta));
}
double factor_of(const TensorDesc& tensor, In factor) {
  return fake::factor(factor, tensor.type == kDouble ? Element::f64 : Element::f32);
}

Params along(const std::vector<std::pair<std::string, Dims>>& all) {
  Params params;
  for (const auto& [name, values] : all)
    for (std::size_t k = 0; k < values.size(); ++k) params[name + std::to_string(k)] = values[k];
  return params;
}
Dims joined(Dims first, const Dims& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<Tensor> results(const std::string& op, const std::vector<Tensor>& inputs,
                            const Params& params, std::optional<int> axis) {
  std::vector<mote::Setting> settings;
  for (const auto& [name, value] : params)
    std::visit([&, &name = name](auto number) { settings.emplace_back(name, number); }, value);
  std::vector<const Tensor*> all;
  for (const Tensor& t : inputs) all.push_back(t.data() == nullptr ? nullptr : &t);
  const mote_backend* const exact = &reference();
  mote::RunOptions options;
  if (inputs[0].dtype() != DType::f32) options.backends = {&exact, 1};
  return mote::compute(mote::Command(op, settings, axis), all, options);
}
Tensor result(const std::string& op, const std::vector<Tensor>& inputs, const Params& params,
              std::optional<int> axis) {
  return results(op, inputs, params, axis)[0];
}
Tensor reduced(const std::string& op, const Tensor& values, const Dims& to) {
  Dims parts, results_first, neighbours_last;
  for (std::size_t k = 0; k < to.size(); ++k) {
    parts.push_back(to[k]);
    parts.push_back(values.extent(static_cast<int>(k)) / to[k]);
    results_first.push_back(static_cast<std::int64_t>(2 * k));
    neighbours_last.push_back(static_cast<std::int64_t>(2 * k + 1));
  }
  const Tensor in_order = values.reshape(parts).permute(joined(results_first, neighbours_last));
  std::int64_t neighbours = values.element_count();
  for (const std::int64_t extent : to) neighbours /= extent;
  return result(op, {mote::clone(in_order).reshape(joined(to, {neighbours}))}, {},
                static_cast<int>(to.size()));
}

}  // namespace fake::cudnn
