#include "src/learn/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "src/devices/statistics.h"

namespace edgesage {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<size_t> order_of(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  return order;
}

// Ranks from 1; ties share their mean rank.
std::vector<double> ranks(std::span<const double> values) {
  const std::vector<size_t> order = order_of(values);
  std::vector<double> rank(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double mean = (static_cast<double>(begin) + static_cast<double>(end) + 1.0) / 2.0;
    for (size_t i = begin; i < end; ++i) rank[order[i]] = mean;
    begin = end;
  }
  return rank;
}

double pearson(std::span<const double> a, std::span<const double> b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : kNaN;
}

double tied_pairs(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double pairs = 0;
  for (size_t begin = 0; begin < values.size();) {
    size_t end = begin + 1;
    while (end < values.size() && values[end] == values[begin]) ++end;
    const auto run = static_cast<double>(end - begin);
    pairs += run * (run - 1) / 2;
    begin = end;
  }
  return pairs;
}

// Exchanges that a merge sort makes: pairs out of order.
double count_inversions(std::vector<double>& values, std::vector<double>& scratch, size_t begin,
                        size_t end) {
  if (end - begin < 2) return 0;
  const size_t middle = begin + (end - begin) / 2;
  double inversions = count_inversions(values, scratch, begin, middle) +
                      count_inversions(values, scratch, middle, end);
  size_t left = begin, right = middle, out = begin;
  while (left < middle || right < end) {
    if (right == end || (left < middle && values[left] <= values[right])) {
      scratch[out++] = values[left++];
    } else {
      inversions += static_cast<double>(middle - left);
      scratch[out++] = values[right++];
    }
  }
  std::copy(scratch.begin() + static_cast<std::ptrdiff_t>(begin),
            scratch.begin() + static_cast<std::ptrdiff_t>(end),
            values.begin() + static_cast<std::ptrdiff_t>(begin));
  return inversions;
}

// Kendall's tau-b by Knight's method (1966).
double kendall_tau_b(std::span<const double> a, std::span<const double> b) {
  std::vector<size_t> order(a.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t i, size_t j) { return a[i] != a[j] ? a[i] < a[j] : b[i] < b[j]; });
  std::vector<double> sorted_b(a.size());
  double tied_both = 0;
  for (size_t i = 0; i < order.size(); ++i) sorted_b[i] = b[order[i]];
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && a[order[end]] == a[order[begin]] &&
           b[order[end]] == b[order[begin]])
      ++end;
    const auto run = static_cast<double>(end - begin);
    tied_both += run * (run - 1) / 2;
    begin = end;
  }
  const auto n = static_cast<double>(a.size());
  const double pairs = n * (n - 1) / 2;
  const double tied_a = tied_pairs({a.begin(), a.end()});
  const double tied_b = tied_pairs({b.begin(), b.end()});
  std::vector<double> scratch(sorted_b.size());
  const double discordant = count_inversions(sorted_b, scratch, 0, sorted_b.size());
  const double concordant_minus = pairs - tied_a - tied_b + tied_both - 2 * discordant;
  const double scale = std::sqrt((pairs - tied_a) * (pairs - tied_b));
  return scale > 0 ? concordant_minus / scale : kNaN;
}

double best_recall(std::span<const double> truth, std::span<const double> predicted, double share) {
  const auto count =
      static_cast<size_t>(std::max(1.0, std::round(share * static_cast<double>(truth.size()))));
  const std::vector<size_t> best = order_of(truth);
  const std::vector<size_t> chosen = order_of(predicted);
  std::vector<char> is_best(truth.size(), 0);
  for (size_t i = 0; i < count; ++i) is_best[best[i]] = 1;
  size_t hits = 0;
  for (size_t i = 0; i < count; ++i) hits += is_best[chosen[i]] != 0 ? 1 : 0;
  return static_cast<double>(hits) / static_cast<double>(count);
}

}  // namespace

Accuracy accuracy(std::span<const double> truth, std::span<const double> predicted) {
  Accuracy result;
  result.count = truth.size();
  if (truth.empty()) return result;
  std::vector<double> ape(truth.size());
  const auto n = static_cast<double>(truth.size());
  for (size_t i = 0; i < truth.size(); ++i) {
    ape[i] = std::abs(predicted[i] - truth[i]) / truth[i];
    result.mape += ape[i] / n;
    result.within_1 += ape[i] <= 0.01 ? 1 / n : 0;
    result.within_5 += ape[i] <= 0.05 ? 1 / n : 0;
    result.within_10 += ape[i] <= 0.10 ? 1 / n : 0;
    result.worst_under = std::max(result.worst_under, (truth[i] - predicted[i]) / truth[i]);
  }
  std::sort(ape.begin(), ape.end());
  result.median_ape = quantile(ape, 0.5);
  result.p95_ape = quantile(ape, 0.95);
  result.spearman = pearson(ranks(truth), ranks(predicted));
  result.kendall = kendall_tau_b(truth, predicted);
  result.best_5_recall = best_recall(truth, predicted, 0.05);
  return result;
}

double auroc(std::span<const double> scores, const std::vector<bool>& positive) {
  const std::vector<double> rank = ranks(scores);
  double sum = 0, positives = 0;
  for (size_t i = 0; i < rank.size(); ++i) {
    if (!positive[i]) continue;
    sum += rank[i];
    positives += 1;
  }
  const double negatives = static_cast<double>(rank.size()) - positives;
  if (positives == 0 || negatives == 0) return kNaN;
  return (sum - positives * (positives + 1) / 2) / (positives * negatives);
}

}  // namespace edgesage
