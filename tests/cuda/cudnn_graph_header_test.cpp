// SPDX-License-Identifier: Apache-2.0
// Compares the calls and constants of cuDNN's graph API as mote declares them with its header.
#include <cudnn.h>

#include "alike.h"
#include "cudnn/api.h"
#include "cudnn/graph_constants.h"

// Some attributes are marked as deprecated.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace mote::cudnn {
namespace {

#define LIKE(ours, theirs) \
  static_assert(test::are_alike(decltype(Calls().ours.pointer)(), decltype (&(theirs))()))

LIKE(create_backend, cudnnBackendCreateDescriptor);
LIKE(destroy_backend, cudnnBackendDestroyDescriptor);
LIKE(finalize, cudnnBackendFinalize);
LIKE(set_attribute, cudnnBackendSetAttribute);
LIKE(get_attribute, cudnnBackendGetAttribute);
LIKE(execute, cudnnBackendExecute);

#undef LIKE

static_assert(descriptor::kPointwise == CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
static_assert(descriptor::kConvolution == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
static_assert(descriptor::kConvolutionForward ==
              CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
static_assert(descriptor::kEngine == CUDNN_BACKEND_ENGINE_DESCRIPTOR);
static_assert(descriptor::kEngineConfig == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
static_assert(descriptor::kHeuristic == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
static_assert(descriptor::kPlan == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
static_assert(descriptor::kPointwiseOperation == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
static_assert(descriptor::kGraph == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
static_assert(descriptor::kVariantPack == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
static_assert(descriptor::kTensor == CUDNN_BACKEND_TENSOR_DESCRIPTOR);
static_assert(descriptor::kMatmul == CUDNN_BACKEND_MATMUL_DESCRIPTOR);
static_assert(descriptor::kMatmulOperation == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
static_assert(descriptor::kReduction == CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
static_assert(descriptor::kReductionOperation == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
static_assert(descriptor::kNormForward == CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
static_assert(descriptor::kNormBackward == CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
static_assert(descriptor::kReshapeOperation == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
static_assert(descriptor::kDevice == CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
static_assert(of::kHandle == CUDNN_TYPE_HANDLE);
static_assert(of::kDataType == CUDNN_TYPE_DATA_TYPE);
static_assert(of::kBoolean == CUDNN_TYPE_BOOLEAN);
static_assert(of::kInt64 == CUDNN_TYPE_INT64);
static_assert(of::kReal32 == CUDNN_TYPE_FLOAT);
static_assert(of::kConvolutionMode == CUDNN_TYPE_CONVOLUTION_MODE);
static_assert(of::kPointer == CUDNN_TYPE_VOID_PTR);
static_assert(of::kHeuristicMode == CUDNN_TYPE_HEUR_MODE);
static_assert(of::kNumericalNote == CUDNN_TYPE_NUMERICAL_NOTE);
static_assert(of::kPointwiseMode == CUDNN_TYPE_POINTWISE_MODE);
static_assert(of::kDescriptor == CUDNN_TYPE_BACKEND_DESCRIPTOR);
static_assert(of::kReductionOperator == CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
static_assert(of::kChar == CUDNN_TYPE_CHAR);
static_assert(of::kNormMode == CUDNN_TYPE_NORM_MODE);
static_assert(of::kNormPhase == CUDNN_TYPE_NORM_FWD_PHASE);
static_assert(attribute::kPointwiseMode == CUDNN_ATTR_POINTWISE_MODE);
static_assert(attribute::kPointwiseMath == CUDNN_ATTR_POINTWISE_MATH_PREC);
static_assert(attribute::kPointwiseAxis == CUDNN_ATTR_POINTWISE_AXIS);
static_assert(attribute::kConvolutionMath == CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
static_assert(attribute::kConvolutionMode == CUDNN_ATTR_CONVOLUTION_CONV_MODE);
static_assert(attribute::kConvolutionDilations == CUDNN_ATTR_CONVOLUTION_DILATIONS);
static_assert(attribute::kConvolutionStrides == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
static_assert(attribute::kConvolutionBehind == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
static_assert(attribute::kConvolutionBefore == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
static_assert(attribute::kConvolutionAxes == CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
static_assert(attribute::kForwardAlpha == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
static_assert(attribute::kForwardBeta == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
static_assert(attribute::kForwardDesc == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
static_assert(attribute::kForwardW == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
static_assert(attribute::kForwardX == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
static_assert(attribute::kForwardY == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
static_assert(attribute::kHeuristicMode == CUDNN_ATTR_ENGINEHEUR_MODE);
static_assert(attribute::kHeuristicGraph == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
static_assert(attribute::kHeuristicResults == CUDNN_ATTR_ENGINEHEUR_RESULTS);
static_assert(attribute::kHeuristicDevice == CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
static_assert(attribute::kConfigEngine == CUDNN_ATTR_ENGINECFG_ENGINE);
static_assert(attribute::kPlanHandle == CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
static_assert(attribute::kPlanConfig == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
static_assert(attribute::kPlanWorkspace == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
static_assert(attribute::kPointwiseDesc == CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
static_assert(attribute::kPointwiseX == CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
static_assert(attribute::kPointwiseB == CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
static_assert(attribute::kPointwiseY == CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
static_assert(attribute::kPointwiseT == CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
static_assert(attribute::kGraphHandle == CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
static_assert(attribute::kGraphOperations == CUDNN_ATTR_OPERATIONGRAPH_OPS);
static_assert(attribute::kTensorAlignment == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
static_assert(attribute::kTensorType == CUDNN_ATTR_TENSOR_DATA_TYPE);
static_assert(attribute::kTensorDims == CUDNN_ATTR_TENSOR_DIMENSIONS);
static_assert(attribute::kTensorStrides == CUDNN_ATTR_TENSOR_STRIDES);
static_assert(attribute::kTensorId == CUDNN_ATTR_TENSOR_UNIQUE_ID);
static_assert(attribute::kTensorIsVirtual == CUDNN_ATTR_TENSOR_IS_VIRTUAL);
static_assert(attribute::kTensorIsByValue == CUDNN_ATTR_TENSOR_IS_BY_VALUE);
static_assert(attribute::kPackIds == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
static_assert(attribute::kPackPointers == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
static_assert(attribute::kPackWorkspace == CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
static_assert(attribute::kEngineGraph == CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
static_assert(attribute::kEngineIndex == CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
static_assert(attribute::kEngineNotes == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
static_assert(attribute::kMatmulMath == CUDNN_ATTR_MATMUL_COMP_TYPE);
static_assert(attribute::kMatmulA == CUDNN_ATTR_OPERATION_MATMUL_ADESC);
static_assert(attribute::kMatmulB == CUDNN_ATTR_OPERATION_MATMUL_BDESC);
static_assert(attribute::kMatmulC == CUDNN_ATTR_OPERATION_MATMUL_CDESC);
static_assert(attribute::kMatmulDesc == CUDNN_ATTR_OPERATION_MATMUL_DESC);
static_assert(attribute::kReductionOperator == CUDNN_ATTR_REDUCTION_OPERATOR);
static_assert(attribute::kReductionMath == CUDNN_ATTR_REDUCTION_COMP_TYPE);
static_assert(attribute::kReductionX == CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
static_assert(attribute::kReductionY == CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
static_assert(attribute::kReductionDesc == CUDNN_ATTR_OPERATION_REDUCTION_DESC);
static_assert(attribute::kNormMode == CUDNN_ATTR_OPERATION_NORM_FWD_MODE);
static_assert(attribute::kNormPhase == CUDNN_ATTR_OPERATION_NORM_FWD_PHASE);
static_assert(attribute::kNormX == CUDNN_ATTR_OPERATION_NORM_FWD_XDESC);
static_assert(attribute::kNormMean == CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC);
static_assert(attribute::kNormInverse == CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC);
static_assert(attribute::kNormScale == CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC);
static_assert(attribute::kNormBias == CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC);
static_assert(attribute::kNormEpsilon == CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC);
static_assert(attribute::kNormY == CUDNN_ATTR_OPERATION_NORM_FWD_YDESC);
static_assert(attribute::kNormGradientMode == CUDNN_ATTR_OPERATION_NORM_BWD_MODE);
static_assert(attribute::kNormGradientX == CUDNN_ATTR_OPERATION_NORM_BWD_XDESC);
static_assert(attribute::kNormGradientMean == CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC);
static_assert(attribute::kNormGradientInverse == CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC);
static_assert(attribute::kNormGradientGy == CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC);
static_assert(attribute::kNormGradientScale == CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC);
static_assert(attribute::kNormGradientGscale == CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC);
static_assert(attribute::kNormGradientGbias == CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC);
static_assert(attribute::kNormGradientGx == CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC);
static_assert(attribute::kReshapeX == CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
static_assert(attribute::kReshapeY == CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
static_assert(attribute::kDeviceJson == CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
static_assert(kInt32 == CUDNN_DATA_INT32);
static_assert(kBool == CUDNN_DATA_BOOLEAN);
static_assert(kHeuristicA == CUDNN_HEUR_MODE_A);
static_assert(kHeuristicLast == CUDNN_HEUR_MODE_FALLBACK);
static_assert(kTensorCore == CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
static_assert(kNarrowedInputs == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
static_assert(kRandomOrder == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
static_assert(kStrictNan == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP);
static_assert(kMaxNotes == CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
static_assert(kLayerNorm == CUDNN_LAYER_NORM);
static_assert(kInstanceNorm == CUDNN_INSTANCE_NORM);
static_assert(kRmsNorm == CUDNN_RMS_NORM);
static_assert(kInferencePhase == CUDNN_NORM_FWD_INFERENCE);
static_assert(kTrainingPhase == CUDNN_NORM_FWD_TRAINING);
static_assert(kAdd == CUDNN_POINTWISE_ADD);
static_assert(kMultiply == CUDNN_POINTWISE_MUL);
static_assert(kDivide == CUDNN_POINTWISE_DIV);
static_assert(kSubtract == CUDNN_POINTWISE_SUB);
static_assert(kExp == CUDNN_POINTWISE_EXP);
static_assert(kLogarithm == CUDNN_POINTWISE_LOG);
static_assert(kRectify == CUDNN_POINTWISE_RELU_FWD);
static_assert(kNotLess == CUDNN_POINTWISE_CMP_GE);
static_assert(kIndexAlong == CUDNN_POINTWISE_GEN_INDEX);
static_assert(kSelect == CUDNN_POINTWISE_BINARY_SELECT);

}  // namespace
}  // namespace mote::cudnn
