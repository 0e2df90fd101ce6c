// SPDX-License-Identifier: Apache-2.0
// Parses case text. Each name=value is looked up among the inputs, outputs and parameters of the
// target; the instance follows from the inputs that are present and their dtypes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "case/set_elements.h"
#include "mote/base/error.h"
#include "mote/base/kernel.h"
#include "mote/base/variant_names.h"
#include "mote/oracle/case.h"
#include "mote/oracle/resolve.h"

namespace mote {
namespace {

using Words = std::vector<std::string_view>;

constexpr std::string_view kBlanks = " \t\r\n";

/// The position after the closing quote on the same line, for text that begins with a quote.
std::size_t end_of_quoted(std::string_view text) {
  text = text.substr(0, text.find_first_of("\r\n"));
  for (std::size_t k = 1; k < text.size(); ++k) {
    if (text[k] == '\\') {
      ++k;
    } else if (text[k] == '"') {
      return k + 1;
    }
  }
  throw Error(fmt::format("a quote is not closed: {}", text));
}

/// Splits at blanks, except those in "…" and name="…".
Words split(std::string_view text) {
  Words words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    std::size_t end = 0;
    while (end < text.size() && kBlanks.find(text[end]) == std::string_view::npos) {
      const bool opens = text[end] == '"' && (end == 0 || text[end - 1] == '=');
      end += opens ? end_of_quoted(text.substr(end)) : 1;
    }
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

/// The byte of two hexadecimal digits.
char byte_of(std::string_view digits) {
  unsigned value = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value, 16);
  if (error != std::errc() || at != end || digits.size() != 2)
    throw Error(fmt::format("expected two hexadecimal digits behind \\x, got '{}'", digits));
  return static_cast<char>(value);
}

/// A path that may be quoted.
std::string unquoted(std::string_view text) {
  if (!text.starts_with('"')) return std::string(text);
  const std::size_t end = end_of_quoted(text);
  if (end != text.size()) throw Error(fmt::format("unexpected text behind the quote: {}", text));
  std::string path;
  for (std::size_t k = 1; k + 1 < end; ++k) {
    if (text[k] != '\\') {
      path += text[k];
      continue;
    }
    ++k;
    if (text[k] == 'x') {
      path += byte_of(text.substr(k + 1, 2));
      k += 2;
    } else {
      path += text[k] == 'n' ? '\n' : text[k] == 'r' ? '\r' : text[k];
    }
  }
  return path;
}

/// Splits at commas like split(), but keeps empty pieces, so that "2,,1" is an error.
Words pieces(std::string_view text) {
  Words words;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    words.push_back(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return words;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

std::optional<double> parse_real(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

/// Parses "f32[2,3]:t".
CaseTensor parse_tensor(std::string_view name, std::string_view text) {
  const auto malformed = [&] {
    return Error(
        fmt::format("{}: expected dtype[extent,…] such as f32[2,3], got '{}'", name, text));
  };
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    throw malformed();
  }
  CaseTensor t;
  t.name = name;
  try {
    t.dtype = require_dtype(text.substr(0, open));
    const std::string_view extents = text.substr(open + 1, close - open - 1);
    for (const std::string_view word : extents.empty() ? Words() : pieces(extents)) {
      const std::optional<std::int64_t> extent = parse_integer(word);
      if (!extent || *extent < 0) throw malformed();
      t.shape.push_back(*extent);
    }
    t.layout = parse_layout(text.substr(close + 1), static_cast<int>(t.shape.size()));
  } catch (const Error& e) {
    const std::string what = e.what();
    throw Error(what.starts_with(name) ? what : fmt::format("{}: {}", name, what));
  }
  return t;
}

struct Fields {
  std::vector<std::pair<std::string_view, std::string_view>> items;
  std::optional<std::string_view> take(std::string_view name) {
    const auto at = std::ranges::find(items, name, &decltype(items)::value_type::first);
    if (at == items.end()) return std::nullopt;
    const std::string_view value = at->second;
    items.erase(at);
    return value;
  }
};

Fields parse_fields(const Words& words) {
  Fields fields;
  for (std::size_t k = 1; k < words.size(); ++k) {
    const std::size_t equals = words[k].find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw Error(fmt::format("expected name=value, got '{}'", words[k]));
    }
    const std::string_view name = words[k].substr(0, equals);
    for (const auto& [other, value] : fields.items) {
      if (other == name) throw Error(fmt::format("{} is given twice", name));
    }
    fields.items.emplace_back(name, words[k].substr(equals + 1));
  }
  return fields;
}

void take_inputs(Case& c, Fields& fields) {
  for (std::size_t k = 0; k < c.target->inputs().size(); ++k) {
    const InputDecl& decl = c.target->inputs()[k];
    const auto text = fields.take(decl.name);
    if (!text && !decl.optional) throw Error(fmt::format("input {} is missing", decl.name));
    if (!text) continue;
    c.instance.input_mask |= mask_bit(k);
    c.inputs.push_back(parse_tensor(decl.name, *text));
  }
}

/// True if these inputs are those of the program; puts them in its order.
bool match_dtypes(const Program& program, std::vector<CaseTensor>& inputs) {
  std::vector<CaseTensor> ordered;
  for (const Uop& input : program.inputs) {
    const std::string& name = std::get<uop::Input>(input.node().kind).name;
    const auto at = std::ranges::find(inputs, name, &CaseTensor::name);
    if (at == inputs.end() || at->dtype != input.dtype()) return false;
    ordered.push_back(*at);
  }
  inputs = std::move(ordered);
  return true;
}

void find_instance(Case& c) {
  for (const DType dtype : c.target->possible_dtypes()) {
    c.instance.dtype = dtype;
    c.program = c.target->program(c.instance);
    if (match_dtypes(*c.program, c.inputs)) return;
  }
  std::vector<std::string> got;
  for (const CaseTensor& t : c.inputs) got.push_back(fmt::format("{}={}", t.name, name(t.dtype)));
  std::vector<std::string> known;
  for (const DType dtype : c.target->possible_dtypes()) {
    std::vector<std::string> each;
    for (const Uop& input : c.target->program({dtype, c.instance.input_mask})->inputs) {
      each.push_back(
          fmt::format("{}={}", std::get<uop::Input>(input.node().kind).name, name(input.dtype())));
    }
    known.push_back(fmt::format("{}", fmt::join(each, " ")));
  }
  throw Error(fmt::format("no instance has dtypes {} (known: {})", fmt::join(got, " "),
                          fmt::join(known, "; ")));
}

Number parse_param(const ParamDecl& decl, std::string_view text) {
  if (decl.is_integer) {
    if (const auto value = parse_integer(text)) return *value;
    throw Error(fmt::format("{}: expected an integer, got '{}'", decl.name, text));
  }
  if (const auto value = parse_real(text)) return *value;
  throw Error(fmt::format("{}: expected a number, got '{}'", decl.name, text));
}

void take_params(Case& c, Fields& fields) {
  const auto set = [&](const std::string& name, std::string_view text) {
    const auto at = static_cast<std::size_t>(*find_param(*c.program, name));
    c.params[name] = parse_param(c.program->params[at], text);
  };
  for (const ParamList& list : param_lists(*c.program)) {
    if (const auto text = fields.take(list.name)) {
      const Words values = pieces(*text);
      if (values.size() != list.members.size()) {
        throw Error(fmt::format("{}: expected {} values, got {}", list.name, list.members.size(),
                                values.size()));
      }
      for (std::size_t k = 0; k < values.size(); ++k) set(list.members[k], values[k]);
    }
    for (const std::string& member : list.members) {
      if (const auto text = fields.take(member)) set(member, *text);
    }
  }
}

CaseTensor left_out(const Case& c, const Output& output) {
  const OpRecord* record = c.target->record();
  if (record == nullptr || !is_optional_output(*record, output.name))
    throw Error(fmt::format("{}: a call has this output always", output.name));
  return {.name = output.name,
          .dtype = output.value.dtype(),
          .shape = {},
          .layout = {},
          .left_out = true};
}

std::vector<CaseTensor> take_outputs(const Case& c, Fields& fields) {
  std::vector<CaseTensor> outputs;
  for (const Output& output : c.program->outputs) {
    const auto text = fields.take(output.name);
    if (text == "none") {
      outputs.push_back(left_out(c, output));
    } else if (text && text->starts_with('@')) {
      outputs.push_back({output.name, output.value.dtype(), {}, {}});
      outputs.back().in_place = text->substr(1);
    } else if (text) {
      CaseTensor t = parse_tensor(output.name, *text);
      if (!t.layout.repeated.empty()) {
        throw Error(fmt::format("{}: an output cannot repeat its elements (:bcast)", t.name));
      }
      outputs.push_back(std::move(t));
    } else {
      outputs.push_back({output.name, output.value.dtype(), {}, {}});
    }
  }
  if (!outputs.empty() && std::ranges::all_of(outputs, &CaseTensor::left_out))
    throw Error("no output is asked for");
  return outputs;
}

[[noreturn]] void fail_unknown(const Case& c, std::string_view name) {
  std::vector<std::string> inputs;
  for (const InputDecl& input : c.target->inputs()) inputs.push_back(input.name);
  std::vector<std::string> outputs;
  for (const Output& output : c.program->outputs) outputs.push_back(output.name);
  std::vector<std::string> params;
  for (const ParamList& list : param_lists(*c.program)) params.push_back(list.name);
  throw Error(
      fmt::format("unknown name '{}' (known: inputs {}; outputs {}; parameters {}; and "
                  "fill, set, backend, plugin)",
                  name, fmt::join(inputs, " "), fmt::join(outputs, " "),
                  params.empty() ? "none" : fmt::format("{}", fmt::join(params, " "))));
}

void check_outputs(const std::vector<CaseTensor>& stated, const std::vector<CaseTensor>& outputs) {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const CaseTensor& s = stated[k];
    const CaseTensor& t = outputs[k];
    if (s.layout.contiguous() && s.shape.empty()) continue;
    if (s.shape == t.shape && s.dtype == t.dtype) continue;
    throw Error(fmt::format("{}: got {}[{}], but the inputs give {}[{}]", t.name, name(s.dtype),
                            fmt::join(s.shape, ","), name(t.dtype), fmt::join(t.shape, ",")));
  }
}

void check_in_place(const Case& c) {
  for (std::size_t k = 0; k < c.outputs.size(); ++k) {
    const CaseTensor& y = c.outputs[k];
    if (y.in_place.empty()) continue;
    const auto input = shared_input(c, y);
    if (!input) throw Error(fmt::format("{}=@{}: there is no such input", y.name, y.in_place));
    if (!may_share(c, *input, k))
      throw Error(
          fmt::format("{0}=@{1}: {0} cannot take the memory of {1}: the op does not allow "
                      "it, or shape, dtype or a repeated axis do not",
                      y.name, y.in_place));
    for (std::size_t other = 0; other < k; ++other)
      if (c.outputs[other].in_place == y.in_place)
        throw Error(fmt::format("{} and {} both take the memory of {}", c.outputs[other].name,
                                y.name, y.in_place));
  }
}

/// Parses "integer:9f21" and the restrictions of its indices.
void take_fill(Case& c, std::string_view text) {
  const Words words = pieces(text);
  c.fill = parse_fill(words.front());
  for (const std::string_view word : std::span(words).subspan(1)) {
    const bool is_valid = word == "valid";
    if (!is_valid && word != "not_negative")
      throw Error(
          fmt::format("fill '{}': expected valid or not_negative behind the comma, got "
                      "'{}'",
                      text, word));
    c.indices |= is_valid ? MOTE_INDICES_VALID : MOTE_INDICES_NOT_NEGATIVE;
  }
}

void parse_into(Case& c, const Words& words) {
  Fields fields = parse_fields(words);
  if (const auto text = fields.take("fill")) take_fill(c, *text);
  c.backend = current_name(fields.take("backend").value_or(""));
  const std::string_view set = fields.take("set").value_or("");
  c.plugin = unquoted(fields.take("plugin").value_or(""));
  take_inputs(c, fields);
  find_instance(c);
  take_params(c, fields);
  c.outputs = take_outputs(c, fields);
  if (!fields.items.empty()) fail_unknown(c, fields.items.front().first);
  const std::vector<CaseTensor> stated = c.outputs;
  complete(c);
  check_outputs(stated, c.outputs);
  check_in_place(c);
  c.set = parse_set(c, set);
}

/// Throws Error for bytes that a message could not show: a zero byte would end it.
void refuse_bytes(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 || std::string_view("\t\n\r").find(c) != std::string_view::npos) continue;
    throw Error(fmt::format("a case is text, but here is the byte {:#04x}", byte));
  }
}

}  // namespace

Case parse_case(std::string_view text) {
  refuse_bytes(text);
  const Words words = split(text);
  if (words.empty()) throw Error("an empty case: expected OP name=value …");
  Case c;
  c.target = find_target(unquoted(words.front()));
  try {
    parse_into(c, words);
  } catch (const Error& e) {
    const std::string what = e.what();
    if (what.starts_with(c.target->op() + ":")) throw;
    throw Error(fmt::format("{}: {}", c.target->op(), what));
  }
  return c;
}

}  // namespace mote
