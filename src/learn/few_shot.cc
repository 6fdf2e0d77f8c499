#include "src/learn/few_shot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/rng.h"
#include "src/learn/choose.h"
#include "src/learn/few_shot_errors.h"

namespace edgesage {
namespace {

constexpr size_t kLeastLabels = 8;

simulate::SimQuantity sim_quantity(Quantity quantity) {
  switch (quantity) {
    case Quantity::kLatencyMs:
      return simulate::SimQuantity::kLatency;
    case Quantity::kEnergyMj:
      return simulate::SimQuantity::kEnergy;
    case Quantity::kSramBytes:
    case Quantity::kDramBytes:
      return simulate::SimQuantity::kMemory;
  }
  return simulate::SimQuantity::kLatency;
}

// Columns centred, then all scaled so that the mean squared length of a row is 1; the scale.
double centre_and_scale(Points& points) {
  const Eigen::RowVectorXf centre = points.colwise().mean();
  points.rowwise() -= centre;
  const double square = points.cast<double>().rowwise().squaredNorm().mean();
  const double scale = square > 0 ? 1 / std::sqrt(square) : 1;
  points *= static_cast<float>(scale);
  return scale;
}

Points points_of(const std::vector<std::vector<float>>& rows) {
  Points points(static_cast<Eigen::Index>(rows.size()),
                rows.empty() ? 0 : static_cast<Eigen::Index>(rows[0].size()));
  for (size_t i = 0; i < rows.size(); ++i)
    points.row(static_cast<Eigen::Index>(i)) =
        Eigen::Map<const Eigen::RowVectorXf>(rows[i].data(), points.cols());
  return points;
}

// Standardised columns, clipped: one odd network must not stretch the distances of all others.
Points standardised(const std::vector<std::vector<float>>& rows) {
  constexpr float kClip = 5;
  Points points = points_of(rows);
  for (Eigen::Index c = 0; c < points.cols(); ++c) {
    auto column = points.col(c).array();
    column -= column.mean();
    const float deviation = std::sqrt(column.square().mean());
    column *= deviation > 1e-6F ? 1 / deviation : 0.0F;
    column = column.max(-kClip).min(kClip);
  }
  centre_and_scale(points);
  return points;
}

Points centred(const std::vector<std::vector<float>>& rows) {
  Points points = points_of(rows);
  centre_and_scale(points);
  return points;
}

// One column a device.
Points columns(const std::vector<std::vector<double>>& devices) {
  Points points(static_cast<Eigen::Index>(devices.front().size()),
                static_cast<Eigen::Index>(devices.size()));
  for (size_t d = 0; d < devices.size(); ++d)
    points.col(static_cast<Eigen::Index>(d)) =
        Eigen::Map<const Eigen::VectorXd>(devices[d].data(), points.rows()).cast<float>();
  centre_and_scale(points);
  return points;
}

Points rows_of(const Points& points, std::span<const size_t> rows) {
  return points(std::vector<size_t>(rows.begin(), rows.end()), Eigen::all);
}

// Indexes of the `count` smallest, ascending by value.
std::vector<size_t> least(std::span<const double> values, size_t count) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  order.resize(std::min(count, order.size()));
  return order;
}

std::vector<float> parameters_of(std::span<const float> z, std::span<const size_t> devices) {
  constexpr auto kWidth = static_cast<size_t>(simulate::kParameters);
  std::vector<float> chosen;
  for (const size_t device : devices)
    chosen.insert(chosen.end(), z.begin() + static_cast<ptrdiff_t>(device * kWidth),
                  z.begin() + static_cast<ptrdiff_t>((device + 1) * kWidth));
  return chosen;
}

// One fit: networks, library and options, with a choice of labels that changes between folds.
class Learner {
 public:
  Learner(const FewShotSet& networks, const DeviceLibrary& library, const FewShotOptions& options)
      : networks_(networks), library_(library), options_(options) {
    if (options.totals) totals_ = standardised(networks.totals);
    if (options.closed_form) {
      shares_ = centred(networks.shares);
      bounds_ = standardised(networks.bounds);
    }
    if (!options.known_devices.empty()) known_ = columns(options.known_devices);
  }

