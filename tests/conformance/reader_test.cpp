// SPDX-License-Identifier: Apache-2.0
// Tests the reader of ONNX files: every element type in both of its forms, and only Error for bytes
// that are no such file.
#include <gtest/gtest.h>

#include <bit>
#include <functional>

#include "encode.h"
#include "kernels.h"
#include "memory.h"
#include "model.h"
#include "mote/base/error.h"
#include "wire.h"

namespace mote::onnx {
namespace {

using namespace std::string_literals;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}
std::string rejected_tensor(const std::string& bytes) {
  return message_of([&] { parse_tensor(bytes); });
}

TEST(Wire, ReadsVarintsToTheirLastBit) {
  for (const std::uint64_t v : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128},
                                std::uint64_t{1} << 63U, ~std::uint64_t{0}}) {
    const std::string bytes = varint(v);
    WireReader reader(bytes);
    EXPECT_EQ(reader.varint(), v);
    EXPECT_TRUE(reader.done());
  }
}

TEST(Wire, RejectsWhatIsNoField) {
  const auto read = [](const std::string& bytes) {
    return message_of([&] { WireReader(bytes).next(); });
  };
  EXPECT_EQ(read(std::string(10, '\xFF')), "protobuf: a varint is longer than 64 bits");
  EXPECT_EQ(read(std::string(9, '\xFF') + "\x02"), "protobuf: a varint is longer than 64 bits");
  EXPECT_EQ(read("\x0A\x05"
                 "abc"),
            "protobuf: cut off: 5 bytes announced, 3 left");
  EXPECT_EQ(read("\x0B"), "protobuf: field 1 has wire type 3, which is not read");
  EXPECT_EQ(read("\x02\x01"s + "a"), "protobuf: a field has number 0");
  EXPECT_EQ(read("\x0D\x01\x02"), "protobuf: cut off: 4 bytes announced, 2 left");
}

TEST(Wire, RejectsAnotherWireType) {
  const std::string bytes = field(8, 7);
  const Field f = WireReader(bytes).next();
  EXPECT_EQ(integer_of(f), 7);
  EXPECT_THROW(bytes_of(f), Error);
  EXPECT_THROW(float_of(f), Error);
  std::vector<std::uint64_t> values;
  EXPECT_THROW(append_fixed(f, WireType::fixed32, values), Error);
}

TEST(Tensor, TypedFieldsAndRawBytesAgree) {
  struct Case {
    ElementType type;
    std::string typed, raw;  // two elements in each form
  };
  const auto single = [](float v) { return std::uint64_t{std::bit_cast<std::uint32_t>(v)}; };
  const auto both = [](std::uint64_t number, std::uint64_t a, std::uint64_t b) {
    return field(number, varint(a) + varint(b));
  };
  const std::uint64_t minus_two = ~std::uint64_t{1};
  const std::vector<Case> cases = {
      {ElementType::float32, fixed_field(4, single(1.5F), 4) + fixed_field(4, single(-2), 4),
       "\x00\x00\xC0\x3F\x00\x00\x00\xC0"s},
      {ElementType::float64,
       fixed_field(10, std::bit_cast<std::uint64_t>(1.0), 8) + fixed_field(10, 0, 8),
       "\x00\x00\x00\x00\x00\x00\xF0\x3F"s + std::string(8, '\0')},
      {ElementType::int8, both(5, minus_two, 3), "\xFE\x03"},
      {ElementType::uint8, both(5, 254, 3), "\xFE\x03"},
      {ElementType::int16, both(5, minus_two, 3), "\xFE\xFF\x03\x00"s},
      {ElementType::uint16, both(5, 258, 3), "\x02\x01\x03\x00"s},
      {ElementType::float16, both(5, 0x3C00, 0xC000), "\x00\x3C\x00\xC0"s},
      {ElementType::bfloat16, both(5, 0x3F80, 0xC000), "\x80\x3F\x00\xC0"s},
      {ElementType::int32, both(5, minus_two, 3), "\xFE\xFF\xFF\xFF\x03\x00\x00\x00"s},
      {ElementType::boolean, both(5, 1, 0), "\x01\x00"s},
      {ElementType::uint32, both(11, 258, 3), "\x02\x01\x00\x00\x03\x00\x00\x00"s},
      {ElementType::int64, both(7, minus_two, 3),
       "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x03\x00\x00\x00\x00\x00\x00\x00"s},
      {ElementType::uint64, both(11, 1, 3),
       "\x01\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00"s},
      {ElementType::float8e5m2, both(5, 0x3C, 0xC0), "\x3C\xC0"},
      {ElementType::uint4, field(5, 0x21), "\x21"},
      {ElementType::complex64,
       fixed_field(4, 1, 4) + fixed_field(4, 2, 4) + fixed_field(4, 3, 4) + fixed_field(4, 4, 4),
       "\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x04\x00\x00\x00"s}};
  for (const Case& c : cases) {
    const auto type = static_cast<std::uint64_t>(c.type);
    EXPECT_EQ(parse_tensor(tensor(type, 2, c.typed)).bytes, c.raw) << name(c.type);
    EXPECT_EQ(parse_tensor(tensor(type, 2, field(9, c.raw))).bytes, c.raw) << name(c.type);
  }
  const TensorData text = parse_tensor(tensor(8, 2, field(6, "ab") + field(6, "")));
  EXPECT_EQ(text.strings, (std::vector<std::string>{"ab", ""}));
}

