#include "src/search/pareto.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace edgesage::search {

bool dominates(const Outcome& a, const Outcome& b) {
  if (a.violation > 0 || b.violation > 0) return a.violation < b.violation;
  bool better = false;
  for (size_t i = 0; i < a.objectives.size(); ++i) {
    if (a.objectives[i] > b.objectives[i]) return false;
    better = better || a.objectives[i] < b.objectives[i];
  }
  return better;
}

std::vector<int32_t> front_ranks(std::span<const Outcome> outcomes) {
  const size_t n = outcomes.size();
  std::vector<int32_t> rank(n, -1), dominators(n, 0);
  std::vector<std::vector<size_t>> dominated(n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = i + 1; j < n; ++j) {
      if (dominates(outcomes[i], outcomes[j])) {
        dominated[i].push_back(j);
        ++dominators[j];
      } else if (dominates(outcomes[j], outcomes[i])) {
        dominated[j].push_back(i);
        ++dominators[i];
      }
    }
  std::vector<size_t> front;
  for (size_t i = 0; i < n; ++i)
    if (dominators[i] == 0) front.push_back(i);
  for (int32_t level = 0; !front.empty(); ++level) {
    std::vector<size_t> next;
    for (const size_t i : front) {
      rank[i] = level;
      for (const size_t j : dominated[i])
        if (--dominators[j] == 0) next.push_back(j);
    }
    front = std::move(next);
  }
  return rank;
}

std::vector<double> crowding_distances(std::span<const Outcome> outcomes,
                                       std::span<const size_t> front) {
  std::vector<double> distance(front.size(), 0.0);
  if (front.empty()) return distance;
  std::vector<size_t> order(front.size());
  for (size_t objective = 0; objective < outcomes[front[0]].objectives.size(); ++objective) {
    const auto value = [&](size_t i) { return outcomes[front[i]].objectives[objective]; };
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return value(a) < value(b); });
    const double range = value(order.back()) - value(order.front());
    distance[order.front()] = distance[order.back()] = std::numeric_limits<double>::infinity();
    if (range <= 0) continue;
    for (size_t i = 1; i + 1 < order.size(); ++i)
      distance[order[i]] += (value(order[i + 1]) - value(order[i - 1])) / range;
  }
  return distance;
}

namespace {

using Points = std::vector<std::vector<double>>;

double sweep(Points points, std::span<const double> reference) {
  std::ranges::sort(points);
  double volume = 0, lowest = reference[1];
  for (const auto& point : points) {
    if (point[1] >= lowest) continue;
    volume += (reference[0] - point[0]) * (lowest - point[1]);
    lowest = point[1];
  }
  return volume;
}

// Slices along the last objective; each is a problem of one objective fewer.
double slices(Points points, std::span<const double> reference) {
  const size_t last = reference.size() - 1;
  if (reference.size() == 1) {
    double best = reference[0];
    for (const auto& point : points) best = std::min(best, point[0]);
    return reference[0] - best;
  }
  if (reference.size() == 2) return sweep(std::move(points), reference);
  std::ranges::sort(points, [&](const auto& a, const auto& b) { return a[last] < b[last]; });
  double volume = 0;
  Points so_far;
  for (size_t i = 0; i < points.size(); ++i) {
    so_far.emplace_back(points[i].begin(), points[i].end() - 1);
    const double end = i + 1 < points.size() ? points[i + 1][last] : reference[last];
    if (end > points[i][last])
      volume += (end - points[i][last]) * slices(so_far, reference.first(last));
  }
  return volume;
}

}  // namespace

double hypervolume(std::vector<std::vector<double>> points, std::span<const double> reference) {
  std::erase_if(points, [&](const auto& point) {
    for (size_t i = 0; i < reference.size(); ++i)
      if (!(point[i] < reference[i])) return true;
    return false;
  });
  return points.empty() || reference.empty() ? 0 : slices(std::move(points), reference);
}

bool add_to_front(std::vector<Individual>& front, const Individual& individual) {
  if (individual.outcome.violation > 0) return false;
  for (const Individual& other : front)
    if (other.outcome.objectives == individual.outcome.objectives ||
        dominates(other.outcome, individual.outcome))
      return false;
  std::erase_if(
      front, [&](const Individual& other) { return dominates(individual.outcome, other.outcome); });
  front.push_back(individual);
  return true;
}

}  // namespace edgesage::search
