// SPDX-License-Identifier: Apache-2.0
// The descriptors of the fake cuDNN, and the checks that its calls make before they compute.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <vector>

#include "cudnn/constants.h"
#include "cudnn/graph_constants.h"
#include "fake_tensors.h"
#include "mote/runtime/status.h"

namespace fake::cudnn {

using namespace mote::cudnn;
using fake::view;
using fake::write;

struct Handle {
  void* stream = nullptr;
};
/// A tensor, or a filter: both are elements by strides.
struct TensorDesc {
  int type = kFloat;
  Dims dims, strides;
  bool operator==(const TensorDesc&) const = default;
};
struct ConvolutionDesc {
  Dims pads, strides, dilations;
  int mode = 0, compute = kFloat, groups = 1, math = kDefaultMath;
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
  int operation = 0, compute = kFloat, nan = 0;
};
struct ReduceDesc {
  int operation = 0, compute = kFloat, nan = 0, indices = kNoIndices;
};
struct LrnDesc {
  unsigned size = 0;
  double alpha = 0, beta = 0, bias = 0;
};

/// A status of the driver as one of cuDNN.
inline int of_driver(int status) {
  return status == 0 ? 0 : status == kOutOfMemory ? kDeviceAllocationFailed : kExecutionFailed;
}

inline DType dtype_of(int type) {
  return type == kDouble     ? DType::f64
         : type == kHalf     ? DType::f16
         : type == kBfloat16 ? DType::bf16
                             : DType::f32;
}
inline Tensor view(const TensorDesc& tensor, In data) {
  return view(dtype_of(tensor.type), tensor.dims, tensor.strides, data);
}
inline Tensor read(const TensorDesc& tensor, In data) { return converted(view(tensor, data)); }
/// A copy as images of channels: [N, C, S].
inline Tensor read_images(const TensorDesc& tensor, In data) {
  const std::int64_t images = tensor.dims[0], channels = tensor.dims[1];
  const Tensor all = read(tensor, data);
  return all.reshape({images, channels, all.element_count() / (images * channels)});
}
inline double factor_of(const TensorDesc& tensor, In factor) {
  return fake::factor(factor, dtype_of(tensor.type));
}
/// The tensor may have other axes than the values, or repeats them.
inline void write(const TensorDesc& tensor, Out data, const Tensor& values, In alpha, In beta) {
  const Tensor out = view(tensor, data);
  const bool is_all = values.element_count() == out.element_count();
  write(out, is_all ? values.reshape(tensor.dims) : values, factor_of(tensor, alpha),
        factor_of(tensor, beta));
}

/// The type in which floats are summed: doubles are for doubles alone.
inline int compute_type(int type) { return type == kDouble ? kDouble : kFloat; }
inline bool is_narrow(int type) { return type == kHalf || type == kBfloat16; }

/// A call that the manual forbids, or that the fake's engines do not compute.
struct Refused {
  int status;
};
inline void require(bool is_legal, int status = kBadParam) {
  if (!is_legal) throw Refused{status};
}

/// Returns the status of an action.
template <typename Body>
int caught(const Body& body) {
  try {
    body();
    return 0;
  } catch (const Refused& refused) {
    return refused.status;
  } catch (const mote::StatusError& e) {
    return e.status() == MOTE_INVALID ? kBadParam : kExecutionFailed;
  } catch (const std::exception&) {
    return kExecutionFailed;
  }
}
/// Returns the status of a call that computes: it counts, wants a context and a handle with a
/// stream, and finds addresses that are not the GPU's.
template <typename Body>
int computing(const Handle* handle, const Body& body) {
  if (const int status = counted_in_context()) return of_driver(status);
  if (handle == nullptr || handle->stream == nullptr || !is_stream(handle->stream))
    return kBadParam;
  return caught(body);
}

/// Returns the status of a query: its handle may have no stream, but not one that is gone.
inline int asking(const Handle* handle) {
  if (const int status = counted_in_context()) return of_driver(status);
  return handle != nullptr && is_stream(handle->stream) ? 0 : kBadParam;
}

template <typename T>
int create(T** made) {
  if (const int status = counted()) return of_driver(status);
  make(made);
  return 0;
}
template <typename T>
int destroy(T* made) {
  unmake(made);
  return 0;
}
template <typename T>
int assign(T* to, bool is_legal, T value) {
  if (const int status = counted()) return of_driver(status);
  if (!is_legal) return kBadParam;
  *to = std::move(value);
  return 0;
}

/// Returns true if each extent equals the other or is 1.
inline bool repeats_to(const Dims& dims, const Dims& other) {
  if (dims.size() != other.size()) return false;
  for (std::size_t k = 0; k < dims.size(); ++k)
    if (dims[k] != other[k] && dims[k] != 1) return false;
  return true;
}
inline bool are_alike(const TensorDesc& a, const TensorDesc& b) {
  return a.type == b.type && a.dims == b.dims;
}
/// The extent along channels, and 1 along all other axes.
inline Dims along_channels(const Dims& dims) {
  Dims vector(dims.size(), 1);
  vector[1] = dims[1];
  return vector;
}

}  // namespace fake::cudnn
