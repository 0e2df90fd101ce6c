// The stages of a plan one after another, for one case.
#include "evaluate.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "fold.h"
#include "index.h"
#include "map.h"
#include "mote/uops/evaluate.h"
#include "storage.h"

namespace mote::blocks {
namespace {

void scatter_onto(ScatterOp op, DType dtype, Cell& old, Cell x) {
  if (op == ScatterOp::set) {
    old = x;
  } else if (op == ScatterOp::add && is_real(dtype)) {
    old.real += x.real;
  } else if (op == ScatterOp::mul && is_real(dtype)) {
    old.real *= x.real;
  } else {
    old = cell_of(apply(op, number_of(old, dtype), number_of(x, dtype), dtype));
  }
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
        sizes_(c.binding.values),
        outputs_(outputs),
        storage_(plan, c, inputs, outputs) {}

  void run() {
    for (const Stage& stage : plan_.stages) {
      for (const Step& step : stage.scatters) scatter(step);
      for (const Region& region : stage.regions) run_region(region);
      for (const int array : stage.last_reads) storage_.free(array);
    }
    for (std::size_t k = 0; k < outputs_.size(); ++k) store(k);
  }

 private:
  Extents extents(const Uop& u) const { return extents_of(u.shape(), sizes_); }

  void scatter(const Step& step) {
    const Uop& u = step.node;
    const auto* s = std::get_if<uop::Scatter>(&u.node().kind);
    const auto* along = std::get_if<uop::SelectScatter>(&u.node().kind);
    const Extents from = extents(s ? s->x : along->x);
    const Extents to = extents(u);
    Cell* const y = copied(step.args[0], step.result);
    const std::int64_t count = element_count(from);
    if (count == 0) return;
    const Rows rows(from);
    std::optional<Positions> places;
    std::optional<AlongAxis> places_along;
    if (s) places.emplace(s->to, to, rows, sizes_);
    if (along) places_along.emplace(along->axis, to, from);
    const ScatterOp op = s ? s->op : along->op;
    std::vector<std::int64_t> at(kBlock);
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t n = std::min(kBlock, count - first);
      if (s) places->fill(first, n, at.data());
      if (along) places_along->fill(storage_.read(step.args[2], first, n, 2), first, n, at.data());
      const Operand values = storage_.read(step.args[1], first, n, 1);
      for (std::int64_t k = 0; k < n; ++k)
        if (const std::int64_t p = at[static_cast<std::size_t>(k)]; p >= 0)
          scatter_onto(op, u.dtype(), y[p], values.at[values.single ? 0 : k]);
    }
  }

  Cell* copied(const Place& base, const Place& result) {
    storage_.make(result);
    const std::int64_t count = storage_.count(result);
    Cell* const y = storage_.result(result, 0);
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t n = std::min(kBlock, count - first);
      const Operand x = storage_.read(base, first, n, 0);
      for (std::int64_t k = 0; k < n; ++k) y[first + k] = x.at[x.single ? 0 : k];
    }
    return y;
  }

