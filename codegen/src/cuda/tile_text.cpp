// A kernel whose blocks take tiles. A slice of each operand goes through shared memory, read along
// whichever of its axes is contiguous; each thread keeps 8 x 4 sums in registers; then sums go back
// through shared memory, half a tile at a time, so that what follows the reduction is written once
// and stores are contiguous too. A group of loops is one axis, `row` say; the loops' variables are
// its digits, which are looked up in tables, since a division of 64 bits is dear.
#include "tile_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "mote/codegen/emit_cuda.h"

namespace mote::emit {
namespace {

using cuda::kSlice;
using cuda::TileAxis;
using Axes = std::vector<TileAxis>;

constexpr int kPitch = kCudaTile + 4;  ///< of a row in shared memory: aligned, over other banks
static_assert(kCudaThreads == 128 && kCudaTile == 64 && kSlice == 16, "as in the helpers' text");

/// The first element of an input or output that the value reads.
const value::Load* first_load(const Value& value, const LoopProgram& p) {
  const value::Load* found = nullptr;
  for_each_value(value, [&](const Value& v) {
    const auto* load = std::get_if<value::Load>(&v->kind);
    if (load == nullptr || found != nullptr) return;
    if (find_tensor(p, load->tensor)->role != TensorRole::temporary) found = load;
  });
  return found;
}

}  // namespace

/// Loops as one axis of the tile.
struct TileGroup {
  const Axes* axes;
  int width;                         ///< of a tile
  std::string flat;                  ///< the position
  std::string begin;                 ///< of the tile
  std::string count;                 ///< of positions
  std::vector<std::string> extents;  ///< of the loops
  std::vector<std::string> tables;   ///< of the loops' variables; empty: there is one loop

  bool is_plain() const {
    return axes->size() == 1 && axes->front().begin == Expr(0) && axes->front().step == Expr(1);
  }
};

class TileWriter {
 public:
  TileWriter(Writer& writer, const Facts& facts)
      : w_(writer), form_(*writer.tiles_), facts_(facts) {
    type_ = local_type(form_.accumulator->dtype, w_.p_.native);
    zero_ = w_.start(ReduceOp::sum, form_.accumulator->dtype);
    all_ = facts;
    for (const Axes* axes : {&form_.batch, &form_.rows, &form_.columns, &form_.reduced})
      for (const TileAxis& a : *axes) all_.set_range(a.variable, a.begin, a.end);
  }

  void run() {
    staged_ = w_.names_.fresh("staged");
    line("__shared__ __align__(16) {} {}[2][{}][{}];", type_, staged_, kSlice, kPitch);
    left_holds_ = holds(form_.left_where, "left_holds");
    right_holds_ = holds(form_.right_where, "right_holds");
    row_ = group(form_.rows, "row", kCudaTile);
    column_ = group(form_.columns, "column", kCudaTile);
    const bool is_one = is_same_in_every_tile(form_.reduced);
    if (is_one) depth_ = group(form_.reduced, "depth", kSlice);
    left_along_ = along(first_load(form_.left, w_.p_), form_.reduced, form_.rows, "left_along");
    right_along_ =
        along(first_load(form_.right, w_.p_), form_.reduced, form_.columns, "right_along");
    down_ = down();
    part_ = w_.names_.fresh("part");
    lane_ = w_.names_.fresh("lane");
    place_ = w_.names_.fresh("place");
    slot_ = w_.names_.fresh("slot");
    open_tile();
    if (!is_one) depth_ = group(form_.reduced, "depth", kSlice);
    slices();
    rest();
    --w_.indent_;
    line("}}");
  }

 private:
  template <typename... T>
  void line(fmt::format_string<T...> format, T&&... values) {
    w_.line(fmt::format(format, std::forward<T>(values)...));
  }
  void open(const std::string& head) {
    w_.line(head + " {");
    ++w_.indent_;
  }
  void close() {
    --w_.indent_;
    w_.line("}");
  }
  /// By fours: NVRTC keeps the addresses of all elements of a loop without rounds in registers.
  void unrolled() { w_.out_ += "#pragma unroll 4\n"; }
  std::string factor(const Expr& e) const { return within(w_.printer_.expr(e, facts_), kUnary); }
  static bool moves(const Expr& e) {
    return std::ranges::any_of(e.symbols(), [](Symbol s) { return s.kind() == SymbolKind::loop; });
  }

