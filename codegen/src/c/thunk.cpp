// SPDX-License-Identifier: Apache-2.0
// Writes the thunk of a kernel: a function that checks a mote_call (mote/base/thunk.h), and one
// that calls the typed function for a call that was checked. The checks are those of bind(). In: a
// loop program; out: C text.
#include "mote/base/thunk.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "c/checked_call.h"
#include "c/internal.h"
#include "mote/base/error.h"

namespace mote::emit {
namespace {

static_assert(kMaxRank <= MOTE_MAX_RANK, "a thunk has room for every tensor");

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();

const uop::Input& as_input(const Uop& u) { return std::get<uop::Input>(u.node().kind); }

class Thunk {
 public:
  Thunk(const LoopProgram& p, const Names& names, const EmitOptions& options)
      : p_(p),
        source_(*p.source),
        names_(names),
        function_(function_name(p, options)),
        printer_(p, names),
        facts_(base_facts(*p.source)),
        options_(options),
        call_(call_names(source_, options)) {
    const std::vector<Uop> roots = mote::roots(source_);
    nodes_ = topological(roots);
    for (std::size_t k = 0; k < roots.size(); ++k) {
      std::set<const UopNode*>& own = output_nodes_.emplace_back();
      for (const Uop& u : topological(std::span(&roots[k], 1))) own.insert(u.id());
      if (!is_optional(source_.outputs[k])) always_ |= std::uint64_t{1} << k;
    }
  }

  std::string text(std::set<std::string>& calls);
  const Uses& uses() const { return printer_.uses(); }

 private:
  void line(const std::string& text) { out_ += wrap("  " + text) + "\n"; }
  void step(std::string type, std::string name, std::string value) {
    steps_.push_back({std::move(type), std::move(name), std::move(value)});
  }
  std::string list(const char* what, const std::vector<std::string>& names);
  std::string tables();
  void inputs();
  void outputs();
  bool is_optional(const Output& o) const;
  std::uint64_t all_outputs() const;
  std::uint64_t readers_of(const Uop& input) const;
  void params();
  void sizes();
  void extents();
  void nodes();
  std::string checks(const std::string& signature);
  std::string code(const Expr& e);
  std::string meaning(const Expr& e) const;
  void divisors(const Expr& e);
  void index_divisors(const Expr& e, const std::vector<Expr>& shape);
  std::vector<Expr> divisors_in(const Expr& e) const;
  bool is_new(const Expr& e, int least);
  bool is_index(const std::string& param) const;
  std::string view(const TensorDecl& t) const { return "&" + names_.tensor(t.name); }
  const TensorDecl& tensor(const std::string& name) const { return *find_tensor(p_, name); }

