// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's descriptors of its graph API, its heuristics and plans. The heuristic offers
// engines that contracts forbid before the one that computes; what the manual forbids is
// CUDNN_STATUS_BAD_PARAM.
#include <array>
#include <set>

#include "fake_cudnn_graph.h"

using namespace fake::cudnn;
using namespace attribute;

namespace {

constexpr std::int64_t kWorkspace = 512;

/// What a kind of descriptor must have before it is finalized.
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
  std::map<std::int64_t, std::vector<std::int64_t>> dims;
  for (const auto& operation : graph.links.at(kGraphOperations))
    for (const auto& [name, links] : operation->links) {
      if (links[0]->kind != descriptor::kTensor) continue;
      const auto [at, is_new] =
          dims.emplace(links[0]->value<std::int64_t>(kTensorId), links[0]->tensor().dims);
      if (!is_new && at->second != links[0]->tensor().dims) return false;
    }
  return true;
}

// The fake's engines, by their notes: not deterministic; operands of fewer bits; tensor cores;
// one that makes no plan; one without notes.
enum Engine : std::int64_t { kRandom, kNarrowing, kTensorCores, kPlanless, kPlain };
std::vector<int> notes_of(std::int64_t engine) {
  return engine == kRandom        ? std::vector{kTensorCore, kRandomOrder}
         : engine == kNarrowing   ? std::vector{kNarrowedInputs}
         : engine == kTensorCores ? std::vector{kTensorCore, kStrictNan}
                                  : std::vector<int>{};
}

std::shared_ptr<const BackendDesc> engine_with(std::int64_t index, const BackendDesc& graph) {
  auto engine = std::make_shared<BackendDesc>(BackendDesc{descriptor::kEngine, true, {}, {}});
  engine->attributes[kEngineIndex] = {of::kInt64, 1, std::vector<char>(sizeof(index))};
  std::memcpy(engine->attributes[kEngineIndex].bytes.data(), &index, sizeof(index));
  engine->links[kEngineGraph] = {std::make_shared<BackendDesc>(graph)};
  return engine;
}

const BackendDesc& engine_of(const BackendDesc& plan) {
  return plan.link(kPlanConfig).link(kConfigEngine);
}

/// Into descriptors that the caller made of that kind.
int hand_out(const std::vector<std::shared_ptr<const BackendDesc>>& all, int kind,
             std::int64_t requested, std::int64_t* count, void* out) {
  *count = std::min(requested, static_cast<std::int64_t>(all.size()));
  auto** const to = static_cast<BackendDesc**>(out);
  for (std::int64_t k = 0; k < *count; ++k) {
    if (to[k]->kind != kind || to[k]->is_final) return kBadParam;
    *to[k] = *all[static_cast<std::size_t>(k)];
  }
  return 0;
}

int heuristic_results(const BackendDesc& heuristic, std::int64_t requested, std::int64_t* count,
                      void* out) {
  std::vector<std::shared_ptr<const BackendDesc>> all;
  const bool is_first = heuristic.value<int>(kHeuristicMode) == kHeuristicA;
  const std::vector<std::int64_t> engines =
      is_first ? std::vector<std::int64_t>{kRandom, kNarrowing, kTensorCores, kPlanless}
               : std::vector<std::int64_t>{kPlain};
  if (!is_known(heuristic.link(kHeuristicGraph)))
    return hand_out({}, descriptor::kEngineConfig, requested, count, out);
  for (const std::int64_t engine : engines) {
    auto config =
        std::make_shared<BackendDesc>(BackendDesc{descriptor::kEngineConfig, true, {}, {}});
    config->links[kConfigEngine] = {engine_with(engine, heuristic.link(kHeuristicGraph))};
    all.push_back(config);
  }
  return hand_out(all, descriptor::kEngineConfig, requested, count, out);
}

