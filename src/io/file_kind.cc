#include "src/io/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string_view>

namespace edgesage {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Magic {
  size_t at;
  std::string_view bytes;
  std::string_view sentence;
};

using namespace std::string_view_literals;

constexpr Magic kMagics[] = {
    {0, "version https://git-lfs"sv,
     "is a Git LFS pointer, not the model; run `git lfs pull` in its repository"},
    {0, "PK\x03\x04"sv,
     "is a zip archive (a Keras, PyTorch or task bundle, perhaps); unpack it and give the .tflite "
     "in it"},
    {0, "\x1f\x8b"sv, "is gzip-compressed; run `gunzip` on it first"},
    {0, "\x28\xb5\x2f\xfd"sv, "is zstd-compressed; run `unzstd` on it first"},
    {0,
     "\xfd"
     "7zXZ"sv,
     "is xz-compressed; run `unxz` on it first"},
    {0, "BZh"sv, "is bzip2-compressed; run `bunzip2` on it first"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "is a 7z archive; unpack it and give the .tflite in it"},
    {257, "ustar"sv, "is a tar archive; unpack it and give the .tflite in it"},
    {0,
     "\x7f"
     "ELF"sv,
     "is an ELF program or library, not a model"},
    {0, "MZ"sv, "is a Windows program or library, not a model"},
    {0, "\x89HDF\r\n\x1a\n"sv,
     "is an HDF5 file (a Keras .h5 model, perhaps); convert it with the TensorFlow Lite converter"},
    {0, "\xdd\x85\x76\x00"sv,
     "is a binary ncnn .param.bin; give the text .param that it was made of"},
    {0, "GGUF"sv, "is a GGUF file; only .tflite models are read by this version"},
    {0, "\x89PNG"sv, "is a PNG image, not a model"},
    {0, "\xff\xd8\xff"sv, "is a JPEG image, not a model"},
    {0, "%PDF"sv, "is a PDF document, not a model"},
    {4, "ORTM"sv,
     "is a model of ONNX Runtime's own format (.ort); give the .onnx that it was made of"},
    {4, "TFL2"sv,
     "is a TensorFlow Lite model of schema version 2; version 3 is needed: convert again"},
    {4, "TFL1"sv,
     "is a TensorFlow Lite model of schema version 1; version 3 is needed: convert again"},
    {8, "TFL3"sv, "is a TensorFlow Lite model behind a size prefix; remove its first 4 bytes"},
};

bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() &&
         std::equal(lower.begin(), lower.end(), text.begin(), [](char expected, char given) {
           return expected == std::tolower(static_cast<unsigned char>(given));
         });
}

// The three ways in which the onnx package writes models as text.
std::optional<std::string> describe_onnx_text(std::string_view body) {
  const std::string_view head = body.substr(0, 4096);
  const auto has = [head](std::string_view word) { return head.find(word) != head.npos; };
  const char* format = nullptr;
  if (body.starts_with("{") && (has("\"irVersion\"") || has("\"opsetImport\""))) {
    format = "json";
  } else if (body.starts_with("<") && has("ir_version")) {
    format = "onnxtxt";
  } else if (has("ir_version:") || has("opset_import {") || has("producer_name:")) {
    format = "textproto";
  }
  if (format == nullptr) return std::nullopt;
  return fmt::format(
      "is an ONNX model as text; convert it in Python: "
      "onnx.save(onnx.load(FILE, format='{}'), 'model.onnx')",
      format);
}

