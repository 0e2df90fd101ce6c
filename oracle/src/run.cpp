// The two runs of a subject, and how their results become a verdict.
#include "mote/oracle/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <nlohmann/json.hpp>

#include "bounds.h"
#include "buffer.h"
#include "compare.h"
#include "crash.h"
#include "form.h"
#include "forward.h"
#include "mote/base/error.h"
#include "mote/base/kernel_call.h"
#include "mote/base/plugin.h"
#include "prepared_state.h"
#include "reference.h"
#include "subject_run.h"

namespace mote {
namespace {

/// A run that takes longer hangs: two minutes, and what 10 million multiply-adds a second take.
unsigned timeout_seconds(double multiply_adds) {
  return static_cast<unsigned>(std::min(120 + multiply_adds / 1e7, 1e6));
}

/// Elements that a fill gives, axes that repeat held at 0.
Dense filled(const Case& c, std::size_t k, std::int64_t radius) {
  const CaseTensor& t = c.inputs[k];
  std::vector<std::int64_t> distinct = t.shape;
  for (const int axis : t.layout.repeated) {
    auto& extent = distinct[static_cast<std::size_t>(axis)];
    extent = std::min<std::int64_t>(extent, 1);
  }
  std::vector<std::int64_t> strides = place(distinct, {}).strides;
  for (const int axis : t.layout.repeated) strides[static_cast<std::size_t>(axis)] = 0;
  const Filler filler(
      c.fill,
      {t.name, t.dtype, static_cast<int>(k), static_cast<int>(c.inputs.size()), volume(distinct)},
      radius);
  Dense values(t.dtype, volume(t.shape));
  const bool real = is_real(t.dtype);
  for_each_element(t.shape, strides, [&](std::int64_t linear, std::int64_t at) {
    values.set(linear, real ? Number(filler.real(at)) : Number(filler.integer(at)));
  });
  return values;
}

/// Of which inputs the outputs that are asked for need the data.
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

bool has_special(const Dense& x) {
  if (!is_real(x.dtype())) return false;
  for (std::int64_t k = 0; k < x.count(); ++k)
    if (!std::isfinite(x.at(k).real())) return true;
  return false;
}

}  // namespace

std::vector<Dense> filled_inputs(const Case& c, std::int64_t radius) {
  std::vector<Dense> inputs;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) inputs.push_back(filled(c, k, radius));
  compute_given_outputs(c, inputs);
  return inputs;
}

namespace {

CrashText crash_text(const Case& c, bool json) {
  const std::string line = to_string(c);
  if (!json) {
    return {"\ncrashed: ",
            fmt::format(" in {}: {}\n  replay: {}\n", c.backend, line, replay_command(c))};
  }
  const std::string tail = nlohmann::json{{"case", line}, {"replay", replay_command(c)}}.dump();
  return {R"({"type":"crash","signal":")", "\"," + tail.substr(1) + "\n"};
}

}  // namespace

struct Prepared::State {
  std::vector<Dense> inputs;
  std::vector<Buffer> input_buffers;
  std::vector<Buffer> output_buffers;
  std::vector<Dense> expected;  ///< empty until needed
  std::shared_ptr<const Reference> reference;
  std::shared_ptr<const BoundOf> bound;  ///< of the contract of the kernel that ran last
  std::vector<Interval> intervals;       ///< of that bound; empty until needed

  static std::vector<DLTensor*> tensors(std::vector<Buffer>& buffers,
                                        const std::vector<CaseTensor>& of) {
    std::vector<DLTensor*> all;
    all.reserve(buffers.size());
    for (std::size_t k = 0; k < buffers.size(); ++k)
      all.push_back(of[k].left_out ? nullptr : buffers[k].tensor());
    return all;
  }

