// SPDX-License-Identifier: Apache-2.0
// Waits with limits. Memory is measured after each answer and while waiting for one.
#include "worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "idleness.h"
#include "mote/oracle/memory.h"
#include "mote/oracle/run.h"

namespace mote::isolate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSliceMs = 20;  ///< the interval of measurements of a busy worker's memory

std::string signal_text(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

std::string ending_text(int status) {
  if (WIFSIGNALED(status)) return signal_text(WTERMSIG(status));
  return "ended the process (exit code " + std::to_string(WEXITSTATUS(status)) + ")";
}

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::min(seconds, 1e8)));
}

int milliseconds_until(Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, kSliceMs));
}

}  // namespace

Worker::~Worker() {
  if (alive()) end();
}

Answer Worker::ask(const Question& question, const Limits& limits) {
  if (send(child_.socket, &question, sizeof question, MSG_NOSIGNAL) != ssize_t{sizeof question}) {
    Reply fault;  // it ended between two questions, so its report is in the socket
    const bool reported =
        recv(child_.socket, &fault, sizeof fault, MSG_DONTWAIT) == ssize_t{sizeof fault};
    return gone(reported ? &fault : nullptr);
  }
  return receive(limits);
}

Answer Worker::receive(const Limits& limits) {
  const std::int64_t arena_before = limits.arena != nullptr ? limits.arena->taken() : 0;
  auto until = after(limits.seconds);
  const auto limit = until - Clock::duration(waited());
  std::optional<Clock::time_point> grace;
  std::optional<Idleness> idle;  // it reads files, which most answers are too quick for
  for (;;) {
    pollfd waiting{child_.socket, POLLIN, 0};
    const bool ready = poll(&waiting, 1, milliseconds_until(until)) > 0;
    if (ready) {
      Answer answer;
      const ssize_t got = recv(child_.socket, &answer.reply, sizeof answer.reply, 0);
      if (got != ssize_t{sizeof answer.reply}) return gone(nullptr);
      if (answer.reply.fault) return gone(&answer.reply);
      answer.reply.message.back() = '\0';
      if (own_memory() - inherited_ <= limits.memory) return answer;
    }
    if (const std::int64_t memory = own_memory() - inherited_; memory > limits.memory)
      return ended_by_us(Ending::memory, "has taken " + format_bytes(memory) + " of memory");
    if (!ready && limits.arena != nullptr && limits.arena->taken() - arena_before > kMaxGapBytes)
      return ended_by_us(Ending::gaps, "touches more than " + format_bytes(kMaxGapBytes) +
                                           " of the gaps between elements");
    if (!ready && limits.idle_s > 0) {
      if (!idle) idle.emplace(child_.process);
      idle->look(waited());
      if (idle->seconds() >= limits.idle_s) {
        if (!idle->has_children())
          return ended_by_us(Ending::hung,
                             fmt::format("no result after {:.2g} s in which it loaded "
                                         "and compiled nothing",
                                         limits.idle_s));
        idle->restart();
      }
    }
    if (!ready && Clock::now() >= until) {
      until = limit + Clock::duration(waited());
      if (Clock::now() >= until) return ended_by_us(Ending::hung, "");
    }
    if (limits.stop == nullptr || limits.stop->load() == 0) continue;
    if (!grace) grace = after(kGrace);
    if (Clock::now() < *grace) continue;
    end();
    throw Interrupted();
  }
}

Answer Worker::gone(const Reply* fault) {
  Answer answer;
  answer.ending = Ending::crashed;
  if (fault != nullptr) {
    answer.reply = *fault;
  } else {  // a report may precede the end of the socket
    recv(child_.socket, &answer.reply, sizeof answer.reply, MSG_DONTWAIT);
  }
  const std::string text = ending_text(end());
  answer.how = answer.reply.fault ? signal_text(answer.reply.signal) : text;
  return answer;
}

Answer Worker::ended_by_us(Ending ending, std::string how) {
  end();
  Answer answer;
  answer.ending = ending;
  answer.how = std::move(how);
  return answer;
}

/// Ends the worker; a worker that is ending keeps the signal that ends it.
int Worker::end() {
  kill(child_.process, SIGKILL);
  const int status = zygote_.wait(child_.process);
  close(child_.socket);
  child_.process = -1;
  return status;
}

/// The time in which the worker's first thread could run but had no processor: 0 if the system does
/// not say it.
std::chrono::nanoseconds Worker::waited() const {
  const std::string path = "/proc/" + std::to_string(child_.process) + "/schedstat";
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return {};
  unsigned long long ran = 0, waited = 0;
  const int read = std::fscanf(file, "%llu %llu", &ran, &waited);
  std::fclose(file);
  return std::chrono::nanoseconds(read == 2 ? static_cast<std::int64_t>(waited) : 0);
}

/// The resident pages that belong to no file and are not shared.
std::int64_t Worker::own_memory() const {
  const std::string path = "/proc/" + std::to_string(child_.process) + "/statm";
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return 0;
  long long size = 0, resident = 0, shared = 0;
  const int read = std::fscanf(file, "%lld %lld %lld", &size, &resident, &shared);
  std::fclose(file);
  return read == 3 ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace mote::isolate
