// SPDX-License-Identifier: Apache-2.0
#include "gradient/tape.h"

#include <atomic>
#include <charconv>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "fail.h"
#include "mote/graph/control.h"

namespace mote {

class Tape {
 public:
  /// A number of no other tape, or the given one, which later tapes do not get.
  explicit Tape(std::optional<std::uint64_t> number = std::nullopt) {
    static std::atomic<std::uint64_t> last{0};
    number_ = number ? *number : ++last;
    std::uint64_t known = last.load();
    while (known < number_ && !last.compare_exchange_weak(known, number_)) {
    }
  }
  std::string name(std::string_view function) const {
    return std::string(function) + " " + std::to_string(number_);
  }

  void push(std::span<const Tensor> values) {
    std::vector<Tensor> kept;
    kept.reserve(values.size());
    for (const Tensor& value : values) kept.push_back(clone(value));
    const LoopCounters counters = loop_counters();
    const std::lock_guard lock(mutex_);
    std::vector<std::vector<Tensor>>& list = list_of(counters.first(counters.size() - 1));
    const auto iteration = static_cast<std::size_t>(counters.back());
    list.resize(iteration);  // what an earlier run has left is dropped
    list.push_back(std::move(kept));
  }

  std::int64_t count() {
    const std::lock_guard lock(mutex_);
    return static_cast<std::int64_t>(list_of(loop_counters()).size());
  }

  void pop(std::int64_t end, std::span<const Tensor> values) {
    const LoopCounters counters = loop_counters();
    const std::lock_guard lock(mutex_);
    std::vector<std::vector<Tensor>>& list = list_of(counters.first(counters.size() - 1));
    if (end < 1 || static_cast<std::size_t>(end) != list.size())
      fail_graph("the tape of a loop has " + std::to_string(list.size()) +
                     " iterations, and number " + std::to_string(end - 1) + " is asked for",
                 MOTE_FAILED);
    for (std::size_t k = 0; k < values.size(); ++k) copy(list.back()[k], values[k]);
    list.pop_back();
  }

 private:
  using Key = std::pair<std::uint64_t, std::vector<std::int64_t>>;

  std::vector<std::vector<Tensor>>& list_of(LoopCounters counters) {
    return lists_[Key(loop_owner(), {counters.begin(), counters.end()})];
  }

  std::uint64_t number_;
  std::mutex mutex_;
  std::map<Key, std::vector<std::vector<Tensor>>> lists_;
};

namespace {

constexpr std::string_view kPush = "tape push";
constexpr std::string_view kCount = "tape count";
constexpr std::string_view kPop = "tape pop";

/// The function that pushes, so that a loop that is differentiated again has the same tape.
struct Push {
  std::shared_ptr<Tape> tape;
  void operator()(std::span<const Tensor> inputs, std::span<const Tensor>) const {
    tape->push(inputs);
  }
};

}  // namespace

std::shared_ptr<Tape> tape_of(const SymbolicGraph& body) {
  for (const NodeInfo& node : body.nodes())
    if (!node.removed && node.kind == NodeKind::function)
      if (const Push* push = node.function->run.target<Push>()) return push->tape;
  return std::make_shared<Tape>();
}

NamedFunction tape_push(std::shared_ptr<Tape> tape) {
  std::string name = tape->name(kPush);
  return {.name = std::move(name), .run = Push{std::move(tape)}};
}

NamedFunction tape_count(std::shared_ptr<Tape> tape) {
  std::string name = tape->name(kCount);
  return {
      .name = std::move(name),
      .run = [tape = std::move(tape)](std::span<const Tensor>, std::span<const Tensor> outputs) {
        outputs[0].set({}, tape->count());
      }};
}

NamedFunction tape_pop(std::shared_ptr<Tape> tape) {
  std::string name = tape->name(kPop);
  return {.name = std::move(name),
          .run = [tape = std::move(tape)](std::span<const Tensor> inputs,
                                          std::span<const Tensor> outputs) {
            tape->pop(inputs[0].integer_at({}), outputs);
          }};
}

std::optional<NamedFunction> tape_function(std::string_view name, Tapes& tapes) {
  for (const std::string_view function : {kPush, kCount, kPop}) {
    if (!name.starts_with(function) || name.size() < function.size() + 2) continue;
    const std::string_view digits = name.substr(function.size() + 1);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_plain = name[function.size()] == ' ' && digits.front() != '0';
    if (error != std::errc() || end != digits.data() + digits.size() || !is_plain) continue;
    std::shared_ptr<Tape>& tape = tapes[number];
    if (tape == nullptr) tape = std::make_shared<Tape>(number);
    if (function == kPush) return tape_push(tape);
    return function == kCount ? tape_count(tape) : tape_pop(tape);
  }
  return std::nullopt;
}

}  // namespace mote
