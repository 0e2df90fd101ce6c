// SPDX-License-Identifier: Apache-2.0
#include "part.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "cliques.h"
#include "mote/base/error.h"

namespace mote::memory {
namespace {

constexpr std::uint32_t kNoLocal = std::numeric_limits<std::uint32_t>::max();

void require_valid(const MemoryProblem& problem) {
  if (problem.interference.size() != problem.blocks.size())
    throw Error("plan_memory: the interference is of " +
                std::to_string(problem.interference.size()) + " blocks, expected " +
                std::to_string(problem.blocks.size()));
  for (std::size_t k = 0; k < problem.blocks.size(); ++k) {
    const MemoryBlock& block = problem.blocks[k];
    const std::string name = block.name.empty() ? "" : " '" + block.name + "'";
    if (!std::has_single_bit(block.alignment))
      throw Error("plan_memory: the alignment of block " + std::to_string(k) + name + " is " +
                  std::to_string(block.alignment) + ", expected a power of two");
    if (block.bytes > kMaxBytes)
      throw Error("plan_memory: block " + std::to_string(k) + name + " has " +
                  std::to_string(block.bytes) + " bytes, expected below 2^63");
  }
}

/// Returns the least alignment of blocks that have bytes, which is a unit of all sizes.
std::uint64_t unit_of(const MemoryProblem& problem) {
  std::uint64_t unit = kTooMany;
  for (const MemoryBlock& block : problem.blocks)
    if (block.bytes > 0) unit = std::min(unit, block.alignment);
  return unit == kTooMany ? 1 : unit;
}

/// Returns the blocks that have bytes, in the order of their use.
std::vector<std::uint32_t> in_order_of_use(const MemoryProblem& problem) {
  std::vector<std::uint32_t> blocks;
  for (std::uint32_t k = 0; k < problem.blocks.size(); ++k)
    if (problem.blocks[k].bytes > 0) blocks.push_back(k);
  const auto order = [&](std::uint32_t k) { return problem.interference.order(k); };
  if (!std::ranges::is_sorted(blocks, {}, order)) std::ranges::stable_sort(blocks, {}, order);
  return blocks;
}

void add_block(Part& part, const MemoryProblem& problem, std::uint32_t block, std::uint64_t unit) {
  part.blocks.push_back(block);
  part.bytes.push_back(rounded_up(problem.blocks[block].bytes, unit));
  part.alignments.push_back(problem.blocks[block].alignment);
}

/// Finds points, pairs and bound of a timed part: a point is where a block ends after others began.
void find_points(Part& part, std::span<const Lifetime> lifetimes) {
  // The blocks are in the order in which they begin.
  std::vector<std::uint32_t> by_end(part.size());
  std::iota(by_end.begin(), by_end.end(), 0U);
  const auto end_of = [&](std::uint32_t k) { return lifetimes[part.blocks[k]].end; };
  if (!std::ranges::is_sorted(by_end, {}, end_of)) std::ranges::stable_sort(by_end, {}, end_of);
  part.begins.resize(part.size());
  part.ends.resize(part.size());
  std::uint32_t point = 0;
  bool ended = false;
  std::uint64_t alive = 0, alive_bytes = 0;
  auto end = by_end.begin();
  const auto end_until = [&](std::int64_t time) {
    for (; end != by_end.end() && end_of(*end) <= time; ++end) {
      part.ends[*end] = point;
      alive_bytes -= part.bytes[*end];
      --alive;
      ended = true;
    }
  };
  for (std::uint32_t k = 0; k < part.size(); ++k) {
    const std::int64_t time = lifetimes[part.blocks[k]].begin;
    end_until(time);
    if (ended) ++point;
    ended = false;
    part.begins[k] = point;
    part.pairs += alive++;
    if (alive_bytes > kMaxBytes - part.bytes[k])
      throw Error("plan_memory: more than 2^63 - 1 bytes are alive at time " +
                  std::to_string(time));
    alive_bytes += part.bytes[k];
    part.bound = std::max(part.bound, alive_bytes);
  }
  end_until(std::numeric_limits<std::int64_t>::max());
  part.points = point + 1;
  for (const std::uint32_t block : part.blocks)
    part.lengths.push_back(static_cast<std::uint64_t>(lifetimes[block].end) -
                           static_cast<std::uint64_t>(lifetimes[block].begin));
}

std::vector<Part> timed_parts(const MemoryProblem& problem, std::uint64_t unit) {
  const std::span<const Lifetime> lifetimes = problem.interference.lifetimes();
  std::vector<Part> parts;
  std::int64_t last_end = 0;
  for (const std::uint32_t block : in_order_of_use(problem)) {
    if (parts.empty() || lifetimes[block].begin >= last_end) {
      parts.emplace_back();
      last_end = lifetimes[block].end;
    }
    last_end = std::max(last_end, lifetimes[block].end);
    add_block(parts.back(), problem, block, unit);
  }
  for (Part& part : parts) find_points(part, lifetimes);
  return parts;
}

/// Returns the number of the component of each block that has bytes.
std::vector<std::uint32_t> components_of(const MemoryProblem& problem) {
  std::vector<std::uint32_t> component(problem.blocks.size(), kNoLocal);
  std::uint32_t count = 0;
  std::vector<std::uint32_t> open;
  for (std::uint32_t k = 0; k < component.size(); ++k) {
    if (component[k] != kNoLocal || problem.blocks[k].bytes == 0) continue;
    component[k] = count;
    open.assign(1, k);
    while (!open.empty()) {
      const std::uint32_t block = open.back();
      open.pop_back();
      for (const std::uint32_t near : problem.interference.neighbours(block))
        if (component[near] == kNoLocal && problem.blocks[near].bytes > 0) {
          component[near] = count;
          open.push_back(near);
        }
    }
    ++count;
  }
  return component;
}

std::vector<Part> parts_of_pairs(const MemoryProblem& problem, std::uint64_t unit) {
  const std::vector<std::uint32_t> component = components_of(problem);
  std::vector<Part> parts;
  std::vector<std::uint32_t> local(problem.blocks.size(), kNoLocal);
  for (const std::uint32_t block : in_order_of_use(problem)) {
    if (component[block] >= parts.size()) parts.resize(component[block] + std::size_t{1});
    Part& part = parts[component[block]];
    local[block] = static_cast<std::uint32_t>(part.size());
    add_block(part, problem, block, unit);
  }
  for (Part& part : parts) {
    part.timed = false;
    for (const std::uint32_t block : part.blocks) {
      const std::size_t first = part.neighbours.values.size();
      for (const std::uint32_t near : problem.interference.neighbours(block))
        if (local[near] != kNoLocal) part.neighbours.values.push_back(local[near]);
      std::sort(part.neighbours.values.begin() + static_cast<std::ptrdiff_t>(first),
                part.neighbours.values.end());
      part.neighbours.close();
      part.lengths.push_back(part.neighbours.values.size() - first + 1);
    }
    part.pairs = part.neighbours.values.size() / 2;
    find_cliques(part);
  }
  return parts;
}

}  // namespace

std::vector<Part> parts_of(const MemoryProblem& problem) {
  require_valid(problem);
  const std::uint64_t unit = unit_of(problem);
  return problem.interference.timed() ? timed_parts(problem, unit) : parts_of_pairs(problem, unit);
}

void find_neighbours(Part& part) {
  if (part.neighbours.size() == part.size()) return;
  // Blocks are in the order of their begins, so those alive when one begins come before it.
  std::vector<std::uint32_t> alive, earlier;
  std::vector<std::size_t> next(part.size() + 1, 0);
  const auto for_each_pair = [&](const auto& use) {
    alive.clear();
    for (std::uint32_t k = 0; k < part.size(); ++k) {
      std::erase_if(alive, [&](std::uint32_t a) { return part.ends[a] < part.begins[k]; });
      for (const std::uint32_t a : alive) use(a, k);
      alive.push_back(k);
    }
  };
  for_each_pair([&](std::uint32_t a, std::uint32_t b) {
    ++next[a + 1];
    ++next[b + 1];
  });
  for (std::size_t k = 0; k < part.size(); ++k) next[k + 1] += next[k];
  part.neighbours.first = next;
  part.neighbours.values.resize(2 * part.pairs);
  // All earlier neighbours of a block come before its later ones; `alive` stays ascending.
  for_each_pair([&](std::uint32_t a, std::uint32_t b) {
    part.neighbours.values[next[b]++] = a;
    part.neighbours.values[next[a]++] = b;
  });
}

}  // namespace mote::memory
