// What the spaces are made of: shares of blocks, range of work. Prints the figures.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/base/parallel.h"
#include "src/graph/op_registry.h"
#include "src/graph/shape_inference.h"
#include "src/graph/validate.h"
#include "src/spaces/space.h"

namespace edgesage {
namespace {

struct Facts {
  double macs = 0, weights = 0, operators = 0;
  std::map<std::string, int> kinds;
  bool pointwise_after_depthwise = false, odd_channels = false, dense_only = true;
  bool one_dimensional = false, grouped = false, factorised = false, dilated = false;
  std::set<int64_t> strides;  // of transposed convolutions
  double side = 0, outputs = 0;
};

Facts facts_of(const Graph& graph) {
  Facts facts;
  const Subgraph& main = graph.main();
  facts.operators = static_cast<double>(main.operators.size());
  for (const Buffer& buffer : graph.buffers)
    facts.weights += static_cast<double>(buffer.data.size());
  const auto& input = main.tensors[static_cast<size_t>(main.inputs[0])].shape;
  facts.side = static_cast<double>(input[1]);
  facts.outputs = static_cast<double>(main.outputs.size());
  facts.one_dimensional = input.size() == 4 && (input[1] == 1 || input[2] == 1);
  OpKind before = OpKind::kUnknown;
  for (const Operator& op : main.operators) {
    ++facts.kinds[std::string(op_name(op.kind))];
    const Tensor& output = main.tensors[static_cast<size_t>(op.outputs[0])];
    const bool convolves = op.kind == OpKind::kConv2D || op.kind == OpKind::kDepthwiseConv2D;
    if (convolves || op.kind == OpKind::kFullyConnected) {
      const Tensor& filter = main.tensors[static_cast<size_t>(op.inputs[1])];
      facts.macs += static_cast<double>(output.element_count()) *
                    static_cast<double>(filter.element_count() / output.shape.back());
    }
    if (op.kind == OpKind::kTransposeConv) {
      const Tensor& filter = main.tensors[static_cast<size_t>(op.inputs[1])];
      const Tensor& in = main.tensors[static_cast<size_t>(op.inputs[2])];
      facts.macs += static_cast<double>(in.element_count()) *
                    static_cast<double>(filter.element_count() / in.shape.back());
      facts.strides.insert(op.attr_int("stride_h", 0));
    }
    if (op.kind == OpKind::kConv2D) {
      const Tensor& in = main.tensors[static_cast<size_t>(op.inputs[0])];
      const Shape& filter = main.tensors[static_cast<size_t>(op.inputs[1])].shape;
      facts.grouped |= filter[3] != in.shape[3];
      facts.factorised |= filter[1] == 1 && filter[2] == 7;
    }
    if (convolves) {
      facts.dilated |= op.attr_int("dilation_h_factor", 1) > 1;
      facts.dense_only = false;
      facts.odd_channels |= output.shape.back() % 8 != 0;
    }
    facts.pointwise_after_depthwise |=
        op.kind == OpKind::kConv2D && before == OpKind::kDepthwiseConv2D;
    before = op.kind;
  }
  return facts;
}

std::vector<Facts> sample(const std::string& space, int count) {
  std::vector<Facts> facts(static_cast<size_t>(count));
  parallel_for(count, 2, [&](int64_t i) {
    const Result<Graph> graph =
        build_network(newest_network(space, static_cast<uint64_t>(i) + 500'000).value());
    ASSERT_TRUE(graph) << graph.error().to_string();
    ASSERT_TRUE(validate(*graph));
    facts[static_cast<size_t>(i)] = facts_of(*graph);
  });
  return facts;
}

template <class Value>
std::vector<double> quantiles(const std::vector<Facts>& facts, const char* what, Value value) {
  std::vector<double> values;
  for (const Facts& one : facts) values.push_back(value(one));
  std::sort(values.begin(), values.end());
  std::vector<double> result;
  for (const double share : {0.0, 0.05, 0.5, 0.95, 1.0})
    result.push_back(values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))]);
  fmt::print("{:10} least {:.4g}, 5 % {:.4g}, median {:.4g}, 95 % {:.4g}, most {:.4g}\n", what,
             result[0], result[1], result[2], result[3], result[4]);
  return result;
}

template <class Predicate>
double share(const std::vector<Facts>& facts, const char* what, Predicate holds) {
  const auto count = std::count_if(facts.begin(), facts.end(), holds);
  const double result = static_cast<double>(count) / static_cast<double>(facts.size());
  fmt::print("{:32} {:5.1f} %\n", what, 100 * result);
  return result;
}

auto has(std::string kind) {
  return [kind](const Facts& facts) { return facts.kinds.contains(kind); };
}

TEST(MobileClassifier, CoversWhatItPromises) {
  const std::vector<Facts> facts = sample("mobile-classifier", 120);
  const auto macs = quantiles(facts, "MACs", [](const Facts& f) { return f.macs; });
  EXPECT_GE(macs.front(), 0.2e6);
  EXPECT_LE(macs.back(), 2e9);
  EXPECT_GE(macs[2], 6e6);
  EXPECT_LE(macs[2], 40e6);
  const auto weights = quantiles(facts, "weights", [](const Facts& f) { return f.weights; });
  EXPECT_GE(weights.front(), 5'000);
  EXPECT_LE(weights.back(), 4.3e6);
  const auto operators = quantiles(facts, "operators", [](const Facts& f) { return f.operators; });
  EXPECT_GE(operators[2], 15);
  EXPECT_LE(operators[2], 80);
  EXPECT_GE(share(facts, "depthwise, then 1x1",
                  [](const Facts& f) { return f.pointwise_after_depthwise; }),
            0.5);
  EXPECT_GE(share(facts, "residual adds", has("ADD")), 0.3);
  EXPECT_GE(share(facts, "squeeze and excitation", has("MUL")), 0.02);
  EXPECT_LE(share(facts, "hard-swish", has("HARD_SWISH")), 0.25);
  EXPECT_GE(share(facts, "concatenation", has("CONCATENATION")), 0.02);
  EXPECT_GE(share(facts, "average pool", has("AVERAGE_POOL_2D")), 0.3);
  EXPECT_GE(share(facts, "mean", has("MEAN")), 0.3);
  EXPECT_GE(share(facts, "softmax", has("SOFTMAX")), 0.4);
  EXPECT_GE(
      share(facts, "channels no multiple of 8", [](const Facts& f) { return f.odd_channels; }),
      0.2);
}

TEST(KeywordSound, CoversWhatItPromises) {
  const std::vector<Facts> facts = sample("keyword-sound", 160);
  const auto macs = quantiles(facts, "MACs", [](const Facts& f) { return f.macs; });
  EXPECT_GE(macs.front(), 5e3);
  EXPECT_LE(macs.back(), 5e7);
  quantiles(facts, "weights", [](const Facts& f) { return f.weights; });
  quantiles(facts, "operators", [](const Facts& f) { return f.operators; });
  EXPECT_GE(share(facts, "dense only", [](const Facts& f) { return f.dense_only; }), 0.15);
  EXPECT_GE(share(facts, "one-dimensional", [](const Facts& f) { return f.one_dimensional; }),
            0.18);
  EXPECT_GE(share(facts, "depthwise, then 1x1",
                  [](const Facts& f) { return f.pointwise_after_depthwise; }),
            0.35);
  EXPECT_GE(share(facts, "residual adds", has("ADD")), 0.08);
}

// Log-uniform work: quartiles where they belong, the ends reached.
void expect_spread(const std::vector<Facts>& facts, double low, double high) {
  const auto macs = quantiles(facts, "MACs", [](const Facts& f) { return f.macs; });
  EXPECT_GE(macs.front(), 0.8 * low);
  EXPECT_LE(macs.back(), 1.25 * high);
  const double range = high / low;
  EXPECT_LE(macs[1], low * std::pow(range, 0.2));
  EXPECT_GE(macs[2], low * std::pow(range, 0.3));
  EXPECT_LE(macs[2], low * std::pow(range, 0.7));
  EXPECT_GE(macs[3], low * std::pow(range, 0.8));
  quantiles(facts, "weights", [](const Facts& f) { return f.weights; });
  quantiles(facts, "operators", [](const Facts& f) { return f.operators; });
}

TEST(ResidualClassifier, CoversWhatItPromises) {
  const std::vector<Facts> facts = sample("residual-classifier", 160);
  expect_spread(facts, 5e7, 3e9);
  const auto side = quantiles(facts, "side", [](const Facts& f) { return f.side; });
  EXPECT_LE(side.front(), 32);
  EXPECT_GE(side.back(), 224);
  EXPECT_GE(share(facts, "residual adds", has("ADD")), 0.5);
  EXPECT_GE(share(facts, "concatenation", has("CONCATENATION")), 0.25);
  EXPECT_GE(share(facts, "grouped CONV_2D", [](const Facts& f) { return f.grouped; }), 0.04);
  EXPECT_GE(share(facts, "groups by SPLIT", has("SPLIT")), 0.015);
  EXPECT_GE(share(facts, "1x7", [](const Facts& f) { return f.factorised; }), 0.01);
  EXPECT_GE(share(facts, "multiplications", has("MUL")), 0.15);
  EXPECT_GE(share(facts, "average pool", has("AVERAGE_POOL_2D")), 0.3);
  EXPECT_GE(share(facts, "maximum pool", has("MAX_POOL_2D")), 0.2);
  EXPECT_GE(share(facts, "pad", has("PAD")), 0.08);
  EXPECT_GE(share(facts, "mean", has("MEAN")), 0.3);
}

TEST(SuperResolution, CoversWhatItPromises) {
  const std::vector<Facts> facts = sample("super-resolution", 200);
  expect_spread(facts, 5e6, 4e9);
  const auto side = quantiles(facts, "side", [](const Facts& f) { return f.side; });
  EXPECT_LE(side.front(), 32);
  EXPECT_GE(side.back(), 240);
  EXPECT_GE(share(facts, "depth to space", has("DEPTH_TO_SPACE")), 0.3);
  EXPECT_GE(share(facts, "transposed convolution", has("TRANSPOSE_CONV")), 0.15);
  EXPECT_GE(share(facts, "bilinear", has("RESIZE_BILINEAR")), 0.1);
  EXPECT_GE(share(facts, "nearest", has("RESIZE_NEAREST_NEIGHBOR")), 0.1);
  EXPECT_GE(share(facts, "adds", has("ADD")), 0.3);
  EXPECT_GE(share(facts, "depthwise", has("DEPTHWISE_CONV_2D")), 0.06);
  EXPECT_GE(share(facts, "PReLU", has("PRELU")), 0.08);
  std::set<int64_t> strides;
  for (const Facts& one : facts) strides.insert(one.strides.begin(), one.strides.end());
  EXPECT_EQ(strides, (std::set<int64_t>{2, 3, 4}));
}

TEST(Segmentation, CoversWhatItPromises) {
  const std::vector<Facts> facts = sample("segmentation", 160);
  expect_spread(facts, 1e7, 3e9);
  const auto side = quantiles(facts, "side", [](const Facts& f) { return f.side; });
  EXPECT_LE(side.front(), 64);
  EXPECT_GE(side.back(), 256);
  EXPECT_GE(share(facts, "concatenation", has("CONCATENATION")), 0.4);
  EXPECT_GE(share(facts, "adds", has("ADD")), 0.2);
  EXPECT_GE(share(facts, "transposed convolution", has("TRANSPOSE_CONV")), 0.12);
  EXPECT_GE(share(facts, "bilinear", has("RESIZE_BILINEAR")), 0.4);
  EXPECT_GE(share(facts, "nearest", has("RESIZE_NEAREST_NEIGHBOR")), 0.1);
  EXPECT_GE(share(facts, "dilation", [](const Facts& f) { return f.dilated; }), 0.12);
  EXPECT_GE(share(facts, "ARG_MAX", has("ARG_MAX")), 0.1);
  EXPECT_GE(share(facts, "depthwise", has("DEPTHWISE_CONV_2D")), 0.4);
  EXPECT_GE(share(facts, "maximum pool", has("MAX_POOL_2D")), 0.12);
}

TEST(Detection, CoversWhatItPromises) {
  const std::vector<Facts> facts = sample("detection", 160);
  expect_spread(facts, 1e7, 2e9);
  const auto side = quantiles(facts, "side", [](const Facts& f) { return f.side; });
  EXPECT_LE(side.front(), 96);
  EXPECT_GE(side.back(), 320);
  const auto outputs = quantiles(facts, "outputs", [](const Facts& f) { return f.outputs; });
  EXPECT_LE(outputs.front(), 1);
  EXPECT_GE(outputs.back(), 8);
  EXPECT_GE(share(facts, "two outputs and more", [](const Facts& f) { return f.outputs >= 2; }),
            0.6);
  EXPECT_GE(share(facts, "reshape", has("RESHAPE")), 0.4);
  EXPECT_GE(share(facts, "concatenation", has("CONCATENATION")), 0.4);
  EXPECT_GE(share(facts, "logistic", has("LOGISTIC")), 0.25);
  EXPECT_GE(share(facts, "pyramids", has("RESIZE_NEAREST_NEIGHBOR")), 0.12);
  EXPECT_GE(share(facts, "depthwise, then 1x1",
                  [](const Facts& f) { return f.pointwise_after_depthwise; }),
            0.5);
}

TEST(Transformer, CoversWhatItPromises) {
  const std::vector<Facts> facts = sample("transformer", 200);
  // Without the products of activations, which are a tenth to a half of the work.
  const auto macs = quantiles(facts, "MACs", [](const Facts& f) { return f.macs; });
  EXPECT_LE(macs[1], 3e6);
  EXPECT_GE(macs[3], 1e8);
  EXPECT_LE(macs.back(), 6e8);
  const auto weights = quantiles(facts, "weights", [](const Facts& f) { return f.weights; });
  EXPECT_LE(weights.back(), 6.6e6);
  quantiles(facts, "operators", [](const Facts& f) { return f.operators; });
  EXPECT_EQ(share(facts, "softmax", has("SOFTMAX")), 1);
  EXPECT_GE(share(facts, "BATCH_MATMUL", has("BATCH_MATMUL")), 0.7);
  EXPECT_LE(share(facts, "BATCH_MATMUL", has("BATCH_MATMUL")), 0.95);
  EXPECT_GE(share(facts, "RSQRT", has("RSQRT")), 0.75);
  EXPECT_GE(share(facts, "SQUARED_DIFFERENCE", has("SQUARED_DIFFERENCE")), 0.25);
  EXPECT_GE(share(facts, "SUM", has("SUM")), 0.03);
  EXPECT_GE(share(facts, "GELU", has("GELU")), 0.2);
  EXPECT_GE(share(facts, "TANH", has("TANH")), 0.08);
  EXPECT_GE(share(facts, "hard-swish", has("HARD_SWISH")), 0.03);
  EXPECT_GE(share(facts, "words", has("GATHER")), 0.1);
  EXPECT_GE(share(facts, "class token", has("STRIDED_SLICE")), 0.2);
  EXPECT_GE(share(facts, "SPLIT", has("SPLIT")), 0.3);
  EXPECT_GE(share(facts, "TRANSPOSE", has("TRANSPOSE")), 0.6);
  EXPECT_GE(share(facts, "1x1 convolutions or patches", has("CONV_2D")), 0.3);
  EXPECT_GE(share(facts, "depthwise", has("DEPTHWISE_CONV_2D")), 0.04);
}

}  // namespace
}  // namespace edgesage
