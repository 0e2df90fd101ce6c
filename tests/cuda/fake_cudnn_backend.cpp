// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's descriptors of its graph API, its heuristics and plans. The heuristic offers
// engines that contracts forbid before the one that computes; what the manual forbids is
// CUDNN_STATUS_BAD_PARAM.
#include <array>
#include <set>

#include "fake_cudnn_graph.h"

using namespace fake::cudnn;

namespace {

constexpr int kEngine = 2, kConfig = 3, kHeuristic = 4, kPlan = 5, kGraph = 15, kPack = 16,
              kTensor = 17;
constexpr int kLink = 15;  // CUDNN_TYPE_BACKEND_DESCRIPTOR
constexpr std::int64_t kWorkspace = 512;

/// What a kind of descriptor must have before it is finalized.
const std::map<int, std::vector<int>>& required() {
  static const std::map<int, std::vector<int>> all = {
      {0, {0, 1}},                               // POINTWISE: mode, precision
      {1, {100, 101, 102, 103, 104, 105, 106}},  // CONVOLUTION: all that it has
      {kHeuristic, {200, 201}},                  // mode, graph
      {kPlan, {400, 401}},                       // handle, configuration
      {10,
       {700, 701, 702, 703, 704,
        705}},                // OPERATION_CONVOLUTION_FORWARD: factors, descriptor, w, x, y
      {13, {750, 751, 753}},  // OPERATION_POINTWISE: function, x, y
      {kGraph, {800, 801}},   // handle, operations
      {kPack, {1000, 1001}},  // ids, pointers
      {kTensor, {900, 901, 902, 903, 906}},
      {18, {1500}},                          // MATMUL: precision
      {19, {1520, 1521, 1522, 1523}},        // OPERATION_MATMUL: a, b, c, descriptor
      {21, {1600, 1601}},                    // REDUCTION: operator, precision
      {22, {1610, 1611, 1612}},              // OPERATION_REDUCTION: x, y, descriptor
      {29, {2000, 2001, 2002, 2007, 2013}},  // OPERATION_NORM_FORWARD: mode, phase, x, eps, y
      // OPERATION_NORM_BACKWARD: mode, x, inverse deviation, gy, scale, its gradient, gx
      {30, {2100, 2101, 2103, 2104, 2105, 2107, 2109}},
      {31, {2200, 2201}}};  // OPERATION_RESHAPE: x, y
  return all;
}

bool is_tensor_legal(const BackendDesc& t) {
  const auto dims = t.values<std::int64_t>(902), strides = t.values<std::int64_t>(903);
  const auto positive = [](std::int64_t v) { return v >= 1; };
  return !dims.empty() && dims.size() == strides.size() && std::ranges::all_of(dims, positive) &&
         std::ranges::all_of(strides, positive) && t.value<std::int64_t>(900) % 4 == 0;
}

/// Plans and their configurations may outlive calls, and do not count as left behind.
bool is_kept(int kind) { return kind == kPlan || kind == kConfig; }

/// Each id of a graph is one tensor's.
bool are_ids_unique(const BackendDesc& graph) {
  std::map<std::int64_t, std::vector<std::int64_t>> dims;
  for (const auto& operation : graph.links.at(801))
    for (const auto& [name, links] : operation->links) {
      if (links[0]->kind != kTensor) continue;
      const auto [at, is_new] =
          dims.emplace(links[0]->value<std::int64_t>(906), links[0]->values<std::int64_t>(902));
      if (!is_new && at->second != links[0]->values<std::int64_t>(902)) return false;
    }
  return true;
}

// The fake's engines, by their notes: not deterministic; operands of fewer bits; tensor cores;
// one that makes no plan; one without notes.
enum Engine : std::int64_t { kRandom, kNarrowing, kTensorCores, kPlanless, kPlain };
std::vector<int> notes_of(std::int64_t engine) {
  return engine == kRandom        ? std::vector{0, 4}
         : engine == kNarrowing   ? std::vector{1}
         : engine == kTensorCores ? std::vector{0, 9}
                                  : std::vector<int>{};
}

std::shared_ptr<const BackendDesc> engine_of(std::int64_t index, const BackendDesc& graph) {
  auto engine = std::make_shared<BackendDesc>(BackendDesc{kEngine, true, {}, {}});
  engine->attributes[1301] = {3, 1, std::vector<char>(sizeof(index))};
  std::memcpy(engine->attributes[1301].bytes.data(), &index, sizeof(index));
  engine->links[1300] = {std::make_shared<BackendDesc>(graph)};
  return engine;
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
  const bool is_first = heuristic.value<int>(200) == 3;
  const std::vector<std::int64_t> engines =
      is_first ? std::vector<std::int64_t>{kRandom, kNarrowing, kTensorCores, kPlanless}
               : std::vector<std::int64_t>{kPlain};
  if (!is_known(*heuristic.link(201))) return hand_out({}, kConfig, requested, count, out);
  for (const std::int64_t engine : engines) {
    auto config = std::make_shared<BackendDesc>(BackendDesc{kConfig, true, {}, {}});
    config->links[300] = {engine_of(engine, *heuristic.link(201))};
    all.push_back(config);
  }
  return hand_out(all, kConfig, requested, count, out);
}

int finalized(const BackendDesc& d) {
  const auto wanted = required().find(d.kind);
  if (wanted != required().end())
    for (const int name : wanted->second)
      if (!d.has(name)) return kBadParam;
  if (d.kind == kTensor && !is_tensor_legal(d)) return kBadParam;
  if (d.kind == kGraph && !are_ids_unique(d)) return kBadParam;
  if (d.kind == kPlan && d.link(401)->link(300)->value<std::int64_t>(1301) == kPlanless)
    return kNotSupported;
  check_operation(d);
  return 0;
}

int executed = 0;

int execute(const BackendDesc& plan, const BackendDesc& pack) {
  const BackendDesc& engine = *plan.link(401)->link(300);
  const BackendDesc& graph = *engine.link(1300);
  const auto index = engine.value<std::int64_t>(1301);
  // What a contract forbids is not computed.
  if (index != kPlain && !(index == kTensorCores && is_narrow(graph))) return kExecutionFailed;
  if (!fake::is_workspace(pack.value<void*>(1003), kWorkspace)) return kBadParam;
  const auto ids = pack.values<std::int64_t>(1000);
  const auto pointers = pack.values<void*>(1001);
  std::map<std::int64_t, void*> data;
  for (std::size_t k = 0; k < ids.size(); ++k) data[ids[k]] = pointers.at(k);
  run_graph(graph, data);
  ++executed;
  return 0;
}

}  // namespace

