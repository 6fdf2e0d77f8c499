// Fidelity to the original's outputs, and the inputs that it is judged on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "src/base/file.h"
#include "src/base/rng.h"
#include "src/io/tflite_writer.h"
#include "src/learn/pruned_quality.h"

namespace edgesage {
namespace {

size_t bytes_of(const Tensor& tensor) {
  return static_cast<size_t>(std::max<int64_t>(tensor.byte_size().value_or(0), 0));
}

size_t input_bytes(const Graph& graph) {
  size_t bytes = 0;
  for (const int32_t input : graph.main().inputs)
    bytes += bytes_of(graph.main().tensors[static_cast<size_t>(input)]);
  return bytes;
}

// A value of -1 to 1 as the tensor stores it: over the whole range of integers.
void append_value(DataType type, double value, std::vector<std::byte>& bytes) {
  if (type == DataType::kFloat32) {
    const auto real = static_cast<float>(value);
    const auto* raw = reinterpret_cast<const std::byte*>(&real);
    bytes.insert(bytes.end(), raw, raw + sizeof real);
    return;
  }
  const auto level = static_cast<int>(std::lround(std::clamp(value, -1.0, 1.0) * 127.0));
  bytes.push_back(static_cast<std::byte>(type == DataType::kUInt8 ? level + 128 : level));
}

// Waves of low frequency, each channel in its own phase, and some noise.
void append_image(const Tensor& tensor, Rng& rng, std::vector<std::byte>& bytes) {
  constexpr int kWaves = 6;
  struct Wave {
    double y, x, phase, channel, height;
  };
  std::vector<Wave> waves;
  for (int i = 0; i < kWaves; ++i)
    waves.push_back({rng.uniform(-4, 4), rng.uniform(-4, 4), rng.uniform(0, 6.3), rng.uniform(0, 2),
                     rng.uniform(0.1, 0.5)});
  for (int64_t y = 0; y < tensor.shape[1]; ++y)
    for (int64_t x = 0; x < tensor.shape[2]; ++x)
      for (int64_t c = 0; c < tensor.shape[3]; ++c) {
        double value = 0.05 * rng.normal();
        for (const Wave& wave : waves)
          value +=
              wave.height *
              std::sin(
                  2 * std::numbers::pi *
                      (wave.y * static_cast<double>(y) / static_cast<double>(tensor.shape[1]) +
                       wave.x * static_cast<double>(x) / static_cast<double>(tensor.shape[2])) +
                  wave.phase + wave.channel * static_cast<double>(c));
        append_value(tensor.type, value, bytes);
      }
}

double stored_value(DataType type, const std::byte* at) {
  if (type == DataType::kFloat32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  const auto raw = std::to_integer<uint8_t>(*at);
  return type == DataType::kInt8 ? static_cast<int8_t>(raw) : raw;
}

void store_value(DataType type, double value, std::vector<std::byte>& bytes) {
  if (type == DataType::kFloat32) {
    append_value(type, value, bytes);
    return;
  }
  bytes.push_back(static_cast<std::byte>(static_cast<int>(std::lround(value)) & 0xff));
}

// An image of a smaller side: means over areas, to the nearest whole pixels.
void append_scaled(const Tensor& from, const Tensor& to, const std::byte* image,
                   std::vector<std::byte>& bytes) {
  const size_t size = from.type == DataType::kFloat32 ? sizeof(float) : 1;
  const auto begin = [](int64_t i, int64_t many, int64_t all) { return i * all / many; };
  const auto end = [&](int64_t i, int64_t many, int64_t all) {
    return std::max(begin(i, many, all) + 1, (i + 1) * all / many);
  };
  const int64_t channels = from.shape[3];
  for (int64_t y = 0; y < to.shape[1]; ++y)
    for (int64_t x = 0; x < to.shape[2]; ++x)
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        int64_t count = 0;
        for (int64_t v = begin(y, to.shape[1], from.shape[1]);
             v < end(y, to.shape[1], from.shape[1]); ++v)
          for (int64_t u = begin(x, to.shape[2], from.shape[2]);
               u < end(x, to.shape[2], from.shape[2]); ++u, ++count)
            sum += stored_value(
                from.type,
                image + static_cast<size_t>((v * from.shape[2] + u) * channels + c) * size);
        store_value(from.type, sum / static_cast<double>(count), bytes);
      }
}

bool is_known(DataType type) {
  return type == DataType::kInt8 || type == DataType::kUInt8 || type == DataType::kFloat32;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size() || a.empty()) return 0;
  const auto n = static_cast<double>(a.size());
  double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    mean_a += a[i] / n;
    mean_b += b[i] / n;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
    ab += (a[i] - mean_a) * (b[i] - mean_b);
  }
  // Outputs that are all alike are as they were, or they are not.
  if (aa <= 0 || bb <= 0) return a == b ? 1 : 0;
  return ab / std::sqrt(aa * bb);
}

}  // namespace

