// SPDX-License-Identifier: Apache-2.0
#include "mote/memory/picture.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <vector>

#include "mote/base/error.h"

namespace mote {
namespace {

constexpr double kWidth = 960, kHeight = 480, kLeft = 8, kTop = 28;

/// The columns [begin, end) of a block, in units of time since the first begin.
struct Columns {
  double begin = 0, end = 0;
};

/// Returns text for an element. Control characters, which XML forbids, become '?', and so does each
/// byte that is not ASCII, since a name need not be UTF-8.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c < ' ' || c >= '\x7f' ? '?' : c;
  }
  return result;
}

std::string decimal(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", number);
  return text.data();
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + decimal(value) + '"';
}

std::vector<Columns> columns_of(const Interference& interference) {
  std::vector<Columns> columns(interference.size());
  if (columns.empty()) return columns;
  if (interference.timed()) {
    std::int64_t first = interference.lifetimes()[0].begin;
    for (const Lifetime& life : interference.lifetimes()) first = std::min(first, life.begin);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const Lifetime& life = interference.lifetimes()[k];
      columns[k] = {static_cast<double>(life.begin) - static_cast<double>(first),
                    static_cast<double>(life.end) - static_cast<double>(first)};
    }
    return columns;
  }
  std::vector<std::uint32_t> order(columns.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return interference.order(a) < interference.order(b);
  });
  for (std::size_t at = 0; at < order.size(); ++at)
    columns[order[at]] = {static_cast<double>(at), static_cast<double>(at + 1)};
  return columns;
}

std::string title_of(const MemoryProblem& problem, const MemoryPlan& plan, std::uint32_t block) {
  const MemoryBlock& b = problem.blocks[block];
  std::string title = b.name.empty() ? "block " + std::to_string(block) : escaped(b.name);
  title += ": " + std::to_string(b.bytes) + " bytes at " + std::to_string(plan.offsets[block]);
  if (!problem.interference.timed())
    return title + ", use " + std::to_string(problem.interference.order(block));
  const Lifetime& life = problem.interference.lifetimes()[block];
  return title + ", alive [" + std::to_string(life.begin) + ", " + std::to_string(life.end) + ")";
}

}  // namespace

std::string memory_picture(const MemoryProblem& problem, const MemoryPlan& plan) {
  if (plan.offsets.size() != problem.blocks.size() ||
      problem.interference.size() != problem.blocks.size())
    throw Error("memory_picture: the plan has " + std::to_string(plan.offsets.size()) +
                " offsets and the interference " + std::to_string(problem.interference.size()) +
                " blocks, expected " + std::to_string(problem.blocks.size()));
  const std::vector<Columns> columns = columns_of(problem.interference);
  double last = 1;
  for (const Columns& c : columns) last = std::max(last, c.end);
  const double across = kWidth / last,
               up = kHeight / static_cast<double>(std::max<std::uint64_t>(plan.total, 1));
  const auto height_of = [&](std::uint64_t bytes) { return static_cast<double>(bytes) * up; };
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"" +
                    attribute("width", kWidth + 2 * kLeft) +
                    attribute("height", kHeight + kTop + kLeft) +
                    " font-family=\"sans-serif\" font-size=\"12\">\n<text x=\"8\" y=\"18\">" +
                    std::to_string(plan.total) + " bytes, bound " + std::to_string(plan.bound) +
                    (plan.planner.empty() ? "" : " (" + escaped(plan.planner) + ")") + "</text>\n";
  for (std::uint32_t k = 0; k < columns.size(); ++k) {
    // Hues a golden angle apart, so that neighbours differ.
    const std::uint32_t hue = k * 137U % 360U;
    svg += "<rect" + attribute("x", kLeft + columns[k].begin * across) +
           attribute("y", kTop + kHeight - height_of(plan.offsets[k]) -
                              height_of(problem.blocks[k].bytes)) +
           attribute("width", (columns[k].end - columns[k].begin) * across) +
           attribute("height", height_of(problem.blocks[k].bytes)) + " fill=\"hsl(" +
           std::to_string(hue) + ",60%,70%)\" stroke=\"#333\" stroke-width=\"0.5\"><title>" +
           title_of(problem, plan, k) + "</title></rect>\n";
  }
  const double bound = kTop + kHeight - height_of(plan.bound);
  return svg + "<line" + attribute("x1", kLeft) + attribute("y1", bound) +
         attribute("x2", kLeft + kWidth) + attribute("y2", bound) +
         " stroke=\"#c00\" stroke-dasharray=\"6 3\"><title>bound: " + std::to_string(plan.bound) +
         " bytes</title></line>\n</svg>\n";
}

}  // namespace mote
