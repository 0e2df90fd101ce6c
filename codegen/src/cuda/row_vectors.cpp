// SPDX-License-Identifier: Apache-2.0
// In: loops that the threads of blocks share; out: those over a row in steps of 16 bytes. For
// `block_threads for n in 0..N { y[n] = x[n] }`:
//
//   block_threads for n_start in 0..N step 4 { simd for n in n_start..min(N, n_start + 4) {
//     y[n] = x[n] } }
#include "row_vectors.h"

#include <algorithm>
#include <set>
#include <utility>

#include "c/internal.h"
#include "ir/dependence.h"
#include "mote/base/dtype.h"
#include "mote/codegen/walk.h"
#include "rewriting.h"
#include "schedule/iterations.h"
#include "vector_access.h"

namespace mote::cuda {
namespace {

int bytes_of(const TensorDecl& t) {
  if (t.role != TensorRole::temporary) return static_cast<int>(size_of(t.dtype));
  return static_cast<int>(emit::bytes_of_local(t, true));
}

bool mentions(const std::vector<Expr>& index, Symbol v) {
  return std::ranges::any_of(index, [v](const Expr& e) { return e.mentions(v); });
}

/// Finds the vectors of one loop.
class VectorCollector {
 public:
  VectorCollector(const LoopProgram& p, const Loop& loop) : p_(p), loop_(loop) {}

  std::optional<std::vector<RowVector>> run() {
    if (loop_.step != Expr(1) || loop_.end.has_load() || !find_vectors()) return std::nullopt;
    return std::move(vectors_);
  }

 private:
  /// Returns true if the loop ends at the extent, or before.
  bool is_within(const Expr& extent) const {
    const Atom* end = loop_.end.as_atom();
    return loop_.end == extent || (end != nullptr && end->kind == Atom::Kind::min &&
                                   std::ranges::find(end->args, extent) != end->args.end());
  }

  /// Returns the axis along which the access follows the loop, at the loop's own index.
  std::optional<int> own_axis(const TensorDecl& t, const std::vector<Expr>& index) const {
    std::optional<int> axis;
    for (std::size_t k = 0; k < index.size(); ++k) {
      if (!index[k].mentions(loop_.variable)) continue;
      if (axis || index[k] != Expr(loop_.variable) || !is_within(t.shape[k])) return {};
      axis = static_cast<int>(k);
    }
    return axis;
  }

  bool is_adjacent(const TensorDecl& t, int axis) const {
    if (t.role == TensorRole::temporary)
      return !t.per && axis + 1 == static_cast<int>(t.shape.size());
    return std::ranges::find(p_.strides, KnownStride{t.name, axis, 1}) != p_.strides.end();
  }

  bool find_vectors() {
    std::set<std::string> others;
    for (const Stmt& s : loop_.body) {
      const auto* branch = std::get_if<If>(&s.kind);
      for (const Access& a : accesses(s)) {
        const TensorDecl* t = find_tensor(p_, a.tensor);
        if (t == nullptr || t->shape.empty()) continue;
        if (!mentions(a.index, loop_.variable)) {
          if (a.write) return false;
          others.insert(a.tensor);
          continue;
        }
        const auto axis = own_axis(*t, a.index);
        if (!axis || !is_adjacent(*t, *axis)) return false;
        if (!add(a, branch != nullptr ? branch->conditions : Conditions())) return false;
      }
    }
    // A stored tensor is accessed nowhere else in the loop.
    return std::ranges::none_of(vectors_, [&](const RowVector& one) {
      const auto meets = [&](const RowVector& other) {
        return other.tensor == one.tensor && other.index != one.index;
      };
      return one.is_stored && (others.contains(one.tensor) || std::ranges::any_of(vectors_, meets));
    });
  }

  /// Returns false if a vector is accessed under several conditions.
  bool add(const Access& a, const Conditions& conditions) {
    auto vector = std::ranges::find_if(
        vectors_, [&](const RowVector& v) { return v.tensor == a.tensor && v.index == a.index; });
    if (vector == vectors_.end()) {
      vectors_.push_back({a.tensor, a.index, conditions});
      vector = vectors_.end() - 1;
    }
    (a.write ? vector->is_stored : vector->is_read) = true;
    if (vector->conditions == conditions) return true;
    const bool always = vector->conditions.empty() || conditions.empty();
    vector->conditions = {};
    return always && !vector->is_stored;  // read in any case
  }

