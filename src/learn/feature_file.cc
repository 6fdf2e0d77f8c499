#include "src/learn/feature_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "src/base/file.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/features/feature_table.h"

namespace edgesage {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is little endian");

constexpr char kMagic[8] = {'E', 'D', 'G', 'E', 'F', 'E', 'A', 'T'};
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t file_bytes;
  uint64_t checksum;  // of all behind the header
  uint64_t index_offset;
  uint64_t origin_offset;
  uint64_t count;
  uint64_t names_hash;  // of features, kinds of rows, and the version of their meaning
  uint32_t features, globals, quantities, reserved;
  int64_t left_out;
  uint64_t unused[4];
  uint64_t header_checksum;  // of the bytes before it
};
static_assert(sizeof(Header) == 128);

// Counts of a record's arrays, which follow each other in the order of `for_each_array`.
struct Entry {
  uint64_t offset;
  int32_t nodes, operators, cpu_operators, producer_edges, consumer_edges;
  uint32_t with_operators;
  uint32_t name_bytes, signature_bytes;
  char graph_hash[48];  // ended by zeros
  uint64_t reserved;
};
static_assert(sizeof(Entry) == 96);

struct Widths {
  int32_t features, globals, quantities, prior_columns;
};

uint64_t names_hash() {
  Hasher hasher;
  hasher.add(kFeatureVersion);
  for (const NodeFeature& feature : node_features()) hasher.add(feature.name);
  for (const GlobalFeature& feature : global_features()) hasher.add(feature.name);
  for (int k = 0; k < static_cast<int>(RowKind::kCount); ++k)
    hasher.add(row_kind_name(static_cast<RowKind>(k)));
  return hasher.low64();
}

template <class T>
std::span<const T> take(const std::byte*& at, int64_t count) {
  const std::span<const T> values(reinterpret_cast<const T*>(at), static_cast<size_t>(count));
  at += values.size_bytes();
  return values;
}

std::string_view take_text(const std::byte*& at, uint32_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(at), bytes);
  at += bytes;
  return text;
}

// The one place that knows the order of a record. Doubles first, then four bytes each, then text.
ExampleView read_record(const std::byte* record, const Entry& entry, const Widths& widths) {
  const std::byte* at = record;
  const int64_t nodes = entry.nodes, quantities = widths.quantities;
  ExampleView view;
  view.nodes = entry.nodes;
  view.operators = entry.operators;
  view.cpu_operators = entry.cpu_operators;
  view.with_operators = entry.with_operators;
  view.graph_hash = {entry.graph_hash, strnlen(entry.graph_hash, sizeof(entry.graph_hash))};
  view.labels = take<double>(at, quantities);
  view.operator_labels = take<double>(at, quantities * entry.operators);
  view.x = take<float>(at, nodes * widths.features);
  view.globals = take<float>(at, widths.globals);
  view.log_prior = take<float>(at, nodes * widths.prior_columns);
  view.kind = take<int32_t>(at, nodes);
  view.op = take<int32_t>(at, nodes);
  view.producer_offset = take<int32_t>(at, nodes + 1);
  view.producers = take<int32_t>(at, entry.producer_edges);
  view.consumer_offset = take<int32_t>(at, nodes + 1);
  view.consumers = take<int32_t>(at, entry.consumer_edges);
  view.name = take_text(at, entry.name_bytes);
  view.signatures = take_text(at, entry.signature_bytes);
  return view;
}

uint64_t record_bytes(const Entry& entry, const Widths& widths) {
  const auto nodes = static_cast<uint64_t>(entry.nodes);
  const auto operators = static_cast<uint64_t>(entry.operators);
  const auto quantities = static_cast<uint64_t>(widths.quantities);
  const auto prior_columns = static_cast<uint64_t>(widths.prior_columns);
  const uint64_t doubles = quantities * (1 + operators);
  const uint64_t words = nodes * static_cast<uint64_t>(widths.features) +
                         static_cast<uint64_t>(widths.globals) + nodes * prior_columns + 2 * nodes +
                         2 * (nodes + 1) + static_cast<uint64_t>(entry.producer_edges) +
                         static_cast<uint64_t>(entry.consumer_edges);
  return 8 * doubles + 4 * words + entry.name_bytes + entry.signature_bytes;
}

template <class T>
void put(std::vector<std::byte>& out, std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  out.insert(out.end(), bytes.begin(), bytes.end());
}
template <class T>
void put(std::vector<std::byte>& out, const std::vector<T>& values) {
  put(out, std::span<const T>(values));
}

std::string joined_signatures(const Example& example) {
  std::string text;
  for (const std::string& signature : example.operator_signatures) text += signature + '\n';
  return text;
}

