// SPDX-License-Identifier: Apache-2.0
// The rate of a loop is that of the fastest of its repetitions, which are spread over the whole
// measurement: what else runs on the machine can only slow it.
#include "bench/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <thread>

#include "bench/caches.h"
#include "mote/generated/level.h"

namespace mote::tool {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr double kProbeSeconds = 0.03;  ///< the time for one rate, in each pass
constexpr int kPasses = 3;
constexpr int kMultiplyAdds = 12;  ///< vectors in a round of PeakLoops
constexpr std::int64_t kRoundsAtOnce = 100'000;
constexpr std::size_t kAlignedTo = 4096;
/// DRAM is measured in memory of four times the last cache, within these limits.
constexpr std::size_t kLeastDram = std::size_t{64} << 20U;
constexpr std::size_t kMaxDram = std::size_t{256} << 20U;

double since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

/// Runs `work(thread)` in all threads at once again and again; the least time of one run.
double fastest(int threads, const std::function<void(int)>& work) {
  double best = std::numeric_limits<double>::infinity();
  double one = 0;
  bool more = true;
  SteadyClock::time_point begun = SteadyClock::now();
  SteadyClock::time_point start = begun;
  int run = 0;
  const auto turn = [&]() noexcept {  // between two runs, in one thread
    one = since(start);
    // The first run only touches the memory.
    if (run == 1) begun = SteadyClock::now();
    if (run > 1) best = std::min(best, one);
    more = run < 4 || since(begun) < kProbeSeconds;
    ++run;
    start = SteadyClock::now();
  };
  std::barrier gate(threads, turn);
  const auto serve = [&](int thread) {
    gate.arrive_and_wait();
    while (more) {
      work(thread);
      gate.arrive_and_wait();
    }
  };
  std::vector<std::thread> others;
  for (int k = 1; k < threads; ++k) others.emplace_back(serve, k);
  serve(0);
  for (std::thread& t : others) t.join();
  return best;
}

struct FreePages {
  void operator()(char* p) const { std::free(p); }
};
using Pages = std::unique_ptr<char, FreePages>;

Pages pages(std::size_t bytes) {
  Pages p(static_cast<char*>(std::aligned_alloc(kAlignedTo, bytes)));
  if (!p) throw std::bad_alloc();
  std::memset(p.get(), 1, bytes);
  return p;
}

/// The operations a second of a loop of multiply-adds.
double peak(int threads, int bytes, std::size_t element, double (*loop)(std::int64_t)) {
  std::vector<double> sinks(static_cast<std::size_t>(threads));
  const double seconds = fastest(
      threads, [&](int thread) { sinks[static_cast<std::size_t>(thread)] = loop(kRoundsAtOnce); });
  const double lanes = static_cast<double>(bytes) / static_cast<double>(element);
  return 2.0 * kMultiplyAdds * lanes * static_cast<double>(kRoundsAtOnce) * threads / seconds;
}

/// A level with memory to measure it in, for each thread.
class LevelProbe {
 public:
  LevelProbe(MemoryLevel level, int threads, std::size_t bytes)
      : level_(std::move(level)), threads_(threads) {
    bytes_ = std::max<std::size_t>(bytes / (2 * kAlignedTo), 1) * 2 * kAlignedTo;
    times_ = std::max<std::size_t>((std::size_t{1} << 20U) / bytes_, 1);
    for (int k = 0; k < threads; ++k) memory_.push_back(pages(bytes_));
  }

