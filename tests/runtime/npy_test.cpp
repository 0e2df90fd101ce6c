// SPDX-License-Identifier: Apache-2.0
// Tests .npy files: written files follow NumPy's format byte for byte; malformed files are refused
// with a reason.
#include "mote/runtime/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "mote/runtime/status.h"
#include "runtime/expect_error.h"
#include "runtime/failing_allocator.h"

namespace mote {
namespace {

using test::expect_error;

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

/// Returns a file of version 1 with that header and those elements.
std::vector<std::byte> file_of(const std::string& header, const std::string& elements) {
  std::string text = "\x93NUMPY";
  text += '\x01';
  text += '\0';
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8);
  return bytes_of(text + header + elements);
}

TEST(Npy, WritesWhatNumPyWrites) {
  const Tensor x(DType::u8, {2, 3});
  for (std::int64_t k = 0; k < 6; ++k) x.set({k / 3, k % 3}, k + 'a');
  // numpy.save of version 1.24 writes this for the same array.
  std::string expected = "\x93NUMPY";
  expected += std::string("\x01\x00\x76\x00", 4);
  expected += "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }";
  expected += std::string(127 - expected.size(), ' ') + "\nabcdef";
  EXPECT_EQ(to_npy(x), bytes_of(expected));
}

TEST(Npy, EveryDtypeAndRankComesBack) {
  for (const DType dtype : all_dtypes()) {
    for (const AxisList& shape : {AxisList{}, AxisList{5}, AxisList{2, 3}, AxisList{0, 4},
                                  AxisList{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}}) {
      const Tensor x(dtype, shape);
      std::memset(x.data(), 1, static_cast<std::size_t>(x.element_count()) * size_of(dtype));
      const Tensor y = parse_npy(to_npy(x));
      EXPECT_EQ(describe(y), describe(x));
      EXPECT_EQ(std::memcmp(x.data(), y.data(),
                            static_cast<std::size_t>(x.element_count()) * size_of(dtype)),
                0);
    }
  }
}

TEST(Npy, ViewsAreWrittenRowMajor) {
  const Tensor x(DType::i32, {2, 3});
  for (std::int64_t k = 0; k < 6; ++k) x.set({k / 3, k % 3}, k);
  const Tensor y = parse_npy(to_npy(x.permute({1, 0})));
  EXPECT_EQ(describe(y), "i32[3,2]");
  EXPECT_EQ(y.integer_at({2, 1}), 5);
}

TEST(Npy, ReadsFortranOrderAndBigEndian) {
  const std::string shorts("\x3f\xc0\x00\x00\xc0\x20\x00\x00",
                           8);  // 1.5 and -2.5 in f4, big-endian
  const Tensor x =
      parse_npy(file_of("{'shape': (2,), 'fortran_order': False, 'descr': '>f4'}", shorts));
  EXPECT_EQ(x.real_at({0}), 1.5);
  EXPECT_EQ(x.real_at({1}), -2.5);
  const Tensor y =
      parse_npy(file_of("{\"descr\": \"|i1\", \"fortran_order\": True, \"shape\": (2, 3), }\n",
                        "\x01\x02\x03\x04\x05\x06"));
  EXPECT_EQ(y.strides(), AxisList({1, 2}));
  EXPECT_EQ(y.integer_at({1, 0}), 2);
  EXPECT_EQ(y.integer_at({0, 2}), 5);
}

TEST(Npy, BfloatIsTwoBytesOfVoid) {
  const Tensor x(DType::bf16, {1});
  x.set({0}, 1.5);
  const std::vector<std::byte> bytes = to_npy(x);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_NE(text.find("'<V2'"), std::string::npos);
  EXPECT_EQ(parse_npy(bytes).real_at({0}), 1.5);
  EXPECT_EQ(parse_npy(file_of("{'descr': '|V2', 'fortran_order': False, 'shape': ()}",
                              std::string("\xc0\x3f", 2)))
                .real_at({}),
            1.5);
}

TEST(Npy, MalformedFilesSayWhatIsWrong) {
  const auto header = [](const std::string& descr, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}";
  };
  struct Case {
    std::vector<std::byte> file;
    const char* part;
  };
  std::string version4 = "\x93NUMPY";
  version4 += std::string("\x04\x00\x01\x00\x00\x00{", 7);
  const Case cases[] = {
      {{}, "cut off: 0 bytes"},
      {bytes_of("PK\x03\x04 something else"), "does not begin with \\x93NUMPY"},
      {bytes_of(version4), "version 1, 2 or 3 expected, got 4"},
      {bytes_of(std::string("\x93NUMPY\x02\x00\xff\xff", 10)), "before the length"},
      {bytes_of(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)),
       "the header has 4294967295 bytes, there are 0"},
      {file_of("", ""), "expected \"{\""},
      {file_of(header("<c8", "(2,)"), ""), "element type '<c8' is none that mote has"},
      {file_of(header("", "(2,)"), ""), "element type ''"},
      {file_of(header("f4", "(2,)"), ""), "element type 'f4'"},
      {file_of(header("<f4", "(2"), ""), "expected \")\""},
      {file_of(header("<f4", "2"), ""), "expected \"(\""},
      {file_of(header("<f4", "(-2,)"), ""), "negative extent -2"},
      {file_of(header("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)"), ""), "more than 12 axes"},
      {file_of(header("<f4", "(99999999999999999999,)"), ""), "expected a 64-bit integer"},
      {file_of(header("<f4", "(4611686018427387904, 4)"), ""), "beyond 2^63-1 bytes"},
      {file_of(header("<f4", "(1000000000000,)"), "1234"),
       "f32[1000000000000] needs 4000000000000 bytes of elements, there are 4"},
      {file_of(header("<f4", "(2,)"), "123456789"), "needs 8 bytes of elements, there are 9"},
      {file_of("{'descr': '<f4', 'shape': (2,)}", ""), "no key 'fortran_order'"},
      {file_of("{'descr': '<f4', 'descr': '<f4'}", ""), "stands there twice"},
      {file_of("{'unknown': 1}", ""), "unknown key 'unknown'"},
      {file_of("{'descr': '<f4", ""), "a string has no end"},
      {file_of("{'descr': [('a', '<f4')]}", ""), "expected \"\"\""},
      {file_of(header("<f4", "()") + "x", "1234"), "text after the dictionary"},
      {file_of("{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}", ""), "expected \"False\""},
  };
  test::FailingAllocator counting;
  for (const Case& c : cases)
    expect_error(MOTE_INVALID, c.part, [&] { (void)parse_npy(c.file, counting.hook()); });
  EXPECT_EQ(counting.calls, 0);  // no size was used before it was checked
}

