// SPDX-License-Identifier: Apache-2.0
// Compares loop programs part by part. In: two programs; out: whether they are the same, apart from
// hints.
#include <algorithm>

#include "mote/base/overloaded.h"
#include "mote/codegen/parse_loops.h"

namespace mote {
namespace {

template <typename T, typename Same>
bool all_same(const std::vector<T>& a, const std::vector<T>& b, const Same& same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

bool same_body(const Body& a, const Body& b);

bool same_digit(const LoopDigit& a, const LoopDigit& b) {
  return a.variable == b.variable && a.begin == b.begin && a.end == b.end && a.step == b.step;
}

bool same_accumulator(const Accumulator& a, const Accumulator& b) {
  return a.name == b.name && a.op == b.op && a.dtype == b.dtype;
}

bool same_element(const PrefetchedElement& a, const PrefetchedElement& b) {
  return a.tensor == b.tensor && a.index == b.index;
}

struct SameStatement {
  bool operator()(const Loop& a, const Loop& b) const {
    return a.variable == b.variable && a.begin == b.begin && a.end == b.end && a.step == b.step &&
           a.kind == b.kind && a.work == b.work && a.adjacent_under == b.adjacent_under &&
           a.adjacent_under_ones == b.adjacent_under_ones &&
           all_same(a.digits, b.digits, same_digit) && (a.digits.empty() || a.number == b.number) &&
           all_same(a.prefetched, b.prefetched, same_element) &&
           all_same(a.accumulators, b.accumulators, same_accumulator) && same_body(a.body, b.body);
  }
  bool operator()(const If& a, const If& b) const {
    return a.conditions == b.conditions && same_body(a.body, b.body);
  }
  bool operator()(const Store& a, const Store& b) const {
    return a.tensor == b.tensor && a.index == b.index && equal(a.value, b.value);
  }
  bool operator()(const StoreReduce& a, const StoreReduce& b) const {
    return a.tensor == b.tensor && a.index == b.index && a.op == b.op && equal(a.value, b.value);
  }
  bool operator()(const Fold& a, const Fold& b) const {
    const bool has_position = a.op == ReduceOp::argmax || a.op == ReduceOp::argmin;
    return a.accumulator == b.accumulator && a.op == b.op && equal(a.value, b.value) &&
           (!has_position || a.position == b.position);
  }
  bool operator()(const Let& a, const Let& b) const {
    return a.name == b.name && equal(a.value, b.value);
  }
  bool operator()(const Barrier& /*a*/, const Barrier& /*b*/) const { return true; }
  bool operator()(const WaitForCopies& a, const WaitForCopies& b) const {
    return a.pending == b.pending;
  }
  template <typename A, typename B>
  bool operator()(const A& /*a*/, const B& /*b*/) const {
    return false;
  }
};

bool same_body(const Body& a, const Body& b) {
  return all_same(a, b, [](const Stmt& one, const Stmt& other) {
    return std::visit(SameStatement{}, one.kind, other.kind);
  });
}

bool same_order(const std::optional<AxesOfInput>& a, const std::optional<AxesOfInput>& b) {
  if (!a || !b) return !a && !b;
  return a->tensor == b->tensor && a->last_but_one == b->last_but_one && a->last == b->last;
}

bool same_tensor(const TensorDecl& a, const TensorDecl& b) {
  return a.name == b.name && a.role == b.role && a.dtype == b.dtype && a.shape == b.shape &&
         a.per == b.per && a.memory == b.memory && a.integer_bits == b.integer_bits &&
         a.is_for_tensor_cores == b.is_for_tensor_cores && a.in_place_of == b.in_place_of &&
         same_order(a.ordered_like, b.ordered_like);
}

bool same_source(const std::shared_ptr<const Program>& a, const std::shared_ptr<const Program>& b) {
  if (a == b) return true;
  return a != nullptr && b != nullptr && equal(*a, *b);
}

}  // namespace

bool equal(const LoopProgram& a, const LoopProgram& b) {
  return a.name == b.name && all_same(a.tensors, b.tensors, same_tensor) && a.native == b.native &&
         a.strides == b.strides && a.demands == b.demands && a.vector_bytes == b.vector_bytes &&
         a.is_for_no_larger_vectors == b.is_for_no_larger_vectors &&
         a.multiplies_padding == b.multiplies_padding && a.is_part == b.is_part &&
         same_body(a.body, b.body) && same_source(a.source, b.source);
}

}  // namespace mote
