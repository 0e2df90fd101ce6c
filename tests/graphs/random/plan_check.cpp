// SPDX-License-Identifier: Apache-2.0
#include "plan_check.h"

#include <algorithm>
#include <vector>

#include "mote/runtime/allocator.h"
#include "state.h"  // of the concrete graph: what its nodes read and write

namespace mote::test {
namespace {

bool share_bytes(const CompiledBlock& a, const CompiledBlock& b) {
  return a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

/// The elements of a tensor that a node uses, in memory.
struct Bytes {
  std::uintptr_t begin = 0;  ///< of the lowest element
  std::uintptr_t end = 0;    ///< behind the highest
  bool is_written = false;
  Tensor tensor;
};

/// Returns the address of each element.
std::vector<std::uintptr_t> addresses(const Tensor& tensor) {
  std::vector<std::uintptr_t> found;
  const AxisList shape = tensor.shape();
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype()));
  for (std::int64_t k = 0; k < tensor.element_count(); ++k) {
    std::int64_t rest = k;
    std::int64_t offset = 0;
    for (int axis = shape.size(); axis-- > 0;) {
      offset += rest % shape[axis] * tensor.stride(axis);
      rest /= shape[axis];
    }
    found.push_back(reinterpret_cast<std::uintptr_t>(tensor.data()) +
                    static_cast<std::uintptr_t>(offset * size));
  }
  return found;
}

/// True if an element of one has a byte of an element of the other, element by element.
bool share_elements(const Bytes& a, const Bytes& b) {
  std::vector<std::uintptr_t> locations = addresses(a.tensor);
  std::ranges::sort(locations);
  const std::size_t size = size_of(a.tensor.dtype());
  const std::size_t other = size_of(b.tensor.dtype());
  return std::ranges::any_of(addresses(b.tensor), [&](std::uintptr_t at) {
    const auto next = std::ranges::lower_bound(locations, at + other);
    return next != locations.begin() && *(next - 1) + size > at;
  });
}

/// Lists what each node uses.
std::vector<std::vector<Bytes>> used_bytes(const Graph::State& state) {
  std::vector<std::vector<Bytes>> used;
  for (const graph::NodeRecord& node : state.nodes) {
    used.emplace_back();
    graph::each_operand(node, [&](std::uint32_t t, bool is_written) {
      const Tensor tensor = state.tensor_at(t);
      if (tensor.data() == nullptr || tensor.element_count() == 0) return;
      std::int64_t lowest = 0;
      std::int64_t highest = 1;
      for (int axis = 0; axis < tensor.rank(); ++axis) {
        const std::int64_t reach = (tensor.extent(axis) - 1) * tensor.stride(axis);
        (reach < 0 ? lowest : highest) += reach;
      }
      const auto size = static_cast<std::int64_t>(size_of(tensor.dtype()));
      const auto at = reinterpret_cast<std::intptr_t>(tensor.data());
      used.back().push_back({static_cast<std::uintptr_t>(at + lowest * size),
                             static_cast<std::uintptr_t>(at + highest * size), is_written, tensor});
    });
  }
  return used;
}

bool conflict(const std::vector<Bytes>& a, const std::vector<Bytes>& b) {
  for (const Bytes& x : a)
    for (const Bytes& y : b)
      if ((x.is_written || y.is_written) && x.begin < y.end && y.begin < x.end &&
          share_elements(x, y))
        return true;
  return false;
}

/// Returns, for each node in the order of the schedule, the nodes that are done before it begins.
std::vector<std::vector<bool>> done_before(const StreamSchedule& schedule) {
  const std::size_t count = schedule.order.size();
  std::vector<std::vector<bool>> done(count, std::vector<bool>(count));
  std::vector<std::optional<std::uint32_t>> last(schedule.stream_count());
  for (const std::uint32_t node : schedule.order) {
    std::vector<std::uint32_t> before;
    if (last[schedule.stream[node]]) before.push_back(*last[schedule.stream[node]]);
    for (std::size_t w = schedule.wait_begin[node]; w < schedule.wait_begin[node + 1]; ++w)
      before.push_back(schedule.events[schedule.waits[w]]);
    for (const std::uint32_t b : before) {
      done[node][b] = true;
      for (std::size_t k = 0; k < count; ++k)
        if (done[b][k]) done[node][k] = true;
    }
    last[schedule.stream[node]] = node;
  }
  return done;
}

}  // namespace

std::optional<std::string> shared_bytes(const CompileReport& report) {
  for (const CompiledBlock& block : report.blocks)
    if (block.offset % kAlignment != 0)
      return "block " + block.name + " is not aligned\n" + to_text(report);
  if (report.streams > 1) return std::nullopt;
  for (const CompiledBlock& a : report.blocks)
    for (const CompiledBlock& b : report.blocks) {
      if (&a == &b || !share_bytes(a, b)) continue;
      if (a.first <= b.last && b.first <= a.last)
        return "blocks " + a.name + " and " + b.name + " share bytes while both are needed\n" +
               to_text(report);
    }
  return std::nullopt;
}

std::optional<std::string> race(Executable& executable) {
  const Graph& graph = executable.graph();
  const std::vector<std::vector<Bytes>> used = used_bytes(graph.state());
  const std::vector<std::vector<bool>> done = done_before(graph.schedule());
  for (std::size_t a = 0; a < used.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (!done[a][b] && !done[b][a] && conflict(used[a], used[b]))
        return "nodes " + std::to_string(b) + " and " + std::to_string(a) +
               " may run at once and use the same bytes\n" + to_text(executable.report());
  return std::nullopt;
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

}  // namespace mote::test
