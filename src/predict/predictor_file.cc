#include "src/predict/predictor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "predictor_generated.h"
#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/features/feature_table.h"

namespace edgesage {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is little endian");

constexpr char kMagic[8] = {'E', 'D', 'G', 'E', 'S', 'A', 'G', 'E'};

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t payload_bytes;
  uint64_t checksum;
};
static_assert(sizeof(Header) == 32);

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

template <class T>
std::vector<T> copy(const flatbuffers::Vector<T>* values) {
  return values != nullptr ? std::vector<T>(values->begin(), values->end()) : std::vector<T>();
}

std::string copy(const flatbuffers::String* text) { return text != nullptr ? text->str() : ""; }

std::vector<std::string> copy(const flatbuffers::Vector<Offset<flatbuffers::String>>* texts) {
  std::vector<std::string> out;
  if (texts != nullptr)
    for (const auto* text : *texts) out.push_back(text->str());
  return out;
}

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> row_kind_names() {
  std::vector<std::string> names;
  for (int k = 0; k < static_cast<int>(RowKind::kCount); ++k)
    names.emplace_back(row_kind_name(static_cast<RowKind>(k)));
  return names;
}

Offset<fb::Normaliser> encode(FlatBufferBuilder& builder, const Normaliser& normaliser) {
  return fb::CreateNormaliserDirect(builder, &normaliser.mean, &normaliser.scale);
}

Offset<fb::TrainingRange> encode(FlatBufferBuilder& builder, const TrainingRange& range) {
  std::vector<Offset<fb::KindBounds>> kinds;
  for (const auto& kind : range.kinds)
    kinds.push_back(
        fb::CreateKindBoundsDirect(builder, kind.kind.c_str(), kind.count, &kind.low, &kind.high));
  const auto operators = builder.CreateVectorOfStrings(range.operators);
  const auto kind_vector = builder.CreateVector(kinds);
  const auto low = builder.CreateVector(range.global_low);
  const auto high = builder.CreateVector(range.global_high);
  const auto spread = builder.CreateVector(range.max_spread);
  Offset<fb::Leverage> leverage;
  if (!range.leverage.empty())
    leverage = fb::CreateLeverageDirect(builder, range.leverage.kinds, &range.leverage.centre,
                                        &range.leverage.scale, &range.leverage.inverse,
                                        range.leverage.limit);
  std::vector<Offset<fb::ErrorModel>> models;
  for (const ErrorModel& model : range.errors)
    models.push_back(fb::CreateErrorModelDirect(builder, &model.weights, model.low, model.high));
  Offset<flatbuffers::Vector<Offset<fb::ErrorModel>>> errors;
  if (!models.empty()) errors = builder.CreateVector(models);
  return fb::CreateTrainingRange(builder, operators, kind_vector, low, high, spread, leverage,
                                 errors);
}

std::vector<std::byte> encode_payload(const PredictorData& data) {
  FlatBufferBuilder builder;
  std::vector<Offset<fb::Member>> members;
  for (const auto& parameters : data.members)
    members.push_back(fb::CreateMemberDirect(builder, &parameters));
  std::vector<Offset<fb::Quantity>> quantities;
  for (const auto& q : data.quantities)
    quantities.push_back(fb::CreateQuantityDirect(
        builder, q.name.c_str(), static_cast<uint8_t>(q.readout), q.node_labels, q.log_offset,
        q.overhead_scale, &q.levels, &q.widths, q.base_spread));
  const auto range = encode(builder, data.range);
  const auto node_normaliser = encode(builder, data.node_normaliser);
  const auto global_normaliser = encode(builder, data.global_normaliser);
  const auto node_names = builder.CreateVectorOfStrings(names_of(node_features()));
  const auto global_names = builder.CreateVectorOfStrings(names_of(global_features()));
  const auto kinds = builder.CreateVectorOfStrings(row_kind_names());
  const auto quantity_vector = builder.CreateVector(quantities);
  const auto member_vector = builder.CreateVector(members);
  const auto text = [&](const std::string& value) { return builder.CreateString(value); };
  const auto device = text(data.device), runtime = text(data.runtime),
             version = text(data.runtime_version), target = text(data.target),
             statistic = text(data.statistic), fingerprint = text(data.host_fingerprint),
             host = text(data.host_description), facts = text(data.facts);
  // Without a table the bytes are those of before there was one.
  const auto table = [&](const std::string& value) {
    return value.empty() ? Offset<flatbuffers::String>() : text(value);
  };
  const auto energy_table = table(data.energy_table), energy_hash = table(data.energy_table_hash);
  builder.Finish(fb::CreatePredictor(builder, kFeatureVersion, device, runtime, version, target,
                                     statistic, fingerprint, host, data.threads, node_names,
                                     global_names, kinds, node_normaliser, global_normaliser,
                                     data.embedding, data.hidden, data.layers, quantity_vector,
                                     range, member_vector, facts, energy_table, energy_hash),
                 fb::PredictorIdentifier());
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {bytes.begin(), bytes.end()};
}