  // Mean function, for labels and answers.
  [[nodiscard]] double base(size_t network) const {
    const double closed_form = networks_.log_closed_form[network];
    return options_.closed_form && std::isfinite(closed_form) ? closed_form : 0.0;
  }

  // Devices of the library that agree best with the labels, best first.
  [[nodiscard]] std::vector<size_t> best_of_library(std::span<const size_t> labelled,
                                                    std::span<const double> y, size_t count) const {
    const Points prices = rows_of(library_.points, labelled);
    std::vector<double> scaled(y.begin(), y.end());
    for (double& value : scaled) value *= library_.scale;
    const std::vector<double> misfits = misfit({prices.data(), static_cast<size_t>(prices.size())},
                                               static_cast<size_t>(prices.cols()), scaled);
    return least(misfits, count);
  }

  [[nodiscard]] Points second_of_library(std::span<const size_t> best) const {
    Points points = library_.points(Eigen::all, std::vector<size_t>(best.begin(), best.end()));
    centre_and_scale(points);
    return points;
  }

  // Parameters of the devices after they were fitted to the labels, best first.
  [[nodiscard]] std::vector<float> fitted_devices(std::span<const size_t> labelled,
                                                  std::span<const double> y) const {
    std::vector<simulate::SimNetwork> nets;
    for (const size_t network : labelled) nets.push_back(networks_.sim[network]);
    const DevicePrices prices = [&](std::span<const float> z) {
      return simulate::log_costs(nets, simulate::DeviceSet::decode(z),
                                 sim_quantity(networks_.quantity), options_.threads);
    };
    std::vector<float> z = parameters_of(
        library_.z, best_of_library(labelled, y, static_cast<size_t>(options_.ensemble)));
    smooth_devices(z, simulate::kParameters, y, prices, options_.smoothing);
    const size_t devices = z.size() / static_cast<size_t>(simulate::kParameters);
    const std::vector<float> costs = prices(z);
    return parameters_of(z, least(misfit(costs, devices, y), static_cast<size_t>(options_.best)));
  }

  [[nodiscard]] Points priced(std::span<const float> z) const {
    const auto devices = simulate::DeviceSet::decode(z);
    const std::vector<float> costs = simulate::log_costs(
        networks_.sim, devices, sim_quantity(networks_.quantity), options_.threads);
    Points points = Eigen::Map<const Points>(
        costs.data(), static_cast<Eigen::Index>(networks_.size()), devices.size());
    centre_and_scale(points);
    return points;
  }

  // All points of the process, of every network.
  [[nodiscard]] std::vector<const Points*> points(const Points& second) const {
    std::vector<const Points*> all{&library_.points, &second};
    if (options_.totals) all.push_back(&totals_);
    if (options_.closed_form) all.insert(all.end(), {&shares_, &bounds_});
    if (known_.size() > 0) all.push_back(&known_);
    return all;
  }

  [[nodiscard]] Result<GaussianProcess> process(const Points& second,
                                                std::span<const size_t> labelled,
                                                std::span<const double> y,
                                                const HyperParameters& known = {}) const {
    std::vector<CovarianceTerm> terms;
    terms.push_back({"virtual devices", Covariance::kLinear, rows_of(library_.points, labelled)});
    terms.push_back({"best virtual devices", Covariance::kLinear, rows_of(second, labelled)});
    if (options_.totals)
      terms.push_back({"totals", Covariance::kMatern52, rows_of(totals_, labelled)});
    if (options_.closed_form)
      terms.push_back({"shares of kinds", Covariance::kLinear, rows_of(shares_, labelled)});
    if (options_.closed_form)
      terms.push_back({"bounds", Covariance::kMatern52, rows_of(bounds_, labelled)});
    if (known_.size() > 0)
      terms.push_back({"known devices", Covariance::kLinear, rows_of(known_, labelled)});
    std::vector<double> rest(y.begin(), y.end());
    for (size_t i = 0; i < rest.size(); ++i) rest[i] -= base(labelled[i]);
    GaussianProcessOptions process = options_.process;
    process.known = known;
    return GaussianProcess::fit(std::move(terms), rest, process);
  }

