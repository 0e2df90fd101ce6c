// SPDX-License-Identifier: Apache-2.0
// Runs random programs through every stage of the compiler. MOTE_RANDOM_PROGRAMS sets their number,
// MOTE_RANDOM_SCHEDULES that of the schedules drawn for each, MOTE_SEED the first seed;
// MOTE_REPLAY=FILE checks one program from a file instead.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <future>
#include <iostream>
#include <set>
#include <sstream>

#include "mote/base/error.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "program_features.h"
#include "random_program.h"
#include "random_schedule.h"
#include "replay.h"
#include "support/random_run.h"

namespace mote::test {
namespace {

constexpr int kBatch = 50;
constexpr int kTrials = 3;
constexpr int kMaxFailures = 3;

struct Case {
  std::uint64_t seed = 0;
  Prepared prepared;
  int number = -1;  ///< position in the batch; -1 if it failed before any C
};

struct Batch {
  std::vector<Case> cases;
  std::unique_ptr<CBatch> c;
  std::future<std::string> compiled;  ///< the compiler's message, empty if it succeeded
};

class Session {
 public:
  /// Draws `schedules` schedules for each program, from that seed on.
  Session(std::uint64_t first, int schedules) : next_(first), schedules_(schedules) {}

  /// Checks `count` programs; while one batch is compiled, the next goes through the passes.
  void check(int count) {
    std::optional<Batch> waiting;
    for (int done = 0; done < count && failures_ < kMaxFailures; done += kBatch) {
      Batch batch = prepare(std::min(kBatch, count - done));
      if (waiting) finish(*waiting);
      waiting = std::move(batch);
    }
    if (waiting) finish(*waiting);
  }

  /// Returns the number of programs with each feature, and the number that each pass changed.
  const std::map<std::string, int>& features() const { return features_; }
  const std::map<std::string, int>& stages() const { return stages_; }

 private:
  Batch prepare(int count) {
    Batch batch;
    batch.c = std::make_unique<CBatch>(next_ / kBatch % 2 == 0 ? "-O1" : "-Og");
    for (int k = 0; k < count && failures_ < kMaxFailures; ++k) {
      Case c;
      c.seed = next_++;
      current_seed = c.seed;
      try {
        if (prepare(c, *batch.c)) batch.cases.push_back(std::move(c));
      } catch (const std::exception& e) {
        ++failures_;
        ADD_FAILURE() << "seed " << c.seed << ": not a legal program: " << e.what();
      }
    }
    batch.compiled = std::async(std::launch::async, [c = batch.c.get()]() -> std::string {
      try {
        c->compile();
        return "";
      } catch (const Error& e) {
        return e.what();
      }
    });
    return batch;
  }

  /// Runs all stages before the C, and adds the program to the batch; reports a failure and returns
  /// false.
  bool prepare(Case& c, CBatch& batch) {
    const Program p = random_program(c.seed, {.has_twins = true, .has_products = true});
    for (const std::string& f : features_of(p)) ++features_[f];
    CheckOptions options;
    options.schedules = schedules_;
    std::optional<Mismatch> m =
        check_stages(p, make_trials(p, c.seed, kTrials), options, c.prepared);
    for (const std::string& stage : c.prepared.stages) ++stages_[stage];
    try {
      if (!m) {
        c.number = batch.add(*c.prepared.final);
        add_tile_trials(c.prepared, batch, c.number, c.seed);
      }
    } catch (const std::exception& e) {
      m = {"c", e.what(), "", {}, {}, {}, std::nullopt};
    }
    if (m) report(c, *m);
    return !m;
  }

  void finish(Batch& batch) {
    const std::string words = batch.compiled.get();
    for (const Case& c : batch.cases) {
      if (failures_ >= kMaxFailures) return;
      current_seed = c.seed;
      const auto m = words.empty() ? check_c(c.prepared, *batch.c, c.number)
                                   : check_program(*c.prepared.program, c.prepared.trials);
      if (m) report(c, *m);
      if (!words.empty()) continue;
      count_tiles(batch.c->tiles_that_ran(c.number));
    }
  }

  /// Counts the program once for each size of vectors, and once if a tile slides along a window.
  void count_tiles(const std::vector<std::string>& ran) {
    std::set<std::string> found;
    for (const std::string& name : ran) {
      const std::size_t size = name.find('_') + 1;
      found.insert("ran tile_" + name.substr(size, name.find('_', size) - size));
      if (name.ends_with("_innermost")) found.insert("ran innermost");
    }
    for (const std::string& what : found) ++stages_[what];
  }

  void report(const Case& c, const Mismatch& m) {
    ++failures_;
    const Failure f = shrink({*c.prepared.program, c.prepared.trials, m}, {});
    ADD_FAILURE() << "seed " << c.seed << ", " << to_string(m) << "\nshrunk to:\n"
                  << replay_text(f)
                  << "replay: " << write_replay(f, fmt::format("mote_random_{}", c.seed));
  }

