// SPDX-License-Identifier: Apache-2.0
// Ops that copy elements to other positions and compute nothing.
#include <fmt/format.h>

#include "families.h"

namespace mote {
namespace {

constexpr int kPadded = 4;  ///< the number of axes that pads apply to

/// Returns the extents after padding.
Shape padded_shape() {
  Shape shape;
  for (int a = 0; a < kPadded; ++a) {
    shape.emplace_back(
        fmt::format("{0}: {1} + $pads{2} + $pads{3}", "ijkl"[a], "IJKL"[a], a, a + kPadded));
  }
  return shape;
}

/// Pads x: `location` is the index that each axis reads, text over {0}, the position along it, and
/// {1}, its extent.
ProgramSpec pad(const Instance& instance, const char* location, bool constant) {
  const Uop x = input("x", instance.dtype, {"I", "J", "K", "L"});
  const Shape shape = padded_shape();
  std::vector<IndexText> from;
  Uop in_x;
  for (int a = 0; a < kPadded; ++a) {
    const std::string extent(1, "IJKL"[a]), at = fmt::format("(i{0} - $pads{0})", a);
    from.emplace_back(fmt::format(fmt::runtime(location), at, extent).c_str());
    const Uop in_axis = inside(from.back(), extent.c_str(), shape);
    in_x = in_x ? in_x && in_axis : in_axis;
  }
  const Uop y = reindex(x, shape, from);
  return spec({x}, constant ? where(in_x, y, param("value", instance.dtype)) : y);
}

std::vector<ParamDecl> pad_params() {
  std::vector<ParamDecl> params;
  for (int side = 0; side < 2; ++side) {
    for (int a = 0; a < kPadded; ++a) {
      params.push_back(offset_param(fmt::format("pads{}", side * kPadded + a), 0,
                                    fmt::format("elements added {} axis {}; negative crops",
                                                side == 0 ? "before" : "after", a)));
    }
  }
  return params;
}

OpRecord pad_record(std::string mode, std::string equation, const char* location,
                    std::string policy) {
  const bool constant = mode == "constant";
  std::vector<ParamDecl> params = pad_params();
  if (constant) params.push_back(value_param("value", 0, "what is added"));
  return {.name = "pad_" + mode,
          .family = "index",
          .equation = std::move(equation),
          .inputs = {{"x"}},
          .dtypes = dtypes::kAll,
          .params = std::move(params),
          .in_place = {},
          .policy = std::move(policy),
          .source = fmt::format("ONNX opset {} Pad, mode = {}", mode == "wrap" ? 19 : 17, mode),
          .define = [=](const Instance& instance) { return pad(instance, location, constant); }};
}

ProgramSpec concat(const Instance& instance) {
  const Uop a = input("a", instance.dtype, {"R", "NA", "C"});
  const Uop b = input("b", instance.dtype, {"R", "NB", "C"});
  const Shape shape = {"R", "n: NA + NB", "C"};
  return spec({a, b},
              where(iota("i1", shape) < iota("NA", shape), reindex(a, shape, {"i0", "i1", "i2"}),
                    reindex(b, shape, {"i0", "i1 - NA", "i2"})));
}

/// Takes a slice; a negative start counts from the end.
ProgramSpec slice(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  const char* at = "$start + N*min(max(-$start, 0), 1) + i1*$step";
  return spec({x}, reindex(x, {"R", "n: max($count, 0)", "C"}, {"i0", at, "i2"}));
}

ProgramSpec tile(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"I", "J", "K", "L"});
  const Shape shape = {"i: I*$repeats0", "j: J*$repeats1", "k: K*$repeats2", "l: L*$repeats3"};
  return spec({x}, reindex(x, shape, {"i0%I", "i1%J", "i2%K", "i3%L"}));
}

ProgramSpec flip(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  return spec({x}, reindex(x, shape_of(x), {"i0", "N - 1 - i1", "i2"}));
}

OpRecord copy(std::string name, std::string equation, std::vector<InputDecl> inputs,
              std::vector<ParamDecl> params, std::string policy, std::string source,
              ProgramSpec (*define)(const Instance&)) {
  return {.name = std::move(name),
          .family = "index",
          .equation = std::move(equation),
          .inputs = std::move(inputs),
          .dtypes = dtypes::kAll,
          .params = std::move(params),
          .in_place = {},
          .policy = std::move(policy),
          .source = std::move(source),
          .define = define};
}

std::vector<ParamDecl> tile_params() {
  std::vector<ParamDecl> params;
  for (int a = 0; a < 4; ++a) {
    params.push_back(integer_param(fmt::format("repeats{}", a), 1, 1,
                                   fmt::format("times that axis {} repeats", a)));
  }
  return params;
}

}  // namespace

std::vector<OpRecord> move_ops() {
  const std::string at = "y[i, j, k, l] = x[p(i), p(j), p(k), p(l)], p(i) = ";
  const std::string empty = "negative pads crop; an axis of extent 0 is padded with 0";
  return {
      pad_record("constant",
                 "y[i, j, k, l] = x[i - pads0, j - pads1, k - pads2, l - pads3], or value outside",
                 "{0}", "negative pads crop"),
      pad_record("edge", at + "i - pads0 moved to the nearest end", "min(max({0}, 0), {1} - 1)",
                 empty),
      pad_record("reflect",
                 at + "i - pads0 mirrored at the first and last element, which stand "
                      "once; again and again where pads exceed the extent",
                 "min({0}%max(2*{1} - 2, 1), 2*{1} - 2 - {0}%max(2*{1} - 2, 1))", empty),
      pad_record("wrap", at + "(i - pads0) mod I", "{0}%max({1}, 1)", empty),
      copy("concat", "y[r, n, c] = n < NA ? a[r, n, c] : b[r, n - NA, c]", {{"a"}, {"b"}}, {},
           "two tensors; more are concatenated in turn, or each copied into a view of y",
           "ONNX opset 17 Concat", concat),
      copy("slice", "y[r, n, c] = x[r, start + n*step, c], 0 <= n < count", {{"x"}},
           {offset_param("start", 0, "first index; negative counts from the end"),
            offset_param("count", std::nullopt, "how many; none where it is negative"),
            offset_param("step", 1, "from one index to the next; negative goes backwards")},
           "0 outside x, which slices by start and end never reach; a copy, where a view costs "
           "nothing",
           "ONNX opset 17 Slice, its end as a count", slice),
      copy("tile", "y[i, j, k, l] = x[i mod I, j mod J, k mod K, l mod L]", {{"x"}}, tile_params(),
           "", "ONNX opset 17 Tile", tile),
      copy("flip", "y[r, n, c] = x[r, N - 1 - n, c]", {{"x"}}, {},
           "a copy; a view with a negative stride costs nothing", "PyTorch flip", flip),
  };
}

}  // namespace mote
