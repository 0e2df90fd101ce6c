// The variant gen's kernels of a block for each round: which loops they can be made of, and their
// text: accumulators of the threads are joined by mote_block_sum() and its like, and a barrier
// stands where a thread may read what another has stored.
#include "rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "../dependence.h"
#include "../emit_c_writer.h"
#include "../rounds.h"
#include "../unit_strides.h"
#include "mote/base/error.h"

namespace mote::cuda {
namespace {

bool has_lanes(const Accumulator& a) {
  const bool plain = a.op == ReduceOp::sum || a.op == ReduceOp::prod || a.op == ReduceOp::max ||
                     a.op == ReduceOp::min;
  return plain && is_real(a.dtype);
}

bool is_shareable(const LoopProgram& p, const Stmt& s, const Loop& loop) {
  if (holds_loop(loop.body) || loop.step != Expr(1) || !outer_folds(loop).empty()) return false;
  if (!std::ranges::all_of(loop.accumulators, has_lanes)) return false;
  const auto own = independent_rounds(p, s);
  return own && own->empty();
}

}  // namespace

std::optional<std::vector<KnownStride>> strides_of_rows(const LoopProgram& p, const Loop& loop) {
  std::vector<KnownStride> all;
  bool reduces = false;
  for (const Stmt& s : loop.body) {
    if (std::holds_alternative<If>(s.kind) || std::holds_alternative<StoreReduce>(s.kind))
      return std::nullopt;
    const Loop* inner = as_loop(s);
    if (inner == nullptr) continue;
    if (!is_shareable(p, s, *inner)) return std::nullopt;
    reduces = reduces || !inner->accumulators.empty();
    const auto strides = unit_strides(p, s);
    if (!strides || !are_compatible(all, *strides)) return std::nullopt;
    for (const KnownStride& k : *strides)
      if (std::ranges::find(all, k) == all.end()) all.push_back(k);
  }
  return reduces ? std::optional(all) : std::nullopt;
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
      throw InternalError(fmt::format("emit_cuda: a block cannot join {}", name(op)));
  }
}

}  // namespace

/// One loop of a round, shared among the threads.
void Writer::block_loop(const Loop& loop, const Facts& facts) {
  for (const Accumulator& a : loop.accumulators) open_accumulator(a);
  const std::string& v = names_.symbol(loop.variable);
  const std::string offset =
      loop.begin == Expr(0) ? "" : within(printer_.expr(loop.begin, facts), kSum) + " + ";
  const std::string end = limit(loop.end, v + "_end", facts);
  line(fmt::format("for (int64_t {0} = {1}threadIdx.x; {0} < {2}; {0} += blockDim.x) {{", v, offset,
                   end));
  Facts inside = facts;
  inside.set_range(loop.variable, loop.begin, loop.end);
  ++indent_;
  body(loop.body, inside);
  --indent_;
  line("}");
  for (const Accumulator& a : loop.accumulators) {
    const bool in_float = type_of_local(a.dtype, p_.native) == CType::f32;
    line(fmt::format("{0} = mote_block_{1}{2}({0});", names_.local(a.name), block_function(a.op),
                     in_float ? "f" : ""));
  }
}

/// A round, for all threads of a block. `settled`: no thread has stored what another may read, or
/// read what another may store, since the last barrier.
void Writer::block_round(const Body& b, const Facts& facts) {
  bool settled = true;
  for (const Stmt& s : b) {
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
}

}  // namespace mote::emit
