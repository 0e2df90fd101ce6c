// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_dynamic.h that make, look at and write to variables.
#include <algorithm>
#include <cstddef>

#include "c/handles.h"
#include "c/symbols.h"
#include "mote/base/dlpack.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

mote_status mote_dynamic_variable(mote_dynamic* graph, const mote_tensor* value,
                                  mote_variable** variable) {
  return guarded(__func__, [&] {
    auto& result = given(variable, "variable");
    result = new_handle(given(graph, "graph").graph.variable(tensor_of(value)));
  });
}

mote_status mote_dynamic_constant(mote_dynamic* graph, const mote_tensor* value,
                                  mote_variable** variable) {
  return guarded(__func__, [&] {
    auto& result = given(variable, "variable");
    result = new_handle(given(graph, "graph").graph.constant(tensor_of(value)));
  });
}

mote_status mote_dynamic_scalar(mote_dynamic* graph, DLDataType dtype, double value,
                                mote_variable** variable) {
  return guarded(__func__, [&] {
    auto& result = given(variable, "variable");
    result = new_handle(given(graph, "graph").graph.scalar(dtype_of(dtype), value));
  });
}

mote_status mote_dynamic_scalar_like(mote_dynamic* graph, const mote_variable* like, double value,
                                     mote_variable** variable) {
  return guarded(__func__, [&] {
    auto& result = given(variable, "variable");
    result = new_handle(given(graph, "graph").graph.scalar(variable_of(like, "like"), value));
  });
}

mote_status mote_dynamic_zeros(mote_dynamic* graph, DLDataType dtype, int32_t rank,
                               const int64_t* shape, mote_variable** variable) {
  return guarded(__func__, [&] {
    auto& result = given(variable, "variable");
    const TensorForm form(dtype_of(dtype), axes_of(rank, shape, "shape"));
    result = new_handle(given(graph, "graph").graph.zeros(form));
  });
}

mote_status mote_variable_share(const mote_variable* x, mote_variable** same) {
  return guarded(__func__, [&] {
    auto& result = given(same, "same");
    result = new_handle(variable_of(x, "x"));
  });
}

void mote_variable_free(mote_variable* variable) { delete variable; }

mote_status mote_variable_form(const mote_variable* x, DLDataType* dtype, int32_t* rank,
                               int64_t* shape) {
  return guarded(__func__, [&] {
    const TensorForm form = variable_of(x, "x").form();
    given(dtype, "dtype");
    given(rank, "rank");
    given(shape, "shape");
    *dtype = to_dlpack(form.dtype);
    *rank = form.shape.size();
    std::ranges::copy(form.shape, shape);
  });
}

mote_status mote_variable_value(const mote_variable* x, mote_tensor** value) {
  return guarded(__func__, [&] {
    auto& result = given(value, "value");
    result = handle_of(variable_of(x, "x").value());
  });
}

mote_status mote_variable_item(const mote_variable* x, double* value) {
  return guarded(__func__, [&] {
    auto& result = given(value, "value");
    result = variable_of(x, "x").item();
  });
}

mote_status mote_variable_version(const mote_variable* x, uint64_t* version) {
  return guarded(__func__, [&] {
    auto& result = given(version, "version");
    result = variable_of(x, "x").version();
  });
}

mote_status mote_variable_is_traced(const mote_variable* x, int32_t* is_traced) {
  return guarded(__func__, [&] {
    auto& result = given(is_traced, "is_traced");
    result = variable_of(x, "x").is_traced() ? 1 : 0;
  });
}

mote_status mote_variable_is_pending(const mote_variable* x, int32_t* is_pending) {
  return guarded(__func__, [&] {
    auto& result = given(is_pending, "is_pending");
    result = variable_of(x, "x").is_pending() ? 1 : 0;
  });
}

mote_status mote_variable_detach(const mote_variable* x, mote_variable** y) {
  return guarded(__func__, [&] {
    auto& result = given(y, "y");
    result = new_handle(variable_of(x, "x").detach());
  });
}

mote_status mote_variable_slice(const mote_variable* x, int32_t axis, int64_t begin, int64_t count,
                                int64_t step, mote_variable** view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result = new_handle(variable_of(x, "x").slice(axis, begin, count, step));
  });
}

mote_status mote_variable_select(const mote_variable* x, int32_t axis, int64_t index,
                                 mote_variable** view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result = new_handle(variable_of(x, "x").select(axis, index));
  });
}

mote_status mote_variable_permute(const mote_variable* x, int32_t rank, const int32_t* order,
                                  mote_variable** view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result = new_handle(variable_of(x, "x").permute(axes_of(rank, order, "order")));
  });
}

mote_status mote_variable_broadcast_to(const mote_variable* x, int32_t rank, const int64_t* shape,
                                       mote_variable** view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result = new_handle(variable_of(x, "x").broadcast_to(axes_of(rank, shape, "shape")));
  });
}

mote_status mote_variable_reshape(const mote_variable* x, int32_t rank, const int64_t* shape,
                                  mote_variable** view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result = new_handle(variable_of(x, "x").reshape(axes_of(rank, shape, "shape")));
  });
}

mote_status mote_variable_assign(mote_variable* x, const mote_variable* value) {
  return guarded(__func__, [&] {
    Variable& to = given(x, "x").variable;
    to.assign(variable_of(value, "value"));
  });
}

mote_status mote_variable_set(mote_variable* x, const mote_tensor* value) {
  return guarded(__func__, [&] {
    Variable& to = given(x, "x").variable;
    to.set(tensor_of(value));
  });
}
