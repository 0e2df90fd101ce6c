// SPDX-License-Identifier: Apache-2.0
// Compares a graph with that of a pattern, from a node or a symbol of both backwards.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mote/symbolic/control.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// What stands for the nodes and symbols of a pattern, by their index in it.
struct PatternMatch {
  std::vector<std::uint32_t> nodes;    ///< kNoIndex: none
  std::vector<std::uint32_t> symbols;  ///< kNoIndex: left out
  std::vector<bool> is_bound;
};

/// A number of any dtype. Two are equal if they are one number; a zero has its sign, and NaNs are
/// equal.
struct PatternNumber {
  bool is_real = false;
  double real = 0;           ///< of reals
  std::int64_t integer = 0;  ///< of integers and truths
  friend bool operator==(const PatternNumber& a, const PatternNumber& b);
};

/// Returns the number that all elements of a constant, or of zeros that no node writes, are; none
/// for other symbols.
std::optional<PatternNumber> number_of(const SymbolicGraph& graph, std::uint32_t symbol);

/// True if the shape `to` is `from` and an axis of extent 1 wherever `like` has one.
bool adds_axes(const AxisList& from, const AxisList& to, const AxisList& like);

/// Compares dtypes and shapes nowhere. Loops are compared as a whole: the order of the values that
/// a loop carries, and of its other inputs, does not matter.
class Matcher {
 public:
  Matcher(const SymbolicGraph& pattern, const SymbolicGraph& graph);

  const PatternMatch& match() const { return match_; }
  /// True if node `node` is the pattern's node `wanted`, and so on for all that it reads. After a
  /// false result the match is of no use.
  bool node(std::uint32_t wanted, std::uint32_t node);
  bool symbol(std::uint32_t wanted, std::uint32_t symbol);

 private:
  bool bind(std::uint32_t wanted, std::uint32_t symbol);
  bool view(std::uint32_t wanted, std::uint32_t symbol);
  bool inputs(const NodeInfo& wanted, const NodeInfo& got);
  bool loop(const NodeInfo& wanted, const NodeInfo& got);
  bool carried(const Matcher& so_far, const NodeInfo& wanted, const NodeInfo& got,
               std::vector<std::size_t>& numbers);
  bool carries(std::size_t next, std::size_t number);
  bool fits(const Matcher& body, const NodeInfo& wanted, const NodeInfo& got, std::size_t next,
            std::size_t number) const;
  bool may_be_carried(const Matcher& so_far, const NodeInfo& wanted, const NodeInfo& got,
                      const std::vector<std::size_t>& numbers) const;
  bool around(const Matcher& body, const NodeInfo& wanted, const NodeInfo& got,
              const std::vector<std::size_t>& numbers);
  bool is_whole() const;

  const SymbolicGraph& pattern_;
  const SymbolicGraph& graph_;
  PatternMatch match_;
};

}  // namespace mote
