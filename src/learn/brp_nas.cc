#include "src/learn/brp_nas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "src/kernels/adam.h"

namespace edgesage {
namespace {

constexpr size_t kPredictedTogether = 512;

Status check(std::span<const NasBench201Cell> cells, std::span<const double> labels,
             const BrpNasOptions& options) {
  const auto invalid = [](std::string message) {
    return make_error(ErrorCode::kInvalidArgument, "BRP-NAS", std::move(message));
  };
  if (cells.empty() || cells.size() != labels.size())
    return invalid(fmt::format("{} cells with {} labels; one label a cell, one cell at least",
                               cells.size(), labels.size()));
  if (!std::all_of(labels.begin(), labels.end(), [](double y) { return std::isfinite(y); }))
    return invalid("a label is not a finite number; leave out cells that are not measured");
  if (options.epochs <= 0 || options.width <= 0 || options.batch == 0 ||
      !(options.learning_rate > 0) || !(options.weight_decay >= 0) || !(options.dropout >= 0) ||
      !(options.dropout < 1))
    return invalid("epochs, width, batch and learning rate are above 0, dropout is in [0, 1)");
  return {};
}

// The loss of a batch is the mean of |answer - target|.
void step(BrpNasNetwork& network, std::span<const NasBench201Cell> cells,
          std::span<const float> targets, double dropout, Rng& rng, std::span<float> gradient) {
  const BrpNasBatch batch = brp_nas_batch(cells);
  std::vector<float> answers(cells.size());
  network.forward(batch, dropout, rng, answers);
  const float slope = 1 / static_cast<float>(cells.size());
  for (size_t i = 0; i < answers.size(); ++i)
    answers[i] = answers[i] > targets[i] ? slope : answers[i] < targets[i] ? -slope : 0;
  network.backward(batch, answers, gradient);
}

}  // namespace

Result<BrpNas> BrpNas::train(std::span<const NasBench201Cell> cells,
                             std::span<const double> latency_ms, const BrpNasOptions& options) {
  EDGESAGE_RETURN_IF_ERROR(check(cells, latency_ms, options));
  const auto [least, most] = std::minmax_element(latency_ms.begin(), latency_ms.end());
  const double low = *least;
  const double range = *most > low ? *most - low : 1;

  Rng weights(options.seed, "brp-nas weights");
  Rng order(options.seed, "brp-nas order");
  Rng dropout(options.seed, "brp-nas dropout");
  BrpNasNetwork network(options.width, weights);
  const size_t count = network.parameters().size();
  kernels::AlignedFloats gradient(count), first(count), second(count);
  std::vector<size_t> rows(cells.size());
  std::iota(rows.begin(), rows.end(), size_t{0});
  kernels::AdamStep adam{.weight_decay = static_cast<float>(options.weight_decay), .step = 0};
  std::vector<NasBench201Cell> chosen;
  std::vector<float> targets;
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    const double progress = static_cast<double>(epoch) / static_cast<double>(options.epochs);
    adam.learning_rate =
        static_cast<float>(options.learning_rate * (1 + std::cos(std::numbers::pi * progress)) / 2);
    order.shuffle(rows);
    for (size_t begin = 0; begin < rows.size(); begin += options.batch) {
      chosen.clear();
      targets.clear();
      for (size_t i = begin; i < std::min(rows.size(), begin + options.batch); ++i) {
        chosen.push_back(cells[rows[i]]);
        targets.push_back(static_cast<float>((latency_ms[rows[i]] - low) / range));
      }
      step(network, chosen, targets, options.dropout, dropout, gradient);
      ++adam.step;
      kernels::adam(adam, static_cast<int64_t>(count), gradient.data(), first.data(), second.data(),
                    network.parameters().data());
    }
  }
  return BrpNas(std::move(network), low, range);
}

std::vector<double> BrpNas::predict(std::span<const NasBench201Cell> cells) {
  std::vector<double> result;
  std::vector<float> answers;
  Rng unused(0);
  for (size_t begin = 0; begin < cells.size(); begin += kPredictedTogether) {
    const auto some = cells.subspan(begin, std::min(kPredictedTogether, cells.size() - begin));
    answers.resize(some.size());
    network_.forward(brp_nas_batch(some), 0, unused, answers);
    for (const float answer : answers) result.push_back(low_ + range_ * answer);
  }
  return result;
}

}  // namespace edgesage
