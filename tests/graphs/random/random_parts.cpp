// SPDX-License-Identifier: Apache-2.0
// Nodes without ops, and what is between nodes: disjoint writes to parts of one tensor,
// conversions, views, and order without data.
#include <algorithm>

#include "mote/runtime/status.h"
#include "random_nodes.h"

namespace mote::test {
namespace {

/// The parts of an axis: [begin, begin + count), each with a step; together disjoint.
struct Part {
  std::int64_t begin = 0;
  std::int64_t count = 1;
  std::int64_t step = 1;
};

/// Cuts the axis into two to four parts; with gaps, some of it belongs to none.
std::vector<Part> some_parts(Rng& rng, std::int64_t extent, bool with_gaps) {
  if (extent >= 4 && rng.chance(25)) {
    const std::int64_t half = extent / 2;
    return {{0, extent - half, 2}, {1, half, 2}};
  }
  std::vector<Part> parts;
  std::int64_t at = with_gaps ? rng.below(2) : 0;
  while (at < extent && parts.size() < 4) {
    const std::int64_t left = extent - at;
    const bool is_last = parts.size() == 3 && !with_gaps;
    const std::int64_t count = is_last ? left : 1 + rng.below(static_cast<int>(left));
    parts.push_back({at, count, 1});
    at += count + (with_gaps ? rng.below(2) : 0);
  }
  return parts;
}

/// Writes the part: as a copy, a fill or a pointwise op's output.
void write_part(GraphBuilder& b, TensorSymbol part) {
  SymbolicGraph& g = b.graph();
  if (g.form(part).shape.size() >= 2 && b.rng().chance(25)) {
    AxisList order;
    for (int k = g.form(part).shape.size(); k-- > 0;) order.push_back(k);
    part = g.permute(part, order);  // a view of a view is written
  }
  const TensorForm form = g.form(part);
  const int way = b.rng().below(10);
  if (way < 2) {
    g.fill(part, b.rng().below(3));
    return;
  }
  if (way < 6 || form.dtype == DType::boolean) {
    const TensorSymbol x = b.operand(form.dtype, form.shape);
    g.copy(x, part);
    return;
  }
  const std::vector<TensorSymbol> inputs = {b.operand(form.dtype, form.shape),
                                            b.operand(form.dtype, form.shape)};
  const std::vector<TensorSymbol> outputs = {part};
  g.write(Command(b.rng().pick<const char*>({"add", "mul", "max"})), inputs, outputs);
}

/// Publishes a view that lies across the parts.
void publish_across(GraphBuilder& b, TensorSymbol root) {
  if (const TensorSymbol across = b.some_view(root)) b.publish(across);
}

}  // namespace

bool add_parts(GraphBuilder& b, const NodeChoice& choice) {
  SymbolicGraph& g = b.graph();
  const TensorSymbol like = b.some_value(choice.dtype);
  if (!like) return false;
  const TensorForm form = g.form(like);
  const int rank = form.shape.size();
  if (rank == 0 || count_of(form.shape) == 0 || rank > 4) return false;
  const int axis = b.rng().below(rank);
  AxisList shape = form.shape;
  shape[axis] = shape[axis] * 2 + b.rng().below(3);
  if (count_of(shape) > kMaxElements) return false;
  const bool is_zeros = b.rng().chance(45);
  const TensorSymbol root = is_zeros ? g.zeros({form.dtype, shape}) : g.tensor({form.dtype, shape});
  const std::vector<Part> parts = some_parts(b.rng(), shape[axis], is_zeros);
  // Without its last part a tensor can be read in parts only.
  const bool is_partial = !is_zeros && parts.size() > 1 && b.rng().chance(15);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (is_partial && k + 1 == parts.size()) break;
    const TensorSymbol part = g.slice(root, axis, parts[k].begin, parts[k].count, parts[k].step);
    write_part(b, part);
    if (is_partial || b.rng().chance(25)) b.publish(part);
  }
  if (is_partial) return true;
  b.publish(root);
  publish_across(b, root);
  return true;
}

bool add_conversion(GraphBuilder& b) {
  SymbolicGraph& g = b.graph();
  const TensorSymbol x = b.some_value();
  if (!x) return false;
  const TensorForm form = g.form(x);
  TensorForm to{form.dtype, form.shape};
  if (b.has_exact_reals())
    to.dtype = b.rng().pick({DType::f64, DType::f64, form.dtype, DType::i64});
  else if (b.rng().chance(60))
    to.dtype = b.rng().pick({DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32,
                             DType::i64, DType::f32, DType::f64});
  const int rank = form.shape.size();
  if (rank >= 2 && b.rng().chance(40)) {
    // The axes in the opposite order: the layout changes, the shape does not.
    std::int64_t stride = 1;
    for (int axis = 0; axis < rank; ++axis) {
      to.strides[axis] = stride;
      stride *= std::max<std::int64_t>(form.shape[axis], 1);
    }
  }
  b.note_read(x);
  b.publish(g.convert(x, to));
  return true;
}

bool add_view(GraphBuilder& b) {
  const TensorSymbol x = b.some_value();
  if (!x) return false;
  const TensorSymbol view = b.some_view(x);
  if (!view) return false;
  b.publish(view);
  return true;
}

bool add_order(GraphBuilder& b) {
  SymbolicGraph& g = b.graph();
  NodeSymbol before = b.some_node();
  NodeSymbol after = b.some_node();
  if (!before || before == after) return false;
  if (before.index > after.index) std::swap(before, after);
  g.order(before, after);  // operands come before their readers, so that there is no cycle
  return true;
}

}  // namespace mote::test
