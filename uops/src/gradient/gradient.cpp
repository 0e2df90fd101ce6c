// SPDX-License-Identifier: Apache-2.0
// gradient() checks the request against the program, runs the reverse walk, and makes a program of
// its result and of the inputs that it needs.
#include "mote/uops/gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "gradient/walk.h"
#include "graph/node.h"
#include "program/size_rules.h"

namespace mote {
namespace {

std::string input_name(const Uop& u) { return std::get<uop::Input>(u.node().kind).name; }

class Maker {
 public:
  Maker(const Program& p, const GradientRequest& request) : p_(p), request_(request) {
    name_ = request.name.empty() ? p.name + ".grad" : request.name;
    for (const Uop& u : p.inputs) taken_.insert(input_name(u));
    for (const Output& o : p.outputs) taken_.insert(o.name);
  }

  Gradient run() {
    read_request();
    const std::vector<Uop> roots = inputs_and_roots(p_.inputs, p_.outputs);
    const std::vector<Uop> nodes = topological(roots);
    make_inputs();
    const Primal primal(nodes, given_);
    std::unordered_set<const UopNode*> wrt;
    for (const std::size_t k : wrt_) wrt.insert(p_.inputs[k].id());
    Walk walk(nodes, wrt, primal, request_.at_kinks);
    for (const std::size_t k : from_) walk.seed(p_.outputs[k].value, gradients_[k]);
    walk.run();
    ProgramSpec spec;
    for (const std::size_t k : wrt_)
      spec.outputs.push_back(
          {fresh("g" + input_name(p_.inputs[k]), false), walk.result(p_.inputs[k])});
    return finish(std::move(spec));
  }

 private:
  [[noreturn]] void fail(const std::string& text) const {
    throw Error(fmt::format("{}: {}", name_, text));
  }

  // ---- the request

  /// Returns the positions of the names; without names, of all real ones.
  template <typename Names>
  std::vector<std::size_t> positions(const std::vector<std::string>& names, const Names& all,
                                     const std::string& what, bool default_all) const {
    std::vector<std::size_t> result;
    for (const std::string& n : names) {
      const auto at =
          std::find_if(all.begin(), all.end(), [&](const auto& e) { return e.first == n; });
      if (at == all.end()) {
        std::string known;
        for (const auto& e : all) known += (known.empty() ? "" : ", ") + e.first;
        fail(fmt::format("there is no {} {} (known: {})", what, n, known));
      }
      const auto k = static_cast<std::size_t>(at - all.begin());
      if (std::find(result.begin(), result.end(), k) != result.end())
        fail(fmt::format("{} {} is given twice", what, n));
      result.push_back(k);
    }
    if (names.empty() && default_all)
      for (std::size_t k = 0; k < all.size(); ++k)
        if (is_real(all[k].second.dtype())) result.push_back(k);
    return result;
  }

  void read_request() {
    std::vector<std::pair<std::string, Uop>> inputs, outputs;
    for (const Uop& u : p_.inputs) inputs.emplace_back(input_name(u), u);
    for (const Output& o : p_.outputs) outputs.emplace_back(o.name, o.value);
    wrt_ = positions(request_.wrt, inputs, "input", true);
    from_ = positions(request_.from, outputs, "output", true);
    given_outputs_ = positions(request_.outputs, outputs, "output", false);
    may_read_.assign(inputs.size(), !request_.inputs);
    if (request_.inputs)
      for (const std::size_t k : positions(*request_.inputs, inputs, "input", false))
        may_read_[k] = true;
    if (wrt_.empty()) fail("no input is real, so that there is no gradient");
    if (from_.empty()) fail("no output is real, so that there is no gradient");
    for (const std::size_t k : wrt_) check_real("input", inputs[k]);
    for (const std::size_t k : from_) check_real("output", outputs[k]);
  }

  void check_real(const char* what, const std::pair<std::string, Uop>& entry) const {
    if (!is_real(entry.second.dtype()))
      fail(fmt::format("{} {} is {}, which has no gradient", what, entry.first,
                       type_text(entry.second)));
  }

  // ---- names and inputs

  std::string fresh(std::string name, bool is_input) {
    while (taken_.contains(name) || is_reserved_word(name) ||
           (is_input && name.back() >= '0' && name.back() <= '9'))
      name += '_';
    taken_.insert(name);
    return name;
  }

  void make_inputs() {
    gradients_.resize(p_.outputs.size());
    values_.resize(p_.outputs.size());
    for (const std::size_t k : from_) {
      const Output& o = p_.outputs[k];
      gradients_[k] = input(fresh("g" + o.name, true), o.value.dtype(), shape_of(o.value));
    }
    for (const std::size_t k : given_outputs_) {
      const Output& o = p_.outputs[k];
      if (o.name.back() >= '0' && o.name.back() <= '9')
        fail(fmt::format("output {} cannot be given: an input's name must not end in a digit",
                         o.name));
      values_[k] = input(o.name, o.value.dtype(), shape_of(o.value));
      given_.emplace(o.value.id(), values_[k]);
    }
  }

  // ---- the result

  using Sizes = std::set<Symbol>;
  static void add_sizes(const Expr& e, Sizes& sizes) {
    for (const Symbol s : e.symbols())
      if (s.kind() == SymbolKind::size) sizes.insert(s);
  }

