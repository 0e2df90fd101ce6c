// SPDX-License-Identifier: Apache-2.0
// Writes asynchronous copies of slices to shared memory: helpers copy an operand, whose strides and
// extent are in a variable, 16 bytes at a time where they can.
#include <fmt/format.h>

#include <algorithm>

#include "ir/dependence.h"
#include "tile_writer.h"

namespace mote::emit {
namespace {

const Store& store_of(const Loop& outer) {
  return std::get<Store>(as_loop(outer.body.front())->body.front().kind);
}

const value::Guard& guard_of(const Loop& outer) {
  return std::get<value::Guard>(store_of(outer).value->kind);
}

/// Returns the axis of the tensor that the variable goes along.
std::size_t axis_of(const value::Load& load, Symbol variable) {
  const auto at =
      std::ranges::find_if(load.index, [&](const Expr& e) { return e.mentions(variable); });
  return static_cast<std::size_t>(at - load.index.begin());
}

/// Returns the number of the operand in its slice of shared memory.
const Expr& operand_of(const std::vector<Expr>& staged) { return staged[1]; }

}  // namespace

void TileWriter::prepare_copies() {
  for (const Loop* l : loops_)
    if (l->kind == LoopKind::ahead && !operands_.contains(operand_of(store_of(*l).index)))
      operands_[operand_of(store_of(*l).index)] = {
          l, names_.fresh(operands_.empty() ? "left" : "right")};
}

/// Writes the start of each operand in its tensor, and the distance of its elements.
void TileWriter::operands(const Facts& facts) {
  for (const auto& [number, operand] : operands_) {
    const auto& [outer, name] = operand;
    const Symbol location = outer->variable, slot = as_loop(outer->body.front())->variable;
    const auto& load = std::get<value::Load>(guard_of(*outer).then->kind);
    const TensorDecl& t = *find_tensor(p_, load.tensor);
    const std::size_t across = axis_of(load, location), along = axis_of(load, slot);
    std::vector<Expr> index = load.index;
    index[along] = 0;
    index[across] = index[across] - Expr(location);
    const Expr locations = guard_of(*outer).conditions[0].e + Expr(location) + 1;
    const std::string type =
        fmt::format("mote_pipelined_operand<{}>", is_narrow(t.dtype) ? "uint16_t" : "float");
    printer_.uses().call(type);
    write("const {} {} = {{&{}, {}, {}, {}}};", type, name, printer_.element(t, index, facts),
          printer_.named_stride(t.name, across), printer_.named_stride(t.name, along),
          text(locations, facts));
  }
}

void TileWriter::copy_ahead(const Loop& outer, const Facts& facts) {
  const Store& store = store_of(outer);
  const Symbol slot = as_loop(outer.body.front())->variable;
  const auto& load = std::get<value::Load>(guard_of(outer).then->kind);
  const Expr from = load.index[axis_of(load, slot)] - Expr(slot);
  const Expr depth = guard_of(outer).conditions[1].e + Expr(slot) + from + 1;
  write("mote_pipelined_stage({}[{}][{}], {}, {}, {});", names_.tensor(store.tensor),
        text(store.index[0], facts), text(store.index[1], facts),
        operands_.at(operand_of(store.index)).second, text(from, facts), text(depth, facts));
  line("mote_end_copies();");
}

void TileWriter::wait_for_copies(const WaitForCopies& wait) {
  write("mote_wait_for_copies<{}>();", wait.pending);
}

}  // namespace mote::emit
