// SPDX-License-Identifier: Apache-2.0
// Writes the axes of a tile: a group of loops is one axis, such as `row`; the loops' variables are
// its digits, which are looked up in tables in shared memory, since a 64-bit division is expensive.
#include <algorithm>

#include "tile_writer.h"

namespace mote::emit {
namespace {

bool moves(const Expr& e) {
  return std::ranges::any_of(e.symbols(), [](Symbol s) { return s.kind() == SymbolKind::loop; });
}

}  // namespace

bool TileWriter::is_same_in_every_tile(const TileAxes& axes) const {
  for (const cuda::TileAxis& a : axes)
    for (const cuda::TileAxis& b : form_.batch)
      if (a.begin.mentions(b.variable) || a.end.mentions(b.variable)) return false;
  return true;
}

TileGroup TileWriter::group(const TileAxes& axes, const std::string& hint, int width) {
  TileGroup g{&axes, width, {}, {}, {}, {}, {}};
  g.flat = g.is_plain() ? name_of(axes[0]) : names_.fresh(hint);
  g.begin = names_.fresh(g.flat + "_begin");
  g.extents = extents(axes, facts_);
  g.count = g.extents[0];
  if (axes.size() == 1) return g;
  g.count = names_.fresh(hint + "s");
  line("const int64_t {} = {};", g.count, fmt::join(g.extents, " * "));
  for (const cuda::TileAxis& a : axes) {
    g.tables.push_back(names_.fresh(name_of(a) + "_of"));
    line("__shared__ int64_t {}[{}];", g.tables.back(), width);
  }
  return g;
}

/// Returns the distance of neighbours along the innermost of the axes that has several iterations.
std::string TileWriter::distance(const std::string& tensor, const std::vector<Expr>& index,
                                 const TileAxes& axes) const {
  std::string all;
  for (const cuda::TileAxis& axis : axes) {
    std::string one;
    for (std::size_t k = 0; k < index.size(); ++k) {
      if (!index[k].mentions(axis.variable)) continue;
      const auto linear = linear_in(index[k], axis.variable);
      if (!linear || moves(linear->factor)) return "";
      const Expr factor_of = linear->factor * axis.step;
      one += one.empty() ? "" : " + ";
      if (factor_of != Expr(1)) one += factor(factor_of) + " * ";
      one += printer_.named_stride(tensor, k);
    }
    if (one.empty()) one = "0";
    const Expr count = facts_.simplify(max(0, ceil_div(axis.end - axis.begin, axis.step)));
    if (moves(count)) return "";
    all = all.empty() ? one
                      : fmt::format("{} > 1 ? {} : {}", within(printer_.expr(count, facts_), kSum),
                                    one, all);
  }
  return all;
}

/// Returns the name of a constant: true if the elements that adjacent threads read lie closer
/// together along `inner` than along `outer`.
std::string TileWriter::along(const value::Load* load, const TileAxes& inner, const TileAxes& outer,
                              const char* hint) {
  if (load == nullptr) return "false";
  return closer(load->tensor, load->index, inner, outer, hint);
}
std::string TileWriter::closer(const std::string& tensor, const std::vector<Expr>& index,
                               const TileAxes& inner, const TileAxes& outer, const char* hint) {
  const std::string in = distance(tensor, index, inner);
  const std::string out = distance(tensor, index, outer);
  if (in.empty() || out.empty()) return "false";
  const std::string name = names_.fresh(hint);
  line("const bool {} = {} < {};", name, called("mote_iabs", in), called("mote_iabs", out));
  return name;
}

/// Returns the name of a constant: true if stores lie closer together along rows of the tile than
/// along columns.
std::string TileWriter::down() {
  const Store* first = nullptr;
  for_each(form_.innermost->body, [&](const Stmt& s) {
    const auto* store = std::get_if<Store>(&s.kind);
    if (store == nullptr || first != nullptr) return;
    if (find_tensor(p_, store->tensor)->role != TensorRole::temporary) first = store;
  });
  if (first == nullptr) return "false";
  return closer(first->tensor, first->index, form_.rows, form_.columns, "down");
}

void TileWriter::define_digits(const TileGroup& g, const std::string& flat) {
  const std::vector<std::string> values = digits(*g.axes, g.extents, flat, facts_);
  for (std::size_t k = values.size(); k-- > 0;)
    line("const int64_t {} = {};", name_of((*g.axes)[k]), values[k]);
}

/// Writes the code that fills the tables of a group from a position on, which ends with a plus.
void TileWriter::fill_tables(const TileGroup& g, const std::string& begin) {
  if (g.tables.empty()) return;
  open(fmt::format("if (threadIdx.x < {})", g.width));
  line("const int64_t {} = {}threadIdx.x;", g.flat, begin);
  open(fmt::format("if ({} < {})", g.flat, g.count));
  const std::vector<std::string> values = digits(*g.axes, g.extents, g.flat, facts_);
  for (std::size_t k = 0; k < values.size(); ++k)
    line("{}[threadIdx.x] = {};", g.tables[k], values[k]);
  close();
  close();
}

/// Writes the definitions of a group's variables at a location in the tile.
void TileWriter::variables(const TileGroup& g, const std::string& location) {
  for (std::size_t k = 0; k < g.tables.size(); ++k)
    line("const int64_t {} = {}[{}];", name_of((*g.axes)[k]), g.tables[k], location);
  if (g.tables.empty() && !g.is_plain()) define_digits(g, g.flat);
}

}  // namespace mote::emit
