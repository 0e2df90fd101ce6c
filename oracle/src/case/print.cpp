// SPDX-License-Identifier: Apache-2.0
// Prints cases as text, with helpers that parsing shares.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "case/set_elements.h"
#include "mote/base/error.h"
#include "mote/base/kernel.h"
#include "mote/oracle/case.h"
#include "mote/oracle/text.h"

namespace mote {
namespace {

std::string text_of(const CaseTensor& t) {
  return fmt::format(" {}={}[{}]{}", t.name, name(t.dtype), fmt::join(t.shape, ","),
                     to_string(t.layout, static_cast<int>(t.shape.size())));
}

/// The text of the flags of mote_indices: ",valid,not_negative".
std::string indices_text(int flags) {
  std::string text;
  if ((flags & MOTE_INDICES_VALID) != 0) text += ",valid";
  if ((flags & MOTE_INDICES_NOT_NEGATIVE) != 0) text += ",not_negative";
  return text;
}

bool is_default(const ParamDecl& decl, const Number& value) {
  if (!decl.default_value) return false;
  return value.is_real() ? value.real() == *decl.default_value
                         : static_cast<double>(value.integer()) == *decl.default_value;
}

/// Splits the name into its stem and its trailing digits.
std::pair<std::string, std::string> stem(const std::string& name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  const std::size_t end = last == std::string::npos ? 0 : last + 1;
  return {name.substr(0, end), name.substr(end)};
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// The path, quoted if it could not be read back otherwise. Case text can be shown and sent, so
/// control characters and bytes that are not UTF-8 are written as \xNN.
std::string quoted(const std::string& path) {
  const bool is_plain = path.find_first_of(" \"\\") == std::string::npos &&
                        std::ranges::none_of(path, is_control) && is_utf8(path);
  if (is_plain) return path;
  std::string text = "\"";
  for (const char c : path) {
    if (c == '\n' || c == '\r') {
      text += c == '\n' ? "\\n" : "\\r";
    } else if (is_control(c)) {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
  }
  return valid_utf8(text) + '"';
}

}  // namespace

std::vector<ParamList> param_lists(const Program& program) {
  std::map<std::string, std::vector<std::string>> families;
  for (const ParamDecl& p : program.params) {
    const auto [base, digits] = stem(p.name);
    std::vector<std::string>& family = families[base];
    if (digits == std::to_string(family.size())) family.push_back(p.name);
  }
  std::vector<ParamList> lists;
  for (const ParamDecl& p : program.params) {
    const auto [base, digits] = stem(p.name);
    const std::vector<std::string>& family = families[base];
    const bool taken = find_param(program, base).has_value() || find_input(program, base);
    const bool member = !digits.empty() && family.size() > 1 && !taken &&
                        std::find(family.begin(), family.end(), p.name) != family.end();
    if (!member) {
      lists.push_back({p.name, {p.name}});
    } else if (p.name == family.front()) {
      lists.push_back({base, family});
    }
  }
  return lists;
}

std::string to_string(const Case& c) {
  std::string text = quoted(c.target->text());
  for (const CaseTensor& t : c.inputs) text += text_of(t);
  for (const CaseTensor& t : c.outputs) {
    if (t.left_out)
      text += fmt::format(" {}=none", t.name);
    else if (!t.in_place.empty())
      text += fmt::format(" {}=@{}", t.name, t.in_place);
    else if (!t.layout.contiguous())
      text += text_of(t);
  }
  for (const ParamList& list : param_lists(*c.program)) {
    bool all_default = true;
    std::vector<std::string> values;
    for (const std::string& member : list.members) {
      const auto at = static_cast<std::size_t>(*find_param(*c.program, member));
      const Number& value = c.params.at(member);
      all_default = all_default && is_default(c.program->params[at], value);
      values.push_back(number_text(value));
    }
    if (!all_default) text += fmt::format(" {}={}", list.name, fmt::join(values, ","));
  }
  text += " fill=" + to_string(c.fill) + indices_text(c.indices);
  if (!c.set.empty()) text += " set=" + to_string(c.set);
  if (!c.backend.empty()) text += " backend=" + c.backend;
  if (!c.plugin.empty()) text += " plugin=" + quoted(c.plugin);
  return text;
}

void complete(Case& c) {
  c.program = c.target->program(c.instance);
  std::vector<std::vector<std::int64_t>> shapes;
  for (const CaseTensor& t : c.inputs) shapes.push_back(t.shape);
  c.binding = mote::bind(*c.program, shapes, c.params);
  c.params = c.binding.params;
  c.outputs.resize(c.program->outputs.size());
  for (std::size_t k = 0; k < c.outputs.size(); ++k) {
    CaseTensor& t = c.outputs[k];
    t.name = c.program->outputs[k].name;
    t.dtype = c.program->outputs[k].value.dtype();
    t.shape = c.binding.outputs[k];
  }
}

std::optional<std::size_t> shared_input(const Case& c, const CaseTensor& output) {
  if (output.in_place.empty() || output.left_out) return std::nullopt;
  const auto at = std::ranges::find(c.inputs, output.in_place, &CaseTensor::name);
  if (at == c.inputs.end()) return std::nullopt;
  return static_cast<std::size_t>(at - c.inputs.begin());
}

bool may_share(const Case& c, std::size_t input, std::size_t output) {
  const OpRecord* record = c.target->record();
  if (record == nullptr) return false;
  const CaseTensor& x = c.inputs[input];
  const CaseTensor& y = c.outputs[output];
  const std::pair<int, int> pair = {c.target->input_position(x.name), static_cast<int>(output)};
  return std::ranges::find(record->in_place, pair) != record->in_place.end() &&
         x.shape == y.shape && x.dtype == y.dtype && x.layout.repeated.empty();
}

std::vector<Case> read_cases(const std::string& path,
                             const std::function<void(const Case&)>& accept) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(fmt::format("{}: is a directory, holds no case", path));
  }
  errno = 0;
  std::ifstream stream(path);
  if (!stream) {
    throw Error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  std::vector<Case> cases;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    try {
      cases.push_back(parse_case(line));
      if (accept) accept(cases.back());
    } catch (const Error& e) {
      throw Error(fmt::format("{}: line {}: {}", path, number, e.what()));
    }
  }
  if (cases.empty()) throw Error(fmt::format("{}: holds no case", path));
  return cases;
}

}  // namespace mote
