// SPDX-License-Identifier: Apache-2.0
// Asks questions over a socket; a worker's own socket comes with the answer.
#include "zygote.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <thread>

#include "mote/base/error.h"
#include "protocol.h"
#include "serve.h"
#include "threads.h"

namespace mote::isolate {
namespace {

constexpr std::int32_t kAreYouThere = -1;  ///< replaces the process to wait for

/// The two ends of a socket between a process and one that it starts.
struct Pair {
  int parent_end = -1;
  int child_end = -1;
};

bool make_pair(Pair& pair) {
  int ends[2];  // NOLINT(modernize-avoid-c-arrays): socketpair's
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  pair = {ends[0], ends[1]};
  return true;
}

/// A message with a file descriptor, unless that is negative.
struct Envelope {
  iovec data{};
  msghdr header{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};  // NOLINT(modernize-avoid-c-arrays)

  Envelope(ZygoteReply& reply, bool with_file) {
    data = {&reply, sizeof reply};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (!with_file) return;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
};

void send_reply(int socket, ZygoteReply reply, int file) {
  Envelope envelope(reply, file >= 0);
  if (file >= 0) {
    cmsghdr* head = CMSG_FIRSTHDR(&envelope.header);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(head), &file, sizeof file);
  }
  sendmsg(socket, &envelope.header, MSG_NOSIGNAL);
}

ZygoteReply receive_reply(int socket, int& file) {
  ZygoteReply reply;
  Envelope envelope(reply, true);
  ssize_t got = 0;
  while ((got = recvmsg(socket, &envelope.header, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (got != ssize_t{sizeof reply}) throw Error("isolation: the process that forks workers ended");
  if (const cmsghdr* head = CMSG_FIRSTHDR(&envelope.header); head != nullptr)
    std::memcpy(&file, CMSG_DATA(head), sizeof file);
  return reply;
}

void spawn_worker(int socket, const char* library, const Arena& arena, const Served& served) {
  Pair pair;
  if (!make_pair(pair)) return send_reply(socket, {-errno, 0}, -1);
  const pid_t child = served.fork_process != nullptr ? served.fork_process(pair.child_end) : fork();
  if (child == 0) {
    close(socket);
    close(pair.parent_end);
    serve(pair.child_end, library, arena, served.backend);
  }
  close(pair.child_end);
  send_reply(socket, {child < 0 ? -errno : child, 0}, child < 0 ? -1 : pair.parent_end);
  close(pair.parent_end);
}

/// Opens the process as a file that can be waited for; negative if the system has no such files.
int open_process(pid_t process) { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

/// Returns true if a question arrives before the parent ends.
bool wait_for_question(int socket, int parent) {
  std::array<pollfd, 2> waiting = {pollfd{socket, POLLIN, 0}, pollfd{parent, POLLIN, 0}};
  while (poll(waiting.data(), waiting.size(), -1) < 0 && errno == EINTR) {
  }
  return waiting[0].revents != 0;
}

/// Calls in_child in a new process with a single thread, forked from a thread of its own if this
/// process has several.
template <typename F>
pid_t fork_alone(const F& in_child) {
  pid_t process = -1;
  int failed = 0;
  const auto forks = [&] {
    process = fork();
    if (process == 0) in_child();
    failed = errno;
  };
  try {
    if (count_threads() <= 1) {
      forks();
    } else {
      std::thread(forks).join();
    }
  } catch (const std::system_error& e) {
    failed = e.code().value();
  }
  errno = failed;
  return process;
}

}  // namespace

/// Answers questions until the socket or the parent ends. The parent is watched too, since the
/// socket may stay open elsewhere.
void fork_on_demand(int socket, pid_t parent, const Arena& arena, const Served& served) {
  const int watched = open_process(parent);
  if (getppid() != parent) _exit(0);
  for (const int ends : {SIGINT, SIGTERM}) signal(ends, SIG_IGN);  // the parent decides
  ZygoteQuestion q;
  while (wait_for_question(socket, watched) && recv(socket, &q, sizeof q, 0) == ssize_t{sizeof q}) {
    if (q.ended == 0) {
      spawn_worker(socket, q.library.data(), arena, served);
      continue;
    }
    ZygoteReply reply{q.ended, 0};
    while (q.ended > 0 && waitpid(q.ended, &reply.status, 0) < 0 && errno == EINTR) {
    }
    send_reply(socket, reply, -1);
  }
  _exit(0);
}

Zygote::Zygote(const Arena& arena) {
  Pair pair;
  if (!make_pair(pair)) throw Error(std::string("isolation: no socket: ") + std::strerror(errno));
  std::fflush(stdout);
  const pid_t parent = getpid();
  process_ = fork_alone([&] {
    close(pair.parent_end);
    fork_on_demand(pair.child_end, parent, arena);
  });
  const int failed = errno;
  close(pair.child_end);
  socket_ = pair.parent_end;
  if (process_ > 0) return;
  close(socket_);
  throw Error(std::string("isolation: no process can be forked: ") + std::strerror(failed));
}

Zygote::Zygote(const Arena& arena, const Starter& starter, double start_s) {
  Pair pair;
  if (!make_pair(pair)) throw Error(std::string("isolation: no socket: ") + std::strerror(errno));
  process_ = starter.start({pair.child_end, arena.file(), arena.base()});
  close(pair.child_end);
  socket_ = pair.parent_end;
  ZygoteQuestion q;
  q.ended = kAreYouThere;
  send(socket_, &q, sizeof q, MSG_NOSIGNAL);
  pollfd waiting{socket_, POLLIN, 0};
  int no_file = -1;
  try {
    if (poll(&waiting, 1, static_cast<int>(start_s * 1000)) <= 0)
      throw Error("isolation: the program of the workers did not start");
    receive_reply(socket_, no_file);
  } catch (const Error&) {
    kill(process_, SIGKILL);
    end();
    throw;
  }
}

Zygote::~Zygote() { end(); }

void Zygote::end() {
  close(socket_);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Zygote::Child Zygote::spawn(const std::string& library) const {
  ZygoteQuestion q;
  if (library.size() >= q.library.size()) throw Error("plug-in " + library + ": path too long");
  std::memcpy(q.library.data(), library.c_str(), library.size() + 1);
  send(socket_, &q, sizeof q, MSG_NOSIGNAL);
  Child child;
  child.process = receive_reply(socket_, child.socket).process;
  if (child.process > 0) return child;
  throw Error(std::string("isolation: no worker can be forked: ") + std::strerror(-child.process));
}

int Zygote::wait(pid_t process) const {
  ZygoteQuestion q;
  q.ended = process;
  send(socket_, &q, sizeof q, MSG_NOSIGNAL);
  int no_file = -1;
  return receive_reply(socket_, no_file).status;
}

}  // namespace mote::isolate
