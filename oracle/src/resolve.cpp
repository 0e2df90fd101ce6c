// Op names and program files to programs.
#include "mote/oracle/resolve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "mote/base/error.h"

namespace mote {
namespace {

bool is_op(std::string_view text) {
  return std::ranges::binary_search(catalogue(), text, {}, &OpRecord::name);
}

std::string read_all(std::string_view file) {
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

Resolved resolve_file(std::string_view file) {
  const std::string_view shown = file == "-" ? "standard input" : file;
  const std::string text = read_all(file);
  try {
    return {std::make_shared<const Program>(parse_program(text)), nullptr, std::nullopt};
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", shown, e.what()));
  }
}

DType default_dtype(const OpRecord& record) {
  const bool has_f32 = std::ranges::find(record.dtypes, DType::f32) != record.dtypes.end();
  return has_f32 ? DType::f32 : record.dtypes.front();
}

std::uint32_t mask_without(const OpRecord& record, const std::vector<std::string>& without) {
  std::uint32_t mask = full_mask(record);
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
    mask &= ~(std::uint32_t{1} << (at - record.inputs.begin()));
  }
  return mask;
}

}  // namespace

bool is_program_file(std::string_view text) {
  if (text == "-" || text.ends_with(".mote")) return true;
  if (is_op(text)) return false;
  std::error_code ignored;
  return text.find('/') != std::string_view::npos ||
         std::filesystem::exists(std::filesystem::path(text), ignored);
}

Resolved resolve_program(std::string_view text, std::optional<DType> dtype,
                         std::optional<std::uint32_t> input_mask) {
  if (is_program_file(text)) {
    if (dtype || input_mask) {
      throw Error(
          fmt::format("{}: a program file states its own {}", text, dtype ? "dtypes" : "inputs"));
    }
    return resolve_file(text);
  }
  const OpRecord& record = find_op(text);
  const Instance instance{dtype.value_or(default_dtype(record)),
                          input_mask.value_or(full_mask(record))};
  return {instantiate(record, instance), &record, instance};
}

Resolved resolve_without(std::string_view text, std::optional<DType> dtype,
                         const std::vector<std::string>& without) {
  if (without.empty()) return resolve_program(text, dtype);
  if (is_program_file(text)) {
    throw Error(fmt::format("{}: a program file states its own inputs", text));
  }
  return resolve_program(text, dtype, mask_without(find_op(text), without));
}

DType require_dtype(std::string_view text) {
  if (const std::optional<DType> dtype = parse_dtype(text)) return *dtype;
  std::vector<std::string_view> known;
  for (const DType t : all_dtypes()) known.push_back(name(t));
  throw Error(fmt::format("unknown dtype '{}' (known: {})", text, fmt::join(known, ", ")));
}

std::string instance_name(const Resolved& resolved) {
  if (resolved.record == nullptr || !resolved.instance) return resolved.program->name;
  const OpRecord& record = *resolved.record;
  std::string text = record.name;
  const std::uint32_t mask = resolved.instance->input_mask;
  for (std::size_t k = 0; k < record.inputs.size(); ++k) {
    const bool present = (mask >> k & 1U) != 0;
    if (mask != full_mask(record) && present) text += "_" + record.inputs[k].name;
  }
  return fmt::format("{}_{}", text, name(resolved.instance->dtype));
}

}  // namespace mote