/// Fuzzing found that a line break of the file became one in the message.
TEST(Npy, WhatAFileSaysDoesNotBreakTheLine) {
  expect_error(MOTE_INVALID, "expected a 64-bit integer, got \"`\\x0A\\x00", [] {
    (void)parse_npy(file_of(std::string("{'descr': '<f4', 'shape': (2, `\n\0", 33), ""));
  });
}

TEST(Npy, EveryCutIsNoticed) {
  const std::vector<std::byte> whole = to_npy(Tensor(DType::f32, {3, 2}));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW((void)parse_npy(std::span(whole).first(size)), StatusError) << size;
}

TEST(Npy, FilesAreNamedInErrors) {
  const std::filesystem::path path = testing::TempDir() + "mote_npy_" + std::to_string(getpid());
  const Tensor x(DType::f64, {2});
  x.set({1}, 0.25);
  write_npy(path.string(), x);
  EXPECT_EQ(read_npy(path.string()).real_at({1}), 0.25);
  std::filesystem::resize_file(path, 40);
  expect_error(MOTE_INVALID, path.string() + ": npy: cut off",
               [&] { (void)read_npy(path.string()); });
  std::filesystem::remove(path);
  expect_error(MOTE_FAILED, "cannot read " + path.string() + ": No such file",
               [&] { (void)read_npy(path.string()); });
  expect_error(MOTE_FAILED, "cannot write /nowhere/x.npy", [&] { write_npy("/nowhere/x.npy", x); });
}

}  // namespace
}  // namespace mote
