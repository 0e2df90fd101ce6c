// SPDX-License-Identifier: Apache-2.0
// Writes a loop in vectors that folds floats: in blocks of as many iterations as a vector has
// lanes, each of which has a result of its own. The iterations that are left are one more block, in
// which the lanes behind the end compute its first iteration again and fold nothing. With OpenMP's
// reductions, a compiler combines the lanes one after the other and runs what is left one by one,
// which takes longer than a short row.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "c/writer.h"
#include "ir/dependence.h"
#include "schedule/combine.h"

namespace mote::emit {
namespace {

/// The least number of pairs of blocks for which two results in each lane are faster than one.
constexpr int kLeastPairs = 4;

/// The most lanes that a vector has.
constexpr std::int64_t kMaxLanes = 16;

/// Returns true if mote_<op>_of_lanes combines the lanes of a vector.
bool has_function_of_lanes(ReduceOp op) { return is_combined(op) && op != ReduceOp::prod; }

bool has_load(const Value& v) {
  const auto* index = std::get_if<value::Index>(&v->kind);
  if (index != nullptr) return index->e.has_load();
  const auto* load = std::get_if<value::Load>(&v->kind);
  return load != nullptr && std::ranges::any_of(load->index, &Expr::has_load);
}

/// Collects the accesses and folds of a body of plain statements, for which facts hold.
struct PlainBody {
  const LoopProgram& program;
  Symbol variable;
  const Facts& facts;
  std::vector<HeldElement> elements = {};
  std::vector<const Fold*> folds = {};

  bool add(const Body& body) {
    return std::ranges::all_of(body, [&](const Stmt& s) { return add(s); });
  }

 private:
  bool add(const Stmt& s) {
    if (const auto* branch = std::get_if<If>(&s.kind))
      return Printer::are_known(branch->conditions, facts) && add(branch->body);
    if (const auto* let = std::get_if<Let>(&s.kind)) return add(let->value);
    if (const auto* store = std::get_if<Store>(&s.kind))
      return add(store->value) && add(store->tensor, store->index, true);
    const auto* fold = std::get_if<Fold>(&s.kind);
    if (fold == nullptr || !has_function_of_lanes(fold->op) || !is_in_float(fold->value->dtype))
      return false;
    folds.push_back(fold);
    return add(fold->value);
  }

  bool add(const Value& value) {
    bool is_plain = true;
    for_each_value(value, [&](const Value& v) {
      const auto* load = std::get_if<value::Load>(&v->kind);
      if (std::holds_alternative<value::Guard>(v->kind) || has_load(v))
        is_plain = false;
      else if (load != nullptr)
        is_plain = add(load->tensor, load->index, false) && is_plain;
    });
    return is_plain;
  }