  const LoopProgram& p_;
  const Program& source_;
  const Names& names_;
  const std::string function_;
  Printer printer_;
  const Facts facts_;
  const EmitOptions& options_;
  const CallNames call_;
  std::vector<Uop> nodes_;
  std::vector<std::set<const UopNode*>> output_nodes_;  ///< the nodes of each output
  std::uint64_t always_ = 0;                            ///< the outputs that every call has
  std::vector<Expr> checked_;  ///< expressions that a check found to be >= 0
  /// The divisors of indices that are checked if there are elements: their number and the divisor.
  std::vector<std::pair<Expr, Expr>> guarded_;
  std::vector<Step> steps_;  ///< the statements that open the function
  std::string out_;
};

std::string Thunk::list(const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return "NULL";
  std::string items;
  for (const std::string& name : names) items += (items.empty() ? "" : ", ") + quoted(name);
  const std::string table = function_ + "_" + what;
  out_ += wrap(fmt::format("static const char *const {}[] = {{{}}};", table, items)) + "\n";
  return table;
}

std::string Thunk::tables() {
  std::vector<std::string> output_names;
  for (const Output& o : source_.outputs) output_names.push_back(o.name);
  const std::string inputs = list("inputs", call_.inputs);
  const std::string outputs = list("outputs", output_names);
  const std::string params = list("params", call_.params);
  const std::string table = function_ + "_signature";
  out_ += wrap(fmt::format("static const mote_signature {} = {{{}, {}, {}, {}, {}, {}, {}}};",
                           table, quoted(source_.name), call_.inputs.size(), output_names.size(),
                           call_.params.size(), inputs, outputs, params)) +
          "\n\n";
  return table;
}

void Thunk::inputs() {
  for (std::size_t k = 0; k < call_.inputs.size(); ++k) {
    const auto at = find_input(source_, call_.inputs[k]);
    if (!at) {
      step("", "", fmt::format("mote_thunk_absent(&thunk, {})", k));
      continue;
    }
    const Uop& u = source_.inputs[static_cast<std::size_t>(*at)];
    const std::uint32_t broadcast = broadcast_axes(as_input(u));
    const std::uint64_t readers = readers_of(u);
    const bool is_always_read = (readers & always_) != 0 || readers == all_outputs();
    step("mote_view", names_.tensor(call_.inputs[k]),
         fmt::format("mote_thunk_{}(&thunk, {}, \"{}\", {}, {}{})",
                     readers == 0     ? "shape"
                     : is_always_read ? "input"
                                      : "input_for",
                     k, name(u.dtype()), u.rank(),
                     broadcast == 0 ? "0" : fmt::format("{:#x}", broadcast),
                     readers == 0 || is_always_read ? "" : fmt::format(", {:#x}", readers)));
  }
}

bool Thunk::is_optional(const Output& o) const {
  return std::ranges::find(options_.optional_outputs, o.name) != options_.optional_outputs.end();
}

std::uint64_t Thunk::all_outputs() const {
  return source_.outputs.size() < 64 ? (std::uint64_t{1} << source_.outputs.size()) - 1 : ~0ULL;
}

/// Returns the outputs that depend on the input's data: bit k is output k.
std::uint64_t Thunk::readers_of(const Uop& input) const {
  std::uint64_t mask = 0;
  for (std::size_t k = 0; k < output_nodes_.size(); ++k)
    if (output_nodes_[k].contains(input.id())) mask |= std::uint64_t{1} << k;
  return mask;
}

void Thunk::outputs() {
  for (std::size_t k = 0; k < source_.outputs.size(); ++k) {
    const Output& o = source_.outputs[k];
    step("mote_view", names_.tensor(o.name),
         fmt::format("mote_thunk_{}(&thunk, {}, \"{}\", {})", is_optional(o) ? "wanted" : "output",
                     k, name(o.value.dtype()), o.value.rank()));
  }
  if (always_ == 0) step("", "", "mote_thunk_any_output(&thunk)");
}

/// Returns true if the parameter takes part in index arithmetic, which is to stay far from
/// overflow.
bool Thunk::is_index(const std::string& param) const {
  const Symbol symbol(SymbolKind::param, param);
  const auto mentions = [&](const Expr& e) { return e.mentions(symbol); };
  const auto in_node = [&](const Uop& u) {
    const auto* iota = std::get_if<uop::Iota>(&u.node().kind);
    const auto* reindex = std::get_if<uop::Reindex>(&u.node().kind);
    return std::ranges::any_of(u.shape(), mentions) || (iota && mentions(iota->value)) ||
           (reindex && std::ranges::any_of(reindex->from, mentions));
  };
  return std::ranges::any_of(nodes_, in_node) || std::ranges::any_of(source_.inputs, in_node) ||
         std::ranges::any_of(source_.sizes,
                             [&](const NamedSize& s) { return mentions(s.value); }) ||
         std::ranges::any_of(source_.constraints, [&](const Constraint& c) {
           return mentions(c.left) || mentions(c.right);
         });
}

void Thunk::params() {
  for (const ParamDecl& param : source_.params) {
    const std::string& name = names_.param(param.name);
    const double otherwise = param.default_value.value_or(0);
    if (!param.is_integer) {
      step("double", name,
           fmt::format("mote_thunk_real(&thunk, {}, {}, {})", quoted(param.name),
                       param.default_value ? 1 : 0, real_text(otherwise)));
      continue;
    }
    const bool index = is_index(param.name);
    const std::int64_t least = index ? std::numeric_limits<std::int32_t>::min() : kLeast;
    const std::int64_t greatest = index ? std::numeric_limits<std::int32_t>::max() : kGreatest;
    const std::int64_t lower = param.lower.value_or(least);
    const std::int64_t upper = std::max(lower, param.upper.value_or(greatest));
    const std::int64_t fallback = param.default_value ? static_cast<std::int64_t>(otherwise)
                                                      : std::clamp<std::int64_t>(1, lower, upper);
    step("int64_t", name,
         fmt::format("mote_thunk_integer(&thunk, {}, {}, {}, {}, {})", quoted(param.name),
                     integer_text(lower), integer_text(upper), param.default_value ? 1 : 0,
                     integer_text(fallback)));
  }
}

std::string Thunk::code(const Expr& e) { return printer_.expr(e, facts_).text; }

/// Returns the name of an extent for messages; empty for a constant, which needs none.
std::string Thunk::meaning(const Expr& e) const {
  if (e.constant()) return "";
  for (const NamedSize& s : source_.sizes)
    if (s.value == e) return s.name;
  return e.to_string();
}

/// Returns the divisors in e that are not known to be positive, inner ones first. Divisors that
/// vary from element to element are left out: make_program has proved that they are positive.
std::vector<Expr> Thunk::divisors_in(const Expr& e) const {
  std::vector<Expr> found;
  e.transform([&](const Atom& a) {
    if (a.kind != Atom::Kind::div && a.kind != Atom::Kind::mod) return Expr::from_atom(a);
    const Expr& d = a.args[1];
    const bool varies = d.has_load() || std::ranges::any_of(d.symbols(), [](Symbol s) {
                          return s.kind() == SymbolKind::loop;
                        });
    if (!varies && !facts_.prove_positive(d)) found.push_back(d);
    return Expr::from_atom(a);
  });
  return found;
}

/// Returns true if no check of e >= least has been written; from now on it counts as written.
bool Thunk::is_new(const Expr& e, int least) {
  const Expr key = e - Expr(least);
  if (std::ranges::find(checked_, key) != checked_.end()) return false;
  checked_.push_back(key);
  return true;
}

/// Writes checks that the divisors in e are 1 or more.
void Thunk::divisors(const Expr& e) {
  for (const Expr& d : divisors_in(e))
    if (is_new(d, 1))
      line(fmt::format("mote_thunk_divisor(&thunk, 0, {}, {});", code(d), quoted(d.to_string())));
}

/// Writes the same checks for an index that is computed for each element of a shape: an empty shape
/// has none, and a divisor that is a factor of the shape and not negative is 1 or more in any
/// other.
void Thunk::index_divisors(const Expr& e, const std::vector<Expr>& shape) {
  Expr count = 1;
  for (const Expr& extent : shape) count = count * extent;
  for (const Expr& d : divisors_in(e)) {
    const bool is_factor =
        split_by(count, d).remainder == Expr(0) && d.terms().size() == 1 && facts_.prove_nonneg(d);
    const std::pair<Expr, Expr> key(count, d);
    if (is_factor || std::ranges::find(checked_, d - 1) != checked_.end() ||
        std::ranges::find(guarded_, key) != guarded_.end())
      continue;
    guarded_.push_back(key);
    std::string empty;
    for (const Expr& extent : shape)
      if (!facts_.prove_positive(extent))
        empty +=
            (empty.empty() ? "" : " || ") + within(printer_.expr(extent, facts_), kSum) + " == 0";
    line(fmt::format("mote_thunk_divisor(&thunk, {}, {}, {});", empty.empty() ? "0" : empty,
                     code(d), quoted(d.to_string())));
  }
}

void Thunk::sizes() {
  printer_.limit_sizes(0);
  for (const SizeRule& rule : source_.size_rules) {
    const auto input_name = [this](int k) {
      return as_input(source_.inputs[static_cast<std::size_t>(k)]).name;
    };
    const std::string& size = names_.size(rule.size.name());
    if (!rule.candidates.empty()) {
      std::string items;
      for (const auto& [input, axis] : rule.candidates)
        items += fmt::format("{}{}.extents[{}]", items.empty() ? "" : ", ",
                             names_.tensor(input_name(input)), axis);
      step("int64_t", size,
           fmt::format("mote_thunk_broadcast({}, (const int64_t[]){{{}}})", rule.candidates.size(),
                       items));
      continue;
    }
    divisors(rule.scale);
    divisors(rule.offset);
    if (!out_.empty()) step("", "", std::exchange(out_, ""));
    const Expr written = rule.scale * Expr(rule.size) + rule.offset;
    step("int64_t", size,
         fmt::format("mote_thunk_size(&thunk, {}, {}, {}, {}, {})",
                     view(tensor(input_name(rule.input))), rule.axis, code(rule.scale),
                     code(rule.offset), quoted(written.to_string())));
  }
  printer_.limit_sizes(source_.sizes.size());
}

void Thunk::extents() {
  for (const TensorDecl& t : p_.tensors) {
    if (t.role == TensorRole::temporary) continue;
    for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
      const bool solved = std::ranges::any_of(source_.size_rules, [&](const SizeRule& rule) {
        return t.role == TensorRole::input && rule.candidates.empty() &&
               as_input(source_.inputs[static_cast<std::size_t>(rule.input)]).name == t.name &&
               rule.axis == static_cast<int>(axis);
      });
      if (solved) continue;
      divisors(t.shape[axis]);
      line(fmt::format("mote_thunk_extent(&thunk, {}, {}, {}, {});", view(t), axis,
                       code(t.shape[axis]), quoted(meaning(t.shape[axis]))));
    }
  }
  for (const Constraint& c : source_.constraints) {
    divisors(c.left);
    divisors(c.right);
    line(fmt::format("mote_thunk_equal(&thunk, {}, {}, {}, {});", code(c.left), code(c.right),
                     quoted(c.left.to_string()), quoted(c.right.to_string())));
  }
}

/// Writes checks that no extent is negative, no divisor below 1, and nothing empty under an argmax.
void Thunk::nodes() {
  const auto at_least = [this](const Expr& e, int least) {
    divisors(e);  // which the next line counts as >= 1
    if (facts_.prove_nonneg(e - Expr(least)) || !is_new(e, least)) return;
    const std::string text = meaning(e).empty() ? "an extent" : meaning(e);
    line(fmt::format("mote_thunk_at_least(&thunk, {}, {}, {});", code(e), least, quoted(text)));
  };
  for (const NamedSize& s : source_.sizes) divisors(s.value);
  for (const Uop& u : nodes_) {
    for (const Expr& e : u.shape()) at_least(e, 0);
    if (const auto* reindex = std::get_if<uop::Reindex>(&u.node().kind))
      for (const Expr& e : reindex->from) index_divisors(e, u.shape());
    if (const auto* iota = std::get_if<uop::Iota>(&u.node().kind))
      index_divisors(iota->value, u.shape());
    const auto* reduce = std::get_if<uop::Reduce>(&u.node().kind);
    if (!reduce || (reduce->op != ReduceOp::argmax && reduce->op != ReduceOp::argmin)) continue;
    for (const int axis : reduce->axes)
      at_least(reduce->x.shape()[static_cast<std::size_t>(axis)], 1);
  }
}

/// Returns the function that checks a call and, if `run` is not 0, runs it.
std::string Thunk::checks(const std::string& signature) {
  inputs();
  outputs();
  params();
  sizes();
  nodes();
  extents();
  const std::string after = size_definitions(printer_, facts_) + std::exchange(out_, "");
  line(fmt::format("mote_thunk thunk = mote_thunk_begin(call, &{}, run);", signature));
  const std::string begin = std::exchange(out_, "");
  return fmt::format(
      "static mote_status {0}_call(const mote_call *call, int run) {{\n{1}{2}"
      "  return thunk.status != MOTE_OK || !run ? thunk.status : {0}_checked(call, run);\n}}\n",
      function_, begin, opening(steps_, after));
}

std::string Thunk::text(std::set<std::string>& calls) {
  const std::string signature = tables();
  out_ += checked_call(p_, names_, options_, signature, calls) + "\n";
  const std::string tables_and_call = std::exchange(out_, "");
  out_ = tables_and_call + checks(signature) +
         fmt::format(
             "\nmote_status {0}_can_run(const mote_call *call) {{ return {0}_call(call, 0); }}\n",
             function_);
  const auto entry = [&](const std::string& name, const char* by, int run) {
    out_ += fmt::format(
        "\nmote_status {}(const mote_call *call, void *stream) {{\n  (void)stream;\n"
        "  return {}{}(call, {});\n}}\n",
        name, function_, by, run);
  };
  entry(function_ + "_run", "_call", 1);
  entry(function_ + "_run_checked", "_checked", 1);
  if (options_.gen.empty()) return out_;
  entry(options_.gen + "_run", "_call", 2);
  entry(options_.gen + "_run_checked", "_checked", 2);
  return out_;
}

}  // namespace

std::string thunk(const LoopProgram& p, const Names& names, const EmitOptions& options,
                  std::set<std::string>& calls) {
  Thunk thunk(p, names, options);
  std::string text = thunk.text(calls);
  thunk.uses().add_functions_to(calls);
  return text;
}

}  // namespace mote::emit
