// SPDX-License-Identifier: Apache-2.0
#include "markup.h"

#include <algorithm>

#include "mote/oracle/text.h"

namespace mote::tool {

std::string printable(const std::string& given) {
  std::string text = valid_utf8(given);
  std::ranges::replace_if(
      text,
      [](char c) {
        const auto code = static_cast<unsigned char>(c);
        return (code < 0x20 && c != '\n' && c != '\t') || code == 0x7f;
      },
      '?');
  return text;
}

void set(pugi::xml_node node, const char* attribute, const std::string& value) {
  node.append_attribute(attribute).set_value(printable(value).c_str());
}

void add_text(pugi::xml_node node, const std::string& text) {
  node.append_child(pugi::node_pcdata).set_value(printable(text).c_str());
}

pugi::xml_node add(pugi::xml_node parent, const char* tag, const std::string& text,
                   const std::string& style) {
  pugi::xml_node node = parent.append_child(tag);
  if (!style.empty()) set(node, "class", style);
  if (!text.empty()) add_text(node, text);
  return node;
}

}  // namespace mote::tool