  /// Once; returns why it cannot be, or nothing.
  std::string compute_expected(const Case& c) {
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
};

Prepared::Prepared(Case c, CaseRunOptions options)
    : case_(std::move(c)), options_(options), state_(std::make_unique<State>()) {
  memory_ = check_memory(case_, options_.memory_limit);
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
  const std::vector<bool> read = read_by_asked(case_);
  state_->inputs = filled_inputs(case_, judgement_.radius);
  for (std::size_t k = 0; k < case_.inputs.size(); ++k) {
    state_->input_buffers.emplace_back(case_.inputs[k], Role::input);
    if (!read[k]) state_->input_buffers.back().tensor()->data = nullptr;
  }
  for (const CaseTensor& t : case_.outputs) state_->output_buffers.emplace_back(t, Role::output);
}

Prepared::~Prepared() = default;
Prepared::Prepared(Prepared&&) noexcept = default;

const std::string& Prepared::reference() const { return state_->reference->kind; }

Outcome Prepared::run(const mote_backend& backend, const std::string& plugin) {
  Case subject = case_;
  subject.backend = backend.name;
  subject.plugin = plugin;
  std::optional<CrashGuard> guard;
  if (options_.guard_crashes) {
    guard.emplace(crash_text(subject, options_.json), timeout_seconds(multiply_adds_));
  }
  State& s = *state_;
  CallFrame frame(case_, State::tensors(s.input_buffers, case_.inputs),
                  State::tensors(s.output_buffers, case_.outputs));
  const KernelChoice choice = choose_kernel(backend, frame.call());
  if (choice.kernel == nullptr) {
    Outcome outcome;
    outcome.verdict = Verdict::unsupported;
    outcome.reason = choice.reason;
    return outcome;
  }
  try {
    return run_kernel(*choice.kernel, frame, guard);
  } catch (const std::bad_alloc&) {
    Outcome outcome;
    outcome.reason = "out of memory";
    return outcome;
  }
}

Outcome Prepared::run_kernel(const mote_kernel& kernel, CallFrame& frame,
                             std::optional<CrashGuard>& guard) {
  State& s = *state_;
  Outcome outcome;
  outcome.reason = form_misfit(case_, kernel.contract);
  if (!outcome.reason.empty()) {
    outcome.verdict = Verdict::failed;
    return outcome;
  }
  std::size_t workspace = 0;
  if (workspace_of(kernel, frame.call(), workspace) != MOTE_OK) {
    outcome.verdict = Verdict::failed;
    outcome.reason = fmt::format("workspace_bytes: {}", frame.message());
    return outcome;
  }
  if (ignores_nan(*kernel.contract) && std::ranges::any_of(s.inputs, has_special)) {
    outcome.verdict = Verdict::unsupported;
    outcome.reason = "its contract leaves NaN and infinities out";
    return outcome;
  }
  outcome.reason = memory_.refusal("workspace", workspace);
  if (!outcome.reason.empty()) return outcome;
  SubjectRun subject_run(case_, kernel, workspace, frame, s.inputs, s.input_buffers,
                         s.output_buffers);
  const RunResult first = subject_run.run(Poison::first);
  if (first.status == MOTE_OUT_OF_MEMORY) {
    outcome.reason = "out of memory";
    return outcome;
  }
  if (first.status != MOTE_OK) {
    outcome.verdict = first.status == MOTE_UNSUPPORTED ? Verdict::unsupported : Verdict::failed;
    outcome.reason = fmt::format("run returned status {}: {}", int{first.status}, first.message);
    return outcome;
  }
  const RunResult second = subject_run.run(Poison::second);
  guard.reset();
  outcome.reason = s.compute_expected(case_);
  if (!outcome.reason.empty()) return outcome;
  const mote_contract* contract = kernel.contract;
  try {
    return judged(first, second, contract);
  } catch (const Error& e) {  // no room for the bound, or it cannot be computed
    outcome.reason = e.what();
    return outcome;
  }
}

/// The intervals of the contract, computed once.
const std::vector<Interval>& Prepared::intervals(const mote_contract* contract) {
  State& s = *state_;
  auto bound = BoundOf::make(case_, contract);
  if (bound == s.bound) return s.intervals;
  const std::string refusal = memory_.refusal("the bound", bound->bytes(case_));
  if (!refusal.empty()) throw Error(fmt::format("{}: {}", case_.target->op(), refusal));
  s.intervals = bound->compute(case_, s.inputs);
  s.bound = std::move(bound);
  return s.intervals;
}

Outcome Prepared::judged(const RunResult& first, const RunResult& second,
                         const mote_contract* contract) {
  State& s = *state_;
  return compare(
      {.of = case_,
       .inputs = s.inputs,
       .expected = s.expected,
       .first = first.outputs,
       .second = second.outputs,
       .intervals = [&]() -> const std::vector<Interval>& { return intervals(contract); },
       .damage = !first.damage.empty() ? first.damage : second.damage,
       .status_of_second = second.status,
       .deterministic = contract == nullptr || contract->deterministic != 0});
}

std::string replay_command(const Case& c) {
  std::string quoted;
  for (const char ch : to_string(c))
    quoted += ch == '\'' ? std::string("'\\''") : std::string(1, ch);
  return fmt::format("mote replay '{}'", quoted);
}

}  // namespace mote
