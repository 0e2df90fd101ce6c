// SPDX-License-Identifier: Apache-2.0
// Runs a subject twice, and turns the results into a verdict.
#include "mote/oracle/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <nlohmann/json.hpp>

#include "case/indices.h"
#include "isolate/crash.h"
#include "judge/compare.h"
#include "judge/form.h"
#include "judge/outcome.h"
#include "mote/base/error.h"
#include "mote/base/for_shell.h"
#include "mote/base/kernel_call.h"
#include "mote/base/plugin.h"
#include "mote/oracle/reference_values.h"
#include "report/json_line.h"
#include "run/prepared_state.h"
#include "run/scan.h"

namespace mote {
namespace {

constexpr std::int64_t kWorkspaceGuard = 256;

/// The time after which a run in this process hangs: two minutes, plus a second for every 10
/// million multiply-adds.
unsigned timeout_seconds(double multiply_adds) {
  return static_cast<unsigned>(std::min(120 + multiply_adds / 1e7, 1e6));
}

CrashText crash_text(const Case& c, bool json) {
  const std::string line = to_string(c);
  if (!json) {
    return {"\ncrashed: ",
            fmt::format(" in {}: {}\n  replay: {}\n", c.backend, line, replay_command(c))};
  }
  const std::string tail = json_text(nlohmann::json{{"case", line}, {"replay", replay_command(c)}});
  return {R"({"type":"crash","signal":")", "\"," + tail.substr(1) + "\n"};
}

}  // namespace

Prepared::~Prepared() = default;
Prepared::Prepared(Prepared&&) noexcept = default;

const std::string& Prepared::reference() const { return state_->reference->kind; }

double time_limit(double multiply_adds) { return std::min(10 + multiply_adds / 1e7, 1e6); }

Outcome Prepared::run(const mote_backend& backend, const std::string& plugin) {
  try {
    if (options_.isolation) return run_isolated(backend);
    Outcome outcome = run_here(backend, plugin);
    // The user's signal may have ended the subject's own work.
    if (options_.stopping() && outcome.verdict != Verdict::passed) throw Interrupted();
    return outcome;
  } catch (const std::bad_alloc&) {
    return outcome_of(Verdict::skipped, "out of memory");
  } catch (const Error& e) {  // no memory for the tensors, or no worker
    return outcome_of(Verdict::skipped, e.what());
  }
}

Outcome Prepared::run_here(const mote_backend& backend, const std::string& plugin) {
  Case subject = case_;
  subject.backend = backend.name;
  subject.plugin = plugin;
  std::optional<CrashGuard> guard;
  if (options_.guard_crashes) {
    guard.emplace(crash_text(subject, options_.json), timeout_seconds(multiply_adds_));
  }
  State& s = *state_;
  if (!s.local) {
    s.local =
        s.bench(case_, [](const CaseTensor& t, Role role, std::size_t) { return Buffer(t, role); });
  }
  CallFrame frame(case_, s.local->input_tensors(), s.local->output_tensors(case_));
  const KernelChoice choice = choose_kernel(backend, frame.call());
  if (choice.kernel == nullptr) return outcome_of(Verdict::declined, choice.reason);
  return run_kernel(*choice.kernel, frame, guard);
}

std::optional<Outcome> Prepared::refusal(const mote_contract& contract,
                                         std::size_t workspace) const {
  // A contract describes the catalogue's op: it says nothing about another program under its name.
  if (const std::string misfit = form_misfit(case_, &contract); !misfit.empty())
    return outcome_of(record_of(case_) != nullptr ? Verdict::failed : Verdict::declined, misfit);
  if (ignores_nan(contract) && std::ranges::any_of(state_->inputs, has_special))
    return outcome_of(Verdict::declined, "its contract leaves NaN and infinities out");
  if (const std::string misfit = index_misfit(case_, state_->inputs, indices_of(contract));
      !misfit.empty())
    return outcome_of(Verdict::declined, misfit);
  for (std::size_t k = 0; k < case_.outputs.size(); ++k) {
    const CaseTensor& y = case_.outputs[k];
    if (!shared_input(case_, y)) continue;
    if (!promises_in_place(contract, case_.target->input_position(y.in_place), static_cast<int>(k)))
      return outcome_of(
          Verdict::declined,
          fmt::format("its contract does not let {} take the memory of {}", y.name, y.in_place));
  }
  if (const std::string reason = memory_.refusal("workspace", workspace); !reason.empty())
    return outcome_of(Verdict::skipped, reason);
  return std::nullopt;
}

bool Prepared::is_taken_by(const mote_backend& backend) {
  try {
    if (options_.isolation) return is_taken_in_worker(backend);
    Bench bench = state_->bench(
        case_, [](const CaseTensor& t, Role role, std::size_t) { return Buffer(t, role); });
    const CallFrame frame(case_, bench.input_tensors(), bench.output_tensors(case_));
    const KernelChoice choice = choose_kernel(backend, frame.call());
    return choice.kernel != nullptr && !is_declined(*choice.kernel->contract);
  } catch (const std::bad_alloc&) {
    return true;  // running it reports the problem
  } catch (const Error&) {
    return true;
  }
}

