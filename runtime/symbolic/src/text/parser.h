// SPDX-License-Identifier: Apache-2.0
// The parser of graph text: reads statements, and makes symbols and nodes of the graph that is
// being built.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gradient/tape.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/text.h"
#include "text/read_call.h"
#include "text/read_form.h"
#include "text/words.h"

namespace mote::graph_text {

/// The beginning of each error.
inline constexpr std::string_view kSubject = "graph text";

class GraphParser {
 public:
  GraphParser(TextCursor& text, std::size_t size, const Registry& registry,
              std::span<const NamedFunction> functions, Tapes& tapes, int depth = 1);

  SymbolicGraph run();

 private:
  enum class Mode : std::uint8_t { define, write, none };

  /// An edge to a node that may follow later in the text.
  struct Edge {
    ReadName before;
    bool is_label = false;
    NodeSymbol after;
  };

  /// Runs a function of the graph; its errors get the position, unless they have one.
  template <typename F>
  auto build(std::size_t at, const F& f) const {
    try {
      return f();
    } catch (const StatusError& e) {
      std::string what = e.what();
      if (what.starts_with(kSubject)) throw;
      constexpr std::string_view kPrefix = "symbolic graph: ";
      if (what.starts_with(kPrefix)) what.erase(0, kPrefix.size());
      throw StatusError(e.status(), text_.message(at, what));
    }
  }

  void end_statement();
  TensorSymbol find(const ReadName& name) const;
  /// Finds symbols of which some may be left out.
  std::vector<TensorSymbol> find_all(const std::vector<ReadName>& names) const;
  NodeSymbol node_named(const Edge& edge) const;
  void header();
  ReadName new_name(ReadName name) const;
  void statement();
  /// Names the node, and reads its clauses.
  void finish(NodeSymbol node);
  // In parse_values.cpp:
  /// Reads what stands behind "=" or "<-". Returns the node; none if it makes a symbol alone.
  NodeSymbol value(ReadName head);
  [[noreturn]] void unknown_view(const ReadName& part) const;
  /// Returns the one name that the statement defines.
  ReadName target(const std::string& what, std::size_t at) const;
  NodeSymbol view(const ReadName& base, ViewKind kind, std::size_t at);
  NodeSymbol declare(const ReadName& head);
  TensorForm known_form();
  /// Returns the symbol that a copy or a fill writes; one that it makes gets the form.
  TensorSymbol written(const ReadName& head, const std::optional<TensorForm>& form);
  NodeSymbol copy(const ReadName& head);
  NodeSymbol fill(const ReadName& head);
  NodeSymbol function(const ReadName& head);
  NodeSymbol loop(const ReadName& head);
  NodeSymbol branches(const ReadName& head);
  SymbolicGraph braced_graph();
  std::vector<TensorSymbol> symbols_in_brackets();
  /// Adds the loop or case..of, which writes the statement's symbols.
  NodeSymbol add_control(NodeInfo node, std::size_t at);
  NodeSymbol command(const ReadName& op);
  /// Gives a new node's outputs the names of the statement, and leaves out the others.
  void name_outputs(NodeSymbol node);

  TextCursor& text_;
  std::size_t size_;
  int depth_;  ///< of graphs around, and this one
  std::span<const NamedFunction> functions_;
  Tapes& tapes_;  ///< of the whole text
  SymbolicGraph graph_;
  std::int64_t gaps_ = kMaxConstantGaps;
  std::vector<ReadName> outputs_;
  std::vector<Edge> edges_;
  std::unordered_map<std::string, NodeSymbol> labels_;
  // The statement that is being read:
  ReadName label_;
  std::string node_name_;
  std::vector<ReadName> targets_;
  Mode mode_ = Mode::none;
};

}  // namespace mote::graph_text