  std::uint64_t next_;
  int schedules_;
  int failures_ = 0;
  std::map<std::string, int> features_, stages_;
};

/// Prints the share of programs; fails if there are fewer than `least`.
void expect_share(const std::string& what, const std::map<std::string, int>& counts,
                  const std::string& key, int count, int least) {
  const auto found = counts.find(key);
  const int times = found == counts.end() ? 0 : found->second;
  std::cout << fmt::format("  {:5.1f} %  {}\n", 100.0 * times / count, what);
  EXPECT_GE(times, least) << "the generator hardly makes a " << what;
}

void check_random_programs() {
  const std::string how_many = environment("MOTE_RANDOM_PROGRAMS");
  const int count = how_many.empty() ? 1000 : std::stoi(how_many);
  const std::uint64_t first = first_seed();
  std::cout << count << " random programs from MOTE_SEED=" << first << "\n";
  const std::string given = environment("MOTE_RANDOM_SCHEDULES");
  const int schedules = given.empty() ? 2 : std::stoi(given);
  static std::string replay;  // it is read when the process crashes
  replay = fmt::format(
      "\ncrashed in a random program: MOTE_RANDOM_PROGRAMS=1 MOTE_RANDOM_SCHEDULES={} MOTE_SEED=",
      schedules);
  say_seed_on_crash(replay.c_str());
  Session session(first, schedules);
  session.check(count);
  if (testing::Test::HasFailure()) return;
  for (const std::string& feature : all_features())
    expect_share("program with: " + feature, session.features(), feature, count,
                 count < 500 ? 0 : count / 20);
  for (const Pass& pass : passes())
    expect_share(fmt::format("program changed by: {}", pass.name), session.stages(), pass.name,
                 count, count < 2000 ? 0 : 1);
  for (const char* step : {"hoist", "registers", "blocks", "partial", "keep", "transpose"})
    expect_share(std::string("schedule with the step: ") + step, session.stages(),
                 std::string("schedule ") + step, count, count < 20000 ? 0 : 1);
  for (const char* step : {"scan", "slide", "jam", "positions", "tile_rows", "scatter", "inward",
                           "outward", "innermost", "prefetch", "tile_window", "narrow"})
    expect_share(std::string("schedule with the step: ") + step, session.stages(),
                 std::string("schedule ") + step, count, count < 2000 ? 0 : 1);
  expect_share("schedule with tiles in registers", session.stages(), "schedule tile", count,
               count < 500 ? 0 : 1);
  for (const RegisterShape& shape : shapes_here()) {
    const std::string ran = fmt::format("ran tile_{}", shape.vector_bytes);
    expect_share(fmt::format("program whose tiles of {} bytes ran", shape.vector_bytes),
                 session.stages(), ran, count, count < 500 ? 0 : count / 100);
  }
  expect_share("program whose tiles along windows ran", session.stages(), "ran innermost", count,
               count < 1000 ? 0 : 1);
  expect_share("schedule with pairs of integers", session.stages(), "schedule in pairs", count,
               count < 2000 ? 0 : 1);
  for (const char* kernel : {"cuda rows", "cuda rows by vectors", "cuda vectors"})
    expect_share(std::string("kernel: ") + kernel, session.stages(), kernel, count,
                 count < 500 ? 0 : 1);
  for (const char* word : {"parts", "grid", "row_vectors", "thread_vectors", "block_tile",
                           "threads", "distribute", "split", "inward", "interchange"})
    for (const std::string what : {"CUDA step ", "CUDA refusal of "})
      expect_share(what + word, session.stages(), what + word, count, count < 500 ? 0 : 1);
  for (const char* word : {"keep", "scan", "positions", "hoist"})
    expect_share(std::string("CUDA refusal of ") + word, session.stages(),
                 std::string("CUDA refusal of ") + word, count, count < 500 ? 0 : 1);
  expect_share("schedule of CUDA whose stages run in sequence", session.stages(),
               "CUDA in sequence", count, count / 2);
  for (const char* word :
       {"split", "interchange", "inward", "outward", "simd", "threads", "scan", "blocks"})
    for (const std::string what : {"step ", "refusal of "})
      expect_share(what + word, session.stages(), what + word, count, count < 500 ? 0 : 1);
  for (const char* word : {"vectors", "simd_if_adjacent", "simd_apart", "adjacent"})
    for (const std::string what : {"step ", "refusal of "})
      expect_share(what + word, session.stages(), what + word, count, count < 500 ? 0 : 1);
  for (const char* word : {"keep", "tile", "innermost", "registers", "tile_rows", "positions",
                           "slide", "tile_window", "transpose", "repeat", "jam", "hoist", "once",
                           "prefetch", "partial", "scatter", "narrow"}) {
    const std::string refusal = std::string("refusal of ") + word;
    expect_share(refusal, session.stages(), refusal, count, count < 500 ? 0 : 1);
  }
  for (const char* word :
       {"keep", "tile", "innermost", "registers", "tile_rows", "positions", "slide", "prefetch",
        "jam", "tile_window", "once", "scatter", "partial"}) {
    const std::string step = std::string("step ") + word;
    expect_share(step, session.stages(), step, count, count < 5000 ? 0 : 1);
  }
}

/// Prints the stages of the program in the file, then checks it.
void check_replay(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const Replay replay = parse_replay(text.str());
  const auto program = std::make_shared<const Program>(replay.program);
  const LoopProgram final = compile(program, [](const char* stage, const LoopProgram& loops) {
    std::cout << "---- " << stage << "\n" << to_string(loops);
  });
  std::cout << "---- c\n" << emit_c(final, {});
  const auto m = check_program(replay.program, replay.trials);
  EXPECT_FALSE(m) << to_string(*m);
}

TEST(RandomPrograms, AgreeAtEveryStage) {
  const std::string file = environment("MOTE_REPLAY");
  if (file.empty())
    check_random_programs();
  else
    check_replay(file);
}

}  // namespace
}  // namespace mote::test
