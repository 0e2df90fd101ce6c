// SPDX-License-Identifier: Apache-2.0
// Prints the parts of an op for lists, tables and documentation.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mote/macroops/catalogue.h"

namespace mote::tool {

std::string dtype_names(const std::vector<DType>& dtypes);
std::string input_names(const OpRecord& record);  ///< "x w [b]"; optional inputs in brackets
std::string output_names(const Program& program);
/// A line for each input that says what is needed of it: "gy value", "b shape".
std::string needs_text(const Program& program);
/// The text "|gy|x|(b)| -> |gx|gb|"; only the shape of inputs in brackets is needed.
std::string mask_text(const Program& program);
/// The mask_text() of the op's gradient; "" without a gradient.
std::string gradient_text(const OpRecord& record);

/// The axes as in the definition: "1|P" if an input may be 1 and repeats, "OH" if the extent has
/// that name.
std::vector<std::string> axis_texts(const Program& program, const Uop& tensor);
std::string shape_text(const Program& program, const Uop& tensor);  ///< "[N, C, OH, OW]"

std::string range_text(const ParamDecl& p);  ///< "int >= 1, default 1"
/// The text before a final number, and that number, or -1.
std::pair<std::string, int> numbered(const std::string& name);
/// The names in a row, with stride0 stride1 as stride0-1.
std::string param_names(const std::vector<ParamDecl>& params);
std::string in_place_text(const OpRecord& record, const Program& program);  ///< "c -> y"

/// The whole catalogue as one page of Markdown.
std::string ops_markdown();

}  // namespace mote::tool
