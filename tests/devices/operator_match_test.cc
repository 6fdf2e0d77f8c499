#include "src/devices/operator_match.h"

#include <gtest/gtest.h>

namespace edgesage {
namespace {

// Operators that make the given values, one each.
Graph graph_of(const std::vector<std::string>& values) {
  Graph graph;
  graph.subgraphs.resize(1);
  Subgraph& main = graph.subgraphs.front();
  for (const std::string& value : values) {
    Tensor tensor;
    tensor.name = value;
    main.tensors.push_back(std::move(tensor));
    Operator op;
    op.outputs = {static_cast<int32_t>(main.tensors.size()) - 1};
    main.operators.push_back(std::move(op));
  }
  return graph;
}

struct Timed {
  double ns;
  std::vector<std::string> outputs;
  std::string placement = "cpu";
};

Measurement match(const Graph& graph, const std::vector<Timed>& timed) {
  Json answer;
  answer["operators"] = Json::array();
  Measurement measurement;
  for (size_t i = 0; i < timed.size(); ++i) {
    answer["operators"].push_back({{"index", i}, {"outputs", timed[i].outputs}});
    OperatorMeasurement measured;
    measured.index = static_cast<int32_t>(i);
    measured.cycles = timed[i].ns;
    measured.placement = timed[i].placement;
    measurement.operators.push_back(std::move(measured));
  }
  match_operators(answer, graph, measurement);
  return measurement;
}

TEST(OperatorMatch, FindsOperatorsByTheValuesThatTheyMake) {
  const Graph graph = graph_of({"layout", "b", "d"});
  // a is fused with what follows it here, c with d; e is the runtime's own.
  const Measurement found =
      match(graph, {{1, {"a", "b", "d"}}, {20, {"b", "d"}, "npu"}, {300, {"c", "d"}}, {4000, {}}});
  ASSERT_EQ(found.operators.size(), 3u);
  EXPECT_EQ(found.operators[0].index, 1);
  EXPECT_EQ(found.operators[0].cycles, 21);
  EXPECT_EQ(found.operators[0].placement, "npu") << "the costlier part says where it runs";
  EXPECT_EQ(found.operators[1].index, 2);
  EXPECT_EQ(found.operators[1].cycles, 300);
  EXPECT_EQ(found.operators[2].index, 3) << "behind the operators of the model";
  EXPECT_EQ(found.operators[2].cycles, 4000);
}

TEST(OperatorMatch, LeavesOutWhatCostsNothingAndIsNotInTheGraph) {
  const Measurement found = match(graph_of({"b"}), {{0, {"a"}}, {5, {"b"}}});
  ASSERT_EQ(found.operators.size(), 1u);
  EXPECT_EQ(found.operators[0].cycles, 5);
}

TEST(OperatorMatch, ChangesNothingWhereNoValuesAreNamed) {
  Measurement measurement;
  measurement.operators.resize(2);
  measurement.operators[0].index = 7;
  for (const char* text : {R"({"operators":[{"index":7},{"index":8}]})", R"({"operators":{}})",
                           R"({})", R"({"operators":[{"index":7,"outputs":["b"]}]})"}) {
    match_operators(parse_json(text, "answer", ErrorCode::kInternal).value(), graph_of({"b"}),
                    measurement);
    EXPECT_EQ(measurement.operators.size(), 2u) << text;
    EXPECT_EQ(measurement.operators[0].index, 7) << text;
  }
}

TEST(OperatorMatch, TakesOddNamesForNoNames) {
  Measurement measurement;
  measurement.operators.resize(3);
  for (OperatorMeasurement& measured : measurement.operators) measured.cycles = 1;
  const Json answer = parse_json(R"({"operators":[{"outputs":[1,null,"b"]},{"outputs":"b"},{}]})",
                                 "answer", ErrorCode::kInternal)
                          .value();
  match_operators(answer, graph_of({"b"}), measurement);
  ASSERT_EQ(measurement.operators.size(), 3u);
  EXPECT_EQ(measurement.operators[0].index, 0);
  EXPECT_EQ(measurement.operators[1].index, 1);
  EXPECT_EQ(measurement.operators[2].index, 2);
}

}  // namespace
}  // namespace edgesage
