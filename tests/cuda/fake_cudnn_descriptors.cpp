// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's handles and descriptors: what the manual forbids is CUDNN_STATUS_BAD_PARAM.
#include "fake_cudnn.h"

using namespace fake;
using namespace fake::cudnn;

namespace {

Dims dims_of(int count, const int* values) { return {values, values + count}; }

bool all_at_least(const Dims& values, std::int64_t least) {
  return std::ranges::all_of(values, [&](std::int64_t v) { return v >= least; });
}

/// Row-major strides; with the channels last, of images whose channels are adjacent.
Dims strides_of(Dims dims, bool channels_last) {
  if (!channels_last) return contiguous_strides(dims);
  dims.push_back(dims[1]);
  dims.erase(dims.begin() + 1);
  Dims strides = contiguous_strides(dims);
  strides.insert(strides.begin() + 1, strides.back());
  strides.pop_back();
  return strides;
}

/// The counts of axes that tensors may have.
constexpr int kLeastRank = 3, kLeastFilterRank = 4, kMaxRank = 8;

}  // namespace

FAKE_EXPORT std::size_t cudnnGetVersion() { return 99000; }
FAKE_EXPORT const char* cudnnGetErrorString(int status) {
  return status == kBadParam       ? "CUDNN_STATUS_BAD_PARAM"
         : status == kNotSupported ? "CUDNN_STATUS_NOT_SUPPORTED"
         : status == kDeviceAllocationFailed
             ? "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"
             : "CUDNN_STATUS_EXECUTION_FAILED";
}
FAKE_EXPORT int cudnnCreate(Handle** handle) {
  if (const int status = counted_in_context()) return of_driver(status);
  *handle = new Handle();  // kept by the plug-in as long as the process
  return 0;
}
FAKE_EXPORT int cudnnSetStream(Handle* h, void* stream) {
  if (const int status = counted_in_context()) return of_driver(status);
  h->stream = stream;
  return 0;
}

FAKE_EXPORT int cudnnCreateTensorDescriptor(TensorDesc** made) { return create(made); }
FAKE_EXPORT int cudnnDestroyTensorDescriptor(TensorDesc* made) { return destroy(made); }
FAKE_EXPORT int cudnnSetTensorNdDescriptor(TensorDesc* desc, int type, int count, const int* dims,
                                           const int* strides) {
  TensorDesc set{type, dims_of(count, dims), dims_of(count, strides)};
  const bool is_legal = count >= kLeastRank && count <= kMaxRank && all_at_least(set.dims, 1) &&
                        all_at_least(set.strides, 1);
  return assign(desc, is_legal, std::move(set));
}
FAKE_EXPORT int cudnnGetTensorNdDescriptor(const TensorDesc* desc, int requested, int* type,
                                           int* count, int* dims, int* strides) {
  if (const int status = counted()) return of_driver(status);
  if (requested < 1 || requested > kMaxRank) return kBadParam;
  *type = desc->type;
  *count = static_cast<int>(desc->dims.size());
  for (std::size_t k = 0; k < std::min(desc->dims.size(), static_cast<std::size_t>(requested));
       ++k) {
    dims[k] = static_cast<int>(desc->dims[k]);
    strides[k] = static_cast<int>(desc->strides[k]);
  }
  return 0;
}

FAKE_EXPORT int cudnnCreateFilterDescriptor(TensorDesc** made) { return create(made); }
FAKE_EXPORT int cudnnDestroyFilterDescriptor(TensorDesc* made) { return destroy(made); }
FAKE_EXPORT int cudnnSetFilterNdDescriptor(TensorDesc* desc, int type, int format, int count,
                                           const int* given) {
  const Dims dims = dims_of(count, given);
  const bool is_legal =
      count >= kLeastFilterRank && count <= kMaxRank && all_at_least(dims, 1) && format <= kNhwc;
  return assign(desc, is_legal, TensorDesc{type, dims, strides_of(dims, format == kNhwc)});
}

