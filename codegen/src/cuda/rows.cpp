// SPDX-License-Identifier: Apache-2.0
// Finds the loops that can run as the variant gen's kernels of a block for each iteration, and
// writes their text. mote_block_sum() and its like combine the threads' accumulators, and a barrier
// stands where a thread may read an element that another has stored.
#include "rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/dependence.h"
#include "kernel_writer.h"
#include "mote/base/error.h"
#include "schedule/iterations.h"
#include "schedule/unit_strides.h"

namespace mote::cuda {
namespace {

bool has_lanes(const Accumulator& a) {
  const bool plain = a.op == ReduceOp::sum || a.op == ReduceOp::prod || a.op == ReduceOp::max ||
                     a.op == ReduceOp::min;
  return plain && is_real(a.dtype);
}

/// Returns true if the innermost loop of a nest accesses tensors only at its own index: a row or a
/// plane, not the window of a convolution, which is short.
bool is_at_own_location(const Loop& loop) {
  return std::ranges::all_of(accesses(loop.body), [&](const Access& a) {
    return std::ranges::all_of(a.index, [&](const Expr& e) {
      return !e.mentions(loop.variable) || e == Expr(loop.variable);
    });
  });
}

/// Returns true if the threads of a block can share the loop, or the nest of loops, `s` of p.
bool is_shareable(const LoopProgram& p, const Stmt& s) {
  const std::vector<const Loop*> nest = nest_of(*as_loop(s));
  if (holds_loop(nest.back()->body) || !outer_folds(*nest.front()).empty()) return false;
  if (!std::ranges::all_of(nest.front()->accumulators, has_lanes)) return false;
  if (nest.size() > 1 && !is_at_own_location(*nest.back())) return false;
  const Stmt* at = &s;
  for (const Loop* loop : nest) {
    const auto own = independent_iterations(p, *at);
    if (!own || !own->empty() || loop->step != Expr(1)) return false;
    if (loop != nest.front() && (loop->begin.has_load() || loop->end.has_load())) return false;
    at = &loop->body.front();
  }
  return true;
}

/// Returns the statement that is the innermost loop of the nest.
const Stmt& innermost(const Stmt& s) {
  const Stmt* at = &s;
  for (std::size_t below = nest_of(*as_loop(s)).size(); below > 1; --below)
    at = &as_loop(*at)->body.front();
  return *at;
}

/// Returns true for conditions that all threads of a block decide alike, such as which outputs the
/// call has.
bool is_uniform(const Conditions& conditions) {
  return std::ranges::none_of(conditions, [](const Condition& c) { return c.e.has_load(); });
}

/// Collects the strides that the loops of an iteration require.
class RowStrides {
 public:
  /// `reduces`: one of the loops must reduce.
  RowStrides(const LoopProgram& p, bool reduces) : p_(p), reduces_(!reduces) {}

  bool add(const Body& body) {
    return std::ranges::all_of(body, [&](const Stmt& s) { return add(s); });
  }
  std::optional<std::vector<KnownStride>> result() const {
    return reduces_ ? std::optional(all_) : std::nullopt;
  }

 private:
  bool add(const Stmt& s) {
    if (std::holds_alternative<StoreReduce>(s.kind)) return false;
    if (const auto* branch = std::get_if<If>(&s.kind))
      return is_uniform(branch->conditions) && add(branch->body);
    const Loop* inner = as_loop(s);
    if (inner == nullptr) return true;
    if (!is_shareable(p_, s)) return false;
    reduces_ = reduces_ || !inner->accumulators.empty();
    const auto strides = unit_strides(p_, innermost(s));
    if (!strides || !are_compatible(all_, *strides)) return false;
    for (const KnownStride& k : *strides)
      if (std::ranges::find(all_, k) == all_.end()) all_.push_back(k);
    return true;
  }

  const LoopProgram& p_;
  std::vector<KnownStride> all_;
  bool reduces_;
};

}  // namespace

std::vector<const Loop*> nest_of(const Loop& loop) {
  std::vector<const Loop*> nest = {&loop};
  while (nest.back()->body.size() == 1) {
    const Loop* next = as_loop(nest.back()->body.front());
    if (next == nullptr || !next->accumulators.empty()) break;
    nest.push_back(next);
  }
  return nest;
}

std::optional<std::vector<KnownStride>> strides_of_rows(const LoopProgram& p, const Loop& loop,
                                                        bool reduces) {
  RowStrides strides(p, reduces);
  return strides.add(loop.body) ? strides.result() : std::nullopt;
}

std::optional<Expr> longest_row(const Body& stage) {
  std::optional<Expr> longest;
  for_each(stage, [&](const Stmt& s) {
    const Loop* loop = as_loop(s);
    if (loop == nullptr || loop->kind == LoopKind::threads || holds_loop(loop->body)) return;
    const Expr row = loop->end - loop->begin;
    const auto is_fixed = [](Symbol v) { return v.kind() != SymbolKind::loop; };
    if (row.has_load() || !std::ranges::all_of(row.symbols(), is_fixed)) return;
    longest = longest ? max(*longest, row) : row;
  });
  return longest;
}

}  // namespace mote::cuda

