// SPDX-License-Identifier: Apache-2.0
// The descriptors of the fake cuDNN, and walks over their elements.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "fake_elements.h"

namespace fake::cudnn {

constexpr int kBadParam = 2000;
constexpr int kNotSupported = 3000;
constexpr int kExecutionFailed = 5000;

using Dims = std::vector<std::int64_t>;

struct Handle {
  void* stream = nullptr;
};
/// A tensor, or a filter: both are elements by strides.
struct TensorDesc {
  int type = 0;
  Dims dims, strides;
};
struct ConvolutionDesc {
  Dims pads, strides, dilations;
  int mode = 0, compute = 0, groups = 1, math = 0;
};
struct PoolingDesc {
  int mode = 0, nan = 0;
  Dims taps, pads, strides;
};
struct ActivationDesc {
  int mode = 0, nan = 0;
  double coefficient = 0;
  double swish_beta = std::numeric_limits<double>::quiet_NaN();  ///< the manual has no default
};
struct OpTensorDesc {
  int operation = 0, compute = 0, nan = 0;
};
struct ReduceDesc {
  int operation = 0, compute = 0, nan = 0, indices = 0;
};
struct LrnDesc {
  unsigned size = 0;
  double alpha = 0, beta = 0, bias = 0;
};

/// A status of the driver as one of cuDNN.
inline int of_driver(int status) { return status == 0 ? 0 : status == 2 ? 4004 : kExecutionFailed; }

inline Element element_of(int type) {
  return type == 1   ? Element::f64
         : type == 2 ? Element::f16
         : type == 9 ? Element::bf16
                     : Element::f32;
}
/// In which floats are summed: doubles for doubles alone.
inline bool computes(int compute, const TensorDesc& t) { return compute == (t.type == 1 ? 1 : 0); }

/// A tensor's elements.
class View {
 public:
  View(const TensorDesc& desc, const void* data)
      : desc_(desc), elements_(data, element_of(desc.type)) {}
  const TensorDesc& desc() const { return desc_; }
  double get(const Dims& index) const { return elements_.get(offset(index)); }
  void set(const Dims& index, double value) const { elements_.set(offset(index), value); }

 private:
  std::int64_t offset(const Dims& index) const {
    std::int64_t at = 0;
    for (std::size_t k = 0; k < index.size(); ++k) at += index[k] * desc_.strides[k];
    return at;
  }
  const TensorDesc& desc_;
  Elements elements_;
};

/// Every index of these extents, the last axis first.
inline void each(const Dims& dims, const std::function<void(const Dims&)>& visit) {
  for (const std::int64_t extent : dims)
    if (extent < 1) return;
  Dims index(dims.size(), 0);
  for (bool more = true; more;) {
    visit(index);
    more = false;
    for (std::size_t axis = dims.size(); axis-- > 0 && !more;) {
      more = ++index[axis] < dims[axis];
      if (!more) index[axis] = 0;
    }
  }
}

/// out = alpha value(index) + beta out for each element; where beta is 0, out is not read.
inline void store(const View& out, const void* alpha, const void* beta,
                  const std::function<double(const Dims&)>& value) {
  const Element type = element_of(out.desc().type);
  const double times = factor(alpha, type), plus = factor(beta, type);
  each(out.desc().dims, [&](const Dims& index) {
    double v = times * value(index);
    if (plus != 0) v += plus * out.get(index);
    out.set(index, v);
  });
}

/// What a call that computes returns: it counts, wants a context and a handle with a stream, and
/// finds addresses that are not the GPU's.
inline int computing(const Handle* handle, const std::function<int()>& body) {
  if (const int status = counted_in_context()) return of_driver(status);
  if (handle == nullptr || handle->stream == nullptr || !is_stream(handle->stream))
    return kBadParam;
  try {
    return body();
  } catch (const IllegalAddress&) {
    return kExecutionFailed;
  }
}

/// What a call that asks for something returns: a handle may have no stream, but none that is gone.
inline int asking(const Handle* handle) {
  if (const int status = counted_in_context()) return of_driver(status);
  return handle != nullptr && is_stream(handle->stream) ? 0 : kBadParam;
}

/// Axes of space: all but those of images and channels.
inline Dims space(const Dims& dims) { return {dims.begin() + 2, dims.end()}; }

/// The index with 0 along axes of extent 1.
inline Dims repeated(const Dims& index, const Dims& dims) {
  Dims at = index;
  for (std::size_t k = 0; k < at.size(); ++k)
    if (dims[k] == 1) at[k] = 0;
  return at;
}

/// Each extent that of the other or 1.
inline bool repeats_to(const Dims& dims, const Dims& other) {
  if (dims.size() != other.size()) return false;
  for (std::size_t k = 0; k < dims.size(); ++k)
    if (dims[k] != other[k] && dims[k] != 1) return false;
  return true;
}

inline bool are_alike(const TensorDesc& a, const TensorDesc& b) {
  return a.type == b.type && a.dims == b.dims;
}

/// The greater, or NaN where one is.
inline double greater(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}

}  // namespace fake::cudnn
