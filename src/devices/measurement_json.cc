#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "src/devices/measure.h"

namespace edgesage {
namespace {

tl::unexpected<Error> wrong(std::string_view key, std::string_view allowed) {
  return make_error(ErrorCode::kBadStore, "measurement",
                    fmt::format("{} must be {}", key, allowed));
}

bool is_finite_number(const Json& value) {
  return value.is_number() && std::isfinite(value.get<double>());
}

// Numbers go to `quantities`; a null needs a reason in `missing` (checked by the caller's rules).
Status read_quantities(const Json& json, Measurement& measurement) {
  if (!json.contains("quantities") || !json["quantities"].is_object())
    return wrong("quantities", "an object of numbers");
  for (const auto& [name, value] : json["quantities"].items()) {
    if (value.is_null()) {
      measurement.missing.try_emplace(name, "not given");
    } else if (is_finite_number(value)) {
      measurement.quantities[name] = value.get<double>();
    } else {
      return wrong("quantities." + name, "a finite number or null");
    }
  }
  return {};
}

Status read_texts(const Json& json, const char* key, std::map<std::string, std::string>& texts) {
  if (!json.contains(key) || json[key].is_null()) return {};
  if (!json[key].is_object()) return wrong(key, "an object of strings");
  for (const auto& [name, value] : json[key].items()) {
    if (value.is_string()) {
      texts[name] = value.get<std::string>();
    } else if (value.is_number() || value.is_boolean()) {
      texts[name] = to_text(value);
    } else {
      return wrong(fmt::format("{}.{}", key, name), "a string");
    }
  }
  return {};
}

Status read_samples(const Json& json, std::vector<double>& samples) {
  if (!json.contains("samples_ms") || json["samples_ms"].is_null()) return {};
  if (!json["samples_ms"].is_array()) return wrong("samples_ms", "an array of numbers");
  for (const Json& value : json["samples_ms"]) {
    if (!is_finite_number(value) || value.get<double>() < 0)
      return wrong("samples_ms", "an array of finite numbers that are not negative");
    samples.push_back(value.get<double>());
  }
  return {};
}

Status read_operators(const Json& json, std::vector<OperatorMeasurement>& operators) {
  if (!json.contains("operators") || json["operators"].is_null()) return {};
  if (!json["operators"].is_array()) return wrong("operators", "an array of objects");
  for (const Json& entry : json["operators"]) {
    OperatorMeasurement measured;
    const int64_t index = json_int(entry, "index", -1);
    measured.cycles = json_number(entry, "cycles", std::numeric_limits<double>::quiet_NaN());
    if (index < 0 || index > std::numeric_limits<int32_t>::max())
      return wrong("operators.index", "an operator's index");
    if (!std::isfinite(measured.cycles) || measured.cycles < 0)
      return wrong(fmt::format("operators[{}].cycles", index),
                   "a finite number that is not negative");
    measured.index = static_cast<int32_t>(index);
    measured.macs = json_int(entry, "macs", 0);
    measured.working_bytes = json_number(entry, "working_bytes", 0);
    measured.placement = json_string(entry, "placement");
    measured.placement_reason = json_string(entry, "placement_reason");
    operators.push_back(std::move(measured));
  }
  return {};
}

}  // namespace

Json measurement_to_json(const Measurement& measurement) {
  Json json;
  json["device"] = measurement.device;
  json["runtime"] = measurement.runtime;
  json["runtime_version"] = measurement.runtime_version;
  json["host_fingerprint"] = measurement.host_fingerprint;
  json["statistic"] = measurement.statistic;
  json["quantities"] = Json::object();
  for (const auto& [name, value] : measurement.quantities) json["quantities"][name] = value;
  for (const auto& [name, reason] : measurement.missing)
    if (!measurement.quantities.contains(name)) json["quantities"][name] = nullptr;
  json["missing"] = measurement.missing;
  json["stationary"] = measurement.stationary;
  json["samples_ms"] = measurement.samples_ms;
  json["cpu_operators"] = measurement.cpu_operators;
  json["operator_unit"] = measurement.operator_unit;
  json["operators"] = Json::array();
  for (const OperatorMeasurement& measured : measurement.operators)
    json["operators"].push_back({{"index", measured.index},
                                 {"cycles", measured.cycles},
                                 {"macs", measured.macs},
                                 {"working_bytes", measured.working_bytes},
                                 {"placement", measured.placement},
                                 {"placement_reason", measured.placement_reason}});
  json["protocol"] = measurement.protocol;
  json["environment"] = measurement.environment;
  json["error"] = measurement.error.empty() ? Json() : Json(measurement.error);
  return json;
}

Result<Measurement> measurement_from_json(const Json& json) {
  if (!json.is_object()) return wrong("it", "an object");
  Measurement measurement;
  measurement.device = json_string(json, "device");
  measurement.runtime = json_string(json, "runtime");
  measurement.runtime_version = json_string(json, "runtime_version");
  measurement.host_fingerprint = json_string(json, "host_fingerprint");
  measurement.statistic = json_string(json, "statistic");
  measurement.stationary = json_bool(json, "stationary", true);
  measurement.cpu_operators = static_cast<int32_t>(json_int(json, "cpu_operators", 0));
  measurement.operator_unit = json_string(json, "operator_unit");
  measurement.error = json_string(json, "error");
  EDGESAGE_RETURN_IF_ERROR(read_texts(json, "missing", measurement.missing));
  EDGESAGE_RETURN_IF_ERROR(read_quantities(json, measurement));
  EDGESAGE_RETURN_IF_ERROR(read_texts(json, "protocol", measurement.protocol));
  EDGESAGE_RETURN_IF_ERROR(read_texts(json, "environment", measurement.environment));
  EDGESAGE_RETURN_IF_ERROR(read_samples(json, measurement.samples_ms));
  EDGESAGE_RETURN_IF_ERROR(read_operators(json, measurement.operators));
  return measurement;
}

}  // namespace edgesage
