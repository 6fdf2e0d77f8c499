// Networks that exporters took apart, read as the one node that they stand for.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/lower/rows.h"
#include "tests/io/onnx_convert_support.h"

namespace edgesage {
namespace {

using onnx::ElementType;
using test::attr;
using test::image;
using test::onnx_floats;
using test::onnx_int64s;
using test::OnnxGraph;
using test::OnnxModel;
using test::read;
using test::summary;

constexpr ElementType kFloat = ElementType::kFloat;

OnnxGraph tokens() {
  OnnxGraph net;
  net.input("x", kFloat, {{1, 10, 16}}).output("y", kFloat, {{1, 10, 16}});
  return net;
}

OnnxGraph& with_numbers(OnnxGraph& net) {
  constexpr std::pair<const char*, float> kNumbers[] = {
      {"one", 1.0F},         {"half", 0.5F},       {"two", 2.0F},
      {"three", 3.0F},       {"zero", 0.0F},       {"six", 6.0F},
      {"sixth", 0.1666667F}, {"root_2", 1.41421F}, {"root_half", 0.707107F},
      {"cubic", 0.044715F},  {"epsilon", 1e-5F},   {"root_2_pi", 0.797885F}};
  for (const auto& [name, value] : kNumbers) net.initializer(onnx_floats(name, {}, {value}));
  return net;
}

// Kinds and shapes of the rows of both, on every kind of target.
void expect_same_rows(const Graph& apart, const Graph& whole) {
  for (const char* name : {"generic", "litert-xnnpack", "ethos-u55-256"}) {
    const Target target = *target_from_name(name);
    const Lowering a = lower(apart, target), b = lower(whole, target);
    ASSERT_EQ(a.rows.size(), b.rows.size()) << name << ": " << summary(apart);
    for (size_t i = 0; i < a.rows.size(); ++i) {
      EXPECT_EQ(a.rows[i].kind, b.rows[i].kind) << name << ' ' << i;
      EXPECT_EQ(a.rows[i].placement, b.rows[i].placement) << name << ' ' << i;
      EXPECT_EQ(a.rows[i].ofm, b.rows[i].ofm) << name << ' ' << i;
    }
  }
}

// 0.5 * x * (1 + curve) in its three orders.
constexpr int kOrders = 3;
void finish_gelu(OnnxGraph& net, int order, const char* curve) {
  net.node("Add", {curve, "one"}, {"a"});
  switch (order) {
    case 0:
      net.node("Mul", {"x", "half"}, {"h"}).node("Mul", {"h", "a"}, {"y"});
      break;
    case 1:
      net.node("Mul", {"x", "a"}, {"h"}).node("Div", {"h", "two"}, {"y"});
      break;
    default:
      net.node("Mul", {"half", "a"}, {"h"}).node("Mul", {"x", "h"}, {"y"});
  }
}

TEST(OnnxPatterns, GeluByErf) {
  for (int order = 0; order < kOrders; ++order) {
    OnnxGraph net = tokens();
    with_numbers(net);
    if (order == 1)
      net.node("Mul", {"x", "root_half"}, {"d"});
    else
      net.node("Div", {"x", "root_2"}, {"d"});
    net.node("Erf", {"d"}, {"e"});
    finish_gelu(net, order, "e");
    EXPECT_EQ(summary(read(net)), "GELU 1,10,16") << order;
  }
}

TEST(OnnxPatterns, GeluByTanhIsTheApproximateOne) {
  for (const bool power : {false, true})
    for (int order = 0; order < kOrders; ++order) {
      OnnxGraph net = tokens();
      with_numbers(net);
      if (power)
        net.node("Pow", {"x", "three"}, {"cube"});
      else
        net.node("Mul", {"x", "x"}, {"square"}).node("Mul", {"x", "square"}, {"cube"});
      net.node("Mul", {"cube", "cubic"}, {"c"})
          .node("Add", {"x", "c"}, {"s"})
          .node("Mul", {"root_2_pi", "s"}, {"r"})
          .node("Tanh", {"r"}, {"t"});
      finish_gelu(net, order, "t");
      const Graph graph = read(net);
      ASSERT_EQ(summary(graph), "GELU 1,10,16") << power << ' ' << order;
      EXPECT_EQ(graph.main().operators[0].attr_int("approximate", 0), 1);
      OnnxGraph whole = tokens();
      whole.node("Gelu", {"x"}, {"y"}, {attr("approximate", "tanh")});
      expect_same_rows(graph, read(whole, 20));
    }
}

OnnxGraph image_with_numbers() {
  OnnxGraph net = image();
  with_numbers(net).output("y", kFloat, {{1, 3, 8, 8}});
  return net;
}

OnnxGraph clipped_product(const char* added, const char* top, bool divided_first) {
  OnnxGraph net = image_with_numbers();
  net.node("Add", {"x", added}, {"a"}).node("Clip", {"a", "zero", top}, {"c"});
  if (divided_first)
    net.node("Div", {"c", "six"}, {"d"}).node("Mul", {"x", "d"}, {"y"});
  else
    net.node("Mul", {"x", "c"}, {"m"}).node("Mul", {"m", "sixth"}, {"y"});
  return net;
}

TEST(OnnxPatterns, HardSwish) {
  OnnxGraph whole = image();
  whole.node("HardSwish", {"x"}, {"y"}).output("y", kFloat, {{1, 3, 8, 8}});
  OnnxGraph gated = image_with_numbers();
  gated.node("HardSigmoid", {"x"}, {"s"}, {attr("alpha", 0.16666667F)})
      .node("Mul", {"x", "s"}, {"y"});
  for (const OnnxGraph& net :
       {gated, clipped_product("three", "six", true), clipped_product("three", "six", false)}) {
    const Graph graph = read(net);
    EXPECT_EQ(summary(graph), "HARD_SWISH 1,3,8,8");
    expect_same_rows(graph, read(whole));
  }
  OnnxGraph old = image_with_numbers();  // operator set 10: the bounds are attributes
  old.node("Add", {"x", "three"}, {"a"})
      .node("Clip", {"a"}, {"c"}, {attr("min", 0.0F), attr("max", 6.0F)})
      .node("Mul", {"x", "c"}, {"m"})
      .node("Div", {"m", "six"}, {"y"});
  EXPECT_EQ(summary(read(old, 10)), "HARD_SWISH 1,3,8,8");
}

// As PyTorch exports it below operator set 17 (one difference), TensorFlow's converter (two), and
// with the axes as an input (18).
TEST(OnnxPatterns, LayerNormalisation) {
  const auto parameters = [](OnnxGraph& net) {
    net.initializer(onnx_floats("scale", {16}, std::vector<float>(16, 1)))
        .initializer(onnx_floats("shift", {16}, std::vector<float>(16, 1)));
  };
  OnnxGraph whole = tokens();
  parameters(whole);
  whole.node("LayerNormalization", {"x", "scale", "shift"}, {"y"}, {attr("axis", -1)});
  for (const int form : {0, 1, 2}) {
    OnnxGraph net = tokens();
    with_numbers(net);
    parameters(net);
    net.initializer(onnx_int64s("last", {1}, {2}));
    const auto mean = [&](const char* from, const char* to) {
      if (form == 2)
        net.node("ReduceMean", {from, "last"}, {to});
      else
        net.node("ReduceMean", {from}, {to}, {attr("axes", {-1})});
    };
    mean("x", "m");
    net.node("Sub", {"x", "m"}, {"d"});
    if (form == 1) net.node("Sub", {"x", "m"}, {"d2"});
    if (form == 0)
      net.node("Pow", {"d", "two"}, {"q"});
    else
      net.node("Mul", {"d", "d"}, {"q"});
    mean("q", "v");
    net.node("Add", {"v", "epsilon"}, {"e"})
        .node("Sqrt", {"e"}, {"r"})
        .node("Div", {form == 1 ? "d2" : "d", "r"}, {"n"})
        .node("Mul", {"n", "scale"}, {"g"})
        .node("Add", {"g", "shift"}, {"y"});
    const Graph graph = read(net, form == 2 ? 18 : 13);
    EXPECT_EQ(summary(graph), summary(read(whole))) << form;
    expect_same_rows(graph, read(whole));
  }
}

TEST(OnnxPatterns, SiluAndMishAreTheSameTakenApartOrNot) {
  OnnxGraph silu = tokens(), swish = tokens(), mish = tokens(), parts = tokens();
  silu.node("Sigmoid", {"x"}, {"s"}).node("Mul", {"x", "s"}, {"y"});
  swish.node("Swish", {"x"}, {"y"});
  expect_same_rows(read(silu), read(swish, 24));
  parts.node("Softplus", {"x"}, {"s"}).node("Tanh", {"s"}, {"t"}).node("Mul", {"x", "t"}, {"y"});
  mish.node("Mish", {"x"}, {"y"});
  expect_same_rows(read(parts), read(mish, 18));
}

// Results without a name, at every place of every group.
TEST(OnnxPatterns, HostileNodesWithoutResultsAreNoGroup) {
  const auto link = [](const char* name, bool cut) { return cut ? "" : name; };
  for (int cut = 0; cut < 6; ++cut) {
    OnnxGraph gelu = tokens();
    with_numbers(gelu)
        .node("Div", {"x", "root_2"}, {link("d", cut == 0)})
        .node("Erf", {link("d", cut == 0)}, {link("e", cut == 1)})
        .node("Add", {link("e", cut == 1), "one"}, {link("a", cut == 2)})
        .node("Mul", {"x", link("a", cut == 2)}, {link("h", cut == 3)})
        .node("Mul", {link("h", cut == 3), "half"}, {link("y", cut == 4)});
    OnnxGraph swish = image_with_numbers();
    swish.node("Add", {"x", "three"}, {link("a", cut == 0)})
        .node("Clip", {link("a", cut == 0), "zero", "six"}, {link("c", cut == 1)})
        .node("Mul", {"x", link("c", cut == 1)}, {link("m", cut == 2)})
        .node("Div", {link("m", cut == 2), "six"}, {link("y", cut == 3)});
    OnnxGraph norm = tokens();
    with_numbers(norm)
        .node("ReduceMean", {"x"}, {link("m", cut == 0)}, {attr("axes", {-1})})
        .node("Sub", {"x", link("m", cut == 0)}, {link("d", cut == 1)})
        .node("Mul", {link("d", cut == 1), link("d", cut == 1)}, {link("q", cut == 2)})
        .node("ReduceMean", {link("q", cut == 2)}, {link("v", cut == 3)}, {attr("axes", {-1})})
        .node("Add", {link("v", cut == 3), "epsilon"}, {"e"})
        .node("Sqrt", {"e"}, {link("r", cut == 4)})
        .node("Div", {link("d", cut == 1), link("r", cut == 4)}, {link("y", cut == 5)});
    for (const OnnxGraph& net : {gelu, swish, norm})
      (void)test::read_onnx_graph(OnnxModel(net).opset("", 13));  // an error or a graph
  }
}

// Other numbers, a value inside that is an output, means over different dimensions: no group.
TEST(OnnxPatterns, WhatOnlyLooksLikeOneStaysAsItIs) {
  OnnxGraph seen = clipped_product("three", "six", false);
  seen.output("c", kFloat, {{1, 3, 8, 8}});
  for (const OnnxGraph& net :
       {clipped_product("two", "six", true), clipped_product("three", "three", false), seen})
    EXPECT_EQ(summary(read(net)).find("HARD_SWISH"), std::string::npos);
  OnnxGraph mixed = tokens();
  with_numbers(mixed)
      .node("ReduceMean", {"x"}, {"m"}, {attr("axes", {1})})
      .node("Sub", {"x", "m"}, {"d"})
      .node("Mul", {"d", "d"}, {"q"})
      .node("ReduceMean", {"q"}, {"v"}, {attr("axes", {2})})
      .node("Add", {"v", "epsilon"}, {"e"})
      .node("Sqrt", {"e"}, {"r"})
      .node("Div", {"d", "r"}, {"y"});
  EXPECT_NE(summary(read(mixed, 13)).find("SQRT"), std::string::npos);
}

}  // namespace
}  // namespace edgesage
