// SPDX-License-Identifier: Apache-2.0
// What the families share: one function each that returns its records, and short ways to say what
// records and definitions are made of. A definition returns its program without name, equation and
// parameters: instantiate() takes those from the record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mote/macroops/catalogue.h"

namespace mote {

std::vector<OpRecord> linear_ops();
std::vector<OpRecord> convolution_ops();
/// The forms winograd_f2 and winograd_f4 of conv2d.
std::vector<Form> winograd_forms();
std::vector<OpRecord> attention_ops();
std::vector<OpRecord> elementwise_ops();
std::vector<OpRecord> activation_ops();
std::vector<OpRecord> choice_ops();
std::vector<OpRecord> normalise_ops();
std::vector<OpRecord> batch_norm_ops();
std::vector<OpRecord> reduce_ops();
std::vector<OpRecord> spatial_ops();
std::vector<OpRecord> index_ops();
std::vector<OpRecord> move_ops();
std::vector<OpRecord> scatter_ops();
std::vector<OpRecord> random_ops();
std::vector<OpRecord> loss_ops();
std::vector<OpRecord> optimiser_ops();
std::vector<OpRecord> quantised_ops();
std::vector<OpRecord> recurrent_ops();
std::vector<OpRecord> resize_ops();

namespace dtypes {
using enum DType;
inline const std::vector<DType> kReal = {f32, f64, f16, bf16};
inline const std::vector<DType> kInteger = {i32, i64, i8, u8};
inline const std::vector<DType> kBool = {boolean};
/// For results that outgrow 8 bits: powers, sums of products.
inline const std::vector<DType> kWide = {f32, f64, f16, bf16, i32, i64};
inline const std::vector<DType> kSigned = {f32, f64, f16, bf16, i32, i64, i8};
inline const std::vector<DType> kNumber = {f32, f64, f16, bf16, i32, i64, i8, u8};
inline const std::vector<DType> kAll = {f32, f64, f16, bf16, i32, i64, i8, u8, boolean};
}  // namespace dtypes

/// Optional input k of the record: an empty handle where the instance leaves it out.
Uop optional_input(const Instance& instance, int k, std::string_view name, const Shape& shape);

/// The gradient of an op with one real output, its first, from that output's gradient.
using OneGradient = std::function<ProgramSpec(const Instance& instance, const Uop& gy)>;
/// Empty where that is.
WrittenGradient written(const OneGradient& gradient);

/// 1/(1 + exp(-x))
Uop sigmoid(const Uop& x);
/// The same as e/(1 + e), e = exp(-|x|), where x > 0 as 1 - that.
Uop sigmoid_of_exp(const Uop& x);
/// The form "of_exp" of what computes a sigmoid.
Form of_exp(std::function<ProgramSpec(const Instance&)> define);

/// How a variance is computed: the squares of what is left of x without the mean, or of x.
enum class Passes : std::uint8_t { two, one };
/// The form "one_pass" of what computes a variance.
Form one_pass(std::function<ProgramSpec(const Instance&)> define);

/// One output, y.
ProgramSpec spec(std::vector<Uop> inputs, const Uop& y, std::vector<NamedSize> sizes = {});

/// Outputs with names.
ProgramSpec spec(std::vector<Uop> inputs, std::vector<Output> outputs,
                 std::vector<NamedSize> sizes = {});

/// An index expression as a value of dtype, exact in a real one.
Uop index_as(const IndexText& index, const Shape& shape, DType dtype);

/// A negative index counts from the end of an axis of that extent.
Uop from_end(const Uop& index, const IndexText& extent);

/// A size with a name, its value as index text.
NamedSize named_size(std::string name, std::string_view value);

/// An integer >= least; required when it has no default.
ParamDecl integer_param(std::string name, std::int64_t least, std::optional<double> default_value,
                        std::string meaning);
/// 0 or 1.
ParamDecl flag_param(std::string name, int default_value, std::string meaning);
/// Any integer.
ParamDecl offset_param(std::string name, std::optional<double> default_value, std::string meaning);
/// A parameter of the instance's dtype: in an instance over integers it is an integer.
ParamDecl value_param(std::string name, double default_value, std::string meaning);

/// True where 0 <= index < extent.
Uop inside(const IndexText& index, const IndexText& extent, const Shape& shape);

/// The input x[N, C, H, W].
Uop image(DType dtype);

/// Spatial axes are the last ones of D, H, W: `axes` of them, 1 to 3.
std::string spatial_letter(int axes, int axis);
/// Where tap `tap` of the window at `window` (loop variables) reads along that axis.
std::string window_index(int axis, int window, int tap);
/// Per spatial axis: stride, dilation; then pads0, … in ONNX's order, all begins, then all ends.
/// For both convolution and pooling.
std::vector<ParamDecl> window_params(int axes);
/// OD, OH, OW of a window of that many taps (index text) sliding over D, H, W.
std::vector<NamedSize> window_sizes(const std::vector<std::string>& taps);

/// Loops of a convolution over `axes` spatial axes: taps[N, co, O…, ci, K…].
struct ConvolutionTaps {
  Shape image;                   ///< x: N, groups*CG, then (D,) (H,) W
  Shape kernel;                  ///< w: groups*CO, CG, then (KD,) (KH,) KW
  Shape taps;                    ///< of all products
  std::vector<IndexText> from;   ///< where a tap reads in x
  std::vector<int> kernel_axes;  ///< w's axes among those of taps
  Axes summed;                   ///< the axes of taps that a window runs over
  Uop in_image;                  ///< whether a tap lies in x; empty where there is no spatial axis
  std::vector<NamedSize> sizes;
};
ConvolutionTaps convolution_taps(int axes);
/// Those of window_params(), and groups.
std::vector<ParamDecl> convolution_params(int axes);

}  // namespace mote
