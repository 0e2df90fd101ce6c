// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/altered.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "diagnosis/alternatives.h"
#include "diagnosis/said.h"
#include "mote/base/error.h"

namespace mote::diagnosis {
namespace {

class Alterer {
 public:
  explicit Alterer(const Program& program) : program_(program) {
    const std::vector<Uop> roots = mote::roots(program);
    nodes_ = topological(roots);
    for (const Uop& u : nodes_)
      for (const Uop& operand : operands(u)) ++uses_[operand.id()];
    for (const Uop& root : roots) ++uses_[root.id()];
  }

  std::vector<Altered> run() {
    const Surroundings around(program_);
    for (const Uop& u : nodes_)
      for (const Alternative& other : alternatives(u, around)) add(u, {}, other);
    // Changes a value for only one of its several readers.
    for (const Uop& u : nodes_) {
      const std::vector<Uop> args = operands(u);
      for (std::size_t k = 0; k < args.size(); ++k) {
        if (uses_.at(args[k].id()) < 2) continue;
        for (const auto& others :
             {alternatives(args[k], around), with_another_operand(args[k], around),
              with_transposed_reads(args[k])})
          for (const Alternative& other : others) add(u, k, other);
      }
    }
    for (const auto& change : index_changes(nodes_)) add_everywhere(change);
    return std::move(all_);
  }

 private:
  /// Adds the program with `other` in place of the node, or of its operand number k.
  void add(const Uop& node, std::optional<std::size_t> k, const Alternative& other) {
    const Uop replaced = k ? operands(node)[*k] : node;
    if (!are_interchangeable(other.uop, replaced)) return;
    const auto change = [&](const Uop& u, const Uop& rebuilt) {
      if (u.id() != node.id()) return rebuilt;
      if (!k) return other.uop;
      std::vector<Uop> args = operands(rebuilt);
      args[*k] = other.uop;
      return with_operands(rebuilt, args);
    };
    keep(change, {other.kind.empty() ? "another formula" : other.kind, nullptr, other.words,
                  replaced, other.uop});
  }

  void add_everywhere(const IndexChange& change) {
    keep([&](const Uop&, const Uop& rebuilt) { return with_indices(rebuilt, change.make); },
         {"another formula", nullptr, "with " + change.text, {}, {}});
  }

  /// Keeps the program in which change(node, the node with changed operands) replaces each node.
  template <typename Change>
  void keep(const Change& change, Altered as) {
    auto altered = std::make_shared<Program>(program_);
    try {
      std::map<const UopNode*, Uop> now;
      for (const Uop& u : nodes_) {
        const std::vector<Uop> args = operands(u);
        std::vector<Uop> changed;
        for (const Uop& arg : args) changed.push_back(now.at(arg.id()));
        const bool same = std::ranges::equal(args, changed, {}, &Uop::id, &Uop::id);
        now.emplace(u.id(), change(u, same ? u : with_operands(u, changed)));
      }
      for (Output& o : altered->outputs) o.value = now.at(o.value.id());
      if (!texts_.insert(to_string(*altered)).second) return;
      as.program = std::move(altered);
      all_.push_back(std::move(as));
    } catch (const Error&) {  // shapes or dtypes do not fit, or the program is too deep
    }
  }

  const Program& program_;
  std::vector<Uop> nodes_;
  std::map<const UopNode*, int> uses_;
  std::set<std::string> texts_{to_string(program_)};
  std::vector<Altered> all_;
};

}  // namespace

std::string Altered::text() const {
  if (!words.empty()) return words;
  const auto [was, is] = said(before, after);
  if (was == is)  // a difference that the texts do not show
    return fmt::format("with {} in another dtype, or other numbers where it is out of range,", is);
  return fmt::format("with {} in place of {}", is, was);
}

std::vector<Altered> altered_programs(const Program& program) { return Alterer(program).run(); }

}  // namespace mote::diagnosis