namespace mote::emit {
namespace {

bool reads_memory(const Value& value) {
  bool found = false;
  for_each_value(value, [&](const Value& v) {
    found = found || std::holds_alternative<value::Load>(v->kind);
  });
  return found;
}

const char* block_function(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::prod:
      return "prod";
    case ReduceOp::max:
      return "max";
    case ReduceOp::min:
      return "min";
    default:
      throw InternalError(fmt::format("emit_cuda: a block cannot combine by {}", name(op)));
  }
}

}  // namespace

/// Writes the iterations of a loop, shared among threads by `share`.
void BlockWriter::shared_iterations(const Loop& loop, const cuda::Share& share,
                                    const Facts& facts) {
  const std::string& v = names_.symbol(loop.variable);
  const bool from_0 = loop.begin == Expr(0);
  const std::string first = from_0 ? "" : names_.fresh(v + "_begin");
  if (!from_0)
    line(fmt::format("const int64_t {} = {};", first, printer_.expr(loop.begin, facts).text));
  const std::string begin = from_0 ? "" : first + " + ";
  const std::string end = limit(loop.end, v + "_end", facts);
  const std::string offset = iterations_before(loop, share, facts, begin, end);
  line(fmt::format("for (int64_t {0} = {1}{3}; {0} < {2}; {0} += {4}) {{", v, offset, end,
                   share.who, share.count));
  Facts inside = facts;
  inside.set_range(loop.variable, loop.begin, loop.end);
  ++indent_;
  body(loop.body, inside);
  --indent_;
  line("}");
}

/// Writes one loop of an iteration, shared among the threads of the block. In a nest, the threads
/// of a warp share the innermost loop, and the warps share the loop around it.
void BlockWriter::block_loop(const Loop& loop, const Facts& facts) {
  open_accumulators(loop);
  const std::vector<const Loop*> nest = cuda::nest_of(loop);
  Facts inside = facts;
  for (std::size_t k = 0; k + 1 < nest.size(); ++k) {
    const Loop& outer = *nest[k];
    const std::string& v = names_.symbol(outer.variable);
    const bool by_warps = k + 2 == nest.size();
    std::string begin = by_warps ? "threadIdx.x / 32" : "0";
    if (outer.begin != Expr(0)) {
      const Text first = printer_.expr(outer.begin, inside);
      begin = by_warps ? within(first, kSum) + " + " + begin : first.text;
    }
    const std::string end = limit(outer.end, v + "_end", inside);
    const std::string step = by_warps ? v + " += blockDim.x / 32" : v + "++";
    line(fmt::format("for (int64_t {0} = {1}; {0} < {2}; {3}) {{", v, begin, end, step));
    inside.set_range(outer.variable, outer.begin, outer.end);
    ++indent_;
  }
  const bool is_nest = nest.size() > 1;
  shared_iterations(
      *nest.back(),
      is_nest ? cuda::Share{"threadIdx.x % 32", "32"} : cuda::Share{"threadIdx.x", "blockDim.x"},
      inside);
  for (std::size_t k = 1; k < nest.size(); ++k) {
    --indent_;
    line("}");
  }
  for (const Accumulator& a : loop.accumulators) {
    const bool in_float = type_of_local(a.dtype, p_.native) == CType::f32;
    const Text own{names_.local(a.name)};
    line(fmt::format("{} = {};", own.text,
                     call(fmt::format("mote_block_{}{}", block_function(a.op), in_float ? "f" : ""),
                          own, printer_.uses())));
  }
}

/// Writes an iteration for all threads of a block. `settled`: since the last barrier, no thread has
/// stored an element that another may read, or read one that another may store. Returns whether
/// that still holds at the end.
bool BlockWriter::block_iteration(const Body& b, const Facts& facts, bool settled) {
  for (std::size_t k = 0; k < b.size(); ++k) {
    const Stmt& s = b[k];
    if (const auto* branch = std::get_if<If>(&s.kind)) {
      open_before_branch(b, k);
      Facts inside = facts;
      line(fmt::format("if ({}) {{", printer_.conditions(branch->conditions, inside).text));
      ++indent_;
      settled = block_iteration(branch->body, inside, settled) && settled;
      --indent_;
      line("}");
      continue;
    }
    const auto* loop = std::get_if<Loop>(&s.kind);
    const auto* let = std::get_if<Let>(&s.kind);
    const auto* store = std::get_if<Store>(&s.kind);
    const bool is_local = store != nullptr && Printer::is_local(*find_tensor(p_, store->tensor));
    const bool touches = loop != nullptr || (let != nullptr && reads_memory(let->value)) ||
                         (store != nullptr && (!is_local || reads_memory(store->value)));
    if (touches && !settled) line("__syncthreads();");
    if (loop != nullptr) {
      block_loop(*loop, facts);
      settled = !loop->accumulators.empty();
    } else if (store != nullptr && !is_local) {
      line("if (threadIdx.x == 0) {");
      ++indent_;
      statement(s, facts);
      --indent_;
      line("}");
      settled = false;
    } else {
      statement(s, facts);
      settled = settled || touches;
    }
  }
  return settled;
}

}  // namespace mote::emit
