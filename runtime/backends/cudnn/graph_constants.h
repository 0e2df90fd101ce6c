// SPDX-License-Identifier: Apache-2.0
// Values of the enums of cuDNN's graph API, as the header has them: kinds of descriptors, their
// attributes, and the types of attributes.
#pragma once

namespace mote::cudnn {

// cudnnBackendDescriptorType_t, without CUDNN_BACKEND_ and _DESCRIPTOR.
namespace descriptor {
constexpr int kPointwise = 0;            // POINTWISE
constexpr int kConvolution = 1;          // CONVOLUTION
constexpr int kEngine = 2;               // ENGINE
constexpr int kEngineConfig = 3;         // ENGINECFG
constexpr int kHeuristic = 4;            // ENGINEHEUR
constexpr int kPlan = 5;                 // EXECUTION_PLAN
constexpr int kConvolutionForward = 10;  // OPERATION_CONVOLUTION_FORWARD
constexpr int kPointwiseOperation = 13;  // OPERATION_POINTWISE
constexpr int kGraph = 15;               // OPERATIONGRAPH
constexpr int kVariantPack = 16;         // VARIANT_PACK
constexpr int kTensor = 17;              // TENSOR
constexpr int kMatmul = 18;              // MATMUL
constexpr int kMatmulOperation = 19;     // OPERATION_MATMUL
constexpr int kReduction = 21;           // REDUCTION
constexpr int kReductionOperation = 22;  // OPERATION_REDUCTION
constexpr int kNormForward = 29;         // OPERATION_NORM_FORWARD
constexpr int kNormBackward = 30;        // OPERATION_NORM_BACKWARD
constexpr int kReshapeOperation = 31;    // OPERATION_RESHAPE
constexpr int kDevice = 38;              // DEVICEPROP
}  // namespace descriptor

// cudnnBackendAttributeType_t, without CUDNN_TYPE_.
namespace of {
constexpr int kHandle = 0;              // HANDLE
constexpr int kDataType = 1;            // DATA_TYPE
constexpr int kBoolean = 2;             // BOOLEAN
constexpr int kInt64 = 3;               // INT64
constexpr int kReal32 = 4;              // FLOAT
constexpr int kPointer = 6;             // VOID_PTR
constexpr int kConvolutionMode = 7;     // CONVOLUTION_MODE
constexpr int kHeuristicMode = 8;       // HEUR_MODE
constexpr int kNumericalNote = 11;      // NUMERICAL_NOTE
constexpr int kPointwiseMode = 14;      // POINTWISE_MODE
constexpr int kDescriptor = 15;         // BACKEND_DESCRIPTOR
constexpr int kReductionOperator = 18;  // REDUCTION_OPERATOR_TYPE
constexpr int kChar = 24;               // CHAR
constexpr int kNormMode = 27;           // NORM_MODE
constexpr int kNormPhase = 28;          // NORM_FWD_PHASE
}  // namespace of

// cudnnBackendAttributeName_t, without CUDNN_ATTR_.
namespace attribute {
constexpr int kPointwiseMode = 0;           // POINTWISE_MODE
constexpr int kPointwiseMath = 1;           // POINTWISE_MATH_PREC
constexpr int kPointwiseAxis = 9;           // POINTWISE_AXIS
constexpr int kConvolutionMath = 100;       // CONVOLUTION_COMP_TYPE
constexpr int kConvolutionMode = 101;       // CONVOLUTION_CONV_MODE
constexpr int kConvolutionDilations = 102;  // CONVOLUTION_DILATIONS
constexpr int kConvolutionStrides = 103;    // CONVOLUTION_FILTER_STRIDES
constexpr int kConvolutionBehind = 104;     // CONVOLUTION_POST_PADDINGS
constexpr int kConvolutionBefore = 105;     // CONVOLUTION_PRE_PADDINGS
constexpr int kConvolutionAxes = 106;       // CONVOLUTION_SPATIAL_DIMS
constexpr int kHeuristicMode = 200;         // ENGINEHEUR_MODE
constexpr int kHeuristicGraph = 201;        // ENGINEHEUR_OPERATION_GRAPH
constexpr int kHeuristicResults = 202;      // ENGINEHEUR_RESULTS
constexpr int kHeuristicDevice = 204;       // ENGINEHEUR_DEVICEPROP
constexpr int kConfigEngine = 300;          // ENGINECFG_ENGINE
constexpr int kPlanHandle = 400;            // EXECUTION_PLAN_HANDLE
constexpr int kPlanConfig = 401;            // EXECUTION_PLAN_ENGINE_CONFIG
constexpr int kPlanWorkspace = 402;         // EXECUTION_PLAN_WORKSPACE_SIZE
constexpr int kForwardAlpha = 700;          // OPERATION_CONVOLUTION_FORWARD_ALPHA
constexpr int kForwardBeta = 701;           // OPERATION_CONVOLUTION_FORWARD_BETA
constexpr int kForwardDesc = 702;           // OPERATION_CONVOLUTION_FORWARD_CONV_DESC
constexpr int kForwardW = 703;              // OPERATION_CONVOLUTION_FORWARD_W
constexpr int kForwardX = 704;              // OPERATION_CONVOLUTION_FORWARD_X
constexpr int kForwardY = 705;              // OPERATION_CONVOLUTION_FORWARD_Y
constexpr int kPointwiseDesc = 750;         // OPERATION_POINTWISE_PW_DESCRIPTOR
constexpr int kPointwiseX = 751;            // OPERATION_POINTWISE_XDESC
constexpr int kPointwiseB = 752;            // OPERATION_POINTWISE_BDESC
constexpr int kPointwiseY = 753;            // OPERATION_POINTWISE_YDESC
constexpr int kPointwiseT = 758;            // OPERATION_POINTWISE_TDESC
constexpr int kGraphHandle = 800;           // OPERATIONGRAPH_HANDLE
constexpr int kGraphOperations = 801;       // OPERATIONGRAPH_OPS
constexpr int kTensorAlignment = 900;       // TENSOR_BYTE_ALIGNMENT
constexpr int kTensorType = 901;            // TENSOR_DATA_TYPE
constexpr int kTensorDims = 902;            // TENSOR_DIMENSIONS
constexpr int kTensorStrides = 903;         // TENSOR_STRIDES
constexpr int kTensorId = 906;              // TENSOR_UNIQUE_ID
constexpr int kTensorIsVirtual = 907;       // TENSOR_IS_VIRTUAL
constexpr int kTensorIsByValue = 908;       // TENSOR_IS_BY_VALUE
constexpr int kPackIds = 1000;              // VARIANT_PACK_UNIQUE_IDS
constexpr int kPackPointers = 1001;         // VARIANT_PACK_DATA_POINTERS
constexpr int kPackWorkspace = 1003;        // VARIANT_PACK_WORKSPACE
constexpr int kEngineGraph = 1300;          // ENGINE_OPERATION_GRAPH
constexpr int kEngineIndex = 1301;          // ENGINE_GLOBAL_INDEX
constexpr int kEngineNotes = 1303;          // ENGINE_NUMERICAL_NOTE
constexpr int kMatmulMath = 1500;           // MATMUL_COMP_TYPE
constexpr int kMatmulA = 1520;              // OPERATION_MATMUL_ADESC
constexpr int kMatmulB = 1521;              // OPERATION_MATMUL_BDESC
constexpr int kMatmulC = 1522;              // OPERATION_MATMUL_CDESC
constexpr int kMatmulDesc = 1523;           // OPERATION_MATMUL_DESC
constexpr int kReductionOperator = 1600;    // REDUCTION_OPERATOR
constexpr int kReductionMath = 1601;        // REDUCTION_COMP_TYPE
constexpr int kReductionX = 1610;           // OPERATION_REDUCTION_XDESC
constexpr int kReductionY = 1611;           // OPERATION_REDUCTION_YDESC
constexpr int kReductionDesc = 1612;        // OPERATION_REDUCTION_DESC
constexpr int kNormMode = 2000;             // OPERATION_NORM_FWD_MODE
constexpr int kNormPhase = 2001;            // OPERATION_NORM_FWD_PHASE
constexpr int kNormX = 2002;                // OPERATION_NORM_FWD_XDESC
constexpr int kNormMean = 2003;             // OPERATION_NORM_FWD_MEAN_DESC
constexpr int kNormInverse = 2004;          // OPERATION_NORM_FWD_INV_VARIANCE_DESC
constexpr int kNormScale = 2005;            // OPERATION_NORM_FWD_SCALE_DESC
constexpr int kNormBias = 2006;             // OPERATION_NORM_FWD_BIAS_DESC
constexpr int kNormEpsilon = 2007;          // OPERATION_NORM_FWD_EPSILON_DESC
constexpr int kNormY = 2013;                // OPERATION_NORM_FWD_YDESC
constexpr int kNormGradientMode = 2100;     // OPERATION_NORM_BWD_MODE
constexpr int kNormGradientX = 2101;        // OPERATION_NORM_BWD_XDESC
constexpr int kNormGradientMean = 2102;     // OPERATION_NORM_BWD_MEAN_DESC
constexpr int kNormGradientInverse = 2103;  // OPERATION_NORM_BWD_INV_VARIANCE_DESC
constexpr int kNormGradientGy = 2104;       // OPERATION_NORM_BWD_DYDESC
constexpr int kNormGradientScale = 2105;    // OPERATION_NORM_BWD_SCALE_DESC
constexpr int kNormGradientGscale = 2107;   // OPERATION_NORM_BWD_DSCALE_DESC
constexpr int kNormGradientGbias = 2108;    // OPERATION_NORM_BWD_DBIAS_DESC
constexpr int kNormGradientGx = 2109;       // OPERATION_NORM_BWD_DXDESC
constexpr int kReshapeX = 2200;             // OPERATION_RESHAPE_XDESC
constexpr int kReshapeY = 2201;             // OPERATION_RESHAPE_YDESC
constexpr int kDeviceJson = 2702;           // DEVICEPROP_JSON_REPRESENTATION
}  // namespace attribute

constexpr int kInt32 = 4;           // CUDNN_DATA_INT32
constexpr int kBool = 11;           // CUDNN_DATA_BOOLEAN
constexpr int kHeuristicA = 3;      // CUDNN_HEUR_MODE_A
constexpr int kHeuristicLast = 2;   // CUDNN_HEUR_MODE_FALLBACK
constexpr int kTensorCore = 0;      // CUDNN_NUMERICAL_NOTE_TENSOR_CORE
constexpr int kNarrowedInputs = 1;  // CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS
constexpr int kRandomOrder = 4;     // CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC
constexpr int kStrictNan = 9;       // CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP
constexpr int kMaxNotes = 10;       // CUDNN_NUMERICAL_NOTE_TYPE_COUNT
constexpr int kLayerNorm = 0;       // CUDNN_LAYER_NORM
constexpr int kInstanceNorm = 1;    // CUDNN_INSTANCE_NORM
constexpr int kRmsNorm = 4;         // CUDNN_RMS_NORM
constexpr int kInferencePhase = 0;  // CUDNN_NORM_FWD_INFERENCE
constexpr int kTrainingPhase = 1;   // CUDNN_NORM_FWD_TRAINING
constexpr int kAdd = 0;             // CUDNN_POINTWISE_ADD
constexpr int kMultiply = 1;        // CUDNN_POINTWISE_MUL
constexpr int kDivide = 6;          // CUDNN_POINTWISE_DIV
constexpr int kSubtract = 9;        // CUDNN_POINTWISE_SUB
constexpr int kExp = 13;            // CUDNN_POINTWISE_EXP
constexpr int kLogarithm = 15;      // CUDNN_POINTWISE_LOG
constexpr int kRectify = 100;       // CUDNN_POINTWISE_RELU_FWD
constexpr int kNotLess = 303;       // CUDNN_POINTWISE_CMP_GE
constexpr int kIndexAlong = 501;    // CUDNN_POINTWISE_GEN_INDEX
constexpr int kSelect = 601;        // CUDNN_POINTWISE_BINARY_SELECT

}  // namespace mote::cudnn