  /// Where products count, as an array in shared memory; empty: all do.
  std::string holds(const Conditions& where, const char* hint) {
    if (where.empty()) return "";
    const std::string name = w_.names_.fresh(hint);
    line("__shared__ bool {}[{}][{}];", name, kSlice, kPitch);
    return name;
  }

  bool is_same_in_every_tile(const Axes& axes) const {
    for (const TileAxis& a : axes)
      for (const TileAxis& b : form_.batch)
        if (a.begin.mentions(b.variable) || a.end.mentions(b.variable)) return false;
    return true;
  }

  TileGroup group(const Axes& axes, const std::string& hint, int width) {
    TileGroup g{&axes, width, {}, {}, {}, {}, {}};
    g.flat = g.is_plain() ? name_of(axes[0]) : w_.names_.fresh(hint);
    g.begin = w_.names_.fresh(g.flat + "_begin");
    g.extents = w_.extents(axes, facts_);
    g.count = g.extents[0];
    if (axes.size() == 1) return g;
    g.count = w_.names_.fresh(hint + "s");
    line("const int64_t {} = {};", g.count, fmt::join(g.extents, " * "));
    for (const TileAxis& a : axes) {
      g.tables.push_back(w_.names_.fresh(name_of(a) + "_of"));
      line("__shared__ int64_t {}[{}];", g.tables.back(), width);
    }
    return g;
  }

  const std::string& name_of(const TileAxis& a) const { return w_.names_.symbol(a.variable); }

  /// How far apart neighbours along the axes are: along the innermost that has several.
  std::string distance(const std::string& tensor, const std::vector<Expr>& index,
                       const Axes& axes) const {
    std::string all;
    for (const TileAxis& axis : axes) {
      std::string one;
      for (std::size_t k = 0; k < index.size(); ++k) {
        if (!index[k].mentions(axis.variable)) continue;
        const auto linear = linear_in(index[k], axis.variable);
        if (!linear || moves(linear->factor)) return "";
        const Expr factor_of = linear->factor * axis.step;
        one += one.empty() ? "" : " + ";
        if (factor_of != Expr(1)) one += factor(factor_of) + " * ";
        one += w_.names_.stride(tensor, k);
      }
      if (one.empty()) one = "0";
      const Expr count = facts_.simplify(max(0, ceil_div(axis.end - axis.begin, axis.step)));
      if (moves(count)) return "";
      all = all.empty() ? one
                        : fmt::format("{} > 1 ? {} : {}",
                                      within(w_.printer_.expr(count, facts_), kSum), one, all);
    }
    return all;
  }

  /// The name of a constant: whether the elements that threads side by side read lie closer
  /// together along `inner` than along `outer`.
  std::string along(const value::Load* load, const Axes& inner, const Axes& outer,
                    const char* hint) {
    if (load == nullptr) return "false";
    return closer(load->tensor, load->index, inner, outer, hint);
  }
  std::string closer(const std::string& tensor, const std::vector<Expr>& index, const Axes& inner,
                     const Axes& outer, const char* hint) {
    const std::string in = distance(tensor, index, inner);
    const std::string out = distance(tensor, index, outer);
    if (in.empty() || out.empty()) return "false";
    const std::string name = w_.names_.fresh(hint);
    line("const bool {} = mote_iabs({}) < mote_iabs({});", name, in, out);
    return name;
  }

  /// Whether stores lie closer together along rows of the tile than along columns.
  std::string down() {
    const Store* first = nullptr;
    for_each(form_.round->body, [&](const Stmt& s) {
      const auto* store = std::get_if<Store>(&s.kind);
      if (store == nullptr || first != nullptr) return;
      if (find_tensor(w_.p_, store->tensor)->role != TensorRole::temporary) first = store;
    });
    if (first == nullptr) return "false";
    return closer(first->tensor, first->index, form_.rows, form_.columns, "down");
  }

