// SPDX-License-Identifier: Apache-2.0
// Runs the stages of a plan one after another, for one case.
#include "run.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "decide.h"
#include "fold.h"
#include "index.h"
#include "map.h"
#include "mote/uops/evaluate.h"
#include "nest.h"
#include "scatter.h"
#include "storage.h"

namespace mote::blocks {
namespace {

/// The data that the steps of a region need besides operands, made for the sizes of a case; by
/// step.
struct Ready {
  std::map<std::size_t, IndexFunction> iotas;
  std::map<std::size_t, AlongAxis> alongs;
  std::vector<Fold> folds;  ///< the folds in the order of their steps
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
      for (const Region& region : stage.regions) run_region(region);
      for (const int array : stage.last_reads) storage_.free(array);
    }
    for (std::size_t k = 0; k < outputs_.size(); ++k) store(k);
  }

 private:
  Extents extents(const Uop& u) const { return extents_of(u.shape(), sizes_); }

  void run_region(const Region& region) {
    constexpr std::int64_t kMany = 4 * kBlock;  // inspecting the steps costs as much as some blocks
    const Extents shape = extents_of(region.shape, sizes_);
    const std::int64_t count = element_count(shape);
    const Rows rows(shape);
    if (region.undecided.empty() || count < kMany) {
      run_region(region, region.steps, region.blocks, rows, count);
    } else {
      std::vector<Step> steps = decided(region.undecided, [&](const Location& p) {
        return storage_.read(p, 0, 1, 0).at->whole != 0;
      });
      const int blocks = share_blocks(steps);
      run_region(region, steps, blocks, rows, count);
    }
  }

  void run_region(const Region& region, const std::vector<Step>& steps, int blocks,
                  const Rows& rows, std::int64_t count) {
    storage_.make_blocks(blocks, std::min(count, kBlock));
    Ready ready = make_ready(steps, rows, count);
    if (count == 0) return;
    reads_ = region.reads.size();
    positions_.resize((reads_ + static_cast<std::size_t>(region.located) + 1) * kBlock);
    stretches_.resize(std::max(stretches_.size(), reads_));
    if (!region.conditions.empty()) return run_masked(region, steps, ready, rows.shape);
    std::vector<std::size_t> nested;
    std::vector<std::optional<Positions>> reads(reads_);
    for (std::size_t k = 0; k < reads_; ++k) {
      const Read& r = region.reads[k];
      if (is_nested(r.from, rows.shape, sizes_)) {
        nested.push_back(k);
      } else {
        reads[k].emplace(r.from, extents_of(r.tensor, sizes_), rows, sizes_);
      }
    }
    const std::int64_t block = block_of(rows.shape);
    std::int64_t first = 0;
    std::optional<Nest> nest;
    if (!nested.empty()) nest.emplace(std::vector<Uop>(), rows.shape, region.order, sizes_, block);
    for (const std::size_t k : nested) nest->add(region.reads[k], positions_of(k));
    const auto take = [&](std::int64_t n) {
      for (std::size_t k = 0; k < reads_; ++k)
        if (reads[k]) reads[k]->stretches(first, n, positions_of(k), stretches_[k]);
      for (std::size_t k = 0; k < nested.size(); ++k)
        stretches_[nested[k]] = {{n, 0, 0, positions_of(nested[k]), nest->inside(k)}};
      run_steps(steps, ready, first, n);
      first += n;
    };
    if (nest) return nest->run(take);
    while (first < count) take(std::min(block, count - first));
  }

  /// Runs over blocks of the chosen elements.
  void run_masked(const Region& region, const std::vector<Step>& steps, Ready& ready,
                  const Extents& shape) {
    Nest nest(region.conditions, shape, region.order, sizes_, kBlock);
    for (std::size_t k = 0; k < reads_; ++k) nest.add(region.reads[k], positions_of(k));
    nest.run([&](std::int64_t n) {
      for (std::size_t k = 0; k < reads_; ++k)
        stretches_[k] = {{n, 0, 0, positions_of(k), nest.inside(k)}};
      placed_by_ = -1;
      run_steps(steps, ready, 0, n);
    });
  }

