// SPDX-License-Identifier: Apache-2.0
// The elements of a constant as numbers: the shortest that read back as the same values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mote/base/text_cursor.h"
#include "mote/runtime/tensor.h"
#include "mote/runtime/tensor_form.h"

namespace mote::graph_text {

/// Returns the elements in row-major order, one text each. Elements on a device are fetched.
std::vector<std::string> element_texts(const Tensor& x);

/// A number with its sign.
Literal read_number(TextCursor& text);

/// Reads "[1, -nan]" into a tensor of that form. `text_size` is the number of bytes of the whole
/// text, which bounds the elements that it can hold; `gaps` is the number of bytes that gaps
/// between elements may still take, of which the tensor's are taken off.
Tensor read_elements(TextCursor& text, const TensorForm& form, std::size_t text_size,
                     std::int64_t& gaps);

}  // namespace mote::graph_text
