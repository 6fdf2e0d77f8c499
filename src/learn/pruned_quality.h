// How good pruned networks still are: by their weights, by what they compute, or by a command of
// the user's.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "src/devices/run_model.h"
#include "src/learn/evaluation_log.h"
#include "src/search/evaluator.h"
#include "src/transform/weight_magnitude.h"

namespace edgesage {

// KeptMagnitude: 0 to 1. Says nothing of the side of the image.
class MagnitudeQuality : public search::Quality {
 public:
  explicit MagnitudeQuality(const PruningSpace& space) : kept_(space) {}
  [[nodiscard]] Result<std::vector<Result<double>>> evaluate(
      std::span<const Genome> genomes) override;

 private:
  KeptMagnitude kept_;
};

// The last line of a program's standard output, a number; higher is better. "{model}" in its
// arguments is the path of the network as .tflite. No shell is involved.
class CommandQuality : public search::Quality {
 public:
  // kInvalidArgument for an empty vector, or one that does not name {model}.
  [[nodiscard]] static Result<CommandQuality> make(const PruningSpace& space,
                                                   std::vector<std::string> command,
                                                   std::chrono::milliseconds timeout,
                                                   EvaluationLog log,
                                                   std::filesystem::path scratch);
  [[nodiscard]] Result<std::vector<Result<double>>> evaluate(
      std::span<const Genome> genomes) override;

 private:
  CommandQuality() = default;
  Result<Result<double>> ask(const Genome& genome);

  const PruningSpace* space_ = nullptr;
  std::vector<std::string> command_;
  std::chrono::milliseconds timeout_{};
  EvaluationLog log_;
  std::filesystem::path scratch_;
};

// Sets of inputs for a network: the bytes of all of its inputs, one set after the other.
struct CalibrationInputs {
  size_t sets = 0;
  std::vector<std::byte> bytes;
};
// Smooth random images, or noise for other shapes; int8, uint8 and float32. kUnsupported for
// inputs of other types.
[[nodiscard]] Result<CalibrationInputs> smooth_inputs(const Graph& graph, size_t sets,
                                                      uint64_t seed);
// A file of as many bytes, raw. kInvalidArgument where its size is no multiple of the inputs'.
[[nodiscard]] Result<CalibrationInputs> inputs_from_file(const Graph& graph,
                                                         const std::filesystem::path& file);

// How alike outputs are to the original's on the same inputs, both run by LiteRT: the correlation
// of the values of an output over its elements, in the mean over outputs and inputs; 1 is the same
// but for level and scale, 0 none. Images of another side are scaled down (mean over the area).
class FidelityQuality : public search::Quality {
 public:
  // Runs the original. `worker` is one that knows `run`.
  [[nodiscard]] static Result<FidelityQuality> make(const PruningSpace& space, WorkerClient worker,
                                                    CalibrationInputs inputs, EvaluationLog log,
                                                    std::filesystem::path scratch);
  [[nodiscard]] Result<std::vector<Result<double>>> evaluate(
      std::span<const Genome> genomes) override;

 private:
  explicit FidelityQuality(WorkerClient worker) : worker_(std::move(worker)) {}
  Result<Result<double>> ask(const Genome& genome);
  // Outputs of each set as real numbers, output after output.
  Result<std::vector<std::vector<std::vector<double>>>> outputs_of(const Graph& graph);

  const PruningSpace* space_ = nullptr;
  WorkerClient worker_;
  CalibrationInputs inputs_;
  std::vector<std::vector<std::vector<double>>> original_;
  EvaluationLog log_;
  std::filesystem::path scratch_;
};

}  // namespace edgesage
