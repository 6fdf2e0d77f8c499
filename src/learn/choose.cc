#include "src/learn/choose.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "src/base/rng.h"

namespace edgesage {
namespace {

constexpr Eigen::Index kSample = 600;

// Squared distances of all points to one.
Eigen::VectorXf distances_to(const Points& points, const Eigen::RowVectorXf& centre) {
  return (points.rowwise() - centre).rowwise().squaredNorm();
}

Eigen::Index argmin(const Eigen::VectorXf& values) {
  Eigen::Index at = 0;
  values.minCoeff(&at);
  return at;
}

// Centres far from each other with a probability that grows with the distance (k-means++; Arthur
// and Vassilvitskii 2007).
Points first_centres(const Points& points, Eigen::Index count, Rng& rng) {
  Points centres(count, points.cols());
  centres.row(0) = points.row(rng.integer(0, points.rows() - 1));
  Eigen::VectorXf nearest = distances_to(points, centres.row(0));
  for (Eigen::Index c = 1; c < count; ++c) {
    double left = rng.uniform() * nearest.cast<double>().sum();
    Eigen::Index chosen = 0;
    while (chosen + 1 < points.rows() && left >= static_cast<double>(nearest(chosen)))
      left -= static_cast<double>(nearest(chosen++));
    centres.row(c) = points.row(chosen);
    nearest = nearest.cwiseMin(distances_to(points, centres.row(c)));
  }
  return centres;
}

Points k_means(const Points& points, Eigen::Index count, Rng& rng) {
  constexpr int kRounds = 40;
  Points centres = first_centres(points, count, rng);
  std::vector<Eigen::Index> cluster(static_cast<size_t>(points.rows()), -1);
  for (int round = 0; round < kRounds; ++round) {
    const Eigen::VectorXf square = centres.rowwise().squaredNorm();
    const Points products = points * centres.transpose();
    bool moved = false;
    for (Eigen::Index i = 0; i < points.rows(); ++i) {
      const Eigen::Index nearest = argmin(square - 2 * products.row(i).transpose());
      moved = moved || nearest != cluster[static_cast<size_t>(i)];
      cluster[static_cast<size_t>(i)] = nearest;
    }
    if (!moved) break;
    Points sums = Points::Zero(count, points.cols());
    Eigen::VectorXf members = Eigen::VectorXf::Zero(count);
    for (Eigen::Index i = 0; i < points.rows(); ++i) {
      sums.row(cluster[static_cast<size_t>(i)]) += points.row(i);
      members(cluster[static_cast<size_t>(i)]) += 1;
    }
    for (Eigen::Index c = 0; c < count; ++c)
      if (members(c) > 0) centres.row(c) = sums.row(c) / members(c);
  }
  return centres;
}

// Shares of `count` by the square root of the groups' sizes, none above its size.
std::vector<size_t> shares(const std::vector<size_t>& sizes, size_t count) {
  std::vector<size_t> share(sizes.size(), 0);
  for (size_t given = 0; given < count; ++given) {
    // One at a time to the group that is furthest behind.
    size_t best = sizes.size();
    double least = std::numeric_limits<double>::infinity();
    for (size_t g = 0; g < sizes.size(); ++g) {
      if (share[g] >= sizes[g]) continue;
      const double filled =
          static_cast<double>(share[g] + 1) / std::sqrt(static_cast<double>(sizes[g]));
      if (filled < least) {
        least = filled;
        best = g;
      }
    }
    if (best == sizes.size()) break;
    ++share[best];
  }
  return share;
}

}  // namespace

Points simulated_components(const Points& prices, Eigen::Index count) {
  std::vector<Eigen::Index> sample;
  const Eigen::Index step = std::max<Eigen::Index>(1, prices.rows() / kSample);
  for (Eigen::Index i = 0; i < prices.rows(); i += step) sample.push_back(i);
  const Points some = prices(sample, Eigen::all);
  const Eigen::MatrixXd gram = (some * some.transpose()).cast<double>() /
                               static_cast<double>(std::max<size_t>(1, sample.size()));
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram);
  const Eigen::Index size = gram.rows();
  std::vector<Eigen::Index> kept;
  for (Eigen::Index c = size - 1; c >= 0 && static_cast<Eigen::Index>(kept.size()) < count; --c)
    if (solver.eigenvalues()(c) > 1e-6 * solver.eigenvalues()(size - 1)) kept.push_back(c);
  // Directions in the space of devices, from those in the space of networks.
  Points directions(prices.cols(), static_cast<Eigen::Index>(kept.size()));
  for (size_t k = 0; k < kept.size(); ++k) {
    const double value = solver.eigenvalues()(kept[k]);
    Eigen::VectorXf direction = some.transpose() * solver.eigenvectors().col(kept[k]).cast<float>();
    direction.normalize();
    directions.col(static_cast<Eigen::Index>(k)) =
        direction * static_cast<float>(std::pow(value, -0.25));
  }
  return prices * directions;
}

