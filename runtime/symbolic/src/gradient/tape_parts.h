// SPDX-License-Identifier: Apache-2.0
// A tape, and what its functions have in common. "tape get 3 v 0 2" is the name of one that reads
// values 0 and 2 of entries of tape 3 under the path v.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

inline constexpr std::string_view kTapePush = "tape push";
inline constexpr std::string_view kTapeCount = "tape count";
inline constexpr std::string_view kTapeGet = "tape get";
inline constexpr std::string_view kTapeAdd = "tape add";
inline constexpr std::string_view kTapeKeep = "tape keep";
inline constexpr std::string_view kTapeTake = "tape take";
inline constexpr std::string_view kTapeReach = "tape reach";
inline constexpr std::string_view kTapeMark = "tape mark";
inline constexpr std::string_view kTapeSquareRoot = "sqrt";
inline constexpr std::string_view kTapeIf = "if";

class Tape {
 public:
  /// A number of no other tape, or the given one, which later tapes do not get.
  explicit Tape(std::optional<std::uint64_t> number = std::nullopt);
  std::uint64_t number() const { return number_; }

  /// Counts a function that reads what is under the path, unless it is only tried.
  void count_reader(const std::string& path);
  int readers(const std::string& path);

 private:
  std::uint64_t number_;
  std::mutex mutex_;
  std::map<std::string, int> readers_;
};

/// A function reads or adds the values of these numbers under the path.
struct TapePart {
  std::shared_ptr<Tape> tape;
  std::string path;
  std::vector<std::uint32_t> values;
};

/// The name of a tape's function: of a path, and values, if it has them.
std::string name_of(std::string_view function, const Tape& tape, const std::string& path = "",
                    std::span<const std::uint32_t> values = {});
inline constexpr std::size_t kAnyCount = CountRange{}.most;
/// Throw StatusError unless that is the form of a token, and of one with the number of an entry or
/// an iteration behind it.
void expect_token(const TensorForm& got);
void expect_position(std::span<const TensorForm> inputs);

/// Notes the shapes of what a tape keeps, which are behind the token.
void note_kept_shapes(const Tape& tape, std::span<const TensorForm> inputs);
/// Returns those that were noted last; none if none were.
std::span<const AxisList> kept_shapes(const Tape& tape);

/// True if the node's token is the last value that a loop with that body carries over, and nothing
/// else of the body reads it or what the node writes: so it is where a gradient made the tape. In
/// any text it may be a function like others.
bool has_token_of_loop(const SymbolicGraph& body, const NodeInfo& node);

/// Returns the node whose function is of that type, and has the loop's token.
template <typename Function>
std::optional<std::uint32_t> node_of(const SymbolicGraph& body) {
  for (std::uint32_t k = 0; k < body.node_count(); ++k) {
    const NodeInfo& node = body.nodes()[k];
    if (!node.removed && node.kind == NodeKind::function &&
        node.function->run.target<Function>() != nullptr && has_token_of_loop(body, node))
      return k;
  }
  return std::nullopt;
}

/// The tape of a node that keeps; null for any other.
std::shared_ptr<Tape> tape_of_keep(const NodeInfo& node);

/// Returns the functions of the part, which count no reader.
NamedFunction get_function(const TapePart& part);
NamedFunction add_function(const TapePart& part);
/// Makes later gradients have other numbers than this one.
void keep_gradient_number(std::uint64_t number);

}  // namespace mote
