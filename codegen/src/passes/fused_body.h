// SPDX-License-Identifier: Apache-2.0
// The fuser keeps its knowledge of a body's statements here while it merges loops: the tensors that
// they touch, which of them must stay before which, and which pairs need not be tried again.
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

struct Range {
  Symbol variable;
  Expr begin;
  Expr end;
};

/// An access with the ranges of the loops around it, the outermost first.
struct Ranged {
  std::vector<Expr> index;
  std::vector<Range> ranges;
};

/// Accesses of one tensor.
struct Touches {
  std::vector<Ranged> reads;
  std::vector<Ranged> writes;
};

/// A summary answers what the fuser asks of a statement again and again.
struct Summary {
  int id = 0;  ///< a new one for each merged loop
  Effects effects;
  std::map<std::string, Touches> touches = {};  ///< of a loop's body
  std::vector<Limits> chain = {};               ///< of a loop's perfect chain, sorted
};

/// A summary of a statement; `effects` are its own.
Summary summary_of(const Stmt& s, int id, Effects effects);

/// Calls f(tensor, accesses of a, accesses of b) for each tensor that both touch, until it is
/// false.
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

/// A body's statements. Each has an id; that of a merged loop is new, and stands for those of its
/// parts.
class FusedBody {
 public:
  std::vector<std::unique_ptr<Summary>> summaries;  ///< in the order of the body
  /// Pairs (by id) that can't or need not be merged, which no later merge of others changes.
  std::set<std::pair<int, int>> settled;

  void add(const Stmt& s);

  /// The statement at q may move to p + 1, or that at p to q - 1, as far as is known without a
  /// search.
  bool may_go_left(std::size_t p, std::size_t q);
  bool may_go_right(std::size_t p, std::size_t q);
  /// The same, found by a search, which remembers what stood in the way.
  bool is_free_to_go_left(std::size_t p, std::size_t q);
  bool is_free_to_go_right(std::size_t p, std::size_t q);

  /// Loop q went into loop p, whose body is `merged` now and stands where p (left) or q stood.
  void merge(std::size_t p, std::size_t q, const Loop& merged, Symbol variable_of_q, bool left);

  /// Every loop that touches the tensor runs over it with these limits.
  bool every_toucher_has(const Limits& limits, const std::string& tensor);

 private:
  int new_id(std::size_t position);
  int now(int id);
  std::size_t position(int id);
  bool lies_between(int id, std::size_t p, std::size_t q);

  std::vector<int> became_;      ///< by id: the id of the loop that it is a part of, or itself
  std::vector<std::size_t> at_;  ///< by id: where in the body it stands
  /// By id: a statement before it that must stay before it, and one behind it that must stay
  /// behind; -1: none is known. What depends on a part depends on the whole.
  std::vector<int> blocks_left_, blocks_right_;
  /// The answers of every_toucher_has, until the next merge.
  std::map<std::pair<Limits, std::string>, bool> alike_;
  std::map<std::string, std::vector<int>> touchers_;  ///< of each tensor, the ids of loops
};

}  // namespace mote
