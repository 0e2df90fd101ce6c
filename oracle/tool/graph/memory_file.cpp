// SPDX-License-Identifier: Apache-2.0
#include "graph/memory_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "graph/graph_file.h"
#include "mote/base/error.h"
#include "mote/memory/check.h"
#include "mote/memory/minimalloc.h"
#include "mote/memory/picture.h"
#include "output.h"

namespace mote::tool {
namespace {

MemoryProblem read_problem(const std::string& path) {
  const std::string text = read_text(path);
  try {
    return read_minimalloc(text).problem;
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", path, e.what()));
  }
}

std::string text_of(const MemoryProblem& problem, const MemoryPlan& plan, std::uint64_t capacity) {
  const double ratio =
      plan.bound == 0 ? 1.0 : static_cast<double>(plan.total) / static_cast<double>(plan.bound);
  std::string text =
      fmt::format("{} blocks: {} bytes, {:.3f} of the lower bound {}; found by {}",
                  problem.blocks.size(), plan.total, ratio, plan.bound, plan.planner);
  if (capacity > 0)
    text +=
        fmt::format("; {} the capacity {}", plan.total <= capacity ? "within" : "beyond", capacity);
  return text + "\n";
}

}  // namespace

std::string picture_page(const std::string& svg, const std::string& text) {
  std::string page = "<!doctype html><meta charset=\"utf-8\"><title>mote graph plan</title>\n";
  page += "<h1>Memory over time</h1>\n" + svg + "\n<pre>";
  for (const char c : text) {
    if (c == '<')
      page += "&lt;";
    else if (c == '&')
      page += "&amp;";
    else
      page += c;
  }
  return page + "</pre>\n";
}

int plan_memory_file(const std::string& path, const MemoryFileOptions& options) {
  const MemoryProblem problem = read_problem(path);
  const MemoryPlan plan =
      plan_memory(problem, {.effort = MemoryEffort::thorough, .enough = options.capacity});
  if (const auto defect = check_memory_plan(problem, plan)) throw InternalError(defect->text);
  const bool fits = options.capacity == 0 || plan.total <= options.capacity;
  const std::string text = text_of(problem, plan, options.capacity);
  if (!options.html.empty())
    write_text(options.html, picture_page(memory_picture(problem, plan), text));
  if (!options.output.empty()) write_text(options.output, write_minimalloc(problem, &plan));
  if (options.json)
    print(nlohmann::json({{"blocks", problem.blocks.size()},
                          {"bytes", plan.total},
                          {"lower_bound", plan.bound},
                          {"planner", plan.planner},
                          {"fits", fits}})
              .dump() +
          "\n");
  else
    print(text);
  return fits ? 0 : 1;
}

}  // namespace mote::tool
