// The stages of a plan one after another, for one case.
#include "evaluate.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "cell.h"
#include "fold.h"
#include "index.h"
#include "map.h"
#include "mote/uops/evaluate.h"

namespace mote::blocks {
namespace {

Extents extents_of(const std::vector<Expr>& shape, const Sizes& sizes) {
  Extents extents;
  for (const Expr& e : shape) extents.push_back(std::max<std::int64_t>(evaluate(e, sizes), 0));
  return extents;
}

void scatter_onto(ScatterOp op, DType dtype, Cell& old, Cell x) {
  if (op == ScatterOp::set) {
    old = x;
  } else if (op == ScatterOp::add && is_real(dtype)) {
    old.real += x.real;
  } else {
    old = cell_of(apply(op, number_of(old, dtype), number_of(x, dtype), dtype));
  }
}

template <typename T>
void read_reals(const Dense& from, Cell* to) {
  const T* const values = static_cast<const T*>(from.data());
  for (std::int64_t k = 0; k < from.count(); ++k) to[k].real = values[k];
}

void read_cells(const Dense& from, Cell* to) {
  if (from.dtype() == DType::f32) return read_reals<float>(from, to);
  if (from.dtype() == DType::f64) return read_reals<double>(from, to);
  for (std::int64_t k = 0; k < from.count(); ++k) to[k] = cell_of(from.at(k));
}

/// One step of a region, made ready for the sizes of a case.
struct Ready {
  const Step* step;
  std::optional<IndexFunction> iota;
  std::optional<AlongAxis> along;
  std::optional<Fold> fold;
  Cell fill{};
};

class Run {
 public:
  Run(const Program& program, const Plan& plan, const Case& c, const std::vector<Dense>& inputs,
      std::vector<Dense>& outputs)
      : program_(program),
        plan_(plan),
        case_(c),
        inputs_(inputs),
        outputs_(outputs),
        arrays_(plan.arrays.size()) {
    for (std::size_t k = outputs.size(); k-- > 0;) {
      const Place& p = plan.outputs[k];
      const bool holds_cells = outputs[k].dtype() == DType::f64 || outputs[k].dtype() == DType::i64;
      if (p.kind == Place::Kind::array && holds_cells)
        arrays_[static_cast<std::size_t>(p.at)].at = static_cast<Cell*>(outputs[k].data());
    }
  }

  void run() {
    for (const Uop& u : plan_.constants) constants_.push_back(constant(u));
    for (std::size_t k = 0; k < plan_.arrays.size(); ++k)
      if (plan_.arrays[k].input >= 0) read_input(k);
    for (const Stage& stage : plan_.stages) {
      for (const Step& step : stage.scatters) scatter(step);
      for (const Region& region : stage.regions) run_region(region);
      for (const int k : stage.last_reads) std::exchange(arrays_[static_cast<std::size_t>(k)], {});
    }
    for (std::size_t k = 0; k < outputs_.size(); ++k) store(k);
  }

 private:
  const Sizes& sizes() const { return case_.binding.values; }

  Cell constant(const Uop& u) const {
    if (const auto* s = std::get_if<uop::Scalar>(&u.node().kind)) return cell_of(s->value);
    const Number& n = case_.params.at(std::get<uop::Param>(u.node().kind).name);
    const DType wide = is_real(u.dtype()) ? DType::f64 : DType::i64;  // not rounded before its use
    return cell_of(store_as(n, u.dtype() == DType::boolean ? u.dtype() : wide));
  }

  /// In its full extents: an axis of extent 1 repeats.
  void read_input(std::size_t array) {
    const ArrayPlan& plan = plan_.arrays[array];
    const auto& in = std::get<uop::Input>(plan.node.node().kind);
    const Dense& from = inputs_[static_cast<std::size_t>(plan.input)];
    const Extents& given = case_.inputs[static_cast<std::size_t>(plan.input)].shape;
    const Extents full = extents_of(plan.node.shape(), sizes());
    Extents strides(full.size(), 0);
    const std::size_t missing = full.size() - given.size();
    std::int64_t stride = 1;
    for (std::size_t k = given.size(); k-- > 0; stride *= given[k])
      if (!in.broadcast[k + missing] || given[k] != 1) strides[k + missing] = stride;
    Array& to = allocate(arrays_[array], element_count(full));
    if (given == full) return read_cells(from, to.at);
    for_each_element(full, strides, [&](std::int64_t linear, std::int64_t at) {
      to.at[linear] = cell_of(from.at(at));
    });
  }

