#include "src/store/blobs.h"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>

#include "src/base/json.h"
#include "src/base/zstd.h"

namespace edgesage {
namespace {

constexpr int kLevel = 6;                     // higher ones gain nothing on a few kilobytes
constexpr size_t kLimit = size_t{256} << 20;  // of one record's text

Error damaged(std::string_view where, std::string_view what) {
  return Error{ErrorCode::kBadStore, std::string(where),
               fmt::format("{}; the store is damaged: restore a copy of it", what)};
}

std::vector<std::byte> pack(const Json& json) {
  const std::string text = to_text(json);
  return zstd_compress(std::as_bytes(std::span(text)), kLevel);
}

Result<Json> unpack(std::span<const std::byte> blob, std::string_view where) {
  EDGESAGE_ASSIGN_OR_RETURN(const std::string text,
                            zstd_decompress(blob, kLimit, where, ErrorCode::kBadStore));
  return parse_json(text, where, ErrorCode::kBadStore);
}

// Whole numbers without ".0".
Json compact(double value) {
  constexpr double kExact = 9007199254740992.0;
  if (std::abs(value) < kExact && value == std::floor(value)) return static_cast<int64_t>(value);
  return value;
}

// The array of numbers at `key`, which must have `count` of them.
template <class T>
Result<std::vector<T>> numbers_at(const Json& object, const char* key, size_t count,
                                  std::string_view where) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_array() || it->size() != count)
    return tl::unexpected(damaged(where, fmt::format("no {} numbers at '{}'", count, key)));
  std::vector<T> numbers;
  numbers.reserve(count);
  for (const Json& value : *it) {
    if (std::is_integral_v<T> ? !value.is_number_integer() : !value.is_number())
      return tl::unexpected(damaged(where, fmt::format("not a number in '{}'", key)));
    numbers.push_back(value.get<T>());
  }
  return numbers;
}

// Runs of equal texts: [[text, count], ...]; placements change rarely along a network.
class TextRuns {
 public:
  void add(const std::string& text) {
    if (!runs_.empty() && runs_.back()[0].get_ref<const std::string&>() == text)
      runs_.back()[1] = runs_.back()[1].get<int64_t>() + 1;
    else
      runs_.push_back(Json::array({text, 1}));
  }
  Json take() { return std::move(runs_); }

 private:
  Json runs_ = Json::array();
};

Result<std::vector<std::string>> texts_at(const Json& object, const char* key, size_t count,
                                          std::string_view where) {
  std::vector<std::string> texts;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_array())
    return tl::unexpected(damaged(where, fmt::format("no texts at '{}'", key)));
  for (const Json& run : *it) {
    if (!run.is_array() || run.size() != 2 || !run[0].is_string() || !run[1].is_number_integer())
      return tl::unexpected(damaged(where, fmt::format("not a run of texts in '{}'", key)));
    const auto length = run[1].get<int64_t>();
    if (length < 1 || static_cast<uint64_t>(length) > count - texts.size())
      return tl::unexpected(damaged(where, fmt::format("a run of {} texts in '{}'", length, key)));
    texts.insert(texts.end(), static_cast<size_t>(length), run[0].get<std::string>());
  }
  if (texts.size() != count)
    return tl::unexpected(damaged(where, fmt::format("{} texts in '{}'", texts.size(), key)));
  return texts;
}

Result<Json> parse_object(std::string_view text, std::string_view where) {
  EDGESAGE_ASSIGN_OR_RETURN(Json json, parse_json(text, where, ErrorCode::kBadStore));
  if (!json.is_object()) return tl::unexpected(damaged(where, "not a JSON object"));
  return json;
}

}  // namespace

std::string encode_texts(const StringMap& texts) {
  Json json = Json::object();
  for (const auto& [key, value] : texts) json[key] = value;
  return to_text(json);
}

Result<StringMap> decode_texts(std::string_view json, std::string_view where) {
  EDGESAGE_ASSIGN_OR_RETURN(const Json object, parse_object(json, where));
  StringMap texts;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string())
      return tl::unexpected(damaged(where, fmt::format("'{}' is not a text", key)));
    texts[key] = value.get<std::string>();
  }
  return texts;
}

std::string encode_numbers(const NumberMap& numbers) {
  Json json = Json::object();
  for (const auto& [key, value] : numbers) json[key] = value;
  return to_text(json);
}

Result<NumberMap> decode_numbers(std::string_view json, std::string_view where) {
  EDGESAGE_ASSIGN_OR_RETURN(const Json object, parse_object(json, where));
  NumberMap numbers;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_number())
      return tl::unexpected(damaged(where, fmt::format("'{}' is not a number", key)));
    numbers[key] = value.get<double>();
  }
  return numbers;
}

std::vector<std::byte> encode_samples(std::span<const double> samples) {
  if (samples.empty()) return {};
  Json json = Json::array();
  for (const double sample : samples) json.push_back(compact(sample));
  return pack(json);
}

Result<std::vector<double>> decode_samples(std::span<const std::byte> blob,
                                           std::string_view where) {
  if (blob.empty()) return std::vector<double>{};
  EDGESAGE_ASSIGN_OR_RETURN(const Json json, unpack(blob, where));
  Json object = Json::object();
  object["samples"] = json;
  return numbers_at<double>(object, "samples", json.size(), where);
}

std::vector<std::byte> encode_operators(std::span<const OperatorMeasurement> operators) {
  if (operators.empty()) return {};
  Json index = Json::array(), cycles = Json::array(), macs = Json::array();
  Json working = Json::array();
  TextRuns placement, reason;
  for (const OperatorMeasurement& op : operators) {
    index.push_back(op.index);
    cycles.push_back(compact(op.cycles));
    macs.push_back(op.macs);
    working.push_back(compact(op.working_bytes));
    placement.add(op.placement);
    reason.add(op.placement_reason);
  }
  Json json = Json::object();
  json["index"] = std::move(index);
  json["cycles"] = std::move(cycles);
  json["macs"] = std::move(macs);
  json["working_bytes"] = std::move(working);
  json["placement"] = placement.take();
  json["placement_reason"] = reason.take();
  return pack(json);
}

Result<std::vector<OperatorMeasurement>> decode_operators(std::span<const std::byte> blob,
                                                          std::string_view where) {
  std::vector<OperatorMeasurement> operators;
  if (blob.empty()) return operators;
  EDGESAGE_ASSIGN_OR_RETURN(const Json json, unpack(blob, where));
  if (!json.is_object() || !json.contains("index"))
    return tl::unexpected(damaged(where, "no operators in the record"));
  const size_t count = json.at("index").size();
  EDGESAGE_ASSIGN_OR_RETURN(const auto index, numbers_at<int64_t>(json, "index", count, where));
  EDGESAGE_ASSIGN_OR_RETURN(const auto cycles, numbers_at<double>(json, "cycles", count, where));
  EDGESAGE_ASSIGN_OR_RETURN(const auto macs, numbers_at<int64_t>(json, "macs", count, where));
  EDGESAGE_ASSIGN_OR_RETURN(const auto working,
                            numbers_at<double>(json, "working_bytes", count, where));
  EDGESAGE_ASSIGN_OR_RETURN(const auto placement, texts_at(json, "placement", count, where));
  EDGESAGE_ASSIGN_OR_RETURN(const auto reason, texts_at(json, "placement_reason", count, where));
  operators.reserve(count);
  for (size_t i = 0; i < count; ++i)
    operators.push_back(
        {static_cast<int32_t>(index[i]), cycles[i], macs[i], working[i], placement[i], reason[i]});
  return operators;
}

}  // namespace edgesage
