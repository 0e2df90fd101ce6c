// SPDX-License-Identifier: Apache-2.0
// Turns the options of mote_python.h into a campaign on one backend, and its result into reports and
// tensors.
#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../oracle/tool/host.h"
#include "../../oracle/tool/reports/reports.h"
#include "../../runtime/core/src/c/guard.h"
#include "call.h"
#include "interrupt.h"
#include "isolate/launch.h"
#include "judge/bounds.h"
#include "judge/reference.h"
#include "mote/oracle/campaign.h"
#include "mote/oracle/contract.h"
#include "mote/oracle/isolation.h"
#include "mote/oracle/reference_values.h"
#include "mote/oracle/report.h"
#include "mote/oracle/resolve.h"
#include "mote_python.h"
#include "run/prepared_state.h"

struct mote_py_result {
  mote::CampaignResult campaign;
  mote::tool::Heading heading;
  std::string replay;
  std::string text;
  std::vector<const mote_kernel*> kernels;  ///< of the backend, for their contracts
  std::string name;                         ///< names that a caller asked for last
};

namespace mote::python {
namespace {

constexpr double kStartSeconds = 120;  ///< to import what the subject needs

std::vector<std::string> texts(const char* const* from, std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t k = 0; k < count; ++k) all.emplace_back(&c::given(from[k], "a text"));
  return all;
}

CampaignOptions campaign_of(const mote_backend& backend, const mote_py_options& o) {
  CampaignOptions campaign;
  campaign.ops = {std::string(&c::given(o.op, "op"))};
  campaign.backends = {{&backend, "", "built in"}};
  for (const std::string& dtype : texts(o.dtypes, o.dtype_count))
    campaign.dtypes.push_back(require_dtype(dtype));
  for (const std::string& text : texts(o.cases, o.case_count))
    campaign.cases.push_back(parse_case(text));
  for (std::size_t k = 0; k < o.extent_count; ++k)
    campaign.extents[std::string(&c::given(o.extents[k].axis, "axis"))] = o.extents[k].extent;
  if (o.budget_s >= 0) campaign.budget_s = o.budget_s;
  if (o.count >= 0) campaign.count = o.count;
  if (o.shrink_s >= 0) campaign.shrink_s = o.shrink_s;
  if (o.max_failures > 0) campaign.max_failures = o.max_failures;
  campaign.seed = o.seed;
  campaign.run.keep_outputs = true;
  campaign.run.stop = &Interrupt::noted();
  if (o.limit_s > 0) campaign.run.limit_s = o.limit_s;
  if (o.warm_up_s >= 0) campaign.run.warm_up_s = o.warm_up_s;
  if (o.progress != nullptr) {
    campaign.progress = [stop = o.progress](const CampaignProgress&) {
      if (stop() != 0) Interrupt::noted() = SIGINT;
    };
  }
  return campaign;
}

tool::Heading heading_of(const mote_backend& backend, const CampaignOptions& campaign) {
  tool::Heading heading;
  heading.version = mote_version();
  heading.seed = campaign.seed;
  heading.backends = {fmt::format("{} {}", backend.name, backend.version)};
  heading.contracts = contract_lines(backend, {find_target(campaign.ops.front())->op()});
  heading.date = tool::date_text();
  heading.command = tool::command_text();
  heading.host = tool::host_text();
  heading.host_name = tool::host_name();
  return heading;
}

/// The case as a program of Python's runs it again: its function is no backend that text can name.
std::string case_text(const Case& of) {
  Case c = of;
  c.backend.clear();
  c.plugin.clear();
  return to_string(c);
}

std::string replay_of(const std::string& pattern, const Case& c) {
  constexpr std::string_view kPlace = "{case}";
  std::string text = pattern;
  if (const std::size_t at = text.find(kPlace); at != std::string::npos)
    text.replace(at, kPlace.size(), case_text(c));
  return text;
}

std::string json_of(const CampaignResult& campaign) {
  std::string text = table_json(campaign);
  for (const Failure& f : campaign.failures) text += failure_json(f);
  return text;
}

std::string words_of(const mote_py_result& r) {
  std::string text;
  const FailureStyle style{
      .screen = {}, .counted = true, .replay = [&](const Case& c) { return replay_of(r.replay, c); }};
  for (const Failure& f : r.campaign.failures) text += failure_text(f, style);
  return text;
}

const mote_contract* contract_for(const mote_py_result& r, const Case& c) {
  for (const mote_kernel* k : r.kernels)
    if (c.target->op() == k->op) return k->contract;
  return nullptr;
}

Tensor tensor_of(const TensorValues& values) {
  Tensor y(values.dtype, AxisList(values.shape));
  if (!values.elements.empty())
    std::memcpy(y.data(), values.elements.data(), values.elements.size());
  return y;
}

/// The reference's values of the case, or an end of its bound.
Tensor computed(const mote_py_result& r, const Case& c, int32_t which, std::size_t k) {
  std::vector<Dense> inputs = filled_inputs(c, judge(*c.program, c.binding, c.fill.kind).radius);
  const AxisList shape(c.outputs[k].shape);
  if (which == MOTE_PY_EXPECTED) {
    std::vector<Dense> outputs;
    for (const CaseTensor& t : c.outputs) outputs.emplace_back(t.dtype, volume(t.shape));
    reference_for(c)->run(c, inputs, outputs);
    return tensor_of_dense(outputs[k], shape);
  }
  const Interval bound = std::move(BoundOf::make(c, contract_for(r, c))->compute(c, inputs).at(k));
  if (bound.certain()) throw StatusError(MOTE_UNSUPPORTED, c.outputs[k].name + " must be exact");
  const Dense& wide = bound.ends[which == MOTE_PY_UPPER ? 1 : 0];
  Dense end(c.outputs[k].dtype, wide.count());
  for (std::int64_t at = 0; at < wide.count(); ++at)
    end.set(at, store_as(wide.at(at), end.dtype()));
  return tensor_of_dense(end, shape);
}

Tensor values(mote_py_result& r, const Failure& f, int32_t which, std::size_t k) {
  const Case& c = f.smallest;
  const std::vector<CaseTensor>& tensors = which == MOTE_PY_INPUT ? c.inputs : c.outputs;
  if (k >= tensors.size()) throw StatusError(MOTE_INVALID, "there is no such tensor");
  r.name = tensors[k].name;
  if (which == MOTE_PY_INPUT) return tensor_of(reference_values(c).inputs.at(k));
  if (tensors[k].left_out)
    throw StatusError(MOTE_UNSUPPORTED, r.name + " is left out of this call");
  if (which != MOTE_PY_GOT) return computed(r, c, which, k);
  if (f.outcome.got == nullptr || k >= f.outcome.got->size())
    throw StatusError(MOTE_UNSUPPORTED, "the subject gave no outputs");
  return tensor_of((*f.outcome.got)[k]);
}

}  // namespace
}  // namespace mote::python