 private:
  const FewShotSet& networks_;
  const DeviceLibrary& library_;
  const FewShotOptions& options_;
  Points totals_, shares_, bounds_, known_;
};

struct Fold {
  std::vector<size_t> kept, held;  // positions among the labels
};

std::vector<Fold> folds_of(size_t labels, int count, uint64_t seed) {
  std::vector<size_t> order(labels);
  std::iota(order.begin(), order.end(), size_t{0});
  Rng(seed, "folds").shuffle(order);
  std::vector<Fold> folds(std::min(static_cast<size_t>(count), labels));
  for (size_t i = 0; i < labels; ++i)
    for (size_t f = 0; f < folds.size(); ++f)
      (i % folds.size() == f ? folds[f].held : folds[f].kept).push_back(order[i]);
  return folds;
}

template <class T>
std::vector<T> pick(std::span<const T> values, std::span<const size_t> at) {
  std::vector<T> picked;
  for (const size_t i : at) picked.push_back(values[i]);
  return picked;
}

// Share of the second answer in the mix of least mean absolute error; near equal ones tend to half,
// which is the safe choice where the folds cannot tell.
double best_share(std::span<const double> first, std::span<const double> second,
                  std::span<const double> truth) {
  double best = 0.5, least_error = std::numeric_limits<double>::infinity();
  for (int step = 0; step <= 10; ++step) {
    const double share = 0.1 * step;
    double error = 0;
    for (size_t i = 0; i < truth.size(); ++i)
      error += std::abs((1 - share) * first[i] + share * second[i] - truth[i]);
    error *= 1 + 0.1 * std::abs(share - 0.5);
    if (error < least_error) {
      least_error = error;
      best = share;
    }
  }
  return best;
}

}  // namespace

DeviceLibrary make_device_library(const FewShotSet& networks, int32_t devices, uint64_t seed,
                                  int threads) {
  DeviceLibrary library;
  library.seed = seed;
  library.z = simulate::draw_devices(seed, 0, devices);
  const std::vector<float> costs =
      simulate::log_costs(networks.sim, simulate::DeviceSet::decode(library.z),
                          sim_quantity(networks.quantity), threads);
  library.points =
      Eigen::Map<const Points>(costs.data(), static_cast<Eigen::Index>(networks.size()), devices);
  library.scale = centre_and_scale(library.points);
  library.components = simulated_components(library.points);
  return library;
}

