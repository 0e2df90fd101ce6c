// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_dynamic.h for graphs as a whole.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "c/handles.h"
#include "c/objects.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

namespace {

DynamicOptions dynamic_options_of(const mote_dynamic_options* given_options) {
  DynamicOptions options;
  if (given_options == nullptr) return options;
  const mote_dynamic_options known =
      sized(*given_options, offsetof(mote_dynamic_options, pending_bytes));
  options.deferred = known.deferred != 0;
  if (known.pending_bytes > 0) options.pending_bytes = known.pending_bytes;
  options.memo_bytes = known.memo_bytes;
  options.saved_bytes = known.saved_bytes;
  if (known.kept_graphs > 0) options.kept_graphs = known.kept_graphs;
  if (known.kept_graph_bytes > 0) options.kept_graph_bytes = known.kept_graph_bytes;
  return options;
}

/// The scopes of this thread in which nothing is remembered.
struct NoGradientScopes {
  std::size_t depth = 0;
  std::optional<NoGradient> scope;
};
thread_local NoGradientScopes no_gradient_scopes;

/// What mote_dynamic_get_memory() has returned in this thread: `entries` point to texts of `kept`.
struct ListedMemory {
  std::vector<KeptMemory> kept;
  std::vector<mote_kept_memory> entries;
};
thread_local ListedMemory listed_memory;

}  // namespace

mote_status mote_dynamic_create(mote_context* context, const mote_dynamic_options* options,
                                mote_dynamic** graph) {
  return guarded(__func__, [&] {
    auto& result = given(graph, "graph");
    Context& in = given(context, "context").context;
    result = new mote_dynamic{DynamicGraph(in, dynamic_options_of(options))};
  });
}

mote_status mote_dynamic_share(const mote_dynamic* graph, mote_dynamic** same) {
  return guarded(__func__, [&] {
    auto& result = given(same, "same");
    result = new mote_dynamic{given(graph, "graph").graph};
  });
}

void mote_dynamic_free(mote_dynamic* graph) { delete graph; }

mote_status mote_no_gradient_begin(void) {
  return guarded(__func__, [&] {
    NoGradientScopes& scopes = no_gradient_scopes;
    if (scopes.depth == 0) scopes.scope.emplace();
    ++scopes.depth;
  });
}

mote_status mote_no_gradient_end(void) {
  return guarded(__func__, [&] {
    NoGradientScopes& scopes = no_gradient_scopes;
    if (scopes.depth == 0)
      throw StatusError(MOTE_INVALID, "no scope without gradients has begun in this thread");
    if (--scopes.depth == 0) scopes.scope.reset();
  });
}

mote_status mote_dynamic_finish(mote_dynamic* graph) {
  return guarded(__func__, [&] { given(graph, "graph").graph.finish(); });
}

mote_status mote_dynamic_get_statistics(mote_dynamic* graph, mote_dynamic_statistics* statistics) {
  return guarded(__func__, [&] {
    const DynamicGraph& of = given(graph, "graph").graph;
    mote_dynamic_statistics all =
        sized(given(statistics, "statistics"), offsetof(mote_dynamic_statistics, values));
    const DynamicStatistics known = of.statistics();
    all.variables = known.variables;
    all.values = known.values;
    all.steps = known.steps;
    all.pending_steps = known.pending_steps;
    all.variable_bytes = known.variable_bytes;
    all.saved_bytes = known.saved_bytes;
    all.memo_bytes = known.memo_bytes;
    all.free_bytes = known.free_bytes;
    all.memo_hits = known.memo_hits;
    all.compiled_graphs = known.compiled_graphs;
    all.compilations = known.compilations;
    all.computed_again = known.computed_again;
    all.compiled_bytes = known.compiled_bytes;
    all.forgotten = known.forgotten;
    std::memcpy(statistics, &all, std::min(statistics->size, sizeof(all)));
  });
}

mote_status mote_dynamic_get_memory(mote_dynamic* graph, const mote_kept_memory** memory,
                                    size_t* count) {
  return guarded(__func__, [&] {
    auto& to = given(memory, "memory");
    std::size_t& listed_count = given(count, "count");
    ListedMemory listed{given(graph, "graph").graph.memory(), {}};
    for (const KeptMemory& one : listed.kept)
      listed.entries.push_back({one.form.c_str(), one.bytes, one.reason.c_str()});
    listed_memory = std::move(listed);
    to = listed_memory.entries.empty() ? nullptr : listed_memory.entries.data();
    listed_count = listed_memory.entries.size();
  });
}

mote_status mote_dynamic_trim(mote_dynamic* graph) {
  return guarded(__func__, [&] { given(graph, "graph").graph.trim(); });
}
