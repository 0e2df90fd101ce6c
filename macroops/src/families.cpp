// SPDX-License-Identifier: Apache-2.0
// The helpers that the definitions of several families use.
#include "families.h"

#include <fmt/format.h>

namespace mote {

Uop optional_input(const Instance& instance, int k, std::string_view name, const Shape& shape) {
  const bool present = is_in(instance.input_mask, static_cast<std::size_t>(k));
  return present ? input(name, instance.dtype, shape) : Uop();
}

WrittenGradient written(const OneGradient& gradient) {
  if (!gradient) return {};
  return [gradient](const Instance& instance, std::span<const Uop> gradients) {
    return gradient(instance, gradients.front());
  };
}

ProgramSpec spec(std::vector<Uop> inputs, const Uop& y, std::vector<NamedSize> sizes) {
  ProgramSpec s;
  s.inputs = std::move(inputs);
  s.outputs = {{"y", y}};
  s.sizes = std::move(sizes);
  return s;
}

ProgramSpec spec(std::vector<Uop> inputs, std::vector<Output> outputs,
                 std::vector<NamedSize> sizes) {
  ProgramSpec s;
  s.inputs = std::move(inputs);
  s.outputs = std::move(outputs);
  s.sizes = std::move(sizes);
  return s;
}

Uop index_as(const IndexText& index, const Shape& shape, DType dtype) {
  return cast(iota(index, shape), dtype);
}

Uop from_end(const Uop& index, const IndexText& extent) {
  return where(index < 0, index + iota(extent, shape_of(index)), index);
}

NamedSize named_size(std::string name, std::string_view value) {
  return {std::move(name), parse_expr(value).expr};
}

Uop sigmoid(const Uop& x) { return 1 / (1 + exp(-x)); }

Uop sigmoid_of_exp(const Uop& x) {
  const Uop e = exp(-abs(x));
  const Uop below = e / (1 + e);
  return where(x > 0, 1 - below, below);
}

Form of_exp(std::function<ProgramSpec(const Instance&)> define) {
  return {.name = "of_exp",
          .meaning =
              "sigmoid(x) = e/(1 + e), e = exp(-|x|), where x > 0 as 1 - that: 0 where e "
              "underflows",
          .source = "oneDNN, eltwise_logistic",
          .define = std::move(define)};
}

Form one_pass(std::function<ProgramSpec(const Instance&)> define) {
  return {.name = "one_pass",
          .meaning =
              "var = mean(x^2) - mean(x)^2, which loses the digits that mean(x)^2 has more; "
              "not below 0 where its root is taken",
          .source =
              "the textbook algorithm; Chan, Golub and LeVeque, Algorithms for Computing the "
              "Sample Variance, 1983",
          .define = std::move(define)};
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

ParamDecl flag_param(std::string name, int default_value, std::string meaning) {
  ParamDecl flag = integer_param(std::move(name), 0, default_value, std::move(meaning));
  flag.upper = 1;
  return flag;
}

ParamDecl offset_param(std::string name, std::optional<double> default_value, std::string meaning) {
  ParamDecl offset = integer_param(std::move(name), 0, default_value, std::move(meaning));
  offset.lower.reset();
  return offset;
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

Uop image(DType dtype) { return input("x", dtype, {"N", "C", "H", "W"}); }

std::string spatial_letter(int axes, int axis) { return std::string(1, "DHW"[3 - axes + axis]); }

std::string window_index(int axis, int window, int tap) {
  return fmt::format("i{1}*$stride{0} + i{2}*$dilation{0} - $pads{0}", axis, window, tap);
}

std::vector<ParamDecl> window_params(int axes) {
  const char* const units[] = {"planes", "rows", "columns"};
  const char* const begins[] = {"in front", "at the top", "on the left"};
  const char* const ends[] = {"behind", "at the bottom", "on the right"};
  std::vector<ParamDecl> params;
  const auto add = [&](const char* name, int offset, int least, const char* meaning,
                       const char* const* sides) {
    for (int axis = 0; axis < axes; ++axis) {
      const int k = 3 - axes + axis;
      std::string text = fmt::format(fmt::runtime(meaning), units[k], sides[k]);
      params.push_back(integer_param(name + std::to_string(offset + axis), least, least, text));
    }
  };
  add("stride", 0, 1, "{} from one window to the next", begins);
  add("dilation", 0, 1, "{} from one tap to the next", begins);
  add("pads", 0, 0, "{} of padding {}", begins);
  add("pads", axes, 0, "{} of padding {}", ends);
  return params;
}

std::vector<NamedSize> window_sizes(const std::vector<std::string>& taps) {
  const int axes = static_cast<int>(taps.size());
  std::vector<NamedSize> sizes;
  for (int axis = 0; axis < axes; ++axis) {
    const std::string letter = spatial_letter(axes, axis);
    const std::string& t = taps[static_cast<std::size_t>(axis)];
    sizes.push_back(named_size(
        "O" + letter,
        fmt::format("({0} + $pads{1} + $pads{2} - $dilation{1}*({3} - 1) - 1)/$stride{1} + 1",
                    letter, axis, axis + axes, t)));
  }
  return sizes;
}

}  // namespace mote