std::optional<std::string> describe_text(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "holds only blanks; it is no model";
  const std::string_view body = text.substr(begin);
  for (const std::string_view tag : {"<!doctype html"sv, "<html"sv, "<head"sv})
    if (starts_with_ignoring_case(body, tag))
      return "is an HTML page, not a model; the download went wrong (a login page, perhaps)";
  if (const auto onnx = describe_onnx_text(body)) return onnx;
  if (body.starts_with("<?xml") || body.starts_with("<net"))
    return "is XML (an OpenVINO .xml, perhaps); only .tflite models are read by this version";
  if (body.starts_with("{") || body.starts_with("["))
    return "is JSON, not a model; the download may have answered with an error";
  const std::string_view head = body.substr(0, 256);
  const bool plain = std::all_of(head.begin(), head.end(), [](char c) {
    return std::isprint(static_cast<unsigned char>(c)) != 0 ||
           std::isspace(static_cast<unsigned char>(c)) != 0;
  });
  if (plain && head.size() >= 8) return "is a text file, not a model";
  return std::nullopt;
}

// Protocol buffers, as far as telling whose message it is.
class ProtoFields {
 public:
  explicit ProtoFields(std::span<const std::byte> bytes) : bytes_(bytes) {}

  struct Field {
    uint64_t number = 0;
    int wire_type = 0;
    uint64_t value = 0;  // of a varint, or the length
  };
  // nullopt at the end or at what is no field; `good` tells which.
  std::optional<Field> next() {
    if (!good_ || at_ == bytes_.size()) return std::nullopt;
    Field field;
    const std::optional<uint64_t> tag = varint();
    if (!tag) return fail();
    field.number = *tag >> 3;
    field.wire_type = static_cast<int>(*tag & 7);
    if (field.number == 0) return fail();
    if (field.wire_type == 0 || field.wire_type == 2) {
      const std::optional<uint64_t> value = varint();
      if (!value) return fail();
      field.value = *value;
    }
    const uint64_t skipped = field.wire_type == 2   ? field.value
                             : field.wire_type == 5 ? 4
                             : field.wire_type == 1 ? 8
                                                    : 0;
    if (field.wire_type > 5 || field.wire_type == 3 || field.wire_type == 4) return fail();
    if (skipped > bytes_.size() - at_) {
      cut_ = field;
      return fail();
    }
    last_ = bytes_.subspan(at_, skipped);
    at_ += skipped;
    return field;
  }
  // The content of the last field that has a length.
  [[nodiscard]] std::string_view last() const { return text_of(last_); }
  [[nodiscard]] bool good() const { return good_; }
  // The field whose content the end cuts off, where that is what ended the walk.
  [[nodiscard]] const std::optional<Field>& cut() const { return cut_; }

 private:
  std::optional<Field> fail() {
    good_ = false;
    return std::nullopt;
  }
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<uint64_t>(bytes_[at_++]);
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }

  std::span<const std::byte> bytes_;
  std::span<const std::byte> last_;
  std::optional<Field> cut_;
  size_t at_ = 0;
  bool good_ = true;
};

// SavedModel: a version and graphs; GraphDef: nodes. Both begin with field 1.
bool looks_like_tensorflow(std::span<const std::byte> bytes) {
  ProtoFields fields(bytes);
  size_t count = 0;
  while (const auto field = fields.next()) {
    if (field->number > 5) return false;
    ++count;
  }
  return fields.good() && count > 0;
}

// What of a ModelProto is there, up to the end or the first damage.
struct OnnxFields {
  bool consistent = true;  // nothing that a ModelProto has otherwise
  bool damaged = false;    // ends within a field, or goes on with what is none
  bool version = false;
  bool graph = false;
  int others = 0;  // fields with a length
};

bool is_text(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r';
  });
}

// Takes note of a field of a ModelProto, by number and wire type.
void note_onnx_field(const ProtoFields::Field& field, OnnxFields& seen) {
  switch (field.number) {
    case 1:  // ir_version
    case 5:  // model_version
      seen.consistent = seen.consistent && field.wire_type == 0;
      seen.version = seen.version || field.number == 1;
      break;
    case 2:   // producer_name
    case 3:   // producer_version
    case 4:   // domain
    case 6:   // doc_string
    case 7:   // graph
    case 8:   // opset_import
    case 14:  // metadata_props
    case 20:  // training_info
    case 25:  // functions
    case 26:  // configuration
      seen.consistent = seen.consistent && field.wire_type == 2;
      seen.graph = seen.graph || field.number == 7;
      ++seen.others;
      break;
    default:  // a later version's
      break;
  }
}

