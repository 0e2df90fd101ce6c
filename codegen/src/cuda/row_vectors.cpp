// SPDX-License-Identifier: Apache-2.0
// In: the loops of a stage whose iterations go to blocks; out: the loops over a row that can use
// vector accesses, with their bodies on elements of vectors; and the text of such a loop. The few
// elements that do not fill a vector access are taken one by one.
#include "row_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernel_writer.h"
#include "mote/base/dtype.h"
#include "mote/codegen/walk.h"
#include "vector_access.h"

namespace mote::cuda {
namespace {

int bytes_of(const TensorDecl& t) {
  if (t.role != TensorRole::temporary) return static_cast<int>(size_of(t.dtype));
  return t.dtype == DType::boolean ? 1 : emit::is_in_float(t.dtype) ? 4 : 8;
}

bool mentions(const std::vector<Expr>& index, Symbol v) {
  return std::ranges::any_of(index, [v](const Expr& e) { return e.mentions(v); });
}

class LoopVectoriser {
 public:
  /// `declared` holds the vectors of the loops before, each of which has a scope of its own.
  LoopVectoriser(LoopProgram& p, std::map<std::string, TensorDecl>& declared, const Loop& loop)
      : p_(p), declared_(declared), loop_(loop) {}

  std::optional<VectorLoop> run(std::vector<VectorRow>& rows) {
    if (!begins_at_vector() || loop_.step != Expr(1) || loop_.end.has_load()) return {};
    if (!has_plain_iterations(loop_.body) || !find_vectors() || vectors_.empty()) return {};
    int widest = 1;
    for (const RowVector& vector : vectors_)
      widest = std::max(widest, bytes_of(*find_tensor(p_, vector.tensor)));
    VectorLoop out{.vectors = vectors_,
                   .elements = kVectorBytes / widest,
                   .at = Symbol(SymbolKind::loop, fresh_name(p_, "at")),
                   .body = loop_.body};
    declare(out);
    rewrite_body(out);
    for (const RowVector& vector : vectors_) demand(rows, vector, out.elements);
    return out;
  }

 private:
  /// Returns true if the loop begins at a vector access, for every element size.
  bool begins_at_vector() const {
    return std::ranges::all_of(loop_.begin.terms(), [](const Term& t) {
      return t.coefficient % kVectorBytes == 0 && std::ranges::none_of(t.atoms, [](const Atom& a) {
               return a.kind == Atom::Kind::load;
             });
    });
  }

  /// Returns true if the loop ends at the extent, or before.
  bool is_within(const Expr& extent) const {
    const Atom* end = loop_.end.as_atom();
    return loop_.end == extent || (end != nullptr && end->kind == Atom::Kind::min &&
                                   std::ranges::find(end->args, extent) != end->args.end());
  }

  /// Returns true if no read stands under a condition that changes within the loop: a vector access
  /// reads all its elements at once.
  bool has_plain_iterations(const Body& iterations) const {
    bool plain = true;
    for (const Stmt& s : iterations) {
      if (const auto* branch = std::get_if<If>(&s.kind)) {
        plain = plain && &iterations == &loop_.body && is_still(branch->conditions) &&
                has_plain_iterations(branch->body);
        continue;
      }
      plain = plain && !std::holds_alternative<Loop>(s.kind) &&
              !std::holds_alternative<StoreReduce>(s.kind);
      for_each_value(s, [&](const Value& v) {
        if (const auto* guard = std::get_if<value::Guard>(&v->kind))
          plain = plain && !reads_along(guard->then);
      });
    }
    return plain;
  }

  bool is_still(const Conditions& conditions) const {
    return std::ranges::none_of(conditions, [&](const Condition& c) {
      return c.e.has_load() || c.e.mentions(loop_.variable);
    });
  }

