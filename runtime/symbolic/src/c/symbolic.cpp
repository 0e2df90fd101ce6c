// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_graphs.h that make, read and differentiate symbolic graphs.
#include <cstddef>
#include <utility>

#include "c/objects.h"
#include "c/symbols.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

mote_status mote_symbolic_create(const char* name, mote_symbolic** graph) {
  return guarded(__func__, [&] {
    auto& result = given(graph, "graph");
    result = new mote_symbolic{SymbolicGraph(&given(name, "name")), {}};
  });
}

mote_status mote_symbolic_parse(const char* text, mote_symbolic** graph) {
  return guarded(__func__, [&] {
    auto& result = given(graph, "graph");
    result = new mote_symbolic{parse_graph(&given(text, "text")), {}};
  });
}

mote_status mote_symbolic_copy(const mote_symbolic* graph, mote_symbolic** copy) {
  return guarded(__func__, [&] {
    auto& result = given(copy, "copy");
    result = new mote_symbolic{SymbolicGraph(given(graph, "graph").graph), {}};
  });
}

void mote_symbolic_free(mote_symbolic* graph) { delete graph; }

mote_status mote_symbolic_text(mote_symbolic* graph, const char** text) {
  return guarded(__func__, [&] {
    auto& result = given(text, "text");
    mote_symbolic& of = given(graph, "graph");
    of.text = to_text(of.graph);
    result = of.text.c_str();
  });
}

mote_status mote_symbolic_verify(const mote_symbolic* graph) {
  return guarded(__func__, [&] { verify(given(graph, "graph").graph); });
}

mote_status mote_symbolic_input(mote_symbolic* graph, const char* name, DLDataType dtype,
                                int32_t rank, const int64_t* shape, mote_symbol* symbol) {
  return guarded(__func__, [&] {
    auto& result = given(symbol, "symbol");
    const TensorForm form(dtype_of(dtype), axes_of(rank, shape, "shape"));
    result = handle_of(given(graph, "graph").graph.input(&given(name, "name"), form));
  });
}

mote_status mote_symbolic_input_like(mote_symbolic* graph, const char* name,
                                     const mote_symbolic* of, mote_symbol like,
                                     mote_symbol* symbol) {
  return guarded(__func__, [&] {
    auto& result = given(symbol, "symbol");
    SymbolicGraph& to = given(graph, "graph").graph;
    const SymbolInfo info = given(of, "of").graph.info(symbol_of(like));  // `of` may be `graph`
    const std::string text = &given(name, "name");
    result =
        handle_of(info.has_form ? to.input(text, info.form) : to.input(text, info.form->dtype));
  });
}

mote_status mote_symbolic_constant(mote_symbolic* graph, const char* name, const mote_tensor* value,
                                   mote_symbol* symbol) {
  return guarded(__func__, [&] {
    auto& result = given(symbol, "symbol");
    result = handle_of(given(graph, "graph").graph.constant(optional_text(name), tensor_of(value)));
  });
}

mote_status mote_symbolic_tensor(mote_symbolic* graph, const char* name, DLDataType dtype,
                                 int32_t rank, const int64_t* shape, int zeros,
                                 mote_symbol* symbol) {
  return guarded(__func__, [&] {
    auto& result = given(symbol, "symbol");
    SymbolicGraph& of = given(graph, "graph").graph;
    const TensorForm form(dtype_of(dtype), axes_of(rank, shape, "shape"));
    const std::string text = optional_text(name);
    result = handle_of(zeros != 0 ? of.zeros(form, text) : of.tensor(form, text));
  });
}

mote_status mote_symbolic_slice(mote_symbolic* graph, mote_symbol x, int32_t axis, int64_t begin,
                                int64_t count, int64_t step, mote_symbol* view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result = handle_of(given(graph, "graph").graph.slice(symbol_of(x), axis, begin, count, step));
  });
}

mote_status mote_symbolic_select(mote_symbolic* graph, mote_symbol x, int32_t axis, int64_t index,
                                 mote_symbol* view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result = handle_of(given(graph, "graph").graph.select(symbol_of(x), axis, index));
  });
}

