// SPDX-License-Identifier: Apache-2.0
// Trees of tags: pugixml escapes what it is given, but keeps control characters and bytes that are
// no UTF-8, which neither XML nor HTML allows.
#pragma once

#include <pugixml.hpp>
#include <string>

namespace mote::tool {

/// The text with "?" for characters that XML does not have, and \xNN for bytes that are not UTF-8.
std::string printable(const std::string& text);

void set(pugi::xml_node node, const char* attribute, const std::string& value);
void add_text(pugi::xml_node node, const std::string& text);
/// A child that holds a text; `style` is its class, where there is one.
pugi::xml_node add(pugi::xml_node parent, const char* tag, const std::string& text = "",
                   const std::string& style = "");

}  // namespace mote::tool
