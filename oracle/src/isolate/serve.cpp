// SPDX-License-Identifier: Apache-2.0
// Opens the pages of a call, runs the kernel, closes them, and reports. Its report is not proof:
// the process that asked compares the elements.
#include "serve.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <thread>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "describe.h"
#include "fault.h"
#include "mote/base/error.h"
#include "mote/base/kernel_call.h"
#include "mote/base/plugin.h"
#include "threads.h"

namespace mote::isolate {
namespace {

/// The control bits of the floating-point units: rounding, denormals, traps; no flags.
std::uint32_t arithmetic_mode() {
  auto mode = static_cast<std::uint32_t>(std::fegetround());
#if defined(__x86_64__)
  constexpr std::uint32_t kFlags = 0x3f;
  mode |= _mm_getcsr() & ~kFlags;
#endif
  return mode;
}

void set_message(Reply& reply, const std::string& text) {
  const std::size_t bytes = std::min(text.size(), reply.message.size() - 1);
  std::memcpy(reply.message.data(), text.data(), bytes);
  reply.message[bytes] = '\0';
}

class ServedLibrary {
 public:
  ServedLibrary(std::string path, const Arena& arena, const mote_backend* own)
      : path_(std::move(path)), arena_(arena), own_(own) {
    std::fegetenv(&environment_);
  }

  Reply answer(const Question& q) {
    switch (q.ask) {
      case Ask::load:
        return load();
      case Ask::describe:
        return describe_library();
      case Ask::choose:
        return choose(q);
      case Ask::run:
        return run(q);
    }
    return {};
  }

 private:
  Reply load() {
    Reply reply;
    if (path_.empty()) return reply;
    try {
      library_ = load_plugin(path_);
    } catch (const Error& e) {
      reply.status = MOTE_FAILED;
      set_message(reply, e.what());
    }
    return reply;
  }

  Reply describe_library() const {
    Reply reply;
    const std::string text = describe(library_->backends);
    const std::span<char> to = arena_.control();
    if (text.size() > to.size()) {
      reply.status = MOTE_FAILED;
      set_message(reply, "plug-in " + path_ + ": its backends have too many kernels");
      return reply;
    }
    std::memcpy(to.data(), text.data(), text.size());
    reply.described = text.size();
    return reply;
  }

  const mote_backend& backend(const Question& q) const {
    if (library_) return *library_->backends[static_cast<std::size_t>(q.backend_index)];
    return own_ != nullptr ? *own_ : *q.backend;
  }

  Reply choose(const Question& q) const {
    Reply reply;
    const mote_backend& b = backend(q);
    const KernelChoice choice = choose_kernel(b, *q.call);
    if (choice.kernel == nullptr) {
      set_message(reply, choice.reason);
      return reply;
    }
    for (std::int32_t k = 0; k < b.kernel_count; ++k)
      if (&kernel_at(b, k) == choice.kernel) reply.kernel_index = k;
    reply.status = workspace_of(*choice.kernel, *q.call, reply.workspace);
    set_message(reply, q.call->message);
    return reply;
  }

  Reply run(const Question& q) const {
    const mote_kernel& kernel = kernel_at(backend(q), q.kernel_index);
    const std::span<const Segment> segments(q.segments, static_cast<std::size_t>(q.segment_count));
    Reply reply;
    for (const Segment& s : segments)
      mprotect(s.begin, s.bytes, s.written ? PROT_READ | PROT_WRITE : PROT_READ);
    reply.threads_before = count_threads();
    reply.mode_before = arithmetic_mode();
    set_phase(Phase::running);
    reply.status =
        q.is_checked ? run_accepted(kernel, *q.call) : run_kernel(kernel, *q.call, nullptr);
    set_phase(Phase::returned);
    reply.mode_after = arithmetic_mode();
    std::fesetenv(&environment_);
    for (const Segment& s : segments) mprotect(s.begin, s.bytes, PROT_NONE);
    reply.threads_after = lingering_threads(reply.threads_before, q.linger_s);
    set_message(reply, q.call->message);
    return reply;
  }

  /// The number of threads after new ones had time to end, or to touch closed pages.
  static std::int32_t lingering_threads(std::int32_t before, double linger_s) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(linger_s);
    std::int32_t now = count_threads();
    while (now > before && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      now = count_threads();
    }
    return now;
  }

  std::string path_;
  const Arena& arena_;
  const mote_backend* own_;
  std::optional<Plugin> library_;
  std::fenv_t environment_{};
};

}  // namespace

void serve(int socket, const std::string& library, const Arena& arena, const mote_backend* own) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // a subject's output is not a result
  const std::span<char> room = arena.room();
  mprotect(room.data(), room.size(), PROT_NONE);
  ServedLibrary worker(library, arena, own);
  for (Question q; recv(socket, &q, sizeof q, 0) == ssize_t{sizeof q};) {
    set_phase(Phase::asked);
    report_faults(socket);
    const Reply reply = worker.answer(q);
    if (send(socket, &reply, sizeof reply, MSG_NOSIGNAL) != ssize_t{sizeof reply}) break;
  }
  _exit(0);
}

}  // namespace mote::isolate
