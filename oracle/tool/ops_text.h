// SPDX-License-Identifier: Apache-2.0
// How the parts of an op read, in lists, tables and documentation.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mote/macroops/catalogue.h"

namespace mote::tool {

std::string dtype_names(const std::vector<DType>& dtypes);
std::string input_names(const OpRecord& record);  ///< "x w [b]": an optional one in brackets
std::string output_names(const Program& program);
/// What of each input is needed, a line each: "gy value", "b shape".
std::string needs_text(const Program& program);
/// "|gy|x|(b)| -> |gx|gb|": what is in brackets is needed for its shape alone.
std::string mask_text(const Program& program);
/// Of the op's gradient; "" where it has none.
std::string gradient_text(const OpRecord& record);

/// The axes as a definition writes them: "1|P" where an input may be 1 and repeats, "OH" where the
/// extent has that name.
std::vector<std::string> axis_texts(const Program& program, const Uop& tensor);
std::string shape_text(const Program& program, const Uop& tensor);  ///< "[N, C, OH, OW]"

std::string range_text(const ParamDecl& p);  ///< "int >= 1, default 1"
/// The text before a number at the end, and that number, or -1.
std::pair<std::string, int> numbered(const std::string& name);
/// Names in a row, with stride0 stride1 as stride0-1.
std::string param_names(const std::vector<ParamDecl>& params);
std::string in_place_text(const OpRecord& record, const Program& program);  ///< "c -> y"

/// The whole catalogue as one page of Markdown.
std::string ops_markdown();

}  // namespace mote::tool
