// SPDX-License-Identifier: Apache-2.0
// Tests that the text of a loop program reads back as an equal program: those of the whole
// catalogue, at every stage of the compiler, and programs by hand with all that the text can say.
#include "mote/codegen/parse_loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "loop_variables.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/schedule.h"
#include "mote/macroops/catalogue.h"
#include "mote/uops/map_ops.h"
#include "random_schedule.h"
#include "trial.h"

namespace mote {
namespace {

using namespace test;

/// Reads the program's text back, and returns whether it is the same program with the same text.
testing::AssertionResult reads_back(const LoopProgram& p) {
  const std::string text = to_string(p);
  try {
    const LoopProgram again = parse_loops(text, p.source);
    const std::string printed = to_string(again);
    if (printed != text)
      return testing::AssertionFailure() << "expected\n" << text << "got\n" << printed;
    if (!equal(again, p)) return testing::AssertionFailure() << "another program:\n" << text;
    return testing::AssertionSuccess();
  } catch (const Error& e) {
    return testing::AssertionFailure() << e.what() << " in\n" << text;
  }
}

/// Interprets the program and what its text reads back as, on small inputs: all bits are the same.
void expect_same_results(const LoopProgram& p, std::uint64_t seed) {
  for (const Trial& trial : make_trials(*p.source, seed, 1)) {
    if (!meets_constraints(*p.source, trial)) continue;
    const std::vector<Array> inputs = make_inputs(*p.source, trial);
    std::vector<Array> expected;
    try {
      expected = interpret(p, inputs, trial.params);
    } catch (const std::exception&) {
      continue;  // an index is out of range, or nothing has a greatest element
    }
    EXPECT_EQ(interpret(parse_loops(to_string(p), p.source), inputs, trial.params), expected)
        << to_string(p) << to_string(trial);
  }
}

/// Reads statements of a program y[r, n] from x[r, n], with parameters and an index tensor.
std::shared_ptr<const Program> source() {
  static const auto program = std::make_shared<const Program>(parse_program(
      "op all\nparam eps real = 1\nparam s int = 1 in 1..\ninput x f32[R, N]\ninput i i32[R]\n"
      "size H = (R + 1)/$s\noutput y = x\noutput z = i\n"));
  return program;
}

constexpr std::string_view kHead =
    "all(x f32[R, N], i i32[R], $eps, $s) -> (y f32[R, N], z i32[R])\nwhere H = (R + 1)/$s\n";

std::string error_of(const std::string& text) {
  try {
    parse_loops(text, source());
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
std::string error_in(const std::string& statements) {
  return error_of(std::string(kHead) + statements);
}

/// Returns what the statement `y[0, 0] = TEXT`, or `t = TEXT`, reads as.
Value value_of(const std::string& text, bool is_stored = true) {
  const std::string statement = (is_stored ? "y[0, 0] = " : "t = ") + text;
  const LoopProgram p =
      parse_loops(std::string(kHead) + "for r in 0..R {\n" + statement + "\n}\n", source());
  const Stmt& s = std::get<Loop>(p.body[0].kind).body[0];
  return is_stored ? std::get<Store>(s.kind).value : std::get<Let>(s.kind).value;
}

/// Expects that a program which stores v, or gives it a name, reads back, with this text for v.
void expect_text(const Value& v, const std::string& text) {
  for (const bool is_stored : {true, false}) {
    LoopProgram p = parse_loops(kHead, source());
    Stmt statement = is_stored ? store("y", {0, 0}, v) : let("t", v);
    p.body = {loop("r", size("R"), {std::move(statement)})};
    EXPECT_TRUE(reads_back(p));
    if (is_stored && !text.empty()) {
      EXPECT_NE(to_string(p).find("y[0, 0] = " + text + "\n"), std::string::npos) << to_string(p);
    }
  }
}

TEST(ParseLoopsText, SaysAllThatAProgramHas) {
  LoopProgram p = parse_loops(kHead, source());
  const auto add = [&](TensorDecl t) { p.tensors.push_back(std::move(t)); };
  add({"a", TensorRole::temporary, DType::f64, {size("N"), 4}, {"", ""}, variable("r")});
  add({"b",
       TensorRole::temporary,
       DType::boolean,
       {8},
       {""},
       std::nullopt,
       TensorMemory::registers});
  add({"c", TensorRole::temporary, DType::i64, {}, {}, std::nullopt, TensorMemory::automatic, 16});
  add({"d",
       TensorRole::temporary,
       DType::f32,
       {2, 2},
       {"", ""},
       variable("r"),
       TensorMemory::shared,
       64,
       true});
  add({"e",
       TensorRole::temporary,
       DType::f32,
       {2, 2, 3},
       {"", "", ""},
       variable("r"),
       TensorMemory::local});
  add({"f",
       TensorRole::temporary,
       DType::f32,
       {2, 2},
       {"", ""},
       std::nullopt,
       TensorMemory::fragments});
  add({"g",
       TensorRole::temporary,
       DType::f32,
       {2, 2},
       {"", ""},
       std::nullopt,
       TensorMemory::automatic,
       64,
       false,
       "d",
       AxesOfInput{"x", 1, 0}});
  p.native = p.multiplies_padding = p.is_part = p.is_for_no_larger_vectors = true;
  p.vector_bytes = 32;
  p.strides = {{"x", 1, 1}, {"i", 0, 0}, {"y", 0, -3}};
  p.demands = {nonneg(size("N") - 32), zero(Expr::param("s") - 2)};
  for (int k = 0; k <= static_cast<int>(LoopKind::ahead); ++k) {
    Stmt one = loop("r" + std::to_string(k), size("R"), {{Barrier{}}, {WaitForCopies{k}}});
    std::get<Loop>(one.kind).kind = static_cast<LoopKind>(k);
    p.body.push_back(std::move(one));
  }
  Stmt full = loop("r", size("R") * size("N"),
                   {fold("best", ReduceOp::argmax, at("x", {var("u"), var("v")}), 2 * var("v") + 1),
                    fold("n", ReduceOp::sum, constant(1, DType::i64)),
                    fold("odd", ReduceOp::any, op(MapOp::lt, {at("x", {0, 0}), real(0)})),
                    fold("p", ReduceOp::prod, at("x", {0, var("v")}))},
                   {{"best", ReduceOp::argmax, DType::f32},
                    {"n", ReduceOp::sum, DType::i64},
                    {"odd", ReduceOp::any, DType::boolean},
                    {"p", ReduceOp::prod, DType::f32},
                    {"unused", ReduceOp::min, DType::bf16}});
  Loop& l = std::get<Loop>(full.kind);
  l.begin = -size("N") + 1;
  l.step = Expr::param("s") + 1;
  l.work = size("R") * size("N");
  l.adjacent_under = {{"x", 1, 1}, {"y", 0, 2}};
  l.adjacent_under_ones = {Symbol(SymbolKind::param, "s"), Symbol(SymbolKind::size, "N")};
  l.digits = {{variable("u"), 0, size("R"), 1}, {variable("v"), 1, size("N") - 1, 2}};
  l.number = var("r") / 2;
  l.prefetched = {{"x", {min(var("r"), size("R") - 1), 0}}, {"i", {0}}};
  p.body.push_back(std::move(full));
  p.body.push_back(
      when({zero(1 - size("N")), zero(size("N") - 1), nonneg(-size("N")),
            nonneg(load("flag", {}) - 1), nonneg(Expr(-4)), nonneg(Expr::param("?y") - 1)},
           {{StoreReduce{"z", {0}, ScatterOp::set, constant(-7, DType::i32)}},
            {StoreReduce{"y", {0, 0}, ScatterOp::max, real(-0.0)}},
            {StoreReduce{"y", {0, 0}, ScatterOp::mul, accumulated("p")}},
            let("where", accumulated_value("best", DType::i64)),
            let("native", accumulated_value("odd", DType::boolean))}));
  EXPECT_TRUE(reads_back(p));
  const std::string text = to_string(p);
  for (const char* part : {" in 16 bits", " in place of d ordered like axes 1 and 0 of x",
                           "n = sum of i64", "\nnative\n", "unused = min of bf16",
                           "best = argmax, ", "if 1 == N && N == 1 && N <= 0", "part of a program"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(ParseLoopsText, KeepsValuesWhoseTextIsThatOfOthersApart) {
  const Value n = index_value(size("N")), n32 = index_value(size("N"), DType::f32);
  const Value r32 = index_value(var("r"), DType::f32);
  const Value x = at("x", {0, 0}), i = at("i", {0}, DType::i32);
  const auto two = [](DType dtype) {
    return constant(is_real(dtype) ? Number(2.0) : Number(2), dtype);
  };
  expect_text(op(MapOp::mul, {r32, n32}), "index(r)*index(N)");
  expect_text(op(MapOp::mul, {two(DType::f32), n32}), "2*index(N)");
  expect_text(index_value(2 * size("N"), DType::f32), "2*N");
  expect_text(op(MapOp::sub, {n32, x}), "N - x[0, 0]");
  expect_text(op(MapOp::sub, {index_value(size("N") - 1, DType::f32), x}), "N - 1 - x[0, 0]");
  expect_text(op(MapOp::sub, {op(MapOp::sub, {n32, real(1)}), x}), "index(N) - 1 - x[0, 0]");
  expect_text(op(MapOp::max, {n32, r32}), "max(index(N), index(r))");
  expect_text(index_value(max(size("N"), var("r")), DType::f32), "max(r, N)");
  expect_text(op(MapOp::neg, {n32}), "-index(N)");
  expect_text(index_value(Expr::param("s"), DType::f32), "index($s)");
  expect_text(param_value("s", DType::f32), "$s");
  expect_text(op(MapOp::mul, {param_value("s", DType::f32), n32}), "$s*index(N)");
  expect_text(op(MapOp::mul, {param_value("eps", DType::f32), n32}), "$eps*N");
  expect_text(op_value(MapOp::cast, {n}, DType::i64, DType::f32), "f32(N)");
  expect_text(op_value(MapOp::cast, {index_value(3)}, DType::i64, DType::f32), "f32(index(3))");
  expect_text(op_value(MapOp::cast, {two(DType::i64)}, DType::i64, DType::f32), "f32(i64(2))");
  expect_text(op_value(MapOp::cast, {i}, DType::i32, DType::f32), "f32(i[0])");
  expect_text(op_value(MapOp::cast, {index_value(load("i", {0}))}, DType::i64, DType::f32),
              "f32(index(i[0]))");
  expect_text(
      op_value(MapOp::cast,
               {op_value(MapOp::lt, {two(DType::i8), two(DType::i8)}, DType::i8, DType::boolean)},
               DType::boolean, DType::f32),
      "f32(i8(2) < 2)");
  expect_text(op(MapOp::neg, {real(5)}), "-(5)");
  expect_text(op(MapOp::neg, {real(-5)}), "-(-5)");
  expect_text(op(MapOp::neg, {real(0)}), "-(0)");
  expect_text(real(-0.0), "-0");
  expect_text(op(MapOp::eq, {op(MapOp::lt, {x, real(0)}), op(MapOp::lt, {real(0), x})}), "");
  expect_text(guard_value({nonneg(var("r") - 1)}, real(1), std::numeric_limits<double>::infinity()),
              "(r >= 1 ? 1 : inf)");
  expect_text(op(MapOp::add, {op(MapOp::add, {x, x}), op(MapOp::add, {x, x})}),
              "x[0, 0] + x[0, 0] + (x[0, 0] + x[0, 0])");
}

TEST(ParseLoopsText, KeepsEveryNumberOfEveryDtype) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double v : {0.0, -0.0, 0.1, -1.5, 1e-310, 5e-324, 1.7976931348623157e308, 3e22, 1e15,
                         1e16, 9007199254740993.0, kInf, -kInf, std::nan("")})
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
      expect_text(constant(v, dtype), dtype == DType::f32 ? to_string(constant(v, dtype)) : "");
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t v : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 53U,
                               (std::int64_t{1} << 53U) + 1, kLeast, -(kLeast + 1)})
    for (const DType dtype : {DType::i64, DType::i32, DType::i8, DType::u8, DType::boolean})
      expect_text(constant(v, dtype), "");
  expect_text(index_value(kLeast * size("N") + kLeast), "");
}

TEST(ParseLoopsText, EveryOperationReadsBack) {
  for (const MapOpInfo& row : map_ops()) {
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean}) {
      std::vector<Value> args(static_cast<std::size_t>(row.arity),
                              constant(is_real(dtype) ? Number(1.0) : Number(1), dtype));
      if (row.op == MapOp::where) args[0] = constant(1, DType::boolean);
      std::vector<DType> dtypes;
      for (const Value& a : args) dtypes.push_back(a->dtype);
      try {
        (void)result_dtype(row.op, dtypes, DType::f32);
      } catch (const Error&) {
        continue;
      }
      const DType to = row.op == MapOp::cast ? DType::f32 : result_dtype(row.op, dtypes, dtype);
      expect_text(op_value(row.op, args, dtype, to), "");
      args.back() = index_value(size("N"), DType::i64);
      if (dtype == DType::i64) expect_text(op_value(row.op, args, dtype, to), "");
    }
  }
}

TEST(ParseLoopsText, TakesCommentsBlanksAndBracketsThatAPersonWrites) {
  const LoopProgram p = parse_loops(
      "  # the rows\nall (x f32[R,N],\n  i i32[R]) -> (y f32[R,N], z i32[R])  # as the op\n\n"
      "for r in 0 .. R { z[r] = i[ r ]\n\n\n  for n in 0..(N) step (1) {  # columns\n"
      "    y[r, n] = ((x[r,\n n]))*(2) }\n}",
      source());
  EXPECT_EQ(to_string(p), std::string(kHead) +
                              "for r in 0..R {\n  z[r] = i[r]\n  for n in 0..N {\n"
                              "    y[r, n] = x[r, n]*2\n  }\n}\n");
  EXPECT_NO_THROW(verify(p));
}

TEST(ParseLoopsText, UsesTheDtypeThatIsKnown) {
  EXPECT_EQ(value_of("1")->dtype, DType::f32);
  EXPECT_EQ(value_of("$eps", false)->dtype, DType::f32);
  EXPECT_EQ(value_of("$s", false)->dtype, DType::i64);
  EXPECT_EQ(value_of("r + 1", false)->dtype, DType::i64);
  EXPECT_EQ(value_of("i[r] + 1", false)->dtype, DType::i32);
  EXPECT_EQ(value_of("i[r] + r", false)->dtype, DType::i64);  // an index expression
  EXPECT_EQ(value_of("i[r]", false)->dtype, DType::i32);
  EXPECT_EQ(value_of("1 + x[r, 0]", false)->dtype, DType::f32);
  EXPECT_EQ(value_of("f16(1) + 2", false)->dtype, DType::f16);
}

TEST(ParseLoopsText, ErrorsSayWhereWhatWasGotAndWhatIsExpected) {
  const auto expect = [](const std::string& error, const std::string& text) {
    EXPECT_EQ(error.substr(0, text.size()), text) << error;
  };
  expect(error_of(""),
         "loops: line 1, column 1: expected a program: NAME(inputs) -> (outputs), got ");
  expect(error_of("all(x f32[R, N]"),
         "loops: line 1, column 16: expected ')', got the end of the text");
  expect(error_of("all(x f99[R])"), "loops: line 1, column 7: unknown dtype 'f99' (known: f32, ");
  expect(error_of("all(x f32[Q])->()"), "loops: line 1, column 11: unknown name 'Q' (known: ");
  expect(error_of("all($q) -> ()"),
         "loops: line 1, column 6: unknown parameter '$q': all has none");
  expect(error_of("all() -> ()\nwhere H = R"),
         "loops: line 2, column 7: expected H = (R + 1)/$s, as all says, got R");
  expect(error_of("all() -> ()\ntemporary t f32[2] in a box"),
         "loops: line 2, column 23: expected 'each', 'registers', 'shared memory'");
  expect(error_in("y[0, 0] = q"), "loops: line 3, column 11: unknown name 'q'");
  expect(error_in("y[0, 0] = 1 2"),
         "loops: line 3, column 13: expected the end of the statement, got '2'");
  expect(error_in("t = 1"),
         "loops: line 3, column 5: the dtype of 1 is not known here: write f32(1)");
  expect(error_in("y[0, 0] = exq(1)"),
         "loops: line 3, column 11: unknown function 'exq', did you mean eq or exp?");
  expect(error_in("y[0, 0] = exp(1, 2)"),
         "loops: line 3, column 11: exp: expected 1 argument, got 2");
  expect(error_in("y[0, 0] = x"), "loops: line 3, column 11: x is a tensor: expected x[…]");
  expect(error_in("z[0] = 1.5"), "loops: line 3, column 8: 1.5 is no i32");
  expect(error_in("z[0] = N"),
         "loops: line 3, column 8: expected i32, got an index expression, which is an i64: write "
         "i32(…)");
  expect(error_in("y[0, 0] = x[1/0, 0]"), "loops: line 3, column 14: ");
  expect(error_in("y[0, 0] = x[$eps, 0]"),
         "loops: line 3, column 13: parameter $eps is real, and no index");
  expect(error_in("y[0, 0] = i[0] + x[0, 0]"),
         "loops: line 3, column 16: Map add: dtypes of the arguments differ: i32 and f32");
  expect(error_in("y[0, 0] = x[0, 0] < 1 < 2"),
         "loops: line 3, column 23: comparisons do not chain");
  expect(error_in("w[0] = 1"), "loops: line 3, column 1: unknown tensor 'w'");
  expect(error_in("t += 1"),
         "loops: line 3, column 1: 't' is no accumulator: a loop around it must");
  expect(error_in("for i in 0..N with t = sum {\n}"),
         "loops: line 3, column 28: nothing tells the dtype of t: write `t = sum of f32`");
  expect(error_in("for k in 0..N with t = sun {\n}"),
         "loops: line 3, column 24: unknown reduction 'sun'");
  expect(error_in("for k in 0..N {\ny[0, 0] = 1\n"),
         "loops: line 3, column 15: expected '}' for this '{'");
  expect(error_in("if x[0, 0] {\n}"),
         "loops: line 3, column 4: expected a condition on index expressions");
  expect(error_in("wait until at most 99999999999 copies are under way"),
         "loops: line 3, column 20: expected a number of copies from 0 to 2147483647, got "
         "99999999999");
  expect(error_in("y[99999999999999999999, 0] = 1"),
         "loops: line 3, column 3: expected an index expression");
  EXPECT_NE(error_of(std::string((1U << 22U) + 1, ' ')).find("longer than"), std::string::npos);
}

class ParseLoops : public testing::TestWithParam<int> {};

/// Every eighth record.
std::vector<const OpRecord*> part(int which) {
  std::vector<const OpRecord*> records;
  const auto all = generated_ops();
  for (std::size_t k = static_cast<std::size_t>(which); k < all.size(); k += 8)
    records.push_back(all[k]);
  return records;
}

TEST_P(ParseLoops, ReadsEveryStageOfTheCatalogueBack) {
  for (const OpRecord* record : part(GetParam())) {
    SCOPED_TRACE(record->name);
    const Instance instance = instances(*record).back();
    const auto program = instantiate(*record, instance);
    EXPECT_TRUE(reads_back(lower_per_uop(program)));
    const LoopProgram loops = compile(program, [&](const char* stage, const LoopProgram& p) {
      EXPECT_TRUE(reads_back(p)) << stage;
    });
    expect_same_results(loops, 1);
    for (const Version& v : schedule(loops).versions) EXPECT_TRUE(reads_back(v.program)) << v.name;
    const CudaProgram cuda = cuda_program(loops, CudaVariant::gen);
    for (const CudaKernel* kernel : all_kernels(cuda))
      EXPECT_TRUE(reads_back(kernel->loops())) << kernel->function;
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Parts, ParseLoops, testing::Range(0, 8));

}  // namespace
}  // namespace mote
