// SPDX-License-Identifier: Apache-2.0
#include "describe.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace mote::cudnn {
namespace {

std::vector<int> narrowed(const std::vector<std::int64_t>& values) {
  std::vector<int> all;
  for (const std::int64_t v : values) all.push_back(static_cast<int>(v));
  return all;
}

/// Declines tensors whose element count or strides exceed the 32 bits that cuDNN uses.
void require_32_bits(const Tensor& t) {
  std::int64_t last = 0;
  for (std::size_t k = 0; k < t.rank(); ++k) {
    if (t.strides[k] > std::numeric_limits<int>::max())
      decline(t.text() + ": a stride is too wide");
    last += (t.dims[k] - 1) * t.strides[k];
  }
  if (last >= std::numeric_limits<int>::max()) decline(t.text() + ": 2^31 elements or more");
}

/// Returns the tensor with the axis of channels after all others.
Tensor channels_last(const Tensor& t) {
  Tensor last = t;
  std::rotate(last.dims.begin() + 1, last.dims.begin() + 2, last.dims.end());
  std::rotate(last.strides.begin() + 1, last.strides.begin() + 2, last.strides.end());
  return last;
}

}  // namespace

std::size_t aligned(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

double epsilon_of(const Reader& call) {
  const double eps = call.real("eps", 1e-5);
  if (!(eps >= 0)) decline("eps is below 0");
  return eps;
}

int type_of(DType dtype) {
  return dtype == DType::f32   ? kFloat
         : dtype == DType::f64 ? kDouble
         : dtype == DType::f16 ? kHalf
                               : kBfloat16;
}

int compute_type(DType dtype) { return type_of(dtype == DType::f64 ? DType::f64 : DType::f32); }

const void* one(DType dtype) {
  static const float narrow = 1;
  static const double wide = 1;
  return dtype == DType::f64 ? static_cast<const void*>(&wide) : &narrow;
}

const void* zero(DType dtype) {
  static const float narrow = 0;
  static const double wide = 0;
  return dtype == DType::f64 ? static_cast<const void*>(&wide) : &narrow;
}

std::vector<std::int64_t> packed_strides(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t inner = 1;
  for (std::size_t k = dims.size(); k-- > 0; inner *= dims[k]) strides[k] = inner;
  return strides;
}

Tensor with_axis(Tensor t, std::size_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  const bool is_last = axis == t.rank();
  const std::int64_t stride = is_last ? 1 : t.dims[axis] * t.strides[axis];
  t.dims.insert(t.dims.begin() + at, 1);
  t.strides.insert(t.strides.begin() + at, stride);
  return t;
}

Tensor widened(Tensor t) {
  for (std::size_t rank = t.rank(); rank < 4; ++rank) t = with_axis(std::move(t), rank);
  return t;
}

Tensor along_channels(const Tensor& t, std::size_t rank) {
  Tensor wide = with_axis(t, 0);
  for (std::size_t axis = wide.rank(); axis < rank; ++axis) wide = with_axis(std::move(wide), axis);
  return wide;
}

std::shared_ptr<TensorDesc> describe(const Tensor& t) {
  require_32_bits(t);
  auto desc = made(calls().create_tensor, calls().destroy_tensor);
  calls().set_tensor(desc.get(), type_of(t.dtype), static_cast<int>(t.rank()),
                     narrowed(t.dims).data(), narrowed(t.strides).data());
  return desc;
}

std::shared_ptr<FilterDesc> describe_filter(const Tensor& t) {
  require_32_bits(t);
  const bool is_dense = nvidia::is_dense(t);
  if (!is_dense && !nvidia::is_dense(channels_last(t)))
    decline(t.text() + ": cuDNN takes filters without gaps, channels behind or in front of taps");
  auto desc = made(calls().create_filter, calls().destroy_filter);
  calls().set_filter(desc.get(), type_of(t.dtype), is_dense ? kNchw : kNhwc,
                     static_cast<int>(t.rank()), narrowed(t.dims).data());
  return desc;
}

Work work_of(std::shared_ptr<Handle> handle, std::vector<Step> steps) {
  std::size_t most = 0;
  for (const Step& s : steps) most = std::max(most, s.workspace_bytes);
  return {most, [handle = std::move(handle), steps = std::move(steps)](const OnDevice& at) {
            calls().set_stream(handle.get(), at.stream);
            for (const Step& s : steps) s.run(handle.get(), at);
          }};
}

Tensor Between::tensor(DType dtype, const std::vector<std::int64_t>& dims) {
  const auto count =
      std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  locations_.push_back(bytes_);
  bytes_ += aligned(static_cast<std::size_t>(count) * size_of(dtype));
  return {.name = "between",
          .dtype = dtype,
          .dims = dims,
          .strides = packed_strides(dims),
          .slot = next_++};
}

Work Between::work_of(std::shared_ptr<Handle> handle, std::vector<Step> steps) const {
  const Work work = cudnn::work_of(std::move(handle), std::move(steps));
  return {bytes_ + work.workspace_bytes,
          [run = work.run, locations = locations_, bytes = bytes_](const OnDevice& at) {
            OnDevice with = at;
            char* const begin = static_cast<char*>(at.workspace);
            for (const std::size_t location : locations) with.data.push_back(begin + location);
            with.workspace = begin + bytes;
            run(with);
          }};
}

Work work_of(std::function<void(Handle*, const OnDevice&)> run) {
  return work_of(Cudnn::library().take(), {{0, std::move(run)}});
}

}  // namespace mote::cudnn
