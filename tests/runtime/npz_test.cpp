// SPDX-License-Identifier: Apache-2.0
// Tests .npz files: round trips, comparison with Python's own zipfile, damage.
#include "mote/npz/npz.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "mote/runtime/file.h"
#include "mote/runtime/status.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::expect_error;

NamedTensors sample() {
  const Tensor x(DType::f32, {2, 500});
  for (std::int64_t k = 0; k < 1000; ++k) x.set({k / 500, k % 500}, k % 7);
  const Tensor y(DType::boolean, {});
  y.set({}, 1);
  return {{"x", x}, {"folder/y", y}};
}

void expect_sample(const NamedTensors& tensors) {
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(describe(tensors.at("x")), "f32[2,500]");
  EXPECT_EQ(tensors.at("x").real_at({1, 499}), 999 % 7);
  EXPECT_EQ(tensors.at("folder/y").integer_at({}), 1);
}

TEST(Npz, RoundTrips) {
  const auto stored = to_npz(sample(), Compression::stored);
  const auto deflated = to_npz(sample(), Compression::deflated);
  expect_sample(parse_npz(stored));
  expect_sample(parse_npz(deflated));
  EXPECT_LT(deflated.size(), stored.size() / 4);
  EXPECT_EQ(to_npz(sample(), Compression::stored), stored);
  EXPECT_TRUE(parse_npz(to_npz({}, Compression::stored)).empty());
}

TEST(Npz, FilesAreRead) {
  const std::filesystem::path path = testing::TempDir() + "mote_npz_" + std::to_string(getpid());
  write_npz(path.string(), sample(), Compression::deflated);
  expect_sample(read_npz(path.string()));
  std::filesystem::resize_file(path, 100);
  expect_error(MOTE_INVALID, path.string() + ": npz: ", [&] { (void)read_npz(path.string()); });
  std::filesystem::remove(path);
}

TEST(Npz, DamageIsNoticed) {
  const auto whole = to_npz(sample(), Compression::deflated);
  const auto damaged = [&](std::size_t at, int value) {
    auto bytes = whole;
    bytes.at(at) = static_cast<std::byte>(value);
    return bytes;
  };
  const auto find = [&](const std::string& text, std::size_t from = 0) {
    const std::string all(reinterpret_cast<const char*>(whole.data()), whole.size());
    return all.find(text, from);
  };
  const std::size_t directory = find("PK\x01\x02");
  const std::size_t end = find("PK\x05\x06");
  const auto bad = [](const std::vector<std::byte>& bytes, const char* part) {
    expect_error(MOTE_INVALID, part, [&] { (void)parse_npz(bytes); });
  };
  bad({}, "not a zip file: 0 bytes");
  bad(damaged(end, 'x'), "it has no end record");
  bad(damaged(directory, 'x'), "the directory has a wrong signature");
  bad(damaged(0, 'x'), "folder/y.npy has a wrong signature");
  bad(damaged(directory + 8, 1), "folder/y.npy is encrypted");
  bad(damaged(directory + 10, 12), "by method 12, expected 0 (stored) or 8 (deflated)");
  bad(damaged(directory + 16, 0), "its checksum differs");
  bad(damaged(directory + 23, 0x7F), "lies outside the file");
  bad(damaged(directory + 27, 0x7F), "promises");
  bad(damaged(directory + 24, 200), "is damaged: 200 bytes expected, got 129");
  bad(damaged(directory + 45, 0x7F), "lies outside the file");
  bad(damaged(end + 11, 0x7F), "promises");
  bad(damaged(end + 19, 0x7F), "lies outside the file");
}

TEST(Npz, EveryCutAndEveryFlippedByteIsNoticedOrHarmless) {
  const auto whole = to_npz(sample(), Compression::deflated);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW((void)parse_npz(std::span(whole).first(size)), StatusError) << size;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto bytes = whole;
    bytes[at] ^= std::byte{0xFF};
    try {
      // Dates, versions and names may change; the tensors may not.
      for (const auto& [name, tensor] : parse_npz(bytes))
        EXPECT_TRUE(describe(tensor) == "f32[2,500]" || describe(tensor) == "bool[]") << at;
    } catch (const StatusError&) {
    }
  }
}

TEST(Npz, BadNamesAreRefused) {
  for (const char* name : {"", "/x", "a/../b", "a\\b"})
    expect_error(MOTE_INVALID, "cannot be the name of an entry", [&] {
      (void)to_npz({{name, Tensor(DType::f32, {1})}}, Compression::stored);
    });
}

/// Runs Python, whose code for zip files and .npy headers is independent of mote's.
bool python(const std::string& program, const std::string& argument) {
  const std::filesystem::path script =
      testing::TempDir() + "mote_npz_py_" + std::to_string(getpid());
  std::ofstream(script) << program;
  const std::string command = "python3 " + script.string() + " " + argument;
  const int status = std::system(command.c_str());
  std::filesystem::remove(script);
  return status == 0;
}

TEST(Npz, PythonReadsWhatIsWrittenAndTheReverse) {
  if (!python("import zipfile, struct, ast", "")) GTEST_SKIP() << "no Python";
  const std::string path = testing::TempDir() + "mote_npz_python_" + std::to_string(getpid());
  write_npz(path, sample(), Compression::deflated);
  EXPECT_TRUE(python(R"(
import ast, struct, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
assert archive.namelist() == ['folder/y.npy', 'x.npy']
data = archive.read('x.npy')
length, = struct.unpack('<H', data[8:10])
assert (10 + length) % 64 == 0
header = ast.literal_eval(data[10:10 + length].decode())
assert header == {'descr': '<f4', 'fortran_order': False, 'shape': (2, 500)}, header
assert struct.unpack('<1000f', data[10 + length:]) == tuple(k % 7 for k in range(1000))
try:
    import numpy
except ImportError:
    sys.exit(0)
assert (numpy.load(sys.argv[1])['x'].ravel() == numpy.arange(1000) % 7).all()
)",
                     path));
  EXPECT_TRUE(python(R"(
import struct, sys, zipfile
def npy(code, shape, payload):
    text = repr({'descr': code, 'fortran_order': False, 'shape': shape}) + '\n'
    return b'\x93NUMPY\x01\0' + struct.pack('<H', len(text)) + text.encode() + payload
with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as archive:
    with archive.open('x.npy', 'w', force_zip64=True) as entry:
        entry.write(npy('<f4', (2, 500), struct.pack('<1000f', *[k % 7 for k in range(1000)])))
    archive.writestr('folder/y.npy', npy('|b1', (), b'\1'))
)",
                     path));
  expect_sample(read_npz(path));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace mote
