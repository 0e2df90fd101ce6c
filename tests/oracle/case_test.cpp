// SPDX-License-Identifier: Apache-2.0
// Tests case text: both ways, and the errors for mistakes.
#include "mote/oracle/case.h"

#include <gtest/gtest.h>

#include "generate/random.h"
#include "mote/base/error.h"
#include "mote/oracle/generate.h"
#include "mote/oracle/text.h"
#include "temporary_folder.h"

namespace mote {
namespace {

std::string error_of(const std::string& text) {
  try {
    parse_case(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

void expect_error(const std::string& text, const std::string& part) {
  const std::string error = error_of(text);
  EXPECT_NE(error.find(part), std::string::npos) << text << "\n  " << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

TEST(Case, TextRoundTrips) {
  for (const char* text : {
           ("conv2d x=f32[2,4,7,9]:nhwc w=f32[6,4,3,3] stride=2,1 pads=1,0,1,2 fill=onehot:9f21 "
            "backend=openblas"),
           "gemm a=f32[2,3]:t:pad3 b=f32[3,4]:bcast1 y=f32[2,4]:off2 alpha=0.5 fill=integer:0",
           "gemm a=i64[2,3] b=i64[3,4] c=i64[2,4] alpha=-1 beta=0 fill=index:0",
           "max_pool2d x=f64[1,2,5,5] kernel=2,3 fill=uniform:7 plugin=/tmp/x.so",
           "add a=f32[3] b=f32[2,1] fill=integer:0",
           "matmul.grad gy=f32[1,1,2,2] a=f32[1,1,2,3] b=f32[1,1,3,2] gb=none fill=integer:0",
           "add a=f32[1,1,2,3]:pad1 b=f32[1,1,2,3] y=@a fill=integer:0",
       }) {
    EXPECT_EQ(to_string(parse_case(text)), text);
  }
}

TEST(Case, AnOutputThatMayBeLeftOutIsNone) {
  const Case c = parse_case("layer_norm_with_statistics x=f32[2,3] row_mean=none");
  EXPECT_FALSE(c.outputs.at(0).left_out);
  EXPECT_TRUE(c.outputs.at(1).left_out);
  EXPECT_FALSE(c.outputs.at(2).left_out);
  expect_error("layer_norm_with_statistics x=f32[2,3] y=none", "y: a call has this output always");
  expect_error("matmul.grad gy=f32[1,1,2,2] a=f32[1,1,2,3] b=f32[1,1,3,2] ga=none gb=none",
               "no output is asked for");
}

TEST(Case, AnOutputMayTakeTheMemoryOfAnInput) {
  const Case c = parse_case("gemm a=f32[2,3] b=f32[3,4] c=f32[2,4]:t y=@c");
  EXPECT_EQ(shared_input(c, c.outputs.at(0)), std::size_t{2});
  EXPECT_EQ(shared_input(parse_case("gemm a=f32[2,3] b=f32[3,4]"), c.outputs.at(0)), std::nullopt);
  expect_error("gemm a=f32[2,3] b=f32[3,4] y=@c", "y=@c: there is no such input");
  expect_error("gemm a=f32[2,2] b=f32[2,2] y=@a", "y cannot take the memory of a");
  expect_error("add a=f32[1,1,1,3] b=f32[1,1,2,3] y=@a", "y cannot take the memory of a");
  expect_error("add a=f32[1,1,2,3]:bcast2 b=f32[1,1,2,3] y=@a", "y cannot take the memory of a");
}

TEST(Case, SetsElements) {
  const Case c = parse_case(
      "gemm a=f32[2,3] b=f32[3,4]:bcast0 fill=zeros:0 set=a[1,2]=0.5;b[0,3]=-2;a[0,0]=inf");
  EXPECT_EQ(to_string(c),
            "gemm a=f32[2,3] b=f32[3,4]:bcast0 fill=zeros:0 set=a[1,2]=0.5;b[0,3]=-2;a[0,0]=inf");
  const Case scalar = parse_case("gather x=f32[1,5,1] index=i64[2] fill=index:0 set=index[1]=3");
  EXPECT_EQ(scalar.set.at(0).value.integer(), 3);
  for (const auto& [set, message] : {std::pair{"a[2,0]=1", "an index of a[2,3]"},
                                     {"a[0]=1", "an index of a[2,3]"},
                                     {"a[0,0,0]=1", "an index of a[2,3]"},
                                     {"a[0,0]=x", "a value of f32"},
                                     {"c[0,0]=1", "INPUT[INDEX]=VALUE"},
                                     {"a[0,0]", "INPUT[INDEX]=VALUE"},
                                     {"a=1", "INPUT[INDEX]=VALUE"}}) {
    try {
      parse_case(std::string("gemm a=f32[2,3] b=f32[3,4] set=") + set);
      ADD_FAILURE() << set;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << e.what();
    }
  }
}

TEST(Case, SaysEverything) {
  const Case c = parse_case(
      "conv2d x=f32[2,4,7,9]:nhwc w=f32[6,4,3,3] stride=2,1 pads=1,0,1,2 fill=onehot:9f21");
  EXPECT_EQ(c.target->op(), "conv2d");
  EXPECT_EQ(c.instance.dtype, DType::f32);
  EXPECT_EQ(c.instance.input_mask, 3U);
  EXPECT_EQ(c.params.at("stride0").integer(), 2);
  EXPECT_EQ(c.params.at("pads3").integer(), 2);
  EXPECT_EQ(c.params.at("dilation0").integer(), 1);
  EXPECT_EQ(c.outputs.at(0).shape, (std::vector<std::int64_t>{2, 6, 4, 9}));
  EXPECT_EQ(c.fill.kind, FillKind::onehot);
  EXPECT_EQ(c.fill.seed, 0x9f21U);
}

TEST(Case, ListsAndSingleMembersMeanTheSame) {
  const std::string head = "conv2d x=f32[1,1,7,9] w=f32[1,1,3,3] ";
  EXPECT_EQ(to_string(parse_case(head + "stride1=3")), to_string(parse_case(head + "stride=1,3")));
}

TEST(Case, RandomCasesOfEveryOpRoundTrip) {
  for (const OpRecord& record : catalogue()) {
    const auto target = find_target(record.name);
    for (const DType dtype : record.dtypes) {
      for (std::uint64_t position = 0; position < 20; ++position) {
        const std::string text = to_string(generate(target, dtype, 11, position));
        EXPECT_EQ(to_string(parse_case(text)), text);
      }
    }
  }
}

TEST(Case, ErrorsSayWhatIsKnownInstead) {
  expect_error("gem a=f32[1,1]", "did you mean gemm");
  expect_error("", "an empty case");
  expect_error("gemm a=f32[2,3] b", "expected name=value, got 'b'");
  expect_error("gemm a=f32[2,3] a=f32[2,3] b=f32[3,4]", "a is given twice");
  expect_error("gemm a=f32[2,3]", "gemm: input b is missing");
  expect_error("gemm a=f8[2,3] b=f8[3,4]",
               "unknown dtype 'f8' (known: f32, f64, f16, bf16, i32, i64, i8, u8, bool)");
  expect_error(
      "gemm a=bool[2,3] b=bool[3,4]",
      "known: a=f32 b=f32; a=f64 b=f64; a=f16 b=f16; a=bf16 b=bf16; a=i32 b=i32; a=i64 b=i64");
  expect_error("gemm a=f32[2,3] b=f32[3,4] gamma=2",
               "unknown name 'gamma' (known: inputs a b c; outputs y; parameters alpha;");
  expect_error("gemm a=f32[2,3] b=f32[3,4]:row", "layout ':row': unknown (known: :nhwc");
  expect_error("gemm a=f32[2,3] b=f32[3,4] fill=ones", "known: integer onehot index uniform");
  expect_error("gemm a=f32[2,3] b=f32[3,4] alpha=x", "alpha: expected a number, got 'x'");
  expect_error("gemm a=f32(2,3) b=f32[3,4]", "a: expected dtype[extent,…]");
  expect_error("gemm a=f32[2,,3] b=f32[3,4]", "a: expected dtype[extent,…]");
  expect_error("gemm a=f32[2,-3] b=f32[3,4]", "a: expected dtype[extent,…]");
  expect_error("gemm a=f32[2,99999999999999999999] b=f32[3,4]", "a: expected dtype[extent,…]");
  expect_error("gemm a=f32[2,3] b=f32[4,4]", "axis 0 of b must be K = 3, got 4");
  expect_error("gemm a=f32[2,3] b=f32[3,4] y=f32[3,4]", "the inputs give f32[2,4]");
  expect_error("gemm a=f32[2,3] b=f32[3,4] y=f32[2,4]:bcast0", "an output cannot repeat");
  expect_error("conv2d x=f32[1,1,3,3] w=f32[1,1,1,1] stride=2", "stride: expected 2 values, got 1");
  expect_error("conv2d x=f32[1,1,3,3] w=f32[1,1,1,1] stride=0,1", "stride0");
  expect_error("conv2d x=f32[1,1,3,3] w=f32[1,1,1,1] stride=1.5,1", "expected an integer");
  expect_error("max_pool2d x=f32[1,1,3,3]", "kernel0");
  expect_error("nowhere.mote x=f32[1]", "nowhere.mote");
}

TEST(Case, DamagedTextIsAnErrorOrACaseNeverACrash) {
  const std::vector<std::string> texts = {
      "conv2d x=f32[2,4,7,9]:nhwc w=f32[6,4,3,3] stride=2,1 pads=1,0,1,2 fill=onehot:9f21",
      "gemm a=f32[2,3]:t:pad3 b=f32[3,4]:bcast1 y=f32[2,4]:off2 alpha=0.5 fill=integer:0"};
  const std::string characters = " =[],:.-xf0129tpb\xff";
  int errors = 0;
  int cases = 0;
  Random random(2026);
  for (int round = 0; round < 5000; ++round) {
    std::string text = texts[static_cast<std::size_t>(random.below(2))];
    for (std::int64_t edit = random.between(1, 3); edit > 0; --edit) {
      const auto at = static_cast<std::size_t>(random.below(std::ssize(text)));
      const char c = characters[static_cast<std::size_t>(random.below(std::ssize(characters)))];
      const std::int64_t how = random.below(3);
      if (how == 0) text[at] = c;
      if (how == 1) text.insert(at, 1, c);
      if (how == 2) text.erase(at, static_cast<std::size_t>(random.between(1, 4)));
    }
    try {
      const Case c = parse_case(text);
      EXPECT_EQ(to_string(parse_case(to_string(c))), to_string(c)) << text;
      ++cases;
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << text;
      ++errors;
    }
  }
  EXPECT_GT(errors, 2000);
  EXPECT_GT(cases, 50);
}

TEST(Case, IsText) {
  using namespace std::string_literals;
  expect_error("\0\vp/"s, "a case is text, but here is the byte 0x00");
  expect_error("gemm a=f32[1,1] b=f32[1,1] \x1b", "here is the byte 0x1b");
}

TEST(Case, FilesHoldLinesAndComments) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write(
      "some.cases", "# head\n\n  gemm a=f32[1,2] b=f32[2,1]  \n\t# more\nadd a=f32[1] b=f32[1]\n");
  const std::vector<Case> cases = read_cases(path);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[1].target->op(), "add");
}

TEST(Case, MistakesInAFileNameFileAndLine) {
  const auto error_of_file = [](const std::string& path) {
    try {
      read_cases(path);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const test::TemporaryFolder folder;
  const std::string bad =
      folder.write("bad.cases", "# head\n\nadd a=f32[1] b=f32[1]\ngemm a=f32[1,2] b=f32[3,1]\n");
  EXPECT_TRUE(error_of_file(bad).starts_with(bad + ": line 4: gemm: ")) << error_of_file(bad);
  const std::string empty = folder.write("empty.cases", "# nothing\n\n");
  EXPECT_EQ(error_of_file(empty), empty + ": holds no case");
  EXPECT_EQ(error_of_file("/dev/null"), "/dev/null: holds no case");
  const std::string directory = folder.path().string();
  EXPECT_EQ(error_of_file(directory), directory + ": is a directory, holds no case");
  EXPECT_NE(error_of_file(directory + "/none").find("cannot be read"), std::string::npos);
}

TEST(Case, APathOfAPlugInIsQuotedWhereItMustBe) {
  const std::string head = "add a=f32[3] b=f32[2,1] fill=integer:0 plugin=";
  for (const char* path :
       {"/a,b/x.so", "/a b/x.so", "/a \"b\" \\c/x.so", "\"", "\\", "a=\"b", "/a\nb\r/x.so",
        "/a\\nb", "/a\\xff", "/a\xff\xfe/x.so", "/\x1b[31m/x.so", "/a\tb\x7f"}) {
    Case c = parse_case(head + "x");
    c.plugin = path;
    EXPECT_EQ(parse_case(to_string(c)).plugin, path) << to_string(c);
    EXPECT_EQ(to_string(parse_case(to_string(c))), to_string(c));
    EXPECT_EQ(to_string(c).find_first_of("\r\n\t\x1b\x7f"), std::string::npos) << to_string(c);
    EXPECT_TRUE(is_utf8(to_string(c))) << to_string(c);
  }
  EXPECT_EQ(to_string(parse_case(head + "/a,b/x.so")), head + "/a,b/x.so");
  expect_error(head + "\"/a b/x.so", "a quote is not closed");
  expect_error(head + "\"/a\nb\"", "a quote is not closed: \"/a");
  expect_error(head + "\"/a\"b", "unexpected text behind the quote");
  expect_error(head + "\"/a\\xf\"", "expected two hexadecimal digits behind \\x");
}

TEST(Case, AProgramFileMayLieAnywhere) {
  const test::TemporaryFolder folder;
  for (const char* name : {"with blanks/half.mote", "\xff\xfe.mote", "a \"b\".mote"}) {
    const std::string path =
        folder.write(name, "op half \"y = x / 2\"\ninput x f32[N]\noutput y = x / 2\n");
    Case c = generate(find_target(path), DType::f32, 1, 0);
    const std::string text = to_string(c);
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(to_string(parse_case(text)), text);
    EXPECT_EQ(parse_case(text).target->text(), path);
  }
}

}  // namespace
}  // namespace mote
