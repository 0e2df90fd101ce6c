// SPDX-License-Identifier: Apache-2.0
// In: the loops of a stage; out: one loop over its iterations, in which each tensor is read and
// stored at the iteration's own index, so that without gaps adjacent iterations access adjacent
// elements; and the text of that loop, in which a thread moves 16 bytes at a time. The few
// iterations that do not fill a vector access are taken one by one.
#include "vector_access.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/dependence.h"
#include "kernel_writer.h"
#include "mote/base/dtype.h"
#include "mote/codegen/walk.h"

namespace mote::cuda {
namespace {

class VectorFinder {
 public:
  VectorFinder(const LoopProgram& p, const Body& stage) : p_(p), stage_(stage) {}

  std::optional<VectorForm> run() {
    if (!find_loops() || !has_plain_iterations() || !part_accesses()) return std::nullopt;
    flatten();
    if (mentions_old_variables()) return std::nullopt;
    return std::move(form_);
  }

 private:
  bool find_loops() {
    const auto is_name = [](const Stmt& s) { return std::holds_alternative<Let>(s.kind); };
    if (stage_.empty() || !std::all_of(stage_.begin(), stage_.end() - 1, is_name)) return false;
    const auto* first = std::get_if<Loop>(&stage_.back().kind);
    if (first == nullptr || first->kind != LoopKind::threads) return false;
    const std::vector<const Loop*> chain = threads_chain(*first);
    for (const Loop* loop : chain) {
      if (loop->begin != Expr(0) || loop->step != Expr(1) || loop->end.has_load()) return false;
      if (mentions_variables(loop->end)) return false;
      variables_.push_back(loop->variable);
      location_.emplace_back(loop->variable);
      form_.extents.push_back(loop->end);
    }
    round_ = chain.back();
    return true;
  }

  bool has_plain_iterations() const {
    return std::ranges::all_of(round_->body, [](const Stmt& s) {
      return std::holds_alternative<Let>(s.kind) || std::holds_alternative<Store>(s.kind);
    });
  }

  /// Separates elements at the iteration's own index from all others, which must be scalars.
  bool part_accesses() {
    std::set<std::string> loads, stores, others;
    for (const Access& a : accesses(round_->body)) {
      const TensorDecl* t = find_tensor(p_, a.tensor);
      if (t == nullptr || t->shape.empty()) {
        if (a.write && (t == nullptr || t->role != TensorRole::temporary)) return false;
        continue;
      }
      if (t->role == TensorRole::temporary) return false;
      if (a.index == location_)
        (a.write ? stores : loads).insert(a.tensor);
      else if (!a.write)
        others.insert(a.tensor);
      else
        return false;
    }
    std::size_t widest = 0;
    for (const TensorDecl& t : p_.tensors) {
      const bool is_stored = stores.contains(t.name);
      if (is_stored && loads.contains(t.name)) return false;
      if (!is_stored && !loads.contains(t.name)) continue;
      if (others.contains(t.name)) return false;
      (is_stored ? form_.stores : form_.loads).push_back(t.name);
      widest = std::max(widest, static_cast<std::size_t>(size_of(t.dtype)));
    }
    if (form_.stores.empty()) return false;
    form_.elements = kVectorBytes / static_cast<int>(widest);
    return true;
  }

  void flatten() {
    const Symbol at(SymbolKind::loop, fresh_name(p_, "at"));
    const std::vector<std::string> tensors = form_.vector_tensors();
    const auto is_by_vectors = [&](const std::string& tensor) {
      return std::ranges::find(tensors, tensor) != tensors.end();
    };
    Expr count = 1;
    for (const Expr& e : form_.extents) count = count * e;
    Loop loop{at, 0, count, 1, {}, round_->body, LoopKind::threads};
    rewrite_values(loop.body, [&](const Value& v) {
      const auto* load = std::get_if<value::Load>(&v->kind);
      return load != nullptr && is_by_vectors(load->tensor)
                 ? load_value(load->tensor, {Expr(at)}, v->dtype)
                 : v;
    });
    for (Stmt& s : loop.body)
      if (auto* store = std::get_if<Store>(&s.kind);
          store != nullptr && is_by_vectors(store->tensor))
        store->index = {Expr(at)};
    form_.program = p_;
    form_.program.body = stage_;
    form_.program.body.back() = {std::move(loop)};
    for (TensorDecl& t : form_.program.tensors) {
      if (!is_by_vectors(t.name)) continue;
      t.shape = {count};
      t.axis_names.clear();
      form_.program.strides.push_back({t.name, 0, 1});
    }
  }