TEST(Tensor, BecomesAnArrayWhereMoteHasTheElementType) {
  const TensorData data = parse_tensor(tensor(6, 2, field(5, varint(7) + varint(~0ULL))));
  EXPECT_EQ(to_array(data), (Array{DType::i32, {2}, {7, -1}}));
  TensorData other = parse_tensor(tensor(4, 1, field(5, 0x3FC0)));
  EXPECT_EQ(to_array(other, {"x", true, ElementType::bfloat16}), (Array{DType::bf16, {1}, {1.5}}));
  EXPECT_THROW(to_array(other), NotApplicable);
}

TEST(Tensor, RejectsWhatDoesNotFitItsShape) {
  EXPECT_EQ(rejected_tensor(tensor(1, 2, field(9, "abcd"))),
            "onnx tensor: got 4 bytes, expected 8 for 2 elements of float32");
  EXPECT_EQ(rejected_tensor(tensor(8, 1, "")),
            "onnx tensor: got 0 strings, expected 1 for 1 elements of string");
  EXPECT_EQ(rejected_tensor(tensor(1, ~0ULL, "")), "onnx tensor: extent -1 is below zero");
  EXPECT_EQ(rejected_tensor(field(1, 1ULL << 40U) + field(1, 1ULL << 40U) + field(2, 1)),
            "onnx tensor: its extents multiply to more than 2^56 elements");
  EXPECT_EQ(rejected_tensor(tensor(99, 1, "")), "onnx tensor: there is no element type 99");
  EXPECT_EQ(rejected_tensor(field(1, 1)), "onnx tensor: it has no element type");
  EXPECT_EQ(rejected_tensor(tensor(1, 1, field(4, "abc"))),
            "protobuf: field 4 packs 3 bytes, expected a multiple of 4");
  EXPECT_EQ(rejected_tensor(tensor(1, 1, field(13, "elsewhere"))),
            "onnx tensor: its data is in another file");
}

/// Returns y = LeakyRelu(x), with an initializer, one attribute of each kind and an opset.
std::string model_bytes() {
  const std::string attributes =
      field(5, field(1, "alpha") + fixed_field(2, std::bit_cast<std::uint32_t>(0.5F), 4)) +
      field(5, field(1, "axis") + field(3, ~0ULL)) + field(5, field(1, "mode") + field(4, "edge")) +
      field(5, field(1, "value") + field(5, tensor(7, 1, field(7, 9)))) +
      field(5, field(1, "scales") + field(7, fixed_field(7, 0, 4).substr(1))) +
      field(5, field(1, "pads") + field(8, 1) + field(8, 2)) +
      field(5, field(1, "then_branch") + field(6, "graph"));
  const std::string node =
      field(1, "x") + field(1, "") + field(2, "y") + field(4, "LeakyRelu") + attributes;
  const std::string tensor_type = field(2, field(1, field(1, 1)));
  const std::string graph = field(1, node) +
                            field(5, field(8, "w") + tensor(9, 1, field(9, "\1"))) +
                            field(11, field(1, "x") + tensor_type) +
                            field(12, field(1, "y") + field(2, field(4, "sequence")));
  return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17));
}

TEST(Model, ReadsNodesAttributesAndOpsets) {
  const Model model = parse_model(model_bytes());
  EXPECT_EQ(model.opsets.at(""), 17);
  ASSERT_EQ(model.graph.nodes.size(), 1U);
  const Node& node = model.graph.nodes[0];
  EXPECT_EQ(node.op_type, "LeakyRelu");
  EXPECT_EQ(node.inputs, (std::vector<std::string>{"x", ""}));
  EXPECT_EQ(node.attributes.at("alpha").f, 0.5F);
  EXPECT_EQ(node.attributes.at("axis").i, -1);
  EXPECT_EQ(node.attributes.at("mode").s, "edge");
  EXPECT_EQ(to_array(*node.attributes.at("value").t), (Array{DType::i64, {1}, {9}}));
  EXPECT_EQ(node.attributes.at("scales").floats, std::vector<float>{0});
  EXPECT_EQ(node.attributes.at("pads").ints, (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(node.attributes.at("then_branch").has_graph);
  EXPECT_EQ(model.graph.initializers.at(0).name, "w");
  EXPECT_TRUE(model.graph.inputs.at(0).is_tensor);
  EXPECT_EQ(model.graph.inputs.at(0).type, ElementType::float32);
  EXPECT_FALSE(model.graph.outputs.at(0).is_tensor);
}

TEST(Model, AnyDamageIsAnErrorOrAnotherModel) {
  const std::string whole = model_bytes();
  int rejected = 0;
  const auto read = [&](const std::string& bytes) {
    try {
      parse_model(bytes);
    } catch (const Error&) {
      ++rejected;
    }
  };
  for (std::size_t length = 0; length < whole.size(); ++length) read(whole.substr(0, length));
  EXPECT_GT(rejected, 100);
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    read(damaged);
  }
  EXPECT_GT(rejected, 500);
}

TEST(Model, WithoutGraphIsRejected) {
  EXPECT_EQ(message_of([] { parse_model(""); }), "onnx model: there is no graph in it");
}

}  // namespace
}  // namespace mote::onnx
