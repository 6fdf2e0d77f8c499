#include "src/learn/pruned_quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/devices/process.h"
#include "src/io/tflite_writer.h"

namespace edgesage {
namespace {

constexpr std::string_view kModel = "{model}";

// Builds and writes the network of a genome.
Result<std::filesystem::path> write_pruned(const PruningSpace& space, const Genome& genome,
                                           const std::filesystem::path& scratch) {
  EDGESAGE_ASSIGN_OR_RETURN(const Graph graph, space.build(genome));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, write_tflite(graph));
  const std::filesystem::path file = scratch / "judged.tflite";
  EDGESAGE_RETURN_IF_ERROR(write_file(file, bytes));
  return file;
}

// The last line that is not empty, as a number.
Result<double> last_number(const std::string& output) {
  std::string last;
  for (const std::string& line : split(output, '\n'))
    if (const size_t at = line.find_first_not_of(" \t\r"); at != std::string::npos)
      last = line.substr(at, line.find_last_not_of(" \t\r") - at + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), value);
  if (last.empty() || error != std::errc() || end != last.data() + last.size() ||
      !std::isfinite(value))
    return make_error(
        ErrorCode::kDeviceFailed, "quality command",
        fmt::format("its last line is \"{}\"; a number is wanted", last.substr(0, 60)));
  return value;
}

Result<double> quality_of(const Json& answer) {
  if (const std::string error = json_string(answer, "error"); !error.empty())
    return make_error(ErrorCode::kDeviceFailed, "quality", error);
  return json_number(answer, "quality", 0);
}

template <class Ask>
Result<std::vector<Result<double>>> ask_all(std::span<const Genome> genomes, const Ask& ask) {
  std::vector<Result<double>> answers;
  for (const Genome& genome : genomes) {
    EDGESAGE_ASSIGN_OR_RETURN(Result<double> answer, ask(genome));
    answers.push_back(std::move(answer));
  }
  return answers;
}

Json answer_of(const Result<double>& quality) {
  return quality ? Json{{"quality", *quality}} : Json{{"error", quality.error().message}};
}

}  // namespace

Result<std::vector<Result<double>>> MagnitudeQuality::evaluate(std::span<const Genome> genomes) {
  std::vector<Result<double>> answers;
  for (const Genome& genome : genomes) answers.emplace_back(kept_(genome));
  return answers;
}

Result<CommandQuality> CommandQuality::make(const PruningSpace& space,
                                            std::vector<std::string> command,
                                            std::chrono::milliseconds timeout, EvaluationLog log,
                                            std::filesystem::path scratch) {
  const bool names_model = std::ranges::any_of(
      command, [](const std::string& part) { return part.find(kModel) != std::string::npos; });
  if (command.empty() || !names_model)
    return make_error(ErrorCode::kInvalidArgument, "quality command",
                      "it must be a program with arguments, one of them holding {model}");
  CommandQuality quality;
  quality.space_ = &space;
  quality.command_ = std::move(command);
  quality.timeout_ = timeout;
  quality.log_ = std::move(log);
  quality.scratch_ = std::move(scratch);
  return quality;
}

Result<Result<double>> CommandQuality::ask(const Genome& genome) {
  const std::string key = values_key(*space_, genome);
  if (const auto known = log_.find(key)) return quality_of(*known);
  EDGESAGE_ASSIGN_OR_RETURN(const std::filesystem::path file,
                            write_pruned(*space_, genome, scratch_));
  std::vector<std::string> command = command_;
  for (std::string& part : command)
    for (size_t at = part.find(kModel); at != std::string::npos; at = part.find(kModel))
      part.replace(at, kModel.size(), std::filesystem::absolute(file).string());
  EDGESAGE_ASSIGN_OR_RETURN(const ProcessOutcome outcome,
                            run_process(command, {}, {.timeout = timeout_}));
  Result<double> quality = outcome.ok
                               ? last_number(outcome.output)
                               : make_error(ErrorCode::kDeviceFailed, "quality command",
                                            fmt::format("{}: {}", outcome.failure, outcome.errors));
  EDGESAGE_RETURN_IF_ERROR(log_.add(key, answer_of(quality)));
  return quality;
}

Result<std::vector<Result<double>>> CommandQuality::evaluate(std::span<const Genome> genomes) {
  return ask_all(genomes, [&](const Genome& genome) { return ask(genome); });
}

}  // namespace edgesage
