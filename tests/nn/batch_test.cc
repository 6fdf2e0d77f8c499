#include "src/nn/batch.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/nn/random_batch.h"

namespace edgesage::nn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Batch, AppendingEveryGraphInOrderGivesTheSameBatch) {
  Rng rng(1);
  const ModelConfig config = small_config();
  const Batch batch = random_batch(config, {.graphs = 5, .label_share = 1.0}, rng);
  Batch copy;
  for (int32_t g = 0; g < batch.graphs(); ++g) append_graph(batch, g, copy);
  EXPECT_EQ(copy.graph_offset, batch.graph_offset);
  EXPECT_EQ(copy.op_graph_offset, batch.op_graph_offset);
  EXPECT_EQ(copy.x, batch.x);
  EXPECT_EQ(copy.producers.offset, batch.producers.offset);
  EXPECT_EQ(copy.producers.index, batch.producers.index);
  EXPECT_EQ(copy.consumers.index, batch.consumers.index);
  EXPECT_EQ(copy.node_op, batch.node_op);
  EXPECT_EQ(copy.log_total, batch.log_total);
  EXPECT_EQ(copy.op_label, batch.op_label);
  EXPECT_EQ(copy.weight, batch.weight);
}

TEST(Batch, GraphsDrawnInAnyOrderAreValid) {
  Rng rng(2);
  const ModelConfig config = small_config();
  const Batch batch = random_batch(config, {.graphs = 5, .min_nodes = 0}, rng);
  Batch drawn;
  for (const int32_t g : {4, 0, 4, 2}) append_graph(batch, g, drawn);
  const Status status = validate(drawn, config);
  EXPECT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(drawn.graphs(), 4);
}

TEST(Batch, RefusesWhatDoesNotFitNamingTheField) {
  const ModelConfig config = small_config();
  const auto field_of = [&](auto change) -> std::string {
    Rng rng(3);
    Batch batch = random_batch(config, {.graphs = 2, .max_nodes = 9, .min_nodes = 5}, rng);
    change(batch);
    const Status status = validate(batch, config);
    return status ? "accepted" : status.error().where;
  };
  EXPECT_EQ(field_of([](Batch&) {}), "accepted");
  EXPECT_EQ(field_of([](Batch& b) { b.features = 4; }), "batch.features");
  EXPECT_EQ(field_of([](Batch& b) { b.columns = 3; }), "batch.columns");
  EXPECT_EQ(field_of([](Batch& b) { b.x.pop_back(); }), "batch.x");
  EXPECT_EQ(field_of([](Batch& b) { b.x[0] = kInfinity; }), "batch.x");
  EXPECT_EQ(field_of([](Batch& b) { b.kind[1] = 4; }), "batch.kind");
  EXPECT_EQ(field_of([](Batch& b) { b.kind[1] = -1; }), "batch.kind");
  EXPECT_EQ(field_of([](Batch& b) { b.node_op[0] = b.operators() - 1; }), "batch.node_op");
  EXPECT_EQ(field_of([](Batch& b) { b.log_prior[2] = kInfinity; }), "batch.log_prior");
  EXPECT_EQ(field_of([](Batch& b) { b.log_total[0] = -kInfinity; }), "batch.log_total");
  EXPECT_EQ(field_of([](Batch& b) { b.op_label[0] = -1; }), "batch.op_label");
  EXPECT_EQ(field_of([](Batch& b) { b.weight.pop_back(); }), "batch.weight");
  EXPECT_EQ(field_of([](Batch& b) { b.graph_offset[1] = 100; }), "batch.graph_offset");
  EXPECT_EQ(field_of([](Batch& b) { b.op_graph_offset.pop_back(); }), "batch.op_graph_offset");
  EXPECT_EQ(field_of([](Batch& b) { b.producers.offset.pop_back(); }), "batch.producers");
  EXPECT_EQ(field_of([](Batch& b) { b.producers.index[0] = b.nodes() - 1; }), "batch.producers");
  EXPECT_EQ(field_of([](Batch& b) { b.consumers.index.push_back(0); }), "batch.consumers");
}

}  // namespace
}  // namespace edgesage::nn
