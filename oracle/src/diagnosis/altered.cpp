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
#include "mote/base/error.h"

namespace mote::diagnosis {
namespace {

constexpr std::size_t kLongestText = 160;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string quoted(std::string text) {
  if (text.size() > kLongestText) text = text.substr(0, kLongestText) + " …";
  return "`" + text + "`";
}

/// Without the shapes: "x[i0]" for "x[i0 over N, C]".
std::string without_shapes(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins =
        text.compare(at, 5, "over ") == 0 && at > 0 && (text[at - 1] == ' ' || text[at - 1] == '[');
    if (!begins) {
      result += text[at];
      continue;
    }
    for (int depth = 0; at < text.size(); ++at) {
      depth += text[at] == '(' || text[at] == '[' ? 1 : 0;
      if ((text[at] == ')' || text[at] == ']') && depth-- == 0) break;
    }
    if (result.back() == ' ') result.pop_back();
    const bool repeats = result.back() == '[';
    if (repeats) result.pop_back();
    if (at < text.size() && !repeats) result += text[at];
  }
  return result;
}

/// As text over the program's inputs: "v1/v2, v1 = …, v2 = …".
std::string value_text(const Uop& u, const Program& program) {
  Program one;
  one.name = "value";
  one.inputs = program.inputs;
  one.outputs = {{"value", u}};
  const std::string output = "output value = ";
  std::string value, others;
  for (const std::string& line : lines_of(to_string(one))) {
    if (line.starts_with(output))
      value = line.substr(output.size());
    else if (!line.starts_with("op ") && !line.starts_with("input "))
      others += ", " + line;
  }
  return without_shapes(value + others);
}

/// The line of the programs' texts that is another one, if it is one alone.
std::optional<std::pair<std::string, std::string>> changed_line(
    const std::vector<std::string>& before, const std::vector<std::string>& after) {
  if (before.size() != after.size()) return std::nullopt;
  const auto [a, b] = std::ranges::mismatch(before, after);
  if (a == before.end() || !std::equal(a + 1, before.end(), b + 1)) return std::nullopt;
  return std::pair(*a, *b);
}

class Alterer {
 public:
  explicit Alterer(const Program& program)
      : program_(program), lines_(lines_of(to_string(program))) {
    std::vector<Uop> roots;
    for (const Output& o : program.outputs) roots.push_back(o.value);
    nodes_ = topological(roots);
    for (const Uop& u : nodes_)
      for (const Uop& operand : operands(u)) ++uses_[operand.id()];
    for (const Uop& root : roots) ++uses_[root.id()];
  }

  std::vector<Altered> run() {
    const Surroundings around(program_);
    for (const Uop& u : nodes_)
      for (const Uop& other : alternatives(u, around)) add(u, {}, other);
    // What only one of several readers does otherwise.
    for (const Uop& u : nodes_) {
      const std::vector<Uop> args = operands(u);
      for (std::size_t k = 0; k < args.size(); ++k) {
        if (uses_.at(args[k].id()) < 2) continue;
        for (const Uop& other : alternatives(args[k], around)) add(u, k, other);
        for (const Uop& other : with_another_operand(args[k], around)) add(u, k, other);
      }
    }
    for (const auto& change : index_changes(nodes_)) add_everywhere(change);
    return std::move(all_);
  }

 private:
  /// `other` in place of the node, or of its operand number k.
  void add(const Uop& node, std::optional<std::size_t> k, const Uop& other) {
    const Uop replaced = k ? operands(node)[*k] : node;
    if (!are_interchangeable(other, replaced)) return;
    const auto change = [&](const Uop& u, const Uop& rebuilt) {
      if (u.id() != node.id()) return rebuilt;
      if (!k) return other;
      std::vector<Uop> args = operands(rebuilt);
      args[*k] = other;
      return with_operands(rebuilt, args);
    };
    keep(change,
         [&] { return std::pair(value_text(replaced, program_), value_text(other, program_)); });
  }

  void add_everywhere(const IndexChange& change) {
    keep([&](const Uop&, const Uop& rebuilt) { return with_indices(rebuilt, change.make); },
         [&] { return std::pair(std::string("indices as they are"), change.text); });
  }

  /// change(node, the node of changed operands) is what takes its place. in_words(): the program's
  /// value and the one in its place, where no single line of the text says it.
  template <typename Change, typename InWords>
  void keep(const Change& change, const InWords& in_words) {
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
      const std::string text = to_string(*altered);
      if (!texts_.insert(text).second) return;
      const auto line = changed_line(lines_, lines_of(text));
      const auto [before, after] = line ? *line : in_words();
      all_.push_back({fmt::format("with {} in place of {}", quoted(after), quoted(before)),
                      std::move(altered)});
    } catch (const Error&) {  // of shapes or dtypes that do not go together, or too deep
    }
  }

  const Program& program_;
  std::vector<std::string> lines_;
  std::vector<Uop> nodes_;
  std::map<const UopNode*, int> uses_;
  std::set<std::string> texts_{to_string(program_)};
  std::vector<Altered> all_;
};

}  // namespace

std::vector<Altered> altered_programs(const Program& program) { return Alterer(program).run(); }

}  // namespace mote::diagnosis