OnnxFields onnx_fields(std::span<const std::byte> bytes) {
  ProtoFields fields(bytes);
  OnnxFields seen;
  while (const auto field = fields.next()) {
    note_onnx_field(*field, seen);
    const bool text = (field->number >= 2 && field->number <= 4) || field->number == 6;
    if (text && !is_text(fields.last())) seen.consistent = false;
    if (!seen.consistent) return seen;
  }
  if (fields.cut()) note_onnx_field(*fields.cut(), seen);
  seen.damaged = !fields.good();
  return seen;
}

// TensorProto: dims 1, data_type 2, elements 4 to 7 and 9 to 11, names; SequenceProto is alike.
bool looks_like_onnx_tensor(std::span<const std::byte> bytes) {
  // Per field the wire types it may have, as bits.
  constexpr std::array<unsigned, 17> kAllowed = {0,     0b101, 0b1,   0b100, 0b100100, 0b101,
                                                 0b100, 0b101, 0b100, 0b100, 0b110,    0b101,
                                                 0b100, 0b100, 0b1,   0,     0b100};
  ProtoFields fields(bytes);
  bool has_type = false;
  int count = 0;
  while (const auto field = fields.next()) {
    if (field->number >= kAllowed.size() ||
        (kAllowed[field->number] >> static_cast<unsigned>(field->wire_type) & 1U) == 0)
      return false;
    has_type = has_type || field->number == 2;
    ++count;
  }
  return fields.good() && has_type && count > 1;
}

std::string first_bytes(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes.first(std::min<size_t>(bytes.size(), 8)))
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", static_cast<unsigned>(byte));
  return text;
}

}  // namespace

bool looks_like_tflite(std::span<const std::byte> bytes) {
  return bytes.size() >= 8 && text_of(bytes.subspan(4, 4)) == "TFL3";
}

bool looks_like_onnx(std::span<const std::byte> bytes) {
  const OnnxFields seen = onnx_fields(bytes);
  // The graph alone is enough in a sound file; a damaged one has its version before the damage.
  return seen.consistent && (seen.version ? seen.others > 0 : seen.graph && !seen.damaged);
}

std::string describe_foreign_file(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "is empty; the download or the copy went wrong";
  const std::string_view text = text_of(bytes);
  for (const Magic& magic : kMagics)
    if (text.size() > magic.at && text.substr(magic.at).starts_with(magic.bytes))
      return std::string(magic.sentence);
  if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }))
    return fmt::format("holds nothing but {} zero bytes; the download or the copy went wrong",
                       bytes.size());
  if (looks_like_onnx(bytes) && !onnx_fields(bytes).graph)
    return "is an ONNX model without a graph; there is nothing to read in it: export it again";
  if (looks_like_onnx(bytes)) return "is an ONNX model that cannot be read; it may be cut short";
  if (looks_like_onnx_tensor(bytes))
    return "is a single ONNX tensor (test data, perhaps), not a model; give the .onnx that it "
           "belongs to";
  if (const std::optional<std::string> sentence = describe_text(text)) return *sentence;
  if (bytes.size() < 8)
    return fmt::format("ends after {} bytes ({}); a model has at least a header of 8", bytes.size(),
                       first_bytes(bytes));
  if (looks_like_tensorflow(bytes))
    return "is a TensorFlow SavedModel or GraphDef (.pb); convert it with the TensorFlow Lite "
           "converter";
  return fmt::format(
      "is no model format that is known (first bytes: {}); a .tflite has TFL3 at "
      "byte 4",
      first_bytes(bytes));
}

}  // namespace edgesage
