// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's descriptors of its graph API, its heuristics and plans. The heuristic offers
// engines that contracts forbid before the one that computes; what the manual forbids is
// CUDNN_STATUS_BAD_PARAM.
#include "fake_cudnn_graph.h"

using namespace fake;
using namespace fake::cudnn;
using namespace attribute;

namespace {

constexpr std::int64_t kWorkspace = 512;

/// The attributes that a kind of descriptor must have before it is finalized.
const std::map<int, std::vector<int>>& required() {
  static const std::map<int, std::vector<int>> all = {
      {descriptor::kPointwise, {kPointwiseMode, kPointwiseMath}},
      {descriptor::kConvolution,
       {kConvolutionMath, kConvolutionMode, kConvolutionDilations, kConvolutionStrides,
        kConvolutionBehind, kConvolutionBefore, kConvolutionAxes}},
      {descriptor::kHeuristic, {kHeuristicMode, kHeuristicGraph}},
      {descriptor::kPlan, {kPlanHandle, kPlanConfig}},
      {descriptor::kConvolutionForward,
       {kForwardAlpha, kForwardBeta, kForwardDesc, kForwardW, kForwardX, kForwardY}},
      {descriptor::kPointwiseOperation, {kPointwiseDesc, kPointwiseX, kPointwiseY}},
      {descriptor::kGraph, {kGraphHandle, kGraphOperations}},
      {descriptor::kVariantPack, {kPackIds, kPackPointers}},
      {descriptor::kTensor,
       {kTensorAlignment, kTensorType, kTensorDims, kTensorStrides, kTensorId}},
      {descriptor::kMatmul, {kMatmulMath}},
      {descriptor::kMatmulOperation, {kMatmulA, kMatmulB, kMatmulC, kMatmulDesc}},
      {descriptor::kReduction, {kReductionOperator, kReductionMath}},
      {descriptor::kReductionOperation, {kReductionX, kReductionY, kReductionDesc}},
      {descriptor::kNormForward, {kNormMode, kNormPhase, kNormX, kNormEpsilon, kNormY}},
      {descriptor::kNormBackward,
       {kNormGradientMode, kNormGradientX, kNormGradientInverse, kNormGradientGy,
        kNormGradientScale, kNormGradientGscale, kNormGradientGx}},
      {descriptor::kReshapeOperation, {kReshapeX, kReshapeY}}};
  return all;
}

bool is_tensor_legal(const BackendDesc& t) {
  const auto dims = t.values<std::int64_t>(kTensorDims),
             strides = t.values<std::int64_t>(kTensorStrides);
  const auto positive = [](std::int64_t v) { return v >= 1; };
  return !dims.empty() && dims.size() == strides.size() && std::ranges::all_of(dims, positive) &&
         std::ranges::all_of(strides, positive) && t.value<std::int64_t>(kTensorAlignment) % 4 == 0;
}

/// Plans and their configurations may outlive calls, and do not count as left behind.
bool is_kept(int kind) { return kind == descriptor::kPlan || kind == descriptor::kEngineConfig; }

/// Each id of a graph is one tensor's.
bool are_ids_unique(const BackendDesc& graph) {
  std::map<std::int64_t, Dims> all;
  for (const auto& operation : graph.links.at(kGraphOperations))
    for (const auto& [name, links] : operation->links) {
      if (links[0]->kind != descriptor::kTensor) continue;
      const Dims dims = links[0]->tensor().dims;
      if (all.emplace(links[0]->value<std::int64_t>(kTensorId), dims).first->second != dims)
        return false;
    }
  return true;
}

/// The fake's engines: some that contracts forbid, by their notes or since they make no plan, and
/// one without notes.
enum Engine : std::int64_t { kRandom, kNarrowing, kTensorCores, kPlanless, kPlain };
const std::vector<std::vector<int>> kNotes = {
    {kTensorCore, kRandomOrder}, {kNarrowedInputs}, {kTensorCore, kStrictNan}, {}, {}};

const BackendDesc& engine_of(const BackendDesc& plan) {
  return plan.link(kPlanConfig).link(kConfigEngine);
}
std::int64_t index_of(const BackendDesc& engine) {
  return engine.value<std::int64_t>(kEngineIndex, kPlain);
}
/// A configuration of the engine for the graph.
BackendDesc config_of(std::int64_t index, const BackendDesc& graph) {
  BackendDesc engine{descriptor::kEngine, true, {}, {}}, config = engine;
  const char* const from = reinterpret_cast<const char*>(&index);
  engine.attributes[kEngineIndex] = {from, from + sizeof(index)};
  engine.links[kEngineGraph] = {std::make_shared<BackendDesc>(graph)};
  config.kind = descriptor::kEngineConfig;
  config.links[kConfigEngine] = {std::make_shared<BackendDesc>(engine)};
  return config;
}
std::vector<BackendDesc> configs_of(const BackendDesc& heuristic) {
  const BackendDesc& graph = heuristic.link(kHeuristicGraph);
  std::vector<BackendDesc> all;
  if (!is_known(graph)) return all;
  if (heuristic.value<int>(kHeuristicMode) != kHeuristicA) return {config_of(kPlain, graph)};
  for (std::int64_t index = kRandom; index < kPlain; ++index)
    all.push_back(config_of(index, graph));
  return all;
}

/// Results go into descriptors that the caller made of their kind.
void hand_out(const std::vector<BackendDesc>& all, std::int64_t requested, std::int64_t* count,
              Out out) {
  *count = std::min(requested, static_cast<std::int64_t>(all.size()));
  auto** to = static_cast<BackendDesc**>(out);
  for (std::int64_t k = 0; k < *count; ++k, ++to) {
    const BackendDesc& from = all[static_cast<std::size_t>(k)];
    require((*to)->kind == from.kind && !(*to)->is_final);
    **to = from;
  }
}

void require_final(const BackendDesc& d) {
  const auto wanted = required().find(d.kind);
  if (wanted != required().end())
    for (const int name : wanted->second) require(d.has(name));
  if (d.kind == descriptor::kTensor) require(is_tensor_legal(d));
  if (d.kind == descriptor::kGraph) require(are_ids_unique(d));
  if (d.kind == descriptor::kPlan) require(index_of(engine_of(d)) != kPlanless, kNotSupported);
  check_operation(d);
}

int executed = 0;

void execute(const BackendDesc& plan, const BackendDesc& pack) {
  const BackendDesc& graph = engine_of(plan).link(kEngineGraph);
  const std::int64_t index = index_of(engine_of(plan));
  // The fake does not compute with an engine that contracts forbid.
  require(index == kPlain || (index == kTensorCores && is_narrow(graph)), kExecutionFailed);
  require(is_workspace(pack.value<void*>(kPackWorkspace), kWorkspace));
  const auto ids = pack.values<std::int64_t>(kPackIds);
  const auto pointers = pack.values<void*>(kPackPointers);
  std::map<std::int64_t, void*> data;
  for (std::size_t k = 0; k < ids.size(); ++k) data[ids[k]] = pointers.at(k);
  run_graph(graph, data);
  ++executed;
}

}  // namespace

