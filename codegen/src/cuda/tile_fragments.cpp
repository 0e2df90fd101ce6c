// SPDX-License-Identifier: Apache-2.0
// Writes loops over fragments, which helpers compute: they multiply slices of operands in shared
// memory, by tensor cores or as vectors, and the sums then go to shared memory, half of them at a
// time.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/dependence.h"
#include "mote/base/error.h"
#include "tile_writer.h"

namespace mote::emit {
namespace {

/// Returns the statement that the nest consists of, in loops and branches.
const Stmt& innermost(const Loop& l) {
  const Stmt* s = &l.body.front();
  while (const Body* nested = nested_body(*s)) s = &nested->front();
  return *s;
}

/// Returns what is multiplied: f32, tf32, f16 or bf16.
std::string dtype_of(const TensorDecl& staged) {
  return staged.is_for_tensor_cores && staged.dtype == DType::f32 ? "tf32"
                                                                  : std::string(name(staged.dtype));
}

}  // namespace

/// Returns the extents of a thread's sums.
std::string TileWriter::layout() const {
  if (operands_.empty()) return "[2][4][4]";
  const bool is_by_tensor_cores =
      std::ranges::any_of(p_.tensors, [](const TensorDecl& t) { return t.is_for_tensor_cores; });
  return is_by_tensor_cores ? "[4][8][4]" : "[16][8]";
}

void TileWriter::fragment_loops(const Loop& l, const Facts& facts) {
  const Stmt& s = innermost(l);
  if (const auto* sum = std::get_if<StoreReduce>(&s.kind)) {
    multiply(l, *sum, facts);
    return;
  }
  const auto& store = std::get<Store>(s.kind);
  const std::string& to = names_.tensor(store.tensor);
  const auto* first = std::get_if<value::Constant>(&store.value->kind);
  if (first != nullptr && first->number.is_real() && first->number.real() == 0) {
    write("float {}{} = {{}};", to, layout());
    return;
  }
  const auto* load = std::get_if<value::Load>(&store.value->kind);
  if (load == nullptr || !l.end.constant())
    throw InternalError(p_.name + ": fragments are computed by other loops than a tile's");
  const Expr half = (load->index[0] - Expr(l.variable)) / l.end;
  write("{};", called(operands_.empty() ? "mote_tile_give_fragments" : "mote_pipelined_give",
                      fmt::format("{}, {}, {}", printer_.read(names_.tensor(load->tensor)), to,
                                  text(half, facts))));
}

/// Returns the arguments that say which products count; empty if all do.
std::string TileWriter::masks(const Loop& rows) const {
  std::array<std::string, 2> masks = {"NULL", "NULL"};
  for_each(rows.body, [&](const Stmt& s) {
    const auto* branch = std::get_if<If>(&s.kind);
    if (branch == nullptr) return;
    for (const Condition& c : branch->conditions)
      for_each_load(c.e, [&](const Atom& a) {
        const bool is_left = a.args[1] == Expr(rows.variable);
        masks[is_left ? 0 : 1] = printer_.read(names_.tensor(a.tensor));
      });
  });
  const bool has_masks = masks[0] != "NULL" || masks[1] != "NULL";
  return has_masks ? fmt::format(", {}, {}", masks[0], masks[1]) : "";
}

void TileWriter::multiply(const Loop& rows, const StoreReduce& sum, const Facts& facts) {
  const auto& op = std::get<value::Op>(sum.value->kind);
  const auto& left = std::get<value::Load>(op.args[0]->kind);
  const TensorDecl& staged = *find_tensor(p_, left.tensor);
  const std::string& slices = printer_.read(names_.tensor(staged.name));
  const std::string& sums = names_.tensor(sum.tensor);
  if (!operands_.empty()) {
    std::string arguments =
        fmt::format("{}, {}[{}]", sums, slices, text(left.index.front(), facts));
    if (staged.is_for_tensor_cores)
      for (const auto& [number, operand] : operands_) arguments += ", " + operand.second;
    write("{};", called("mote_pipelined_multiply_" + dtype_of(staged), arguments));
    return;
  }
  const std::string holds = masks(rows);
  write("{};", called(fmt::format("mote_tile_multiply_{}{}", holds.empty() ? "" : "masked_",
                                  dtype_of(staged)),
                      fmt::format("{0}, {1}[0], {1}[1]{2}", sums, slices, holds)));
}

}  // namespace mote::emit
