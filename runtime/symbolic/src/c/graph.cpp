// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_concrete.h that make graphs of operations on tensors.
#include "c/graph_nodes.h"
#include "c/objects.h"
#include "c/symbols.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

mote_status mote_graph_create(mote_context* context, int32_t streams, mote_graph** graph) {
  return guarded(__func__, [&] {
    auto& result = given(graph, "graph");
    if (streams < 1)
      throw StatusError(MOTE_INVALID, "streams must be at least 1, got " + std::to_string(streams));
    auto made = std::make_unique<mote_graph>();
    made->options.context = context != nullptr ? &context->context : nullptr;
    made->options.streams = streams;
    result = made.release();
  });
}

void mote_graph_free(mote_graph* graph) { delete graph; }

mote_status mote_graph_placeholder(mote_graph* graph, const mote_tensor* tensor) {
  return guarded(__func__, [&] {
    mote_graph& to = given(graph, "graph");
    const Tensor& memory = tensor_of(tensor);
    if (to.placeholder(memory))
      throw StatusError(MOTE_INVALID, "graph: the tensor is a placeholder already");
    const GraphTensor added = to.graph.placeholder(memory.form());
    to.graph.bind(added, memory);
    to.placeholders.push_back({memory, added});
    to.is_prepared = false;
  });
}

mote_status mote_graph_bind(mote_graph* graph, const mote_tensor* placeholder,
                            const mote_tensor* memory) {
  return guarded(__func__, [&] {
    mote_graph& to = given(graph, "graph");
    const std::optional<GraphTensor> known = to.placeholder(tensor_of(placeholder));
    if (!known) throw StatusError(MOTE_INVALID, "graph: the tensor is no placeholder");
    to.graph.bind(*known, tensor_of(memory));
  });
}

mote_status mote_graph_add(mote_graph* graph, const mote_command* command,
                           const mote_tensor* const* inputs, size_t input_count,
                           mote_tensor* const* outputs, size_t output_count,
                           mote_graph_node* node) {
  return guarded(__func__, [&] {
    mote_graph& to = with_room(given(graph, "graph"));
    const Command& what = given(command, "command").command;
    check_count(what.definition(), input_count, what.definition().input_count, "inputs");
    check_count(what.definition(), output_count, what.definition().output_count, "outputs");
    const std::vector<GraphTensor> reads = added(to, inputs, input_count, "inputs");
    const std::vector<GraphTensor> writes = added(to, outputs, output_count, "outputs");
    keep(to, to.graph.add(what, reads, writes), node);
  });
}

mote_status mote_graph_copy(mote_graph* graph, const mote_tensor* x, mote_tensor* y,
                            mote_graph_node* node) {
  return guarded(__func__, [&] {
    mote_graph& to = with_room(given(graph, "graph"));
    const GraphTensor from = added(to, tensor_of(x));
    keep(to, to.graph.copy(from, added(to, tensor_of(y))), node);
  });
}

mote_status mote_graph_fill(mote_graph* graph, mote_tensor* y, double value,
                            mote_graph_node* node) {
  return guarded(__func__, [&] {
    mote_graph& to = with_room(given(graph, "graph"));
    keep(to, to.graph.fill(added(to, tensor_of(y)), value), node);
  });
}

mote_status mote_graph_call(mote_graph* graph, mote_status (*work)(void* argument), void* argument,
                            const mote_tensor* const* reads, size_t read_count,
                            mote_tensor* const* writes, size_t write_count, mote_graph_node* node) {
  return guarded(__func__, [&] {
    if (work == nullptr) throw StatusError(MOTE_INVALID, "work is NULL");
    mote_graph& to = with_room(given(graph, "graph"));
    const std::vector<GraphTensor> read = added(to, reads, read_count, "reads");
    const std::vector<GraphTensor> written = added(to, writes, write_count, "writes");
    const auto call = [work, argument](std::span<const Tensor>, std::span<const Tensor>) {
      const mote_status status = work(argument);
      if (status != MOTE_OK) throw StatusError(status, "a node's work failed");
    };
    keep(to, to.graph.call(call, read, written), node);
  });
}

mote_status mote_graph_order(mote_graph* graph, mote_graph_node before, mote_graph_node after) {
  return guarded(__func__, [&] {
    mote_graph& of = given(graph, "graph");
    of.graph.order(node_of(of, before), node_of(of, after));
    of.is_prepared = false;
  });
}

mote_status mote_graph_find_order(mote_graph* graph) {
  return guarded(__func__, [&] {
    given(graph, "graph").graph.find_order();
    graph->is_prepared = false;
  });
}

mote_status mote_graph_remove(mote_graph* graph, mote_graph_node node) {
  return guarded(__func__, [&] {
    mote_graph& of = given(graph, "graph");
    of.graph.remove(node_of(of, node));
    of.is_prepared = false;
  });
}
