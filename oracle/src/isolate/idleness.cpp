// SPDX-License-Identifier: Apache-2.0
// Reads /proc. Where that does not say enough, the process counts as one that loads something.
#include "idleness.h"

#include <dirent.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

namespace mote::isolate {
namespace {

/// The pages and bytes that a process may take in a stretch without counting as one that loads: a
/// compiler takes thousands a second, and an import reads more.
constexpr std::int64_t kFewPages = 200;
constexpr std::int64_t kFewBytes = std::int64_t{64} << 10U;
/// A gap between looks that shows that the looking process itself was stopped.
constexpr double kStopped = 1;

std::string text_of(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return {};
  std::array<char, 4096> text{};
  const std::size_t size = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  return {text.data(), size};
}

struct Stat {
  pid_t parent = 0;
  std::int64_t pages = 0;
};

/// The name of the program, which may hold anything, is in brackets.
std::optional<Stat> stat_of(const std::string& process) {
  const std::string text = text_of("/proc/" + process + "/stat");
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  int parent = 0;
  long long minor = 0, of_children = 0, major = 0, major_of_children = 0;
  const int read =
      std::sscanf(text.c_str() + end, ") %*c %d %*d %*d %*d %*d %*u %lld %lld %lld %lld", &parent,
                  &minor, &of_children, &major, &major_of_children);
  if (read != 5) return std::nullopt;
  return Stat{parent, minor + of_children + major + major_of_children};
}

}  // namespace

Idleness::Idleness(pid_t process)
    : process_(process), since_(work()), begin_(Clock::now()), looked_(begin_) {}

Idleness::Work Idleness::work() const {
  const std::string process = std::to_string(process_);
  const auto stat = stat_of(process);
  const std::string io = text_of("/proc/" + process + "/io");
  long long bytes = 0;
  if (!stat || std::sscanf(io.c_str(), "rchar: %lld", &bytes) != 1) return {};
  return {stat->pages, bytes, true};
}

void Idleness::look(std::chrono::nanoseconds waited) {
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> gap = now - looked_;
  looked_ = now;
  waited_ = waited;
  const Work at = work();
  const bool loads = !at.is_known || !since_.is_known || at.pages - since_.pages > kFewPages ||
                     at.bytes - since_.bytes > kFewBytes;
  if (loads || gap.count() > kStopped) return restart();
  const std::chrono::duration<double> passed = now - begin_ - (waited - waited_at_begin_);
  seconds_ = passed.count();
}

void Idleness::restart() {
  since_ = work();
  begin_ = looked_;
  waited_at_begin_ = waited_;
  seconds_ = 0;
}

bool Idleness::has_children() const {
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return true;
  bool found = false;
  while (const dirent* entry = found ? nullptr : readdir(folder)) {
    if (std::strspn(entry->d_name, "0123456789") != std::strlen(entry->d_name)) continue;
    const auto stat = stat_of(entry->d_name);
    found = stat && stat->parent == process_;
  }
  closedir(folder);
  return found;
}

}  // namespace mote::isolate