std::vector<std::byte> make_record(const Example& example, const std::string& signatures) {
  const GraphTensors& tensors = example.tensors;
  std::vector<std::byte> out;
  put(out, example.labels);
  for (const std::vector<double>& labels : example.operator_labels)
    put(out, labels.empty() ? std::vector<double>(static_cast<size_t>(tensors.operators), kNaN)
                            : labels);
  put(out, tensors.x);
  put(out, tensors.globals);
  put(out, tensors.log_prior);
  put(out, tensors.kind);
  put(out, tensors.op);
  put(out, tensors.producers.offset);
  put(out, tensors.producers.index);
  put(out, tensors.consumers.offset);
  put(out, tensors.consumers.index);
  put(out, std::span<const char>(example.name));
  put(out, std::span<const char>(signatures));
  return out;
}

std::string origin_text(const FeatureOrigin& origin) {
  Json json;
  json["device"] = origin.source.device;
  json["runtime"] = origin.source.runtime;
  json["runtime_version"] = origin.source.runtime_version;
  json["statistic"] = origin.source.statistic;
  json["host_fingerprint"] = origin.source.host_fingerprint;
  json["host_description"] = origin.source.host_description;
  json["threads"] = origin.source.threads;
  if (!origin.source.energy_table.empty()) {
    json["energy_table"] = origin.source.energy_table;
    json["energy_table_hash"] = origin.source.energy_table_hash;
  }
  json["labels_hash"] = origin.labels_hash;
  json["target"] = origin.target;
  for (const Quantity quantity : origin.quantities)
    json["quantities"].push_back(quantity_name(quantity));
  return to_text(json);
}

Result<FeatureOrigin> parse_origin(std::string_view text, const std::string& where) {
  EDGESAGE_ASSIGN_OR_RETURN(const Json json, parse_json(text, where, ErrorCode::kBadStore));
  FeatureOrigin origin;
  origin.source.device = json_string(json, "device");
  origin.source.runtime = json_string(json, "runtime");
  origin.source.runtime_version = json_string(json, "runtime_version");
  origin.source.statistic = json_string(json, "statistic");
  origin.source.host_fingerprint = json_string(json, "host_fingerprint");
  origin.source.host_description = json_string(json, "host_description");
  origin.source.threads = static_cast<int>(json_int(json, "threads", 0));
  origin.source.energy_table = json_string(json, "energy_table");
  origin.source.energy_table_hash = json_string(json, "energy_table_hash");
  origin.labels_hash = json_string(json, "labels_hash");
  origin.target = json_string(json, "target");
  for (const Json& name : json.value("quantities", Json::array())) {
    if (!name.is_string()) continue;
    EDGESAGE_ASSIGN_OR_RETURN(const Quantity quantity, quantity_from_name(name.get<std::string>()));
    origin.quantities.push_back(quantity);
  }
  return origin;
}

Status check_header(const Header& header, size_t bytes, const std::string& where) {
  const auto bad = [&](std::string what) {
    return make_error(ErrorCode::kBadStore, where, std::move(what));
  };
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) return bad("is not a feature file");
  if (header.version != kFeatureFileVersion)
    return bad(fmt::format("has version {} of the format; this build reads {}", header.version,
                           kFeatureFileVersion));
  const auto* raw = reinterpret_cast<const std::byte*>(&header);
  if (header.header_checksum != checksum64({raw, offsetof(Header, header_checksum)}) ||
      header.file_bytes != bytes)
    return bad("is damaged (header)");
  if (header.names_hash != names_hash()) return bad("has the features of another version");
  const uint64_t index_bytes = header.count * sizeof(Entry);
  if (header.index_offset < sizeof(Header) || header.index_offset % 8 != 0 ||
      header.origin_offset > bytes || header.origin_offset < header.index_offset ||
      header.count > bytes || header.origin_offset - header.index_offset != index_bytes)
    return bad("is damaged (sizes)");
  return {};
}

Status check_entries(std::span<const Entry> entries, const Widths& widths, uint64_t end,
                     const std::string& where) {
  for (const Entry& entry : entries) {
    const bool counted = entry.nodes >= 0 && entry.operators >= 0 && entry.producer_edges >= 0 &&
                         entry.consumer_edges >= 0;
    if (!counted || entry.offset % 8 != 0 || entry.offset < sizeof(Header) || entry.offset > end ||
        record_bytes(entry, widths) > end - entry.offset)
      return make_error(ErrorCode::kBadStore, where, "is damaged (index)");
  }
  return {};
}

