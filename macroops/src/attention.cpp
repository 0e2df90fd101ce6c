// SPDX-License-Identifier: Apache-2.0
// Attention, and the rotation of its queries and keys by position.
#include "attention.h"

#include <fmt/format.h>

#include <limits>

namespace mote {
namespace attention {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

IndexText axis(int k) { return parse_expr(fmt::format("i{}", k)).expr; }
IndexText head(const Pairs& pairs) { return parse_expr(fmt::format("i1*G + i{}", pairs.g)).expr; }

/// Returns the pairs' axes and one more, as long as x's last.
Shape with_last(const Pairs& pairs, const Uop& x) {
  Shape shape = pairs.shape;
  shape.push_back(shape_of(x).back());
  return shape;
}

/// True where the query sees the key: the key is at most window0 before and at most window1 after
/// the query's own, and not after it if causal. S + T is farther than any key.
Uop visible(const Pairs& pairs, const Shape& shape) {
  const Expr own = axis(pairs.t).expr + parse_expr("$anchor*(S - T)").expr;
  const Expr ahead = axis(pairs.s).expr - own;
  const auto limit = [](const char* window) {
    return parse_expr(fmt::format("{0} - min({0}, 0)*(S + T)", window)).expr;
  };
  return iota(ahead + limit("$window0"), shape) >= 0 &&
         iota(limit("$window1") - ahead, shape) >= 0 &&
         iota(parse_expr("(1 - $causal)*(S + T)").expr - ahead, shape) >= 0;
}

}  // namespace

const Pairs& by_query() {
  static const Pairs pairs = {{"B", "HK", "G", "T", "S"}, 2, 3, 4};
  return pairs;
}

const Pairs& by_key() {
  static const Pairs pairs = {{"B", "HK", "S", "G", "T"}, 3, 4, 2};
  return pairs;
}

Operands operands(const Instance& instance) {
  const DType t = instance.dtype;
  return {input("q", t, {"B", "h: HK*G", "T", "D"}), input("k", t, {"B", "HK", "S", "D"}),
          input("v", t, {"B", "HK", "S", "E"}),
          optional_input(instance, 3, "mask", {"1|B", "1|HK*G", "1|T", "1|S"})};
}

Uop of_query(const Uop& x, const Pairs& pairs) {
  return reindex(x, with_last(pairs, x), {"i0", head(pairs), axis(pairs.t), "i5"});
}

Uop of_key(const Uop& x, const Pairs& pairs) {
  return broadcast(x, with_last(pairs, x), {0, 1, pairs.s, 5});
}

Uop of_row(const Uop& x, const Pairs& pairs) {
  return broadcast(x, pairs.shape, {0, 1, pairs.g, pairs.t});
}

Uop where_seen(const Uop& x, const Pairs& pairs, const Form& form, double otherwise) {
  return form.hidden == Hidden::multiplied ? x : where(visible(pairs, shape_of(x)), x, otherwise);
}

Uop joined(const Uop& x) {
  Shape shape = {"B", "h: HK*G", "T"};
  std::vector<IndexText> from = {"i0", "i1/G", "i1%G", "i2"};
  if (x.rank() > 4) {
    shape.push_back(shape_of(x).back());
    from.emplace_back("i3");
  }
  return reindex(x, shape, from);
}

Uop grouped(const Uop& x) {
  Shape shape = {"B", "HK", "G", "T"};
  std::vector<IndexText> from = {"i0", "i1*G + i2", "i3"};
  if (x.rank() > 3) {
    shape.push_back(shape_of(x).back());
    from.emplace_back("i4");
  }
  return reindex(x, shape, from);
}

Scores scores(const Operands& in, const Pairs& pairs, const Form& form) {
  const DType t = in.q.dtype();
  const Uop given = param("scale", t);
  const Uop scale = where(eq(given, 0), rsqrt(index_as("D", {}, t)), given);
  Scores s = {scale * sum_over(of_query(in.q, pairs) * of_key(in.k, pairs), {5}), scale};
  if (form.softcap) {
    const Uop capped = tanh(s.value / param("softcap", t));
    s = {param("softcap", t) * capped, (1 - capped * capped) * scale};
  }
  if (in.mask)
    s.value =
        s.value + reindex(in.mask, pairs.shape, {"i0", head(pairs), axis(pairs.t), axis(pairs.s)});
  if (form.hidden == Hidden::multiplied)
    s.value = where(visible(pairs, pairs.shape), s.value, s.value - kInfinity);
  return s;
}

Softmax softmax(const Uop& scores, const Form& form) {
  const Uop greatest = stop_gradient(max(where_seen(scores, by_query(), form, -kInfinity), {4}));
  const Uop m = where(eq(greatest, -kInfinity), 0, greatest);
  const Uop e = exp(scores - m);
  return {squeeze(m, {4}), e, sum_over(where_seen(e, by_query(), form), {4})};
}

namespace {

/// The point at which softmax divides by its sum: once, after the values are mixed, or in each
/// weight.
enum class Division : std::uint8_t { last, of_weights };

/// Returns y and lse, both by groups of heads.
std::pair<Uop, Uop> attend(const Operands& in, const Form& form, Division division) {
  const Pairs by_value = {{"B", "HK", "G", "T", "E", "S"}, 2, 3, 5};
  const Softmax s = softmax(scores(in, by_query(), form).value, form);
  Uop weights = s.e;
  if (division == Division::of_weights) {
    const Uop sums = broadcast(s.total, shape_of(weights), {0, 1, 2, 3});
    weights = where(eq(sums, 0), 0, weights / sums);
  }
  const Uop weighted = broadcast(weights, by_value.shape, {0, 1, 2, 3, 5}) *
                       broadcast(in.v, by_value.shape, {0, 1, 5, 4});
  const Uop mixed = sum_over(where_seen(weighted, by_value, form), {5});
  if (division == Division::of_weights) return {mixed, s.m + log(s.total)};
  const Uop sums = broadcast(s.total, shape_of(mixed), {0, 1, 2, 3});
  return {where(eq(sums, 0), 0, mixed / sums), s.m + log(s.total)};
}

ProgramSpec define(const Instance& instance, const Form& form, Division division) {
  const Operands in = operands(instance);
  const auto [y, lse] = attend(in, form, division);
  if (!form.lse) return spec(in.all(), joined(y));
  return spec(in.all(), {{"y", joined(y)}, {"lse", joined(lse)}});
}

mote::Form divided_weights(const Form& form) {
  return {.name = "divided_weights",
          .meaning =
              "p[s] = e[s]/sum e is found before it is multiplied by v, so that its rounding is "
              "that of a share, which is at most 1",
          .source = "cuDNN, scaled dot product attention as a graph of operations",
          .define = [form](const Instance& i) { return define(i, form, Division::of_weights); }};
}

/// Returns the form of an op in which keys that the definition leaves out are multiplied by 0.
mote::Form hidden_multiplied(Form form) {
  form.hidden = Hidden::multiplied;
  return {.name = "hidden_multiplied",
          .meaning =
              "hidden keys have -inf added to their scores and weights of 0, by which v is "
              "multiplied: NaN and infinities in a hidden k or v get through; weights are divided "
              "before that, as in divided_weights",
          .source = "PyTorch scaled_dot_product_attention, the function in its documentation",
          .define = [form](const Instance& i) { return define(i, form, Division::of_weights); },
          .differentiated = true,
          .gradient =
              [form](const Instance& i, std::span<const Uop> g) {
                return gradient(i, form, g[0], form.lse ? g[1] : Uop());
              }};
}

OpRecord record(const Form& form) {
  std::vector<ParamDecl> params = {
      value_param("scale", 0, "factor of the scores; 0 stands for 1/sqrt(D)"),
      flag_param("causal", 0, "1: a query sees no key after its own"),
      flag_param("anchor", 0,
                 "0: a query's own key is t, from the top left; 1: t + S - T, from the bottom "
                 "right"),
      integer_param("window0", -1, -1, "keys before its own that a query sees; -1: all"),
      integer_param("window1", -1, -1, "keys after its own that a query sees; -1: all")};
  if (form.softcap) {
    params.push_back(value_param("softcap", 50, "bound of the scores before the mask, above 0"));
  }
  const std::string scores = "scale * sum_d q[b, h, t, d] * k[b, h/G, s, d]";
  return {
      .name = std::string("attention") + (form.softcap ? "_softcap" : "") +
              (form.lse ? "_with_lse" : ""),
      .family = "linear",
      .equation = "y[b, h, t, e] = sum_s p[s] * v[b, h/G, s, e], p = softmax_s (" +
                  (form.softcap ? "softcap * tanh(" + scores + " / softcap)" : scores) +
                  " (+ mask[b, h, t, s] if there is mask))" +
                  (form.lse ? "; lse[b, h, t] = the log of softmax's sum of exp" : ""),
      .inputs = {{"q"}, {"k"}, {"v"}, {"mask", true}},
      .dtypes = dtypes::kReal,
      .params = std::move(params),
      .in_place = {},
      .policy =
          "G heads of queries share one of k and v; keys that causal or the window hides "
          "do not exist; mask is added" +
          std::string(form.softcap ? " after the cap" : "") +
          ": -inf makes a key's weight 0, but v is still multiplied by that, so that a NaN or an "
          "infinity in its v shows, as do a NaN or +inf in its score; a row whose weights are all "
          "0 gives 0, lse -inf",
      .source = std::string("PyTorch scaled_dot_product_attention; ONNX opset 23 Attention") +
                (form.softcap ? ", softcap as corrected since (before the mask)" : ""),
      .define = [form](const Instance& i) { return define(i, form, Division::last); },
      .gradient =
          [form](const Instance& i, std::span<const Uop> g) {
            return gradient(i, form, g[0], form.lse ? g[1] : Uop());
          },
      .narrow_gradient = !form.softcap && !form.lse,
      .forms = {divided_weights(form), hidden_multiplied(form)},
      .optional_outputs = form.lse ? std::vector<std::string>{"lse"} : std::vector<std::string>{}};
}

}  // namespace
}  // namespace attention

