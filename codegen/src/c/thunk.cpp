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

#include "c/thunk.h"
#include "mote/base/error.h"

namespace mote::emit {
namespace {

static_assert(kMaxRank <= MOTE_MAX_RANK, "a thunk has room for every tensor");

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();

}  // namespace

Thunk::Thunk(const LoopProgram& p, const Names& names, const EmitOptions& options)
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
      "static MOTE_COLD mote_status {0}_call(const mote_call *call, int run) {{\n{1}{2}"
      "  return thunk.status != MOTE_OK || !run ? thunk.status : {0}_checked(call, run);\n}}\n",
      function_, begin, opening(steps_, after, uses()));
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

std::string thunk(const LoopProgram& p, const Names& names, const EmitOptions& options,
                  std::set<std::string>& calls) {
  Thunk thunk(p, names, options);
  std::string text = thunk.text(calls);
  thunk.uses().add_functions_to(calls);
  return text;
}

}  // namespace mote::emit