  Gradient finish(ProgramSpec spec) {
    const std::vector<Uop> values = roots(spec.outputs);
    const std::vector<Uop> nodes = topological(values);
    std::unordered_set<const UopNode*> read;
    for (const Uop& u : nodes) read.insert(u.id());
    candidates_ = gradients_;
    candidates_.insert(candidates_.end(), p_.inputs.begin(), p_.inputs.end());
    candidates_.insert(candidates_.end(), values_.begin(), values_.end());
    need_.assign(candidates_.size(), Need::none);
    for (std::size_t k = 0; k < candidates_.size(); ++k)
      if (candidates_[k] && read.contains(candidates_[k].id())) need_[k] = Need::value;
    add_shapes(nodes);
    check_given();
    spec.name = name_;
    spec.params = p_.params;
    spec.inputs = needed();
    keep_sizes(spec, nodes);
    const auto part = [&](std::size_t first, std::size_t count) {
      const auto begin = need_.begin() + static_cast<std::ptrdiff_t>(first);
      return std::vector<Need>(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    const std::size_t outputs = p_.outputs.size(), inputs = p_.inputs.size();
    std::vector<std::string> names;
    for (const Uop& g : gradients_) names.push_back(g ? input_name(g) : "");
    return {make_program(std::move(spec)), part(0, outputs), part(outputs, inputs),
            part(outputs + inputs, outputs), std::move(names)};
  }

  std::vector<Uop> needed() const {
    std::vector<Uop> result;
    for (std::size_t k = 0; k < candidates_.size(); ++k)
      if (need_[k] != Need::none) result.push_back(candidates_[k]);
    return result;
  }

  /// Takes inputs for their shapes until every size follows: the program's own first, then others.
  void add_shapes(const std::vector<Uop>& nodes) {
    const std::size_t first = p_.outputs.size(), last = first + p_.inputs.size();
    while (true) {
      Sizes sizes;
      for (const Uop& u : nodes) for_each_expr(u, [&](const Expr& e) { add_sizes(e, sizes); });
      const std::vector<Uop> inputs = needed();
      for (const Uop& u : inputs)
        for (const Expr& e : u.shape()) add_sizes(e, sizes);
      const std::vector<SizeRule> rules = derive_size_rules(inputs, sizes);
      if (sizes.empty() && !add_better_rules(rules)) return;
      if (sizes.empty()) continue;
      std::optional<std::size_t> best;
      for (std::size_t k = 0; k < candidates_.size(); ++k) {
        if (!candidates_[k] || need_[k] != Need::none || !mentions(candidates_[k], sizes)) continue;
        if (!best || (k >= first && k < last && *best < first)) best = k;
      }
      if (!best) throw InternalError(name_ + ": a size does not follow from any input");
      need_[*best] = Need::shape;
    }
  }
  /// Takes the inputs from which the program derives a size if these rules may not derive it: an
  /// axis that repeats may be 1, a factor that is a size may be 0.
  bool add_better_rules(const std::vector<SizeRule>& rules) {
    bool added = false;
    const auto take = [&](int input) {
      Need& need = need_[p_.outputs.size() + static_cast<std::size_t>(input)];
      added = added || need == Need::none;
      need = std::max(need, Need::shape);
    };
    const auto by_sizes = [](const SizeRule& r) {
      Sizes sizes;
      add_sizes(r.scale, sizes);
      return !sizes.empty();
    };
    for (const SizeRule& r : rules)
      for (const SizeRule& own : p_.size_rules) {
        if (own.size != r.size) continue;
        const bool repeats = !r.candidates.empty();
        if (repeats && !own.candidates.empty())
          for (const auto& [input, axis] : own.candidates) take(input);
        else if (repeats || (by_sizes(r) && !by_sizes(own)))
          take(own.input);
      }
    return added;
  }

  static bool mentions(const Uop& u, const Sizes& sizes) {
    Sizes own;
    for (const Expr& e : u.shape()) add_sizes(e, own);
    return std::any_of(own.begin(), own.end(), [&](Symbol s) { return sizes.contains(s); });
  }

  void check_given() const {
    for (std::size_t k = 0; k < p_.inputs.size(); ++k) {
      const Need need = need_[p_.outputs.size() + k];
      if (need == Need::none || may_read_[k]) continue;
      fail(fmt::format("needs the {} of input {}, which is not given",
                       need == Need::value ? "value" : "shape", input_name(p_.inputs[k])));
    }
  }

  /// Keeps the program's named sizes and constraints over sizes that the gradient also has.
  void keep_sizes(ProgramSpec& spec, const std::vector<Uop>& nodes) const {
    Sizes known;
    for (const Uop& u : nodes) for_each_expr(u, [&](const Expr& e) { add_sizes(e, known); });
    for (const Uop& u : spec.inputs)
      for (const Expr& e : u.shape()) add_sizes(e, known);
    const auto has = [&](const Expr& e) {
      Sizes own;
      add_sizes(e, own);
      return std::includes(known.begin(), known.end(), own.begin(), own.end());
    };
    for (const NamedSize& s : p_.sizes)
      if (has(s.value)) spec.sizes.push_back(s);
    for (const Constraint& c : p_.constraints)
      if (has(c.left) && has(c.right)) spec.constraints.push_back(c);
  }

  const Program& p_;
  const GradientRequest& request_;
  std::string name_;
  std::set<std::string> taken_;
  std::vector<std::size_t> wrt_, from_, given_outputs_;
  std::vector<bool> may_read_;
  std::vector<Uop> gradients_, values_;  ///< inputs of the result, by output; empty if none
  std::unordered_map<const UopNode*, Uop> given_;
  std::vector<Uop> candidates_;  ///< gradients_, the program's inputs, values_
  std::vector<Need> need_;       ///< the need of each candidate
};

}  // namespace

Gradient gradient(const Program& program, const GradientRequest& request) {
  return Maker(program, request).run();
}

}  // namespace mote