Result<CalibrationInputs> smooth_inputs(const Graph& graph, size_t sets, uint64_t seed) {
  CalibrationInputs inputs{.sets = sets, .bytes = {}};
  Rng rng(seed, "calibration inputs");
  for (size_t set = 0; set < sets; ++set)
    for (const int32_t input : graph.main().inputs) {
      const Tensor& tensor = graph.main().tensors[static_cast<size_t>(input)];
      if (!is_known(tensor.type))
        return make_error(
            ErrorCode::kUnsupported, tensor.name,
            fmt::format("inputs of {} cannot be made up; give a file", type_name(tensor.type)));
      if (tensor.shape.size() == 4 && tensor.shape[0] == 1)
        append_image(tensor, rng, inputs.bytes);
      else
        for (int64_t i = 0; i < tensor.element_count(); ++i)
          append_value(tensor.type, rng.normal() * 0.4, inputs.bytes);
    }
  return inputs;
}

Result<CalibrationInputs> inputs_from_file(const Graph& graph, const std::filesystem::path& file) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(file, ErrorCode::kInvalidArgument));
  const size_t one = input_bytes(graph), all = mapped->bytes().size();
  if (one == 0 || all == 0 || all % one != 0)
    return make_error(ErrorCode::kInvalidArgument, file.string(),
                      fmt::format("{} bytes; a set of inputs is {} bytes, raw, as the model "
                                  "stores them",
                                  all, one));
  return CalibrationInputs{.sets = all / one,
                           .bytes = {mapped->bytes().begin(), mapped->bytes().end()}};
}

Result<FidelityQuality> FidelityQuality::make(const PruningSpace& space, WorkerClient worker,
                                              CalibrationInputs inputs, EvaluationLog log,
                                              std::filesystem::path scratch) {
  FidelityQuality quality(std::move(worker));
  quality.space_ = &space;
  quality.inputs_ = std::move(inputs);
  quality.log_ = std::move(log);
  quality.scratch_ = std::move(scratch);
  EDGESAGE_ASSIGN_OR_RETURN(quality.original_, quality.outputs_of(space.graph()));
  return quality;
}

Result<std::vector<std::vector<std::vector<double>>>> FidelityQuality::outputs_of(
    const Graph& graph) {
  const std::filesystem::path file = scratch_ / "judged.tflite";
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::byte> model, write_tflite(graph));
  EDGESAGE_RETURN_IF_ERROR(write_file(file, model));
  const Subgraph& main = graph.main();
  std::vector<std::byte> scaled;
  const Tensor& from =
      space_->graph().main().tensors[static_cast<size_t>(space_->graph().main().inputs.front())];
  const Tensor& to = main.tensors[static_cast<size_t>(main.inputs.front())];
  const bool other_side = from.shape != to.shape;
  if (other_side)
    for (size_t set = 0; set < inputs_.sets; ++set)
      append_scaled(from, to, inputs_.bytes.data() + set * bytes_of(from), scaled);
  EDGESAGE_ASSIGN_OR_RETURN(const RunOutputs run,
                            run_model(worker_, file, other_side ? scaled : inputs_.bytes));
  std::vector<std::vector<std::vector<double>>> sets(run.runs);
  size_t at = 0;
  for (auto& set : sets)
    for (size_t o = 0; o < run.output_bytes.size(); ++o) {
      const DataType type =
          main.tensors[static_cast<size_t>(main.outputs[std::min(o, main.outputs.size() - 1)])]
              .type;
      // Of other types the bytes are compared.
      const size_t size = type == DataType::kFloat32 ? sizeof(float) : 1;
      std::vector<double> values;
      for (size_t i = 0; i < run.output_bytes[o] / size; ++i)
        values.push_back(stored_value(type, run.bytes.data() + at + i * size));
      set.push_back(std::move(values));
      at += run.output_bytes[o];
    }
  return sets;
}

Result<Result<double>> FidelityQuality::ask(const Genome& genome) {
  const std::string key = values_key(*space_, genome);
  if (const auto known = log_.find(key)) {
    if (const std::string error = json_string(*known, "error"); !error.empty())
      return Result<double>(make_error(ErrorCode::kDeviceFailed, "fidelity", error));
    return Result<double>(json_number(*known, "quality", 0));
  }
  EDGESAGE_ASSIGN_OR_RETURN(const Graph graph, space_->build(genome));
  const auto outputs = outputs_of(graph);
  if (!outputs) {
    EDGESAGE_RETURN_IF_ERROR(log_.add(key, {{"error", outputs.error().message}}));
    return Result<double>(tl::unexpected(outputs.error()));
  }
  double sum = 0, count = 0;
  for (size_t set = 0; set < std::min(outputs->size(), original_.size()); ++set)
    for (size_t o = 0; o < std::min((*outputs)[set].size(), original_[set].size()); ++o, ++count)
      sum += correlation((*outputs)[set][o], original_[set][o]);
  const double quality = count > 0 ? sum / count : 0;
  EDGESAGE_RETURN_IF_ERROR(log_.add(key, {{"quality", quality}}));
  return Result<double>(quality);
}

Result<std::vector<Result<double>>> FidelityQuality::evaluate(std::span<const Genome> genomes) {
  std::vector<Result<double>> answers;
  for (const Genome& genome : genomes) {
    EDGESAGE_ASSIGN_OR_RETURN(Result<double> answer, ask(genome));
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace edgesage
