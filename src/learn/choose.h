// Which networks to measure: first, and next.
//
// First: networks whose simulated costs differ most from each other - one for each cluster of the
// virtual devices' prices, so that no label is needed. Next: networks of which the process is
// unsure, no two alike. With 30 labels this choice is worth more than the model (docs/few_shot.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/learn/few_shot.h"

namespace edgesage {

// Principal components of the networks' simulated costs, each divided by the fourth root of its
// variance: between raw components, where size is nearly all, and white ones, where noise is.
// At most `count` columns. Cost: cubic in a sample of 600 networks, linear in the rest.
[[nodiscard]] Points simulated_components(const Points& prices, Eigen::Index count = 40);

// One network for each of `count` clusters (k-means, seeded): the one nearest to its centre.
// `groups`, one a network, may be empty: clusters are made inside each group, which has a share of
// them by the square root of its size. Ascending, without duplicates; all networks where there are
// not more.
[[nodiscard]] std::vector<size_t> choose_first(const Points& components, size_t count,
                                               std::span<const size_t> groups, uint64_t seed);

// The next `count` networks beside those that have labels: by the process's standard deviation of
// the log cost, every choice lowering that of its neighbours among the components as a label of it
// would. `chosen` are indexes that are not asked again. In the order of their use.
[[nodiscard]] std::vector<size_t> choose_next(const Points& components,
                                              std::span<const double> log_sd,
                                              std::span<const size_t> chosen, size_t count);

// What more labels would bring, from errors of labels that were held out.
struct Outlook {
  double error = 0;        // median |log error| of held-out labels now
  double error_after = 0;  // expected after `more` labels
  int64_t more = 12;
  bool stop = false;  // twelve more would take off less than a twentieth of the error
};

// Error as a power of the number of labels, fitted to the held-out errors of smaller fits.
// `counts` and `errors` are pairs; the last is the present. One alone says nothing of what follows.
[[nodiscard]] Outlook outlook(std::span<const double> counts, std::span<const double> errors,
                              int64_t more = 12);

}  // namespace edgesage
