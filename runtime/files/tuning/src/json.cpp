// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace mote::json {
namespace {

using Json = nlohmann::json;

/// Builds the tree from the parser's events.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Value root;

  bool null() override { return add({}); }
  bool boolean(bool) override { return add({}); }
  bool number_integer(number_integer_t value) override { return add_number(value); }
  bool number_unsigned(number_unsigned_t value) override { return add_number(value); }
  bool number_float(number_float_t value, const string_t&) override { return add_number(value); }
  bool string(string_t& value) override {
    Value text;
    text.kind = Value::Kind::text;
    text.text = std::move(value);
    return add(std::move(text));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Value::Kind::object); }
  bool key(string_t& name) override {
    open_.back()->names.push_back(std::move(name));
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Value::Kind::list); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  /// Returns the location of the next value. It does not move until the enclosing value is closed.
  Value& place() {
    if (open_.empty()) return root;
    return open_.back()->elements.emplace_back();
  }
  bool add(Value value) {
    place() = std::move(value);
    return true;
  }
  template <typename Number>
  bool add_number(Number value) {
    Value number;
    number.kind = Value::Kind::number;
    number.number = static_cast<double>(value);
    return add(std::move(number));
  }
  bool open(Value::Kind kind) {
    if (open_.size() == kMaxDepth) return false;
    Value& value = place();
    value.kind = kind;
    open_.push_back(&value);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Value*> open_;
};

}  // namespace

const Value* Value::find(std::string_view name) const {
  for (std::size_t k = names.size(); k-- > 0;)
    if (names[k] == name) return &elements[k];
  return nullptr;
}

std::optional<Value> parse(std::string_view text) {
  Builder builder;
  if (!Json::sax_parse(text, &builder)) return std::nullopt;
  return std::move(builder.root);
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mote::json
