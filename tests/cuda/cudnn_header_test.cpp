// SPDX-License-Identifier: Apache-2.0
// Compares the calls of cuDNN as mote declares them with the headers of cuDNN: arguments of the
// same kinds and sizes, and the same constants.
#include <cudnn.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "alike.h"
#include "cudnn/api.h"
#include "cudnn/constants.h"

// The legacy calls are marked as deprecated.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace mote::cudnn {
namespace {

#define LIKE(ours, theirs) \
  static_assert(test::are_alike(decltype(Calls().ours.pointer)(), decltype (&(theirs))()))

static_assert(test::are_alike(Calls().version, decltype (&cudnnGetVersion)()));
static_assert(test::are_alike(Calls().error_text, decltype (&cudnnGetErrorString)()));
LIKE(create, cudnnCreate);
LIKE(set_stream, cudnnSetStream);
LIKE(create_tensor, cudnnCreateTensorDescriptor);
LIKE(destroy_tensor, cudnnDestroyTensorDescriptor);
LIKE(set_tensor, cudnnSetTensorNdDescriptor);
LIKE(get_tensor, cudnnGetTensorNdDescriptor);
LIKE(transform, cudnnTransformTensor);
LIKE(set_all, cudnnSetTensor);
LIKE(create_filter, cudnnCreateFilterDescriptor);
LIKE(destroy_filter, cudnnDestroyFilterDescriptor);
LIKE(set_filter, cudnnSetFilterNdDescriptor);
LIKE(create_convolution, cudnnCreateConvolutionDescriptor);
LIKE(destroy_convolution, cudnnDestroyConvolutionDescriptor);
LIKE(set_convolution, cudnnSetConvolutionNdDescriptor);
LIKE(set_groups, cudnnSetConvolutionGroupCount);
LIKE(set_math, cudnnSetConvolutionMathType);
LIKE(convolution_dims, cudnnGetConvolutionNdForwardOutputDim);
LIKE(forward_algorithms, cudnnGetConvolutionForwardAlgorithm_v7);
LIKE(data_algorithms, cudnnGetConvolutionBackwardDataAlgorithm_v7);
LIKE(filter_algorithms, cudnnGetConvolutionBackwardFilterAlgorithm_v7);
LIKE(forward_workspace, cudnnGetConvolutionForwardWorkspaceSize);
LIKE(data_workspace, cudnnGetConvolutionBackwardDataWorkspaceSize);
LIKE(filter_workspace, cudnnGetConvolutionBackwardFilterWorkspaceSize);
LIKE(convolve, cudnnConvolutionForward);
LIKE(convolve_data, cudnnConvolutionBackwardData);
LIKE(convolve_filter, cudnnConvolutionBackwardFilter);
LIKE(bias_gradient, cudnnConvolutionBackwardBias);
LIKE(add_tensor, cudnnAddTensor);
LIKE(create_pooling, cudnnCreatePoolingDescriptor);
LIKE(destroy_pooling, cudnnDestroyPoolingDescriptor);
LIKE(set_pooling, cudnnSetPoolingNdDescriptor);
LIKE(pooling_dims, cudnnGetPoolingNdForwardOutputDim);
LIKE(pool, cudnnPoolingForward);
LIKE(pool_gradient, cudnnPoolingBackward);
LIKE(softmax, cudnnSoftmaxForward);
LIKE(softmax_gradient, cudnnSoftmaxBackward);
LIKE(batch_norm, cudnnBatchNormalizationForwardInference);
LIKE(batch_norm_training, cudnnBatchNormalizationForwardTraining);
LIKE(create_lrn, cudnnCreateLRNDescriptor);
LIKE(destroy_lrn, cudnnDestroyLRNDescriptor);
LIKE(set_lrn, cudnnSetLRNDescriptor);
LIKE(lrn, cudnnLRNCrossChannelForward);
LIKE(create_activation, cudnnCreateActivationDescriptor);
LIKE(destroy_activation, cudnnDestroyActivationDescriptor);
LIKE(set_activation, cudnnSetActivationDescriptor);
LIKE(set_swish_beta, cudnnSetActivationDescriptorSwishBeta);
LIKE(activate, cudnnActivationForward);
LIKE(activation_gradient, cudnnActivationBackward);
LIKE(create_operation, cudnnCreateOpTensorDescriptor);
LIKE(destroy_operation, cudnnDestroyOpTensorDescriptor);
LIKE(set_operation, cudnnSetOpTensorDescriptor);
LIKE(operate, cudnnOpTensor);
LIKE(create_reduction, cudnnCreateReduceTensorDescriptor);
LIKE(destroy_reduction, cudnnDestroyReduceTensorDescriptor);
LIKE(set_reduction, cudnnSetReduceTensorDescriptor);
LIKE(reduction_workspace, cudnnGetReductionWorkspaceSize);
LIKE(reduce, cudnnReduceTensor);
LIKE(create_recurrent, cudnnCreateRNNDescriptor);
LIKE(destroy_recurrent, cudnnDestroyRNNDescriptor);
LIKE(set_recurrent, cudnnSetRNNDescriptor_v8);
LIKE(create_sequences, cudnnCreateRNNDataDescriptor);
LIKE(destroy_sequences, cudnnDestroyRNNDataDescriptor);
LIKE(set_sequences, cudnnSetRNNDataDescriptor);
LIKE(recurrent_weight_bytes, cudnnGetRNNWeightSpaceSize);
LIKE(recurrent_work_bytes, cudnnGetRNNTempSpaceSizes);
LIKE(recurrent_weights, cudnnGetRNNWeightParams);
LIKE(recur, cudnnRNNForward);
LIKE(recurrent_data_gradient, cudnnRNNBackwardData_v8);
LIKE(recurrent_weight_gradient, cudnnRNNBackwardWeights_v8);

#undef LIKE

static_assert(kFloat == CUDNN_DATA_FLOAT);
static_assert(kDouble == CUDNN_DATA_DOUBLE);
static_assert(kHalf == CUDNN_DATA_HALF);
static_assert(kBfloat16 == CUDNN_DATA_BFLOAT16);
static_assert(kNchw == CUDNN_TENSOR_NCHW);
static_assert(kNhwc == CUDNN_TENSOR_NHWC);
static_assert(kHostAllocationFailed == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
static_assert(kDeviceAllocationFailed == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
static_assert(kBadParam == CUDNN_STATUS_BAD_PARAM);
static_assert(kNotSupported == CUDNN_STATUS_NOT_SUPPORTED);
static_assert(kAfterUnsupported == CUDNN_STATUS_INTERNAL_ERROR);
static_assert(kExecutionFailed == CUDNN_STATUS_EXECUTION_FAILED);
static_assert(kPropagateNan == CUDNN_PROPAGATE_NAN);
static_assert(kCrossCorrelation == CUDNN_CROSS_CORRELATION);
static_assert(kDefaultMath == CUDNN_DEFAULT_MATH);
static_assert(kTensorMath == CUDNN_TENSOR_OP_MATH);
static_assert(kConvertingMath == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION);
static_assert(kFmaMath == CUDNN_FMA_MATH);
static_assert(kDeterministic == CUDNN_DETERMINISTIC);
static_assert(kNotDeterministic == CUDNN_NON_DETERMINISTIC);
static_assert(kImplicitGemm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM);
static_assert(kPrecomputedGemm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
static_assert(kGemm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM);
static_assert(kDirect == CUDNN_CONVOLUTION_FWD_ALGO_DIRECT);
static_assert(kWinograd == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD);
static_assert(kDataGradient == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1);
static_assert(kHastyDataGradient == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0);
static_assert(kFilterGradient == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1);
static_assert(kHastyFilterGradient == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3);
static_assert(kMax == CUDNN_POOLING_MAX_DETERMINISTIC);
static_assert(kAverageWithPads == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING);
static_assert(kAverage == CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING);
static_assert(kAccurate == CUDNN_SOFTMAX_ACCURATE);
static_assert(kLog == CUDNN_SOFTMAX_LOG);
static_assert(kChannels == CUDNN_SOFTMAX_MODE_CHANNEL);
static_assert(kSpatial == CUDNN_BATCHNORM_SPATIAL);
static_assert(kAcrossChannels == CUDNN_LRN_CROSS_CHANNEL_DIM1);
static_assert(kSigmoid == CUDNN_ACTIVATION_SIGMOID);
static_assert(kRelu == CUDNN_ACTIVATION_RELU);
static_assert(kTanh == CUDNN_ACTIVATION_TANH);
static_assert(kElu == CUDNN_ACTIVATION_ELU);
static_assert(kSwish == CUDNN_ACTIVATION_SWISH);
static_assert(kOfAdd == CUDNN_OP_TENSOR_ADD);
static_assert(kOfMultiply == CUDNN_OP_TENSOR_MUL);
static_assert(kOfMinimum == CUDNN_OP_TENSOR_MIN);
static_assert(kOfMaximum == CUDNN_OP_TENSOR_MAX);
static_assert(kOfSquareRoot == CUDNN_OP_TENSOR_SQRT);
static_assert(kReduceAdd == CUDNN_REDUCE_TENSOR_ADD);
static_assert(kReduceMultiply == CUDNN_REDUCE_TENSOR_MUL);
static_assert(kReduceMinimum == CUDNN_REDUCE_TENSOR_MIN);
static_assert(kReduceMaximum == CUDNN_REDUCE_TENSOR_MAX);
static_assert(kReduceAverage == CUDNN_REDUCE_TENSOR_AVG);
static_assert(kReduceNorm1 == CUDNN_REDUCE_TENSOR_NORM1);
static_assert(kReduceNorm2 == CUDNN_REDUCE_TENSOR_NORM2);
static_assert(kNoIndices == CUDNN_REDUCE_TENSOR_NO_INDICES);
static_assert(kIndicesOf32Bits == CUDNN_32BIT_INDICES);
static_assert(kTanhCell == CUDNN_RNN_TANH);
static_assert(kLstmCell == CUDNN_LSTM);
static_assert(kGruCell == CUDNN_GRU);
static_assert(kInputBias == CUDNN_RNN_SINGLE_INP_BIAS);
static_assert(kBothBiases == CUDNN_RNN_DOUBLE_BIAS);
static_assert(kStateBias == CUDNN_RNN_SINGLE_REC_BIAS);
static_assert(kStandardAlgorithm == CUDNN_RNN_ALGO_STANDARD);
static_assert(kOneDirection == CUDNN_UNIDIRECTIONAL);
static_assert(kLinearInput == CUDNN_LINEAR_INPUT);
static_assert(kStepMajor == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED);
static_assert(kPacked == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED);
static_assert(kBatchMajor == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED);
static_assert(kWithoutPads == CUDNN_RNN_PADDED_IO_DISABLED);
static_assert(kWithPads == CUDNN_RNN_PADDED_IO_ENABLED);
static_assert(kInference == CUDNN_FWD_MODE_INFERENCE);
static_assert(kTrainingMode == CUDNN_FWD_MODE_TRAINING);
static_assert(kAddGradients == CUDNN_WGRAD_MODE_ADD);
static_assert(sizeof(AlgorithmResult) == sizeof(cudnnConvolutionFwdAlgoPerf_t));
static_assert(sizeof(AlgorithmResult) == sizeof(cudnnConvolutionBwdDataAlgoPerf_t));
static_assert(sizeof(AlgorithmResult) == sizeof(cudnnConvolutionBwdFilterAlgoPerf_t));
static_assert(offsetof(AlgorithmResult, memory) == offsetof(cudnnConvolutionFwdAlgoPerf_t, memory));
static_assert(offsetof(AlgorithmResult, math) == offsetof(cudnnConvolutionFwdAlgoPerf_t, mathType));
static_assert(offsetof(AlgorithmResult, determinism) ==
              offsetof(cudnnConvolutionFwdAlgoPerf_t, determinism));
static_assert(CUDNN_BN_MIN_EPSILON == 0 && CUDNN_LRN_MAX_N == kLrnMostSize);
static_assert(CUDNN_LRN_MIN_K == kLrnLeastBias && CUDNN_LRN_MIN_BETA == kLrnLeastBeta);

}  // namespace
}  // namespace mote::cudnn
