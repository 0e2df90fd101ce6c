// SPDX-License-Identifier: Apache-2.0
// Writes what belongs to panels whose last two axes lie in memory in the order of an input's: the
// strides of these axes, and copies along the input's lines.
#include <fmt/format.h>

#include <algorithm>

#include "c/writer.h"
#include "ir/dependence.h"
#include "ir/transposed.h"
#include "mote/codegen/walk.h"

namespace mote::emit {
namespace {

/// Returns the store of a loop's only statement that copies an element to a panel that is ordered
/// like its input; null for others.
const Store* copy_to_ordered(const LoopProgram& p, const Loop& row) {
  const auto* store = row.body.size() != 1 ? nullptr : std::get_if<Store>(&row.body[0].kind);
  if (store == nullptr || !std::holds_alternative<value::Load>(store->value->kind)) return nullptr;
  const TensorDecl& panel = *find_tensor(p, store->tensor);
  const auto& load = std::get<value::Load>(store->value->kind);
  return panel.ordered_like && panel.ordered_like->tensor == load.tensor ? store : nullptr;
}

}  // namespace

/// Returns constants for the strides of ordered panels, as far as the statements read them.
std::string Writer::order_definitions(const Facts& facts) {
  std::string out;
  for (const TensorDecl& t : p_.tensors) {
    if (!t.ordered_like) continue;
    const std::size_t last = t.shape.size() - 1;
    const auto define = [&](std::size_t axis, const std::string& in_lines,
                            const std::string& in_rows) {
      const std::string& stride = names_.stride(t.name, axis);
      if (!printer_.uses().reads(stride)) return;
      const auto of_input = [&](int input_axis) {
        return printer_.named_stride(t.ordered_like->tensor, static_cast<std::size_t>(input_axis));
      };
      out += wrap(fmt::format("  const int64_t {} = {} == 1 && {} != 1 ? {} : {};", stride,
                              of_input(t.ordered_like->last_but_one),
                              of_input(t.ordered_like->last), in_lines, in_rows)) +
             "\n";
    };
    define(last - 1, "1", printer_.expr(t.shape[last], facts).text);
    define(last, printer_.expr(t.shape[last - 1], facts).text, "1");
  }
  return out;
}

/// Writes the loop over positions, and the one in it that fills a row of a panel. Where the input's
/// elements are adjacent along the positions, so are those of an ordered panel, and the two change
/// places.
void Writer::copy_in_lines_or_apart(const Loop& first, const Facts& facts) {
  const Loop& row = *as_loop(first.body.front());
  const Store* store = copy_to_ordered(p_, row);
  const auto axis_of = [&](const std::vector<Expr>& index) {
    return axis_along(index, first.variable);
  };
  const bool changes = first.begin.mentions(row.variable) || row.end.mentions(first.variable);
  const AxesOfInput* like =
      store == nullptr ? nullptr : &*find_tensor(p_, store->tensor)->ordered_like;
  if (store == nullptr || changes || axis_of(store->index) != store->index.size() - 2 ||
      axis_of(std::get<value::Load>(store->value->kind).index) !=
          static_cast<std::size_t>(like->last_but_one)) {
    loop_apart(first, facts);
    return;
  }
  const int along = static_cast<int>(store->index.size()) - 2;
  const std::vector<KnownStride> adjacent = {{like->tensor, like->last_but_one, 1},
                                             {store->tensor, along, 1}};
  std::string test;
  for (const KnownStride& k : adjacent)
    test += fmt::format("{}{} == 1", test.empty() ? "" : " && ",
                        printer_.named_stride(k.tensor, static_cast<std::size_t>(k.axis)));
  const auto in_lines = [&] {
    Loop line{first.variable, first.begin, first.end, 1, {}, row.body, LoopKind::simd};
    const Loop lines{row.variable, row.begin, row.end, 1, {}, {{std::move(line)}}};
    printer_.assume(adjacent);
    loop_of_its_own(lines, facts);
    printer_.assume({});
  };
  in_two_forms(test, in_lines, [&] { loop_apart(first, facts); });
}

/// Defines the pointers for the unrolled loop that is the body of the chain's last loop.
Writer::RowPointers Writer::pointers_to_rows(const std::vector<const Loop*>& chain,
                                             const Facts& facts) {
  RowPointers pointers;
  const Body& body = chain.back()->body;
  const Loop* unrolled = body.size() != 1 ? nullptr : as_loop(body.front());
  if (unrolled == nullptr || unrolled->kind != LoopKind::unrolled) return pointers;
  std::map<Symbol, Expr> at_first;
  for (const Loop* l : chain) {
    pointers.moving.insert(l->variable);
    at_first.emplace(l->variable, 0);
  }
  const auto all = accesses(unrolled->body);
  for (const Access& a : all) {
    const TensorDecl& t = *find_tensor(p_, a.tensor);
    const bool is_one = std::ranges::all_of(
        all, [&](const Access& b) { return b.tensor != a.tensor || b.index == a.index; });
    if (!t.ordered_like || !is_one || pointers.of_tensor.contains(t.name)) continue;
    std::vector<std::string>& names = pointers.of_tensor[t.name];
    for (std::int64_t row = 0; row < *(unrolled->end - unrolled->begin).constant(); ++row) {
      std::vector<Expr> index;
      for (const Expr& e : a.index)
        index.push_back(e.substitute(at_first).substitute({{unrolled->variable, row}}));
      names.push_back(names_.fresh(fmt::format("{}_row_{}", t.name, row)));
      line(fmt::format("const {} *const {} = &{};", local_type(t, p_.native), names.back(),
                       printer_.element(t, index, facts)));
    }
  }
  return pointers;
}

}  // namespace mote::emit
