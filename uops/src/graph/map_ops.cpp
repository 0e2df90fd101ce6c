// SPDX-License-Identifier: Apache-2.0
// The table of scalar operations: its rows, in the order of MapOp, and what follows from them.
#include "mote/uops/map_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "graph/map_ops_arithmetic.h"
#include "graph/map_ops_functions.h"
#include "graph/map_ops_logic.h"
#include "mote/base/error.h"
#include "mote/uops/language.h"

namespace mote {
namespace {

constexpr std::size_t kCount = static_cast<std::size_t>(MapOp::where) + 1;

constexpr std::array<MapOpInfo, kCount> in_order() {
  static_assert(rows::kArithmetic.size() + rows::kFunctions.size() + rows::kLogic.size() == kCount);
  std::array<MapOpInfo, kCount> all = {};
  for (const std::span<const MapOpInfo> some :
       {std::span<const MapOpInfo>(rows::kArithmetic), std::span<const MapOpInfo>(rows::kFunctions),
        std::span<const MapOpInfo>(rows::kLogic)})
    for (const MapOpInfo& row : some) all[static_cast<std::size_t>(row.op)] = row;
  return all;
}
constexpr std::array<MapOpInfo, kCount> kTable = in_order();
static_assert(std::ranges::none_of(kTable, [](const MapOpInfo& o) { return o.name.empty(); }),
              "an op has no row, since another has two");

constexpr std::array<std::string_view, 8> kReduceNames = {"sum",    "prod",   "max", "min",
                                                          "argmax", "argmin", "any", "all"};

constexpr std::array<std::string_view, 5> kScatterNames = {"add", "mul", "max", "min", "set"};

unsigned category(DType dtype) {
  if (is_real(dtype)) return MapOpInfo::kReal;
  if (dtype == DType::i64) return MapOpInfo::kInteger | MapOpInfo::kI64;
  return is_integer(dtype) ? MapOpInfo::kInteger : MapOpInfo::kBoolean;
}

std::string accepted_names(unsigned accepts) {
  std::string text;
  for (const DType d : all_dtypes())
    if (category(d) & accepts) text += fmt::format("{}{}", text.empty() ? "" : ", ", name(d));
  return text;
}

}  // namespace

const MapOpInfo& info(MapOp op) { return kTable.at(static_cast<std::size_t>(op)); }
std::span<const MapOpInfo> map_ops() { return kTable; }
std::string_view name(MapOp op) { return info(op).name; }
std::string_view name(ReduceOp op) { return kReduceNames.at(static_cast<std::size_t>(op)); }
std::string_view name(ScatterOp op) { return kScatterNames.at(static_cast<std::size_t>(op)); }
int arity(MapOp op) { return info(op).arity; }
bool is_transcendental(MapOp op) { return info(op).is_transcendental; }

DType result_dtype(MapOp op, std::span<const DType> args, DType to) {
  const MapOpInfo& o = info(op);
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
  for (const MapOpInfo& o : kTable)
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