Result<FewShotFit> fit_few_shot(const FewShotSet& networks, const DeviceLibrary& library,
                                std::span<const size_t> labelled,
                                std::span<const double> log_labels, const FewShotOptions& options) {
  if (labelled.size() != log_labels.size() || labelled.size() < kLeastLabels)
    return make_error(ErrorCode::kInvalidArgument, "few-shot learning",
                      fmt::format("{} labels of {} networks; at least {} are needed",
                                  log_labels.size(), labelled.size(), kLeastLabels));
  if (!std::all_of(log_labels.begin(), log_labels.end(),
                   [](double label) { return std::isfinite(label); }))
    return make_error(ErrorCode::kInvalidArgument, "few-shot learning",
                      "the logarithm of a label is not finite: labels must be above zero");
  const bool smoother = options.smoother && labelled.size() >= options.smoother_labels;
  const Learner learner(networks, library, options);
  const auto best_count = static_cast<size_t>(options.best);
  FewShotFit fit;

  // The answer of devices as drawn.
  const std::vector<size_t> best = learner.best_of_library(labelled, log_labels, best_count);
  const Points drawn = learner.second_of_library(best);
  EDGESAGE_ASSIGN_OR_RETURN(const GaussianProcess plain,
                            learner.process(drawn, labelled, log_labels));
  fit.log_cost = plain.mean(learner.points(drawn));
  const std::vector<double> variance = plain.variance(learner.points(drawn));

  // The answer of fitted devices, and what both would have said of labels they did not see.
  std::vector<double> fitted_answer;
  HyperParameters fitted_hyper;
  if (smoother) {
    const std::vector<float> z = learner.fitted_devices(labelled, log_labels);
    const Points fitted = learner.priced(z);
    EDGESAGE_ASSIGN_OR_RETURN(const GaussianProcess process,
                              learner.process(fitted, labelled, log_labels));
    fitted_answer = process.mean(learner.points(fitted));
    fitted_hyper = process.hyper_parameters();
  }
  std::vector<double> plain_held(labelled.size()), fitted_held(labelled.size());
  std::vector<double> held_sd(labelled.size());
  for (const Fold& fold : folds_of(labelled.size(), options.folds, library.seed)) {
    const std::vector<size_t> kept = pick(labelled, fold.kept), held = pick(labelled, fold.held);
    const std::vector<double> y = pick(log_labels, fold.kept);
    const auto answer = [&](const Points& second, const HyperParameters& known,
                            std::vector<double>& held_answers,
                            std::vector<double>* deviations) -> Status {
      EDGESAGE_ASSIGN_OR_RETURN(const GaussianProcess process,
                                learner.process(second, kept, y, known));
      std::vector<Points> some;
      for (const Points* points : learner.points(second)) some.push_back(rows_of(*points, held));
      std::vector<const Points*> pointers;
      for (const Points& points : some) pointers.push_back(&points);
      const std::vector<double> means = process.mean(pointers);
      for (size_t i = 0; i < held.size(); ++i)
        held_answers[fold.held[i]] = means[i] + learner.base(held[i]);
      if (deviations == nullptr) return {};
      const std::vector<double> variances = process.variance(pointers);
      for (size_t i = 0; i < held.size(); ++i)
        (*deviations)[fold.held[i]] = std::sqrt(variances[i]);
      return {};
    };
    EDGESAGE_RETURN_IF_ERROR(
        answer(learner.second_of_library(learner.best_of_library(kept, y, best_count)),
               plain.hyper_parameters(), plain_held, &held_sd));
    if (smoother)
      EDGESAGE_RETURN_IF_ERROR(answer(learner.priced(learner.fitted_devices(kept, y)), fitted_hyper,
                                      fitted_held, nullptr));
  }
  if (smoother)
    fit.smoother_share = options.fixed_share >= 0 ? options.fixed_share
                                                  : best_share(plain_held, fitted_held, log_labels);
  const double share = fit.smoother_share;
  if (options.folds > 0) fit.held_out.resize(labelled.size());
  for (size_t i = 0; i < fit.held_out.size(); ++i)
    fit.held_out[i] = (1 - share) * plain_held[i] + share * fitted_held[i];
  for (size_t i = 0; i < networks.size(); ++i) {
    if (smoother) fit.log_cost[i] += share * (fitted_answer[i] - fit.log_cost[i]);
    fit.log_cost[i] += learner.base(i);
    fit.log_sd.push_back(std::sqrt(variance[i]));
  }
  if (!fit.held_out.empty()) {
    std::vector<double> residuals;
    for (size_t i = 0; i < labelled.size(); ++i)
      residuals.push_back(fit.held_out[i] - log_labels[i]);
    ErrorScale scale = error_scale(library.components, labelled, residuals, held_sd, fit.log_sd);
    fit.error_scale = std::move(scale.network);
    fit.held_out_scale = std::move(scale.label);
  }
  return fit;
}

}  // namespace edgesage
