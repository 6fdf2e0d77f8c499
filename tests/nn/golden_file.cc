#include "tests/nn/golden_file.h"

#include <cmath>
#include <limits>

#include "src/base/file.h"
#include "src/base/zstd.h"
#include "tests/support/test_paths.h"

namespace edgesage::nn {
namespace {

template <class T>
std::vector<T> numbers_of(const Json& json, T null_value = {}) {
  std::vector<T> numbers;
  for (const Json& item : json) numbers.push_back(item.is_null() ? null_value : item.get<T>());
  return numbers;
}

ReadOut read_out_of(const std::string& name) {
  if (name == "sum") return ReadOut::kSum;
  return name == "max" ? ReadOut::kMax : ReadOut::kMaxPlusSum;
}

ModelConfig config_of(const Json& json) {
  ModelConfig config;
  config.features = json.at("features");
  config.kinds = json.at("kinds");
  config.embedding = json.at("embedding");
  config.globals = json.at("globals");
  config.hidden = json.at("hidden");
  config.layers = json.at("layers");
  config.max_power = json.at("max_power");
  for (const Json& item : json.at("quantities"))
    config.quantities.push_back({.name = item.at("name"),
                                 .read_out = read_out_of(item.at("read_out")),
                                 .node_labels = item.at("node_labels"),
                                 .overhead_scale = item.at("overhead_scale")});
  return config;
}

LossOptions loss_of(const Json& json) {
  LossOptions options;
  options.delta = json.at("delta");
  options.node_delta = json.at("node_delta");
  options.total_weight = doubles_of(json.at("total_weight"));
  options.node_weight = doubles_of(json.at("node_weight"));
  options.node_floor = json.at("node_floor");
  options.node_share_power = json.at("node_share_power");
  options.peak_share_power = json.at("peak_share_power");
  return options;
}

Csr csr_of(const Json& json) {
  return {numbers_of<int32_t>(json.at("offset")), numbers_of<int32_t>(json.at("index"))};
}

Batch batch_of(const Json& json) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Batch batch;
  batch.features = json.at("features");
  batch.globals_width = json.at("globals_width");
  batch.columns = json.at("columns");
  batch.quantities = json.at("quantities");
  batch.graph_offset = numbers_of<int32_t>(json.at("graph_offset"));
  batch.op_graph_offset = numbers_of<int32_t>(json.at("op_graph_offset"));
  batch.globals = numbers_of<float>(json.at("globals"));
  batch.x = numbers_of<float>(json.at("x"));
  batch.kind = numbers_of<int32_t>(json.at("kind"));
  batch.producers = csr_of(json.at("producers"));
  batch.consumers = csr_of(json.at("consumers"));
  batch.log_prior =
      numbers_of<float>(json.at("log_prior"), -std::numeric_limits<float>::infinity());
  batch.node_op = numbers_of<int32_t>(json.at("node_op"));
  batch.log_total = numbers_of<float>(json.at("log_total"), kNan);
  batch.weight = numbers_of<float>(json.at("weight"));
  batch.op_label = numbers_of<float>(json.at("op_label"), kNan);
  return batch;
}

}  // namespace

std::vector<double> doubles_of(const Json& numbers) { return numbers_of<double>(numbers); }

Golden golden_from(Json json) {
  const ModelConfig config = config_of(json.at("config"));
  Golden golden{.json = std::move(json), .config = config, .model = *Model::create(config)};
  golden.name = json_string(golden.json, "name");
  golden.loss = loss_of(golden.json.at("loss_options"));
  golden.batch = batch_of(golden.json.at("batch"));
  const std::vector<double> weights = parameters_of(golden.json.at("weights"), golden.model);
  EXPECT_TRUE(golden.model.set_parameters(std::vector<float>(weights.begin(), weights.end())));
  EXPECT_TRUE(validate(golden.batch, golden.config));
  return golden;
}

Json read_golden_file(const std::string& name) {
  constexpr size_t kLimit = 64 << 20;
  const auto path = test::source_dir() / "tests" / "nn" / "goldens" / name;
  const auto file = MappedFile::open(path, ErrorCode::kBadStore);
  EXPECT_TRUE(file) << "write it with scripts/make_nn_goldens.py";
  return Json::parse(*zstd_decompress((*file)->bytes(), kLimit, name, ErrorCode::kBadStore));
}

std::vector<double> parameters_of(const Json& slices, const Model& model) {
  std::vector<double> all(model.parameters().size());
  EXPECT_EQ(slices.size(), model.parameter_table().size());
  for (const ParameterSlice& slice : model.parameter_table()) {
    const std::vector<double> values = doubles_of(slices.at(slice.name));
    EXPECT_EQ(static_cast<int64_t>(values.size()), slice.size()) << slice.name;
    std::copy(values.begin(), values.end(), all.begin() + slice.offset);
  }
  return all;
}

double relative_distance(const ParameterSlice& slice, std::span<const float> actual,
                         std::span<const double> expected) {
  double difference = 0, length = 0;
  for (int64_t i = slice.offset; i < slice.offset + slice.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    difference += std::pow(double{actual[at]} - expected[at], 2);
    length += expected[at] * expected[at];
  }
  if (difference == 0) return 0;
  return std::sqrt(difference / length);
}

}  // namespace edgesage::nn
