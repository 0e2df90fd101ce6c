// SPDX-License-Identifier: Apache-2.0
// Forks processes instead of starting threads: each has workers of its own for the subjects.
#include "check_workers.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <thread>
#include <vector>

#include "interrupt.h"
#include "mote/base/error.h"
#include "mote/base/temporary_folder.h"

namespace mote::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLookEvery{50};

[[noreturn]] void run_part(const std::function<CampaignOptions()>& plan) noexcept {
  const Interrupts interrupts(Interrupts::Of::worker);
  try {
    CampaignOptions part = plan();
    part.run.stop = &Interrupts::noted();
    run_campaign(part);
  } catch (const std::exception& e) {
    fmt::print(stderr, "mote: {}\n", e.what());
    _exit(1);
  }
  _exit(0);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The running processes; the destructor ends those that are left.
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

  /// True if some are left. Throws Error if one failed.
  bool any_left() {
    std::erase_if(running_, [](pid_t process) {
      int status = 0;
      if (waitpid(process, &status, WNOHANG) <= 0) return false;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
      throw Error(fmt::format("workers: one ended with status {:#x}", status));
    });
    return !running_.empty();
  }

  /// Asks them to end after the current case.
  void stop() const {
    for (const pid_t p : running_) kill(p, SIGTERM);
  }

 private:
  void wait_for_one() {
    while (waitpid(running_.back(), nullptr, 0) < 0 && errno == EINTR) {
    }
    running_.pop_back();
  }

  std::vector<pid_t> running_;
};

/// Reports the contents of the journals until all processes have ended, and ends those early if
/// enough is known.
CampaignResult watched(Processes& processes, const std::vector<std::string>& journals,
                       const CampaignOptions& campaign) {
  const auto begin = std::chrono::steady_clock::now();
  const std::int64_t planned = planned_cases(campaign);
  JournalWatch watch(journals);
  int failures = 0;
  CampaignOptions told = campaign;
  told.failure = [&](const Failure& f) {
    ++failures;
    if (campaign.failure) campaign.failure(f);
  };
  told.progress = [&](CampaignProgress progress) {
    progress.seconds = seconds_since(begin);
    progress.planned = planned;
    progress.until_s = campaign.budget_s;
    if (campaign.progress) campaign.progress(progress);
  };
  bool told_to_stop = false;
  for (bool left = true; left;) {
    left = processes.any_left();
    watch.look(told);
    const bool enough = campaign.max_failures && failures >= *campaign.max_failures;
    if ((enough || campaign.run.stopping()) && !told_to_stop) {
      processes.stop();
      told_to_stop = true;
    }
    if (left) std::this_thread::sleep_for(kLookEvery);
  }
  CampaignResult result = watch.result();
  result.seconds = std::max(result.seconds, seconds_since(begin));
  result.interrupted = campaign.run.stopping();
  return result;
}

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
  return watched(processes, journals, campaign);
}

}  // namespace mote::tool
