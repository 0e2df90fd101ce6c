// SPDX-License-Identifier: Apache-2.0
// Reads forms as to_string(TensorForm) writes them, and "f32[?]".
#pragma once

#include "mote/base/text_cursor.h"
#include "mote/runtime/tensor_form.h"

namespace mote::graph_text {

/// A form whose shape may not be known yet.
struct ReadForm {
  TensorForm form;
  bool is_known = true;
};

ReadForm read_form(TextCursor& text);
/// Reads a dtype. Throws Error with near names.
DType read_dtype(TextCursor& text);

}  // namespace mote::graph_text
