// SPDX-License-Identifier: Apache-2.0
// The graphs that the fake cuDNN's engines know, by their operations, and the single operations
// that the manual forbids.
#include <regex>

#include "fake_cudnn_graph.h"

namespace fake::cudnn {

using namespace attribute;

namespace {

using Operations = std::vector<std::shared_ptr<const BackendDesc>>;

/// Returns a letter for each operation; a point for one that no pattern has.
std::string letters(const Operations& operations) {
  static const std::map<int, char> functions = {
      {kAdd, '+'},       {kMultiply, '*'}, {kDivide, '/'},  {kSubtract, '-'},   {kExp, 'e'},
      {kLogarithm, 'l'}, {kRectify, 'r'},  {kNotLess, '>'}, {kIndexAlong, 'i'}, {kSelect, '?'}};
  static const std::map<int, char> others = {
      {descriptor::kConvolutionForward, 'C'}, {descriptor::kMatmulOperation, 'M'},
      {descriptor::kNormForward, 'N'},        {descriptor::kNormBackward, 'B'},
      {descriptor::kReductionOperation, 'R'}, {descriptor::kReshapeOperation, 'T'}};
  std::string text;
  for (const auto& op : operations) {
    const bool is_function = op->kind == descriptor::kPointwiseOperation;
    const auto& all = is_function ? functions : others;
    const auto at =
        all.find(is_function ? op->link(kPointwiseDesc).value<int>(kPointwiseMode) : op->kind);
    text += at == all.end() ? '.' : at->second;
  }
  return text;
}
bool is_like(const Operations& operations, const char* pattern) {
  return std::regex_match(letters(operations), std::regex(pattern));
}

/// Returns true if the elements have 16 bits and the lengths of rows are multiples of eight.
bool is_whole(const TensorDesc& of) {
  return is_narrow(of.type) && of.dims.back() % 8 == 0 && of.strides.back() == 1;
}

bool is_stored_float(const BackendDesc& t) {
  return !t.value<bool>(kTensorIsVirtual) && t.tensor().type == kFloat;
}

/// Products, their factor, a mask, causal (two indices, a comparison, a choice), then softmax.
bool is_attention(const Operations& operations) {
  if (!is_like(operations, R"(M\*\+?(ii>\?)?R-eRl\+/M)")) return false;
  const BackendDesc& first = *operations.front();
  const BackendDesc& last = *operations.back();
  return is_whole(first.tensor(kMatmulA)) && is_whole(last.tensor(kMatmulB)) &&
         is_whole(last.tensor(kMatmulC)) &&
         last.tensor(kMatmulA).type == last.tensor(kMatmulC).type &&
         is_stored_float(operations[operations.size() - 3]->link(kPointwiseY));
}

/// The sum of gy y; the scores again; gv, whose heads are summed where they are shared; the
/// gradient of the scores; gk; gq.
bool is_attention_gradient(const Operations& operations) {
  if (!is_like(operations, R"(\*R\*M\*\+?-(ii>\?)?eTM(R?)M-\*\*TM\2TM)")) return false;
  const BackendDesc& scores = *operations[3];
  const int type = scores.tensor(kMatmulA).type;
  for (const auto& op : operations)
    if (op->kind == descriptor::kReshapeOperation && op->tensor(kReshapeY).type != type)
      return false;
  const BackendDesc& minus_sums = *operations[letters(operations).find('-')];
  return is_whole(operations[0]->tensor(kPointwiseX)) &&
         is_whole(operations[0]->tensor(kPointwiseB)) && is_whole(scores.tensor(kMatmulA)) &&
         is_whole(operations.back()->tensor(kMatmulC)) &&
         is_stored_float(operations[2]->link(kPointwiseY)) &&
         is_stored_float(minus_sums.link(kPointwiseB));
}

/// A convolution, a bias along its channels, and perhaps a rectifier, of 16 bits or floats.
bool is_fused_convolution(const Operations& operations) {
  if (!is_like(operations, R"(C\+r?)")) return false;
  const BackendDesc& convolution = *operations[0];
  const TensorDesc x = convolution.tensor(kForwardX), y = operations.back()->tensor(kPointwiseY),
                   bias = operations[1]->tensor(kPointwiseB);
  // Each reads the result of the one before it, which is not stored.
  const BackendDesc* result = &convolution.link(kForwardY);
  for (std::size_t k = 1; k < operations.size(); ++k) {
    if (!result->value<bool>(kTensorIsVirtual) ||
        operations[k]->link(kPointwiseX).value<std::int64_t>(kTensorId) !=
            result->value<std::int64_t>(kTensorId))
      return false;
    result = &operations[k]->link(kPointwiseY);
  }
  return (is_narrow(x.type) || x.type == kFloat) && convolution.tensor(kForwardW).type == x.type &&
         y.type == x.type && bias.type == x.type && bias.dims == along_channels(y.dims);
}

}  // namespace

bool is_known(const BackendDesc& graph) {
  const Operations& operations = graph.links.at(kGraphOperations);
  return is_like(operations, "N|B") || is_fused_convolution(operations) ||
         is_attention(operations) || is_attention_gradient(operations);
}

bool is_narrow(const BackendDesc& graph) {
  for (const auto& op : graph.links.at(kGraphOperations))
    for (const auto& [name, links] : op->links)
      if (is_narrow(links[0]->value<int>(kTensorType, kFloat))) return true;
  return false;
}

namespace {

bool is_packed(const TensorDesc& t) {
  const Dims strides = contiguous_strides(t.dims);
  for (std::size_t k = 0; k < t.dims.size(); ++k)
    if (t.dims[k] != 1 && t.strides[k] != strides[k]) return false;
  return true;
}

/// The fake has cross-correlation with sums in floats, to which y is not added.
void check_convolution(const BackendDesc& op) {
  const BackendDesc& c = op.link(kForwardDesc);
  const Dims x = op.tensor(kForwardX).dims, w = op.tensor(kForwardW).dims;
  const auto axes = static_cast<std::size_t>(c.value<std::int64_t>(kConvolutionAxes));
  for (const int name :
       {kConvolutionStrides, kConvolutionDilations, kConvolutionBefore, kConvolutionBehind})
    require(c.values<std::int64_t>(name).size() == axes && x.size() == axes + 2);
  require(dims_of(convolution_op(op), {x, w}, convolution_params(op)) == op.tensor(kForwardY).dims);
  require(c.value<int>(kConvolutionMode, -1) == kCrossCorrelation &&
              c.value<int>(kConvolutionMath, -1) == kFloat && op.value<float>(kForwardAlpha) == 1 &&
              op.value<float>(kForwardBeta, 1) == 0,
          kNotSupported);
}

/// cuDNN 9 wants packed tensors of floats or 16 bits, parameters of the same type or floats, and
/// statistics of floats.
void check_norm(const BackendDesc& op, int mode, const std::vector<int>& like_x,
                const std::vector<int>& parameters, const std::vector<int>& statistics) {
  const TensorDesc x = op.tensor(like_x[0]);
  require(mode == kLayerNorm || mode == kInstanceNorm || mode == kRmsNorm, kNotSupported);
  require(x.type != kDouble);
  for (const int name : like_x)
    require(are_alike(op.tensor(name), x) && is_packed(op.tensor(name)));
  for (const int name : parameters) {
    if (!op.has(name)) continue;
    const TensorDesc v = op.tensor(name);
    require(v.dims == along_channels(x.dims) && is_packed(v) &&
            (v.type == x.type || v.type == kFloat));
  }
  for (const int name : statistics)
    if (op.has(name))
      require(op.tensor(name).dims == rows_of(mode, x.dims) && op.tensor(name).type == kFloat);
}

}  // namespace

std::string convolution_op(const BackendDesc& op) {
  return "conv" + std::to_string(op.link(kForwardDesc).value<std::int64_t>(kConvolutionAxes)) + "d";
}
Params convolution_params(const BackendDesc& op) {
  const auto of = [&](int name) { return op.link(kForwardDesc).values<std::int64_t>(name); };
  Params params = along({{"stride", of(kConvolutionStrides)},
                         {"dilation", of(kConvolutionDilations)},
                         {"pads", joined(of(kConvolutionBefore), of(kConvolutionBehind))}});
  params["groups"] = op.tensor(kForwardX).dims.at(1) / op.tensor(kForwardW).dims.at(1);
  return params;
}

Dims rows_of(int mode, const Dims& x) {
  Dims rows(x.size(), 1);
  std::copy_n(x.begin(), mode == kInstanceNorm ? 2 : 1, rows.begin());
  return rows;
}

void check_operation(const BackendDesc& op) {
  if (op.kind == descriptor::kConvolutionForward) check_convolution(op);
  if (op.kind == descriptor::kNormForward) {
    const int mode = op.value<int>(kNormMode);
    const bool is_training = op.value<int>(kNormPhase) == kTrainingPhase;
    check_norm(op, mode, {kNormX, kNormY}, {kNormScale, kNormBias}, {kNormMean, kNormInverse});
    // An instance norm needs both parameters.
    require(mode != kInstanceNorm || (op.has(kNormScale) && op.has(kNormBias)), kNotSupported);
    require(op.has(kNormMean) == (is_training && mode != kRmsNorm) &&
            op.has(kNormInverse) == is_training);
  }
  if (op.kind == descriptor::kNormBackward) {
    const int mode = op.value<int>(kNormGradientMode);
    check_norm(op, mode, {kNormGradientX, kNormGradientGy, kNormGradientGx},
               {kNormGradientScale, kNormGradientGscale, kNormGradientGbias},
               {kNormGradientMean, kNormGradientInverse});
    require(op.has(kNormGradientMean) == (mode != kRmsNorm) &&
            op.has(kNormGradientGbias) == (mode != kRmsNorm));
  }
}

}  // namespace fake::cudnn