FAKE_EXPORT int cudnnCreateConvolutionDescriptor(ConvolutionDesc** made) { return create(made); }
FAKE_EXPORT int cudnnDestroyConvolutionDescriptor(ConvolutionDesc* made) { return destroy(made); }
FAKE_EXPORT int cudnnSetConvolutionNdDescriptor(ConvolutionDesc* desc, int axes, const int* pads,
                                                const int* strides, const int* dilations, int mode,
                                                int compute) {
  ConvolutionDesc set{dims_of(axes, pads), dims_of(axes, strides), dims_of(axes, dilations), mode,
                      compute};
  const bool is_legal = axes >= 2 && all_at_least(set.pads, 0) && all_at_least(set.strides, 1) &&
                        all_at_least(set.dilations, 1) && mode == kCrossCorrelation;
  return assign(desc, is_legal, std::move(set));
}
FAKE_EXPORT int cudnnSetConvolutionGroupCount(ConvolutionDesc* desc, int groups) {
  return assign(&desc->groups, groups >= 1, groups);
}
FAKE_EXPORT int cudnnSetConvolutionMathType(ConvolutionDesc* desc, int math) {
  return assign(&desc->math, math >= kDefaultMath && math <= kFmaMath, math);
}

FAKE_EXPORT int cudnnCreatePoolingDescriptor(PoolingDesc** made) { return create(made); }
FAKE_EXPORT int cudnnDestroyPoolingDescriptor(PoolingDesc* made) { return destroy(made); }
FAKE_EXPORT int cudnnSetPoolingNdDescriptor(PoolingDesc* desc, int mode, int nan, int axes,
                                            const int* taps, const int* pads, const int* strides) {
  PoolingDesc set{mode, nan, dims_of(axes, taps), dims_of(axes, pads), dims_of(axes, strides)};
  bool is_legal = mode >= kAverageWithPads && mode <= kMax && all_at_least(set.taps, 1) &&
                  all_at_least(set.pads, 0) && all_at_least(set.strides, 1);
  for (std::size_t k = 0; k < set.taps.size(); ++k)
    is_legal = is_legal && set.pads[k] < set.taps[k];
  return assign(desc, is_legal, std::move(set));
}

FAKE_EXPORT int cudnnCreateActivationDescriptor(ActivationDesc** made) { return create(made); }
FAKE_EXPORT int cudnnDestroyActivationDescriptor(ActivationDesc* made) { return destroy(made); }
FAKE_EXPORT int cudnnSetActivationDescriptor(ActivationDesc* desc, int mode, int nan,
                                             double coefficient) {
  return assign(desc, mode >= kSigmoid && mode <= kSwish, ActivationDesc{mode, nan, coefficient});
}
FAKE_EXPORT int cudnnSetActivationDescriptorSwishBeta(ActivationDesc* desc, double beta) {
  return assign(&desc->swish_beta, true, beta);
}

FAKE_EXPORT int cudnnCreateOpTensorDescriptor(OpTensorDesc** made) { return create(made); }
FAKE_EXPORT int cudnnDestroyOpTensorDescriptor(OpTensorDesc* made) { return destroy(made); }
FAKE_EXPORT int cudnnSetOpTensorDescriptor(OpTensorDesc* desc, int operation, int compute,
                                           int nan) {
  return assign(desc, operation >= kOfAdd && operation <= kOfSquareRoot,
                OpTensorDesc{operation, compute, nan});
}

FAKE_EXPORT int cudnnCreateReduceTensorDescriptor(ReduceDesc** made) { return create(made); }
FAKE_EXPORT int cudnnDestroyReduceTensorDescriptor(ReduceDesc* made) { return destroy(made); }
FAKE_EXPORT int cudnnSetReduceTensorDescriptor(ReduceDesc* desc, int operation, int compute,
                                               int nan, int indices, int index_type) {
  return assign(
      desc, operation >= kReduceAdd && operation <= kReduceNorm2 && index_type == kIndicesOf32Bits,
      ReduceDesc{operation, compute, nan, indices});
}

FAKE_EXPORT int cudnnCreateLRNDescriptor(LrnDesc** made) { return create(made); }
FAKE_EXPORT int cudnnDestroyLRNDescriptor(LrnDesc* made) { return destroy(made); }
FAKE_EXPORT int cudnnSetLRNDescriptor(LrnDesc* desc, unsigned size, double alpha, double beta,
                                      double bias) {
  return assign(desc,
                size >= 1 && size <= kLrnMostSize && bias >= kLrnLeastBias && beta >= kLrnLeastBeta,
                LrnDesc{size, alpha, beta, bias});
}