  struct Array {
    Cell* at = nullptr;  ///< an output's own memory, or
    std::unique_ptr<Cell[]> own;
    std::int64_t count = 0;
  };

  static Array& allocate(Array& a, std::int64_t count) {
    a.count = count;
    if (a.at != nullptr) return a;
    a.own = std::make_unique_for_overwrite<Cell[]>(static_cast<std::size_t>(count));
    a.at = a.own.get();
    return a;
  }

  Array& array(const Place& p) { return arrays_[static_cast<std::size_t>(p.at)]; }

  Array& new_array(const Place& p) {
    const Uop& u = plan_.arrays[static_cast<std::size_t>(p.at)].node;
    return allocate(array(p), element_count(extents_of(u.shape(), sizes())));
  }

  /// All of it, or from element `first` on.
  Operand operand(const Place& p, std::int64_t first) {
    const auto at = static_cast<std::size_t>(p.at);
    if (p.kind == Place::Kind::constant) return {&constants_[at], true};
    if (p.kind == Place::Kind::block) return {blocks_.data() + at * kBlock, false};
    return {array(p).at + (p.single ? 0 : first), p.single};
  }

  void scatter(const Step& step) {
    const Uop& u = step.node;
    const auto* s = std::get_if<uop::Scatter>(&u.node().kind);
    const auto* along = std::get_if<uop::SelectScatter>(&u.node().kind);
    const Uop& x = s ? s->x : along->x;
    const Extents from = extents_of(x.shape(), sizes());
    const Extents to = extents_of(u.shape(), sizes());
    const Array& y = new_array(step.result);
    const Operand base = operand(step.args[0], 0);
    for (std::int64_t k = 0; k < y.count; ++k) y.at[k] = base.at[base.single ? 0 : k];
    const std::int64_t count = element_count(from);
    if (count == 0) return;
    std::optional<Positions> places;
    std::optional<AlongAxis> places_along;
    const Rows rows(from);
    if (s) places.emplace(s->to, to, rows, sizes());
    if (along) places_along.emplace(along->axis, to, from);
    std::vector<std::int64_t> at(kBlock);
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t n = std::min(kBlock, count - first);
      if (s) places->fill(first, n, at.data());
      if (along) places_along->fill(operand(step.args[2], first), first, n, at.data());
      const Operand values = operand(step.args[1], first);
      for (std::int64_t k = 0; k < n; ++k)
        if (const std::int64_t p = at[static_cast<std::size_t>(k)]; p >= 0)
          scatter_onto(s ? s->op : along->op, u.dtype(), y.at[p], values.at[values.single ? 0 : k]);
    }
  }

  void run_region(const Region& region) {
    const Extents shape = extents_of(region.shape, sizes());
    const std::int64_t count = element_count(shape);
    blocks_.resize(static_cast<std::size_t>(region.blocks) * kBlock);
    const Rows rows(shape);
    std::vector<Ready> steps;
    for (const Step& step : region.steps) steps.push_back(ready(step, shape, rows, count));
    if (count == 0) return;
    std::vector<Positions> reads;
    for (const Read& r : region.reads)
      reads.emplace_back(r.from, extents_of(r.tensor, sizes()), rows, sizes());
    positions_.resize((reads.size() + 1) * kBlock);
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t n = std::min(kBlock, count - first);
      for (std::size_t k = 0; k < reads.size(); ++k)
        reads[k].fill(first, n, positions_.data() + k * kBlock);
      for (Ready& r : steps) run_step(r, rows, first, n);
    }
  }

  Ready ready(const Step& step, const Extents& shape, const Rows& rows, std::int64_t count) {
    Ready r{&step, {}, {}, {}, {}};
    const auto& kind = step.node.node().kind;
    if (step.result.kind == Place::Kind::array) new_array(step.result);
    if (const auto* d = std::get_if<uop::Reduce>(&kind)) {
      const Array& into = array(step.result);
      r.fold.emplace(d->op, d->x.dtype(), shape, d->axes, into.at, into.count);
    } else if (const auto* x = std::get_if<uop::Reindex>(&kind)) {
      r.fill = cell_of(x->fill);
    } else if (const auto* s = std::get_if<uop::Select>(&kind)) {
      r.fill = cell_of(s->fill);
      if (count > 0) r.along.emplace(s->axis, extents_of(s->x.shape(), sizes()), shape);
    } else if (const auto* i = std::get_if<uop::Iota>(&kind); i != nullptr && count > 0) {
      r.iota.emplace(i->value, rows, sizes());
    }
    return r;
  }

