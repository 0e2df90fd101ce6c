// SPDX-License-Identifier: Apache-2.0
// cuDNN 9, loaded at run time if it is installed: the calls that mote uses, as the headers declare
// them, its descriptors, and handles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/driver.h"
#include "cuda/library.h"

namespace mote::cudnn {

// These types are opaque: the library makes and destroys them.
struct Handle;
struct TensorDesc;
struct FilterDesc;
struct ConvolutionDesc;
struct PoolingDesc;
struct ActivationDesc;
struct OpTensorDesc;
struct ReduceDesc;
struct LrnDesc;
struct RecurrentDesc;
struct SequenceDesc;
struct BackendDesc;

/// A call whose status is checked: it throws LibraryError with its name unless the status is 0.
template <typename... Arguments>
struct Function {
  const char* name;
  int (*pointer)(Arguments...) = nullptr;
  void operator()(Arguments... arguments) const;
};

/// cudnnConvolutionFwdAlgoPerf_t, and the same struct for the gradients.
struct AlgorithmResult {
  int algorithm = 0;
  int status = 0;
  float time = 0;
  std::size_t memory = 0;
  int determinism = 0;
  int math = 0;
  std::array<int, 3> reserved{};
};

using In = const void*;
using Out = void*;
using Ints = const int*;

struct Calls {
  std::size_t (*version)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  Function<Handle**> create{"cudnnCreate"};
  Function<Handle*, cuda::DriverStream*> set_stream{"cudnnSetStream"};

  Function<TensorDesc**> create_tensor{"cudnnCreateTensorDescriptor"};
  Function<TensorDesc*> destroy_tensor{"cudnnDestroyTensorDescriptor"};
  Function<TensorDesc*, int, int, Ints, Ints> set_tensor{"cudnnSetTensorNdDescriptor"};
  Function<const TensorDesc*, int, int*, int*, int*, int*> get_tensor{"cudnnGetTensorNdDescriptor"};
  Function<Handle*, In, TensorDesc*, In, In, TensorDesc*, Out> transform{"cudnnTransformTensor"};
  Function<Handle*, TensorDesc*, Out, In> set_all{"cudnnSetTensor"};
  Function<FilterDesc**> create_filter{"cudnnCreateFilterDescriptor"};
  Function<FilterDesc*> destroy_filter{"cudnnDestroyFilterDescriptor"};
  Function<FilterDesc*, int, int, int, Ints> set_filter{"cudnnSetFilterNdDescriptor"};

  Function<ConvolutionDesc**> create_convolution{"cudnnCreateConvolutionDescriptor"};
  Function<ConvolutionDesc*> destroy_convolution{"cudnnDestroyConvolutionDescriptor"};
  Function<ConvolutionDesc*, int, Ints, Ints, Ints, int, int> set_convolution{
      "cudnnSetConvolutionNdDescriptor"};
  Function<ConvolutionDesc*, int> set_groups{"cudnnSetConvolutionGroupCount"};
  Function<ConvolutionDesc*, int> set_math{"cudnnSetConvolutionMathType"};
  Function<ConvolutionDesc*, TensorDesc*, FilterDesc*, int, int*> convolution_dims{
      "cudnnGetConvolutionNdForwardOutputDim"};
  Function<Handle*, TensorDesc*, FilterDesc*, ConvolutionDesc*, TensorDesc*, int, int*,
           AlgorithmResult*>
      forward_algorithms{"cudnnGetConvolutionForwardAlgorithm_v7"};
  Function<Handle*, FilterDesc*, TensorDesc*, ConvolutionDesc*, TensorDesc*, int, int*,
           AlgorithmResult*>
      data_algorithms{"cudnnGetConvolutionBackwardDataAlgorithm_v7"};
  Function<Handle*, TensorDesc*, TensorDesc*, ConvolutionDesc*, FilterDesc*, int, int*,
           AlgorithmResult*>
      filter_algorithms{"cudnnGetConvolutionBackwardFilterAlgorithm_v7"};
  Function<Handle*, TensorDesc*, FilterDesc*, ConvolutionDesc*, TensorDesc*, int, std::size_t*>
      forward_workspace{"cudnnGetConvolutionForwardWorkspaceSize"};
  Function<Handle*, FilterDesc*, TensorDesc*, ConvolutionDesc*, TensorDesc*, int, std::size_t*>
      data_workspace{"cudnnGetConvolutionBackwardDataWorkspaceSize"};
  Function<Handle*, TensorDesc*, TensorDesc*, ConvolutionDesc*, FilterDesc*, int, std::size_t*>
      filter_workspace{"cudnnGetConvolutionBackwardFilterWorkspaceSize"};
  Function<Handle*, In, TensorDesc*, In, FilterDesc*, In, ConvolutionDesc*, int, Out, std::size_t,
           In, TensorDesc*, Out>
      convolve{"cudnnConvolutionForward"};
  Function<Handle*, In, FilterDesc*, In, TensorDesc*, In, ConvolutionDesc*, int, Out, std::size_t,
           In, TensorDesc*, Out>
      convolve_data{"cudnnConvolutionBackwardData"};
  Function<Handle*, In, TensorDesc*, In, TensorDesc*, In, ConvolutionDesc*, int, Out, std::size_t,
           In, FilterDesc*, Out>
      convolve_filter{"cudnnConvolutionBackwardFilter"};
  Function<Handle*, In, TensorDesc*, In, In, TensorDesc*, Out> bias_gradient{
      "cudnnConvolutionBackwardBias"};
  Function<Handle*, In, TensorDesc*, In, In, TensorDesc*, Out> add_tensor{"cudnnAddTensor"};

