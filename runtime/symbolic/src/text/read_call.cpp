// SPDX-License-Identifier: Apache-2.0
// Reads the arguments of calls. Symbols are found by the caller, which knows the graph.
#include "text/read_call.h"

#include <limits>

#include "text/elements.h"
#include "text/read_form.h"

namespace mote::graph_text {
namespace {

void read_setting(TextCursor& text, const ReadName& name, ReadCall& call) {
  if (name.text == "dtype" && !text.peek_word().empty() && !text.peek("inf") && !text.peek("nan")) {
    call.dtype = read_dtype(text);
    return;
  }
  const std::size_t at = text.position();
  const Literal number = read_number(text);
  if (name.text == "axis") {
    if (!number.is_integer || number.integer < std::numeric_limits<int>::min() ||
        number.integer > std::numeric_limits<int>::max())
      text.fail(at, "expected the number of an axis, got " + number.text);
    call.axis = static_cast<int>(number.integer);
  } else if (number.is_integer && number.text != "-0") {
    call.settings.emplace_back(name.text, number.integer);
  } else {
    call.settings.emplace_back(name.text, number.real);
  }
}

}  // namespace

ReadName read_name(TextCursor& text, std::string_view what) {
  const std::size_t at = text.position();
  if (text.peek("\"")) return {text.string(), at, true};
  return {text.word(what), at, false};
}

ReadCall read_call(TextCursor& text) {
  ReadCall call;
  text.open("(");
  for (bool first = true; !text.peek(")"); first = false) {
    if (!first) text.expect(",");
    ReadName name = read_name(text, "a symbol, a parameter or ')'");
    if (text.accept("="))
      read_setting(text, name, call);
    else
      call.inputs.push_back(std::move(name));
  }
  text.close(")");
  return call;
}

Command command_of(const ReadName& op, const ReadCall& call, const Registry& registry) {
  std::vector<Setting> settings;
  settings.reserve(call.settings.size());
  for (const auto& [name, value] : call.settings)
    std::visit([&, &name = name](auto number) { settings.emplace_back(name, number); }, value);
  return Command(op.text, settings, call.axis, registry);
}

}  // namespace mote::graph_text