  Ready make_ready(const std::vector<Step>& steps, const Rows& rows, std::int64_t count) {
    Ready ready;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const Step& step = steps[k];
      const auto& kind = step.node.node().kind;
      if (step.result.kind == Location::Kind::array) storage_.make(step.result);
      // Elements that no step demands are read along with others.
      if (step.stores)
        std::fill_n(storage_.result(step.result, 0), storage_.count(step.result), Cell{});
      if (step.gathers || step.stores) continue;
      if (const auto* d = std::get_if<uop::Reduce>(&kind)) {
        ready.folds.emplace_back(d->op, d->x.dtype(), rows.shape, d->axes,
                                 storage_.result(step.result, 0), storage_.count(step.result));
      } else if (const auto* s = std::get_if<uop::Select>(&kind); s != nullptr && count > 0) {
        ready.alongs.emplace(k, AlongAxis(s->axis, extents(s->x), rows.shape));
      } else if (const auto* to = std::get_if<uop::SelectScatter>(&kind); to && step.locates) {
        if (count > 0) ready.alongs.emplace(k, AlongAxis(to->axis, extents(step.node), rows.shape));
      } else if (to || std::holds_alternative<uop::Scatter>(kind)) {
        storage_.copy(step.args[0], step.result);
      } else if (const auto* i = std::get_if<uop::Iota>(&kind); i != nullptr && count > 0) {
        ready.iotas.emplace(std::piecewise_construct, std::tuple(k),
                            std::tuple(std::cref(i->value), std::cref(rows), std::cref(sizes_)));
      }
    }
    return ready;
  }

  void run_steps(const std::vector<Step>& steps, Ready& ready, std::int64_t first, std::int64_t n) {
    std::size_t fold = 0;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const Step& step = steps[k];
      const auto& kind = step.node.node().kind;
      if (step.stores) {
        store_chosen(step, n);
      } else if (step.loop != nullptr) {
        run_tree(step, first, n);
      } else if (step.gathers) {
        storage_.read_at(step.args[0], stretches_[static_cast<std::size_t>(step.positions)], {},
                         storage_.result(step.result, first));
      } else if (step.widens) {
        storage_.read_into(step.args[0], first, n, storage_.result(step.result, first));
      } else if (const auto* m = std::get_if<uop::Map>(&kind)) {
        Operand args[3];
        for (std::size_t a = 0; a < step.args.size(); ++a)
          args[a] = storage_.read(step.args[a], first, n, a);
        map_block(m->op, {args, step.args.size()}, m->args.back().node().dtype,
                  step.node.node().dtype, storage_.result(step.result, first), n);
      } else if (std::holds_alternative<uop::Reduce>(kind)) {
        const auto sums = static_cast<std::size_t>(step.together);
        if (step.positions >= 0) {
          fold_chosen({&step, sums}, {&ready.folds[fold], sums}, n);
        } else {
          run_folds({&step, sums}, {&ready.folds[fold], sums}, first, n);
        }
        fold += sums;
        k += sums - 1;
      } else if (step.locates) {
        ready.alongs.at(k).fill(storage_.read(step.args[0], first, n, 0), first, n, located(step));
      } else if (const auto* to = std::get_if<uop::Scatter>(&kind)) {
        scatter(step, to->op, stretches_[static_cast<std::size_t>(step.positions)], first, n);
      } else if (const auto* to = std::get_if<uop::SelectScatter>(&kind)) {
        const Stretch all{n, 0, 0, located(step), false};
        scatter(step, to->op, {&all, 1}, first, n);
      } else if (const auto* x = std::get_if<uop::Reindex>(&kind)) {
        storage_.read_at(step.args[0], stretches_[static_cast<std::size_t>(step.positions)],
                         cell_of(x->fill), storage_.result(step.result, first));
      } else if (const auto* s = std::get_if<uop::Select>(&kind)) {
        std::int64_t* const at = spare_positions();
        ready.alongs.at(k).fill(storage_.read(step.args[1], first, n, 1), first, n, at);
        const Stretch all{n, 0, 0, at, false};
        storage_.read_at(step.args[0], {&all, 1}, cell_of(s->fill),
                         storage_.result(step.result, first));
      } else if (step.positions >= 0) {
        const auto* values = stretches_[static_cast<std::size_t>(step.positions)][0].offsets;
        to_cells(values, n, step.node.dtype(), storage_.result(step.result, first));
      } else {
        positions(ready.iotas.at(k), first, n, step.node.dtype(),
                  storage_.result(step.result, first));
      }
    }
  }

  void store_chosen(const Step& step, std::int64_t n) {
    const std::int64_t* const to = stretches_[static_cast<std::size_t>(step.positions)][0].offsets;
    const Operand x = storage_.read(step.args[0], 0, n, 0);
    Cell* const y = storage_.result(step.result, 0);
    for (std::int64_t k = 0; k < n; ++k) y[to[k]] = x.at[x.single ? 0 : k];
  }

  void run_tree(const Step& step, std::int64_t first, std::int64_t n) {
    const Cell* operands[kFusedOperands];
    for (std::size_t k = 0; k < step.args.size(); ++k) {
      const Location& p = step.args[k];
      const bool number = (step.numbers >> k & 1U) != 0;
      operands[k] = number ? storage_.read(p, first, n, k).at : storage_.read_each(p, first, n, k);
    }
    step.loop(operands, storage_.result(step.result, first), n);
  }

  /// The operands of sums that are taken together.
  using Operands = std::array<Operand, kTogether>;
  std::span<const Operand> operands(std::span<const Step> steps, std::int64_t first, std::int64_t n,
                                    Operands& x) {
    for (std::size_t k = 0; k < steps.size(); ++k)
      x[k] = storage_.read(steps[k].args[0], first, n, k);
    return {x.data(), steps.size()};
  }

  void run_folds(std::span<const Step> steps, std::span<Fold> folds, std::int64_t first,
                 std::int64_t n) {
    Operands some;
    const std::span<const Operand> x = operands(steps, first, n, some);
    if (steps[0].counts) return folds[0].add_counts(x[0], first, n);
    if (steps.size() == 1) return folds[0].add(x[0], first, n);
    Fold::add_together(folds, x, first, n);
  }

  void fold_chosen(std::span<const Step> steps, std::span<Fold> folds, std::int64_t n) {
    Operands some;
    const std::span<const Operand> x = operands(steps, 0, n, some);
    if (steps[0].positions != placed_by_) {
      placed_by_ = steps[0].positions;
      locations_.set(stretches_[static_cast<std::size_t>(placed_by_)][0].offsets, n);
    }
    if (steps[0].counts) return folds[0].add_counts_at(x[0], locations_);
    if (steps.size() == 1) return folds[0].add_at(x[0], locations_);
    Fold::add_together_at(folds, x, locations_);
  }

  void scatter(const Step& step, ScatterOp op, std::span<const Stretch> to, std::int64_t first,
               std::int64_t n) {
    scatter_onto(op, step.node.dtype(), storage_.result(step.result, 0),
                 storage_.read(step.args[1], first, n, 1), to);
  }
  std::int64_t* positions_of(std::size_t read) { return positions_.data() + read * kBlock; }
  std::int64_t* located(const Step& step) {
    return positions_of(reads_ + static_cast<std::size_t>(step.located));
  }
  std::int64_t* spare_positions() { return positions_.data() + positions_.size() - kBlock; }

  void positions(const IndexFunction& f, std::int64_t first, std::int64_t n, DType dtype,
                 Cell* to) {
    // Integers are stored in cells as they are.
    std::int64_t* const values = is_real(dtype) ? spare_positions() : &to->whole;
    f.fill(first, n, values);
    if (is_real(dtype)) to_cells(values, n, dtype, to);
  }
  static void to_cells(const std::int64_t* values, std::int64_t n, DType dtype, Cell* to) {
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
    const Location& p = plan_.outputs[output];
    for (std::int64_t first = 0; first < to.count(); first += kBlock) {
      const std::int64_t n = std::min(kBlock, to.count() - first);
      const Operand from = storage_.read(p, first, n, 0);
      if (from.at == static_cast<const Cell*>(to.data())) return;  // it was computed there
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
  std::size_t reads_ = 0;                        ///< the number of reads of the current region
  std::vector<std::vector<Stretch>> stretches_;  ///< positions of the current block, by read
  Locations locations_;                          ///< positions of the current block in the result
  int placed_by_ = -1;                           ///< the read that set places_; -1: none yet
};

}  // namespace

void run_plan(const Program& program, const Plan& plan, const Case& c,
              const std::vector<Dense>& inputs, std::vector<Dense>& outputs) {
  Run(program, plan, c, inputs, outputs).run();
}

}  // namespace mote::blocks