uint64_t hash_of(std::span<const std::byte> bytes) {
  Hasher hasher;
  hasher.add_bytes(bytes);
  return hasher.low64();
}

}  // namespace

// ---- reading

Result<FeatureFile> FeatureFile::parse(std::span<const std::byte> bytes,
                                       std::shared_ptr<const void> owner,
                                       const std::string& where) {
  Header header;
  if (bytes.size() < sizeof(header))
    return make_error(ErrorCode::kBadStore, where, "is not a feature file");
  std::memcpy(&header, bytes.data(), sizeof(header));
  EDGESAGE_RETURN_IF_ERROR(check_header(header, bytes.size(), where));
  if (hash_of(bytes.subspan(sizeof(header))) != header.checksum)
    return make_error(ErrorCode::kBadStore, where, "is damaged (checksum)");
  FeatureFile file;
  file.bytes_ = bytes;
  file.owner_ = std::move(owner);
  file.index_offset_ = header.index_offset;
  file.checksum_ = header.checksum;
  file.count_ = header.count;
  file.features_ = static_cast<int32_t>(header.features);
  file.globals_ = static_cast<int32_t>(header.globals);
  file.left_out_ = header.left_out;
  const auto text = bytes.subspan(header.origin_offset);
  EDGESAGE_ASSIGN_OR_RETURN(
      file.origin_, parse_origin({reinterpret_cast<const char*>(text.data()), text.size()}, where));
  if (file.origin_.quantities.size() != header.quantities)
    return make_error(ErrorCode::kBadStore, where, "is damaged (quantities)");
  const std::span<const Entry> entries(
      reinterpret_cast<const Entry*>(bytes.data() + header.index_offset), header.count);
  EDGESAGE_RETURN_IF_ERROR(
      check_entries(entries,
                    {file.features_, file.globals_, static_cast<int32_t>(header.quantities),
                     prior_columns(file.quantities())},
                    header.index_offset, where));
  return file;
}

Result<FeatureFile> FeatureFile::open(const std::filesystem::path& path) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(path, ErrorCode::kBadStore));
  return parse(mapped->bytes(), mapped, path.string());
}

FeatureFile FeatureFile::of(const Dataset& dataset) {
  FeatureWriter writer;
  auto out = std::make_unique<std::ostringstream>(std::ios::binary);
  const std::ostringstream& stream = *out;
  writer.out_ = std::move(out);
  writer.origin_.target = dataset.target.name;
  writer.origin_.quantities = dataset.quantities;
  writer.hasher_ = std::make_unique<Hasher>();
  writer.left_out_ = dataset.left_out;
  // Memory takes it all, so nothing of this fails.
  static_cast<void>(writer.write(std::vector<std::byte>(sizeof(Header))));
  for (const Example& example : dataset.examples) static_cast<void>(writer.add(example));
  static_cast<void>(writer.finish());
  const auto bytes = std::make_shared<const std::string>(stream.str());
  return *parse(std::as_bytes(std::span(*bytes)), bytes, "data set");
}

ExampleView FeatureFile::view(size_t i) const {
  const auto& entry = reinterpret_cast<const Entry*>(bytes_.data() + index_offset_)[i];
  return read_record(bytes_.data() + entry.offset, entry,
                     {features_, globals_, static_cast<int32_t>(origin_.quantities.size()),
                      prior_columns(origin_.quantities)});
}

int32_t FeatureFile::nodes_of(size_t i) const {
  return reinterpret_cast<const Entry*>(bytes_.data() + index_offset_)[i].nodes;
}

std::string_view FeatureFile::space_of(size_t i) const {
  const std::string_view name = view(i).name;
  return name.substr(0, name.find('/'));
}

Example FeatureFile::example(size_t i) const {
  const auto copy = [](auto values) { return std::vector(values.begin(), values.end()); };
  const ExampleView from = view(i);
  Example to;
  to.name = from.name;
  to.space = space_of(i);
  to.graph_hash = from.graph_hash;
  to.operator_signatures = split(from.signatures, '\n');
  to.operator_signatures.pop_back();  // what follows the last newline
  to.cpu_operators = from.cpu_operators;
  to.labels = copy(from.labels);
  const auto operators = static_cast<size_t>(from.operators);
  for (size_t q = 0; q < to.labels.size(); ++q) {
    const bool given = (from.with_operators >> q & 1) != 0;
    to.operator_labels.push_back(given
                                     ? copy(from.operator_labels.subspan(q * operators, operators))
                                     : std::vector<double>());
  }
  to.tensors = {.nodes = from.nodes,
                .features = features_,
                .quantities = prior_columns(origin_.quantities),
                .kind = copy(from.kind),
                .x = copy(from.x),
                .producers = {copy(from.producer_offset), copy(from.producers)},
                .consumers = {copy(from.consumer_offset), copy(from.consumers)},
                .globals = copy(from.globals),
                .log_prior = copy(from.log_prior),
                .op = copy(from.op),
                .operators = from.operators};
  return to;
}