void require_final(const BackendDesc& d) {
  const auto wanted = required().find(d.kind);
  if (wanted != required().end())
    for (const int name : wanted->second) require(d.has(name));
  if (d.kind == descriptor::kTensor) require(is_tensor_legal(d));
  if (d.kind == descriptor::kGraph) require(are_ids_unique(d));
  if (d.kind == descriptor::kPlan)
    require(engine_of(d).value<std::int64_t>(kEngineIndex) != kPlanless, kNotSupported);
  check_operation(d);
}

int executed = 0;

void execute(const BackendDesc& plan, const BackendDesc& pack) {
  const BackendDesc& graph = engine_of(plan).link(kEngineGraph);
  const auto index = engine_of(plan).value<std::int64_t>(kEngineIndex);
  // What a contract forbids is not computed.
  require(index == kPlain || (index == kTensorCores && is_narrow(graph)), kExecutionFailed);
  require(fake::is_workspace(pack.value<void*>(kPackWorkspace), kWorkspace));
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
  if (is_kept(kind)) fake::count_descriptor(-1);
  return 0;
}
FAKE_EXPORT int cudnnBackendDestroyDescriptor(BackendDesc* made) {
  if (is_kept(made->kind)) fake::count_descriptor(1);
  return destroy(made);
}

FAKE_EXPORT int cudnnBackendSetAttribute(BackendDesc* d, int name, int type, std::int64_t count,
                                         const void* values) {
  if (const int status = fake::counted()) return of_driver(status);
  if (d->is_final || count < 1) return kBadParam;
  if (type == of::kDescriptor) {
    d->links[name].clear();
    for (std::int64_t k = 0; k < count; ++k) {
      const BackendDesc& to = *static_cast<BackendDesc* const*>(values)[k];
      if (!to.is_final) return kBadParam;
      d->links[name].push_back(std::make_shared<BackendDesc>(to));
    }
    return 0;
  }
  const bool is_word = type == of::kHandle || type == of::kInt64 || type == of::kPointer;
  const bool is_byte = type == of::kBoolean || type == of::kChar;
  const std::size_t size = is_word ? sizeof(std::int64_t) : is_byte ? 1 : sizeof(int);
  const char* const from = static_cast<const char*>(values);
  d->attributes[name] = {type, count, {from, from + size * static_cast<std::size_t>(count)}};
  return 0;
}

FAKE_EXPORT int cudnnBackendFinalize(BackendDesc* d) {
  if (const int status = fake::counted()) return of_driver(status);
  return caught([&] {
    require(!d->is_final);
    require_final(*d);
    d->is_final = true;
  });
}

FAKE_EXPORT int cudnnBackendGetAttribute(BackendDesc* d, int name, int, std::int64_t requested,
                                         std::int64_t* count, void* out) {
  if (const int status = fake::counted()) return of_driver(status);
  if (!d->is_final) return kBadParam;
  if (d->kind == descriptor::kHeuristic && name == kHeuristicResults)
    return heuristic_results(*d, requested, count, out);
  if (d->kind == descriptor::kEngineConfig && name == kConfigEngine)
    return hand_out(d->links.at(kConfigEngine), descriptor::kEngine, requested, count, out);
  if (d->kind == descriptor::kEngine && name == kEngineNotes) {
    const std::vector<int> notes = notes_of(d->value<std::int64_t>(kEngineIndex));
    *count = std::min(requested, static_cast<std::int64_t>(notes.size()));
    std::copy_n(notes.begin(), *count, static_cast<int*>(out));
    return 0;
  }
  if (d->kind != descriptor::kPlan || name != kPlanWorkspace) return kBadParam;
  *count = 1;
  *static_cast<std::int64_t*>(out) = kWorkspace;
  return 0;
}

FAKE_EXPORT int cudnnBackendExecute(Handle* handle, BackendDesc* plan, BackendDesc* pack) {
  return computing(handle, [&] {
    require(plan->is_final && pack->is_final && plan->kind == descriptor::kPlan &&
            pack->kind == descriptor::kVariantPack);
    execute(*plan, *pack);
  });
}