  const LoopProgram& p_;
  const Loop& loop_;
  std::vector<RowVector> vectors_;
};

bool is_still(const Conditions& conditions, Symbol along) {
  return std::ranges::none_of(
      conditions, [&](const Condition& c) { return c.e.has_load() || c.e.mentions(along); });
}

bool reads_along(const Value& value, Symbol along) {
  bool found = false;
  for_each_value(value, [&](const Value& v) {
    const auto* load = std::get_if<value::Load>(&v->kind);
    found = found || (load != nullptr && mentions(load->index, along));
  });
  return found;
}

/// Returns true if no read stands under a condition that changes within the loop: a vector access
/// reads all its elements at once.
bool has_plain_iterations(const Loop& loop, const Body& iterations) {
  bool plain = true;
  for (const Stmt& s : iterations) {
    if (const auto* branch = std::get_if<If>(&s.kind)) {
      plain = plain && &iterations == &loop.body && is_still(branch->conditions, loop.variable) &&
              has_plain_iterations(loop, branch->body);
      continue;
    }
    plain = plain && !std::holds_alternative<Loop>(s.kind) &&
            !std::holds_alternative<StoreReduce>(s.kind);
    for_each_value(s, [&](const Value& v) {
      if (const auto* guard = std::get_if<value::Guard>(&v->kind))
        plain = plain && !reads_along(guard->then, loop.variable);
    });
  }
  return plain;
}

/// Returns true if the loop begins at a vector access, for every element size.
bool begins_at_vector(const Loop& loop) {
  return std::ranges::all_of(loop.begin.terms(), [](const Term& t) {
    return t.coefficient % kVectorBytes == 0 &&
           std::ranges::none_of(t.atoms, [](const Atom& a) { return a.kind == Atom::Kind::load; });
  });
}

int axis_along(const std::vector<Expr>& index, Symbol v) {
  const auto along = std::ranges::find(index, Expr(v));
  return static_cast<int>(along - index.begin());
}

/// Puts the loop, whose vectors these are, in steps of the number of the widest elements that 16
/// bytes hold.
void take_by_vectors(Loop& loop, const std::vector<RowVector>& vectors, RowVectors& out,
                     Rewriting& make) {
  int widest = 1;
  for (const RowVector& vector : vectors)
    widest = std::max(widest, bytes_of(*find_tensor(out.program, vector.tensor)));
  const int elements = kVectorBytes / widest;
  for (const RowVector& vector : vectors) {
    const TensorDecl& t = *find_tensor(out.program, vector.tensor);
    const auto known = std::ranges::find(out.rows, vector.tensor, &VectorRow::tensor);
    if (known != out.rows.end())
      known->elements = std::max(known->elements, elements);
    else
      out.rows.push_back({vector.tensor, axis_along(vector.index, loop.variable), elements,
                          t.role == TensorRole::temporary});
  }
  const Symbol start = make.variable(loop.variable.name() + "_start");
  const Expr begin(start);
  Loop inner{loop.variable,        begin,         min(loop.end, begin + elements), 1, {},
             std::move(loop.body), LoopKind::simd};
  loop.variable = start;
  loop.step = elements;
  loop.body = {{std::move(inner)}};
}

void vectorise(Body& body, RowVectors& out, Rewriting& make) {
  for (Stmt& s : body) {
    Loop* loop = as_loop(s);
    const bool is_shared = loop != nullptr && loop->kind == LoopKind::block_threads;
    const bool can_step =
        is_shared && begins_at_vector(*loop) && has_plain_iterations(*loop, loop->body);
    const auto vectors = can_step ? vectors_of(out.program, *loop) : std::nullopt;
    if (vectors && !vectors->empty())
      take_by_vectors(*loop, *vectors, out, make);
    else if (Body* nested = nested_body(s))
      vectorise(*nested, out, make);
  }
}

/// Returns true if one of the tensors may repeat, so that it has gaps.
bool repeats_any(const LoopProgram& p, const CudaPerVector& vectors) {
  return std::ranges::any_of(p.source->inputs, [&](const Uop& u) {
    const auto& input = std::get<uop::Input>(u.node().kind);
    return std::ranges::find(vectors.tensors, input.name) != vectors.tensors.end() &&
           std::ranges::find(input.broadcast, true) != input.broadcast.end();
  });
}

}  // namespace

std::optional<std::vector<RowVector>> vectors_of(const LoopProgram& p, const Loop& loop) {
  return VectorCollector(p, loop).run();
}

std::optional<RowVectors> vectorise_rows(const LoopProgram& p) {
  RowVectors out{p, {}};
  Rewriting make(p);
  Body body = p.body;
  vectorise(body, out, make);
  if (out.rows.empty()) return std::nullopt;
  out.program.body = std::move(body);
  return out;
}

Refusal take_row_vectors(StageForm& form, const Step& /*step*/, std::string& effect) {
  auto* rows = std::get_if<CudaPerBlock>(&form.worker);
  if (rows == nullptr) return "it must stand behind a step 'grid'";
  if (!rows->vectors.empty()) return "blocks move 16 bytes at a time already";
  auto vectors = vectorise_rows(form.loops());
  if (!vectors) return "no loop of a block goes over adjacent elements alone, at its own index";
  rows->vectors = std::move(vectors->rows);
  for (const VectorRow& row : rows->vectors) add_vector(effect, row.elements, row.tensor);
  form.version.name = "row_vectors";
  form.version.program = std::move(vectors->program);
  return std::nullopt;
}

Schedules row_vectors_to_try(const StageSearch& search) {
  const Stage& stage = search.start.stage;
  if (!search.loops().native || stage.rows) return {};
  const CudaPerVector* vectors = search.found.empty() ? nullptr : search.found.back().per_vector();
  if (vectors != nullptr && !repeats_any(search.loops(), *vectors)) return {};
  // A block goes along the innermost of the shared loops, if that holds no loop and no branch
  // encloses them.
  const auto grid = step_of_shared(StepKind::grid, stage, 1);
  const Loop* first = as_loop(stage.body.back());
  if (!grid || first == nullptr || holds_loop(threads_chain(*first).back()->body)) return {};
  return {{*grid, {StepKind::row_vectors, {grid->targets.front()}}}};
}

}  // namespace mote::cuda
