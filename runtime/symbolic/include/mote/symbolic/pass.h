// SPDX-License-Identifier: Apache-2.0
// Passes: functions that rewrite a symbolic graph, or find something of it and keep that as an
// attribute (attributes.h). No pass changes a bit of what the graph's outputs are. Any library may
// register passes.
//
//   register_pass({.name = "cost", .summary = "Estimates the time of each node.",
//                  .provided = {"cost"}, .run = find_cost});
//   for (const PassReport& report : apply_passes(g, {"merge", "cost", "prune"})) …
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/runtime/registry.h"
#include "mote/symbolic/symbolic_graph.h"

namespace MOTE_API mote {

class Context;

struct PassOptions {
  /// Verifies the graph (dependencies.h) before the first pass and after each.
  bool verify =
#ifdef NDEBUG
      false;
#else
      true;
#endif
  /// The context in which the graph will run: passes that compute something use its kernels, and
  /// what would make another kernel of it run is left alone. Null: the generated kernels.
  Context* context = nullptr;
  /// The most bytes of a tensor that is computed ahead (the pass fold).
  std::size_t fold_bytes = std::size_t{1} << 20;
  /// Allows changes that another rounding may follow from: replacements (replace.h), and unread
  /// outputs are left out, by which a kernel takes another branch.
  bool inexact = false;
};

struct PassDefinition {
  std::string name;     ///< a verb: "merge"
  std::string summary;  ///< a sentence that says what the pass does
  /// The attributes that must be set, and hold for the structure, when the pass runs.
  std::vector<std::string> required = {};
  /// The attributes that it sets.
  std::vector<std::string> provided = {};
  /// The attributes that hold for the structure that it leaves if they held for the one that it
  /// found. Any other is out of date once the structure has changed.
  std::vector<std::string> kept = {};
  /// Returns what it changed, "3 nodes removed"; an empty text if nothing.
  std::function<std::string(SymbolicGraph& graph, const PassOptions& options)> run;
};

struct PassReport {
  std::string pass;
  bool changed = false;  ///< the structure is another one than before
  std::string text;      ///< "merge: 3 nodes removed", "merge: nothing"
};

/// Throws StatusError if a pass of that name is registered, or if it has no name or no function.
/// The function's library must stay loaded.
void register_pass(PassDefinition definition);
/// The names of all passes, sorted.
std::vector<std::string> pass_names();
/// Throws StatusError for an unknown name, with near names.
const PassDefinition& find_pass(std::string_view name);

/// "involution": true (a bool) for an op f of one input and one output with f(f(x)) = x, bit for
/// bit. The pass cancel knows it of the catalogue's ops.
inline constexpr OpAttribute<bool> kInvolution{"involution"};

/// The passes that compile() runs, in this order.
std::vector<std::string> default_passes();

/// Runs the passes and reports each run. They run in the order given, but that a pass which
/// provides a required attribute runs before those that require it, and once more where the
/// structure has changed since. Throws StatusError, before any pass runs, for an unknown name, for
/// an attribute that is not there and that no pass of these provides (the message names one that
/// does), and for passes that require each other. What a pass throws, and what the verifier finds
/// after it, are thrown with its name. After any error the graph is as it was.
std::vector<PassReport> apply_passes(SymbolicGraph& graph, std::span<const std::string> names,
                                     const PassOptions& options = {});

}  // namespace mote
