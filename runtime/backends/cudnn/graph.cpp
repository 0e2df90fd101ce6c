// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>

namespace mote::cudnn {
namespace {

Tensor row_major(const std::vector<std::int64_t>& dims) {
  return {.name = "", .dtype = DType::f32, .dims = dims, .strides = packed_strides(dims)};
}

}  // namespace

Graph::Node Graph::made(const Tensor& t, int element, int flag) {
  const std::int64_t id = next_id_++;
  Descriptor desc(descriptor::kTensor);
  desc.choose(attribute::kTensorType, of::kDataType, element)
      .integers(attribute::kTensorDims, t.dims)
      .integers(attribute::kTensorStrides, t.strides)
      .integer(attribute::kTensorId, id)
      .integer(attribute::kTensorAlignment, kAlignment);
  if (flag != 0) desc.is(flag);
  parts_.push_back(desc.finalize());
  text_ += fmt::format("{} {}[{}; {}]\n", flag, element, fmt::join(t.dims, ","),
                       fmt::join(t.strides, ","));
  return {desc, t.dims, id};
}

Graph::Node Graph::tensor(const Tensor& t) {
  ids_.push_back(next_id_);
  locations_.push_back({Location::In::call, t.slot});
  return made(t, type_of(t.dtype), 0);
}

Graph::Node Graph::between(const Dims& dims, int type) {
  return made(row_major(dims), type, attribute::kTensorIsVirtual);
}

Graph::Node Graph::stored(const Dims& dims) {
  ids_.push_back(next_id_);
  locations_.push_back({Location::In::workspace, stored_bytes_});
  const auto count =
      std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  stored_bytes_ += aligned(static_cast<std::size_t>(count) * sizeof(float));
  return made(row_major(dims), kFloat, 0);
}

Graph::Node Graph::number(double value, std::size_t rank) {
  ids_.push_back(next_id_);
  locations_.push_back({Location::In::host, 0, static_cast<float>(value)});
  return made(row_major(Dims(rank, 1)), kFloat, attribute::kTensorIsByValue);
}

Descriptor& Graph::operation(int kind, const std::vector<std::int64_t>& what) {
  text_ += fmt::format("{}({})\n", kind, fmt::join(what, ","));
  return operations_.emplace_back(kind);
}

void Graph::norm(const Norm& n) {
  const Node epsilon = number(n.epsilon, n.x.dims.size());
  const auto id_of = [](const std::optional<Node>& node) { return node ? node->id : 0; };
  Descriptor& op =
      operation(descriptor::kNormForward, {n.mode, n.x.id, n.y.id, id_of(n.scale), id_of(n.bias),
                                           epsilon.id, n.statistics ? n.statistics->first.id : 0});
  op.choose(attribute::kNormMode, of::kNormMode, n.mode)
      .choose(attribute::kNormPhase, of::kNormPhase,
              n.statistics ? kTrainingPhase : kInferencePhase)
      .link(attribute::kNormX, n.x.desc)
      .link(attribute::kNormEpsilon, epsilon.desc)
      .link(attribute::kNormY, n.y.desc);
  if (n.scale) op.link(attribute::kNormScale, n.scale->desc);
  if (n.bias) op.link(attribute::kNormBias, n.bias->desc);
  if (n.statistics && n.mode != kRmsNorm) op.link(attribute::kNormMean, n.statistics->first.desc);
  if (n.statistics) op.link(attribute::kNormInverse, n.statistics->second.desc);
  op.finalize();
}

void Graph::norm_gradient(const NormGradient& n) {
  const auto id_of = [](const std::optional<Node>& node) { return node ? node->id : 0; };
  Descriptor& op =
      operation(descriptor::kNormBackward, {n.mode, n.x.id, n.gy.id, n.scale.id, id_of(n.mean),
                                            n.inverse.id, n.gx.id, n.gscale.id, id_of(n.gbias)});
  op.choose(attribute::kNormGradientMode, of::kNormMode, n.mode)
      .link(attribute::kNormGradientX, n.x.desc)
      .link(attribute::kNormGradientInverse, n.inverse.desc)
      .link(attribute::kNormGradientGy, n.gy.desc)
      .link(attribute::kNormGradientScale, n.scale.desc)
      .link(attribute::kNormGradientGscale, n.gscale.desc)
      .link(attribute::kNormGradientGx, n.gx.desc);
  if (n.mean) op.link(attribute::kNormGradientMean, n.mean->desc);
  if (n.gbias) op.link(attribute::kNormGradientGbias, n.gbias->desc);
  op.finalize();
}

void Graph::convolve(const Convolution& c) {
  const float one = 1, zero = 0;
  parts_.emplace_back(descriptor::kConvolution);
  parts_.back()
      .choose(attribute::kConvolutionMath, of::kDataType, kFloat)
      .choose(attribute::kConvolutionMode, of::kConvolutionMode, kCrossCorrelation)
      .integer(attribute::kConvolutionAxes, static_cast<std::int64_t>(c.strides.size()))
      .integers(attribute::kConvolutionBefore, c.pads)
      .integers(attribute::kConvolutionBehind, c.pads)
      .integers(attribute::kConvolutionStrides, c.strides)
      .integers(attribute::kConvolutionDilations, c.dilations)
      .finalize();
  std::vector<std::int64_t> what = {c.x.id, c.w.id, c.y.id};
  for (const Dims* each : {&c.pads, &c.strides, &c.dilations})
    what.insert(what.end(), each->begin(), each->end());
  operation(descriptor::kConvolutionForward, what)
      .set(attribute::kForwardAlpha, of::kReal32, 1, &one)
      .set(attribute::kForwardBeta, of::kReal32, 1, &zero)
      .link(attribute::kForwardDesc, parts_.back())
      .link(attribute::kForwardX, c.x.desc)
      .link(attribute::kForwardW, c.w.desc)
      .link(attribute::kForwardY, c.y.desc)
      .finalize();
}

void Graph::matmul(const Node& a, const Node& b, const Node& c) {
  parts_.emplace_back(descriptor::kMatmul);
  parts_.back().choose(attribute::kMatmulMath, of::kDataType, kFloat).finalize();
  operation(descriptor::kMatmulOperation, {a.id, b.id, c.id})
      .link(attribute::kMatmulA, a.desc)
      .link(attribute::kMatmulB, b.desc)
      .link(attribute::kMatmulC, c.desc)
      .link(attribute::kMatmulDesc, parts_.back())
      .finalize();
}

void Graph::reduce(int by, const Node& x, const Node& y) {
  parts_.emplace_back(descriptor::kReduction);
  parts_.back()
      .choose(attribute::kReductionOperator, of::kReductionOperator, by)
      .choose(attribute::kReductionMath, of::kDataType, kFloat)
      .finalize();
  operation(descriptor::kReductionOperation, {by, x.id, y.id})
      .link(attribute::kReductionX, x.desc)
      .link(attribute::kReductionY, y.desc)
      .link(attribute::kReductionDesc, parts_.back())
      .finalize();
}

void Graph::map_into(const Node& y, int function, const Node& x, const Node* b,
                     const Node* condition) {
  parts_.emplace_back(descriptor::kPointwise);
  parts_.back()
      .choose(attribute::kPointwiseMode, of::kPointwiseMode, function)
      .choose(attribute::kPointwiseMath, of::kDataType, kFloat)
      .finalize();
  Descriptor& op = operation(
      descriptor::kPointwiseOperation,
      {function, x.id, b == nullptr ? 0 : b->id, condition == nullptr ? 0 : condition->id, y.id});
  op.link(attribute::kPointwiseDesc, parts_.back())
      .link(attribute::kPointwiseX, x.desc)
      .link(attribute::kPointwiseY, y.desc);
  if (b != nullptr) op.link(attribute::kPointwiseB, b->desc);
  if (condition != nullptr) op.link(attribute::kPointwiseT, condition->desc);
  op.finalize();
}

void Graph::map_into(const Node& y, int function, const Node& x) {
  map_into(y, function, x, nullptr, nullptr);
}

void Graph::map_into(const Node& y, int function, const Node& x, const Node& b) {
  map_into(y, function, x, &b, nullptr);
}

Graph::Node Graph::map(int function, const Node& x) {
  Node y = between(x.dims);
  map_into(y, function, x);
  return y;
}

Graph::Node Graph::map(int function, const Node& x, const Node& b) {
  Node y = between(x.dims, function == kNotLess ? kBool : kFloat);
  map_into(y, function, x, b);
  return y;
}

Graph::Node Graph::select(const Node& condition, const Node& x, const Node& otherwise) {
  Node y = between(x.dims);
  map_into(y, kSelect, x, &otherwise, &condition);
  return y;
}

Graph::Node Graph::reshaped(const Node& x, const Tensor& as) {
  Node y = made(as, type_of(as.dtype), attribute::kTensorIsVirtual);
  operation(descriptor::kReshapeOperation, {x.id, y.id})
      .link(attribute::kReshapeX, x.desc)
      .link(attribute::kReshapeY, y.desc)
      .finalize();
  return y;
}

Graph::Node Graph::index_along(const Node& like, std::int64_t axis) {
  Node y = between(like.dims, kInt32);
  parts_.emplace_back(descriptor::kPointwise);
  parts_.back()
      .choose(attribute::kPointwiseMode, of::kPointwiseMode, kIndexAlong)
      .choose(attribute::kPointwiseMath, of::kDataType, kFloat)
      .integer(attribute::kPointwiseAxis, axis)
      .finalize();
  operation(descriptor::kPointwiseOperation, {kIndexAlong, axis, like.id, y.id})
      .link(attribute::kPointwiseDesc, parts_.back())
      .link(attribute::kPointwiseX, like.desc)
      .link(attribute::kPointwiseY, y.desc)
      .finalize();
  return y;
}

}  // namespace mote::cudnn