tl::unexpected<Error> bad(std::string_view where, std::string message) {
  return make_error(ErrorCode::kBadStore, std::string(where), std::move(message));
}

bool all_finite(const std::vector<float>& values) {
  for (const float value : values)
    if (!std::isfinite(value)) return false;
  return true;
}

Normaliser decode(const fb::Normaliser* in) {
  if (in == nullptr) return {};
  return {copy(in->mean()), copy(in->scale())};
}

TrainingRange decode(const fb::TrainingRange* in) {
  TrainingRange range;
  if (in == nullptr) return range;
  range.operators = copy(in->operators());
  if (in->kinds() != nullptr)
    for (const auto* kind : *in->kinds())
      range.kinds.push_back(
          {copy(kind->kind()), kind->count(), copy(kind->low()), copy(kind->high())});
  range.global_low = copy(in->global_low());
  range.global_high = copy(in->global_high());
  range.max_spread = copy(in->max_spread());
  if (const fb::Leverage* leverage = in->leverage(); leverage != nullptr)
    range.leverage = {leverage->kinds(), copy(leverage->centre()), copy(leverage->scale()),
                      copy(leverage->inverse()), leverage->limit()};
  if (in->errors() != nullptr)
    for (const auto* model : *in->errors())
      range.errors.push_back({copy(model->weights()), model->low(), model->high()});
  return range;
}

std::vector<PredictedQuantity> decode(const flatbuffers::Vector<Offset<fb::Quantity>>* in) {
  std::vector<PredictedQuantity> quantities;
  if (in == nullptr) return quantities;
  for (const auto* q : *in) {
    PredictedQuantity out;
    out.name = copy(q->name());
    out.readout = q->readout();
    out.node_labels = q->node_labels();
    out.log_offset = q->log_offset();
    out.overhead_scale = q->overhead_scale();
    out.levels = copy(q->levels());
    out.widths = copy(q->widths());
    out.base_spread = q->base_spread();
    quantities.push_back(std::move(out));
  }
  return quantities;
}

Result<std::span<const std::byte>> checked_payload(std::span<const std::byte> bytes,
                                                   std::string_view where) {
  constexpr std::string_view kRemedy = "get the file again, or train it with `edgesage train`";
  Header header{};
  if (bytes.size() < sizeof(Header) || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0)
    return bad(where, fmt::format("not a predictor file of edgesage (it does not start with "
                                  "\"EDGESAGE\"); {}",
                                  kRemedy));
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version == __builtin_bswap32(kPredictorFileVersion))
    return bad(where, fmt::format("its numbers are in the opposite byte order (version {:#x}): the "
                                  "file was swapped on its way, or written by another program; {}",
                                  header.version, kRemedy));
  if (header.version > kPredictorFileVersion)
    return bad(where, fmt::format("predictor file version {}; this build reads up to {}: use a "
                                  "newer edgesage",
                                  header.version, kPredictorFileVersion));
  if (header.version == 0) return bad(where, fmt::format("predictor file version 0; {}", kRemedy));
  const auto payload = bytes.subspan(sizeof(Header));
  if (payload.size() != header.payload_bytes)
    return bad(where, fmt::format("{} bytes of payload; the header says {}: the file is cut or "
                                  "has been added to; {}",
                                  payload.size(), header.payload_bytes, kRemedy));
  if (checksum64(payload) != header.checksum)
    return bad(where, fmt::format("the checksum does not match: the file is damaged; {}", kRemedy));
  return payload;
}

