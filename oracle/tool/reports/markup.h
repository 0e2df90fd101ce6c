// SPDX-License-Identifier: Apache-2.0
// Builds trees of tags. pugixml escapes text, but keeps control characters and bytes that are not
// UTF-8, which neither XML nor HTML allows.
#pragma once

#include <pugixml.hpp>
#include <string>

namespace mote::tool {

/// The text with "?" for characters that XML does not have, and \xNN for bytes that are not UTF-8.
std::string printable(const std::string& text);

void set(pugi::xml_node node, const char* attribute, const std::string& value);
void add_text(pugi::xml_node node, const std::string& text);
/// Adds a child with a text; `style` is its class, if not empty.
pugi::xml_node add(pugi::xml_node parent, const char* tag, const std::string& text = "",
                   const std::string& style = "");

}  // namespace mote::tool
