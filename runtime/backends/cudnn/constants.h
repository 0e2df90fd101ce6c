// SPDX-License-Identifier: Apache-2.0
// Values of cuDNN's enums, and its limits, as the headers have them.
#pragma once

namespace mote::cudnn {

constexpr int kFloat = 0;                    // CUDNN_DATA_FLOAT
constexpr int kDouble = 1;                   // CUDNN_DATA_DOUBLE
constexpr int kHalf = 2;                     // CUDNN_DATA_HALF
constexpr int kBfloat16 = 9;                 // CUDNN_DATA_BFLOAT16
constexpr int kNchw = 0;                     // CUDNN_TENSOR_NCHW
constexpr int kNhwc = 1;                     // CUDNN_TENSOR_NHWC
constexpr int kHostAllocationFailed = 4003;  // CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED
constexpr int kDeviceAllocationFailed =
    4004;                                // CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED
constexpr int kBadParam = 2000;          // CUDNN_STATUS_BAD_PARAM
constexpr int kNotSupported = 3000;      // CUDNN_STATUS_NOT_SUPPORTED, the first of its kind
constexpr int kAfterUnsupported = 4000;  // CUDNN_STATUS_INTERNAL_ERROR
constexpr int kExecutionFailed = 5000;   // CUDNN_STATUS_EXECUTION_FAILED
constexpr int kPropagateNan = 1;         // CUDNN_PROPAGATE_NAN
constexpr int kCrossCorrelation = 1;     // CUDNN_CROSS_CORRELATION
constexpr int kDefaultMath = 0;          // CUDNN_DEFAULT_MATH
constexpr int kTensorMath = 1;           // CUDNN_TENSOR_OP_MATH
constexpr int kConvertingMath = 2;       // CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION
constexpr int kFmaMath = 3;              // CUDNN_FMA_MATH
constexpr int kDeterministic = 1;        // CUDNN_DETERMINISTIC
constexpr int kNotDeterministic = 0;     // CUDNN_NON_DETERMINISTIC
constexpr int kImplicitGemm = 0;         // CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM
constexpr int kPrecomputedGemm = 1;      // CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM
constexpr int kGemm = 2;                 // CUDNN_CONVOLUTION_FWD_ALGO_GEMM
constexpr int kDirect = 3;               // CUDNN_CONVOLUTION_FWD_ALGO_DIRECT
constexpr int kWinograd = 6;             // CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD
constexpr int kDataGradient = 1;         // CUDNN_CONVOLUTION_BWD_DATA_ALGO_1
constexpr int kHastyDataGradient = 0;    // CUDNN_CONVOLUTION_BWD_DATA_ALGO_0
constexpr int kFilterGradient = 1;       // CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1
constexpr int kHastyFilterGradient = 3;  // CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3
constexpr int kMax = 3;                  // CUDNN_POOLING_MAX_DETERMINISTIC
constexpr int kAverageWithPads = 1;      // CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
constexpr int kAverage = 2;              // CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
constexpr int kAccurate = 1;             // CUDNN_SOFTMAX_ACCURATE
constexpr int kLog = 2;                  // CUDNN_SOFTMAX_LOG
constexpr int kChannels = 1;             // CUDNN_SOFTMAX_MODE_CHANNEL
constexpr int kSpatial = 1;              // CUDNN_BATCHNORM_SPATIAL
constexpr int kAcrossChannels = 0;       // CUDNN_LRN_CROSS_CHANNEL_DIM1
constexpr int kSigmoid = 0;              // CUDNN_ACTIVATION_SIGMOID
constexpr int kRelu = 1;                 // CUDNN_ACTIVATION_RELU
constexpr int kTanh = 2;                 // CUDNN_ACTIVATION_TANH
constexpr int kElu = 4;                  // CUDNN_ACTIVATION_ELU
constexpr int kSwish = 6;                // CUDNN_ACTIVATION_SWISH
constexpr int kOfAdd = 0;                // CUDNN_OP_TENSOR_ADD
constexpr int kOfMultiply = 1;           // CUDNN_OP_TENSOR_MUL
constexpr int kOfMinimum = 2;            // CUDNN_OP_TENSOR_MIN
constexpr int kOfMaximum = 3;            // CUDNN_OP_TENSOR_MAX
constexpr int kOfSquareRoot = 4;         // CUDNN_OP_TENSOR_SQRT
constexpr int kReduceAdd = 0;            // CUDNN_REDUCE_TENSOR_ADD
constexpr int kReduceMultiply = 1;       // CUDNN_REDUCE_TENSOR_MUL
constexpr int kReduceMinimum = 2;        // CUDNN_REDUCE_TENSOR_MIN
constexpr int kReduceMaximum = 3;        // CUDNN_REDUCE_TENSOR_MAX
constexpr int kReduceAverage = 5;        // CUDNN_REDUCE_TENSOR_AVG
constexpr int kReduceNorm1 = 6;          // CUDNN_REDUCE_TENSOR_NORM1
constexpr int kReduceNorm2 = 7;          // CUDNN_REDUCE_TENSOR_NORM2
constexpr int kNoIndices = 0;            // CUDNN_REDUCE_TENSOR_NO_INDICES
constexpr int kIndicesOf32Bits = 0;      // CUDNN_32BIT_INDICES
constexpr int kTanhCell = 1;             // CUDNN_RNN_TANH
constexpr int kLstmCell = 2;             // CUDNN_LSTM
constexpr int kGruCell = 3;              // CUDNN_GRU
constexpr int kInputBias = 1;            // CUDNN_RNN_SINGLE_INP_BIAS
constexpr int kBothBiases = 2;           // CUDNN_RNN_DOUBLE_BIAS
constexpr int kStateBias = 3;            // CUDNN_RNN_SINGLE_REC_BIAS
constexpr int kStandardAlgorithm = 0;    // CUDNN_RNN_ALGO_STANDARD
constexpr int kOneDirection = 0;         // CUDNN_UNIDIRECTIONAL
constexpr int kLinearInput = 0;          // CUDNN_LINEAR_INPUT
constexpr int kStepMajor = 0;            // CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED
constexpr int kPacked = 1;               // CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED
constexpr int kBatchMajor = 2;           // CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED
constexpr int kWithoutPads = 0;          // CUDNN_RNN_PADDED_IO_DISABLED
constexpr int kWithPads = 1;             // CUDNN_RNN_PADDED_IO_ENABLED
constexpr int kInference = 0;            // CUDNN_FWD_MODE_INFERENCE
constexpr int kTrainingMode = 1;         // CUDNN_FWD_MODE_TRAINING
constexpr int kAddGradients = 0;         // CUDNN_WGRAD_MODE_ADD
constexpr int kLrnMostSize = 16;         // CUDNN_LRN_MAX_N
constexpr double kLrnLeastBias = 1e-5;   // CUDNN_LRN_MIN_K
constexpr double kLrnLeastBeta = 0.01;   // CUDNN_LRN_MIN_BETA

}  // namespace mote::cudnn