  Function<PoolingDesc**> create_pooling{"cudnnCreatePoolingDescriptor"};
  Function<PoolingDesc*> destroy_pooling{"cudnnDestroyPoolingDescriptor"};
  Function<PoolingDesc*, int, int, int, Ints, Ints, Ints> set_pooling{
      "cudnnSetPoolingNdDescriptor"};
  Function<PoolingDesc*, TensorDesc*, int, int*> pooling_dims{"cudnnGetPoolingNdForwardOutputDim"};
  Function<Handle*, PoolingDesc*, In, TensorDesc*, In, In, TensorDesc*, Out> pool{
      "cudnnPoolingForward"};
  Function<Handle*, PoolingDesc*, In, TensorDesc*, In, TensorDesc*, In, TensorDesc*, In, In,
           TensorDesc*, Out>
      pool_gradient{"cudnnPoolingBackward"};

  Function<Handle*, int, int, In, TensorDesc*, In, In, TensorDesc*, Out> softmax{
      "cudnnSoftmaxForward"};
  Function<Handle*, int, int, In, TensorDesc*, In, TensorDesc*, In, In, TensorDesc*, Out>
      softmax_gradient{"cudnnSoftmaxBackward"};
  Function<Handle*, int, In, In, TensorDesc*, In, TensorDesc*, Out, TensorDesc*, In, In, In, In,
           double>
      batch_norm{"cudnnBatchNormalizationForwardInference"};
  Function<Handle*, int, In, In, TensorDesc*, In, TensorDesc*, Out, TensorDesc*, In, In, double,
           Out, Out, double, Out, Out>
      batch_norm_training{"cudnnBatchNormalizationForwardTraining"};
  Function<LrnDesc**> create_lrn{"cudnnCreateLRNDescriptor"};
  Function<LrnDesc*> destroy_lrn{"cudnnDestroyLRNDescriptor"};
  Function<LrnDesc*, unsigned, double, double, double> set_lrn{"cudnnSetLRNDescriptor"};
  Function<Handle*, LrnDesc*, int, In, TensorDesc*, In, In, TensorDesc*, Out> lrn{
      "cudnnLRNCrossChannelForward"};

  Function<ActivationDesc**> create_activation{"cudnnCreateActivationDescriptor"};
  Function<ActivationDesc*> destroy_activation{"cudnnDestroyActivationDescriptor"};
  Function<ActivationDesc*, int, int, double> set_activation{"cudnnSetActivationDescriptor"};
  Function<ActivationDesc*, double> set_swish_beta{"cudnnSetActivationDescriptorSwishBeta"};
  Function<Handle*, ActivationDesc*, In, TensorDesc*, In, In, TensorDesc*, Out> activate{
      "cudnnActivationForward"};
  Function<Handle*, ActivationDesc*, In, TensorDesc*, In, TensorDesc*, In, TensorDesc*, In, In,
           TensorDesc*, Out>
      activation_gradient{"cudnnActivationBackward"};

  Function<OpTensorDesc**> create_operation{"cudnnCreateOpTensorDescriptor"};
  Function<OpTensorDesc*> destroy_operation{"cudnnDestroyOpTensorDescriptor"};
  Function<OpTensorDesc*, int, int, int> set_operation{"cudnnSetOpTensorDescriptor"};
  Function<Handle*, OpTensorDesc*, In, TensorDesc*, In, In, TensorDesc*, In, In, TensorDesc*, Out>
      operate{"cudnnOpTensor"};

  Function<ReduceDesc**> create_reduction{"cudnnCreateReduceTensorDescriptor"};
  Function<ReduceDesc*> destroy_reduction{"cudnnDestroyReduceTensorDescriptor"};
  Function<ReduceDesc*, int, int, int, int, int> set_reduction{"cudnnSetReduceTensorDescriptor"};
  Function<Handle*, ReduceDesc*, TensorDesc*, TensorDesc*, std::size_t*> reduction_workspace{
      "cudnnGetReductionWorkspaceSize"};
  Function<Handle*, ReduceDesc*, Out, std::size_t, Out, std::size_t, In, TensorDesc*, In, In,
           TensorDesc*, Out>
      reduce{"cudnnReduceTensor"};