  bool reads_along(const Value& value) const {
    bool found = false;
    for_each_value(value, [&](const Value& v) {
      const auto* load = std::get_if<value::Load>(&v->kind);
      found = found || (load != nullptr && mentions(load->index, loop_.variable));
    });
    return found;
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
      return t.scope.empty() && axis + 1 == static_cast<int>(t.shape.size());
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
        return other.tensor == one.tensor && other.vector != one.vector;
      };
      return one.is_stored && (others.contains(one.tensor) || std::ranges::any_of(vectors_, meets));
    });
  }

  /// Returns false if a vector is accessed under several conditions.
  bool add(const Access& a, const Conditions& conditions) {
    auto vector = std::ranges::find_if(
        vectors_, [&](const RowVector& p) { return p.tensor == a.tensor && p.index == a.index; });
    if (vector == vectors_.end()) {
      const auto before = std::ranges::count(vectors_, a.tensor, &RowVector::tensor);
      const std::string number = before > 0 ? std::to_string(before + 1) : "";
      vectors_.push_back({a.tensor, a.tensor + "_vector" + number, a.index, conditions});
      vector = vectors_.end() - 1;
    }
    (a.write ? vector->is_stored : vector->is_read) = true;
    if (vector->conditions == conditions) return true;
    const bool always = vector->conditions.empty() || conditions.empty();
    vector->conditions = {};
    return always && !vector->is_stored;  // read in any case
  }

  /// Declares a tensor for each vector, or takes the one of an earlier loop if it is the same.
  void declare(VectorLoop& out) {
    for (RowVector& vector : out.vectors) {
      TensorDecl t = *find_tensor(p_, vector.tensor);
      t.shape = {out.elements};
      t.axis_names.clear();
      while (true) {
        t.name = vector.vector;
        const auto known = declared_.find(t.name);
        const bool same = known != declared_.end() && known->second.shape == t.shape;
        if (same || find_tensor(p_, t.name) == nullptr) break;
        vector.vector += "_";
      }
      if (!declared_.emplace(t.name, t).second) continue;
      if (t.role != TensorRole::temporary) p_.strides.push_back({t.name, 0, 1});
      p_.tensors.push_back(std::move(t));
    }
    vectors_ = out.vectors;
  }

  void rewrite_body(VectorLoop& out) const {
    const std::vector<Expr> at = {Expr(out.at)};
    const auto vector_of = [&](const std::string& tensor, const std::vector<Expr>& index) {
      return std::ranges::find_if(vectors_, [&](const RowVector& vector) {
        return vector.tensor == tensor && vector.index == index;
      });
    };
    rewrite_values(out.body, [&](const Value& v) {
      const auto* load = std::get_if<value::Load>(&v->kind);
      if (load == nullptr) return v;
      const auto vector = vector_of(load->tensor, load->index);
      return vector == vectors_.end() ? v : load_value(vector->vector, at, v->dtype);
    });
    const auto move_stores = [&](const auto& self, Body& body) -> void {
      for (Stmt& s : body) {
        if (auto* branch = std::get_if<If>(&s.kind)) self(self, branch->body);
        auto* store = std::get_if<Store>(&s.kind);
        if (store == nullptr) continue;
        if (const auto vector = vector_of(store->tensor, store->index); vector != vectors_.end()) {
          store->tensor = vector->vector;
          store->index = at;
        }
      }
    };
    move_stores(move_stores, out.body);
    // The other uses of the variable follow the element within the vector.
    rewrite_exprs(out.body, [&](const Expr& e) {
      return e.substitute({{loop_.variable, Expr(loop_.variable) + Expr(out.at)}});
    });
  }

  void demand(std::vector<VectorRow>& rows, const RowVector& vector, int elements) const {
    const TensorDecl& t = *find_tensor(p_, vector.tensor);
    const int axis = *own_axis(t, vector.index);
    for (VectorRow& row : rows)
      if (row.tensor == vector.tensor) {
        row.elements = std::max(row.elements, elements);
        return;
      }
    rows.push_back({vector.tensor, axis, elements, t.role == TensorRole::temporary});
  }

  LoopProgram& p_;
  std::map<std::string, TensorDecl>& declared_;
  const Loop& loop_;
  std::vector<RowVector> vectors_;
};

}  // namespace