bool Prepared::is_declined(const mote_contract& contract) {
  if (ignores_nan(contract)) fill_inputs();
  const auto refused = refusal(contract, 0);
  return refused && refused->verdict == Verdict::declined;
}

Outcome Prepared::run_kernel(const mote_kernel& kernel, CallFrame& frame,
                             std::optional<CrashGuard>& guard) {
  fill_inputs();
  Bench& bench = *state_->local;
  if (workspace_of(kernel, frame.call(), bench.workspace_bytes) != MOTE_OK)
    return outcome_of(Verdict::failed, fmt::format("workspace_bytes: {}", frame.message()));
  if (auto refused = refusal(*kernel.contract, bench.workspace_bytes)) return *refused;
  Dense workspace(DType::boolean,
                  static_cast<std::int64_t>(bench.workspace_bytes) + kWorkspaceGuard);
  bench.workspace = {workspace.data(), workspace.count(), 0};
  bool is_second = false;
  SubjectRun subject_run(case_, bench, frame, [&](const mote_call& call) {
    const mote_status status =
        is_second ? run_accepted(kernel, call) : mote::run_kernel(kernel, call, nullptr);
    is_second = true;
    return CallResult{status, frame.message(), std::nullopt};
  });
  const RunResult first = subject_run.run(state_->inputs, Poison::first);
  if (auto nothing = without_result(first)) return *nothing;
  const RunResult second = subject_run.run(state_->inputs, Poison::second);
  guard.reset();
  return judged(first, second, kernel.contract);
}

/// The intervals of the contract and form, kept for each kind.
const std::vector<Interval>& Prepared::intervals(const mote_contract* contract,
                                                 std::string_view form, bool open_infinities) {
  State& s = *state_;
  State::Bounded& kept =
      open_infinities ? s.of_infinities : (form == kDirect ? s.of_definition : s.of_form);
  auto bound = BoundOf::make(case_, contract, form, open_infinities);
  if (bound == kept.bound) return kept.intervals;
  const std::string refusal = memory_.refusal("the bound", bound->bytes(case_));
  if (!refusal.empty()) throw Error(fmt::format("{}: {}", case_.target->op(), refusal));
  kept.intervals = bound->compute(case_, s.inputs);
  kept.bound = std::move(bound);
  return kept.intervals;
}

Outcome Prepared::judged(const RunResult& first, const RunResult& second,
                         const mote_contract* contract) {
  State& s = *state_;
  if (const std::string reason = s.compute_expected(case_); !reason.empty())
    return outcome_of(Verdict::skipped, reason);
  const RunResult& damaged = !first.damage.empty() ? first : second;
  const std::string_view form = form_of(contract);
  using Intervals = std::function<const std::vector<Interval>&()>;
  // It is called for each element that differs, and looks the intervals up once.
  const auto with_form = [&](std::string_view of, bool open_infinities) -> Intervals {
    return [this, contract, of, open_infinities,
            found = static_cast<const std::vector<Interval>*>(
                nullptr)]() mutable -> const std::vector<Interval>& {
      if (found == nullptr) found = &intervals(contract, of, open_infinities);
      return *found;
    };
  };
  const OpRecord* record = record_of(case_);
  const bool is_gradient = record != nullptr && gradient_order(*record) > 0;
  try {
    Outcome outcome = compare({.of = case_,
                    .inputs = s.inputs,
                    .expected = s.expected,
                    .first = first.outputs,
                    .second = second.outputs,
                    .intervals = with_form(form, false),
                    .of_definition = form != kDirect ? with_form(kDirect, false) : Intervals(),
                    .at_infinities = is_gradient ? with_form(kDirect, true) : Intervals(),
                    .damage = damaged.damage,
                    .damage_verdict = damaged.damage_verdict,
                    .status_of_second = second.status,
                    .message_of_second = second.message,
                    .is_given = options_.is_given,
                    .deterministic = contract == nullptr || contract->deterministic != 0});
    if (options_.keep_outputs && is_failure(outcome.verdict))
      outcome.got = std::make_shared<const std::vector<TensorValues>>(
          values_of(case_.outputs, first.outputs));
    return outcome;
  } catch (const Error& e) {  // no memory for the bound, or it cannot be computed
    return outcome_of(Verdict::skipped, e.what());
  }
}

std::string& replay_program() {
  static std::string program = "mote";
  return program;
}

std::string replay_command(const Case& c) {
  return fmt::format("{} replay {}", for_shell(replay_program()), for_shell(to_string(c)));
}

}  // namespace mote
