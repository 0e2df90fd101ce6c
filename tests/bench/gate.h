// SPDX-License-Identifier: Apache-2.0
// The main function of a program of google-benchmarks: with --gate, ratios of the medians are
// compared with limits. All are measured in one run with randomly interleaved repetitions, so that
// a busy machine slows both sides of a ratio.
#pragma once

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace mote::bench {

/// The median of the benchmark `of` must be at most `limit` times that of `over`.
struct Ratio {
  const char* of;
  const char* over;
  double limit;
};

/// Keeps the repetitions of each benchmark.
class Keeper : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Iteration && !run.error_occurred)
        times_[run.run_name.function_name].push_back(run.GetAdjustedCPUTime());
  }
  void print() {
    for (const auto& [name, times] : times_) fmt::print("{:18} {:7.1f} ns\n", name, median(name));
  }
  double median(const std::string& name) {
    std::vector<double>& times = times_.at(name);
    std::ranges::sort(times);
    return times[times.size() / 2];
  }

 private:
  std::map<std::string, std::vector<double>> times_;
};

inline bool is_within(Keeper& keeper, std::span<const Ratio> ratios) {
  keeper.print();
  bool within = true;
  for (const Ratio& r : ratios) {
    const double ratio = keeper.median(r.of) / keeper.median(r.over);
    const bool ok = ratio <= r.limit;
    fmt::print("{} is {:.1f} times {}, the limit is {}{}\n", r.of, ratio, r.over, r.limit,
               ok ? "" : ": beyond it");
    within = within && ok;
  }
  return within;
}

/// Returns the exit status: with --gate as the only argument, 1 if a ratio is beyond its limit.
inline int measure(int argc, char** argv, std::span<const Ratio> ratios) {
  const bool gated = argc == 2 && std::strcmp(argv[1], "--gate") == 0;
  std::vector<std::string> words = {argv[0]};
  if (gated)
    words.insert(words.end(),
                 {"--benchmark_enable_random_interleaving=true", "--benchmark_repetitions=31"});
  else
    words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  if (benchmark::ReportUnrecognizedArguments(count, pointers.data())) return 2;
  if (!gated) return benchmark::RunSpecifiedBenchmarks() > 0 ? 0 : 1;
  // Other load on the machine may last as long as one attempt; a ratio that is really too large
  // stays so in each.
  for (int attempt = 0; attempt < 3; ++attempt) {
    Keeper keeper;
    benchmark::RunSpecifiedBenchmarks(&keeper);
    if (is_within(keeper, ratios)) return 0;
  }
  return 1;
}

}  // namespace mote::bench
