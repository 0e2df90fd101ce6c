// SPDX-License-Identifier: Apache-2.0
// Asks the questions about one case. The description of a call and the list of its pages go through
// the control memory, the elements through the site's pages.
#include "isolated_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "call_copy.h"
#include "fault_outcome.h"
#include "judge/outcome.h"
#include "mote/base/error.h"

namespace mote::isolate {
namespace {

constexpr std::size_t kSegmentBytes = std::size_t{64} << 10U;

std::int32_t copy_segments(const Site& site, std::span<char> to) {
  auto* segments = reinterpret_cast<Segment*>(to.data());
  std::int32_t count = 0;
  for (const Extent& e : site.extents()) {
    if (e.page_bytes == 0) continue;
    if (static_cast<std::size_t>(count + 1) * sizeof(Segment) > to.size())
      throw Error("isolation: too many tensors");
    segments[count++] = {e.pages, e.page_bytes, e.written};
  }
  return count;
}

}  // namespace

IsolatedRun::IsolatedRun(const Case& c, const CaseRunOptions& options, const Prepared::State& state,
                         const mote_backend& backend, const Isolation::State::Location& location,
                         const Limits& limits, double multiply_adds)
    : case_(c),
      state_(state),
      backend_(backend),
      isolation_(options.isolation->state()),
      location_(location),
      limits_(limits),
      multiply_adds_(multiply_adds),
      is_limit_given_(options.limit_s && isolation_.hangs != Isolation::State::Hangs::in_tries),
      linger_s_(options.linger_s) {
  limits_.arena = &isolation_.arena;
  sites_.emplace_back(c, isolation_.next_room(), mix(c.fill.seed));
}

IsolatedRun::~IsolatedRun() {
  if (calls_ == 0) return;  // its pages were never open
  char* end = sites_.back().end();
  isolation_.keep(location_.library, {to_string(case_), std::move(sites_)}, end);
}

Answer IsolatedRun::ask(Question question, const mote_call& call, const Site* open) {
  Worker& worker = isolation_.worker_for(location_.library);
  const std::span<char> control = isolation_.arena.control();
  if (open != nullptr) {
    question.segment_count = copy_segments(*open, control.first(kSegmentBytes));
    question.segments = reinterpret_cast<const Segment*>(control.data());
  }
  question.call = copy_call(call, control.subspan(kSegmentBytes));
  question.backend = &backend_;
  question.backend_index = location_.index;
  question.linger_s = linger_s_;
  const std::int64_t kernel = kernel_number(question);
  warm_up_s_ = isolation_.warm_up_of(location_.library, kernel, limits_.warm_up_s);
  Limits limits = limits_;
  if (!is_limit_given_) {
    limits.seconds =
        std::max(limits.seconds, isolation_.least_limit(location_.library, kernel, multiply_adds_));
    limits.idle_s = isolation_.idle_limit(location_.library, kernel, multiply_adds_);
  }
  limits.seconds += warm_up_s_;
  const auto begin = std::chrono::steady_clock::now();
  Answer answer = worker.ask(question, limits);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  if (answer.ending == Ending::answered)
    isolation_.note_call(location_.library, kernel, taken.count(), multiply_adds_);
  else if (answer.ending == Ending::hung && answer.how.empty() && warm_up_s_ > 0 &&
           warm_up_s_ >= limits_.warm_up_s)
    isolation_.note_call(location_.library, kernel, std::nullopt, multiply_adds_);
  return answer;
}

/// The key for warm-up times: kernels may initialise when they are first asked, and when they first
/// run, for each dtype.
std::int64_t IsolatedRun::kernel_number(const Question& question) const {
  const std::int64_t which = (std::int64_t{location_.index} << 32) | (kernel_index_ + 1);
  return which * 32 + static_cast<int>(case_.instance.dtype) * 2 +
         (question.ask == Ask::run ? 1 : 0);
}

const mote_kernel* IsolatedRun::choose() {
  Site& site = sites_.front();
  benches_.push_back(state_.bench(case_, [&](const CaseTensor& t, Role role, std::size_t k) {
    return Buffer(t, role, site.region(k, t.dtype));
  }));
  const CallFrame frame(case_, benches_[0].input_tensors(), benches_[0].output_tensors(case_));
  Question question;
  question.ask = Ask::choose;
  const Answer answer = ask(question, frame.call(), nullptr);
  if (answer.ending != Ending::answered) {
    why_ = ended(answer, site, nullptr);
    return nullptr;
  }
  kernel_index_ = answer.reply.kernel_index;
  workspace_ = answer.reply.workspace;
  const std::string message = answer.reply.message.data();
  if (kernel_index_ < 0 || kernel_index_ >= backend_.kernel_count) {
    why_ = outcome_of(Verdict::declined, message);
    return nullptr;
  }
  if (answer.reply.status != MOTE_OK) {
    why_ = outcome_of(Verdict::failed, fmt::format("workspace_bytes: {}", message));
    return nullptr;
  }
  return &kernel_at(backend_, kernel_index_);
}

void IsolatedRun::place() {
  sites_.front().add_workspace(workspace_);
  sites_.push_back(sites_.front().moved_behind(sites_.front().end()));
  benches_.clear();
  for (Site& site : sites_) {
    benches_.push_back(state_.bench(case_, [&](const CaseTensor& t, Role role, std::size_t k) {
      return Buffer(t, role, site.region(k, t.dtype));
    }));
    benches_.back().workspace = site.region(site.extents().size() - 1, DType::boolean);
    benches_.back().workspace_bytes = workspace_;
  }
}

RunResult IsolatedRun::run(const std::vector<Dense>& inputs, Poison pattern, int site) {
  Bench& bench = benches_[static_cast<std::size_t>(site)];
  CallFrame frame(case_, bench.input_tensors(), bench.output_tensors(case_));
  SubjectRun subject(case_, bench, frame, [&](const mote_call& of) { return call(of, site); });
  return subject.run(inputs, pattern);
}

/// The outcome of a call that ended its worker; an earlier case may be to blame.
Outcome IsolatedRun::ended(const Answer& answer, const Site& current, const Site* earlier) {
  const void* address = answer.reply.address;
  const bool is_own = [&] {
    const auto here = current.nearest(address);
    const auto there = earlier != nullptr ? earlier->nearest(address) : std::nullopt;
    return (here && here->open) || (there && there->open);
  }();
  const auto* past =
      address != nullptr && !is_own ? isolation_.past_at(location_.library, address) : nullptr;
  if (past == nullptr)
    return outcome_of_ending(answer, current, earlier, {limits_.seconds, warm_up_s_});
  Outcome outcome =
      outcome_of(Verdict::late_access,
                 fmt::format("{} memory of a call that had returned, 20 ms or more after that",
                             answer.reply.wrote ? "writes" : "reads"));
  outcome.earlier_case = past->text;
  return outcome;
}

CallResult IsolatedRun::call(const mote_call& call, int site) {
  const Site& open = sites_[static_cast<std::size_t>(site)];
  const Site& other = sites_[static_cast<std::size_t>(1 - site)];
  Question question;
  question.ask = Ask::run;
  question.kernel_index = kernel_index_;
  question.is_checked = site == 1;
  const Answer answer = ask(question, call, &open);
  CallResult result;
  if (answer.ending != Ending::answered) {
    result.ended = ended(answer, open, &other);
    return result;
  }
  const Reply& r = answer.reply;
  result.status = r.status;
  result.message = r.message.data();
  has_failed_ = has_failed_ || r.status == MOTE_FAILED;
  ++calls_;
  grown_ += r.threads_after > r.threads_before ? 1 : 0;
  threads_ = r.threads_after;
  if (r.mode_after != r.mode_before) {
    result.ended = outcome_of(
        Verdict::changed_mode,
        fmt::format("changes the arithmetic's mode: rounding and denormals were {:#x}, are {:#x}",
                    r.mode_before, r.mode_after));
  }
  return result;
}

}  // namespace mote::isolate
