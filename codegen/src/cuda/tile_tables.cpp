// SPDX-License-Identifier: Apache-2.0
// Writes the memory of blocks, and the digits of numbers that loops count through, which are looked
// up in tables in shared memory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "block_loops.h"
#include "ir/dependence.h"
#include "mote/base/error.h"
#include "tile_writer.h"

namespace mote::emit {
namespace {

Expr count_of_all(const Loop& l, const Facts& facts) {
  Expr all = 1;
  for (const LoopDigit& d : l.digits) all = all * facts.simplify(count_of(d));
  return all;
}

std::string extents_text(std::span<const Expr> shape) {
  std::string out;
  for (const Expr& extent : shape) out += fmt::format("[{}]", *extent.constant());
  return out;
}

/// Returns the extents of a tensor in shared memory. Helpers decide where a slice that is copied
/// ahead has its elements.
std::string shared_extents(const TensorDecl& t) {
  constexpr std::size_t kRankOfSlices = 4;
  if (t.shape.size() < kRankOfSlices) return extents_text(t.shape);
  const std::size_t last = t.shape.size() - 2;
  return extents_text(std::span(t.shape).first(last)) +
         fmt::format("[{}]", *(t.shape[last] * t.shape[last + 1]).constant());
}

}  // namespace

void TileWriter::open(const std::string& head) {
  line(head + " {");
  ++indent_;
}

void TileWriter::close() {
  --indent_;
  line("}");
}

void TileWriter::find_loops(const Body& body) {
  for_each(body, [&](const Stmt& s) {
    if (const Loop* l = as_loop(s)) loops_.push_back(l);
  });
}

void TileWriter::shared_arrays() {
  for (const TensorDecl& t : p_.tensors) {
    if (t.memory != TensorMemory::shared) continue;
    const std::string& name = names_.tensor(t.name);
    const std::string extents = shared_extents(t);
    const bool is_bits = t.is_for_tensor_cores && is_narrow(t.dtype);
    const std::string type = is_bits ? storage_type(t.dtype) : local_type(t, p_.native);
    if (!t.in_place_of.empty())
      write("{0} (&{1}){2} = ({0} (&){2}){3};", type, name, extents, names_.tensor(t.in_place_of));
    else
      write("__shared__ {}{} {}{};", t.dtype == DType::boolean ? "" : "__align__(16) ", type, name,
            extents);
  }
}

void TileWriter::declare_of_block(const TensorDecl& t) {
  if (t.memory == TensorMemory::local)
    write("{} {}{};", local_type(t, p_.native), names_.tensor(t.name),
          extents_text(std::span(t.shape).subspan(kThreadAxes)));
}

void TileWriter::opening(const Facts& facts) {
  shared_arrays();
  find_loops(p_.body);
  for (const Loop* l : loops_)
    if (!l->digits.empty()) add_table(*l, facts);
  lane_ = names_.fresh("lane");
  part_ = names_.fresh("part");
  room_ = names_.fresh("room");
  number_ = names_.fresh("number");
  for (const Loop* l : loops_)
    if (is_nest(*l)) prepare_nest(*l, facts);
  prepare_copies();
}

/// Adds the table of the loop's digits, unless another loop has the same.
void TileWriter::add_table(const Loop& l, const Facts& facts) {
  if (table_of(l) != nullptr) return;
  const auto anchor = std::ranges::find_if(loops_, [&](const Loop* outer) {
    return outer->step.constant().value_or(0) > 1 && l.number.mentions(outer->variable);
  });
  if (anchor == loops_.end())
    throw InternalError(p_.name + ": digits of a number that no loop over tiles begins");
  Table table{&l, *anchor};
  for (const LoopDigit& d : l.digits) {
    table.arrays.push_back(names_.fresh(names_.symbol(d.variable) + "_of"));
    write("__shared__ int64_t {}[{}];", table.arrays.back(), *(*anchor)->step.constant());
  }
  if (!is_moving(count_of_all(l, facts))) counts_of(table, facts);
  tables_.push_back(std::move(table));
}

TileWriter::Table* TileWriter::table_of(const Loop& l) {
  const auto found = std::ranges::find_if(tables_, [&](const Table& t) {
    return l.number.mentions(t.anchor->variable) &&
           std::ranges::equal(l.digits, t.loop->digits, are_alike);
  });
  return found == tables_.end() ? nullptr : &*found;
}

void TileWriter::counts_of(Table& table, const Facts& facts) {
  table.extents = extents(table.loop->digits, facts);
  table.count = text(count_of_all(*table.loop, facts), facts);
}

/// Writes the code that fills a table for the numbers from `from` on.
void TileWriter::fill(const Table& table, const Expr& from, const Facts& facts) {
  open(fmt::format("if (threadIdx.x < {})", *table.anchor->step.constant()));
  const Text begin = printer_.expr(from, facts);
  write("const int64_t {} = {}threadIdx.x;", number_,
        from == Expr(0) ? "" : within(begin, kSum) + " + ");
  open(fmt::format("if ({} < {})", number_, table.count));
  const auto values = digits(table.loop->digits, table.extents, number_, facts);
  for (std::size_t k = 0; k < values.size(); ++k)
    write("{}[threadIdx.x] = {};", table.arrays[k], values[k]);
  close();
  close();
}

/// Writes the tables of a tile: those of its own numbers, and those of its first slice.
void TileWriter::open_iteration(const std::vector<const Loop*>& chain, const Facts& facts) {
  bool is_filled = false;
  for (Table& table : tables_) {
    if (table.extents.empty()) counts_of(table, facts);
    const bool is_of_tile = std::ranges::find(chain, table.anchor) != chain.end();
    fill(table, is_of_tile ? Expr(table.anchor->variable) : table.anchor->begin, facts);
    is_filled = true;
  }
  if (is_filled) KernelWriter::barrier();
  operands(facts);
}

/// Loops of a thread with constant limits are unrolled if they say so.
void TileWriter::loop(const Loop& l, const Facts& facts) {
  const auto step = l.step.constant(), end = l.end.constant();
  if (l.begin == Expr(0) && end && step && !is_shared_within_block(l)) {
    const std::string& v = names_.symbol(l.variable);
    // Further unrolling would let the compiler load for several iterations, at the cost of
    // registers.
    const bool is_wide = std::ranges::any_of(p_.tensors, [&](const TensorDecl& t) {
      return t.memory == TensorMemory::local && bytes_of_local(t, p_.native) == 8;
    });
    out_ += l.kind == LoopKind::unrolled ? "#pragma unroll\n"
                                         : fmt::format("#pragma unroll {}\n", is_wide ? 1 : 2);
    open(fmt::format("for (int {0} = 0; {0} < {1}; {2})", v, *end,
                     *step == 1 ? v + "++" : fmt::format("{} += {}", v, *step)));
    Facts inside = facts;
    inside.set_range(l.variable, l.begin, l.end);
    body(l.body, inside);
    close();
    return;
  }
  // The tables of a tile, whose anchor is a loop of the grid, stay as they are in all slices.
  for (Table& table : tables_)
    table.is_next = table.is_next || (l.kind == LoopKind::serial && table.anchor == &l);
  KernelWriter::loop(l, facts);
  for (Table& table : tables_) table.is_next = table.is_next && table.anchor != &l;
}

/// Behind the first barrier in a slice, no thread reads the tables of the slice any more.
void TileWriter::barrier() {
  KernelWriter::barrier();
  for (Table& table : tables_) {
    if (!table.is_next) continue;
    table.is_next = false;
    fill(table, Expr(table.anchor->variable) + table.anchor->step, base_facts(*p_.source));
  }
}

/// Writes the definitions of the loop's digits.
void TileWriter::define_digits(const Loop& l, const Facts& facts) {
  if (l.digits.empty()) return;
  const Table& table = *table_of(l);
  const std::string at = text(l.number - Expr(table.anchor->variable), facts);
  for (std::size_t k = 0; k < l.digits.size(); ++k)
    write("const int64_t {} = {}[{}];", names_.symbol(l.digits[k].variable), table.arrays[k], at);
}

}  // namespace mote::emit