namespace {

ProgramSpec rope(const Instance& instance) {
  const DType t = instance.dtype;
  const Uop x = input("x", t, {"B", "H", "T", "pair: 2", "P"});
  const Shape shape = shape_of(x);
  const Uop power = index_as("-i4", shape, t) / index_as("P", shape, t);
  const Uop angle = index_as("i2 + $offset", shape, t) * pow(param("base", t), power);
  const Uop s = map(MapOp::sin, std::vector<Uop>{angle});
  const Uop c = map(MapOp::cos, std::vector<Uop>{angle});
  const Uop partner = reindex(x, shape, {"i0", "i1", "i2", "1 - i3", "i4"});
  return spec({x}, x * c + partner * where(eq(iota("i3", shape), 0), -s, s));
}

}  // namespace

std::vector<OpRecord> attention_ops() {
  return {
      attention::record({.softcap = false, .lse = false}),
      attention::record({.softcap = false, .lse = true}),
      attention::record({.softcap = true, .lse = false}),
      attention::record({.softcap = true, .lse = true}),
      {.name = "rope",
       .family = "sequence",
       .equation = "y[0, p] = x[0, p]*cos a - x[1, p]*sin a, y[1, p] = x[1, p]*cos a + "
                   "x[0, p]*sin a, a = (t + offset) * base^(-p/P), for each b, h, t",
       .inputs = {{"x"}},
       .dtypes = dtypes::kReal,
       .params = {offset_param("offset", 0, "position of t = 0"),
                  value_param("base", 10000, "the slowest wavelength is near 2 pi base")},
       .in_place = {},
       .policy = "both pairings are strides of x[B, H, T, 2, P]: halves (d, d + P) are its "
                 "row-major view, neighbours (2p, 2p + 1) the view with strides 1 and 2",
       .source = "Su et al., RoFormer, 2021; ONNX opset 23 RotaryEmbedding",
       .define = rope},
  };
}

}  // namespace mote
