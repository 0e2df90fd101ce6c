// SPDX-License-Identifier: Apache-2.0
// Workers by library; what a library offers.
#include "mote/oracle/isolation.h"

#include <cstddef>

#include "describe.h"
#include "isolation_state.h"
#include "mote/base/error.h"
#include "mote/generated/kernels.h"

namespace mote {
namespace {

using isolate::Answer;
using isolate::Ending;

constexpr isolate::Limits kLoading{.seconds = 30};
constexpr std::ptrdiff_t kLap = std::ptrdiff_t{64} << 20U;  ///< then cases begin at the front again
constexpr std::size_t kPasts = 64;

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
  gen_backend();  // made when first asked for, and workers must find it made
  state_ = std::make_unique<State>();
}

Isolation::~Isolation() = default;

Plugin Isolation::describe(const std::string& path) {
  State& s = *state_;
  isolate::Worker& worker = s.worker_for(path);
  const Answer answer = ask_loading(worker, path, isolate::Ask::describe);
  const std::string text(s.arena.control().data(), answer.reply.described);
  Plugin plugin = isolate::described(path, text);
  std::int32_t index = 0;
  for (const mote_backend* b : plugin.backends) s.places[b] = {path, index++};
  s.described.push_back(plugin);
  return plugin;
}

Isolation::State::Place Isolation::State::place_of(const mote_backend& backend) const {
  const auto at = places.find(&backend);
  return at != places.end() ? at->second : Place{};
}

isolate::Worker& Isolation::State::worker_for(const std::string& library) {
  const auto at = tenants.find(library);
  if (at != tenants.end() && at->second.worker->alive()) return *at->second.worker;
  tenants.erase(library);
  auto fresh = std::make_unique<isolate::Worker>(zygote, library);
  ask_loading(*fresh, library, isolate::Ask::load);
  return *(tenants[library].worker = std::move(fresh));
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