FAKE_EXPORT int fake_cudnn_graphs() { return executed; }

FAKE_EXPORT int cudnnBackendCreateDescriptor(int kind, BackendDesc** made) {
  if (const int status = create(made)) return status;
  (*made)->kind = kind;
  if (is_kept(kind)) count_descriptor(-1);
  return 0;
}
FAKE_EXPORT int cudnnBackendDestroyDescriptor(BackendDesc* made) {
  if (is_kept(made->kind)) count_descriptor(1);
  return destroy(made);
}

FAKE_EXPORT int cudnnBackendSetAttribute(BackendDesc* d, int name, int type, std::int64_t count,
                                         In values) {
  if (const int status = counted()) return of_driver(status);
  return caught([&] {
    require(!d->is_final && count >= 1);
    const bool is_word = type == of::kHandle || type == of::kInt64 || type == of::kPointer;
    const bool is_byte = type == of::kBoolean || type == of::kChar;
    const std::size_t size = is_word ? sizeof(std::int64_t) : is_byte ? 1 : sizeof(int);
    const char* const from = static_cast<const char*>(values);
    if (type != of::kDescriptor) {
      d->attributes[name] = {from, from + size * static_cast<std::size_t>(count)};
      return;
    }
    d->links[name].clear();
    for (std::int64_t k = 0; k < count; ++k) {
      const BackendDesc& to = *static_cast<BackendDesc* const*>(values)[k];
      require(to.is_final);
      d->links[name].push_back(std::make_shared<BackendDesc>(to));
    }
  });
}

FAKE_EXPORT int cudnnBackendFinalize(BackendDesc* d) {
  if (const int status = counted()) return of_driver(status);
  return caught([&] {
    require(!d->is_final);
    require_final(*d);
    d->is_final = true;
  });
}

FAKE_EXPORT int cudnnBackendGetAttribute(BackendDesc* d, int name, int, std::int64_t requested,
                                         std::int64_t* count, Out out) {
  if (const int status = counted()) return of_driver(status);
  return caught([&] {
    require(d->is_final);
    if (d->kind == descriptor::kHeuristic && name == kHeuristicResults)
      return hand_out(configs_of(*d), requested, count, out);
    if (d->kind == descriptor::kEngineConfig && name == kConfigEngine)
      return hand_out({d->link(kConfigEngine)}, requested, count, out);
    if (d->kind == descriptor::kEngine && name == kEngineNotes) {
      const std::vector<int>& notes = kNotes.at(static_cast<std::size_t>(index_of(*d)));
      *count = std::min(requested, static_cast<std::int64_t>(notes.size()));
      std::copy_n(notes.begin(), *count, static_cast<int*>(out));
      return;
    }
    require(d->kind == descriptor::kPlan && name == kPlanWorkspace);
    *count = 1;
    *static_cast<std::int64_t*>(out) = kWorkspace;
  });
}

FAKE_EXPORT int cudnnBackendExecute(Handle* h, BackendDesc* plan, BackendDesc* pack) {
  return computing(h, [&] {
    require(plan->is_final && pack->is_final && plan->kind == descriptor::kPlan &&
            pack->kind == descriptor::kVariantPack);
    execute(*plan, *pack);
  });
}
