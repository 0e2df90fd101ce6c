// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote.h for tensors.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "c/guard.h"
#include "mote/base/dlpack.h"
#include "mote/runtime/npy.h"

namespace mote::c {
namespace {

int checked_rank(std::int32_t rank, const void* list, const char* what) {
  if (rank < 0 || rank > MOTE_MAX_AXES)
    throw StatusError(MOTE_INVALID, "rank must be in 0.." + std::to_string(MOTE_MAX_AXES) +
                                        ", got " + std::to_string(rank));
  if (rank > 0 && list == nullptr) throw StatusError(MOTE_INVALID, std::string(what) + " is NULL");
  return rank;
}

AxisList axes(std::int32_t rank, const std::int64_t* list, const char* what) {
  AxisList all;
  for (int k = 0; k < checked_rank(rank, list, what); ++k) all.push_back(list[k]);
  return all;
}

Layout layout_of(mote_layout layout) {
  switch (layout) {
    case MOTE_NCHW:
      return Layout::nchw;
    case MOTE_NHWC:
      return Layout::nhwc;
    case MOTE_CHWN:
      return Layout::chwn;
  }
  throw StatusError(MOTE_INVALID, "unknown layout " + std::to_string(static_cast<int>(layout)));
}

AxisList index_of(const Tensor& x, const std::int64_t* index) {
  return axes(x.rank(), index, "index");
}

}  // namespace
}  // namespace mote::c

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

mote_status mote_set_default_allocator(const mote_allocator* allocator) {
  return guarded(__func__, [&] {
    const mote_allocator& a = given(allocator, "allocator");
    set_default_allocator(allocator_of(a));
  });
}

mote_status mote_dtype(const char* name, DLDataType* dtype) {
  return guarded(__func__, [&] {
    const std::string text = &given(name, "name");
    const std::optional<DType> known = parse_dtype(text);
    if (!known) throw StatusError(MOTE_INVALID, "unknown dtype '" + text + "'");
    given(dtype, "dtype") = to_dlpack(*known);
  });
}

mote_status mote_tensor_create(DLDataType dtype, int32_t rank, const int64_t* shape,
                               mote_tensor** tensor) {
  return guarded(__func__, [&] {
    auto& result = given(tensor, "tensor");
    result = handle_of(Tensor(dtype_of(dtype), axes(rank, shape, "shape")));
  });
}

mote_status mote_tensor_create_on(const char* device, DLDataType dtype, int32_t rank,
                                  const int64_t* shape, mote_tensor** tensor) {
  return guarded(__func__, [&] {
    const Device on = Device::find(&given(device, "device"));
    auto& result = given(tensor, "tensor");
    result = handle_of(Tensor(dtype_of(dtype), axes(rank, shape, "shape"), on));
  });
}

mote_status mote_tensor_create_nchw(DLDataType dtype, const int64_t* nchw, mote_layout layout,
                                    mote_tensor** tensor) {
  return guarded(__func__, [&] {
    const AxisList extents = axes(4, nchw, "nchw");
    auto& result = given(tensor, "tensor");
    result = handle_of(Tensor(dtype_of(dtype), extents, layout_of(layout)));
  });
}

mote_status mote_tensor_over(void* data, DLDataType dtype, int32_t rank, const int64_t* shape,
                             const int64_t* strides, mote_tensor** tensor) {
  return guarded(__func__, [&] {
    const DType type = dtype_of(dtype);
    const AxisList extents = axes(rank, shape, "shape");
    auto& result = given(tensor, "tensor");
    result = handle_of(strides != nullptr
                           ? Tensor::over(data, type, extents, axes(rank, strides, "strides"))
                           : Tensor::over(data, type, extents));
  });
}

void mote_tensor_free(mote_tensor* tensor) { delete reinterpret_cast<Tensor*>(tensor); }

mote_status mote_tensor_slice(const mote_tensor* x, int32_t axis, int64_t begin, int64_t count,
                              int64_t step, mote_tensor** view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result = handle_of(tensor_of(x).slice(axis, begin, count, step));
  });
}