// ---- writing

Result<FeatureWriter> FeatureWriter::create(const std::filesystem::path& path,
                                            const FeatureOrigin& origin) {
  FeatureWriter writer;
  writer.path_ = path;
  writer.temporary_ = fmt::format("{}.{}.tmp", path.string(), ::getpid());
  writer.origin_ = origin;
  writer.hasher_ = std::make_unique<Hasher>();
  writer.out_ = std::make_unique<std::ofstream>(writer.temporary_, std::ios::binary);
  EDGESAGE_RETURN_IF_ERROR(writer.write(std::vector<std::byte>(sizeof(Header))));
  return writer;
}

FeatureWriter::~FeatureWriter() {
  std::error_code ignored;
  if (out_ != nullptr && !temporary_.empty()) std::filesystem::remove(temporary_, ignored);
}

Status FeatureWriter::write(std::span<const std::byte> bytes) {
  out_->write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  offset_ += bytes.size();
  if (offset_ > sizeof(Header)) hasher_->add_bytes(bytes);
  if (*out_) return {};
  return make_error(ErrorCode::kInvalidArgument, path_.string(),
                    fmt::format("cannot be written: {}", std::strerror(errno)));
}

Status FeatureWriter::add(const Example& example) {
  const GraphTensors& tensors = example.tensors;
  if (count_ == 0) {
    features_ = tensors.features;
    globals_ = static_cast<int32_t>(tensors.globals.size());
  }
  const std::string signatures = joined_signatures(example);
  std::vector<std::byte> record = make_record(example, signatures);
  Entry entry{};
  entry.offset = offset_;
  entry.nodes = tensors.nodes;
  entry.operators = tensors.operators;
  entry.cpu_operators = example.cpu_operators;
  entry.producer_edges = static_cast<int32_t>(tensors.producers.index.size());
  entry.consumer_edges = static_cast<int32_t>(tensors.consumers.index.size());
  for (size_t q = 0; q < example.operator_labels.size(); ++q)
    if (!example.operator_labels[q].empty()) entry.with_operators |= uint32_t{1} << q;
  entry.name_bytes = static_cast<uint32_t>(example.name.size());
  entry.signature_bytes = static_cast<uint32_t>(signatures.size());
  const Widths widths{features_, globals_, static_cast<int32_t>(origin_.quantities.size()),
                      prior_columns(origin_.quantities)};
  if (record.size() != record_bytes(entry, widths) ||
      example.graph_hash.size() > sizeof(entry.graph_hash) || widths.quantities > 32)
    return make_error(ErrorCode::kInternal, example.name,
                      "its features do not have the widths of those before");
  example.graph_hash.copy(entry.graph_hash, sizeof(entry.graph_hash));
  record.resize((record.size() + 7) / 8 * 8);
  put(index_, std::span<const Entry>(&entry, 1));
  ++count_;
  return write(record);
}

Status FeatureWriter::finish() {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kFeatureFileVersion;
  header.header_bytes = sizeof(Header);
  header.index_offset = offset_;
  header.origin_offset = offset_ + index_.size();
  header.count = count_;
  header.names_hash = names_hash();
  header.features = static_cast<uint32_t>(features_);
  header.globals = static_cast<uint32_t>(globals_);
  header.quantities = static_cast<uint32_t>(origin_.quantities.size());
  header.left_out = left_out_;
  EDGESAGE_RETURN_IF_ERROR(write(index_));
  const std::string origin = origin_text(origin_);
  EDGESAGE_RETURN_IF_ERROR(write(std::as_bytes(std::span(origin))));
  header.file_bytes = offset_;
  header.checksum = hasher_->low64();
  const auto raw = std::as_bytes(std::span(&header, 1));
  header.header_checksum = checksum64(raw.first(offsetof(Header, header_checksum)));
  out_->seekp(0);
  out_->write(reinterpret_cast<const char*>(raw.data()), static_cast<std::streamsize>(raw.size()));
  out_->flush();
  if (!*out_)
    return make_error(ErrorCode::kInvalidArgument, path_.string(),
                      fmt::format("cannot be written: {}", std::strerror(errno)));
  if (temporary_.empty()) return {};
  out_.reset();
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (!error) return {};
  std::filesystem::remove(temporary_, error);
  return make_error(ErrorCode::kInvalidArgument, path_.string(), "cannot be written");
}

}  // namespace edgesage