  bool mentions_variables(const Expr& e) const {
    return std::ranges::any_of(variables_, [&](Symbol v) { return e.mentions(v); });
  }

  bool mentions_old_variables() const {
    bool found = false;
    for_each(std::get<Loop>(form_.program.body.back().kind).body, [&](const Stmt& s) {
      for_each_expr(s, [&](const Expr& e) { found = found || mentions_variables(e); });
    });
    return found;
  }

  const LoopProgram& p_;
  const Body& stage_;
  VectorForm form_{};
  std::vector<Symbol> variables_;  ///< variables of the loops
  std::vector<Expr> location_;     ///< the variables as an index
  const Loop* round_ = nullptr;
};

}  // namespace

std::vector<std::string> VectorForm::vector_tensors() const {
  std::vector<std::string> all = loads;
  all.insert(all.end(), stores.begin(), stores.end());
  return all;
}

std::optional<VectorForm> vector_form(const LoopProgram& p, const Body& stage) {
  return VectorFinder(p, stage).run();
}

}  // namespace mote::cuda

namespace mote::emit {

/// Writes the loop of a form by vector accesses, and the remaining iterations.
void VectorWriter::threads_loops(const Loop& loop, const Facts& facts) {
  const int n = form_.elements;
  const std::string count = names_.fresh("count");
  const std::string vector = names_.fresh("vector");
  const std::string& at = names_.symbol(loop.variable);
  Facts inside = facts;
  inside.set_range(loop.variable, loop.begin, loop.end);
  const auto type_of = [&](const std::string& tensor) {
    return fmt::format("mote_vector<{}, {}>", storage_type(find_tensor(p_, tensor)->dtype), n);
  };

  line(fmt::format("const int64_t {} = {};", count, printer_.expr(loop.end, facts).text));
  line(fmt::format("for (int64_t {0} = mote_thread(); {0} < {1} / {2}; {0} += mote_threads()) {{",
                   vector, count, n));
  ++indent_;
  Names whole = names_;
  for (const std::string& tensor : form_.vector_tensors()) {
    const std::string own = names_.fresh(names_.tensor(tensor) + "_vector");
    const bool is_load = std::ranges::find(form_.loads, tensor) != form_.loads.end();
    line(is_load ? fmt::format("const {0} {1} = ((const {0} *){2})[{3}];", type_of(tensor), own,
                               printer_.read(names_.tensor(tensor)), vector)
                 : fmt::format("{} {};", type_of(tensor), own));
    names_.rename_tensor(tensor, own + ".of");
  }
  out_ += "#pragma unroll\n";
  line(fmt::format("for (int {0} = 0; {0} < {1}; {0}++) {{", at, n));
  ++indent_;
  body(loop.body, inside);
  --indent_;
  line("}");
  for (const std::string& tensor : form_.vector_tensors()) {
    const std::string own = names_.tensor(tensor);
    names_.rename_tensor(tensor, whole.tensor(tensor));
    if (std::ranges::find(form_.stores, tensor) != form_.stores.end())
      line(fmt::format("(({} *){})[{}] = {};", type_of(tensor), printer_.read(whole.tensor(tensor)),
                       vector, own.substr(0, own.size() - 3)));
  }
  --indent_;
  line("}");
  line(fmt::format(
      "for (int64_t {0} = {1} / {2} * {2} + mote_thread(); {0} < {1}; {0} += mote_threads()) {{",
      at, count, n));
  ++indent_;
  body(loop.body, inside);
  --indent_;
  line("}");
}

}  // namespace mote::emit