  void run_step(Ready& r, const Rows& rows, std::int64_t first, std::int64_t n) {
    const Step& step = *r.step;
    if (r.fold) return r.fold->add(operand(step.args[0], first), first, n);
    Cell* to = const_cast<Cell*>(operand(step.result, first).at);
    const auto& kind = step.node.node().kind;
    if (const auto* m = std::get_if<uop::Map>(&kind)) {
      Operand args[3];
      for (std::size_t k = 0; k < step.args.size(); ++k) args[k] = operand(step.args[k], first);
      map_block(m->op, {args, step.args.size()}, m->args.back().dtype(), step.node.dtype(), to, n);
    } else if (r.iota) {
      positions(*r.iota, rows, first, n, step.node.dtype(), to);
    } else {
      const std::int64_t* at = positions_.data();
      if (r.along) {
        std::int64_t* computed = positions_.data() + positions_.size() - kBlock;
        r.along->fill(operand(step.args[1], first), first, n, computed);
        at = computed;
      } else {
        at += static_cast<std::size_t>(step.positions) * kBlock;
      }
      const Cell* from = operand(step.args[0], 0).at;
      for (std::int64_t k = 0; k < n; ++k) to[k] = at[k] >= 0 ? from[at[k]] : r.fill;
    }
  }

  void positions(const IndexFunction& f, const Rows& rows, std::int64_t first, std::int64_t n,
                 DType dtype, Cell* to) {
    std::int64_t* values = positions_.data() + positions_.size() - kBlock;
    Walk walk(rows.extents, first);
    for (std::int64_t done = 0; done < n;) {
      const std::int64_t run = walk.run(n - done);
      f.values(walk, run, values + done);
      walk.advance(run);
      done += run;
    }
    for (std::int64_t k = 0; k < n; ++k) {
      if (is_real(dtype)) {
        to[k].real = static_cast<double>(values[k]);
      } else {
        to[k].whole = values[k];
      }
    }
  }

  void store(std::size_t output) {
    Dense& to = outputs_[output];
    const DType dtype = program_.outputs[output].value.dtype();
    const Operand from = operand(plan_.outputs[output], 0);
    if (from.at == to.data()) return;
    for (std::int64_t k = 0; k < to.count(); ++k)
      to.set(k, number_of(from.at[from.single ? 0 : k], dtype));
  }

  const Program& program_;
  const Plan& plan_;
  const Case& case_;
  const std::vector<Dense>& inputs_;
  std::vector<Dense>& outputs_;
  std::vector<Cell> constants_;
  std::vector<Array> arrays_;
  std::vector<Cell> blocks_;
  std::vector<std::int64_t> positions_;
};

}  // namespace

Evaluator::Evaluator(std::shared_ptr<const Program> program)
    : program_(std::move(program)), plan_(make_plan(*program_)) {}

void Evaluator::run(const Case& c, const std::vector<Dense>& inputs,
                    std::vector<Dense>& outputs) const {
  Run(*program_, plan_, c, inputs, outputs).run();
}

std::size_t Evaluator::bytes(const Case& c) const {
  constexpr auto kTooMany = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> size;
  for (const ArrayPlan& a : plan_.arrays) {
    std::size_t bytes = sizeof(Cell);
    for (const std::int64_t e : extents_of(a.node.shape(), c.binding.values))
      if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(e), &bytes)) return kTooMany;
    size.push_back(bytes);
  }
  std::size_t now = 0;
  std::size_t most = 0;
  const auto add = [&](std::size_t bytes) { return !__builtin_add_overflow(now, bytes, &now); };
  for (std::size_t k = 0; k < size.size(); ++k)
    if (plan_.arrays[k].input >= 0 && !add(size[k])) return kTooMany;
  for (const Stage& stage : plan_.stages) {
    const auto made = [&](const std::vector<Step>& steps) {
      for (const Step& step : steps)
        if (step.result.kind == Place::Kind::array &&
            !add(size[static_cast<std::size_t>(step.result.at)]))
          return false;
      return true;
    };
    if (!made(stage.scatters)) return kTooMany;
    for (const Region& region : stage.regions)
      if (!made(region.steps)) return kTooMany;
    most = std::max(most, now);
    for (const int k : stage.last_reads) now -= size[static_cast<std::size_t>(k)];
  }
  return most;
}

}  // namespace mote::blocks
