// SPDX-License-Identifier: Apache-2.0
// Prints the page docs/ops.md: the catalogue by family. Ops that differ in little more than their
// equation (the same inputs, no parameters) share a table; each other op has a section of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "ops_text.h"

namespace mote::tool {
namespace {

constexpr std::size_t kLeastRows = 3;  ///< the least number of ops for a table

constexpr const char* kIntroduction =
    "# The ops\n\n"
    "Generated from the records in `macroops/` by `mote ops --markdown`; do not edit. `mote ops "
    "OP` "
    "says the same about one op, `mote ops --json` all of it for programs.\n\n"
    "- T is the dtype of an op's instance: there is a kernel for each of its dtypes and for each "
    "choice of its optional inputs.\n"
    "- `1|N` is an axis that has the extent N, or has 1 and repeats. Ranks are canonical: other "
    "axes, transposes and layouts are merged axes and strides of the operands.\n"
    "- The reference computes reals in double and rounds where it stores; the backend `gen` "
    "computes in the op's dtype (16-bit reals in f32), in any order. Integers have 64 bits, and "
    "wrap where they are stored; an integer becomes a double before it is rounded to a narrower "
    "real. A read out of range is 0 where nothing else is said.\n"
    "- In place: an input whose memory an output may take.\n"
    "- Gradient: what the op `NAME.grad` takes and gives; of an input in brackets only the shape "
    "is "
    "needed. It has kernels for f32 and f64, that of attention for f16 and bf16 too.\n"
    "- Forms: other formulas that a kernel's contract may name, and is then judged by "
    "([bound.md](bound.md)); \"direct\" is the definition.\n";

/// An op, with the texts of its tensors.
struct Entry {
  const OpRecord* record;
  std::shared_ptr<const Program> program;  ///< the program of the first dtype, with every input
  std::string inputs;
  std::string outputs;
};

std::string code(const std::string& text) { return "`" + text + "`"; }

/// Text for the cell of a table, where a bar must be escaped even within code.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '\\');
  }
  return text.empty() ? " " : text;
}

std::shared_ptr<const Program> whole(const OpRecord& record, DType dtype) {
  return instantiate(record, {dtype, full_mask(record)});
}

/// The tensor as `x T[N, C]`; T stands for the dtype of the instance.
std::string tensor_text(const Entry& e, const std::string& name, const Uop& u, const Uop& other) {
  const std::vector<DType>& dtypes = e.record->dtypes;
  const bool is_instances =
      dtypes.size() > 1 && u.dtype() == dtypes.front() && other.dtype() == dtypes.back();
  const std::string dtype = is_instances ? "T" : std::string(mote::name(u.dtype()));
  return code(fmt::format("{} {}{}", name, dtype, shape_text(*e.program, u)));
}

Entry entry_of(const OpRecord& record) {
  Entry e{&record, whole(record, record.dtypes.front()), "", ""};
  const auto other = whole(record, record.dtypes.back());
  std::vector<std::string> inputs, outputs;
  for (std::size_t k = 0; k < record.inputs.size(); ++k) {
    const auto& [name, optional] = record.inputs[k];
    inputs.push_back(tensor_text(e, name, e.program->inputs[k], other->inputs[k]) +
                     (optional ? " (optional)" : ""));
  }
  for (std::size_t k = 0; k < e.program->outputs.size(); ++k) {
    const Output& o = e.program->outputs[k];
    outputs.push_back(tensor_text(e, o.name, o.value, other->outputs[k].value) +
                      (is_optional_output(record, o.name) ? " (optional)" : ""));
  }
  e.inputs = fmt::format("{}", fmt::join(inputs, ", "));
  e.outputs = fmt::format("{}", fmt::join(outputs, ", "));
  return e;
}

std::string forms_list(const OpRecord& record, std::string_view indent) {
  std::string text;
  for (const Form& f : record.forms)
    text += fmt::format("{}- {}: {} ({})\n", indent, code(f.name), f.meaning, f.source);
  return text;
}

