// SPDX-License-Identifier: Apache-2.0
// The report of a compiled graph as text, as JSON, and as a picture of memory over time.
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "device_index.h"
#include "mote/memory/picture.h"
#include "mote/symbolic/compile.h"

namespace mote {
namespace {

double ratio(std::size_t a, std::size_t b) {
  return b == 0 ? 1.0 : static_cast<double>(a) / static_cast<double>(b);
}

std::string counted(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string device_text(DLDevice device) {
  return "@" + std::to_string(static_cast<int>(device.device_type)) + ":" +
         std::to_string(device.device_id);
}

bool is_host(DLDevice device) { return device.device_type == kDLCPU; }

/// Returns the text on one line: a name may hold any characters.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    constexpr const char* kDigits = "0123456789abcdef";
    if (c == '\n')
      line += "\\n";
    else if (code < 0x20 || code == 0x7f)
      (line += "\\x") += {kDigits[code >> 4U], kDigits[code & 15U]};
    else
      line += c;
  }
  return line;
}

/// Returns where the device's memory begins in a picture, which has that of the host at the bottom
/// and those of devices above it.
std::size_t first_byte(const CompileReport& report, DLDevice device) {
  if (is_host(device)) return 0;
  std::size_t first = report.arena_bytes;
  for (std::size_t d = report.devices.size(); d-- > 0;) {
    first -= report.devices[d].arena_bytes;
    if (is_same_device(report.devices[d].device, device)) break;
  }
  return first;
}

}  // namespace

const char* name(EvaluationOrder order) {
  switch (order) {
    case EvaluationOrder::least:
      return "least";
    case EvaluationOrder::program:
      return "program";
    case EvaluationOrder::depth_first:
      return "depth_first";
    case EvaluationOrder::greedy:
      return "greedy";
  }
  return "?";
}

std::string to_text(const CompileReport& report) {
  std::ostringstream text;
  text << one_line(report.graph) << ": " << counted(report.nodes.size(), "node") << ", order "
       << name(report.order) << ", " << counted(static_cast<std::size_t>(report.streams), "stream")
       << ", " << counted(report.events, "event") << "\n";
  for (const std::string& pass : report.passes) text << "  pass " << one_line(pass) << "\n";
  text << "  memory " << report.arena_bytes << " bytes, " << std::fixed << std::setprecision(3)
       << ratio(report.arena_bytes, report.lower_bound) << " of the lower bound "
       << report.lower_bound << "; " << report.separate_bytes << " without sharing; "
       << report.in_place_pairs << " in place; workspace " << report.workspace_bytes << "\n";
  for (const CompiledDevice& on : report.devices)
    text << "    on " << device_text(on.device) << " " << on.arena_bytes << " bytes, "
         << ratio(on.arena_bytes, on.lower_bound) << " of the lower bound " << on.lower_bound
         << "\n";
  for (const std::string& input : report.unknown)
    text << "  the shape of " << one_line(input)
         << " is not known yet: what depends on it is not planned\n";
  if (report.has_control)
    text << "  copied between iterations and out of branches: " << report.copied_bytes
         << " bytes\n";
  for (std::size_t k = 0; k < report.nodes.size(); ++k) {
    const CompiledNode& node = report.nodes[k];
    text << "  " << std::setw(4) << k << " ";
    if (report.streams > 1) text << "stream " << node.stream << " ";
    text << one_line(node.text) << (node.in_place ? "  in place" : "");
    for (const std::uint32_t wait : node.waits) text << "  after " << wait;
    text << "\n";
  }
  for (const CompiledBlock& block : report.blocks)
    text << "  bytes " << (is_host(block.device) ? "" : device_text(block.device) + " ")
         << block.offset << ".." << block.offset + block.bytes << ", nodes " << block.first << ".."
         << block.last << ": " << one_line(block.name) << "\n";
  return std::move(text).str();
}

std::string to_svg(const CompileReport& report) {
  MemoryProblem problem;
  MemoryPlan plan;
  std::vector<Lifetime> lifetimes;
  for (const CompiledBlock& block : report.blocks) {
    const std::string where = is_host(block.device) ? "" : " " + device_text(block.device);
    problem.blocks.push_back({block.bytes, kAlignment, block.name + where});
    lifetimes.push_back(
        {static_cast<std::int64_t>(block.first), static_cast<std::int64_t>(block.last) + 1});
    plan.offsets.push_back(first_byte(report, block.device) + block.offset);
  }
  problem.interference = Interference::of_lifetimes(std::move(lifetimes));
  plan.total = report.arena_bytes;
  plan.bound = report.lower_bound;
  return memory_picture(problem, plan);
}

std::string to_json(const CompileReport& report) {
  nlohmann::json nodes = nlohmann::json::array();
  for (const CompiledNode& node : report.nodes)
    nodes.push_back({{"text", node.text},
                     {"stream", node.stream},
                     {"waits", node.waits},
                     {"in_place", node.in_place}});
  nlohmann::json blocks = nlohmann::json::array();
  for (const CompiledBlock& block : report.blocks) {
    blocks.push_back({{"name", block.name},
                      {"bytes", block.bytes},
                      {"offset", block.offset},
                      {"first", block.first},
                      {"last", block.last}});
    if (!is_host(block.device)) blocks.back()["device"] = device_text(block.device);
  }
  nlohmann::json devices = nlohmann::json::array();
  for (const CompiledDevice& on : report.devices)
    devices.push_back({{"device", device_text(on.device)},
                       {"arena_bytes", on.arena_bytes},
                       {"lower_bound", on.lower_bound}});
  const nlohmann::json all = {{"graph", report.graph},
                              {"order", name(report.order)},
                              {"streams", report.streams},
                              {"events", report.events},
                              {"passes", report.passes},
                              {"unknown", report.unknown},
                              {"arena_bytes", report.arena_bytes},
                              {"lower_bound", report.lower_bound},
                              {"separate_bytes", report.separate_bytes},
                              {"workspace_bytes", report.workspace_bytes},
                              {"in_place_pairs", report.in_place_pairs},
                              {"copied_bytes", report.copied_bytes},
                              {"devices", devices},
                              {"nodes", nodes},
                              {"blocks", blocks}};
  return all.dump(2);
}

}  // namespace mote
