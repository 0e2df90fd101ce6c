// SPDX-License-Identifier: Apache-2.0
// Reads the index of a flattened tensor as the indices that it was made of, and the reverse.
#pragma once

#include <functional>
#include <vector>

#include "ir/references.h"

namespace mote {

/// Returns the references of one tensor with other indices, of which the same is true: two
/// references are at one element if and only if all of their indices are equal. An index S·h + q
/// with 0 <= q < S becomes h and q; indices n / S and n % S become n, and n / S % T and n % S
/// become n % (S·T); each on the same axes of all references. `is_fixed` says which expressions
/// have one value in all that is compared, as S must. Empty if there is no such index.
std::vector<TensorReference> unflattened(const std::vector<const TensorReference*>& touched,
                                         const Facts& facts,
                                         const std::function<bool(const Expr&)>& is_fixed);

}  // namespace mote
