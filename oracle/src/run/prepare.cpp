// SPDX-License-Identifier: Apache-2.0
// Prepares the data of a case: elements from its fill, and the reference's outputs.
#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "case/indices.h"
#include "case/set_elements.h"
#include "generate/forward.h"
#include "mote/base/error.h"
#include "run/prepared_state.h"
#include "run/words.h"

namespace mote {
namespace {

/// The distinct elements, each wherever the tensor repeats it.
Dense repeated(const Dense& of, const std::vector<std::int64_t>& distinct, const CaseTensor& t) {
  std::vector<std::int64_t> strides = place(distinct, {}).strides;
  for (const int axis : t.layout.repeated) strides[static_cast<std::size_t>(axis)] = 0;
  Dense values(t.dtype, volume(t.shape));
  with_words(t.dtype, of.data(), [&](const auto* from) {
    auto* to = static_cast<std::remove_cvref_t<decltype(*from)>*>(values.data());
    for_each_element(t.shape, strides,
                     [&](std::int64_t linear, std::int64_t at) { to[linear] = from[at]; });
  });
  return values;
}

/// True for each input whose data a requested output needs.
std::vector<bool> read_by_asked(const Case& c) {
  std::vector<Uop> values;
  for (std::size_t k = 0; k < c.outputs.size(); ++k)
    if (!c.outputs[k].left_out) values.push_back(c.program->outputs[k].value);
  const std::vector<Uop> nodes = topological(values);
  std::vector<bool> read;
  for (const Uop& input : c.program->inputs)
    read.push_back(std::ranges::find(nodes, input.id(), &Uop::id) != nodes.end());
  return read;
}

}  // namespace

/// Along repeating axes, each element is that of index 0.
Dense filled_input(const Case& c, std::size_t k, std::int64_t radius) {
  const CaseTensor& t = c.inputs[k];
  std::vector<std::int64_t> distinct = t.shape;
  for (const int axis : t.layout.repeated) {
    auto& extent = distinct[static_cast<std::size_t>(axis)];
    extent = std::min<std::int64_t>(extent, 1);
  }
  const Filler filler(c.fill,
                      {t.name, t.dtype, static_cast<int>(k), static_cast<int>(c.inputs.size()),
                       volume(distinct), distinct},
                      radius);
  Dense values(t.dtype, volume(distinct));
  filler.store(values.data(), values.count());
  if (!t.layout.repeated.empty()) values = repeated(values, distinct, t);
  restrict_indices(c, k, c.indices, values);
  apply_set(c, t, values);
  return values;
}

std::vector<Dense> filled_inputs(const Case& c, std::int64_t radius) {
  std::vector<Dense> inputs;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) inputs.push_back(filled_input(c, k, radius));
  compute_given_outputs(c, inputs);
  return inputs;
}

Prepared::Prepared(Case c, CaseRunOptions options)
    : case_(std::move(c)), options_(std::move(options)), state_(std::make_unique<State>()) {
  memory_ = check_memory(case_, options_.memory_limit, options_.isolation != nullptr);
  try {
    prepare();
  } catch (const std::bad_alloc&) {
    throw Error(case_.target->op() + ": out of memory");
  }
}

void Prepared::prepare() {
  judgement_ = judge(*case_.program, case_.binding, case_.fill.kind);
  multiply_adds_ = mote::multiply_adds(*case_.program, case_.binding);
  state_->reference = reference_for(case_);
  const std::size_t bytes = state_->reference->bytes(case_);
  const std::string refusal = memory_.refusal("the reference", bytes);
  if (!refusal.empty()) throw Error(fmt::format("{}: {}", case_.target->op(), refusal));
  state_->read = read_by_asked(case_);
}

/// Fills the inputs once, and not before a kernel takes the case.
void Prepared::fill_inputs() {
  if (state_->inputs.empty()) state_->inputs = filled_inputs(case_, judgement_.radius);
}

std::string Prepared::State::compute_expected(const Case& c) {
  if (!expected.empty()) return "";
  try {
    for (const CaseTensor& t : c.outputs) expected.emplace_back(t.dtype, volume(t.shape));
    reference->run(c, inputs, expected);
  } catch (const Error& e) {
    expected.clear();
    return e.what();
  } catch (const std::bad_alloc&) {
    expected.clear();
    return "the reference ran out of memory";
  }
  return "";
}

}  // namespace mote
