// SPDX-License-Identifier: Apache-2.0
// Processes are forked, not threads started: each has workers of its own for the subjects.
#include "check_workers.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <vector>

#include "mote/base/error.h"
#include "mote/base/temporary_folder.h"

namespace mote::tool {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void run_part(const std::function<CampaignOptions()>& plan) noexcept {
  try {
    run_campaign(plan());
  } catch (const std::exception& e) {
    fmt::print(stderr, "mote: {}\n", e.what());
    _exit(1);
  }
  _exit(0);
}

/// Ends those that are left when it is left.
class Processes {
 public:
  Processes() = default;
  ~Processes() {
    for (const pid_t p : running_) kill(p, SIGKILL);
    while (!running_.empty()) wait_for_one();
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  void start(const std::function<CampaignOptions()>& part) {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) throw Error("workers: " + std::string(std::strerror(errno)));
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      run_part(part);
    }
    running_.push_back(child);
  }

  void wait() {
    while (!running_.empty()) {
      const int status = wait_for_one();
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw Error(fmt::format("workers: one ended with status {:#x}", status));
    }
  }

 private:
  int wait_for_one() {
    int status = 0;
    while (waitpid(running_.back(), &status, 0) < 0 && errno == EINTR) {
    }
    running_.pop_back();
    return status;
  }

  std::vector<pid_t> running_;
};

}  // namespace

CampaignResult run_in_workers(const CampaignOptions& campaign, int workers,
                              const std::function<CampaignOptions()>& plan) {
  const TemporaryFolder folder;
  const std::string base =
      campaign.journal.empty() ? folder.path() / "journal" : fs::path(campaign.journal);
  std::fflush(stdout);
  std::vector<std::string> journals;
  Processes processes;
  const auto count = static_cast<std::uint64_t>(workers);
  for (std::uint64_t k = 0; k < count; ++k) {
    journals.push_back(fmt::format("{}.{}", base, k));
    processes.start([&] {
      CampaignOptions part = plan();
      part.shard = {campaign.shard.index * count + k, campaign.shard.count * count};
      part.journal = journals.back();
      return part;
    });
  }
  processes.wait();
  return merge_journals(journals);
}

}  // namespace mote::tool
