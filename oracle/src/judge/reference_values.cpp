// SPDX-License-Identifier: Apache-2.0
#include "mote/oracle/reference_values.h"

#include <fmt/format.h>

#include <cstring>
#include <new>

#include "judge/reference.h"
#include "mote/base/error.h"
#include "mote/oracle/exactness.h"
#include "mote/oracle/memory.h"
#include "mote/uops/element.h"
#include "run/prepared_state.h"

namespace mote {
namespace {

TensorValues values_of(const CaseTensor& t, const Dense& dense) {
  TensorValues values{t.name, t.dtype, t.shape, {}};
  if (dense.count() == 0) return values;  // left out, or without elements
  values.elements.resize(static_cast<std::size_t>(dense.count()) * size_of(t.dtype));
  std::memcpy(values.elements.data(), dense.data(), values.elements.size());
  return values;
}

ReferenceValues computed(const Case& c, const Memory& memory) {
  const auto reference = reference_for(c);
  const std::string refusal = memory.refusal("the reference", reference->bytes(c));
  if (!refusal.empty()) throw Error(fmt::format("{}: {}", c.target->op(), refusal));
  std::vector<Dense> inputs = filled_inputs(c, judge(*c.program, c.binding, c.fill.kind).radius);
  std::vector<Dense> outputs;
  for (const CaseTensor& t : c.outputs) outputs.emplace_back(t.dtype, volume(t.shape));
  reference->run(c, inputs, outputs);
  ReferenceValues values;
  values.by = reference->kind;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    values.inputs.push_back(values_of(c.inputs[k], inputs[k]));
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (!c.outputs[k].left_out) values.outputs.push_back(values_of(c.outputs[k], outputs[k]));
  return values;
}

}  // namespace

std::vector<TensorValues> values_of(const std::vector<CaseTensor>& tensors,
                                    const std::vector<Dense>& dense) {
  std::vector<TensorValues> values;
  for (std::size_t k = 0; k < dense.size(); ++k) values.push_back(values_of(tensors[k], dense[k]));
  return values;
}

Number TensorValues::at(std::int64_t linear) const {
  return load_element(elements.data(), dtype, linear);
}

std::int64_t TensorValues::count() const { return volume(shape); }

ReferenceValues reference_values(const Case& c, std::optional<std::int64_t> memory_limit) {
  try {
    return computed(c, check_memory(c, memory_limit));
  } catch (const std::bad_alloc&) {
    throw Error(c.target->op() + ": out of memory");
  }
}

}  // namespace mote