Status check_tables(const fb::Predictor& in, std::string_view where) {
  const auto same = [&](const std::vector<std::string>& has, const std::vector<std::string>& want,
                        std::string_view what) -> Status {
    if (has.size() <= want.size() && std::equal(has.begin(), has.end(), want.begin())) return {};
    return bad(where, fmt::format("its {} are not those of this build: train it again with "
                                  "`edgesage train`",
                                  what));
  };
  if (in.feature_version() != kFeatureVersion)
    return bad(where, fmt::format("features of version {}; this build has {}: train it again with "
                                  "`edgesage train`",
                                  in.feature_version(), kFeatureVersion));
  const auto node_names = copy(in.node_features());
  if (node_names.size() != node_features().size())
    return bad(where, fmt::format("{} node features; this build has {}: train it again with "
                                  "`edgesage train`",
                                  node_names.size(), node_features().size()));
  EDGESAGE_RETURN_IF_ERROR(same(node_names, names_of(node_features()), "node features"));
  EDGESAGE_RETURN_IF_ERROR(
      same(copy(in.global_features()), names_of(global_features()), "graph features"));
  // Kinds are only ever appended, so an older file's list is a prefix of ours.
  return same(copy(in.row_kinds()), row_kind_names(), "row kinds");
}

// Trained parameters are below 10. With these bounds nothing overflows between the features and the
// answer, at any size that `nn::validate` allows.
constexpr float kLargestParameter = 1e4F;
constexpr float kLargestLogOffset = 200;  // a factor of e^200
constexpr float kLargestScale = 1e30F;    // of overheads, widths and spreads

bool all_within(const std::vector<float>& values, float low, float high) {
  return std::ranges::all_of(values, [&](float value) { return value >= low && value <= high; });
}

bool is_sensible(const PredictedQuantity& q) {
  const auto scale = [](float value) { return value >= 0 && value <= kLargestScale; };
  return std::abs(q.log_offset) <= kLargestLogOffset && scale(q.overhead_scale) &&
         scale(q.base_spread) && all_finite(q.levels) && all_within(q.widths, 0, kLargestScale);
}

// Bounds may be infinite: of what never varied, or was never seen.
bool is_sensible(const TrainingRange& range) {
  const auto numbers = [](const std::vector<float>& values) {
    return std::ranges::none_of(values, [](float value) { return std::isnan(value); });
  };
  return numbers(range.global_low) && numbers(range.global_high) && numbers(range.max_spread) &&
         std::ranges::all_of(range.kinds, [&](const TrainingRange::KindBounds& kind) {
           return numbers(kind.low) && numbers(kind.high);
         });
}

// Every number of the file, so that what is computed from it is one as well.
Status check_numbers(const PredictorData& data, std::string_view where) {
  for (const auto& member : data.members) {
    if (!all_finite(member)) return bad(where, "a parameter is not finite");
    if (!all_within(member, -kLargestParameter, kLargestParameter))
      return bad(where, fmt::format("a parameter is beyond {:g}, which no training gives: the file "
                                    "is damaged, or was trained without end; train it again",
                                    kLargestParameter));
  }
  for (const PredictedQuantity& quantity : data.quantities)
    if (!is_sensible(quantity))
      return bad(where, fmt::format("the offset, scale or interval of {} is no number, negative or "
                                    "too large: the file is damaged",
                                    quantity.name));
  if (!is_sensible(data.range))
    return bad(where, "a bound of its training is no number: the file is damaged");
  return {};
}

