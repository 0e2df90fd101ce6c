// SPDX-License-Identifier: Apache-2.0
// Finds a loop with one fold and, after it in the same body, a loop with one store to an output
// that compute the same costly value for the same elements. The set of legal in-place calls stays
// as it is.
#include "schedule/keep.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/dependence.h"
#include "ir/references.h"
#include "mote/codegen/in_place.h"
#include "schedule/take.h"

namespace mote {
namespace {

bool is_costly(const Value& v) {
  bool found = false;
  for_each_value(v, [&](const Value& node) {
    const auto* op = std::get_if<value::Op>(&node->kind);
    if (op == nullptr) return;
    const bool is_root = op->op == MapOp::sqrt || op->op == MapOp::rsqrt;
    found = found || (is_transcendental(op->op) && !is_root);
  });
  return found;
}

bool contains(const Value& v, const Value& part) {
  bool found = false;
  for_each_value(v, [&](const Value& node) { found = found || equal(node, part); });
  return found;
}

Value replaced(const Value& v, const Value& part, const Value& by) {
  return rewrite(v, [&](const Value& node) { return equal(node, part) ? by : node; });
}

/// Returns true if every element that v reads is at this index, and v has no guards.
bool reads_only_at(const Value& v, const std::vector<Expr>& index) {
  bool all = true;
  for_each_value(v, [&](const Value& node) {
    if (const auto* l = std::get_if<value::Load>(&node->kind)) all = all && l->index == index;
    if (std::holds_alternative<value::Guard>(node->kind)) all = false;
  });
  return all;
}

/// Returns the largest costly part of the fold that the store has too, both at the fold's variable.
std::optional<Value> common_part(const Value& folded, const Value& stored) {
  std::optional<Value> found;
  for_each_value(folded, [&](const Value& node) {
    if (!found && is_costly(node) && contains(stored, node)) found = node;
  });
  return found;
}

class Keeper {
 public:
  /// Keeps values in one output only, or in all (null).
  Keeper(LoopProgram& p, const std::string* output) : p_(p), output_(output) {}

  void run(Body& body) {
    for (std::size_t k = 0; k < body.size(); ++k) {
      for (std::size_t later = k + 1; later < body.size(); ++later) keep(body[k], body[later]);
      if (Body* inner = nested_body(body[k])) run(*inner);
    }
  }

  std::vector<TakenStep> kept;

 private:
  void keep(Stmt& first, Stmt& second) {
    Loop* folds = as_loop(first);
    Loop* stores = as_loop(second);
    if (folds == nullptr || stores == nullptr) return;
    if (folds->body.size() != 1 || stores->body.size() != 1) return;
    if (folds->begin != stores->begin || folds->end != stores->end || folds->step != stores->step)
      return;
    auto* fold = std::get_if<Fold>(&folds->body[0].kind);
    auto* store = std::get_if<Store>(&stores->body[0].kind);
    if (fold == nullptr || store == nullptr) return;
    const TensorDecl& y = *find_tensor(p_, store->tensor);
    if (output_ != nullptr && y.name != *output_) return;
    if (why_not_serial(first) || why_not_serial(second)) return;
    if (y.role != TensorRole::output || references(p_.body, y.name).size() != 1) return;
    const auto here = [&](const Expr& e) {
      return e.substitute({{stores->variable, Expr(folds->variable)}});
    };
    std::vector<Expr> index;
    for (const Expr& e : store->index) index.push_back(here(e));
    const Value stored = rewrite_exprs(store->value, here);
    const auto part = common_part(fold->value, stored);
    const bool is_native = y.dtype == DType::f32 || y.dtype == DType::f64;
    if (!part || (*part)->dtype != y.dtype || !is_native) return;
    if (!reads_only_at(fold->value, index) || !reads_only_at(stored, index)) return;
    const Value rest = replaced(stored, *part, constant(0.0, y.dtype));
    bool reads_more = false;
    for_each_value(rest, [&](const Value& v) {
      reads_more = reads_more || std::holds_alternative<value::Load>(v->kind);
    });
    if (reads_more) return;
    const std::vector<InPlacePair> pairs = pairs_with(y.name);
    const Stmt first_before = first;
    const Stmt second_before = second;
    take(*folds, *fold, *stores, *store, index, *part, stored);
    if (why_not_in_place(p_, pairs)) {
      first = first_before;
      second = second_before;
      kept.pop_back();
    }
  }

  /// Returns the inputs that may share memory with the output.
  std::vector<InPlacePair> pairs_with(const std::string& output) const {
    int position = 0;
    for (const TensorDecl& t : p_.tensors) {
      if (t.role != TensorRole::output) continue;
      if (t.name == output) break;
      ++position;
    }
    std::vector<InPlacePair> pairs = pairs_in_place(p_);
    std::erase_if(pairs, [&](const InPlacePair& pair) { return pair.second != position; });
    return pairs;
  }

  void take(Loop& folds, Fold& fold, const Loop& stores, Store& store,
            const std::vector<Expr>& index, const Value& part, const Value& stored) {
    const std::string name = fresh_name(p_, "kept");
    const Value named = named_value(name, part->dtype);
    const auto there = [&](const Expr& e) {
      return e.substitute({{folds.variable, Expr(stores.variable)}});
    };
    kept.push_back({{StepKind::keep, {{store.tensor}}}, to_string(part)});
    store.value =
        rewrite_exprs(replaced(stored, part, load_value(store.tensor, index, part->dtype)), there);
    Fold sum = fold;
    sum.value = replaced(fold.value, part, named);
    Body body;
    body.push_back({Let{name, part}});
    body.push_back({Store{store.tensor, index, named}});
    body.push_back({std::move(sum)});
    folds.body = std::move(body);
  }

  LoopProgram& p_;
  const std::string* output_;
};

}  // namespace

std::vector<TakenStep> keep_in_outputs(LoopProgram& p, const std::string* output) {
  Keeper keeper(p, output);
  keeper.run(p.body);
  return keeper.kept;
}

}  // namespace mote
