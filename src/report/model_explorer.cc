// Node data of Model Explorer (ai-edge-model-explorer, node_data_builder.py): results by a node's
// id or the name of one of its output tensors.
#include <algorithm>

#include "src/report/json_common.h"
#include "src/report/predict.h"

namespace edgesage::report {
namespace {

// Names of what the operator makes; its own where those have none.
std::vector<std::string> keys_of(const Prediction& prediction, const OperatorPrediction& op) {
  std::vector<std::string> keys;
  // Operators of the main subgraph come first, in order.
  const auto place = static_cast<size_t>(op.index);
  if (prediction.inspection && place < prediction.inspection->operators.size())
    for (const InspectedTensor& tensor : prediction.inspection->operators[place].outputs)
      if (!tensor.name.empty()) keys.push_back(tensor.name);
  if (keys.empty() && !op.name.empty()) keys.push_back(op.name);
  return keys;
}

}  // namespace

std::string predict_model_explorer(const Answers<Prediction>& answers) {
  Json results = Json::object();
  std::string name = "latency_ms";
  const auto found =
      std::ranges::find_if(answers, [](const auto& answer) { return answer.result.has_value(); });
  if (found != answers.end()) {
    name = "latency_ms on " + found->result->device;
    for (const OperatorPrediction& op : found->result->operators)
      if (op.latency_ms)
        for (const std::string& key : keys_of(*found->result, op))
          results[key] = {{"value", *op.latency_ms}};
  }
  return to_text({{"name", name},
                  {"results", results},
                  {"gradient",
                   {{{"stop", 0}, {"bgColor", "#fff7e6"}, {"textColor", "#1c2330"}},
                    {{"stop", 0.3}, {"bgColor", "#ffb454"}, {"textColor", "#1c2330"}},
                    {{"stop", 1}, {"bgColor", "#c4392b"}, {"textColor", "#ffffff"}}}}},
                 2) +
         '\n';
}

}  // namespace edgesage::report
