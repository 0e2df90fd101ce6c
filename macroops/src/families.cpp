// What the definitions of several families are made of.
#include "families.h"

#include <fmt/format.h>

namespace mote {

Uop optional_input(const Instance& instance, int k, std::string_view name, const Shape& shape) {
  const bool present = (instance.input_mask >> k & 1U) != 0;
  return present ? input(name, instance.dtype, shape) : Uop();
}

ProgramSpec spec(std::vector<Uop> inputs, const Uop& y, std::vector<NamedSize> sizes) {
  ProgramSpec s;
  s.inputs = std::move(inputs);
  s.outputs = {{"y", y}};
  s.sizes = std::move(sizes);
  return s;
}

NamedSize named_size(std::string name, std::string_view value) {
  return {std::move(name), parse_expr(value).expr};
}

ParamDecl integer_param(std::string name, std::int64_t least, std::optional<double> default_value,
                        std::string meaning) {
  return {.name = std::move(name),
          .is_integer = true,
          .default_value = default_value,
          .lower = least,
          .upper = std::nullopt,
          .meaning = std::move(meaning)};
}

ParamDecl value_param(std::string name, double default_value, std::string meaning) {
  return {.name = std::move(name),
          .is_integer = false,
          .default_value = default_value,
          .lower = std::nullopt,
          .upper = std::nullopt,
          .meaning = std::move(meaning)};
}

Uop inside(const IndexText& index, const IndexText& extent, const Shape& shape) {
  const Uop i = iota(index, shape);
  return i >= 0 && i < iota(extent, shape);
}

std::vector<ParamDecl> window_params() {
  return {
      integer_param("stride0", 1, 1, "rows from one window to the next"),
      integer_param("stride1", 1, 1, "columns from one window to the next"),
      integer_param("dilation0", 1, 1, "rows from one tap to the next"),
      integer_param("dilation1", 1, 1, "columns from one tap to the next"),
      integer_param("pads0", 0, 0, "rows of padding at the top"),
      integer_param("pads1", 0, 0, "columns of padding on the left"),
      integer_param("pads2", 0, 0, "rows of padding at the bottom"),
      integer_param("pads3", 0, 0, "columns of padding on the right"),
  };
}

std::vector<NamedSize> window_sizes(std::string_view taps0, std::string_view taps1) {
  return {
      named_size(
          "OH", fmt::format("(H + $pads0 + $pads2 - $dilation0*({} - 1) - 1)/$stride0 + 1", taps0)),
      named_size(
          "OW", fmt::format("(W + $pads1 + $pads3 - $dilation1*({} - 1) - 1)/$stride1 + 1", taps1)),
  };
}

}  // namespace mote