// One model a quantity, or none; each of the leverage's features, of numbers.
bool errors_fit(const PredictorData& data) {
  const TrainingRange& range = data.range;
  if (range.errors.empty()) return true;
  const size_t features =
      static_cast<size_t>(range.leverage.kinds) + range.leverage.centre.size() + 1;
  return !range.leverage.empty() && range.errors.size() == data.quantities.size() &&
         std::ranges::all_of(range.errors, [&](const ErrorModel& model) {
           return model.empty() || (model.weights.size() == features + 1 &&
                                    all_finite(model.weights) && std::isfinite(model.low) &&
                                    std::isfinite(model.high) && model.low <= model.high);
         });
}

}  // namespace

std::vector<std::byte> encode_predictor(const PredictorData& data) {
  const std::vector<std::byte> payload = encode_payload(data);
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kPredictorFileVersion;
  header.payload_bytes = payload.size();
  header.checksum = checksum64(payload);
  std::vector<std::byte> bytes(sizeof(Header) + payload.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), payload.data(), payload.size());
  return bytes;
}

Result<PredictorData> decode_predictor(std::span<const std::byte> bytes, std::string_view where) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto mapped, checked_payload(bytes, where));
  // Bytes read from a pipe need not be aligned as FlatBuffers want them.
  const std::vector<std::byte> payload(mapped.begin(), mapped.end());
  const auto* data = reinterpret_cast<const uint8_t*>(payload.data());
  flatbuffers::Verifier verifier(data, payload.size());
  if (!fb::VerifyPredictorBuffer(verifier))
    return bad(where, "the payload is not a valid predictor: the file is damaged");
  const fb::Predictor& in = *fb::GetPredictor(data);
  EDGESAGE_RETURN_IF_ERROR(check_tables(in, where));

  PredictorData out;
  out.id = fmt::format("{:012x}", checksum64(mapped) & 0xffffffffffff);
  out.device = copy(in.device());
  out.runtime = copy(in.runtime());
  out.runtime_version = copy(in.runtime_version());
  out.target = copy(in.target());
  out.statistic = copy(in.statistic());
  out.host_fingerprint = copy(in.host_fingerprint());
  out.host_description = copy(in.host_description());
  out.threads = in.threads();
  out.node_normaliser = decode(in.node_normaliser());
  out.global_normaliser = decode(in.global_normaliser());
  out.embedding = in.embedding();
  out.hidden = in.hidden();
  out.layers = in.layers();
  out.quantities = decode(in.quantities());
  out.range = decode(in.range());
  if (in.members() != nullptr)
    for (const auto* member : *in.members()) out.members.push_back(copy(member->parameters()));
  out.facts = copy(in.facts());
  out.energy_table = copy(in.energy_table());
  out.energy_table_hash = copy(in.energy_table_hash());

  if (!out.range.leverage.fits(out.node_normaliser.mean.size()) || !errors_fit(out))
    return bad(where, "its leverage does not fit its features: the file is damaged");
  if (out.members.empty() || out.quantities.empty())
    return bad(where, "it holds no network or no quantity");
  EDGESAGE_RETURN_IF_ERROR(check_numbers(out, where));
  const auto fits = [](const Normaliser& n, size_t columns) {
    return n.mean.size() == columns && n.scale.size() == columns && all_finite(n.mean) &&
           all_finite(n.scale);
  };
  if (!fits(out.node_normaliser, node_features().size()) ||
      !fits(out.global_normaliser, global_features().size()))
    return bad(where, "a normaliser does not fit the features");
  return out;
}

Status save_predictor(const PredictorData& data, const std::filesystem::path& path) {
  return write_file(path, encode_predictor(data));
}

Result<PredictorData> load_predictor(const std::filesystem::path& path) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path, ErrorCode::kBadStore));
  return decode_predictor(file->bytes(), path.string());
}

}  // namespace edgesage
