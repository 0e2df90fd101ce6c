// SPDX-License-Identifier: Apache-2.0
// Holds the fuser's knowledge of a body's statements while it merges loops: the tensors that they
// access, the order that some must keep, and the pairs that need not be tried again.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/dependence.h"

namespace mote {

struct Limits {
  Expr begin;
  Expr end;
  Expr step;
  friend auto operator<=>(const Limits&, const Limits&) = default;
  friend bool operator==(const Limits&, const Limits&) = default;
};

Limits limits_of(const Loop& l);

/// An access with the ranges of the loops around it, the outermost first.
struct Ranged {
  std::vector<Expr> index;
  std::vector<LoopRange> ranges;
};

/// The accesses of one tensor.
struct Touches {
  std::vector<Ranged> reads;
  std::vector<Ranged> writes;
};

/// A summary of the properties of a statement that the fuser asks for repeatedly.
struct Summary {
  int id = 0;  ///< a new one for each merged loop
  Effects effects;
  std::map<std::string, Touches> touches = {};  ///< accesses of a loop's body
  std::vector<Limits> chain = {};               ///< limits of a loop's perfect chain, sorted
};

/// Returns a summary of a statement; `effects` are its own.
Summary summary_of(const Stmt& s, int id, Effects effects);

/// Calls f(tensor, accesses of a, accesses of b) for each tensor of both, until f returns false.
template <typename F>
bool all_shared(const Summary& a, const Summary& b, const F& f) {
  const bool is_a_smaller = a.touches.size() <= b.touches.size();
  const auto& larger = is_a_smaller ? b.touches : a.touches;
  for (const auto& [tensor, touches] : is_a_smaller ? a.touches : b.touches) {
    const auto found = larger.find(tensor);
    if (found == larger.end()) continue;
    if (!(is_a_smaller ? f(tensor, touches, found->second) : f(tensor, found->second, touches)))
      return false;
  }
  return true;
}

/// The statements of a body. Each has an id; that of a merged loop is new, and replaces those of
/// its parts.
class FusedBody {
 public:
  std::vector<std::unique_ptr<Summary>> summaries;  ///< in the order of the body
  /// Pairs (by id) that cannot or need not be merged, whatever other merges follow.
  std::set<std::pair<int, int>> settled;

  void add(const Stmt& s);

  /// Returns true if the statement at q may move to p + 1, or that at p to q - 1, as far as is
  /// known without a search.
  bool may_go_left(std::size_t p, std::size_t q);
  bool may_go_right(std::size_t p, std::size_t q);
  /// Returns the same, found by a search, which remembers the statements that prevent it.
  bool is_free_to_go_left(std::size_t p, std::size_t q);
  bool is_free_to_go_right(std::size_t p, std::size_t q);

  /// Records that loop q was merged into loop p, whose body is `merged` now and stands where p
  /// (left) or q stood.
  void merge(std::size_t p, std::size_t q, const Loop& merged, Symbol variable_of_q, bool left);

  /// Returns true if every loop that accesses the tensor runs over it with these limits.
  bool every_toucher_has(const Limits& limits, const std::string& tensor);

 private:
  int new_id(std::size_t position);
  int now(int id);
  std::size_t position(int id);
  bool lies_between(int id, std::size_t p, std::size_t q);

  std::vector<int> became_;      ///< by id: the id of the loop that it is a part of, or itself
  std::vector<std::size_t> at_;  ///< by id: its position in the body
  /// By id, a statement before it that must stay before it, and one after it that must stay after
  /// it; -1: none is known. A dependence on a part is a dependence on the whole.
  std::vector<int> blocks_left_, blocks_right_;
  /// The results of every_toucher_has, until the next merge.
  std::map<std::pair<Limits, std::string>, bool> alike_;
  std::map<std::string, std::vector<int>> touchers_;  ///< ids of the loops that access each tensor
};

}  // namespace mote