std::vector<size_t> choose_first(const Points& components, size_t count,
                                 std::span<const size_t> groups, uint64_t seed) {
  std::map<size_t, std::vector<Eigen::Index>> members;
  for (Eigen::Index i = 0; i < components.rows(); ++i)
    members[groups.empty() ? 0 : groups[static_cast<size_t>(i)]].push_back(i);
  std::vector<size_t> sizes;
  for (const auto& [group, rows] : members) sizes.push_back(rows.size());
  const std::vector<size_t> share = shares(sizes, count);
  std::vector<size_t> chosen;
  Rng rng(seed, "first networks");
  size_t g = 0;
  for (const auto& [group, rows] : members) {
    const size_t wanted = share[g++];
    if (wanted == 0) continue;
    const Points points = components(rows, Eigen::all);
    const Points centres = k_means(points, static_cast<Eigen::Index>(wanted), rng);
    std::vector<bool> taken(rows.size(), false);
    for (Eigen::Index c = 0; c < centres.rows(); ++c) {
      Eigen::VectorXf away = distances_to(points, centres.row(c));
      for (size_t i = 0; i < rows.size(); ++i)
        if (taken[i]) away(static_cast<Eigen::Index>(i)) = std::numeric_limits<float>::max();
      const Eigen::Index nearest = argmin(away);
      taken[static_cast<size_t>(nearest)] = true;
      chosen.push_back(static_cast<size_t>(rows[static_cast<size_t>(nearest)]));
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<size_t> choose_next(const Points& components, std::span<const double> log_sd,
                                std::span<const size_t> chosen, size_t count) {
  // A label says something of networks as near as the labelled ones are to each other.
  double length = 0;
  for (const size_t i : chosen) {
    Eigen::VectorXf away = distances_to(components, components.row(static_cast<Eigen::Index>(i)));
    float nearest = std::numeric_limits<float>::max();
    for (const size_t j : chosen)
      if (j != i) nearest = std::min(nearest, away(static_cast<Eigen::Index>(j)));
    if (chosen.size() > 1) length += static_cast<double>(nearest);
  }
  length = chosen.size() > 1 ? length / static_cast<double>(chosen.size()) : 1.0;
  length = std::max(length, 1e-6);
  Eigen::VectorXf gain(components.rows());
  for (Eigen::Index i = 0; i < gain.size(); ++i)
    gain(i) = static_cast<float>(log_sd[static_cast<size_t>(i)] * log_sd[static_cast<size_t>(i)]);
  for (const size_t i : chosen) gain(static_cast<Eigen::Index>(i)) = -1;
  std::vector<size_t> next;
  while (next.size() < count) {
    Eigen::Index best = 0;
    if (gain.size() == 0 || gain.maxCoeff(&best) < 0) break;
    next.push_back(static_cast<size_t>(best));
    const Eigen::ArrayXf near =
        (-distances_to(components, components.row(best)).array() / static_cast<float>(length))
            .exp();
    gain = (gain.array() < 0).select(gain, Eigen::VectorXf(gain.array() * (1 - near)));
    gain(best) = -1;
  }
  return next;
}

Outlook outlook(std::span<const double> counts, std::span<const double> errors, int64_t more) {
  constexpr double kWorthIt = 0.05;
  Outlook result;
  result.more = more;
  if (counts.size() != errors.size() || counts.empty()) return result;
  result.error = result.error_after = errors.back();
  if (counts.size() < 2) return result;
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  const auto n = static_cast<double>(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    const double x = std::log(counts[i]), y = std::log(std::max(errors[i], 1e-6));
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  const double spread = sxx - sx * sx / n;
  // Errors do not grow with labels, and no learning curve of this kind is steeper than 1 / n.
  const double slope = spread > 0 ? std::clamp((sxy - sx * sy / n) / spread, -1.0, 0.0) : 0.0;
  result.error_after =
      result.error * std::pow((counts.back() + static_cast<double>(more)) / counts.back(), slope);
  result.stop = result.error_after > (1 - kWorthIt) * result.error;
  return result;
}

}  // namespace edgesage
