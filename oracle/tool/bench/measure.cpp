// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/samples.h"
#include "mote/base/error.h"
#include "mote/oracle/exactness.h"
#include "mote/oracle/memory.h"
#include "run/prepared_state.h"

namespace mote::tool {
namespace {

using RoundClock = std::chrono::steady_clock;

/// A turn of a fast kernel repeats its call for this long, so that reading the clock and the first
/// misses after another subject's turn weigh little.
constexpr double kRoundSeconds = 0.002;
constexpr int kMaxCalls = 1'000'000;
constexpr std::size_t kPage = 4096;

double elapsed(RoundClock::time_point start) {
  return std::chrono::duration<double>(RoundClock::now() - start).count();
}

double seconds_of(const PreparedSubject& s, int calls) {
  const mote_call& call = s.frame->call();
  const auto start = RoundClock::now();
  mote_status status = MOTE_OK;
  for (int k = 0; k < calls && status == MOTE_OK; ++k) status = s.run(&call, nullptr);
  const double seconds = elapsed(start);
  if (status != MOTE_OK)
    throw Error(
        fmt::format("backend {}: a call that had run failed: {}", s.name(), s.frame->message()));
  return seconds / calls;
}

/// The time of a turn: of one call, unless that is short; then the first call is not counted.
double turn(const PreparedSubject& s) {
  if (s.calls > 1) seconds_of(s, 1);
  return seconds_of(s, s.calls);
}

}  // namespace

MeasuredBench::MeasuredBench(Case c) : case_(std::move(c)) {
  check_memory(case_);
  const Judgement judgement = judge(*case_.program, case_.binding, case_.fill.kind);
  const std::vector<Dense> inputs = filled_inputs(case_, judgement.radius);
  for (std::size_t k = 0; k < case_.inputs.size(); ++k) {
    bench_.inputs.emplace_back(case_.inputs[k], Role::input);
    bench_.inputs.back().poison(Poison::first);
    bench_.inputs.back().write(inputs[k]);
  }
  for (const CaseTensor& t : case_.outputs) bench_.outputs.emplace_back(t, Role::output);
}

void MeasuredBench::add(const BackendEntry& entry, MeasuredCase& into) {
  const auto decline = [&](const std::string& reason) {
    into.declined.push_back({entry.name(), reason});
  };
  if (!has_kernel(entry, *case_.target))
    return decline(fmt::format("no kernel for {}", case_.target->op()));
  PreparedSubject s{entry};
  s.frame =
      std::make_unique<CallFrame>(case_, bench_.input_tensors(), bench_.output_tensors(case_));
  const KernelChoice choice = choose_kernel(*entry.backend, s.frame->call());
  if (choice.kernel == nullptr) return decline(choice.reason);
  s.kernel = choice.kernel;
  s.run = checked_run_of(*choice.kernel);
  std::size_t bytes = 0;
  if (workspace_of(*s.kernel, s.frame->call(), bytes) != MOTE_OK)
    return decline("workspace_bytes: " + s.frame->message());
  if (bytes > 0) {
    if (static_cast<double>(bytes) > static_cast<double>(bytes_available()))
      return decline(fmt::format("its workspace of {} does not fit into memory",
                                 format_bytes(static_cast<std::int64_t>(bytes))));
    s.workspace = std::make_unique<Dense>(DType::u8, static_cast<std::int64_t>(bytes + kPage));
    void* at = s.workspace->data();
    std::size_t space = bytes + kPage;
    s.frame->set_workspace(std::align(kPage, bytes, at, space), bytes);
  }
  for (Buffer& b : bench_.outputs) b.poison(Poison::first);
  if (run_kernel(*s.kernel, s.frame->call(), nullptr) != MOTE_OK)
    return decline("run: " + s.frame->message());
  for (std::size_t k = 0; k < case_.outputs.size(); ++k) {
    const CaseTensor& t = case_.outputs[k];
    Dense& kept = s.outputs.emplace_back(t.dtype, t.left_out ? 0 : volume(t.shape));
    if (!t.left_out) bench_.outputs[k].read(kept);
  }
  into.subjects.push_back(std::move(s));
}

void MeasuredBench::measure(MeasuredCase& measured, const RoundsWanted& wanted) {
  std::vector<PreparedSubject>& all = measured.subjects;
  double round_seconds = 0;
  for (PreparedSubject& s : all) {
    const double once = std::min(seconds_of(s, 1), seconds_of(s, 1));
    s.calls = static_cast<int>(
        std::clamp(kRoundSeconds / std::max(once, 1e-9), 1.0, static_cast<double>(kMaxCalls)));
    round_seconds += once * s.calls;
  }
  const double budget = wanted.seconds * static_cast<double>(all.size());
  const int rounds =
      std::max(kLeastRounds, static_cast<int>(std::min(budget / round_seconds, 1e4)));
  for (int round = 0; round < rounds; ++round) {
    if (wanted.before_round && !wanted.before_round(round, rounds)) return;
    // Each subject follows each other one equally often.
    for (std::size_t k = 0; k < all.size(); ++k) {
      const auto turn_of = static_cast<std::size_t>(round) + (round % 2 == 0 ? k : all.size() - k);
      PreparedSubject& s = all[turn_of % all.size()];
      s.seconds.push_back(turn(s));
    }
  }
}

}  // namespace mote::tool