FAKE_EXPORT int fake_cudnn_graphs() { return executed; }

FAKE_EXPORT int cudnnBackendCreateDescriptor(int kind, BackendDesc** made) {
  if (const int status = fake::counted()) return of_driver(status);
  fake::make(made);
  (*made)->kind = kind;
  if (is_kept(kind)) fake::count_descriptor(-1);
  return 0;
}
FAKE_EXPORT int cudnnBackendDestroyDescriptor(BackendDesc* made) {
  if (is_kept(made->kind)) fake::count_descriptor(1);
  fake::unmake(made);
  return 0;
}

FAKE_EXPORT int cudnnBackendSetAttribute(BackendDesc* d, int name, int type, std::int64_t count,
                                         const void* values) {
  if (const int status = fake::counted()) return of_driver(status);
  if (d->is_final || count < 1) return kBadParam;
  if (type == kLink) {
    d->links[name].clear();
    for (std::int64_t k = 0; k < count; ++k) {
      const BackendDesc& to = *static_cast<BackendDesc* const*>(values)[k];
      if (!to.is_final) return kBadParam;
      d->links[name].push_back(std::make_shared<BackendDesc>(to));
    }
    return 0;
  }
  const bool is_word = type == 0 || type == 3 || type == 5 || type == 6;
  const std::size_t size = is_word ? 8 : type == 2 || type == 24 ? 1 : 4;
  const char* const from = static_cast<const char*>(values);
  d->attributes[name] = {type, count, {from, from + size * static_cast<std::size_t>(count)}};
  return 0;
}

FAKE_EXPORT int cudnnBackendFinalize(BackendDesc* d) {
  if (const int status = fake::counted()) return of_driver(status);
  if (d->is_final) return kBadParam;
  try {
    if (const int status = finalized(*d)) return status;
  } catch (const Unsupported& e) {
    return e.status;
  }
  d->is_final = true;
  return 0;
}

FAKE_EXPORT int cudnnBackendGetAttribute(BackendDesc* d, int name, int, std::int64_t requested,
                                         std::int64_t* count, void* out) {
  if (const int status = fake::counted()) return of_driver(status);
  if (!d->is_final) return kBadParam;
  if (d->kind == kHeuristic && name == 202) return heuristic_results(*d, requested, count, out);
  if (d->kind == kConfig && name == 300)
    return hand_out(d->links.at(300), kEngine, requested, count, out);
  if (d->kind == kEngine && name == 1303) {
    const std::vector<int> notes = notes_of(d->value<std::int64_t>(1301));
    *count = std::min(requested, static_cast<std::int64_t>(notes.size()));
    std::copy_n(notes.begin(), *count, static_cast<int*>(out));
    return 0;
  }
  if (d->kind != kPlan || name != 402) return kBadParam;
  *count = 1;
  *static_cast<std::int64_t*>(out) = kWorkspace;
  return 0;
}

FAKE_EXPORT int cudnnBackendExecute(Handle* handle, BackendDesc* plan, BackendDesc* pack) {
  return computing(handle, [&] {
    if (!plan->is_final || !pack->is_final || plan->kind != kPlan || pack->kind != kPack)
      return kBadParam;
    try {
      return execute(*plan, *pack);
    } catch (const Unsupported& e) {
      return e.status;
    }
  });
}
