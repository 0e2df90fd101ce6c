// What the families share: one function each that returns its records, and short ways to say what
// records and definitions are made of. A definition returns its program without name, equation and
// parameters: instantiate() takes those from the record.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mote/macroops/catalogue.h"

namespace mote {

std::vector<OpRecord> linear_ops();
std::vector<OpRecord> elementwise_ops();
std::vector<OpRecord> normalise_ops();
std::vector<OpRecord> reduce_ops();
std::vector<OpRecord> spatial_ops();
std::vector<OpRecord> index_ops();

namespace dtypes {
inline const std::vector<DType> kReal = {DType::f32, DType::f64};
inline const std::vector<DType> kNumber = {DType::f32, DType::f64, DType::i32, DType::i64};
inline const std::vector<DType> kBool = {DType::boolean};
inline const std::vector<DType> kAll = {DType::f32, DType::f64, DType::i32, DType::i64,
                                        DType::boolean};
}  // namespace dtypes

/// Optional input k of the record: an empty handle where the instance leaves it out.
Uop optional_input(const Instance& instance, int k, std::string_view name, const Shape& shape);

/// One output, y.
ProgramSpec spec(std::vector<Uop> inputs, const Uop& y, std::vector<NamedSize> sizes = {});

/// A size with a name, its value as index text.
NamedSize named_size(std::string name, std::string_view value);

/// An integer >= least; required when it has no default.
ParamDecl integer_param(std::string name, std::int64_t least, std::optional<double> default_value,
                        std::string meaning);
/// A parameter of the instance's dtype: in an instance over integers it is an integer.
ParamDecl value_param(std::string name, double default_value, std::string meaning);

/// True where 0 <= index < extent.
Uop inside(const IndexText& index, const IndexText& extent, const Shape& shape);

/// Per spatial axis 0 and 1: stride, dilation; then pads0 … pads3 in ONNX's order. For both
/// convolution and pooling.
std::vector<ParamDecl> window_params();
/// OH, OW of a window of that many taps (index text) sliding over H, W.
std::vector<NamedSize> window_sizes(std::string_view taps0, std::string_view taps1);

}  // namespace mote
