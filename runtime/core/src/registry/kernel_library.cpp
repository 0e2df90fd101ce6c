// SPDX-License-Identifier: Apache-2.0
#include "registry/kernel_library.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "mote/base/dtype.h"
#include "mote/runtime/axes.h"
#include "mote/runtime/status.h"
#include "registry/size_program.h"

namespace mote {
namespace {

/// Reports an error and its subject. A table has thousands of entries: the text is made for errors
/// only.
class Checker {
 public:
  Checker(const char* library, const char* kind, const char* name)
      : library_(library), kind_(kind), name_(name) {}

  void require(bool holds, const char* what) const {
    if (holds) return;
    throw StatusError(MOTE_INVALID, "library " + std::string(library_) + ": " + kind_ + name_ +
                                        (*kind_ != '\0' ? ": " : "") + what);
  }
  template <typename T>
  void require_list(const T* list, std::int32_t count, const char* what) const {
    require(count == 0 || (count > 0 && list != nullptr), what);
  }

 private:
  const char* library_;
  const char* kind_;
  const char* name_;
};

void check_tensors(const Checker& op, const mote_op_tensor* tensors, std::int32_t count) {
  for (std::int32_t k = 0; k < count; ++k) {
    const mote_op_tensor& t = tensors[k];
    op.require(t.name != nullptr, "a tensor has no name");
    const bool known =
        t.dtype != nullptr && (std::string_view(t.dtype) == "T" || parse_dtype(t.dtype));
    op.require(known, "a tensor's dtype is neither T nor one of mote's");
    op.require(t.rank >= 0 && t.rank <= kMaxAxes, "a tensor's rank is out of range");
    op.require_list(t.axes, t.rank, "a tensor has no list of axes");
    for (std::int32_t axis = 0; axis < t.rank; ++axis) {
      op.require(t.axes[axis] != nullptr, "a tensor has an axis without a text");
      const char* fault = size_fault(t, axis);
      op.require(fault == nullptr, fault);
    }
  }
}

void check_op(const char* library, const mote_op_definition& d) {
  Checker(library, "", "").require(d.name != nullptr && *d.name != '\0', "an op has no name");
  const Checker op(library, "op ", d.name);
  op.require(d.family != nullptr && *d.family != '\0', "it has no family");
  op.require_list(d.inputs, d.input_count, "its list of inputs is missing");
  op.require_list(d.outputs, d.output_count, "its list of outputs is missing");
  op.require_list(d.params, d.param_count, "its list of parameters is missing");
  op.require_list(d.in_place, d.pair_count, "its list of in-place pairs is missing");
  check_tensors(op, d.inputs, d.input_count);
  check_tensors(op, d.outputs, d.output_count);
  for (std::int32_t k = 0; k < d.param_count; ++k)
    op.require(d.params[k].name != nullptr, "a parameter has no name");
  for (std::int32_t k = 0; k < d.pair_count; ++k) {
    const auto [input, output] = d.in_place[k];
    op.require(input >= 0 && input < d.input_count && output >= 0 && output < d.output_count,
               "an in-place pair is out of range");
  }
}

void check_kernel(const char* library, const mote_generated_kernel& k) {
  Checker(library, "", "")
      .require(k.op != nullptr && k.variant != nullptr, "a kernel has no op or no variant");
  const Checker kernel(library, "a kernel of ", k.op);
  kernel.require(k.dtype != nullptr && parse_dtype(k.dtype), "its dtype is none of mote's");
  kernel.require(k.kernel.size >= sizeof(mote_kernel) && k.kernel.op != nullptr,
                 "its mote_kernel is too small or has no op");
  kernel.require(k.kernel.contract != nullptr, "it has no contract");
  kernel.require(k.kernel.can_run != nullptr && k.kernel.run != nullptr,
                 "can_run or run is missing");
}

}  // namespace

void check_library(const mote_kernel_library& library) {
  if (library.name == nullptr) throw StatusError(MOTE_INVALID, "library: it has no name");
  const Checker all(library.name, "", "");
  all.require_list(library.ops, library.op_count, "its list of ops is missing");
  all.require_list(library.kernels, library.kernel_count, "its list of kernels is missing");
  all.require_list(library.gradients, library.gradient_count, "its list of gradients is missing");
  for (const mote_op_definition& op : ops_of(library)) check_op(library.name, op);
  for (const mote_generated_kernel& kernel : kernels_of(library))
    check_kernel(library.name, kernel);
  for (const mote_op_gradient& g : gradients_of(library))
    all.require(g.op != nullptr && g.gradient != nullptr, "a gradient has no op or no name");
}

}  // namespace mote
