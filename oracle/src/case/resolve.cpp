// SPDX-License-Identifier: Apache-2.0
// Resolves op names and program files to programs.
#include "mote/oracle/resolve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "mote/base/error.h"
#include "mote/uops/element_type.h"
#include "mote/uops/gradient.h"

namespace mote {
namespace {

bool is_op(std::string_view text) {
  return std::ranges::binary_search(catalogue(), text, {}, &OpRecord::name);
}

Resolved resolve_file(std::string_view file, std::optional<DType> dtype) {
  const std::string text = read_program_text(file);
  Resolved resolved;
  resolved.program = program_of_file(file, text, dtype);
  if (dtype && *dtype != element_type(*program_of_file(file, text))) resolved.other_dtype = dtype;
  return resolved;
}

DType default_dtype(const OpRecord& record) {
  const bool has_f32 = std::ranges::find(record.dtypes, DType::f32) != record.dtypes.end();
  return has_f32 ? DType::f32 : record.dtypes.front();
}

/// The largest choice of the op's inputs within the mask. An input that requires a missing one is
/// left out too.
TensorMask greatest_within(const OpRecord& record, TensorMask mask) {
  std::optional<TensorMask> best;
  for (const Instance& i : instances(record)) {
    if ((i.input_mask & ~mask) != 0) continue;
    if (!best || std::popcount(i.input_mask) > std::popcount(*best)) best = i.input_mask;
  }
  if (best) return *best;
  throw Error(fmt::format("op {}: these inputs cannot be left out together", record.name));
}

TensorMask mask_without(const OpRecord& record, const std::vector<std::string>& without) {
  TensorMask mask = full_mask(record);
  for (const std::string& name : without) {
    const auto at = std::ranges::find(record.inputs, name, &InputDecl::name);
    if (at == record.inputs.end() || !at->optional) {
      std::vector<std::string> optional;
      for (const InputDecl& input : record.inputs) {
        if (input.optional) optional.push_back(input.name);
      }
      throw Error(
          fmt::format("op {}: '{}' is not an optional input (optional: {})", record.name, name,
                      optional.empty() ? "none" : fmt::format("{}", fmt::join(optional, ", "))));
    }
    mask &= ~mask_bit(static_cast<std::size_t>(at - record.inputs.begin()));
  }
  return greatest_within(record, mask);
}

}  // namespace

bool is_program_file(std::string_view text) {
  if (text == "-" || text.ends_with(".mote")) return true;
  if (is_op(text)) return false;
  std::error_code ignored;
  return text.find('/') != std::string_view::npos ||
         std::filesystem::exists(std::filesystem::path(text), ignored);
}

std::string read_program_text(std::string_view file) {
  if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  const std::filesystem::path path(file);
  if (std::filesystem::is_directory(path)) throw Error(fmt::format("{}: is a directory", file));
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.good() && !stream.eof()) {
    throw Error(fmt::format("{}: cannot be read: {}", file,
                            errno != 0 ? std::strerror(errno) : "input error"));
  }
  return text;
}

std::shared_ptr<const Program> program_of_file(std::string_view file, std::string_view text,
                                               std::optional<DType> dtype) {
  return std::make_shared<const Program>(
      parse_program_file(file == "-" ? "standard input" : file, text, dtype));
}

Resolved resolve_program(std::string_view text, std::optional<DType> dtype,
                         std::optional<TensorMask> input_mask) {
  if (is_program_file(text)) {
    if (input_mask) throw Error(fmt::format("{}: a program file states its own inputs", text));
    return resolve_file(text, dtype);
  }
  const OpRecord& record = find_op(text);
  const Instance instance{dtype.value_or(default_dtype(record)),
                          input_mask.value_or(full_mask(record))};
  return {instantiate(record, instance), &record, instance};
}

Resolved resolve_without(std::string_view text, std::optional<DType> dtype,
                         const std::vector<std::string>& without, int order) {
  if (is_program_file(text)) {
    if (!without.empty()) {
      throw Error(fmt::format("{}: a program file states its own inputs", text));
    }
    Resolved resolved = resolve_program(text, dtype);
    for (int k = 0; k < order; ++k) {
      resolved.program =
          std::make_shared<const Program>(gradient_kernel(*resolved.program).program);
    }
    return resolved;
  }
  std::string name(text);
  for (int k = 0; k < order; ++k) name += ".grad";
  if (without.empty()) return resolve_program(name, dtype);
  return resolve_program(name, dtype, mask_without(find_op(name), without));
}

DType require_dtype(std::string_view text) {
  if (const std::optional<DType> dtype = parse_dtype(text)) return *dtype;
  std::vector<std::string_view> known;
  for (const DType t : all_dtypes()) known.push_back(name(t));
  throw Error(fmt::format("unknown dtype '{}' (known: {})", text, fmt::join(known, ", ")));
}

std::string instance_name(const Resolved& resolved) {
  if (resolved.record != nullptr) return instance_name(*resolved.record, *resolved.instance);
  std::string text = resolved.program->name;
  std::ranges::replace(text, '.', '_');
  if (resolved.other_dtype) text += fmt::format("_{}", name(*resolved.other_dtype));
  return text;
}

}  // namespace mote
