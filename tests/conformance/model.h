// SPDX-License-Identifier: Apache-2.0
// ONNX models and tensors as their files hold them: plain values, read from protobuf's wire format.
// Parts that no conformance test needs (subgraphs, metadata, sparse tensors) are only recorded or
// left out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mote::onnx {

/// Element types by ONNX's numbers.
enum class ElementType : std::int32_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26
};

/// Throws mote::Error if there is no such number.
ElementType element_type(std::int64_t number);
std::string_view name(ElementType type);  ///< "float32", …
/// Returns the bytes of one element; 0 for strings, 1 for denser types.
std::size_t size_of(ElementType type);

/// Row-major elements, little-endian, in `bytes`; strings in `strings`.
struct TensorData {
  std::string name;
  ElementType type = ElementType::undefined;
  std::vector<std::int64_t> shape;
  std::string bytes;
  std::vector<std::string> strings;
};

struct Attribute {
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::optional<TensorData> t;
  bool has_graph = false;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
};

struct Node {
  std::string op_type;
  std::string domain;                ///< "" is ai.onnx
  std::vector<std::string> inputs;   ///< "" if an optional input is left out
  std::vector<std::string> outputs;  ///< likewise
  std::map<std::string, Attribute> attributes;
};

/// An input or output of a graph: a tensor, or a sequence, map or optional.
struct ValueInfo {
  std::string name;
  bool is_tensor = false;
  ElementType type = ElementType::undefined;  ///< the type of a tensor's elements
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<TensorData> initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
};

struct Model {
  Graph graph;
  std::map<std::string, std::int64_t> opsets;  ///< version by domain
};

// These functions parse the bytes of a file. They throw mote::Error on malformed data: truncated
// fields, extents below zero or too large, a number of elements that differs from the shape's.
Model parse_model(std::string_view bytes);
TensorData parse_tensor(std::string_view bytes);

/// Returns a file's bytes. Throws mote::Error.
std::string read_file(const std::string& path);

}  // namespace mote::onnx