extern "C" {

mote_status mote_py_check(const mote_backend* backend, const mote_py_options* options,
                          mote_py_result** result) {
  using namespace mote;
  return c::guarded("mote_py_check", [&] {
    const mote_py_options o = c::sized(c::given(options, "options"));
    c::given(result, "result");
    check_contracts("the function", c::given(backend, "backend"));
    const python::Interrupt interrupt;
    CampaignOptions campaign = python::campaign_of(*backend, o);
    if (o.worker_words > 0)
      campaign.run.isolation = std::make_shared<Isolation>(
          python::texts(o.worker, static_cast<std::size_t>(o.worker_words)), python::kStartSeconds);
    auto made = std::make_unique<mote_py_result>();
    made->heading = python::heading_of(*backend, campaign);
    made->replay = o.replay != nullptr ? o.replay : "{case}";
    for (int32_t k = 0; k < backend->kernel_count; ++k) made->kernels.push_back(&backend->kernels[k]);
    made->campaign = run_campaign(campaign);
    made->campaign.coverage = coverage_of(campaign, made->campaign);
    made->heading.exit = exit_code(made->campaign, campaign.backends, false);
    *result = made.release();
  });
}

void mote_py_interrupt(void) { mote::python::Interrupt::noted() = SIGINT; }

void mote_py_result_free(mote_py_result* result) { delete result; }

mote_status mote_py_result_report(mote_py_result* result, int32_t format, const char** text) {
  return mote::c::guarded("mote_py_result_report", [&] {
    mote_py_result& r = mote::c::given(result, "result");
    r.text = format == MOTE_PY_JSON   ? mote::python::json_of(r.campaign)
             : format == MOTE_PY_TEXT ? mote::python::words_of(r)
                                      : mote::tool::html_page(r.heading, r.campaign);
    *text = r.text.c_str();
  });
}

mote_status mote_py_result_tensor(mote_py_result* result, size_t failure, int32_t values, size_t k,
                                  const char** name, mote_tensor** tensor) {
  return mote::c::guarded("mote_py_result_tensor", [&] {
    mote_py_result& r = mote::c::given(result, "result");
    if (failure >= r.campaign.failures.size())
      throw mote::StatusError(MOTE_INVALID, "there is no such failure");
    const mote::Tensor made = mote::python::values(r, r.campaign.failures[failure], values, k);
    *name = r.name.c_str();
    *tensor = mote::c::handle_of(made);
  });
}

void mote_py_serve(const char* given, const mote_backend* backend,
                   int32_t (*fork_process)(int32_t socket)) {
  mote::isolate::serve_workers(given, *backend, fork_process);
}

void mote_py_serve_one(const char* given, int32_t socket, const mote_backend* backend) {
  mote::isolate::serve_worker(given, socket, *backend);
}

}  // extern "C"
