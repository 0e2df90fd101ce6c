// SPDX-License-Identifier: Apache-2.0
// The words of program text, as the parser knows them: docs/language.md is compared with them.
#pragma once

#include <string_view>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

struct LanguageWords {
  std::vector<std::string_view> statements;       ///< op, param, …
  std::vector<std::string_view> operators;        ///< of values: between two, or before one
  std::vector<std::string_view> functions;        ///< of elements: exp(x)
  std::vector<std::string_view> reductions;       ///< over axes: sum[1](x)
  std::vector<std::string_view> forms;            ///< with a syntax of their own: select[1](x, n)
  std::vector<std::string_view> scatter_ops;      ///< scatter[add](…)
  std::vector<std::string_view> constants;        ///< inf, nan, true, false
  std::vector<std::string_view> dtypes;           ///< also casts: f32(x)
  std::vector<std::string_view> joints;           ///< over, else, …: within the others
  std::vector<std::string_view> index_functions;  ///< in index text
};
LanguageWords language_words();

}  // namespace mote
