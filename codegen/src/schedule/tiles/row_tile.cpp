// SPDX-License-Identifier: Apache-2.0
#include "schedule/tiles/row_tile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "schedule/tiles/nest_tiler.h"
#include "schedule/tiles/row_ranges.h"

namespace mote {
namespace {

/// A product for a tile of rows, or statements for each row.
struct Part {
  std::optional<Product> product;
  Body statements;
};

std::set<std::string> names_bound(const Body& body) {
  std::set<std::string> names = accumulators_declared(body);
  for_each(body, [&](const Stmt& s) {
    if (const auto* let = std::get_if<Let>(&s.kind)) names.insert(let->name);
  });
  return names;
}

class RowTiler {
 public:
  RowTiler(LoopProgram& p, const Loop& rows, const std::vector<const Loop*>& around,
           const RowTileAmounts& amounts)
      : p_(p),
        rows_{rows, around, Tiler::fresh_variable(p, rows.variable.name() + "_tile", used_),
              amounts.height},
        amounts_(amounts) {}

  std::optional<RowTile> run(const std::set<std::string>& own) {
    Body body = rows_.loop.body;
    give_each_row_its_own(body, own);
    if (!find_parts(std::move(body))) return std::nullopt;
    carry_names();
    Body ahead, tile;
    for (Part& part : parts_) add(part, ahead, tile);
    ahead.push_back({Loop{rows_.start, rows_.loop.begin, rows_.loop.end, rows_.height, {}, tile}});
    return RowTile{std::move(ahead), demands_, fmt::format("{}", fmt::join(effects_, "; "))};
  }

 private:
  Symbol symbol(const std::string& hint) { return Tiler::fresh_variable(p_, hint, used_); }
  Expr row() const { return Expr(rows_.loop.variable) - Expr(rows_.start); }

  /// Returns the name of a new array with the shape for each row.
  std::string add_array(const std::string& name, DType dtype, std::vector<Expr> shape) {
    const std::string array = symbol(name + "s").name();
    shape.insert(shape.begin(), Expr(rows_.height));
    std::vector<std::string> axes(shape.size());
    p_.tensors.push_back(
        {array, TensorRole::temporary, dtype, std::move(shape), std::move(axes), rows_.start});
    return array;
  }

  /// Gives temporaries that a row fills a location for each row of a tile.
  void give_each_row_its_own(Body& body, const std::set<std::string>& own) {
    if (is_in_index(body, own)) throw CannotTile{"a row's temporary is an index"};
    for (const std::string& name : own) {
      const TensorDecl t = *find_tensor(p_, name);
      arrays_[name] = add_array(name, t.dtype, t.shape);
      std::erase_if(p_.tensors, [&](const TensorDecl& other) { return other.name == name; });
    }
    const auto in_array = [&](std::vector<Expr> index) {
      index.insert(index.begin(), row());
      return index;
    };
    rewrite_values(body, [&](const Value& v) {
      const auto* load = std::get_if<value::Load>(&v->kind);
      const auto array = load == nullptr ? arrays_.end() : arrays_.find(load->tensor);
      return array == arrays_.end() ? v
                                    : load_value(array->second, in_array(load->index), v->dtype);
    });
    redirect_stores(body, in_array);
  }

  template <typename InArray>
  void redirect_stores(Body& body, const InArray& in_array) {
    const auto redirect = [&](auto& store) {
      const auto array = arrays_.find(store.tensor);
      if (array == arrays_.end()) return;
      store.tensor = array->second;
      store.index = in_array(store.index);
    };
    for (Stmt& s : body) {
      if (auto* store = std::get_if<Store>(&s.kind)) redirect(*store);
      if (auto* reduce = std::get_if<StoreReduce>(&s.kind)) redirect(*reduce);
      if (Body* nested = nested_body(s)) redirect_stores(*nested, in_array);
    }
  }

  /// Splits the body into parts; returns false if it has no products.
  bool find_parts(Body body) {
    ProductFinder finder(p_, rows_, names_bound(body), used_);
    Body waiting;
    const auto flush = [&] {
      if (!waiting.empty()) parts_.push_back({std::nullopt, std::move(waiting)});
      waiting.clear();
    };
    bool found = false;
    for (Stmt& s : body) {
      for (Product& product : finder.take(s)) {
        found = true;
        const std::set<std::string> written = tensors_written(waiting);
        const auto is_written = [&](const Access& a) { return written.contains(a.tensor); };
        if (std::ranges::any_of(accesses(product.loops.back().body), is_written)) flush();
        parts_.push_back({std::move(product), {}});
      }
      waiting.push_back(std::move(s));
    }
    flush();
    return found;
  }

