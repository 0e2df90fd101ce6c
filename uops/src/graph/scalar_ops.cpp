// SPDX-License-Identifier: Apache-2.0
// The table of scalar operations: names as in program text, arity, and which dtypes each accepts.
#include <fmt/format.h>

#include <array>
#include <string>

#include "graph/node.h"
#include "mote/base/error.h"

namespace mote {
namespace {

enum Accepts : unsigned { kReal = 1, kInteger = 2, kBoolean = 4, kI64 = 8 };
constexpr unsigned kNumeric = kReal | kInteger;
constexpr unsigned kAny = kReal | kInteger | kBoolean;

struct OpInfo {
  MapOp op;
  std::string_view name;
  int arity;
  unsigned accepts;
  bool gives_bool = false;
};

// In the order of MapOp.
constexpr std::array kOps = {OpInfo{MapOp::neg, "neg", 1, kNumeric},
                             OpInfo{MapOp::abs, "abs", 1, kNumeric},
                             OpInfo{MapOp::sign, "sign", 1, kNumeric},
                             OpInfo{MapOp::recip, "recip", 1, kReal},
                             OpInfo{MapOp::sqrt, "sqrt", 1, kReal},
                             OpInfo{MapOp::rsqrt, "rsqrt", 1, kReal},
                             OpInfo{MapOp::exp, "exp", 1, kReal},
                             OpInfo{MapOp::expm1, "expm1", 1, kReal},
                             OpInfo{MapOp::log, "log", 1, kReal},
                             OpInfo{MapOp::log1p, "log1p", 1, kReal},
                             OpInfo{MapOp::sin, "sin", 1, kReal},
                             OpInfo{MapOp::cos, "cos", 1, kReal},
                             OpInfo{MapOp::tan, "tan", 1, kReal},
                             OpInfo{MapOp::asin, "asin", 1, kReal},
                             OpInfo{MapOp::acos, "acos", 1, kReal},
                             OpInfo{MapOp::atan, "atan", 1, kReal},
                             OpInfo{MapOp::sinh, "sinh", 1, kReal},
                             OpInfo{MapOp::cosh, "cosh", 1, kReal},
                             OpInfo{MapOp::tanh, "tanh", 1, kReal},
                             OpInfo{MapOp::erf, "erf", 1, kReal},
                             OpInfo{MapOp::floor, "floor", 1, kNumeric},
                             OpInfo{MapOp::ceil, "ceil", 1, kNumeric},
                             OpInfo{MapOp::round, "round", 1, kNumeric},
                             OpInfo{MapOp::trunc, "trunc", 1, kNumeric},
                             OpInfo{MapOp::next_up, "next_up", 1, kReal},
                             OpInfo{MapOp::next_down, "next_down", 1, kReal},
                             OpInfo{MapOp::lowest_bit, "lowest_bit", 1, kReal},
                             OpInfo{MapOp::logical_not, "logical_not", 1, kBoolean, true},
                             OpInfo{MapOp::isnan, "isnan", 1, kReal, true},
                             OpInfo{MapOp::isinf, "isinf", 1, kReal, true},
                             OpInfo{MapOp::bitwise_not, "bitwise_not", 1, kInteger},
                             OpInfo{MapOp::cast, "cast", 1, kAny},
                             OpInfo{MapOp::add, "add", 2, kNumeric},
                             OpInfo{MapOp::sub, "sub", 2, kNumeric},
                             OpInfo{MapOp::mul, "mul", 2, kNumeric},
                             OpInfo{MapOp::div, "div", 2, kNumeric},
                             OpInfo{MapOp::pow, "pow", 2, kNumeric},
                             OpInfo{MapOp::mod, "mod", 2, kNumeric},
                             OpInfo{MapOp::min, "min", 2, kAny},
                             OpInfo{MapOp::max, "max", 2, kAny},
                             OpInfo{MapOp::lt, "lt", 2, kNumeric, true},
                             OpInfo{MapOp::le, "le", 2, kNumeric, true},
                             OpInfo{MapOp::gt, "gt", 2, kNumeric, true},
                             OpInfo{MapOp::ge, "ge", 2, kNumeric, true},
                             OpInfo{MapOp::eq, "eq", 2, kAny, true},
                             OpInfo{MapOp::ne, "ne", 2, kAny, true},
                             OpInfo{MapOp::logical_and, "logical_and", 2, kBoolean, true},
                             OpInfo{MapOp::logical_or, "logical_or", 2, kBoolean, true},
                             OpInfo{MapOp::logical_xor, "logical_xor", 2, kBoolean, true},
                             OpInfo{MapOp::bitwise_and, "bitwise_and", 2, kInteger},
                             OpInfo{MapOp::bitwise_or, "bitwise_or", 2, kInteger},
                             OpInfo{MapOp::bitwise_xor, "bitwise_xor", 2, kInteger},
                             OpInfo{MapOp::shift_left, "shift_left", 2, kInteger},
                             OpInfo{MapOp::shift_right, "shift_right", 2, kInteger},
                             OpInfo{MapOp::philox, "philox", 2, kI64},
                             OpInfo{MapOp::where, "where", 3, kAny}};

constexpr bool in_order() {
  for (std::size_t k = 0; k < kOps.size(); ++k)
    if (static_cast<std::size_t>(kOps[k].op) != k) return false;
  return true;
}
static_assert(in_order());

constexpr std::array<std::string_view, 8> kReduceNames = {"sum",    "prod",   "max", "min",
                                                          "argmax", "argmin", "any", "all"};

constexpr std::array<std::string_view, 5> kScatterNames = {"add", "mul", "max", "min", "set"};

const OpInfo& info(MapOp op) { return kOps.at(static_cast<std::size_t>(op)); }

unsigned category(DType dtype) {
  if (is_real(dtype)) return kReal;
  if (dtype == DType::i64) return kInteger | kI64;
  return is_integer(dtype) ? kInteger : kBoolean;
}

std::string accepted_names(unsigned accepts) {
  std::string text;
  for (const DType d : all_dtypes())
    if (category(d) & accepts) text += fmt::format("{}{}", text.empty() ? "" : ", ", name(d));
  return text;
}

}  // namespace

std::string_view name(MapOp op) { return info(op).name; }
std::string_view name(ReduceOp op) { return kReduceNames.at(static_cast<std::size_t>(op)); }
std::string_view name(ScatterOp op) { return kScatterNames.at(static_cast<std::size_t>(op)); }
int arity(MapOp op) { return info(op).arity; }

bool is_transcendental(MapOp op) {
  switch (op) {
    case MapOp::sqrt:
    case MapOp::rsqrt:
    case MapOp::exp:
    case MapOp::expm1:
    case MapOp::log:
    case MapOp::log1p:
    case MapOp::sin:
    case MapOp::cos:
    case MapOp::tan:
    case MapOp::asin:
    case MapOp::acos:
    case MapOp::atan:
    case MapOp::sinh:
    case MapOp::cosh:
    case MapOp::tanh:
    case MapOp::erf:
    case MapOp::pow:
      return true;
    default:
      return false;
  }
}

DType result_dtype(MapOp op, std::span<const DType> args, DType to) {
  const OpInfo& o = info(op);
  if (args.size() != static_cast<std::size_t>(o.arity))
    throw Error(fmt::format("Map {}: takes {} arguments, got {}", o.name, o.arity, args.size()));
  if (op == MapOp::cast) return to;
  std::span<const DType> values = args;
  if (op == MapOp::where) {
    if (args[0] != DType::boolean)
      throw Error(fmt::format("Map where: the condition must be bool, got {}", name(args[0])));
    values = args.subspan(1);
  }
  for (const DType d : values)
    if (d != values[0])
      throw Error(fmt::format("Map {}: dtypes of the arguments differ: {} and {}", o.name,
                              name(values[0]), name(d)));
  if (!(category(values[0]) & o.accepts))
    throw Error(fmt::format("Map {}: dtype must be one of {}, got {}", o.name,
                            accepted_names(o.accepts), name(values[0])));
  return o.gives_bool ? DType::boolean : values[0];
}

std::optional<MapOp> find_map_op(std::string_view name) {
  for (const OpInfo& o : kOps)
    if (o.name == name) return o.op;
  return std::nullopt;
}

std::optional<ReduceOp> find_reduce_op(std::string_view name) {
  for (std::size_t k = 0; k < kReduceNames.size(); ++k)
    if (kReduceNames[k] == name) return static_cast<ReduceOp>(k);
  return std::nullopt;
}

std::optional<ScatterOp> find_scatter_op(std::string_view name) {
  for (std::size_t k = 0; k < kScatterNames.size(); ++k)
    if (kScatterNames[k] == name) return static_cast<ScatterOp>(k);
  return std::nullopt;
}

}  // namespace mote
