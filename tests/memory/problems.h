// SPDX-License-Identifier: Apache-2.0
// Problems for tests of planners: small ones by hand, and random ones as a function of a seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mote/base/philox.h"
#include "mote/memory/minimalloc.h"
#include "mote/memory/problem.h"

namespace mote::test {

/// A stream of random integers, which a seed determines.
class Draws {
 public:
  explicit Draws(std::int64_t seed) : seed_(seed) {}
  /// Returns an integer of 0..below-1.
  std::uint64_t operator()(std::uint64_t below) {
    return static_cast<std::uint64_t>(philox_word(seed_, position_++)) % below;
  }

 private:
  std::int64_t seed_, position_ = 0;
};

struct TimedBlock {
  std::int64_t begin, end;
  std::uint64_t bytes, alignment = 1;
};

inline MemoryProblem timed_problem(const std::vector<TimedBlock>& blocks) {
  MemoryProblem problem;
  std::vector<Lifetime> lifetimes;
  for (const TimedBlock& block : blocks) {
    problem.blocks.push_back({block.bytes, block.alignment});
    lifetimes.push_back({block.begin, block.end});
  }
  problem.interference = Interference::of_lifetimes(std::move(lifetimes));
  return problem;
}

/// The same problem with its lifetimes as pairs.
inline MemoryProblem as_pairs(const MemoryProblem& problem) {
  std::vector<Interference::Pair> pairs;
  std::vector<std::int64_t> order;
  for (std::uint32_t a = 0; a < problem.blocks.size(); ++a) {
    order.push_back(problem.interference.order(a));
    for (std::uint32_t b = a + 1; b < problem.blocks.size(); ++b)
      if (problem.interference.between(a, b)) pairs.emplace_back(b, a);
  }
  return {problem.blocks, Interference::of_pairs(problem.blocks.size(), pairs, std::move(order))};
}

/// Blocks with random lifetimes and sizes below the limits, some of no bytes, some aligned.
inline MemoryProblem random_timed(std::int64_t seed, std::size_t most_blocks,
                                  std::uint64_t most_bytes, bool aligned) {
  Draws draw(seed);
  std::vector<TimedBlock> blocks(draw(most_blocks + 1));
  const std::uint64_t times = 1 + draw(2 * most_blocks), longest = 1 + draw(times);
  for (TimedBlock& block : blocks) {
    block.begin = static_cast<std::int64_t>(draw(times));
    block.end = block.begin + 1 + static_cast<std::int64_t>(draw(longest));
    block.bytes = draw(8) == 0 ? 0 : 1 + draw(most_bytes);
    block.alignment = aligned ? std::uint64_t{1} << draw(4) : 1;
  }
  return timed_problem(blocks);
}

/// Blocks with random sizes and pairs: any graph, chordal or not.
inline MemoryProblem random_pairs(std::int64_t seed, std::size_t most_blocks,
                                  std::uint64_t most_bytes) {
  Draws draw(seed);
  MemoryProblem problem;
  problem.blocks.resize(draw(most_blocks + 1));
  for (MemoryBlock& block : problem.blocks)
    block = {draw(8) == 0 ? 0 : 1 + draw(most_bytes), std::uint64_t{1} << draw(3)};
  const std::uint64_t density = 1 + draw(9);
  std::vector<Interference::Pair> pairs;
  for (std::uint32_t a = 0; a < problem.blocks.size(); ++a)
    for (std::uint32_t b = a + 1; b < problem.blocks.size(); ++b)
      if (draw(10) < density) pairs.emplace_back(a, b);
  problem.interference = Interference::of_pairs(problem.blocks.size(), pairs);
  return problem;
}

/// Returns a file of tests/memory/minimalloc.
inline std::string minimalloc_text(const std::string& name) {
  std::ifstream file(std::string(MOTE_TEST_MINIMALLOC) + "/" + name);
  if (!file) throw std::runtime_error("cannot open " + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace mote::test
