// SPDX-License-Identifier: Apache-2.0
// The functions of mote_python.h about tensors that the caller has.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../runtime/core/src/c/guard.h"
#include "call.h"
#include "judge/compare.h"
#include "mote/base/kernel_call.h"
#include "mote/base/near_names.h"
#include "mote/oracle/contract.h"
#include "mote/oracle/report.h"
#include "mote/uops/bound.h"
#include "mote/uops/element.h"
#include "mote_python.h"

struct mote_py_call {
  mote::python::Call call;
  std::optional<std::vector<mote::Interval>> direct, of_form;
  std::shared_ptr<const mote::BoundOf> bound, form_bound;
  mote_contract contract{};
  std::string form;
  std::vector<std::unique_ptr<std::string>> names;  ///< of `functions`
  std::vector<mote_accuracy> functions;
  std::string text;
};

namespace mote::python {
namespace {

/// The intervals of the definition, or of the form that the contract names; computed once.
const std::vector<Interval>& intervals(mote_py_call& c, bool of_form) {
  auto& kept = of_form ? c.of_form : c.direct;
  if (kept) return *kept;
  auto& bound = of_form ? c.form_bound : c.bound;
  bound = of_form ? BoundOf::make(c.call.of, &c.contract)
                  : BoundOf::make(c.call.of, &c.contract, kDirect);
  kept = bound->compute(c.call.of, c.call.inputs);
  return *kept;
}

Dense end_of(mote_py_call& c, std::size_t k, bool upper) {
  const bool has_form = form_of(&c.contract) != kDirect;
  const Interval& x = intervals(c, has_form).at(k);
  const CaseTensor& t = c.call.of.outputs[k];
  if (x.certain()) throw StatusError(MOTE_UNSUPPORTED, t.name + " must be exact");
  const Dense& wide = x.ends[upper ? 1 : 0];
  Dense end(t.dtype, wide.count());
  for (std::int64_t at = 0; at < wide.count(); ++at) end.set(at, store_as(wide.at(at), t.dtype));
  return end;
}

void check_output(const CaseTensor& t, const AxisList& shape, const Tensor& got) {
  if (got.dtype() == t.dtype && got.shape() == shape) return;
  throw Error(fmt::format("{}: expected {}{}, got {}", t.name, mote::name(t.dtype),
                          to_string(shape), describe(got)));
}

Outcome outcome_of(mote_py_call& c, const mote_tensor* const* outputs, std::size_t count) {
  Call& call = c.call;
  if (count > call.of.outputs.size())
    throw Error(fmt::format("{}: it has {} outputs, got {}", call.of.target->op(),
                            call.of.outputs.size(), count));
  std::vector<Dense> got;
  for (std::size_t k = 0; k < call.of.outputs.size(); ++k) {
    if (k >= count || outputs[k] == nullptr) {
      got.push_back(dense_of(tensor_of_dense(call.expected[k], call.output_shapes[k])));
      continue;
    }
    const Tensor& y = c::tensor_of(outputs[k]);
    check_output(call.of.outputs[k], call.output_shapes[k], y);
    got.push_back(dense_of(y));
  }
  const bool has_form = form_of(&c.contract) != kDirect;
  using Intervals = std::function<const std::vector<Interval>&()>;
  const auto of = [&](bool form) {
    return Intervals([&c, form]() -> const std::vector<Interval>& { return intervals(c, form); });
  };
  return compare({.of = call.of,
                  .inputs = call.inputs,
                  .expected = call.expected,
                  .first = got,
                  .second = got,
                  .intervals = of(has_form),
                  .of_definition = has_form ? of(false) : Intervals(),
                  .at_infinities = Intervals(),
                  .damage = "",
                  .damage_verdict = Verdict::failed,
                  .status_of_second = MOTE_OK,
                  .is_given = true,
                  .deterministic = false});
}

/// Keeps a copy of the contract, whose texts the caller may free.
void keep(mote_py_call& c, const mote_contract* given) {
  if (given == nullptr) {
    c.contract.size = sizeof c.contract;
    c.contract.form = "direct";
    return;
  }
  std::memcpy(&c.contract, given, std::min(given->size, sizeof c.contract));
  c.contract.size = sizeof c.contract;
  c.form = form_of(given);
  c.contract.form = c.form.c_str();
  const std::vector<std::string> known = contract_functions();
  for (mote_accuracy f : accuracies_of(*given)) {
    const auto at = std::ranges::find(known, f.function);
    if (at == known.end()) {
      const std::vector<std::string> near = near_names(f.function, known);
      throw Error(fmt::format("contract: unknown function '{}' ({}: {})", f.function,
                              near.empty() ? "known" : "did you mean",
                              fmt::join(near.empty() ? known : near, ", ")));
    }
    c.names.push_back(std::make_unique<std::string>(f.function));
    f.function = c.names.back()->c_str();
    c.functions.push_back(f);
  }
  c.contract.functions = c.functions.data();
  c.contract.in_place_count = 0;
  c.contract.in_place = nullptr;
}

}  // namespace
}  // namespace mote::python

extern "C" {

mote_status mote_py_call_create(const char* command, const mote_tensor* const* inputs,
                                size_t input_count, const mote_contract* contract,
                                mote_py_call** call) {
  return mote::c::guarded("mote_py_call_create", [&] {
    mote::c::given(call, "call");
    std::vector<const mote::Tensor*> tensors;
    for (size_t k = 0; k < input_count; ++k)
      tensors.push_back(inputs[k] != nullptr ? &mote::c::tensor_of(inputs[k]) : nullptr);
    auto made = std::make_unique<mote_py_call>();
    made->call = mote::python::call_of(std::string(&mote::c::given(command, "command")), tensors);
    mote::python::keep(*made, contract);
    *call = made.release();
  });
}

void mote_py_call_free(mote_py_call* call) { delete call; }

mote_status mote_py_call_output(mote_py_call* call, int32_t values, size_t k, const char** name,
                                mote_tensor** tensor) {
  return mote::c::guarded("mote_py_call_output", [&] {
    mote_py_call& c = mote::c::given(call, "call");
    if (k >= c.call.of.outputs.size())
      throw mote::StatusError(MOTE_INVALID, "there is no such output");
    if (name != nullptr) *name = c.call.of.outputs[k].name.c_str();
    const mote::AxisList& shape = c.call.output_shapes.at(k);
    const mote::Tensor made = values == MOTE_PY_EXPECTED
                                  ? mote::python::tensor_of_dense(c.call.expected[k], shape)
                                  : mote::python::tensor_of_dense(
                                        mote::python::end_of(c, k, values == MOTE_PY_UPPER), shape);
    *tensor = mote::c::handle_of(made);
  });
}

mote_status mote_py_call_judge(mote_py_call* call, const mote_tensor* const* outputs,
                               size_t output_count, int32_t* passed, const char** text) {
  return mote::c::guarded("mote_py_call_judge", [&] {
    mote_py_call& c = mote::c::given(call, "call");
    constexpr std::size_t kShown = 8;
    const mote::Outcome outcome = mote::python::outcome_of(c, outputs, output_count);
    *passed = mote::is_failure(outcome.verdict) ? 0 : 1;
    c.text = *passed != 0 ? "" : mote::differences_text(outcome, kShown);
    if (outcome.verdict == mote::Verdict::weak) c.text = outcome.reason;
    *text = c.text.c_str();
  });
}

}  // extern "C"
