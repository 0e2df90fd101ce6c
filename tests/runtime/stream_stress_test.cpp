// SPDX-License-Identifier: Apache-2.0
// Tests random streams, events and threads. Every task reads cells that earlier tasks have written
// and that only events order; a wrong value, or a report of the thread sanitizer, shows a violated
// order. A run is a function of its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "mote/runtime/context.h"
#include "mote/runtime/status.h"
#include "mote/runtime/stream.h"

namespace mote {
namespace {

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t bound) { return random() % bound; }

/// One thread's streams. A vector clock records how far each stream is ordered after the others
/// when work is enqueued, and each task checks that this work has happened.
class Weave {
 public:
  Weave(Context& context, unsigned seed, std::size_t streams)
      : random_(seed), cells_(streams), written_(streams) {
    for (std::size_t k = 0; k < streams; ++k) {
      streams_.emplace_back(context);
      clocks_.emplace_back(streams, 0);
    }
    events_.resize(2 * streams);
    recorded_.resize(events_.size());
  }

  void step() {
    const std::size_t s = below(random_, streams_.size());
    const std::size_t e = below(random_, events_.size());
    switch (below(random_, 8)) {
      case 0:
      case 1:
        streams_[s].record(events_[e]);
        recorded_[e] = clocks_[s];
        break;
      case 2:
      case 3:
        streams_[s].wait(events_[e]);
        for (std::size_t k = 0; k < recorded_[e].size(); ++k)
          clocks_[s][k] = std::max(clocks_[s][k], recorded_[e][k]);
        break;
      case 4:
        if (below(random_, 20) == 0) streams_[s].synchronize();
        break;
      default:
        work(s);
    }
  }
  void finish() {
    for (Stream& stream : streams_) stream.synchronize();
    for (std::size_t k = 0; k < cells_.size(); ++k)
      if (cells_[k] != clocks_[k][k]) wrong_ = true;
  }
  bool is_wrong() const { return wrong_; }

 private:
  void work(std::size_t s) {
    // Each task writes a cell of its own, which only tasks ordered after it read.
    const int own = ++clocks_[s][s];
    history_.push_back(std::make_unique<int>(-1));
    int* cell = history_.back().get();
    written_[s].push_back(cell);
    std::vector<const int*> seen;
    std::vector<int> expected;
    for (std::size_t k = 0; k < streams_.size(); ++k) {
      const int until = k == s ? own - 1 : clocks_[s][k];
      if (until == 0) continue;
      seen.push_back(written_[k][static_cast<std::size_t>(until - 1)]);
      expected.push_back(until);
    }
    int* count = &cells_[s];
    streams_[s].enqueue([this, cell, count, own, seen, expected] {
      for (std::size_t k = 0; k < seen.size(); ++k)
        if (*seen[k] != expected[k]) wrong_ = true;
      *cell = own;
      *count = own;
    });
  }

  Random random_;
  std::vector<int> cells_;
  std::vector<std::unique_ptr<int>> history_;
  std::vector<std::vector<int*>> written_;
  std::vector<std::vector<int>> clocks_;
  std::vector<Event> events_;
  std::vector<std::vector<int>> recorded_;
  std::atomic<bool> wrong_ = false;
  std::vector<Stream> streams_;  // destroyed first: its work uses the other members
};

unsigned base_seed() {
  const char* given = std::getenv("MOTE_STREAM_SEED");
  return given != nullptr ? static_cast<unsigned>(std::stoul(given)) : 1U;
}

TEST(StreamStress, EventsKeepTheOrder) {
  for (unsigned seed = base_seed(); seed < base_seed() + 30; ++seed) {
    SCOPED_TRACE("MOTE_STREAM_SEED=" + std::to_string(seed));
    Context context({.workers = static_cast<int>(1 + seed % 4)});
    Weave weave(context, seed, 1 + seed % 7);
    for (int k = 0; k < 400; ++k) weave.step();
    weave.finish();
    ASSERT_FALSE(weave.is_wrong());
  }
}

TEST(StreamStress, FromSeveralThreadsOnOneContext) {
  Context context({.workers = 3});
  std::atomic<bool> wrong = false;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Weave weave(context, base_seed() + t, 3);
      for (int k = 0; k < 1500; ++k) weave.step();
      weave.finish();
      if (weave.is_wrong()) wrong = true;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(wrong) << "MOTE_STREAM_SEED=" << base_seed();
}

/// Threads share streams and events, with errors and destruction: the test must end, and no work
/// may be lost without an error.
TEST(StreamStress, SharedStreamsEnd) {
  for (unsigned seed = base_seed(); seed < base_seed() + 10; ++seed) {
    SCOPED_TRACE("MOTE_STREAM_SEED=" + std::to_string(seed));
    Context context({.workers = 2});
    std::atomic<int> given = 0;
    std::atomic<int> done = 0;
    std::atomic<int> errors = 0;
    {
      std::vector<Stream> streams;
      for (int k = 0; k < 3; ++k) streams.emplace_back(context);
      const std::vector<Event> events(3);
      const auto drive = [&](unsigned own_seed) {
        Random random(own_seed);
        for (int k = 0; k < 200; ++k) {
          Stream& stream = streams[below(random, 3)];
          const Event& event = events[below(random, 3)];
          switch (below(random, 6)) {
            case 0:
              stream.record(event);
              break;
            case 1:
              stream.wait(event);
              break;
            case 2:
              if (below(random, 10) == 0)
                stream.enqueue([] { throw StatusError(MOTE_FAILED, "on purpose"); });
              break;
            case 3:
              try {
                if (below(random, 10) == 0) stream.synchronize();
              } catch (const StatusError&) {
                ++errors;
              }
              break;
            default:
              ++given;
              stream.enqueue([&] { ++done; });
          }
        }
      };
      std::thread other(drive, seed + 1000);
      drive(seed);
      other.join();
    }
    EXPECT_LE(done, given);
    EXPECT_GT(done, 0);
  }
}

/// One context has runs on threads, runs on streams, and workspace of one pool.
TEST(StreamStress, CommandsOfOneContextFromManyThreads) {
  Context context({.workspace_limit = 1 << 20, .workers = 2});
  std::atomic<bool> wrong = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Command neg("neg");
      Stream stream(context);
      for (int k = 0; k < 100; ++k) {
        const Tensor x(DType::f32, {8, 1 + (k + t) % 5});
        Tensor y(DType::f32, x.shape());
        Tensor z(DType::f32, x.shape());
        fill(x, static_cast<double>(k));
        run(neg, {&x}, {&y}, {.context = &context});
        run(neg, {&y}, {&z}, stream);
        stream.synchronize();
        if (z.real_at({7, 0}) != k) wrong = true;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace mote