mote_status mote_symbolic_permute(mote_symbolic* graph, mote_symbol x, int32_t rank,
                                  const int32_t* order, mote_symbol* view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result =
        handle_of(given(graph, "graph").graph.permute(symbol_of(x), axes_of(rank, order, "order")));
  });
}

mote_status mote_symbolic_broadcast_to(mote_symbolic* graph, mote_symbol x, int32_t rank,
                                       const int64_t* shape, mote_symbol* view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result = handle_of(
        given(graph, "graph").graph.broadcast_to(symbol_of(x), axes_of(rank, shape, "shape")));
  });
}

mote_status mote_symbolic_reshape(mote_symbolic* graph, mote_symbol x, int32_t rank,
                                  const int64_t* shape, mote_symbol* view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result =
        handle_of(given(graph, "graph").graph.reshape(symbol_of(x), axes_of(rank, shape, "shape")));
  });
}

mote_status mote_symbolic_apply(mote_symbolic* graph, const char* command,
                                const mote_symbol* inputs, size_t input_count, mote_symbol* outputs,
                                size_t output_count) {
  return guarded(__func__, [&] {
    SymbolicGraph& to = given(graph, "graph").graph;
    const Command what = parse_command(&given(command, "command"), to.registry());
    check_count(what.definition(), input_count, what.definition().input_count, "inputs");
    check_count(what.definition(), output_count, what.definition().output_count, "outputs");
    if (output_count > 0) given(outputs, "outputs");
    const NodeSymbol node = to.add_node(what, symbols_of(inputs, input_count, "inputs"));
    for (std::size_t k = 0; k < output_count; ++k) {
      const TensorSymbol output = to.output(node, k);
      outputs[k] = output ? handle_of(output) : MOTE_NO_SYMBOL;
    }
  });
}

mote_status mote_symbolic_write(mote_symbolic* graph, const mote_command* command,
                                const mote_symbol* inputs, size_t input_count,
                                const mote_symbol* outputs, size_t output_count) {
  return guarded(__func__, [&] {
    const Command& what = given(command, "command").command;
    check_count(what.definition(), input_count, what.definition().input_count, "inputs");
    check_count(what.definition(), output_count, what.definition().output_count, "outputs");
    given(graph, "graph")
        .graph.write(what, symbols_of(inputs, input_count, "inputs"),
                     symbols_of(outputs, output_count, "outputs"));
  });
}

mote_status mote_symbolic_convert(mote_symbolic* graph, mote_symbol x, DLDataType dtype,
                                  mote_symbol* y) {
  return guarded(__func__, [&] {
    auto& result = given(y, "y");
    SymbolicGraph& of = given(graph, "graph").graph;
    const TensorForm form(dtype_of(dtype), of.form(symbol_of(x)).shape);
    result = handle_of(of.convert(symbol_of(x), form));
  });
}

mote_status mote_symbolic_copy_to(mote_symbolic* graph, mote_symbol x, mote_symbol y) {
  return guarded(__func__, [&] { given(graph, "graph").graph.copy(symbol_of(x), symbol_of(y)); });
}

mote_status mote_symbolic_fill(mote_symbolic* graph, mote_symbol y, double value) {
  return guarded(__func__, [&] { given(graph, "graph").graph.fill(symbol_of(y), value); });
}

mote_status mote_symbolic_set_outputs(mote_symbolic* graph, const mote_symbol* outputs,
                                      size_t count) {
  return guarded(__func__, [&] {
    given(graph, "graph").graph.set_outputs(symbols_of(outputs, count, "outputs"));
  });
}

mote_status mote_symbolic_outputs(const mote_symbolic* graph, mote_symbol* outputs, size_t room,
                                  size_t* count) {
  return guarded(
      __func__, [&] { give_symbols(given(graph, "graph").graph.outputs(), outputs, room, count); });
}