  /// Makes names that one part gives a value and another reads arrays over the rows.
  void carry_names() {
    for (std::size_t from = 0; from < parts_.size(); ++from) {
      const std::set<std::string> names = names_bound(parts_[from].statements);
      std::map<std::string, std::string> arrays;
      for (std::size_t to = from + 1; to < parts_.size(); ++to) {
        if (is_in_index(parts_[to].statements, names)) throw CannotTile{"a name is an index"};
        rewrite_values(parts_[to].statements, [&](const Value& v) {
          const std::string* name = name_of(v);
          if (name == nullptr || !names.contains(*name)) return v;
          if (!arrays.contains(*name)) {
            arrays[*name] = add_array(*name, v->dtype, {});
            parts_[from].statements.push_back({Store{arrays[*name], {row()}, v}});
          }
          return load_value(arrays[*name], {row()}, v->dtype);
        });
      }
    }
  }

  static const std::string* name_of(const Value& v) {
    if (const auto* named = std::get_if<value::Named>(&v->kind)) return &named->name;
    if (const auto* folded = std::get_if<value::Accumulated>(&v->kind)) return &folded->name;
    return nullptr;
  }

  void add(Part& part, Body& ahead, Body& tile) {
    Body done =
        part.product ? product(*part.product, ahead) : over_rows(std::move(part.statements));
    for (const Body* body : {&ahead, &done})
      for_each(*body, [&](const Stmt& s) {
        if (const Loop* loop = as_loop(s)) used_.insert(loop->variable.name());
      });
    std::ranges::move(done, std::back_inserter(tile));
  }

  Body over_rows(Body statements) {
    const Symbol v = symbol(rows_.loop.variable.name());
    substitute(statements, {{rows_.loop.variable, Expr(v)}});
    const Expr start(rows_.start);
    Body out;
    out.push_back(
        {Loop{v, start, min(start + rows_.height, rows_.loop.end), 1, {}, std::move(statements)}});
    return out;
  }

  /// Returns the number of rows whose sums registers hold at once: of several sums, fewer.
  std::int64_t rows_at_once(const Product& product) const {
    const auto sums = static_cast<std::int64_t>(product.reduction.nest.folds.size());
    std::int64_t rows = std::max<std::int64_t>(1, amounts_.height / sums);
    while (amounts_.height % rows != 0) --rows;
    return rows;
  }

  Body product(const Product& product, Body& ahead) {
    const SharedLoops chain = chain_of(rows_, product.loops);
    const std::map<Symbol, TiledReduction> reductions = {{product.variable, product.reduction}};
    const std::int64_t width = lanes_of(reductions, amounts_.vector_bytes) * amounts_.vectors;
    const std::int64_t height = rows_at_once(product);
    const bool is_whole = height == amounts_.height;
    const Symbol start = is_whole ? rows_.start : symbol(rows_.loop.variable.name() + "_few");
    NestTiler tiler(p_, chain, reductions,
                    {.vector = product.loops.back(),
                     .rows = rows_.loop,
                     .height = height,
                     .width = width,
                     .slides = false,
                     .used_names = used_,
                     .row_start = start,
                     .around = rows_.around.size()});
    const Expr first(tiler.vector_start());
    const Span lanes{product.loops.back().variable, first, first + (tiler.width() - 1)};
    Conditions of_tile;
    for (const Condition& c : product.of_vector)
      of_tile.push_back({c.kind, *greatest_in(*greatest_in(c.e, span()), lanes)});
    Body nest = tiler.run_for_rows(of_tile, ahead);
    for (const Condition& c : tiler.demands())
      if (std::ranges::find(demands_, c) == demands_.end()) demands_.push_back(c);
    effects_.push_back(
        fmt::format("{} {}, {}", product.loops.back().variable.name(), width, tiler.effect()));
    if (is_whole) return nest;
    const Expr all(rows_.start);
    Body out;
    out.push_back(
        {Loop{start, all, min(all + rows_.height, rows_.loop.end), height, {}, std::move(nest)}});
    return out;
  }

  Span span() const {
    return {rows_.loop.variable, rows_.start, Expr(rows_.start) + (rows_.height - 1)};
  }

  LoopProgram& p_;
  std::set<std::string> used_;
  const RowLoop rows_;
  const RowTileAmounts amounts_;
  std::map<std::string, std::string> arrays_;
  std::vector<Part> parts_;
  Conditions demands_;
  std::vector<std::string> effects_;
};

}  // namespace

std::optional<RowTile> tiled_rows(LoopProgram& p, const Loop& rows,
                                  const std::vector<const Loop*>& around,
                                  const std::set<std::string>& own, const RowTileAmounts& amounts) {
  return RowTiler(p, rows, around, amounts).run(own);
}

}  // namespace mote
