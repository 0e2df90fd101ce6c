// SPDX-License-Identifier: Apache-2.0
#include "plan_check.h"

#include <algorithm>
#include <vector>

#include "mote/runtime/allocator.h"
#include "used_bytes.h"

namespace mote::test {
namespace {

bool share_bytes(const CompiledBlock& a, const CompiledBlock& b) {
  return a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

using Used = std::vector<std::vector<UsedBytes>>;
using Done = std::vector<std::vector<bool>>;

bool are_near(const UsedBytes& a, const UsedBytes& b) { return a.begin < b.end && b.begin < a.end; }

bool conflict(const std::vector<UsedBytes>& a, const std::vector<UsedBytes>& b) {
  for (const UsedBytes& x : a)
    for (const UsedBytes& y : b)
      if ((x.is_written || y.is_written) && !x.may_be_result && !y.may_be_result &&
          are_near(x, y) && share_elements(x, y))
        return true;
  return false;
}

/// True if the node is one that gives the value: a loop also writes what is inside it there.
bool gives(const std::vector<UsedBytes>& node, const UsedBytes& read) {
  return std::ranges::any_of(node, [&](const UsedBytes& of) {
    return (of.is_written || of.may_be_result) && of.value == read.value && are_near(of, read);
  });
}

/// True if a write of another value's bytes is done before every node that writes those of the
/// value that are in both places, or before one that may have its result there.
bool is_before_writers(const Used& used, const Done& done, std::uint32_t node,
                       const UsedBytes& write, const UsedBytes& read) {
  bool is_before = false;
  for (std::uint32_t w = 0; w < used.size(); ++w)
    for (const UsedBytes& of : used[w]) {
      if (of.value != read.value || !are_near(of, write)) continue;
      if (!of.is_written && !of.may_be_result) continue;
      const bool is_later = w != node && done[w][node];
      if (is_later && is_before) continue;
      if (!share_elements(of, write)) continue;
      if (of.is_written && !is_later) return false;
      is_before = is_before || is_later;
    }
  return is_before;
}

}  // namespace

std::optional<std::string> misplaced(const CompileReport& report) {
  for (const CompiledBlock& block : report.blocks)
    if (block.offset % kAlignment != 0 || block.offset + block.bytes > report.arena_bytes)
      return "block " + block.name + " is not aligned, or ends beyond the memory\n" +
             to_text(report);
  return std::nullopt;
}

std::optional<std::string> lost_value(const Graph& graph) {
  const Used used = used_bytes(graph.state());
  const Done done = done_before(graph.schedule());
  for (std::uint32_t reader = 0; reader < used.size(); ++reader)
    for (const UsedBytes& read : used[reader]) {
      if (read.is_written || read.may_be_result) continue;
      for (std::uint32_t n = 0; n < used.size(); ++n) {
        if (n == reader || done[n][reader] || gives(used[n], read)) continue;
        for (const UsedBytes& write : used[n])
          if (write.is_written && write.value != read.value && are_near(write, read) &&
              !is_before_writers(used, done, n, write, read) && share_elements(write, read))
            return "node " + std::to_string(n) + " writes over what node " +
                   std::to_string(reader) + " reads later";
      }
    }
  return std::nullopt;
}

namespace {

/// Looks for a race in a plan, whose nodes are `nodes`.
std::optional<std::string> race_of(Executable& executable, const std::vector<std::uint32_t>& nodes,
                                   const StreamSchedule& schedule) {
  const Used used = used_bytes(executable.graph().state());
  const Done done = done_before(schedule);
  for (std::size_t a = 0; a < nodes.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (!done[a][b] && !done[b][a] && conflict(used[nodes[a]], used[nodes[b]]))
        return "nodes " + std::to_string(nodes[b]) + " and " + std::to_string(nodes[a]) +
               " may run at once and use the same bytes\n" + to_text(executable.report());
  return std::nullopt;
}

}  // namespace

std::optional<std::string> race(Executable& executable) {
  const graph::Plan& whole = *executable.graph().state().prepared.whole;
  return race_of(executable, whole.nodes, whole.schedule);
}

std::optional<std::string> race(Executable& executable, GraphPart part) {
  const graph::Plan& plan = *executable.graph().state().prepared.parts.at(part.index);
  return race_of(executable, plan.nodes, plan.schedule);
}

bool has_shared_memory(const CompileReport& report) {
  for (const CompiledBlock& a : report.blocks)
    for (const CompiledBlock& b : report.blocks)
      if (&a != &b && share_bytes(a, b)) return true;
  return false;
}

bool has_several_streams(const CompileReport& report) {
  return std::ranges::any_of(report.nodes, [](const CompiledNode& n) { return !n.waits.empty(); });
}

bool has_overlapped(const GraphTrace& trace) {
  for (const GraphTrace::Run& run : trace.runs) {
    std::vector<GraphTrace::Span> spans = run.spans;
    std::ranges::sort(spans, {}, &GraphTrace::Span::begin);
    const GraphTrace::Span* last = nullptr;  // of those that began before, the one that ends last
    for (const GraphTrace::Span& span : spans) {
      if (span.end < 0) continue;
      if (last != nullptr && last->stream != span.stream && span.begin < last->end) return true;
      if (last == nullptr || span.end > last->end) last = &span;
    }
  }
  return false;
}

}  // namespace mote::test