mote_status mote_symbolic_rename(mote_symbolic* graph, mote_symbol symbol, const char* name) {
  return guarded(__func__, [&] {
    given(graph, "graph").graph.rename(symbol_of(symbol), &given(name, "name"));
  });
}

mote_status mote_symbolic_find(const mote_symbolic* graph, const char* name, mote_symbol* symbol) {
  return guarded(__func__, [&] {
    auto& result = given(symbol, "symbol");
    result = handle_of(given(graph, "graph").graph.find(&given(name, "name")));
  });
}

mote_status mote_symbolic_inputs(const mote_symbolic* graph, mote_symbol* inputs, size_t room,
                                 size_t* count) {
  return guarded(__func__, [&] {
    const SymbolicGraph& of = given(graph, "graph").graph;
    std::vector<TensorSymbol> all;
    for (const std::uint32_t input : input_indices(of)) all.push_back(of.at(input));
    give_symbols(all, inputs, room, count);
  });
}

mote_status mote_symbolic_name(mote_symbolic* graph, mote_symbol symbol, const char** name) {
  return guarded(__func__, [&] {
    auto& result = given(name, "name");
    mote_symbolic& of = given(graph, "graph");
    of.text = of.graph.info(symbol_of(symbol)).name;
    result = of.text.c_str();
  });
}

mote_status mote_symbolic_dtype(const mote_symbolic* graph, mote_symbol symbol, DLDataType* dtype) {
  return guarded(__func__, [&] {
    const SymbolInfo& info = given(graph, "graph").graph.info(symbol_of(symbol));
    given(dtype, "dtype") = Tensor::over(nullptr, info.form->dtype, {}).dl().dtype;
  });
}

mote_status mote_symbolic_form(const mote_symbolic* graph, mote_symbol symbol, DLDataType* dtype,
                               int32_t* rank, int64_t* shape) {
  return guarded(__func__, [&] {
    const TensorForm& form = given(graph, "graph").graph.form(symbol_of(symbol));
    const Tensor as_tensor = Tensor::over(nullptr, form.dtype, form.shape, form.strides);
    given(dtype, "dtype");
    given(rank, "rank");
    given(shape, "shape");
    *dtype = as_tensor.dl().dtype;
    *rank = form.shape.size();
    std::ranges::copy(form.shape, shape);
  });
}

mote_status mote_symbolic_strides(const mote_symbolic* graph, mote_symbol symbol,
                                  int64_t* strides) {
  return guarded(__func__, [&] {
    const TensorForm& form = given(graph, "graph").graph.form(symbol_of(symbol));
    given(strides, "strides");
    std::ranges::copy(form.strides, strides);
  });
}

mote_status mote_symbolic_gradient(mote_symbolic* graph, const mote_symbol* of, size_t of_count,
                                   const mote_symbol* wrt, size_t wrt_count,
                                   const mote_symbol* seeds, mote_symbol* gradients) {
  return guarded(__func__, [&] {
    if (wrt_count > 0) given(gradients, "gradients");
    const std::vector<TensorSymbol> results =
        gradient(given(graph, "graph").graph, symbols_of(of, of_count, "of"),
                 symbols_of(wrt, wrt_count, "wrt"),
                 symbols_of(seeds, seeds != nullptr ? of_count : 0, "seeds"));
    for (std::size_t k = 0; k < results.size(); ++k) gradients[k] = handle_of(results[k]);
  });
}

mote_status mote_symbolic_jvp(mote_symbolic* graph, const mote_symbol* of, size_t of_count,
                              const mote_symbol* wrt, size_t wrt_count, const mote_symbol* tangents,
                              mote_symbol* changes) {
  return guarded(__func__, [&] {
    if (of_count > 0) given(changes, "changes");
    const std::vector<TensorSymbol> results =
        jvp(given(graph, "graph").graph, symbols_of(of, of_count, "of"),
            symbols_of(wrt, wrt_count, "wrt"), symbols_of(tangents, wrt_count, "tangents"));
    for (std::size_t k = 0; k < results.size(); ++k) changes[k] = handle_of(results[k]);
  });
}