  void run_region(const Region& region) {
    const Extents shape = extents_of(region.shape, sizes_);
    const std::int64_t count = element_count(shape);
    const Rows rows(shape);
    storage_.make_blocks(region.blocks);
    std::vector<Ready> steps;
    for (const Step& step : region.steps) steps.push_back(ready(step, rows, count));
    if (count == 0) return;
    std::vector<Positions> reads;
    for (const Read& r : region.reads)
      reads.emplace_back(r.from, extents_of(r.tensor, sizes_), rows, sizes_);
    positions_.resize((reads.size() + 1) * kBlock);
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t n = std::min(kBlock, count - first);
      for (std::size_t k = 0; k < reads.size(); ++k)
        reads[k].fill(first, n, positions_.data() + k * kBlock);
      for (Ready& r : steps) run_step(r, rows, first, n);
    }
  }

  Ready ready(const Step& step, const Rows& rows, std::int64_t count) {
    Ready r{&step, {}, {}, {}, {}};
    const auto& kind = step.node.node().kind;
    if (step.result.kind == Place::Kind::array) storage_.make(step.result);
    if (const auto* d = std::get_if<uop::Reduce>(&kind)) {
      r.fold.emplace(d->op, d->x.dtype(), rows.shape, d->axes, storage_.result(step.result, 0),
                     storage_.count(step.result));
    } else if (const auto* x = std::get_if<uop::Reindex>(&kind)) {
      r.fill = cell_of(x->fill);
    } else if (const auto* s = std::get_if<uop::Select>(&kind)) {
      r.fill = cell_of(s->fill);
      if (count > 0) r.along.emplace(s->axis, extents(s->x), rows.shape);
    } else if (const auto* i = std::get_if<uop::Iota>(&kind); i != nullptr && count > 0) {
      r.iota.emplace(i->value, rows, sizes_);
    }
    return r;
  }

  void run_step(Ready& r, const Rows& rows, std::int64_t first, std::int64_t n) {
    const Step& step = *r.step;
    if (r.fold) return r.fold->add(storage_.read(step.args[0], first, n, 0), first, n);
    Cell* const to = storage_.result(step.result, first);
    const auto& kind = step.node.node().kind;
    if (const auto* m = std::get_if<uop::Map>(&kind)) {
      Operand args[3];
      for (std::size_t k = 0; k < step.args.size(); ++k)
        args[k] = storage_.read(step.args[k], first, n, k);
      map_block(m->op, {args, step.args.size()}, m->args.back().dtype(), step.node.dtype(), to, n);
    } else if (r.iota) {
      positions(*r.iota, rows, first, n, step.node.dtype(), to);
    } else {
      std::int64_t* at = positions_.data() + static_cast<std::size_t>(step.positions) * kBlock;
      if (r.along) {
        at = spare_positions();
        r.along->fill(storage_.read(step.args[1], first, n, 1), first, n, at);
      }
      storage_.read_at(step.args[0], at, n, r.fill, to);
    }
  }

  std::int64_t* spare_positions() { return positions_.data() + positions_.size() - kBlock; }

  void positions(const IndexFunction& f, const Rows& rows, std::int64_t first, std::int64_t n,
                 DType dtype, Cell* to) {
    std::int64_t* const values = spare_positions();
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
    const Place& p = plan_.outputs[output];
    for (std::int64_t first = 0; first < to.count(); first += kBlock) {
      const std::int64_t n = std::min(kBlock, to.count() - first);
      const Operand from = storage_.read(p, first, n, 0);
      if (from.at == static_cast<const Cell*>(to.data())) return;  // computed there
      for (std::int64_t k = 0; k < n; ++k)
        to.set(first + k, number_of(from.at[from.single ? 0 : k], dtype));
    }
  }

  const Program& program_;
  const Plan& plan_;
  const Sizes& sizes_;
  std::vector<Dense>& outputs_;
  Storage storage_;
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
    std::size_t bytes = a.input < 0 || needs_copy(a, c) ? sizeof(Cell) : 0;
    for (const std::int64_t e : extents_of(a.node.shape(), c.binding.values))
      if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(e), &bytes)) return kTooMany;
    size.push_back(bytes);
  }
  std::size_t now = 0;
  std::size_t most = 0;
  const auto add = [&](std::size_t bytes) { return !__builtin_add_overflow(now, bytes, &now); };
  for (std::size_t k = 0; k < size.size(); ++k)
    if (plan_.arrays[k].input >= 0 && !add(size[k])) return kTooMany;
  const auto made = [&](const std::vector<Step>& steps) {
    return std::ranges::all_of(steps, [&](const Step& step) {
      return step.result.kind != Place::Kind::array ||
             add(size[static_cast<std::size_t>(step.result.at)]);
    });
  };
  for (const Stage& stage : plan_.stages) {
    if (!made(stage.scatters)) return kTooMany;
    for (const Region& region : stage.regions)
      if (!made(region.steps)) return kTooMany;
    most = std::max(most, now);
    for (const int k : stage.last_reads) now -= size[static_cast<std::size_t>(k)];
  }
  return most;
}

}  // namespace mote::blocks
