#include "graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>

namespace mote::cudnn {
namespace {

constexpr std::int64_t kAlignment = 16;
constexpr int kMostConfigurations = 16;

Tensor row_major(const std::vector<std::int64_t>& dims) {
  return {.name = "", .dtype = DType::f32, .dims = dims, .strides = packed_strides(dims)};
}

/// Whether an engine with that note keeps the kind's contract.
bool is_allowed(int note, Kind kind) {
  return note == kStrictNan || (note == kTensorCore && nvidia::is_narrow(kind));
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
  places_.push_back({Place::In::call, t.slot});
  return made(t, type_of(t.dtype), 0);
}

Graph::Node Graph::between(const Dims& dims, int type) {
  return made(row_major(dims), type, attribute::kTensorIsVirtual);
}

Graph::Node Graph::stored(const Dims& dims) {
  ids_.push_back(next_id_);
  places_.push_back({Place::In::workspace, stored_bytes_});
  const auto count =
      std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  stored_bytes_ += aligned(static_cast<std::size_t>(count) * sizeof(float));
  return made(row_major(dims), kFloat, 0);
}

Graph::Node Graph::number(double value, std::size_t rank) {
  ids_.push_back(next_id_);
  places_.push_back({Place::In::host, 0, static_cast<float>(value)});
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

Descriptor Graph::operation_graph(const Target& target) const {
  Descriptor graph(descriptor::kGraph);
  if (target.handle != nullptr) graph.set(attribute::kGraphHandle, of::kHandle, 1, &target.handle);
  return graph.link(attribute::kGraphOperations, operations_).finalize();
}

namespace {

/// Finalizes it; false where cuDNN has nothing in this mode.
bool is_supported(Descriptor& heuristic) {
  try {
    heuristic.finalize();
    return true;
  } catch (const cuda::LibraryError& e) {
    if (e.kind() != cuda::Failure::unsupported) throw;
    return false;
  }
}

}  // namespace

std::vector<Descriptor> Graph::configurations(const Target& target, Kind kind) const {
  const Descriptor graph = operation_graph(target);
  std::vector<Descriptor> all;
  for (const int mode : {kHeuristicA, kHeuristicLast}) {
    Descriptor heuristic(descriptor::kHeuristic);
    heuristic.link(attribute::kHeuristicGraph, graph)
        .choose(attribute::kHeuristicMode, of::kHeuristicMode, mode);
    if (target.device) heuristic.link(attribute::kHeuristicDevice, *target.device);
    if (!is_supported(heuristic)) continue;
    for (const Descriptor& config : heuristic.made_by_library(
             attribute::kHeuristicResults, descriptor::kEngineConfig, kMostConfigurations)) {
      const auto engine = config.made_by_library(attribute::kConfigEngine, descriptor::kEngine, 1);
      if (engine.empty()) continue;
      if (std::ranges::all_of(
              engine[0].chosen(attribute::kEngineNotes, of::kNumericalNote, kMostNotes),
              [&](int note) { return is_allowed(note, kind); }))
        all.push_back(config);
    }
  }
  return all;
}

namespace {

/// A plan, and what it was made of.
struct Plan {
  Descriptor plan, config;
};

/// Plans of graphs by their text. A plan is used with the handle that it was made with, and so by
/// one call at a time.
class Plans {
 public:
  std::optional<Plan> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto at = plans_.find(key);
    return at == plans_.end() ? std::nullopt : std::optional(at->second);
  }
  void keep(const std::string& key, const Plan& plan) {
    constexpr std::size_t kMost = 512;
    const std::lock_guard lock(mutex_);
    if (plans_.size() >= kMost) plans_.clear();
    plans_.emplace(key, plan);
  }
  static Plans& all() {
    static Plans& only = *new Plans();  // never destroyed: the library may be gone before
    return only;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Plan> plans_;
};

/// A plan for the configuration; none where cuDNN cannot make one or it wants too much workspace.
std::optional<Plan> plan_of(const Descriptor& config, Handle* handle) {
  try {
    Descriptor plan(descriptor::kPlan);
    plan.set(attribute::kPlanHandle, of::kHandle, 1, &handle)
        .link(attribute::kPlanConfig, config)
        .finalize();
    const auto bytes = static_cast<std::size_t>(plan.integer(attribute::kPlanWorkspace));
    return bytes <= kMostWorkspace ? std::optional(Plan{plan, config}) : std::nullopt;
  } catch (const cuda::LibraryError& e) {
    if (e.kind() != cuda::Failure::unsupported) throw;
    return std::nullopt;
  }
}

}  // namespace

bool Graph::may_lie_at(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % kAlignment == 0;
}

Step Graph::step(Handle* handle, Kind kind) const {
  const std::string key =
      fmt::format("{} {}\n{}", static_cast<const void*>(handle), static_cast<int>(kind), text_);
  std::optional<Plan> found = Plans::all().find(key);
  if (!found) {
    for (const Descriptor& config : configurations({.handle = handle}, kind))
      if ((found = plan_of(config, handle))) break;
    if (!found) decline("cuDNN has no engine for this graph that keeps the contract");
    Plans::all().keep(key, *found);
  }
  const auto own =
      aligned(static_cast<std::size_t>(found->plan.integer(attribute::kPlanWorkspace)));
  const auto run = [made = *found, ids = ids_, places = places_, own](Handle* by,
                                                                      const OnDevice& at) {
    std::vector<float> values;
    values.reserve(places.size());
    std::vector<void*> pointers;
    for (const Place& p : places) {
      if (p.in == Place::In::host) {
        pointers.push_back(&values.emplace_back(p.value));
        continue;
      }
      pointers.push_back(p.in == Place::In::call ? at.data.at(p.at)
                                                 : static_cast<char*>(at.workspace) + own + p.at);
      if (!may_lie_at(pointers.back())) decline("the address of a tensor is no multiple of 16");
    }
    Descriptor pack(descriptor::kVariantPack);
    pack.integers(attribute::kPackIds, ids)
        .set(attribute::kPackPointers, of::kPointer, static_cast<std::int64_t>(pointers.size()),
             pointers.data())
        .set(attribute::kPackWorkspace, of::kPointer, 1, &at.workspace)
        .finalize();
    calls().execute(by, made.plan.get(), pack.get());
  };
  return {own + stored_bytes_, run};
}

}  // namespace mote::cudnn
