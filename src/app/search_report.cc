#include "src/app/search_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/file.h"
#include "src/graph/op_registry.h"
#include "src/io/tflite_writer.h"
#include "src/search/pareto.h"
#include "src/transform/weight_magnitude.h"

namespace edgesage::app {
namespace {

SearchCosts plain(const search::Costs& costs) {
  SearchCosts out{.latency_ms = costs.latency_ms,
                  .energy_mj = costs.energy_mj,
                  .peak_ram_bytes = costs.peak_ram_bytes,
                  .latency_lo_ms = {},
                  .latency_hi_ms = {},
                  .weights_bytes = costs.weights_bytes,
                  .macs = costs.macs};
  if (costs.latency_ms && costs.half_width > 0) {
    out.latency_lo_ms = *costs.latency_ms * std::exp(-costs.half_width);
    out.latency_hi_ms = *costs.latency_ms * std::exp(costs.half_width);
  }
  return out;
}

const char* kind_name(PruningGene::Kind kind) {
  switch (kind) {
    case PruningGene::Kind::kWidth:
      return "width";
    case PruningGene::Kind::kSide:
      return "side";
    case PruningGene::Kind::kBlock:
      return "block";
  }
  return "";
}

// Each objective from 0 (the best) to 1 (the worst).
std::vector<std::vector<double>> normalised(std::span<const std::vector<double>> objectives) {
  std::vector<std::vector<double>> points(objectives.begin(), objectives.end());
  for (size_t k = 0; !points.empty() && k < points.front().size(); ++k) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const auto& point : objectives) {
      low = std::min(low, point[k]);
      high = std::max(high, point[k]);
    }
    for (auto& point : points) point[k] = high > low ? (point[k] - low) / (high - low) : 0;
  }
  return points;
}

}  // namespace

std::vector<SearchGene> describe_genes(const PruningSpace& space) {
  std::vector<SearchGene> genes;
  for (const PruningGene& gene : space.genes())
    genes.push_back({gene.name, kind_name(gene.kind), gene.values});
  return genes;
}

std::vector<size_t> most_interesting(std::span<const std::vector<double>> objectives,
                                     size_t count) {
  const std::vector<std::vector<double>> points = normalised(objectives);
  std::vector<size_t> chosen;
  if (points.empty()) return chosen;
  // The ends cover a little as well.
  const std::vector<double> reference(points.front().size(), 1.02);
  std::vector<std::vector<double>> covered;
  while (chosen.size() < std::min(count, points.size())) {
    size_t best = points.size();
    double most = -1;
    for (size_t i = 0; i < points.size(); ++i) {
      if (std::ranges::find(chosen, i) != chosen.end()) continue;
      covered.push_back(points[i]);
      const double volume = search::hypervolume(covered, reference);
      covered.pop_back();
      if (volume <= most) continue;
      most = volume;
      best = i;
    }
    chosen.push_back(best);
    covered.push_back(points[best]);
  }
  return chosen;
}

std::vector<SearchLayer> SearchPoints::layers_of(const Genome& genome) const {
  const std::vector<int32_t> dropped = space_.dropped(genome);
  std::vector<SearchLayer> layers;
  for (const WeightedOperator& weighted : weighted_operators(space_.graph(), space_.groups())) {
    const Operator& op = space_.graph().main().operators[static_cast<size_t>(weighted.op)];
    SearchLayer layer{.op = weighted.op, .kind = std::string(op_name(op.kind))};
    for (const ChannelRun& run : weighted.out_runs) {
      const int32_t width = space_.groups().groups[static_cast<size_t>(run.group)].width;
      const int32_t gene = space_.gene_of_group(run.group);
      layer.original_channels += int64_t{width} * run.repeat;
      layer.channels +=
          int64_t{gene < 0 ? width : space_.value(genome, static_cast<size_t>(gene))} * run.repeat;
    }
    for (const int32_t block : dropped)
      if (std::ranges::binary_search(space_.blocks()[static_cast<size_t>(block)].operators,
                                     weighted.op))
        layer.channels = 0;
    layers.push_back(std::move(layer));
  }
  return layers;
}

Result<SearchPoint> SearchPoints::describe(const Genome& genome) {
  SearchPoint point;
  for (size_t g = 0; g < genome.size(); ++g) point.values.push_back(space_.value(genome, g));
  point.summary = genome == space_.base() ? "the original" : space_.describe(genome);
  point.layers = layers_of(genome);
  EDGESAGE_ASSIGN_OR_RETURN(const search::Costs costs, costing_.costs(genome));
  point.predicted = plain(costs);
  if (costs.measured) point.measured = point.predicted;
  point.feasible = costing_.violation_of(costs) == 0;
  EDGESAGE_ASSIGN_OR_RETURN(point.quality, costing_.quality(genome));
  return point;
}

Status SearchPoints::write(const Genome& genome, SearchPoint& point) const {
  const std::filesystem::path file = request_.directory / point.file;
  std::error_code ignored;
  const std::filesystem::path original = request_.model;
  // Nothing changed: the very file, whoever wrote it.
  if (genome == space_.base() && space_.graph().format == "tflite" &&
      std::filesystem::exists(original, ignored)) {
    EDGESAGE_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(original, ErrorCode::kBadModel));
    return write_file(file, mapped->bytes());
  }
  EDGESAGE_ASSIGN_OR_RETURN(const Graph graph, space_.build(genome));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, write_tflite(graph));
  return write_file(file, bytes);
}

Status SearchPoints::confirm_and_write(const std::vector<Genome>& front, SearchReport& report) {
  std::vector<std::vector<double>> objectives;
  for (size_t i = 0; i < front.size(); ++i) {
    EDGESAGE_ASSIGN_OR_RETURN(const search::Costs costs, costing_.costs(front[i]));
    objectives.push_back(costing_.objectives_of(costs, report.front[i].quality));
  }
  const auto most = static_cast<size_t>(std::max(request_.keep, request_.confirm));
  const std::vector<size_t> chosen = most_interesting(objectives, most);
  const auto measure = [&](const Genome& genome, SearchPoint& point) -> Status {
    const auto measured = costing_.measured(genome);
    if (measured)
      point.measured = plain(*measured);
    else if (measured.error().code != ErrorCode::kDeviceFailed)
      return tl::unexpected(measured.error());
    else
      report.warnings.push_back(
          fmt::format("{} could not be measured: {}", point.summary, measured.error().message));
    return {};
  };
  if (request_.confirm > 0 && !report.stopped)
    EDGESAGE_RETURN_IF_ERROR(measure(space_.base(), report.original));
  for (size_t k = 0; k < chosen.size(); ++k) {
    SearchPoint& point = report.front[chosen[k]];
    if (k < static_cast<size_t>(request_.confirm) && !context_.stop_wanted()) {
      context_.report(static_cast<int64_t>(k), request_.confirm, "measuring points of the front");
      EDGESAGE_RETURN_IF_ERROR(measure(front[chosen[k]], point));
    }
    if (k >= static_cast<size_t>(request_.keep)) continue;
    point.file = fmt::format("point-{:03}.tflite", chosen[k]);
    EDGESAGE_RETURN_IF_ERROR(write(front[chosen[k]], point));
  }
  return {};
}

}  // namespace edgesage::app
