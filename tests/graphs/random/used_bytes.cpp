// SPDX-License-Identifier: Apache-2.0
#include "used_bytes.h"

#include <algorithm>
#include <optional>

namespace mote::test {
namespace {

/// Stands for values of tensors in a loop or a branch.
constexpr std::uint32_t kInside = graph::kNone;

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

class Lister {
 public:
  explicit Lister(const Graph::State& state) : state_(state), is_written_(state.tensors.size()) {
    for (const graph::NodeRecord& node : state.nodes)
      for (const std::uint32_t t : node.outputs())
        if (t != graph::kNone) is_written_[state.tensors[t].root] = true;
  }

  std::vector<std::vector<UsedBytes>> list() {
    std::vector<std::vector<UsedBytes>> used;
    for (const graph::NodeRecord& node : state_.nodes) {
      used.emplace_back();
      graph::each_operand(node, [&](std::uint32_t t, bool is_written) {
        add(used.back(), state_.tensor_at(t), is_written, value_of(t));
      });
      if (graph::control_of(node) == nullptr) continue;
      add_inside(used.back(), node);
      add_results(used.back(), node);
    }
    return used;
  }

 private:
  static void add(std::vector<UsedBytes>& to, const Tensor& tensor, bool is_written,
                  std::uint32_t value) {
    if (tensor.data() == nullptr || tensor.element_count() == 0) return;
    std::int64_t lowest = 0;
    std::int64_t highest = 1;
    for (int axis = 0; axis < tensor.rank(); ++axis) {
      const std::int64_t reach = (tensor.extent(axis) - 1) * tensor.stride(axis);
      (reach < 0 ? lowest : highest) += reach;
    }
    const auto size = static_cast<std::int64_t>(size_of(tensor.dtype()));
    const auto at = reinterpret_cast<std::intptr_t>(tensor.data());
    to.push_back({static_cast<std::uintptr_t>(at + lowest * size),
                  static_cast<std::uintptr_t>(at + highest * size), is_written, false, value,
                  tensor});
  }

  /// Returns the tensor whose memory a choice has.
  std::uint32_t chosen(std::uint32_t root, const graph::ChoiceRecord& choice) const {
    if (choice.pointer == 0) return choice.at(state_.prepared.results[choice.by]);
    const auto at = reinterpret_cast<std::intptr_t>(state_.tensors[root].data);
    for (const std::uint32_t t : choice.cycle) {
      const ViewPlaces locations = state_.tensors[t].locations();
      if (locations.low <= at && at < locations.high) return t;
    }
    return choice.first.front();
  }

  std::uint32_t value_of(std::uint32_t t) const {
    const std::uint32_t root = state_.tensors[t].root;
    const std::shared_ptr<const graph::ChoiceRecord>& choice = state_.tensors[root].choice;
    if (choice == nullptr || choice->by == graph::kNone) return root;
    const std::uint32_t of = value_of(chosen(root, *choice));
    // Memory that nothing else writes is that of the loop's or the branch's result.
    const graph::TensorKind kind = state_.tensors[of].kind;
    return is_written_[of] || kind == graph::TensorKind::placeholder ||
                   kind == graph::TensorKind::constant || kind == graph::TensorKind::choice
               ? of
               : root;
  }

  void add_inside(std::vector<UsedBytes>& to, const graph::NodeRecord& node) {
    const graph::ControlWork& work = *graph::control_of(node);
    for (const graph::SubGraph& sub : work.subs)
      for (const graph::NodeRecord& inner : sub.state->nodes) {
        graph::each_operand(inner, [&](std::uint32_t t, bool is_written) {
          if (is_written) add(to, sub.state->tensor_at(t), true, kInside);
        });
        if (graph::control_of(inner) != nullptr) Lister(*sub.state).add_inside(to, inner);
      }
  }

  /// Adds the results of a node, which tensors inside write: what is chosen by it, and tensors that
  /// nothing around writes.
  void add_results(std::vector<UsedBytes>& to, const graph::NodeRecord& node) const {
    const std::vector<UsedBytes> inside = to;
    const auto is_there = [&](const Tensor& tensor) {
      return std::ranges::any_of(inside, [&](const UsedBytes& of) {
        return of.value == kInside && of.tensor.data() == tensor.data();
      });
    };
    for (std::uint32_t t = 0; t < state_.tensors.size(); ++t) {
      const graph::TensorRecord& record = state_.tensors[t];
      const bool is_chosen =
          record.choice != nullptr && record.choice->by == node.index && value_of(t) == t;
      const bool is_free = record.kind == graph::TensorKind::data && !is_written_[t];
      const bool may_be = is_free && is_there(state_.tensor_at(t));
      if (!is_chosen && !may_be) continue;
      add(to, state_.tensor_at(t), false, t);
      if (!to.empty() && to.back().value == t) to.back().may_be_result = true;
    }
  }

  const Graph::State& state_;
  std::vector<bool> is_written_;  ///< by tensor
};

}  // namespace

std::vector<std::vector<UsedBytes>> used_bytes(const Graph::State& state) {
  return Lister(state).list();
}

bool share_elements(const UsedBytes& a, const UsedBytes& b) {
  std::vector<std::uintptr_t> locations = addresses(a.tensor);
  std::ranges::sort(locations);
  const std::size_t size = size_of(a.tensor.dtype());
  const std::size_t other = size_of(b.tensor.dtype());
  return std::ranges::any_of(addresses(b.tensor), [&](std::uintptr_t at) {
    const auto next = std::ranges::lower_bound(locations, at + other);
    return next != locations.begin() && *(next - 1) + size > at;
  });
}

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

}  // namespace mote::test
