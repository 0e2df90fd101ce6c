// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_graphs.h for late shapes, callers' code, order without data, queries,
// and the evaluation of symbolic graphs.
#include <memory>
#include <utility>

#include "c/objects.h"
#include "c/symbols.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

namespace {

std::vector<TensorSymbol> all_given(const mote_symbol* symbols, std::size_t count,
                                    const char* what) {
  std::vector<TensorSymbol> list = symbols_of(symbols, count, what);
  for (const TensorSymbol symbol : list)
    if (!symbol) throw StatusError(MOTE_INVALID, std::string(what) + ": a symbol is missing");
  return list;
}

// A Tensor is its mote_tensor (asserted in tensor.h).
std::vector<mote_tensor*> handles(std::span<const Tensor> tensors) {
  std::vector<mote_tensor*> list;
  for (const Tensor& tensor : tensors)
    list.push_back(reinterpret_cast<mote_tensor*>(const_cast<Tensor*>(&tensor)));  // NOLINT
  return list;
}

}  // namespace

mote_status mote_symbolic_open_input(mote_symbolic* graph, const char* name, DLDataType dtype,
                                     mote_symbol* symbol) {
  return guarded(__func__, [&] {
    auto& result = given(symbol, "symbol");
    result = handle_of(given(graph, "graph").graph.input(&given(name, "name"), dtype_of(dtype)));
  });
}

mote_status mote_symbolic_set_shape(mote_symbolic* graph, mote_symbol input, int32_t rank,
                                    const int64_t* shape) {
  return guarded(__func__, [&] {
    SymbolicGraph& of = given(graph, "graph").graph;
    const DType dtype = of.info(symbol_of(input)).form->dtype;
    of.set_form(symbol_of(input), {dtype, axes_of(rank, shape, "shape")});
  });
}

mote_status mote_symbolic_call(mote_symbolic* graph, const char* name, mote_node_work work,
                               void* argument, const mote_symbol* inputs, size_t input_count,
                               const mote_symbol* outputs, size_t output_count) {
  return guarded(__func__, [&] {
    if (work == nullptr) throw StatusError(MOTE_INVALID, "work is NULL");
    const auto run = [work, argument](std::span<const Tensor> reads,
                                      std::span<const Tensor> writes) {
      const std::vector<mote_tensor*> read = handles(reads);
      const std::vector<mote_tensor*> written = handles(writes);
      const mote_status status =
          work(argument, read.data(), read.size(), written.data(), written.size());
      if (status != MOTE_OK) throw StatusError(status, "a node's work failed");
    };
    given(graph, "graph")
        .graph.call({.name = &given(name, "name"), .run = run},
                    all_given(inputs, input_count, "inputs"),
                    all_given(outputs, output_count, "outputs"));
  });
}

mote_status mote_symbolic_order(mote_symbolic* graph, mote_symbol before, mote_symbol after) {
  return guarded(__func__, [&] {
    SymbolicGraph& of = given(graph, "graph").graph;
    of.order(writer_of(of, before), writer_of(of, after));
  });
}

mote_status mote_symbolic_depends(const mote_symbolic* graph, mote_symbol y, mote_symbol x,
                                  int32_t* depends) {
  return guarded(__func__, [&] {
    auto& result = given(depends, "depends");
    const SymbolicGraph& of = given(graph, "graph").graph;
    const std::vector<bool> needed = ancestors(of, std::vector{symbol_of(y)});
    const std::vector<bool> readers = descendants(of, std::vector{symbol_of(x)});
    result = 0;
    for (std::size_t k = 0; k < needed.size(); ++k)
      if (needed[k] && readers[k]) result = 1;
  });
}

mote_status mote_symbolic_saved(mote_symbolic* graph, const mote_symbol* of, size_t of_count,
                                const mote_symbol* gradients, size_t gradient_count,
                                const char** text) {
  return guarded(__func__, [&] {
    auto& result = given(text, "text");
    mote_symbolic& in = given(graph, "graph");
    in.text = to_text(in.graph, saved(in.graph, symbols_of(of, of_count, "of"),
                                      symbols_of(gradients, gradient_count, "gradients")));
    result = in.text.c_str();
  });
}

mote_status mote_symbolic_evaluate(const mote_symbolic* graph, mote_context* context,
                                   const mote_symbol* inputs, const mote_tensor* const* tensors,
                                   size_t count, const mote_symbol* outputs, size_t output_count,
                                   mote_tensor** results) {
  return guarded(__func__, [&] {
    const std::vector<TensorSymbol> symbols = symbols_of(inputs, count, "inputs");
    if (count > 0) given(tensors, "tensors");
    if (output_count > 0) given(results, "results");
    std::vector<TensorBinding> bindings;
    for (std::size_t k = 0; k < count; ++k)
      bindings.emplace_back(symbols[k], tensor_of(tensors[k]));
    const std::vector<Tensor> values = evaluate(
        given(graph, "graph").graph, bindings, symbols_of(outputs, output_count, "outputs"),
        {.context = context != nullptr ? &context->context : nullptr});
    std::vector<std::unique_ptr<mote_tensor, void (*)(mote_tensor*)>> made;
    made.reserve(values.size());
    for (const Tensor& value : values) made.emplace_back(handle_of(value), mote_tensor_free);
    for (std::size_t k = 0; k < made.size(); ++k) results[k] = made[k].release();
  });
}