/// A table of ops with the same inputs; it has a column for outputs only if these differ.
std::string table(const std::vector<const Entry*>& entries) {
  const bool differ = std::ranges::adjacent_find(entries, std::ranges::not_equal_to(),
                                                 &Entry::outputs) != entries.end();
  std::string text = fmt::format("\nOf {}{}:\n\n", entries.front()->inputs,
                                 differ ? "" : ", to " + entries.front()->outputs);
  text += fmt::format("| op | equation |{} dtypes | in place | gradient | pinned | source |\n",
                      differ ? " outputs |" : "");
  text += fmt::format("|---|---|---|---|---|---|---|{}\n", differ ? "---|" : "");
  for (const Entry* e : entries) {
    const OpRecord& r = *e->record;
    const std::string gradient = gradient_text(r);
    text +=
        fmt::format("| **{}** | {} |{} {} | {} | {} | {} | {} |\n", r.name, cell(code(r.equation)),
                    differ ? " " + cell(e->outputs) + " |" : "", dtype_names(r.dtypes),
                    cell(in_place_text(r, *e->program)),
                    cell(gradient.empty() ? "" : code(gradient)), cell(r.policy), cell(r.source));
  }
  for (const Entry* e : entries)
    if (!e->record->forms.empty())
      text += fmt::format("\nForms of {}:\n\n{}", e->record->name, forms_list(*e->record, ""));
  return text;
}

/// True if b is a with the next number, and differs otherwise only in its meaning: stride0,
/// stride1.
bool continues(const ParamDecl& a, const ParamDecl& b) {
  const auto [stem, number] = numbered(a.name);
  return number >= 0 && numbered(b.name) == std::pair(stem, number + 1) &&
         range_text(a) == range_text(b);
}

std::string params_table(const std::vector<ParamDecl>& params) {
  if (params.empty()) return "";
  std::string text = "\n| parameter | values | meaning |\n|---|---|---|\n";
  for (std::size_t begin = 0, end = 0; begin < params.size(); begin = end) {
    std::vector<std::string> names, meanings;
    do {
      names.push_back(code(params[end].name));
      meanings.push_back(params[end].meaning);
    } while (++end < params.size() && continues(params[end - 1], params[end]));
    text += fmt::format("| {} | {} | {} |\n", fmt::join(names, ", "), range_text(params[begin]),
                        cell(fmt::format("{}", fmt::join(meanings, "; "))));
  }
  return text;
}

std::string section(const Entry& e) {
  const OpRecord& r = *e.record;
  std::string text = fmt::format("\n### {}\n\n```\n{}\n```\n\n", r.name, r.equation);
  const auto line = [&](const char* title, const std::string& value) {
    if (!value.empty()) text += fmt::format("- {}: {}\n", title, value);
  };
  line("inputs", e.inputs);
  line("outputs", e.outputs);
  std::vector<std::string> sizes;
  for (const NamedSize& s : e.program->sizes) {
    sizes.push_back(code(fmt::format("{} = {}", s.name, s.value.to_string())));
  }
  line("sizes", fmt::format("{}", fmt::join(sizes, ", ")));
  line("dtypes", dtype_names(r.dtypes));
  line("in place", in_place_text(r, *e.program));
  if (const std::string gradient = gradient_text(r); !gradient.empty()) {
    line("gradient", code(gradient));
  }
  line("pinned", r.policy);
  line("source", r.source);
  if (!r.forms.empty()) text += "- forms:\n" + forms_list(r, "  ");
  return text + params_table(r.params);
}

/// The tables of a family, followed by its sections.
std::string family_text(const std::vector<Entry>& entries) {
  std::map<std::string, std::vector<const Entry*>> alike;
  for (const Entry& e : entries) {
    if (e.record->params.empty()) alike[e.inputs].push_back(&e);
  }
  std::erase_if(alike, [](const auto& group) { return group.second.size() < kLeastRows; });
  std::string text;
  std::vector<const Entry*> done;
  for (const auto& [inputs, group] : alike) {
    text += table(group);
    done.insert(done.end(), group.begin(), group.end());
  }
  for (const Entry& e : entries) {
    if (std::ranges::find(done, &e) == done.end()) text += section(e);
  }
  return text;
}

}  // namespace

std::string ops_markdown() {
  std::map<std::string, std::vector<Entry>> families;
  for (const OpRecord& record : catalogue()) families[record.family].push_back(entry_of(record));
  std::string text = fmt::format("{}\n| family | ops |\n|---|---|\n", kIntroduction);
  for (const auto& [family, entries] : families) {
    std::vector<std::string> names;
    for (const Entry& e : entries) names.push_back(e.record->name);
    text += fmt::format("| [{0}](#{0}) | {1} |\n", family, fmt::join(names, ", "));
  }
  for (const auto& [family, entries] : families) {
    text += fmt::format("\n## {}\n{}", family, family_text(entries));
  }
  return text;
}

}  // namespace mote::tool
