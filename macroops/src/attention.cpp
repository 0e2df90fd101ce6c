// Attention, and the rotation of its queries and keys by position.
#include <fmt/format.h>

#include <limits>

#include "families.h"

namespace mote {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Which attention: what has a loop or an output of its own is structure, not a parameter.
struct Form {
  bool softcap;
  bool lse;
};

/// Whether query i3 sees the key: not where that is more than `window` before or after the query's
/// own, or after it at all if causal. S + T is farther than any key.
Uop visible(const Shape& shape, const char* key) {
  const Expr own = parse_expr("i3 + $anchor*(S - T)").expr, ahead = parse_expr(key).expr - own;
  const auto limit = [](const char* window) {
    return parse_expr(fmt::format("{0} - min({0}, 0)*(S + T)", window)).expr;
  };
  return iota(ahead + limit("$window0"), shape) >= 0 &&
         iota(limit("$window1") - ahead, shape) >= 0 &&
         iota(parse_expr("(1 - $causal)*(S + T)").expr - ahead, shape) >= 0;
}

/// y and the log of the sum of exp(scores), both with an axis for the heads of k and v and one for
/// the queries that share a head. Keys that causal or the window hides are left out of every sum.
std::pair<Uop, Uop> attend(const Uop& q, const Uop& k, const Uop& v, const Uop& mask,
                           const Form& form) {
  const DType t = q.dtype();
  const Shape rows = {"B", "HK", "G", "T", "S"}, products = {"B", "HK", "G", "T", "S", "D"};
  const Shape values = {"B", "HK", "G", "T", "E", "S"};
  const IndexText head = "i1*G + i2";
  const Uop given = param("scale", t);
  const Uop scale = where(eq(given, 0), rsqrt(index_as("D", {}, t)), given);
  Uop scores = scale * sum_over(reindex(q, products, {"i0", head, "i3", "i5"}) *
                                    broadcast(k, products, {0, 1, 4, 5}),
                                {5});
  if (form.softcap) scores = param("softcap", t) * tanh(scores / param("softcap", t));
  if (mask) scores = scores + reindex(mask, rows, {"i0", head, "i3", "i4"});
  const Uop greatest = stop_gradient(max(where(visible(rows, "i4"), scores, -kInfinity), {4}));
  const Uop m = where(eq(greatest, -kInfinity), 0, greatest);
  const Uop e = exp(scores - m);
  const Uop total = sum_over(where(visible(rows, "i4"), e, 0), {4});
  const Uop weighted = broadcast(e, values, {0, 1, 2, 3, 5}) * broadcast(v, values, {0, 1, 5, 4});
  const Uop mixed = sum_over(where(visible(values, "i5"), weighted, 0), {5});
  const Uop sums = broadcast(total, shape_of(mixed), {0, 1, 2, 3});
  return {where(eq(sums, 0), 0, mixed / sums), squeeze(m, {4}) + log(total)};
}

ProgramSpec attention(const Instance& instance, const Form& form) {
  const DType t = instance.dtype;
  const Uop q = input("q", t, {"B", "h: HK*G", "T", "D"});
  const Uop k = input("k", t, {"B", "HK", "S", "D"});
  const Uop v = input("v", t, {"B", "HK", "S", "E"});
  const Uop mask = optional_input(instance, 3, "mask", {"1|B", "1|HK*G", "1|T", "1|S"});
  const auto [grouped, sums] = attend(q, k, v, mask, form);
  const Uop y = reindex(grouped, {"B", "h: HK*G", "T", "E"}, {"i0", "i1/G", "i1%G", "i2", "i3"});
  if (!form.lse) return spec({q, k, v, mask}, y);
  const Uop lse = reindex(sums, {"B", "h: HK*G", "T"}, {"i0", "i1/G", "i1%G", "i2"});
  return spec({q, k, v, mask}, {{"y", y}, {"lse", lse}});
}

OpRecord attention_record(const Form& form) {
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
  return {.name = std::string("attention") + (form.softcap ? "_softcap" : "") +
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
              ", -inf hides; a fully masked row gives 0, lse -inf",
          .source = std::string("PyTorch scaled_dot_product_attention; ONNX opset 23 Attention") +
                    (form.softcap ? ", softcap as corrected since (before the mask)" : ""),
          .define = [form](const Instance& i) { return attention(i, form); }};
}

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
      attention_record({.softcap = false, .lse = false}),
      attention_record({.softcap = false, .lse = true}),
      attention_record({.softcap = true, .lse = false}),
      attention_record({.softcap = true, .lse = true}),
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
