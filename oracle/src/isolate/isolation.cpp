// SPDX-License-Identifier: Apache-2.0
// Keeps workers by library, and describes what a library offers.
#include "mote/oracle/isolation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "describe.h"
#include "isolation_state.h"
#include "launch.h"
#include "mote/base/error.h"
#include "mote/generated/kernels.h"

namespace mote {
namespace {

using isolate::Answer;
using isolate::Ending;

constexpr double kLoadingSeconds = 30;
constexpr isolate::Limits kLoading{.seconds = kLoadingSeconds};
/// A warm-up may take longer than before if the machine is busy.
constexpr double kWarmUpTimes = 3;
constexpr double kWarmUpLeast = 0.2;
constexpr double kSlowStart = 0.5;  ///< seconds
constexpr int kStartsInVain = 2;
/// The seconds for which a call loads and compiles nothing before it hangs: a first one, of which
/// nothing is known and which may wait for a device to start, one after it, and one that is tried.
constexpr double kIdleAtFirst = 4;
constexpr double kIdleLater = 2;
constexpr double kIdleInTries = 0.25;
constexpr double kInterpreted = 2e-5;  ///< seconds for a multiply-add in an interpreted language
constexpr double kTimesAsLong = 10;    ///< as earlier calls with as much work
constexpr double kMostPatience = 60;   ///< seconds
constexpr std::ptrdiff_t kLap = std::ptrdiff_t{64} << 20U;  ///< then cases begin at the front again
constexpr std::size_t kPasts = 64;

/// The power of two of an amount of work.
int power_of(double multiply_adds) { return std::ilogb(std::max(multiply_adds, 1.0)); }

[[noreturn]] void fail(const std::string& path, const Answer& answer) {
  const std::string where = "plug-in " + path + ": ";
  if (answer.ending == Ending::hung) throw Error(where + "was not loaded within 30 s");
  if (answer.how.starts_with("ended")) {
    throw Error(where + "ended the process while loading" + answer.how.substr(17));
  }
  throw Error(where + "crashed while loading (" + answer.how + ")");
}

Answer ask_loading(isolate::Worker& worker, const std::string& path, isolate::Ask what) {
  isolate::Question q;
  q.ask = what;
  Answer answer = worker.ask(q, kLoading);
  if (answer.ending != Ending::answered) fail(path, answer);
  if (answer.reply.status != MOTE_OK) throw Error(answer.reply.message.data());
  return answer;
}

}  // namespace

Isolation::Isolation() {
  gen_backend();  // it is made when first asked for, and workers must find it made
  state_ = std::make_unique<State>();
  state_->had_threads = isolate::count_threads() > 1;
  state_->zygote = std::make_unique<isolate::Zygote>(state_->arena);
}

Isolation::Isolation(const std::vector<std::string>& command, double start_s)
    : state_(std::make_unique<State>()) {
  state_->zygote =
      std::make_unique<isolate::Zygote>(state_->arena, isolate::Launcher(command), start_s);
  state_->hangs = State::Hangs::early;
}

Isolation::~Isolation() = default;

Plugin Isolation::describe(const std::string& path) {
  State& s = *state_;
  isolate::Worker& worker = s.worker_for(path);
  const Answer answer = ask_loading(worker, path, isolate::Ask::describe);
  const std::string text(s.arena.control().data(), answer.reply.described);
  Plugin plugin = isolate::described(path, text);
  std::int32_t index = 0;
  for (const mote_backend* b : plugin.backends) s.locations[b] = {path, index++};
  s.described.push_back(plugin);
  return plugin;
}

void Isolation::offer_library(const mote_backend& backend, std::function<std::string()> make) {
  state_->elsewhere[&backend].make = std::move(make);
}

void Isolation::end_workers() { state_->tenants.clear(); }

Isolation::State::Location Isolation::State::location_of(const mote_backend& backend) const {
  if (const auto at = locations.find(&backend); at != locations.end()) return at->second;
  const auto at = elsewhere.find(&backend);
  if (at != elsewhere.end() && at->second.is_used) return {*at->second.library, 0};
  return {};
}

bool Isolation::State::may_lack_threads(const mote_backend& backend) const {
  if (!had_threads || locations.contains(&backend)) return false;
  const auto at = elsewhere.find(&backend);
  return at == elsewhere.end() || !(at->second.is_used || at->second.is_settled);
}

std::optional<Isolation::State::Location> Isolation::State::location_elsewhere(
    const mote_backend& backend) {
  const auto at = elsewhere.find(&backend);
  if (at == elsewhere.end() || relaunched_zygote() == nullptr) return std::nullopt;
  try {
    if (!at->second.library) at->second.library = at->second.make();
  } catch (const Error&) {
    return std::nullopt;
  }
  return Location{*at->second.library, 0};
}

void Isolation::State::settle(const mote_backend& backend, bool elsewhere_is_right) {
  Elsewhere& e = elsewhere[&backend];
  e.is_used = elsewhere_is_right;
  e.is_settled = !elsewhere_is_right;
}

const isolate::Zygote* Isolation::State::relaunched_zygote() {
  if (relaunched || cannot_relaunch) return relaunched.get();
  try {
    relauncher.emplace();
    relaunched = std::make_unique<isolate::Zygote>(arena, *relauncher);
  } catch (const Error&) {
    cannot_relaunch = true;
  }
  return relaunched.get();
}

isolate::Worker& Isolation::State::worker_for(const std::string& library) {
  const auto at = tenants.find(library);
  if (at != tenants.end() && at->second.worker->alive()) return *at->second.worker;
  tenants.erase(library);
  // A library loads all that it needs itself, so that it works in this program launched again; a
  // fork would lack the threads of libraries that this program uses as well.
  const isolate::Zygote* other = had_threads && !library.empty() ? relaunched_zygote() : nullptr;
  auto fresh = std::make_unique<isolate::Worker>(other != nullptr ? *other : *zygote, library);
  ask_loading(*fresh, library, isolate::Ask::load);
  return *(tenants[library].worker = std::move(fresh));
}

double Isolation::State::warm_up_of(const std::string& library, std::int64_t kernel,
                                    double most_s) const {
  const auto tenant = tenants.find(library);
  if (tenant != tenants.end() && tenant->second.started.contains(kernel)) return 0;
  const auto known = warm_ups.find(library);
  if (known == warm_ups.end()) return most_s;
  const auto& longest_s = known->second.longest_s;
  const auto took = longest_s.find(kernel);
  if (took != longest_s.end()) return kWarmUpLeast + kWarmUpTimes * took->second;
  return known->second.is_used_up ? 0 : most_s;
}

double Isolation::State::expected_s(const std::string& library, std::int64_t kernel,
                                    double multiply_adds) const {
  const auto known = warm_ups.find(library);
  if (known == warm_ups.end()) return 0;
  const auto at = known->second.later_s.find(kernel);
  if (at == known->second.later_s.end()) return 0;
  const int own = power_of(multiply_adds), most = at->second.rbegin()->first;
  double longest = 0;
  for (const auto& [power, seconds] : at->second)
    if (power <= own) longest = std::max(longest, seconds);
  return own > most ? std::ldexp(longest, own - most) : longest;
}

double Isolation::State::least_limit(const std::string& library, std::int64_t kernel,
                                     double multiply_adds) const {
  if (hangs == Hangs::by_limit) return 0;
  return std::min(kTimesAsLong * expected_s(library, kernel, multiply_adds), kMostPatience);
}

double Isolation::State::idle_limit(const std::string& library, std::int64_t kernel,
                                    double multiply_adds) const {
  if (hangs == Hangs::by_limit || hangs == Hangs::patiently) return 0;
  double first_s = 0;
  if (const auto known = warm_ups.find(library); known != warm_ups.end())
    if (const auto at = known->second.longest_s.find(kernel); at != known->second.longest_s.end())
      first_s = at->second;
  const bool is_first = warm_up_of(library, kernel, 1) > 0;
  const double start = is_first ? kWarmUpTimes * first_s : 0;
  const double expected = kTimesAsLong * expected_s(library, kernel, multiply_adds);
  if (hangs == Hangs::in_tries) return start + std::clamp(expected, kIdleInTries, kIdleLater);
  const double least = first_s > 0 ? kIdleLater : kIdleAtFirst;
  return start + std::max(least + kInterpreted * multiply_adds, expected);
}

bool Isolation::State::affords_new_workers(const std::string& library) const {
  const auto known = warm_ups.find(library);
  if (known == warm_ups.end() || known->second.in_vain < kStartsInVain) return true;
  return std::ranges::all_of(known->second.longest_s,
                             [](const auto& took) { return took.second < kSlowStart; });
}

void Isolation::State::note_call(const std::string& library, std::int64_t kernel,
                                 std::optional<double> seconds, double multiply_adds) {
  WarmUp& warm_up = warm_ups[library];
  if (!seconds) {
    warm_up.is_used_up = true;
    return;
  }
  if (!tenants[library].started.insert(kernel).second) {
    double& longest = warm_up.later_s[kernel][power_of(multiply_adds)];
    longest = std::max(longest, *seconds);
    return;
  }
  double& longest = warm_up.longest_s[kernel];
  longest = std::max(longest, *seconds);
}

std::span<char> Isolation::State::next_room() const {
  const std::span<char> room = arena.room();
  return room.subspan(static_cast<std::size_t>(cursor - room.data()));
}

void Isolation::State::keep(const std::string& library, Past past, char* end) {
  arena.give_back(end);
  const std::span<char> room = arena.room();
  cursor = end - room.data() < kLap ? end : room.data();
  const auto at = tenants.find(library);
  if (at == tenants.end()) return;
  std::deque<Past>& pasts = at->second.pasts;
  pasts.push_back(std::move(past));
  if (pasts.size() > kPasts) pasts.pop_front();
}

const Isolation::State::Past* Isolation::State::past_at(const std::string& library,
                                                        const void* address) const {
  const auto at = tenants.find(library);
  if (at == tenants.end()) return nullptr;
  const auto& pasts = at->second.pasts;
  for (std::size_t k = pasts.size(); k-- > 0;) {
    for (const isolate::Site& site : pasts[k].sites) {
      const auto hit = site.nearest(address);
      if (hit && hit->open) return &pasts[k];
    }
  }
  return nullptr;
}

}  // namespace mote