  Function<RecurrentDesc**> create_recurrent{"cudnnCreateRNNDescriptor"};
  Function<RecurrentDesc*> destroy_recurrent{"cudnnDestroyRNNDescriptor"};
  Function<RecurrentDesc*, int, int, int, int, int, int, int, int, std::int32_t, std::int32_t,
           std::int32_t, std::int32_t, Out, std::uint32_t>
      set_recurrent{"cudnnSetRNNDescriptor_v8"};
  Function<SequenceDesc**> create_sequences{"cudnnCreateRNNDataDescriptor"};
  Function<SequenceDesc*> destroy_sequences{"cudnnDestroyRNNDataDescriptor"};
  Function<SequenceDesc*, int, int, int, int, int, Ints, Out> set_sequences{
      "cudnnSetRNNDataDescriptor"};
  Function<Handle*, RecurrentDesc*, std::size_t*> recurrent_weight_bytes{
      "cudnnGetRNNWeightSpaceSize"};
  Function<Handle*, RecurrentDesc*, int, SequenceDesc*, std::size_t*, std::size_t*>
      recurrent_work_bytes{"cudnnGetRNNTempSpaceSizes"};
  Function<Handle*, RecurrentDesc*, std::int32_t, std::size_t, In, std::int32_t, TensorDesc*, Out*,
           TensorDesc*, Out*>
      recurrent_weights{"cudnnGetRNNWeightParams"};
  Function<Handle*, RecurrentDesc*, int, const std::int32_t*, SequenceDesc*, In, SequenceDesc*, Out,
           TensorDesc*, In, Out, TensorDesc*, In, Out, std::size_t, In, std::size_t, Out,
           std::size_t, Out>
      recur{"cudnnRNNForward"};
  Function<Handle*, RecurrentDesc*, const std::int32_t*, SequenceDesc*, In, In, SequenceDesc*, Out,
           TensorDesc*, In, In, Out, TensorDesc*, In, In, Out, std::size_t, In, std::size_t, Out,
           std::size_t, Out>
      recurrent_data_gradient{"cudnnRNNBackwardData_v8"};
  Function<Handle*, RecurrentDesc*, int, const std::int32_t*, SequenceDesc*, In, TensorDesc*, In,
           SequenceDesc*, In, std::size_t, Out, std::size_t, Out, std::size_t, Out>
      recurrent_weight_gradient{"cudnnRNNBackwardWeights_v8"};

  // In the graph API, attributes are passed with their type, a count, and the address of the first.
  Function<int, BackendDesc**> create_backend{"cudnnBackendCreateDescriptor"};
  Function<BackendDesc*> destroy_backend{"cudnnBackendDestroyDescriptor"};
  Function<BackendDesc*> finalize{"cudnnBackendFinalize"};
  Function<BackendDesc*, int, int, std::int64_t, In> set_attribute{"cudnnBackendSetAttribute"};
  Function<BackendDesc*, int, int, std::int64_t, std::int64_t*, Out> get_attribute{
      "cudnnBackendGetAttribute"};
  Function<Handle*, BackendDesc*, BackendDesc*> execute{"cudnnBackendExecute"};
};

/// The library and its handles. Only one call uses a handle at a time, as NVIDIA requires of
/// threads: there are as many as the maximum number of simultaneous calls so far, all in the first
/// GPU's context.
class Cudnn {
 public:
  /// Returns the library, which needs no GPU. Throws Error if it is not installed.
  static Cudnn& library();

  const Calls& calls() const { return calls_; }
  /// Returns a handle with the default stream; the last copy's end gives it back. Throws
  /// LibraryError; the context must be current.
  std::shared_ptr<Handle> take();
  /// Throws LibraryError unless the status is 0; `call` is the call that returned it.
  void check(int status, const char* call) const;

 private:
  Cudnn();
  cuda::Library library_;
  Calls calls_;
  std::mutex mutex_;
  std::vector<Handle*> idle_;
};

inline const Calls& calls() { return Cudnn::library().calls(); }

template <typename... Arguments>
void Function<Arguments...>::operator()(Arguments... arguments) const {
  Cudnn::library().check(pointer(arguments...), name);
}

/// Makes a descriptor, which is destroyed with the last copy.
template <typename T>
std::shared_ptr<T> made(const Function<T**>& create, const Function<T*>& destroy) {
  T* made = nullptr;
  create(&made);
  return {made, [pointer = destroy.pointer](T* desc) { pointer(desc); }};
}

}  // namespace mote::cudnn