  /// The loop over tiles, the variables of the batch, the tables of rows and columns.
  void open_tile() {
    const std::string rows = w_.names_.fresh("row_tiles");
    const std::string columns = w_.names_.fresh("column_tiles");
    line("const int64_t {} = ({} + {}) / {};", rows, row_.count, kCudaTile - 1, kCudaTile);
    line("const int64_t {} = ({} + {}) / {};", columns, column_.count, kCudaTile - 1, kCudaTile);
    TileGroup batch;
    batch.axes = &form_.batch;
    batch.extents = w_.extents(form_.batch, facts_);
    const std::string tile = w_.names_.fresh("tile");
    std::string all;
    for (const std::string& extent : batch.extents) all += extent + " * ";
    open(fmt::format("for (int64_t {0} = mote_block(); {0} < {1}{2} * {3}; {0} += mote_blocks())",
                     tile, all, rows, columns));
    line("const int64_t {} = {} % {} * {};", column_.begin, tile, columns, kCudaTile);
    line("const int64_t {} = {} / {}{} * {};", row_.begin, tile, columns,
         form_.batch.empty() ? "" : " % " + rows, kCudaTile);
    if (!form_.batch.empty()) digits(batch, fmt::format("{} / ({} * {})", tile, rows, columns));
    line("{} {}[8][4] = {{}};", type_, sums_ = w_.names_.fresh("sums"));
  }

  void digits(const TileGroup& g, const std::string& flat) {
    const std::vector<std::string> values = w_.digits(*g.axes, g.extents, flat, facts_);
    for (std::size_t k = values.size(); k-- > 0;)
      line("const int64_t {} = {};", name_of((*g.axes)[k]), values[k]);
  }

  /// The tables of a group from a position on, which ends with a plus.
  void fill_tables(const TileGroup& g, const std::string& begin) {
    if (g.tables.empty()) return;
    open(fmt::format("if (threadIdx.x < {})", g.width));
    line("const int64_t {} = {}threadIdx.x;", g.flat, begin);
    open(fmt::format("if ({} < {})", g.flat, g.count));
    const std::vector<std::string> values = w_.digits(*g.axes, g.extents, g.flat, facts_);
    for (std::size_t k = 0; k < values.size(); ++k)
      line("{}[threadIdx.x] = {};", g.tables[k], values[k]);
    close();
    close();
  }

  /// The variables of a group at a place in the tile.
  void variables(const TileGroup& g, const std::string& place) {
    for (std::size_t k = 0; k < g.tables.size(); ++k)
      line("const int64_t {} = {}[{}];", name_of((*g.axes)[k]), g.tables[k], place);
    if (g.tables.empty() && !g.is_plain()) digits(g, g.flat);
  }

  void slices() {
    const bool has_tables =
        !row_.tables.empty() || !column_.tables.empty() || !depth_.tables.empty();
    fill_tables(row_, row_.begin + " + ");
    fill_tables(column_, column_.begin + " + ");
    fill_tables(depth_, "");
    if (has_tables) line("__syncthreads();");
    open(fmt::format("for (int64_t {0} = 0; {0} < {1}; {0} += {2})", depth_.begin, depth_.count,
                     kSlice));
    stage(0, form_.left, form_.left_where, left_holds_, row_, left_along_);
    stage(1, form_.right, form_.right_where, right_holds_, column_, right_along_);
    line("__syncthreads();");
    fill_tables(depth_, fmt::format("{} + {} + ", depth_.begin, kSlice));
    std::string masks;
    if (!left_holds_.empty() || !right_holds_.empty())
      masks = fmt::format(", {}, {}", left_holds_.empty() ? "NULL" : left_holds_,
                          right_holds_.empty() ? "NULL" : right_holds_);
    line("mote_tile_multiply({0}, {1}[0], {1}[1]{2});", sums_, staged_, masks);
    line("__syncthreads();");
    close();
  }

