#include "src/predict/incremental_prediction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "src/features/extract.h"
#include "src/spaces/space.h"
#include "tests/predict/random_tensors.h"
#include "tests/predict/sample_predictor.h"

namespace edgesage {
namespace {

void expect_near(double a, double b, const char* what) {
  EXPECT_LE(std::abs(a - b), 1e-6 * std::max(std::abs(b), 1e-12)) << what << ": " << a << ", " << b;
}

// Against a full pass over the same tensors.
void expect_equal(const Estimate& updated, const Estimate& full) {
  ASSERT_EQ(updated.value.size(), full.value.size());
  for (size_t q = 0; q < full.value.size(); ++q) {
    expect_near(updated.value[q], full.value[q], "value");
    EXPECT_NEAR(updated.spread[q], full.spread[q], 1e-6);
    EXPECT_NEAR(updated.overhead[q], full.overhead[q], 1e-6 * full.value[q]);
    ASSERT_EQ(updated.operators[q].size(), full.operators[q].size());
    // An operator's cost is held against the whole, since rounding is relative to that.
    for (size_t i = 0; i < full.operators[q].size(); ++i)
      EXPECT_NEAR(updated.operators[q][i], full.operators[q][i], 1e-6 * full.value[q]);
  }
}

// Number of nodes within `hops` of the seeds, edges both ways.
int32_t ball(const GraphTensors& tensors, std::set<int32_t> reached, int hops) {
  for (; hops > 0; --hops) {
    std::set<int32_t> next = reached;
    for (const int32_t node : reached)
      for (const Csr* csr : {&tensors.producers, &tensors.consumers})
        for (int32_t e = csr->offset[static_cast<size_t>(node)];
             e < csr->offset[static_cast<size_t>(node) + 1]; ++e)
          next.insert(csr->index[static_cast<size_t>(e)]);
    reached = std::move(next);
  }
  return static_cast<int32_t>(reached.size());
}

// A change of a graph, what it touched (nodes of the new graph), and where nodes were.
struct Change {
  GraphTensors tensors;
  std::set<int32_t> touched;
  std::vector<int32_t> old_node;
};

std::vector<int32_t> identity(int32_t nodes) {
  std::vector<int32_t> old_node(static_cast<size_t>(nodes));
  std::iota(old_node.begin(), old_node.end(), 0);
  return old_node;
}

int32_t any_node(const GraphTensors& tensors, Rng& rng) {
  return static_cast<int32_t>(rng.integer(0, tensors.nodes - 1));
}

void change_features(Change& change, Rng& rng) {
  for (int64_t n = rng.integer(1, 3); n > 0; --n) {
    const int32_t node = any_node(change.tensors, rng);
    test::redraw_node(change.tensors, node, rng);
    change.touched.insert(node);
  }
}

void change_edges(Change& change, Rng& rng) {
  auto lists = test::producer_lists(change.tensors);
  const int32_t node = any_node(change.tensors, rng);
  std::vector<int32_t>& list = lists[static_cast<size_t>(node)];
  change.touched.insert(node);
  change.touched.insert(list.begin(), list.end());
  list.clear();
  if (node > 0) list.push_back(static_cast<int32_t>(rng.integer(0, node - 1)));
  change.touched.insert(list.begin(), list.end());
  test::set_edges(change.tensors, lists);
}

template <class T>
void erase_row(std::vector<T>& values, int32_t row, int32_t width) {
  const auto first = values.begin() + std::ptrdiff_t{row} * width;
  values.erase(first, first + width);
}

void remove_node(Change& change, Rng& rng) {
  GraphTensors& tensors = change.tensors;
  const int32_t node = any_node(tensors, rng);
  auto lists = test::producer_lists(tensors);
  std::set<int32_t> around(lists[static_cast<size_t>(node)].begin(),
                           lists[static_cast<size_t>(node)].end());
  for (int32_t i = 0; i < tensors.nodes; ++i)
    if (std::erase(lists[static_cast<size_t>(i)], node) > 0) around.insert(i);
  lists.erase(lists.begin() + node);
  const auto moved = [node](int32_t i) { return i > node ? i - 1 : i; };
  for (std::vector<int32_t>& list : lists) std::ranges::transform(list, list.begin(), moved);
  erase_row(tensors.x, node, tensors.features);
  erase_row(tensors.log_prior, node, tensors.quantities);
  erase_row(tensors.kind, node, 1);
  erase_row(tensors.op, node, 1);
  --tensors.nodes;
  test::set_edges(tensors, lists);
  for (const int32_t i : around) change.touched.insert(moved(i));
  change.old_node.erase(change.old_node.begin() + node);
}

void insert_node(Change& change, Rng& rng) {
  GraphTensors& tensors = change.tensors;
  const auto node = static_cast<int32_t>(rng.integer(1, tensors.nodes));
  auto lists = test::producer_lists(tensors);
  const auto moved = [node](int32_t i) { return i >= node ? i + 1 : i; };
  for (std::vector<int32_t>& list : lists) std::ranges::transform(list, list.begin(), moved);
  const auto producer = static_cast<int32_t>(rng.integer(0, node - 1));
  lists.insert(lists.begin() + node, {producer});
  change.touched = {node, producer};
  if (node < tensors.nodes) {
    lists[static_cast<size_t>(node) + 1].push_back(node);
    change.touched.insert(node + 1);
  }
  tensors.x.insert(tensors.x.begin() + std::ptrdiff_t{node} * tensors.features,
                   static_cast<size_t>(tensors.features), 0.0F);
  tensors.log_prior.insert(tensors.log_prior.begin() + std::ptrdiff_t{node} * tensors.quantities,
                           static_cast<size_t>(tensors.quantities), 0.0F);
  tensors.kind.insert(tensors.kind.begin() + node, 0);
  tensors.op.insert(tensors.op.begin() + node, 0);
  ++tensors.nodes;
  test::redraw_node(tensors, node, rng);
  test::set_edges(tensors, lists);
  change.old_node.insert(change.old_node.begin() + node, -1);
}

Change random_change(const GraphTensors& before, Rng& rng) {
  Change change{before, {}, identity(before.nodes)};
  switch (rng.integer(0, 5)) {
    case 0:
      change_edges(change, rng);
      break;
    case 1:
      if (before.nodes > 2) remove_node(change, rng);
      break;
    case 2:
      insert_node(change, rng);
      break;
    case 3:  // nothing but graph features and a prior: no node is recomputed
      for (float& value : change.tensors.globals) value += 0.5F;
      change.tensors.log_prior[static_cast<size_t>(any_node(before, rng)) * 2] -= 1.5F;
      break;
    default:
      change_features(change, rng);
  }
  return change;
}

TEST(IncrementalPrediction, EqualsFullPassesOverFiveHundredRandomChanges) {
  Rng rng(11);
  for (int graph = 0; graph < 50; ++graph) {
    const int layers = 1 + graph % 3;
    const Predictor predictor = *Predictor::from(test::lively_predictor(2, 16, layers));
    GraphTensors tensors = test::random_tensors(static_cast<int32_t>(rng.integer(2, 120)), rng);
    IncrementalPrediction incremental(predictor, tensors);
    expect_equal(incremental.estimate(), predictor.estimate(tensors));
    for (int step = 0; step < 10; ++step) {
      Change change = random_change(tensors, rng);
      const Estimate& updated = incremental.update(change.tensors, change.old_node);
      expect_equal(updated, predictor.estimate(change.tensors));
      EXPECT_LE(incremental.changed_nodes(), static_cast<int32_t>(change.touched.size()));
      EXPECT_LE(incremental.recomputed_nodes(), ball(change.tensors, change.touched, layers));
      ASSERT_FALSE(testing::Test::HasFailure()) << "graph " << graph << ", step " << step;
      tensors = std::move(change.tensors);
    }
  }
}

TEST(IncrementalPrediction, FindsTheChangeByItself) {
  const Predictor predictor = *Predictor::from(test::lively_predictor(2, 16, 3));
  Rng rng(12);
  GraphTensors tensors = test::random_tensors(200, rng);
  IncrementalPrediction incremental(predictor, tensors);
  for (int step = 0; step < 30; ++step) {
    Change change = random_change(tensors, rng);
    expect_equal(incremental.update(change.tensors), predictor.estimate(change.tensors));
    if (change.tensors.nodes == tensors.nodes) {
      EXPECT_LE(incremental.recomputed_nodes(), ball(change.tensors, change.touched, 3));
    }
    tensors = std::move(change.tensors);
  }
}

TEST(IncrementalPrediction, NothingChangedRecomputesNothing) {
  const Predictor predictor = *Predictor::from(test::lively_predictor(2));
  Rng rng(13);
  const GraphTensors tensors = test::random_tensors(60, rng);
  IncrementalPrediction incremental(predictor, tensors);
  EXPECT_EQ(incremental.recomputed_nodes(), 60);
  expect_equal(incremental.update(tensors), predictor.estimate(tensors));
  EXPECT_EQ(incremental.changed_nodes(), 0);
  EXPECT_EQ(incremental.recomputed_nodes(), 0);
}

TEST(IncrementalPrediction, AMappingThatMatchesNothingIsAFullPass) {
  const Predictor predictor = *Predictor::from(test::lively_predictor(2));
  Rng rng(14);
  IncrementalPrediction incremental(predictor, test::random_tensors(40, rng));
  const GraphTensors other = test::random_tensors(70, rng);
  std::vector<int32_t> wrong(70);
  for (int32_t& old : wrong) old = static_cast<int32_t>(rng.integer(-1, 39));
  expect_equal(incremental.update(other, wrong), predictor.estimate(other));
  EXPECT_EQ(incremental.recomputed_nodes(), 70);
}

// A peak that moves up and down by many orders of magnitude.
TEST(IncrementalPrediction, MaximaFollowAnyChangeOfTheLargest) {
  const Predictor predictor = *Predictor::from(test::lively_predictor(2));
  Rng rng(15);
  GraphTensors tensors = test::random_tensors(50, rng);
  IncrementalPrediction incremental(predictor, tensors);
  for (const float largest : {30.0F, 14.0F, -20.0F, 60.0F, 12.5F, -INFINITY, 13.0F}) {
    tensors.log_prior[21] = largest;
    expect_equal(incremental.update(tensors), predictor.estimate(tensors));
  }
  for (size_t i = 1; i < tensors.log_prior.size(); i += 2) tensors.log_prior[i] = -INFINITY;
  expect_equal(incremental.update(tensors), predictor.estimate(tensors));
}

TEST(IncrementalPrediction, CopiesAreIndependent) {
  const Predictor predictor = *Predictor::from(test::lively_predictor(2));
  Rng rng(16);
  const GraphTensors base = test::random_tensors(50, rng);
  const IncrementalPrediction kept(predictor, base);
  for (int i = 0; i < 5; ++i) {
    IncrementalPrediction candidate = kept;
    const Change change = random_change(base, rng);
    expect_equal(candidate.update(change.tensors, change.old_node),
                 predictor.estimate(change.tensors));
  }
  expect_equal(kept.estimate(), predictor.estimate(base));
}

// Whole networks of a space, one after the other, as a careless search would.
TEST(IncrementalPrediction, FollowsFromOneRealNetworkToAnother) {
  const Predictor predictor = *Predictor::from(test::lively_predictor(2, 16, 3));
  const auto tensors_of = [&](int seed) {
    const Graph graph =
        *build_network(*NetworkName::parse("keyword-sound/1/" + std::to_string(seed)));
    return extract_features(graph, lower(graph, predictor.target()), predictor.quantities());
  };
  IncrementalPrediction incremental(predictor, tensors_of(1));
  for (int seed = 2; seed < 12; ++seed) {
    const GraphTensors tensors = tensors_of(seed);
    expect_equal(incremental.update(tensors), predictor.estimate(tensors));
  }
}

}  // namespace
}  // namespace edgesage
