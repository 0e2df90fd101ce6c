// SPDX-License-Identifier: Apache-2.0
// The graphs that the fake cuDNN's engines know, by their operations; and what the manual forbids
// of single ones.
#include "fake_cudnn_graph.h"

namespace fake::cudnn {

using namespace attribute;

namespace {

using Operations = std::vector<std::shared_ptr<const BackendDesc>>;

/// Functions of elements by their number, other operations by that of their kind, below 0.
std::vector<int> kinds_of(const Operations& operations) {
  std::vector<int> kinds;
  for (const auto& op : operations)
    kinds.push_back(op->kind == descriptor::kPointwiseOperation
                        ? op->link(kPointwiseDesc).value<int>(kPointwiseMode)
                        : -op->kind);
  return kinds;
}

/// Of 16 bits, with rows of eights.
bool is_whole(const TensorDesc& of) {
  return is_narrow(of.type) && of.dims.back() % 8 == 0 && of.strides.back() == 1;
}

bool is_stored_float(const BackendDesc& t) {
  return !t.value<bool>(kTensorIsVirtual) && t.tensor().type == kFloat;
}

constexpr int kProduct = -descriptor::kMatmulOperation, kReduced = -descriptor::kReductionOperation,
              kReshaped = -descriptor::kReshapeOperation,
              kConvolved = -descriptor::kConvolutionForward;
const std::vector<int> kCausal = {kIndexAlong, kIndexAlong, kNotLess, kSelect};

void append(std::vector<int>& to, const std::vector<int>& more, bool where = true) {
  if (where) to.insert(to.end(), more.begin(), more.end());
}

/// Products, their factor, a mask, causal (two indices, a comparison, a choice), then softmax.
bool is_attention(const Operations& operations) {
  const std::vector<int> kinds = kinds_of(operations);
  std::vector<int> expected = {kProduct, kMultiply};
  append(expected, {kAdd}, kinds.size() > 2 && kinds[2] == kAdd);
  append(expected, kCausal, std::ranges::count(kinds, kIndexAlong) > 0);
  append(expected, {kReduced, kSubtract, kExp, kReduced, kLogarithm, kAdd, kDivide, kProduct});
  if (kinds != expected) return false;
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
  const std::vector<int> kinds = kinds_of(operations);
  if (kinds.size() < 17) return false;
  std::vector<int> expected = {kMultiply, kReduced, kMultiply, kProduct, kMultiply};
  append(expected, {kAdd}, kinds[5] == kAdd);
  append(expected, {kSubtract});
  append(expected, kCausal, std::ranges::count(kinds, kIndexAlong) > 0);
  const bool are_shared = std::ranges::count(kinds, kReduced) == 3;
  append(expected, {kExp, kReshaped, kProduct});
  append(expected, {kReduced}, are_shared);
  append(expected, {kProduct, kSubtract, kMultiply, kMultiply, kReshaped, kProduct});
  append(expected, {kReduced}, are_shared);
  append(expected, {kReshaped, kProduct});
  if (kinds != expected) return false;
  const BackendDesc& scores = *operations[3];
  const int type = scores.tensor(kMatmulA).type;
  for (const auto& op : operations)
    if (op->kind == descriptor::kReshapeOperation && op->tensor(kReshapeY).type != type)
      return false;
  const BackendDesc& minus_sums = *operations[kinds[5] == kAdd ? 6 : 5];
  return is_whole(operations[0]->tensor(kPointwiseX)) &&
         is_whole(operations[0]->tensor(kPointwiseB)) && is_whole(scores.tensor(kMatmulA)) &&
         is_whole(operations.back()->tensor(kMatmulC)) &&
         is_stored_float(operations[2]->link(kPointwiseY)) &&
         is_stored_float(minus_sums.link(kPointwiseB));
}

/// A convolution, a bias along its channels, and then perhaps what is positive of it: of 16 bits,
/// or floats.
bool is_fused_convolution(const Operations& operations) {
  const std::vector<int> kinds = kinds_of(operations);
  if (kinds != std::vector{kConvolved, kAdd} && kinds != std::vector{kConvolved, kAdd, kRectify})
    return false;
  const BackendDesc& convolution = *operations[0];
  const TensorDesc x = convolution.tensor(kForwardX), y = operations.back()->tensor(kPointwiseY),
                   bias = operations[1]->tensor(kPointwiseB);
  // Each reads what the one before it wrote, which is stored nowhere.
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
  if (operations.size() == 1)
    return operations[0]->kind == descriptor::kNormForward ||
           operations[0]->kind == descriptor::kNormBackward;
  return is_fused_convolution(operations) || is_attention(operations) ||
         is_attention_gradient(operations);
}

bool is_narrow(const BackendDesc& graph) {
  for (const auto& op : graph.links.at(kGraphOperations))
    for (const auto& [name, links] : op->links)
      if (is_narrow(links[0]->value<int>(kTensorType, kFloat))) return true;
  return false;
}

namespace {

bool is_packed(const TensorDesc& t) {
  const Dims strides = packed_strides(t.dims);
  for (std::size_t k = 0; k < t.dims.size(); ++k)
    if (t.dims[k] != 1 && t.strides[k] != strides[k]) return false;
  return true;
}

void check_convolution(const BackendDesc& op) {
  const TensorDesc w = op.tensor(kForwardW), x = op.tensor(kForwardX), y = op.tensor(kForwardY);
  const BackendDesc& c = op.link(kForwardDesc);
  const auto axes = static_cast<std::size_t>(c.value<std::int64_t>(kConvolutionAxes));
  const Dims dilations = c.values<std::int64_t>(kConvolutionDilations),
             strides = c.values<std::int64_t>(kConvolutionStrides),
             behind = c.values<std::int64_t>(kConvolutionBehind),
             before = c.values<std::int64_t>(kConvolutionBefore);
  for (const Dims* all : {&dilations, &strides, &behind, &before}) require(all->size() == axes);
  for (const TensorDesc* t : {&w, &x, &y}) require(t->dims.size() == axes + 2);
  require(x.dims[0] == y.dims[0] && w.dims[0] == y.dims[1] && x.dims[1] % w.dims[1] == 0);
  require(w.dims[0] % (x.dims[1] / w.dims[1]) == 0);
  for (std::size_t k = 0; k < axes; ++k) {
    const std::int64_t taps = (w.dims[k + 2] - 1) * dilations[k] + 1;
    require(y.dims[k + 2] == (x.dims[k + 2] + before[k] + behind[k] - taps) / strides[k] + 1);
  }
  // Cross-correlation, sums in floats; y is no addend.
  require(c.value<int>(kConvolutionMode, -1) == kCrossCorrelation &&
              c.value<int>(kConvolutionMath, -1) == kFloat && op.value<float>(kForwardAlpha) == 1 &&
              op.value<float>(kForwardBeta, 1) == 0,
          kNotSupported);
}

/// cuDNN 9: over packed tensors of floats or 16 bits, with parameters of the same type or floats,
/// and statistics of floats.
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
    // An instance norm wants both parameters.
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
