// SPDX-License-Identifier: Apache-2.0
// The parts of attention and its gradient. G heads of queries share one of keys: h = hk*G + g.
#pragma once

#include <cstdint>
#include <string>

#include "families.h"

namespace mote::attention {

/// The treatment of keys that causal or the window hides.
enum class Hidden : std::uint8_t {
  absent,     ///< no computation uses them
  multiplied  ///< -inf is added to their scores, and later values are multiplied by exp of that, 0
};

/// The variant of attention: a feature with a loop or an output of its own is structure, not a
/// parameter.
struct Form {
  bool softcap;
  bool lse;
  Hidden hidden = Hidden::absent;
};

/// The axes of values for each pair of query and key: B, HK, and at these positions G, T and S.
struct Pairs {
  Shape shape;
  int g, t, s;
};
const Pairs& by_query();  ///< [B, HK, G, T, S]: a row is one query's
const Pairs& by_key();    ///< [B, HK, S, G, T]: a row is one key's

struct Operands {
  Uop q, k, v, mask;  ///< [B, HK*G, T, D], [B, HK, S, D], [B, HK, S, E], broadcast to the scores
  std::vector<Uop> all() const { return {q, k, v, mask}; }
};
Operands operands(const Instance& instance);

/// Return x[B, HK*G, T, N] and x[B, HK, S, N] at each pair, with N as the last axis, and x[B, HK,
/// G, T] at each pair.
Uop of_query(const Uop& x, const Pairs& pairs);
Uop of_key(const Uop& x, const Pairs& pairs);
Uop of_row(const Uop& x, const Pairs& pairs);

/// Returns x, given at each pair (with or without a last axis), where the query sees the key, else
/// `otherwise`: causal and the window hide keys. If hidden keys are multiplied, returns all of x.
Uop where_seen(const Uop& x, const Pairs& pairs, const Form& form, double otherwise = 0);

/// Return [B, HK, G, T(, N)] as [B, HK*G, T(, N)], and back.
Uop joined(const Uop& x);
Uop grouped(const Uop& x);

struct Scores {
  Uop value;
  Uop slope;  ///< its derivative by the product of q and k
};
Scores scores(const Operands& in, const Pairs& pairs, const Form& form);

/// The softmax of each query's scores, by_query(): their maximum m, 0 where that is -inf, e =
/// exp(score - m), and the sum of e over the keys that the query sees. m and total are [B, HK, G,
/// T].
struct Softmax {
  Uop m, e, total;
};
Softmax softmax(const Uop& scores, const Form& form);

/// Returns g<input> for each input, from gy and, if the op gives lse, glse (or an empty handle). It
/// reads y, and lse if there is one.
ProgramSpec gradient(const Instance& instance, const Form& form, const Uop& gy, const Uop& glse);

}  // namespace mote::attention