  /// A slice of an operand, from memory.
  void stage(int which, const Value& value, const Conditions& where, const std::string& holds,
             const TileGroup& across, const std::string& along) {
    unrolled();
    open(fmt::format("for (int {0} = 0; {0} < {1}; {0}++)", part_,
                     kCudaTile * kSlice / kCudaThreads));
    line("const int {} = threadIdx.x + {} * {};", lane_, kCudaThreads, part_);
    line("const int {0} = {1} ? {2} / {3} : {2} % {4};", place_, along, lane_, kSlice, kCudaTile);
    line("const int {0} = {1} ? {2} % {3} : {2} / {4};", slot_, along, lane_, kSlice, kCudaTile);
    line("const int64_t {} = {} + {};", across.flat, across.begin, place_);
    line("const int64_t {} = {} + {};", depth_.flat, depth_.begin, slot_);
    variables(across, place_);
    variables(depth_, slot_);
    Facts facts = all_;
    std::string inside =
        fmt::format("{} < {} && {} < {}", across.flat, across.count, depth_.flat, depth_.count);
    if (!where.empty()) {
      inside += " && " + within(w_.printer_.conditions(where, facts), kAnd);
      const std::string counts = w_.names_.fresh("counts");
      line("const bool {} = {};", counts, inside);
      line("{}[{}][{}] = {};", holds, slot_, place_, counts);
      inside = counts;
    }
    Text v = w_.printer_.value(value, facts);
    if (type_ == "float") v = as_float(v);
    line("{}[{}][{}][{}] = {} ? {} : {};", staged_, which, slot_, place_, inside, within(v, kOr),
         zero_);
    close();
  }

  /// What each element does with its sum.
  void rest() {
    const std::string half = w_.names_.fresh("half");
    const std::string place = w_.names_.fresh("r");
    const std::string across = w_.names_.fresh("c");
    constexpr int kHalf = kCudaTile / 2;
    open(fmt::format("for (int {0} = 0; {0} < 2; {0}++)", half));
    line("mote_tile_give({}, {}, {});", sums_, staged_, half);
    line("__syncthreads();");
    open(fmt::format("for (int {0} = threadIdx.x; {0} < {1}; {0} += {2})", lane_, kHalf * kCudaTile,
                     kCudaThreads));
    line("const int {0} = {1} * {2} + ({3} ? {4} % {2} : {4} / {5});", place, half, kHalf, down_,
         lane_, kCudaTile);
    line("const int {0} = {1} ? {2} / {4} : {2} % {3};", across, down_, lane_, kCudaTile, kHalf);
    line("const int64_t {} = {} + {};", row_.flat, row_.begin, place);
    line("const int64_t {} = {} + {};", column_.flat, column_.begin, across);
    open(
        fmt::format("if ({} < {} && {} < {})", row_.flat, row_.count, column_.flat, column_.count));
    variables(row_, place);
    variables(column_, across);
    line("const {0} {1} = {2}[{3} / {4} % 2][{3} % {4}][{5}];", type_,
         w_.names_.local(form_.accumulator->name), staged_, place, kSlice, across);
    Facts inside = facts_;
    for (const Axes* axes : {&form_.batch, &form_.rows, &form_.columns})
      for (const TileAxis& a : *axes) inside.set_range(a.variable, a.begin, a.end);
    for (const Stmt& s : form_.round->body)
      if (&s != form_.sum) w_.statement(s, inside);
    close();
    close();
    line("__syncthreads();");
    close();
  }

  Writer& w_;
  const cuda::TileForm& form_;
  const Facts facts_;  ///< outside of all loops
  Facts all_;          ///< in all of them
  std::string type_, zero_;
  std::string part_, lane_, place_, slot_, down_;  ///< what loops over elements are written with
  std::string staged_, sums_, left_holds_, right_holds_, left_along_, right_along_;
  TileGroup row_, column_, depth_;
};

void write_tiles(Writer& writer, const Facts& facts) { TileWriter(writer, facts).run(); }

}  // namespace mote::emit
