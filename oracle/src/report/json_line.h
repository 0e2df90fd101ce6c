// SPDX-License-Identifier: Apache-2.0
// Writes JSON that is always valid, whatever bytes paths and the messages of subjects hold.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "mote/oracle/text.h"

namespace mote {

/// The JSON with all its texts, including field names, as valid_utf8() writes them.
template <typename Json>
Json with_valid_utf8(const Json& json) {
  if (json.is_string()) return valid_utf8(json.template get_ref<const std::string&>());
  if (!json.is_structured()) return json;
  Json valid = json.is_object() ? Json::object() : Json::array();
  for (const auto& item : json.items()) {
    if (json.is_object())
      valid[valid_utf8(item.key())] = with_valid_utf8<Json>(item.value());
    else
      valid.push_back(with_valid_utf8<Json>(item.value()));
  }
  return valid;
}

/// The JSON in one line, without a newline. Bytes that are not UTF-8 are written as \xNN.
template <typename Json>
std::string json_text(const Json& json) {
  try {
    return json.dump();
  } catch (const typename Json::type_error&) {  // usually there is nothing to repair
    return with_valid_utf8(json).dump();
  }
}

template <typename Json>
std::string json_line(const Json& json) {
  return json_text(json) + "\n";
}

}  // namespace mote