mote_status mote_tensor_select(const mote_tensor* x, int32_t axis, int64_t index,
                               mote_tensor** view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result = handle_of(tensor_of(x).select(axis, index));
  });
}

mote_status mote_tensor_permute(const mote_tensor* x, int32_t rank, const int32_t* order,
                                mote_tensor** view) {
  return guarded(__func__, [&] {
    AxisList axes;
    for (int k = 0; k < checked_rank(rank, order, "order"); ++k) axes.push_back(order[k]);
    auto& result = given(view, "view");
    result = handle_of(tensor_of(x).permute(axes));
  });
}

mote_status mote_tensor_broadcast_to(const mote_tensor* x, int32_t rank, const int64_t* shape,
                                     mote_tensor** view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result = handle_of(tensor_of(x).broadcast_to(axes(rank, shape, "shape")));
  });
}

mote_status mote_tensor_reshape(const mote_tensor* x, int32_t rank, const int64_t* shape,
                                mote_tensor** view) {
  return guarded(__func__, [&] {
    auto& result = given(view, "view");
    result = handle_of(tensor_of(x).reshape(axes(rank, shape, "shape")));
  });
}

mote_status mote_tensor_as_image(mote_tensor* tensor, mote_image** image) {
  return guarded(__func__, [&] { given(image, "image") = &as_image(tensor_of(tensor)); });
}

mote_status mote_tensor_fill_real(mote_tensor* y, double value) {
  return guarded(__func__, [&] { fill(tensor_of(y), value); });
}

mote_status mote_tensor_fill_integer(mote_tensor* y, int64_t value) {
  return guarded(__func__, [&] { fill(tensor_of(y), value); });
}

mote_status mote_tensor_copy(const mote_tensor* x, mote_tensor* y) {
  return guarded(__func__, [&] { copy(tensor_of(x), tensor_of(y)); });
}

mote_status mote_tensor_real_at(const mote_tensor* x, const int64_t* index, double* value) {
  return guarded(__func__, [&] {
    const Tensor& tensor = tensor_of(x);
    given(value, "value") = tensor.real_at(index_of(tensor, index));
  });
}

mote_status mote_tensor_integer_at(const mote_tensor* x, const int64_t* index, int64_t* value) {
  return guarded(__func__, [&] {
    const Tensor& tensor = tensor_of(x);
    given(value, "value") = tensor.integer_at(index_of(tensor, index));
  });
}

mote_status mote_tensor_set_real(mote_tensor* y, const int64_t* index, double value) {
  return guarded(__func__, [&] {
    const Tensor& tensor = tensor_of(y);
    tensor.set(index_of(tensor, index), value);
  });
}

mote_status mote_tensor_set_integer(mote_tensor* y, const int64_t* index, int64_t value) {
  return guarded(__func__, [&] {
    const Tensor& tensor = tensor_of(y);
    tensor.set(index_of(tensor, index), value);
  });
}

mote_status mote_tensor_from_dlpack(DLManagedTensor* managed, mote_tensor** tensor) {
  return guarded(__func__, [&] {
    mote_tensor*& result = given(tensor, "tensor");
    auto handle = std::make_unique<Tensor>();  // allocated first: ownership that was taken cannot
                                               // be given back
    *handle = import_dlpack(&given(managed, "managed"));
    result = reinterpret_cast<mote_tensor*>(handle.release());
  });
}

mote_status mote_tensor_to_dlpack(const mote_tensor* x, DLManagedTensor** managed) {
  return guarded(__func__, [&] {
    auto& result = given(managed, "managed");  // checked before there is something to lose
    result = export_dlpack(tensor_of(x));
  });
}

mote_status mote_tensor_read_npy(const char* path, mote_tensor** tensor) {
  return guarded(__func__, [&] {
    auto& result = given(tensor, "tensor");
    result = handle_of(read_npy(&given(path, "path")));
  });
}

mote_status mote_tensor_write_npy(const mote_tensor* x, const char* path) {
  return guarded(__func__, [&] { write_npy(&given(path, "path"), tensor_of(x)); });
}
