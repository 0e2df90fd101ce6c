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

/// What all threads of a block find alike, as they do which outputs are asked for.
bool is_uniform(const Conditions& conditions) {
  return std::ranges::none_of(conditions, [](const Condition& c) { return c.e.has_load(); });
}

/// The strides that the loops of a round demand.
class RowStrides {
 public:
  explicit RowStrides(const LoopProgram& p) : p_(p) {}

  bool add(const Body& round) {
    return std::ranges::all_of(round, [&](const Stmt& s) { return add(s); });
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
    if (!is_shareable(p_, s, *inner)) return false;
    reduces_ = reduces_ || !inner->accumulators.empty();
    const auto strides = unit_strides(p_, s);
    if (!strides || !are_compatible(all_, *strides)) return false;
    for (const KnownStride& k : *strides)
      if (std::ranges::find(all_, k) == all_.end()) all_.push_back(k);
    return true;
  }

  const LoopProgram& p_;
  std::vector<KnownStride> all_;
  bool reduces_ = false;
};

}  // namespace

std::optional<std::vector<KnownStride>> strides_of_rows(const LoopProgram& p, const Loop& loop) {
  RowStrides strides(p);
  return strides.add(loop.body) ? strides.result() : std::nullopt;
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
  for (const Accumulator& a : loop.accumulators)
    if (!opened_.contains(a.name)) open_accumulator(a);
  const std::string& v = names_.symbol(loop.variable);
  std::string offset =
      loop.begin == Expr(0) ? "" : within(printer_.expr(loop.begin, facts), kSum) + " + ";
  const std::string end = limit(loop.end, v + "_end", facts);
  if (row_packs_ != nullptr)
    if (const auto packed = row_packs_->loops.find(loop.variable);
        packed != row_packs_->loops.end()) {
      packed_rounds(loop, packed->second, facts, end);
      const std::string whole = end.find(' ') == std::string::npos ? end : "(" + end + ")";
      offset = fmt::format("{0} / {1} * {1} + ", whole, packed->second.elements);
    }
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
/// read what another may store, since the last barrier; whether that holds behind it.
bool Writer::block_round(const Body& b, const Facts& facts, bool settled) {
  for (std::size_t k = 0; k < b.size(); ++k) {
    const Stmt& s = b[k];
    if (const auto* branch = std::get_if<If>(&s.kind)) {
      open_before_branch(b, k);
      Facts inside = facts;
      line(fmt::format("if ({}) {{", printer_.conditions(branch->conditions, inside).text));
      ++indent_;
      settled = block_round(branch->body, inside, settled) && settled;
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
