#include "src/report/generate.h"

#include <fmt/format.h>

#include "src/base/csv.h"
#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {

std::string generate_text(const std::vector<GeneratedNetwork>& networks) {
  TextTable table({"file", "network", ">operators", ">MACs", ">weights B"});
  for (const GeneratedNetwork& network : networks)
    table.add({network.file, network.name, grouped(network.operators), grouped(network.macs),
               grouped(network.weights_bytes)});
  return table.render();
}

std::string generate_json(const std::vector<GeneratedNetwork>& networks) {
  Json rows = Json::array();
  for (const GeneratedNetwork& network : networks)
    rows.push_back({{"file", network.file},
                    {"name", network.name},
                    {"graph_hash", network.graph_hash},
                    {"file_bytes", network.file_bytes},
                    {"macs", network.macs},
                    {"weights_bytes", network.weights_bytes},
                    {"operators", network.operators}});
  return to_text({{"schema_version", kSchemaVersion}, {"networks", rows}}, 2) + '\n';
}

std::string generate_csv(const std::vector<GeneratedNetwork>& networks) {
  std::string text = "file,name,graph_hash,file_bytes,macs,weights_bytes,operators\n";
  for (const GeneratedNetwork& network : networks)
    text += fmt::format("{},{},{},{},{},{},{}\n", csv_cell(network.file), csv_cell(network.name),
                        network.graph_hash, network.file_bytes, network.macs, network.weights_bytes,
                        network.operators);
  return text;
}

std::string spaces_text(const std::vector<SearchSpace>& spaces) {
  TextTable table({"space", ">version", "description"}, 100);
  for (const SearchSpace& space : spaces)
    table.add({space.name, std::to_string(space.version), space.description});
  return table.render();
}

}  // namespace edgesage::report