  bool add(const std::string& tensor, const std::vector<Expr>& index, bool is_store) {
    const TensorDecl& t = *find_tensor(program, tensor);
    const bool moves =
        std::ranges::any_of(index, [&](const Expr& e) { return e.mentions(variable); });
    if (!moves) return !is_store;
    if (t.memory != TensorMemory::automatic || t.per == variable || t.integer_bits != 64)
      return false;
    auto known = std::ranges::find_if(
        elements, [&](const HeldElement& e) { return e.tensor == &t && e.index == index; });
    if (known == elements.end())
      known = elements.insert(elements.end(), HeldElement{&t, index, "", false, false});
    if (is_store)
      known->is_stored = true;
    else if (!known->is_stored)
      known->is_loaded = true;
    return true;
  }
};

/// Returns true if an iteration takes less time than the processor waits for the last one's result:
/// it adds up one value, which a few additions and multiplications give.
bool waits_for_result(const BlocksOfLanes& blocks, const Body& of_loop) {
  if (blocks.folds.size() != 1 || std::ranges::any_of(blocks.elements, &HeldElement::is_stored))
    return false;
  bool waits = true;
  const auto is_fast = [](const Value& v) {
    const auto* op = std::get_if<value::Op>(&v->kind);
    return op == nullptr || op->op == MapOp::add || op->op == MapOp::sub || op->op == MapOp::mul ||
           op->op == MapOp::neg || op->op == MapOp::abs;
  };
  for_each(of_loop, [&](const Stmt& s) {
    for_each_value(s, [&](const Value& v) { waits = waits && is_fast(v); });
  });
  return waits;
}

/// Returns the type of an element in memory.
std::string type_in_memory(const TensorDecl& t) {
  return t.role == TensorRole::temporary ? local_type(t, true) : storage_type(t.dtype);
}

}  // namespace

/// Returns what the loop does if it is written in blocks of lanes: it folds floats, in a program
/// without numbers of 16 bits. Doubles, of which a vector has half as many, and numbers of 16 bits,
/// whose conversion would be written twice, are left to OpenMP's reductions: the library would grow
/// more by them than by all others.
std::optional<BlocksOfLanes> Writer::blocks_of_lanes(const Loop& l, const Body& of_loop,
                                                     const Facts& inside) const {
  if (l.kind != LoopKind::simd || !p_.native || printer_.target() != Target::c ||
      !l.digits.empty() || l.step != Expr(1))
    return std::nullopt;
  if (std::ranges::any_of(p_.tensors, [](const TensorDecl& t) { return is_narrow(t.dtype); }))
    return std::nullopt;
  // gcc 12 reads whole vectors where it knows the mask of what is left (known_masks.h).
  if (const auto count = (l.end - l.begin).constant(); count && *count % kMaxLanes != 0)
    return std::nullopt;
  PlainBody plain{p_, l.variable, inside};
  if (!plain.add(of_loop) || plain.folds.empty()) return std::nullopt;
  return BlocksOfLanes{std::move(plain.elements), std::move(plain.folds)};
}

/// Writes the head of the loop over the lanes of a block, and its statements.
template <typename Statements>
void Writer::loop_over_lanes(const BlocksOfLanes& blocks, const Statements& statements) {
  line(fmt::format("for (int32_t {0} = 0; {0} < MOTE_LANES; {0}++) {{", blocks.lane));
  ++indent_;
  statements();
  --indent_;
  line("}");
}

/// Declares the lanes of the accumulators that the loop folds into.
std::map<std::string, LanesOfFold> Writer::open_lanes(const BlocksOfLanes& blocks) {
  std::map<std::string, LanesOfFold> folded;
  for (const Fold* f : blocks.folds) {
    const std::string& accumulator = names_.local(f->accumulator);
    const auto [at, is_new] = folded.try_emplace(f->accumulator, LanesOfFold{f, "", accumulator});
    if (!is_new) continue;
    const std::string& lanes = at->second.lanes = names_.fresh(accumulator + "_lanes");
    line(fmt::format("float {}[MOTE_LANES];", lanes));
    loop_over_lanes(blocks, [&] {
      line(fmt::format("{}[{}] = {};", lanes, blocks.lane, start(f->op, f->value->dtype)));
    });
  }
  return folded;
}

/// Writes a loop over pairs of blocks: each lane has two results, which do not wait for one
/// another.
void Writer::pairs_of_blocks(const Loop& l, const LoopHead& head, const Body& of_loop,
                             const BlocksOfLanes& blocks, const LanesOfFold& first,
                             const Facts& inside) {
  out_ += "#if MOTE_LANES > 8\n";
  line(fmt::format("if ({} <= {} - {} * MOTE_LANES) {{", blocks.block, head.end, 2 * kLeastPairs));
  ++indent_;
  const LanesOfFold second = open_lanes(blocks).begin()->second;
  line(fmt::format("for (; {0} <= {1} - 2 * MOTE_LANES; {0} += 2 * MOTE_LANES) {{", blocks.block,
                   head.end));
  ++indent_;
  pragma("simd");
  loop_over_lanes(blocks, [&] { body(of_loop, inside); });
  const std::string iteration = names_.rename_local(
      l.variable.name(), fmt::format("({} + MOTE_LANES + {})", blocks.block, blocks.lane));
  const std::string result = names_.rename_local(first.fold->accumulator,
                                                 fmt::format("{}[{}]", second.lanes, blocks.lane));
  pragma("simd");
  loop_over_lanes(blocks, [&] { body(of_loop, inside); });
  names_.rename_local(l.variable.name(), iteration);
  names_.rename_local(first.fold->accumulator, result);
  --indent_;
  line("}");
  loop_over_lanes(blocks, [&] {
    const auto lane_of = [&](const LanesOfFold& one) {
      return Text{fmt::format("{}[{}]", one.lanes, blocks.lane), kTight, CType::f32};
    };
    line(fmt::format("{} = {};", lane_of(first).text,
                     reduced(first.fold->op, lane_of(first), lane_of(second)).text));
  });
  --indent_;
  line("}");
  out_ += "#endif\n";
}

void Writer::iterations_by_lanes(const Loop& l, const LoopHead& head, const Body& of_loop,
                                 BlocksOfLanes blocks, const Facts& inside) {
  blocks.lane = names_.fresh("lane");
  blocks.block = names_.fresh(head.variable + "_block");
  const std::map<std::string, LanesOfFold> folded = open_lanes(blocks);
  const auto fold_into = [&](const std::string& lane) {
    for (const auto& [accumulator, one] : folded)
      names_.rename_local(accumulator, fmt::format("{}[{}]", one.lanes, lane));
  };
  const std::string iteration =
      names_.rename_local(l.variable.name(), fmt::format("({} + {})", blocks.block, blocks.lane));
  fold_into(blocks.lane);
  printer_.uses().call("MOTE_LANES");
  line(fmt::format("int64_t {} = {};", blocks.block, head.begin));
  if (waits_for_result(blocks, of_loop))
    pairs_of_blocks(l, head, of_loop, blocks, folded.begin()->second, inside);
  line(
      fmt::format("for (; {0} <= {1} - MOTE_LANES; {0} += MOTE_LANES) {{", blocks.block, head.end));
  ++indent_;
  pragma("simd");
  loop_over_lanes(blocks, [&] { body(of_loop, inside); });
  --indent_;
  line("}");
  // Where vectors have no masks, what is left runs one by one.
  out_ += "#if MOTE_LANES > 4\n";
  line(fmt::format("if ({} < {}) {{", blocks.block, head.end));
  ++indent_;
  iterations_left(l, head, of_loop, blocks, inside);
  --indent_;
  line("}");
  out_ += "#else\n";
  names_.rename_local(l.variable.name(), iteration);
  fold_into("0");
  iterations(l, {head.variable, blocks.block, head.end, head.step}, of_loop, inside);
  out_ += "#endif\n";
  for (const auto& [accumulator, one] : folded) {
    names_.rename_local(accumulator, one.accumulator);
    combine_lanes(one);
  }
}

/// Folds the lanes into the accumulator.
void Writer::combine_lanes(const LanesOfFold& folded) {
  const ReduceOp op = folded.fold->op;
  const std::string function = fmt::format("mote_{}_of_lanes", name(op));
  const Text all{call(function, Text{folded.lanes}, printer_.uses()), kTight, CType::f32};
  const Text so_far{folded.accumulator, kTight, CType::f32};
  line(fmt::format("{} = {};", folded.accumulator, reduced(op, so_far, all).text));
}

/// Writes the block of the iterations that are left: elements are read to arrays first, and stored
/// from arrays last.
void Writer::iterations_left(const Loop& l, const LoopHead& head, const Body& of_loop,
                             BlocksOfLanes& blocks, const Facts& inside) {
  const std::string left = names_.fresh("left");
  const std::string is_left = fmt::format("{} < {}", blocks.lane, left);
  line(fmt::format("const int32_t {} = (int32_t)({} - {});", left, head.end, blocks.block));
  std::vector<std::string> reads, stores;
  for (HeldElement& e : blocks.elements) {
    e.variable = names_.fresh(names_.tensor(e.tensor->name) + "_left");
    line(fmt::format("{} {}[MOTE_LANES];", type_in_memory(*e.tensor), e.variable));
    const std::string element = printer_.element(*e.tensor, e.index, inside);
    const std::string held = fmt::format("{}[{}]", e.variable, blocks.lane);
    if (e.is_loaded) {
      const std::string first = names_.fresh(e.variable + "_first");
      const std::string iteration = names_.rename_local(l.variable.name(), blocks.block);
      line(fmt::format("const {} {} = {};", type_in_memory(*e.tensor), first,
                       printer_.element(*e.tensor, e.index, inside)));
      names_.rename_local(l.variable.name(), iteration);
      reads.push_back(fmt::format("{} = {} ? {} : {};", held, is_left, element, first));
    }
    if (e.is_stored) stores.push_back(fmt::format("if ({}) {} = {};", is_left, element, held));
  }
  const auto lines = [&](const std::vector<std::string>& all) {
    if (all.empty()) return;
    pragma("simd");
    loop_over_lanes(blocks, [&] { std::ranges::for_each(all, [&](const auto& s) { line(s); }); });
  };
  lines(reads);
  const std::size_t held_before = printer_.count_held();
  for (const HeldElement& e : blocks.elements)
    printer_.hold(e.tensor->name, e.index, fmt::format("{}[{}]", e.variable, blocks.lane));
  fold_under_ = is_left;
  pragma("simd");
  loop_over_lanes(blocks, [&] { body(of_loop, inside); });
  fold_under_.clear();
  printer_.release_to(held_before);
  lines(stores);
}

}  // namespace mote::emit
