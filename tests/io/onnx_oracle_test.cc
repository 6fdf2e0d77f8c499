// Comparisons with the onnx package: its parser over published files, its inliner over generated
// functions. The script beside this file does the work; its last line holds the counts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "src/base/file.h"
#include "src/base/rng.h"
#include "tests/io/onnx_test_support.h"
#include "tests/support/run_program.h"
#include "tests/support/test_paths.h"

namespace edgesage::test {
namespace {

using enum onnx::ElementType;

ProgramOutcome compare(const std::vector<std::filesystem::path>& files) {
  const TempDir work;
  std::ofstream(work.path() / "files") << [&] {
    std::string lines;
    for (const auto& file : files) lines += file.string() + "\n";
    return lines;
  }();
  return run_program(fmt::format("'{}' '{}' '{}' < '{}'", venv_python()->string(),
                                 (source_dir() / "tests" / "io" / "compare_onnx_dump.py").string(),
                                 (binary_dir() / "tests" / "dump_onnx").string(),
                                 (work.path() / "files").string()));
}

TEST(OnnxOracle, ReadsWhatThePackageReads) {
  const std::vector<std::filesystem::path> files = published_onnx_files();
  EDGESAGE_REQUIRE(!files.empty(), "no .onnx files (EDGESAGE_DATA_DIR, libonnx-testdata)");
  EDGESAGE_REQUIRE(venv_python(), "onnx is not installed (./dev setup)");
  const ProgramOutcome outcome = compare(files);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  fmt::print("{}", outcome.output);
}

// Tensors of every element type in every way to write them.
TEST(OnnxOracle, ElementsAreThoseOfThePackage) {
  EDGESAGE_REQUIRE(venv_python(), "onnx is not installed (./dev setup)");
  OnnxGraph graph;
  const auto add = [&](OnnxTensor tensor) { graph.initializer(tensor); };
  Rng rng(5, "elements");
  for (const auto type : {kUint8,      kInt8,           kUint16,   kInt16,        kInt32,
                          kBool,       kFloat16,        kBfloat16, kFloat8E4M3FN, kFloat8E4M3FNUZ,
                          kFloat8E5M2, kFloat8E5M2FNUZ, kUint4,    kInt4,         kFloat4E2M1,
                          kFloat8E8M0, kUint2,          kInt2,     kFloat6E2M3,   kFloat6E3M2})
    for (const int64_t count : {0, 1, 5, 8}) {
      const int bits = onnx::element_bits(type);
      const bool one_each = bits >= 8 || bits == 6;
      std::vector<int32_t> numbers;
      for (int64_t left = count; left > 0; left -= one_each ? 1 : 8 / bits) {
        const int used = one_each ? bits : static_cast<int>(std::min<int64_t>(left * bits, 8));
        const int64_t value = type == kBool ? rng.integer(0, 1) : rng.integer(0, (1LL << used) - 1);
        const bool is_signed = type == kInt8 || type == kInt16;
        const int64_t half = int64_t{1} << (used - 1);
        numbers.push_back(
            static_cast<int32_t>(is_signed && value >= half ? value - 2 * half : value));
      }
      add(onnx_int32s(fmt::format("{} of {}", count, onnx::element_name(type)), type, {count},
                      numbers));
    }
  add(onnx_floats("floats", {3}, {1.5F, -0.0F, 1e-40F}));
  add(onnx_int64s("int64s", {2}, {INT64_MIN, INT64_MAX}));
  add(onnx_strings("strings", {2}, {"", std::string("a\0b", 3)}));
  add(onnx_raw("complex", kComplex64, {1}, "12345678"));
  add(onnx_raw("double", kDouble, {1}, "12345678"));
  add(onnx_raw("uint64", kUint64, {1}, "12345678"));
  add(onnx_raw("uint32", kUint32, {2}, "12345678"));
  const TempDir work;
  const auto file = work.path() / "elements.onnx";
  ASSERT_TRUE(write_file(file, OnnxModel(graph).ir_version(14).opset("", 28).bytes()));
  const ProgramOutcome outcome = compare({file});
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  fmt::print("{}", outcome.output);
}

// Random functions that call those before them, with attributes handed on and bodies in between.
class RandomFunctions {
 public:
  explicit RandomFunctions(uint64_t seed) : rng_(seed, "functions") {}

