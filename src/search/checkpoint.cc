#include "src/search/checkpoint.h"

#include <string>

namespace edgesage::search {
namespace {

Json individuals_to_json(const std::vector<Individual>& individuals) {
  Json list = Json::array();
  for (const Individual& one : individuals)
    list.push_back({{"genome", one.genome},
                    {"objectives", one.outcome.objectives},
                    {"violation", one.outcome.violation}});
  return list;
}

std::vector<Individual> individuals_from(const Json& list) {
  std::vector<Individual> individuals;
  for (const Json& one : list)
    individuals.push_back(
        {one.at("genome").get<Genome>(),
         {one.at("objectives").get<std::vector<double>>(), one.at("violation").get<double>()}});
  return individuals;
}

}  // namespace

Json state_to_json(const SearchState& state) {
  Json history = Json::array();
  for (const GenerationRecord& record : state.history)
    history.push_back(
        {record.generation, record.evaluations, record.front_size, record.hypervolume});
  Json json;
  json["generation"] = state.generation;
  json["evaluations"] = state.evaluations;
  json["reference"] = state.reference;
  json["history"] = std::move(history);
  json["front"] = individuals_to_json(state.front);
  json["population"] = individuals_to_json(state.population);
  return json;
}

Result<SearchState> state_from_json(const Json& json, std::string_view where) {
  try {
    SearchState state;
    state.generation = json.at("generation").get<int64_t>();
    state.evaluations = json.at("evaluations").get<int64_t>();
    state.reference = json.at("reference").get<std::vector<double>>();
    for (const Json& record : json.at("history"))
      state.history.push_back({record.at(0).get<int64_t>(), record.at(1).get<int64_t>(),
                               record.at(2).get<int64_t>(), record.at(3).get<double>()});
    state.front = individuals_from(json.at("front"));
    state.population = individuals_from(json.at("population"));
    return state;
  } catch (const Json::exception& error) {
    return make_error(ErrorCode::kBadStore, std::string(where),
                      std::string("no search that can be resumed: ") + error.what());
  }
}

}  // namespace edgesage::search
