// SPDX-License-Identifier: Apache-2.0
// The tensors of the fake libraries as mote's own, and calls of mote's catalogue on them.
#include "fake_tensors.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string_view>

#include "mote/base/variant_names.h"
#include "mote/generated/kernels.h"

namespace fake {
namespace {

/// The generated reference kernels.
const mote_backend& reference() {
  static std::vector<mote_kernel> kernels;
  static const mote_backend backend = [] {
    for (const mote_generated_kernel& k : mote::generated_kernels())
      if (k.variant == mote::kReference) kernels.push_back(k.kernel);
    if (kernels.empty()) throw std::logic_error("the registry has no kernels of the reference");
    return mote_backend{
        sizeof(mote_backend), "reference", "", static_cast<std::int32_t>(kernels.size()), 0,
        kernels.data()};
  }();
  return backend;
}

mote::Command command_of(const std::string& op, const Params& params, std::optional<int> axis) {
  std::vector<mote::Setting> settings;
  for (const auto& [name, value] : params)
    std::visit([&, &name = name](auto number) { settings.emplace_back(name, number); }, value);
  return mote::Command(op, settings, axis);
}

double to_tf32(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  constexpr double kGreatest = 0x1.ffcp127;  // what is finite stays so
  const double rounded = std::ldexp(std::round(std::ldexp(fraction, 11)), exponent - 11);
  return std::clamp(rounded, -kGreatest, kGreatest);
}

}  // namespace

Tensor view(DType dtype, const Dims& dims, const Dims& strides, In data) {
  const auto bytes = static_cast<std::size_t>(mote::checked_span(dtype, dims, strides));
  if (!is_allocated(reinterpret_cast<std::uint64_t>(data), bytes))
    throw std::runtime_error("an address that is not the GPU's");
  return Tensor::over(const_cast<Out>(data), dtype, dims, strides);
}
Tensor converted(const Tensor& values, DType dtype) {
  Tensor all(dtype, values.shape());
  mote::copy(values, all);
  return all;
}
Tensor filled(const Dims& dims, double number) {
  Tensor all(DType::f64, dims);
  mote::fill(all, number);
  return all;
}
Tensor rounded(const Tensor& values, DType dtype) { return converted(converted(values, dtype)); }
Tensor rounded_to_tf32(const Tensor& values) {
  const Tensor all = mote::clone(values);
  const auto count = static_cast<std::size_t>(all.element_count());
  for (double& v : std::span(static_cast<double*>(all.data()), count)) v = to_tf32(v);
  return all;
}
void write(const Tensor& out, const Tensor& values, double alpha, double beta) {
  Tensor all = result("mul", {converted(values), filled({1}, alpha)});
  if (beta != 0) all = result("add", {all, result("mul", {converted(out), filled({1}, beta)})});
  mote::copy(all, out);
}
double factor(In at, DType dtype) {
  if (dtype == DType::i32) return *static_cast<const std::int32_t*>(at);
  return dtype == DType::f64 ? *static_cast<const double*>(at)
                             : static_cast<double>(*static_cast<const float*>(at));
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

Dims dims_of(const std::string& op, const std::vector<Dims>& inputs, const Params& params) {
  std::vector<Tensor> forms;
  std::vector<const Tensor*> all;
  for (const Dims& dims : inputs) forms.push_back(Tensor::over(nullptr, DType::f64, dims));
  for (const Tensor& t : forms) all.push_back(&t);
  const mote::AxisList shape = mote::infer(command_of(op, params, {}), all)[0].shape;
  return {shape.begin(), shape.end()};
}

std::vector<Tensor> results(const std::string& op, const std::vector<Tensor>& inputs,
                            const Params& params, std::optional<int> axis) {
  std::vector<const Tensor*> all;
  for (const Tensor& t : inputs) all.push_back(t.data() == nullptr ? nullptr : &t);
  const mote_backend* const exact = &reference();
  mote::RunOptions options;
  if (inputs[0].dtype() != DType::f32) options.backends = {&exact, 1};
  return mote::compute(command_of(op, params, axis), all, options);
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

Tensor convolved(const std::string& op, const Tensor& x, const Tensor& w, Params params) {
  const int axes = x.rank() - 2;
  const auto pad = [&](int k) {
    return std::get<std::int64_t>(std::exchange(params["pads" + std::to_string(k)], 0));
  };
  const mote::AxisList shape = x.shape();
  Dims dims(shape.begin(), shape.end()), before;
  for (int k = 0; k < axes; ++k) {
    before.push_back(pad(k));
    dims[static_cast<std::size_t>(k + 2)] += before.back() + pad(k + axes);
  }
  const Tensor padded = converted(filled(dims, 0), x.dtype());
  Tensor within = padded;
  for (int k = 0; k < axes; ++k)
    within = within.slice(k + 2, before[static_cast<std::size_t>(k)], x.extent(k + 2));
  mote::copy(x, within);
  return result(op, {padded, w}, params);
}

}  // namespace fake
