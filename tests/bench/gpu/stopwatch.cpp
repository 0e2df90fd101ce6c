// SPDX-License-Identifier: Apache-2.0
#include "stopwatch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

namespace mote::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(at))];
}

Times summary(std::vector<double> all) {
  std::ranges::sort(all);
  const double median = quantile(all, 0.5);
  return {median, (quantile(all, 0.75) - quantile(all, 0.25)) / median};
}

}  // namespace

Stopwatch::Stopwatch(const cuda::Driver& driver, cuda::DriverStream* stream, std::size_t room)
    : driver_(driver), stream_(stream), from_(driver, room), to_(driver, room) {
  check(driver_.calls().create_event(&begin_, 0), "cuEventCreate");
  check(driver_.calls().create_event(&end_, 0), "cuEventCreate");
}

Stopwatch::~Stopwatch() {
  driver_.calls().destroy_event(begin_);
  if (end_ != nullptr) driver_.calls().destroy_event(end_);
}

double Stopwatch::copied(double bytes) const {
  return 2 * std::min(std::floor(bytes / 2), static_cast<double>(from_.bytes()));
}

void Stopwatch::copy(double bytes) const {
  const auto one_way = static_cast<std::size_t>(copied(bytes) / 2);
  check(driver_.calls().copy(to_.at(), from_.at(), one_way, stream_), "cuMemcpyDtoDAsync");
}

double Stopwatch::seconds(const Queued& work, const Plan& plan) const {
  const cuda::DriverCalls& c = driver_.calls();
  for (int k = 0; k < plan.delays; ++k) copy(2 * static_cast<double>(from_.bytes()));
  check(c.record(begin_, stream_), "cuEventRecord");
  for (int k = 0; k < plan.repeats; ++k) work();
  check(c.record(end_, stream_), "cuEventRecord");
  check(c.await(end_), "cuEventSynchronize");
  float milliseconds = 0;
  check(c.elapsed(&milliseconds, begin_, end_), "cuEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds) / plan.repeats;
}

Stopwatch::Plan Stopwatch::plan(const Queued& work, double least_s) const {
  constexpr int kMaxRepeats = 50;
  constexpr int kMaxDelays = 200;
  seconds(work, {1, 0});  // compiles and loads the code
  const Queued full_copy = [this] { copy(2 * static_cast<double>(from_.bytes())); };
  const double of_copy = seconds(full_copy, {1, 1});
  const double once = seconds(work, {1, 1});
  const double repeats = std::clamp(std::ceil(least_s / once), 1.0, double{kMaxRepeats});
  const auto start = Clock::now();
  work();
  const double queueing = repeats * seconds_since(start);
  const double delays = std::clamp(std::ceil(queueing / of_copy), 1.0, double{kMaxDelays});
  return {static_cast<int>(repeats), static_cast<int>(delays)};
}

std::vector<Times> Stopwatch::time(const std::vector<Queued>& all, int rounds,
                                   double least_s) const {
  std::vector<Plan> plans;
  for (const Queued& work : all) plans.push_back(plan(work, least_s));
  std::vector<std::vector<double>> measured(all.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t k = 0; k < all.size(); ++k) measured[k].push_back(seconds(all[k], plans[k]));
  std::vector<Times> times;
  for (auto& of : measured) times.push_back(summary(std::move(of)));
  return times;
}

}  // namespace mote::bench
