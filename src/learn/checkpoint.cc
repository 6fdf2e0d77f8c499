#include "src/learn/checkpoint.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <span>

#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/json.h"

namespace edgesage {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is little endian");

constexpr char kMagic[8] = {'E', 'D', 'G', 'E', 'C', 'K', 'P', 'T'};
constexpr uint64_t kVersion = 1;

struct Header {
  char magic[8];
  uint64_t version;
  uint64_t file_bytes;
  uint64_t checksum;
};
static_assert(sizeof(Header) == 32);

class Writer {
 public:
  template <class T>
  void number(T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  template <class Values>
  void list(const Values& values) {
    number(static_cast<uint64_t>(values.size()));
    const auto bytes = std::as_bytes(std::span(values));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Past the end it reads zeros and empty lists, and is not whole.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <class T>
  void number(T& value) {
    copy(&value, sizeof(value));
  }
  template <class Values>
  void list(Values& values) {
    uint64_t count = 0;
    number(count);
    if (count > rest_.size() / sizeof(values[0])) {
      whole_ = false;
      return;
    }
    values.resize(count);
    copy(values.data(), count * sizeof(values[0]));
  }
  [[nodiscard]] bool whole() const { return whole_ && rest_.empty(); }
  [[nodiscard]] size_t left() const { return rest_.size(); }

 private:
  void copy(void* to, size_t bytes) {
    if (bytes > rest_.size()) {
      whole_ = false;
      return;
    }
    if (bytes > 0) std::memcpy(to, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
  }
  std::span<const std::byte> rest_;
  bool whole_ = true;
};

// The fields in the order of the file, for both directions.
template <class Archive, class State>
void visit(Archive& archive, State& state) {
  archive.number(state.epochs);
  archive.number(state.graphs_done);
  archive.number(state.steps);
  archive.number(state.updates);
  archive.number(state.loss);
  archive.number(state.sums.steps);
  archive.number(state.sums.loss);
  archive.list(state.sums.log_error);
  archive.list(state.sums.weight);
  archive.list(state.parameters);
  archive.list(state.average);
  archive.list(state.first_moment);
  archive.list(state.second_moment);
}

tl::unexpected<Error> bad(const std::string& where, std::string what) {
  return make_error(ErrorCode::kBadStore, where,
                    std::move(what) + "; remove it to begin anew, or name another (--checkpoint)");
}

}  // namespace

std::vector<std::byte> encode_checkpoint(const Checkpoint& checkpoint) {
  Writer writer;
  writer.list(checkpoint.options);
  writer.number(checkpoint.data_hash);
  writer.number(static_cast<uint64_t>(checkpoint.members.size()));
  for (const std::vector<float>& member : checkpoint.members) writer.list(member);
  visit(writer, checkpoint.state);
  const std::vector<std::byte> payload = std::move(writer).take();
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.file_bytes = sizeof(header) + payload.size();
  header.checksum = checksum64(payload);
  std::vector<std::byte> bytes(header.file_bytes);
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), payload.data(), payload.size());
  return bytes;
}

Result<Checkpoint> decode_checkpoint(std::span<const std::byte> bytes, const std::string& where) {
  Header header;
  if (bytes.size() < sizeof(header) || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0)
    return bad(where, "is not a checkpoint of a training");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != kVersion)
    return bad(where, fmt::format("is a checkpoint of version {}; this build reads {}",
                                  header.version, kVersion));
  const auto payload = bytes.subspan(sizeof(header));
  if (header.file_bytes != bytes.size() || header.checksum != checksum64(payload))
    return bad(where, "is a damaged checkpoint");
  Checkpoint checkpoint;
  Reader reader(payload);
  uint64_t members = 0;
  reader.list(checkpoint.options);
  reader.number(checkpoint.data_hash);
  reader.number(members);
  if (members > reader.left()) return bad(where, "is a damaged checkpoint");
  checkpoint.members.resize(members);
  for (std::vector<float>& member : checkpoint.members) reader.list(member);
  visit(reader, checkpoint.state);
  if (!reader.whole()) return bad(where, "is a damaged checkpoint");
  return checkpoint;
}

Status save_checkpoint(const Checkpoint& checkpoint, const std::filesystem::path& path) {
  return write_file(path, encode_checkpoint(checkpoint));
}

Result<Checkpoint> load_checkpoint(const std::filesystem::path& path) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path, ErrorCode::kBadStore));
  return decode_checkpoint(file->bytes(), path.string());
}

Status check_same_run(const Checkpoint& checkpoint, const std::string& options, uint64_t data_hash,
                      const std::string& where) {
  if (checkpoint.options != options) {
    EDGESAGE_ASSIGN_OR_RETURN(const Json then,
                              parse_json(checkpoint.options, where, ErrorCode::kBadStore));
    EDGESAGE_ASSIGN_OR_RETURN(const Json now, parse_json(options, where, ErrorCode::kBadStore));
    for (const auto& [name, value] : now.items())
      if (const Json other = then.value(name, Json()); other != value)
        return bad(where, fmt::format("is of a training with {} {}, not {}", name, to_text(other),
                                      to_text(value)));
    return bad(where, "is of a training with other options");
  }
  if (checkpoint.data_hash != data_hash) return bad(where, "is of a training on other data");
  return {};
}

}  // namespace edgesage