  OnnxModel model() {
    OnnxGraph main("main");
    main.input("x", kFloat, OnnxDims{2}).input("c", kBool, OnnxDims{});
    const int functions = static_cast<int>(rng_.integer(1, 5));
    std::vector<OnnxFunction> made;
    for (int i = 0; i < functions; ++i) made.push_back(function(i));
    values_ = {"x"};
    for (int i = 0; i < 4; ++i) add_node(main, functions);
    main.output(values_.back(), kFloat, OnnxDims{2});
    OnnxModel result = OnnxModel(main).ir_version(10).opset("", 17).opset("f", 1);
    for (const OnnxFunction& one : made) result.function(one);
    return result;
  }

 private:
  OnnxFunction function(int index) {
    OnnxFunction made("f", fmt::format("F{}", index), {"a", "c"}, {"r"},
                      index % 2 == 0 ? "" : "over");
    made.opset("", 17).opset("f", 1);
    if (rng_.chance(0.5)) {
      made.attribute("alpha");
    } else {
      made.attribute_default(attr("alpha", 0.25F));
    }
    in_function_ = true;
    values_ = {"a"};
    for (int64_t i = rng_.integer(1, 4); i > 0; --i) add_node(made, index);
    made.node("Identity", {values_.back()}, {"r"});
    in_function_ = false;
    return made;
  }

  OnnxAttribute alpha() {
    return in_function_ && rng_.chance(0.7)
               ? attr_reference("alpha", "alpha", onnx::Attribute::Kind::kFloat)
               : attr("alpha", static_cast<float>(rng_.integer(1, 9)));
  }

  template <class Nodes>
  void add_node(Nodes& to, int callable) {
    const std::string input = rng_.pick(values_);
    const std::string output = fmt::format("v{}", next_++);
    int64_t kind = rng_.integer(0, depth_ < 2 ? 3 : 2);
    if (kind == 2 && callable == 0) kind = 1;
    if (kind == 0) {
      to.node("Add", {input, rng_.pick(values_)}, {output});
    } else if (kind == 1) {
      to.node("LeakyRelu", {input}, {output}, {alpha()});
    } else if (kind == 2) {
      const auto target = static_cast<int>(rng_.integer(0, callable - 1));
      to.node(fmt::format("F{}", target), {input, "c"}, {output}, {alpha()},
              {.domain = "f", .overload = target % 2 == 0 ? "" : "over"});
    } else {
      const OnnxGraph left = branch(callable);
      to.node("If", {"c"}, {output},
              {attr("then_branch", left), attr("else_branch", branch(callable))});
    }
    values_.push_back(output);
  }

  OnnxGraph branch(int callable) {
    const std::vector<std::string> outside = values_;
    ++depth_;
    OnnxGraph body(fmt::format("body{}", next_++));
    for (int64_t i = rng_.integer(1, 3); i > 0; --i) add_node(body, callable);
    body.output(values_.back());
    --depth_;
    values_ = outside;
    return body;
  }

  Rng rng_;
  std::vector<std::string> values_;
  int next_ = 0;
  int depth_ = 0;
  bool in_function_ = false;
};

TEST(OnnxOracle, FunctionsAreInlinedAsThePackageDoes) {
  EDGESAGE_REQUIRE(venv_python(), "onnx is not installed (./dev setup)");
  const TempDir work;
  std::vector<std::filesystem::path> files;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    files.push_back(work.path() / fmt::format("{}.onnx", seed));
    ASSERT_TRUE(write_file(files.back(), RandomFunctions(seed).model().bytes()));
  }
  const ProgramOutcome outcome = compare(files);
  EXPECT_EQ(outcome.status, 0) << outcome.output.substr(0, 5000);
  fmt::print("{}", outcome.output.substr(0, 5000));
}

}  // namespace
}  // namespace edgesage::test
