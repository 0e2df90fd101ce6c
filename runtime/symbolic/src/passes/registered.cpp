// SPDX-License-Identifier: Apache-2.0
// The table of passes, which holds mote's own from the start.
#include "passes/registered.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "fail.h"
#include "mote/base/near_names.h"

namespace mote {
namespace {

/// The passes by name. An entry never moves, and none is removed.
struct PassTable {
  std::mutex mutex;
  std::map<std::string, PassDefinition, std::less<>> passes;

  PassTable() {
    add({.name = "cancel",
         .summary = "Reads a tensor in place of what was moved or converted from it and back.",
         .run = cancel});
    add({.name = "fold",
         .summary = "Computes nodes that read only constants, and keeps their results.",
         .run = fold});
    add({.name = "merge",
         .summary = "Merges nodes that compute the same, and equal constants and views.",
         .run = merge});
    add({.name = "prune",
         .summary = "Removes nodes and symbols that no output needs.",
         .run = prune});
    add({.name = "replace",
         .summary = "Replaces patterns of nodes by the commands that the table has for them.",
         .run = replace});
  }
  void add(PassDefinition definition) {
    if (definition.name.empty()) fail_graph("a pass needs a name");
    if (!definition.run) fail_graph("the pass " + definition.name + " has no function");
    const std::string name = definition.name;
    if (!passes.try_emplace(name, std::move(definition)).second)
      fail_graph("there is a pass " + name + " already");
  }
};

PassTable& table() {
  static PassTable table;
  return table;
}

}  // namespace

void register_pass(PassDefinition definition) {
  const std::lock_guard lock(table().mutex);
  table().add(std::move(definition));
}

std::vector<std::string> pass_names() {
  const std::lock_guard lock(table().mutex);
  std::vector<std::string> names;
  for (const auto& [name, pass] : table().passes) names.push_back(name);
  return names;
}

const PassDefinition& find_pass(std::string_view name) {
  {
    const std::lock_guard lock(table().mutex);
    const auto found = table().passes.find(name);
    if (found != table().passes.end()) return found->second;
  }
  fail_graph("there is no pass '" + std::string(name) + "'" + did_you_mean(name, pass_names()));
}

std::vector<std::string> providers_of(std::string_view attribute) {
  const std::lock_guard lock(table().mutex);
  std::vector<std::string> names;
  for (const auto& [name, pass] : table().passes)
    if (std::ranges::find(pass.provided, attribute) != pass.provided.end()) names.push_back(name);
  return names;
}

std::vector<std::string> default_passes() {
  return {"fold", "cancel", "merge", "replace", "prune"};
}

std::string count_of(std::size_t count, const char* noun) {
  if (count == 0) return "";
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string listed(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts)
    if (!text.empty()) list += (list.empty() ? "" : ", ") + text;
  return list;
}

}  // namespace mote