std::optional<RowVectorForm> row_vector_form(const LoopProgram& p) {
  RowVectorForm form{.program = p, .loops = {}, .rows = {}};
  std::map<std::string, TensorDecl> declared;
  for_each(p.body, [&](const Stmt& s) {
    const auto* loop = std::get_if<Loop>(&s.kind);
    if (loop == nullptr || loop->kind == LoopKind::threads) return;
    if (auto vectors = LoopVectoriser(form.program, declared, *loop).run(form.rows))
      form.loops.emplace(loop->variable, *std::move(vectors));
  });
  return form.loops.empty() ? std::nullopt : std::optional(std::move(form));
}

}  // namespace mote::cuda

namespace mote::emit {

std::string RowVectorWriter::iterations_before(const Loop& loop, const cuda::Share& share,
                                               const Facts& facts, const std::string& begin,
                                               const std::string& end) {
  const auto vectors = form_.loops.find(loop.variable);
  if (vectors == form_.loops.end()) return begin;
  vector_iterations(loop, vectors->second, share, facts, begin, end);
  std::string count = end.find(' ') == std::string::npos ? end : "(" + end + ")";
  if (!begin.empty()) count = fmt::format("({} - {})", count, begin.substr(0, begin.find(' ')));
  return begin + fmt::format("{0} / {1} * {1} + ", count, vectors->second.elements);
}

/// Writes the loop over the iterations that fill vector accesses.
void RowVectorWriter::vector_iterations(const Loop& loop, const cuda::VectorLoop& vectors,
                                        const cuda::Share& share, const Facts& facts,
                                        const std::string& begin, const std::string& end) {
  const std::string& v = names_.symbol(loop.variable);
  line(fmt::format("for (int64_t {0} = {5}{3} * {2}; {0} + {2} <= {1}; {0} += {4} * {2}) {{", v,
                   end, vectors.elements, share.who, share.count, begin));
  Facts inside = facts;
  inside.set_range(loop.variable, loop.begin, loop.end);
  ++indent_;
  const auto type_of = [&](const cuda::RowVector& vector) {
    const TensorDecl& t = *find_tensor(p_, vector.tensor);
    return fmt::format(
        "mote_vector<{}, {}>",
        t.role == TensorRole::temporary ? local_type(t.dtype, p_.native) : storage_type(t.dtype),
        vectors.elements);
  };
  const auto location_of = [&](const cuda::RowVector& vector) {
    return printer_.element(*find_tensor(p_, vector.tensor), vector.index, inside);
  };
  const auto where = [&](const cuda::RowVector& vector) -> std::string {
    if (vector.conditions.empty()) return "";
    Facts under = inside;
    return fmt::format("if ({}) ", printer_.conditions(vector.conditions, under).text);
  };
  std::map<std::string, std::string> own;
  for (const cuda::RowVector& vector : vectors.vectors) {
    const std::string name = own[vector.vector] = names_.tensor(vector.vector);
    const std::string load =
        fmt::format("{} = *(const {} *)&{};", name, type_of(vector), location_of(vector));
    if (vector.is_read && vector.conditions.empty()) {
      line(fmt::format("{}{} {}", vector.is_stored ? "" : "const ", type_of(vector), load));
    } else {
      line(fmt::format("{} {};", type_of(vector), name));
      if (vector.is_read) line(where(vector) + load);
    }
    names_.rename_tensor(vector.vector, name + ".of");
  }
  out_ += "#pragma unroll\n";
  const std::string& at = names_.symbol(vectors.at);
  line(fmt::format("for (int {0} = 0; {0} < {1}; {0}++) {{", at, vectors.elements));
  Facts of_one = inside;
  of_one.set_range(vectors.at, 0, vectors.elements);
  ++indent_;
  body(vectors.body, of_one);
  --indent_;
  line("}");
  for (const cuda::RowVector& vector : vectors.vectors) {
    if (vector.is_stored)
      line(fmt::format("{}*({} *)&{} = {};", where(vector), type_of(vector), location_of(vector),
                       own[vector.vector]));
    names_.rename_tensor(vector.vector, own[vector.vector]);
  }
  --indent_;
  line("}");
}

}  // namespace mote::emit
