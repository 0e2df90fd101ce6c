// SPDX-License-Identifier: Apache-2.0
#include "tune_leg.h"

#include <cstddef>
#include <cstring>

#include "compile_leg.h"
#include "mote/symbolic/compile.h"
#include "used_bytes.h"

namespace mote::test {
namespace {

/// The bytes that the nodes of a graph use, as they are now.
class Snapshot {
 public:
  explicit Snapshot(const Graph& graph) {
    for (const std::vector<UsedBytes>& node : used_bytes(graph.state()))
      for (const UsedBytes& used : node) {
        const auto* const begin = reinterpret_cast<const std::byte*>(used.begin);
        memory_.push_back({begin, {begin, begin + (used.end - used.begin)}});
      }
  }
  bool is_as_before() const {
    for (const Bytes& bytes : memory_)
      if (std::memcmp(bytes.at, bytes.then.data(), bytes.then.size()) != 0) return false;
    return true;
  }

 private:
  struct Bytes {
    const std::byte* at;
    std::vector<std::byte> then;
  };
  std::vector<Bytes> memory_;
};

}  // namespace

std::string some_tune_leg(Rng& rng, bool is_exact) {
  return std::string("tune exact=") + (is_exact ? "1 " : "0 ") + some_compile_settings(rng);
}

std::optional<std::string> check_tuned(const GraphSubject& subject,
                                       const std::map<std::string, std::string>& settings,
                                       Counts& counts) {
  const SymbolicGraph& graph = subject.graph();
  Context context({.workers = 2});  // its own: it knows no times yet
  const CompileOptions options = options_of(graph, settings);
  Executable executable = compiled(graph, options, context);
  executable.run(subject.bindings_by_index(graph));
  const auto difference = [&] { return subject.difference(outputs_of(graph, executable)); };
  if (auto found = difference()) return found;
  const Snapshot before(executable.graph());
  const std::size_t measured = executable.graph().autotune({.rounds = 1, .seconds = 0});
  if (measured > 0) ++counts["tuned"];
  if (measured > 0 && executable.report().in_place_pairs > 0) ++counts["tuned in place"];
  if (measured > 0 && executable.report().has_control) ++counts["tuned with loops or branches"];
  if (!before.is_as_before()) return "autotune has written memory of the graph";
  if (auto found = difference()) return "after autotune " + *found;
  if (setting(settings, "exact", "0") != "1") return std::nullopt;
  executable.run();
  ++counts["run again with tuned kernels"];
  return difference();
}

std::vector<std::string> counted_by_tune_leg() {
  return {"tuned", "tuned in place", "tuned with loops or branches",
          "run again with tuned kernels"};
}

}  // namespace mote::test