  void measure(const PeakLoops& loops) {
    std::vector<std::uint64_t> sinks(memory_.size());
    const double read = fastest(threads_, [&](int thread) {
      const auto at = static_cast<std::size_t>(thread);
      for (std::size_t k = 0; k < times_; ++k) sinks[at] ^= loops.read(memory_[at].get(), bytes_);
    });
    const double copy = fastest(threads_, [&](int thread) {
      char* from = memory_[static_cast<std::size_t>(thread)].get();
      for (std::size_t k = 0; k < times_; ++k) {
        std::memcpy(from + bytes_ / 2, from, bytes_ / 2);
        asm volatile("" : : "r"(from) : "memory");  // each copy is made
      }
    });
    const double total = static_cast<double>(bytes_ * times_) * threads_;
    level_.read = std::max(level_.read, total / read);
    level_.copy = std::max(level_.copy, total / copy);
  }
  const MemoryLevel& level() const { return level_; }

 private:
  MemoryLevel level_;
  int threads_;
  std::size_t bytes_ = 0;
  std::size_t times_ = 1;  ///< in one run, so that a run is longer than its start
  std::vector<Pages> memory_;
};

/// The caches that the system tells of, and DRAM. A cache is measured with half of it in use.
std::vector<LevelProbe> level_probes(int threads) {
  std::vector<LevelProbe> probes;
  std::size_t last = 0;
  for (const DataCache& cache : data_caches()) {
    const auto sharers = static_cast<std::size_t>(std::min(threads, cache.processors));
    const std::size_t part = cache.bytes / sharers;  // of a thread
    last = part * static_cast<std::size_t>(threads);
    probes.emplace_back(MemoryLevel{fmt::format("L{}", cache.level), static_cast<double>(last)},
                        threads, part / 2);
  }
  probes.emplace_back(
      MemoryLevel{"DRAM", std::numeric_limits<double>::infinity()}, threads,
      std::clamp(4 * last, kLeastDram, kMaxDram) / static_cast<std::size_t>(threads));
  return probes;
}

MachineLimits measured(int threads) {
  MachineLimits m;
  m.level = mote_level();
  m.threads = threads;
#ifdef MOTE_X86_LEVELS
  const PeakLoops& loops = m.level == 4 ? kPeakV4 : m.level == 3 ? kPeakV3 : kPeakV0;
#else
  const PeakLoops& loops = kPeakV0;
#endif
  std::vector<LevelProbe> probes = level_probes(threads);
  for (int pass = 0; pass < kPasses; ++pass) {
    m.f32 = std::max(m.f32, peak(threads, loops.bytes, sizeof(float), loops.multiply_adds_f32));
    m.f64 = std::max(m.f64, peak(threads, loops.bytes, sizeof(double), loops.multiply_adds_f64));
    for (LevelProbe& probe : probes) probe.measure(loops);
  }
  for (const LevelProbe& probe : probes) m.memory.push_back(probe.level());
  return m;
}

}  // namespace

const MachineLimits& machine_with(int threads) {
  static std::map<int, MachineLimits> known;
  const auto at = known.find(threads);
  return at != known.end() ? at->second : known.emplace(threads, measured(threads)).first->second;
}

WorkLimit limit_of(const MachineLimits& machine, const OpWork& work, DType dtype) {
  const double bytes = work.read_bytes + work.written_bytes;
  WorkLimit limit;
  double within = 0;    // the bytes that smaller levels hold
  double greatest = 0;  // the time of the level that is named
  for (const MemoryLevel& level : machine.memory) {
    const double part = std::min(bytes, level.capacity) - within;
    if (part <= 0 && !limit.name.empty()) break;
    within += part;
    const double a_written_byte = std::max(2 / level.copy - 1 / level.read, 0.0);
    const double share = bytes > 0 ? part / bytes : 0;
    const double seconds =
        share * (work.read_bytes / level.read + work.written_bytes * a_written_byte);
    limit.seconds += seconds;
    if (limit.name.empty() || seconds > greatest) limit.name = level.name;
    greatest = std::max(greatest, seconds);
  }
  if (!is_real(dtype)) return limit;
  const double seconds = work.operations / (dtype == DType::f64 ? machine.f64 : machine.f32);
  return seconds > limit.seconds ? WorkLimit{seconds, "FMA", true} : limit;
}

}  // namespace mote::tool
