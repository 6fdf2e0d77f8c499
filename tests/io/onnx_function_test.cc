// Functions that a file defines are replaced by their nodes. Named after the report that asked for
// it: O07 stands for everything that a FunctionProto can say and for functions that never end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "src/io/onnx/read.h"
#include "tests/io/onnx_hostile_support.h"

namespace edgesage::onnx {
namespace {

using test::attr;
using test::attr_reference;
using test::OnnxDims;
using test::OnnxFunction;
using test::OnnxGraph;
using test::OnnxModel;
using enum ElementType;
using Kind = Attribute::Kind;
using Names = std::vector<std::string_view>;

constexpr const char* kDomain = "my.functions";

struct Read {
  std::vector<std::byte> bytes;
  Result<Model> model = make_error(ErrorCode::kInternal, "", "not read");
};

Read read(const OnnxModel& source) {
  Read result;
  result.bytes = source.bytes();
  result.model = read_onnx(result.bytes, nullptr, "functions.onnx");
  return result;
}

// Every value is made once on the way in, before it is read.
void expect_settled(const Model& model) {
  struct Open {
    int32_t graph;
    std::set<std::string_view> known;
  };
  std::vector<Open> open = {{0, {}}};
  while (!open.empty()) {
    auto [index, known] = std::move(open.back());
    open.pop_back();
    const GraphTable& graph = model.graphs[static_cast<size_t>(index)];
    const auto add = [&](std::string_view name) {
      EXPECT_TRUE(name.empty() || known.insert(name).second) << name;
    };
    for (const Constant& constant : graph.initializers) add(constant.name);
    for (const Value& input : graph.inputs) add(input.name);
    for (const Node& node : graph.nodes) {
      for (const std::string_view input : node.inputs)
        EXPECT_TRUE(input.empty() || known.contains(input)) << input;
      for (const Attribute& attribute : node.attributes)
        for (const int32_t body : attribute.graphs) {
          EXPECT_EQ(model.graphs[static_cast<size_t>(body)].parent, index);
          open.push_back({body, known});
        }
      for (const std::string_view output : node.outputs) add(output);
    }
    for (const Value& output : graph.outputs) EXPECT_TRUE(known.contains(output.name));
  }
}

std::vector<std::string> types_of(const GraphTable& graph) {
  std::vector<std::string> types;
  for (const Node& node : graph.nodes) types.emplace_back(node.op_type);
  return types;
}

TEST(OnnxFunctions, O07_CallsBecomeTheNodesOfTheFunction) {
  const OnnxFunction function = OnnxFunction(kDomain, "F", {"a", "b"}, {"r", "s"})
                                    .opset("", 12)
                                    .node("Add", {"a", "b"}, {"t"}, {}, {.name = "add"})
                                    .node("Relu", {"t"}, {"r"})
                                    .node("Clip", {"t", "", "b"}, {"s"});
  Read file = read(
      OnnxModel(OnnxGraph()
                    .input("x", kFloat, OnnxDims{2})
                    .node("F", {"x", "x"}, {"u", "v"}, {}, {.name = "first", .domain = kDomain})
                    .node("F", {"v"}, {"", "y"}, {}, {.domain = kDomain})
                    .output("u")
                    .output("y"))
          .function(function));
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  const GraphTable& graph = file.model->graphs[0];
  EXPECT_EQ(types_of(graph),
            (std::vector<std::string>{"Add", "Relu", "Clip", "Add", "Relu", "Clip"}));
  EXPECT_EQ(graph.nodes[0].name, "first/add");
  EXPECT_EQ(graph.nodes[0].inputs, (Names{"x", "x"}));
  EXPECT_EQ(graph.nodes[0].since, 12);
  EXPECT_EQ(graph.nodes[1].outputs, Names{"u"});
  EXPECT_EQ(graph.nodes[2].inputs, (Names{graph.nodes[0].outputs[0], "", "x"}));
  EXPECT_EQ(graph.nodes[3].inputs, (Names{"v", ""}));  // the second operand was left out
  EXPECT_EQ(graph.nodes[5].inputs, (Names{graph.nodes[3].outputs[0], "", ""}));
  EXPECT_EQ(graph.nodes[5].outputs, Names{"y"});
  expect_settled(*file.model);
}

TEST(OnnxFunctions, O07_AttributesComeFromTheCallElseTheDefaultElseNowhere) {
  const OnnxFunction function =
      OnnxFunction(kDomain, "F", {"a"}, {"r"})
          .attribute("given")
          .attribute("absent")
          .attribute_default(attr("axis", 7))
          .attribute_default(attr("keep", 8))
          .node("Op", {"a"}, {"r"},
                {attr_reference("p", "given", Kind::kInts),
                 attr_reference("q", "absent", Kind::kInt), attr_reference("r", "axis", Kind::kInt),
                 attr_reference("s", "keep", Kind::kInt), attr("t", 9)});
  Read file = read(OnnxModel(OnnxGraph()
                                 .input("x", kFloat, OnnxDims{2})
                                 .node("F", {"x"}, {"y"}, {attr("given", {1, 2}), attr("axis", 3)},
                                       {.domain = kDomain}))
                       .function(function));
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  const Node& node = file.model->graphs[0].nodes[0];
  ASSERT_EQ(node.attributes.size(), 4U);
  EXPECT_EQ(node.attr_ints("p").size(), 2U);
  EXPECT_EQ(node.find("q"), nullptr);
  EXPECT_EQ(node.attr_int("r", 0), 3);
  EXPECT_EQ(node.attr_int("s", 0), 8);
  EXPECT_EQ(node.attr_int("t", 0), 9);
}

TEST(OnnxFunctions, O07_OverloadsAreFunctionsOfTheirOwn) {
  const auto overload = [](const char* name, const char* type) {
    return OnnxFunction(kDomain, "F", {"a"}, {"r"}, name).node(type, {"a"}, {"r"});
  };
  Read file =
      read(OnnxModel(OnnxGraph()
                         .input("x", kFloat, OnnxDims{2})
                         .node("F", {"x"}, {"p"}, {}, {.domain = kDomain, .overload = "two"})
                         .node("F", {"p"}, {"q"}, {}, {.domain = kDomain})
                         .node("F", {"q"}, {"r"}, {}, {.domain = kDomain, .overload = "none"}))
               .function(overload("", "Relu"))
               .function(overload("two", "Abs")));
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  EXPECT_EQ(types_of(file.model->graphs[0]), (std::vector<std::string>{"Abs", "Relu", "F"}));
}

// Bodies in functions read the function's values, and the call's values through them; the branches
// use one name for two values, and hide one of the function's.
TEST(OnnxFunctions, O07_BodiesInsideOfFunctionsAreCopied) {
  const OnnxGraph then_branch = OnnxGraph("then")
                                    .initializer(test::onnx_floats("k", {2}, {1, 2}))
                                    .node("G", {"a"}, {"t"}, {}, {.domain = kDomain})
                                    .node("Add", {"t", "k"}, {"out"})
                                    .output("out");
  const OnnxGraph else_branch = OnnxGraph("else").node("Mul", {"a", "u"}, {"out"}).output("out");
  const OnnxFunction f =
      OnnxFunction(kDomain, "F", {"a", "c"}, {"r"})
          .node("Neg", {"a"}, {"u"})
          .node("If", {"c"}, {"r"},
                {attr("then_branch", then_branch), attr("else_branch", else_branch)});
  const OnnxFunction g =
      OnnxFunction(kDomain, "G", {"v"}, {"w"}).node("Exp", {"v"}, {"t"}).node("Log", {"t"}, {"w"});
  Read file = read(OnnxModel(OnnxGraph()
                                 .input("out", kFloat, OnnxDims{2})
                                 .input("c", kBool, OnnxDims{})
                                 .node("F", {"out", "c"}, {"y"}, {}, {.domain = kDomain})
                                 .node("F", {"y", "c"}, {"z"}, {}, {.domain = kDomain})
                                 .output("z"))
                       .function(f)
                       .function(g));
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  ASSERT_EQ(file.model->graphs.size(), 5U);
  EXPECT_EQ(types_of(file.model->graphs[0]), (std::vector<std::string>{"Neg", "If", "Neg", "If"}));
  EXPECT_EQ(types_of(file.model->graphs[1]), (std::vector<std::string>{"Exp", "Log", "Add"}));
  EXPECT_EQ(file.model->graphs[1].nodes[0].inputs, Names{"out"});
  EXPECT_EQ(file.model->graphs[3].nodes[0].inputs, Names{"y"});
  EXPECT_EQ(file.model->graphs[1].initializers.size(), 1U);
  EXPECT_EQ(file.model->graphs[2].nodes[0].inputs,
            (Names{"out", file.model->graphs[0].nodes[0].outputs[0]}));
  expect_settled(*file.model);
}

// A graph given as an attribute of the call, used twice inside.
TEST(OnnxFunctions, O07_BodiesHandedToAFunctionKeepTheirScope) {
  const OnnxGraph body =
      OnnxGraph("handed").node("F", {"x"}, {"t"}, {}, {.domain = kDomain}).output("t");
  const OnnxFunction f = OnnxFunction(kDomain, "F", {"a"}, {"r"}).node("Abs", {"a"}, {"r"});
  const OnnxFunction g = OnnxFunction(kDomain, "G", {"c"}, {"r"})
                             .attribute("body")
                             .node("If", {"c"}, {"r"},
                                   {attr_reference("then_branch", "body", Kind::kGraph),
                                    attr_reference("else_branch", "body", Kind::kGraph)});
  Read file = read(OnnxModel(OnnxGraph()
                                 .input("x", kFloat, OnnxDims{2})
                                 .input("c", kBool, OnnxDims{})
                                 .node("G", {"c"}, {"y"}, {attr("body", body)}, {.domain = kDomain})
                                 .output("y"))
                       .function(g)
                       .function(f));
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  ASSERT_EQ(file.model->graphs.size(), 3U);
  for (const size_t branch : {1U, 2U}) {
    EXPECT_EQ(types_of(file.model->graphs[branch]), std::vector<std::string>{"Abs"});
    EXPECT_EQ(file.model->graphs[branch].nodes[0].inputs, Names{"x"});
  }
  expect_settled(*file.model);
}

TEST(OnnxFunctions, O07_OutputsThatAreInputsGetANode) {
  const OnnxFunction function =
      OnnxFunction(kDomain, "F", {"a"}, {"a", "r", "r"}).node("Relu", {"a"}, {"r"});
  Read file = read(OnnxModel(OnnxGraph()
                                 .input("x", kFloat, OnnxDims{2})
                                 .node("F", {"x"}, {"p", "q", "s"}, {}, {.domain = kDomain})
                                 .output("p")
                                 .output("q")
                                 .output("s"))
                       .function(function));
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  EXPECT_EQ(types_of(file.model->graphs[0]),
            (std::vector<std::string>{"Relu", "Identity", "Identity"}));
  expect_settled(*file.model);
}

TEST(OnnxFunctions, O07_FunctionsThatTheFileDoesNotDefineStayNodes) {
  Read file = read(
      OnnxModel(OnnxGraph()
                    .input("x", kFloat, OnnxDims{2})
                    .node("FusedMatMul", {"x", "x"}, {"y"}, {}, {.domain = "com.microsoft"}))
          .opset("com.microsoft", 1)
          .opset("", 17)
          .function(OnnxFunction(kDomain, "FusedMatMul", {"a"}, {"r"}).node("Relu", {"a"}, {"r"})));
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  EXPECT_EQ(types_of(file.model->graphs[0]), std::vector<std::string>{"FusedMatMul"});
}

TEST(OnnxFunctions, O07_TheFirstOfTwoDefinitionsIsTaken) {
  const auto define = [](const char* type) {
    return OnnxFunction(kDomain, "F", {"a"}, {"r"}).node(type, {"a"}, {"r"});
  };
  Read file = read(OnnxModel(OnnxGraph()
                                 .input("x", kFloat, OnnxDims{2})
                                 .node("F", {"x"}, {"y"}, {}, {.domain = kDomain}))
                       .opset(kDomain, 1)
                       .function(define("Relu"))
                       .function(define("Abs")));
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  EXPECT_EQ(types_of(file.model->graphs[0]), std::vector<std::string>{"Relu"});
  ASSERT_EQ(file.model->warnings.size(), 1U);
  EXPECT_NE(file.model->warnings[0].find("my.functions.F"), std::string::npos);
}

void expect_refused(const OnnxModel& model, std::string_view part) {
  const test::CpuTimer timer;
  const Read file = read(model);
  ASSERT_FALSE(file.model);
  EXPECT_EQ(file.model.error().code, ErrorCode::kBadModel);
  EXPECT_NE(file.model.error().message.find(part), std::string::npos) << file.model.error().message;
  EXPECT_LT(timer.seconds(), 5);
}

OnnxGraph calling(const char* name) {
  return OnnxGraph()
      .input("x", kFloat, OnnxDims{2})
      .node(name, {"x"}, {"y"}, {}, {.domain = kDomain});
}

TEST(OnnxFunctions, O07_CirclesAreNamed) {
  const auto call = [](const char* from, const char* to) {
    return OnnxFunction(kDomain, from, {"a"}, {"r"})
        .node(to, {"a"}, {"r"}, {}, {.domain = kDomain});
  };
  expect_refused(OnnxModel(calling("A")).function(call("A", "A")),
                 "my.functions.A -> my.functions.A");
  expect_refused(OnnxModel(calling("A"))
                     .function(call("A", "B"))
                     .function(call("B", "C"))
                     .function(call("C", "B")),
                 "my.functions.B -> my.functions.C -> my.functions.B");
  const OnnxGraph body = OnnxGraph().node("A", {"a"}, {"t"}, {}, {.domain = kDomain}).output("t");
  expect_refused(OnnxModel(calling("A"))
                     .function(OnnxFunction(kDomain, "A", {"a"}, {"r"})
                                   .node("Loop", {"", "", "a"}, {"r"}, {attr("body", body)})),
                 "my.functions.A -> my.functions.A");
}

// Two calls of the function before, thirty times: a billion nodes from 3 kB.
TEST(OnnxFunctions, O07_ExponentialFunctionsAreRefused) {
  OnnxModel nodes(calling("F30"));
  OnnxModel empty(calling("F40"));
  for (int i = 0; i <= 40; ++i) {
    OnnxFunction function(kDomain, fmt::format("F{}", i), {"a"}, {"r"});
    if (i == 0) {
      function.node("Relu", {"a"}, {"r"});
    } else {
      const std::string before = fmt::format("F{}", i - 1);
      function.node(before, {"a"}, {"t"}, {}, {.domain = kDomain})
          .node(before, {"t"}, {"r"}, {}, {.domain = kDomain});
    }
    nodes.function(function);
    OnnxFunction nothing(kDomain, fmt::format("F{}", i), {"a"}, {"a"});
    if (i > 0)
      for (const char* output : {"t", "u"})
        nothing.node(fmt::format("F{}", i - 1), {"a"}, {output}, {}, {.domain = kDomain});
    empty.function(nothing);
  }
  expect_refused(nodes, "expand to more than 256 MB");
  const std::vector<std::byte> bytes = empty.bytes();
  const Result<Model> little =
      read_onnx(bytes, nullptr, "empty.onnx", {.limits = {.inlined_bytes = 4 << 20}});
  ASSERT_FALSE(little);
  EXPECT_NE(little.error().message.find("expand to more than 4 MB"), std::string::npos);
}

// Ten thousand functions, each calling the next: no recursion.
TEST(OnnxFunctions, O07_DeepCallsAreInlined) {
  constexpr int kDepth = 10'000;
  OnnxModel model(calling("F0"));
  for (int i = 0; i < kDepth; ++i) {
    OnnxFunction function(kDomain, fmt::format("F{}", i), {"a"}, {"r"});
    if (i + 1 < kDepth) {
      function.node("Abs", {"a"}, {"t"})
          .node(fmt::format("F{}", i + 1), {"t"}, {"r"}, {}, {.name = "f", .domain = kDomain});
    } else {
      function.node("Relu", {"a"}, {"r"});
    }
    model.function(function);
  }
  const Read file = read(model);
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  EXPECT_EQ(file.model->graphs[0].nodes.size(), static_cast<size_t>(kDepth));
}

TEST(OnnxFunctions, O07_MoreOperandsThanAFunctionHasAreRefused) {
  expect_refused(OnnxModel(OnnxGraph()
                               .input("x", kFloat, OnnxDims{2})
                               .node("F", {"x", "x"}, {"y"}, {}, {.domain = kDomain}))
                     .function(OnnxFunction(kDomain, "F", {"a"}, {"r"}).node("Abs", {"a"}, {"r"})),
                 "2 inputs");
}

}  // namespace
}  // namespace edgesage::onnx
