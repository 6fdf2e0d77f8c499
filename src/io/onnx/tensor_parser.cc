#include "src/io/onnx/tensor_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

namespace edgesage::onnx {
namespace {

constexpr size_t kMaxRank = 65'536;

// Where a type's elements stand when they are not raw.
enum Numbers : size_t { kFloatData, kInt32Data, kInt64Data, kDoubleData, kUint64Data };

struct Encoding {
  Numbers field;
  size_t fixed_size;  // of a number in the file; 0: varints
  size_t width;       // of a number as it is kept
};

Encoding encoding_of(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
    case ElementType::kComplex64:
      return {kFloatData, 4, 4};
    case ElementType::kDouble:
    case ElementType::kComplex128:
      return {kDoubleData, 8, 8};
    case ElementType::kInt64:
      return {kInt64Data, 0, 8};
    case ElementType::kUint32:
      return {kUint64Data, 0, 4};
    case ElementType::kUint64:
      return {kUint64Data, 0, 8};
    default:
      // Elements of 2 and 4 bits: a number holds those of a byte.
      return {kInt32Data, 0, static_cast<size_t>(std::max(element_bits(type), 8)) / 8};
  }
}

std::string shown(const Constant& constant) {
  std::string dims;
  for (const int64_t dim : constant.dims) {
    if (dims.size() > 60) {
      dims += "x...";
      break;
    }
    dims += fmt::format("{}{}", dims.empty() ? "" : "x", dim);
  }
  return fmt::format("tensor '{}' ({} {})", constant.name, element_name(constant.element),
                     dims.empty() ? "scalar" : dims);
}

std::optional<int64_t> count_of(std::span<const int64_t> dims) {
  return tensor_bytes(ElementType::kUint8, dims);
}

std::optional<int64_t> decimal(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// int32_data has one value a number where raw_data has four in three bytes, first bits first.
void pack_six_bits(std::vector<std::byte>& values) {
  std::vector<std::byte> packed((values.size() * 6 + 7) / 8);
  for (size_t i = 0; i < values.size(); ++i) {
    const unsigned bits = (std::to_integer<unsigned>(values[i]) & 0x3fU) << (i * 6 % 8);
    packed[i * 6 / 8] |= static_cast<std::byte>(bits & 0xffU);
    if (bits > 0xff) packed[i * 6 / 8 + 1] |= static_cast<std::byte>(bits >> 8U);
  }
  values = std::move(packed);
}

std::pair<std::string_view, std::string_view> read_entry(Message message) {
  std::pair<std::string_view, std::string_view> entry;
  while (message.next()) {
    if (message.field() == 1) entry.first = message.bytes("key");
    if (message.field() == 2) entry.second = message.bytes("value");
  }
  return entry;
}

void check_dims(const Constant& constant, Message& place) {
  if (constant.dims.size() > kMaxRank)
    return place.fail(fmt::format("tensor '{}' has {} dimensions; at most {} are read",
                                  constant.name, constant.dims.size(), kMaxRank));
  if (std::ranges::any_of(constant.dims, [](int64_t dim) { return dim < 0; }))
    return place.fail(fmt::format("{} has a negative dimension", shown(constant)));
  if (!count_of(constant.dims) ||
      (element_bits(constant.element) != 0 && !tensor_bytes(constant.element, constant.dims)))
    place.fail(fmt::format("{} has more bytes than 63 bits count", shown(constant)));
}

}  // namespace

void TensorParser::read(Message message, TensorFields& fields) {
  Constant& constant = fields.constant;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        message.integers("dims", constant.dims);
        break;
      case 2:
        constant.element = static_cast<ElementType>(message.integer("data_type"));
        break;
      case 3:
        message.bytes("segment");
        fields.is_segment = true;
        break;
      case 4:
        fields.numbers[kFloatData].push_back(message.encoded("float_data", 4));
        break;
      case 5:
        fields.numbers[kInt32Data].push_back(message.encoded("int32_data", 0));
        break;
      case 6:
        constant.strings.push_back(
            message.bytes("string_data", static_cast<int64_t>(constant.strings.size())));
        break;
      case 7:
        fields.numbers[kInt64Data].push_back(message.encoded("int64_data", 0));
        break;
      case 8:
        constant.name = message.bytes("name");
        break;
      case 9:
        fields.raw = message.bytes("raw_data");
        break;
      case 10:
        fields.numbers[kDoubleData].push_back(message.encoded("double_data", 8));
        break;
      case 11:
        fields.numbers[kUint64Data].push_back(message.encoded("uint64_data", 0));
        break;
      case 13:
        fields.external.push_back(read_entry(
            message.message("external_data", static_cast<int64_t>(fields.external.size()))));
        break;
      case 14:
        fields.is_external = message.integer("data_location") == 1;
        break;
      default:
        break;
    }
  }
}

Constant TensorParser::finish(TensorFields fields, Message& place) {
  Constant constant = std::move(fields.constant);
  check_dims(constant, place);
  if (!place.good()) return constant;
  if (fields.is_segment) {
    oddities_->note("{} tensors are in segments, whose values are not read", constant.name);
    constant.data_missing = true;
    return constant;
  }
  const bool known = element_bits(constant.element) != 0;
  if (!known && constant.element != ElementType::kString)
    oddities_->note(
        "{} tensors have an element type that is not known",
        fmt::format("{}, type {}", constant.name, static_cast<int32_t>(constant.element)));
  if (fields.is_external) {
    attach_external(fields, constant, place);
  } else if (fields.raw) {
    constant.data = std::as_bytes(std::span(*fields.raw));
  } else if (known) {
    convert(fields, constant, place);
  }
  if (!place.good() || constant.data_missing) return constant;
  if (constant.element == ElementType::kString) {
    if (static_cast<int64_t>(constant.strings.size()) != *count_of(constant.dims))
      place.fail(fmt::format("{} has {} elements where its dimensions say {}", shown(constant),
                             constant.strings.size(), *count_of(constant.dims)));
  } else if (known) {
    const int64_t wanted = *tensor_bytes(constant.element, constant.dims);
    if (static_cast<int64_t>(constant.data.size()) != wanted)
      place.fail(fmt::format("{} has {} bytes where its dimensions say {}", shown(constant),
                             constant.data.size(), wanted));
  }
  return constant;
}

void TensorParser::attach_external(const TensorFields& fields, Constant& constant, Message& place) {
  std::string_view location;
  std::optional<int64_t> offset = 0;
  std::optional<int64_t> length;
  bool has_length = false;
  for (const auto& [key, value] : fields.external) {
    if (key == "location") location = value;
    if (key == "offset") offset = decimal(value);
    if (key == "length") {
      length = decimal(value);
      has_length = true;
    }
  }
  if (!offset || (has_length && !length))
    return place.fail(
        fmt::format("{}: the offset and length of external data must be decimal "
                    "numbers that are not negative",
                    shown(constant)));
  const std::optional<int64_t> wanted = tensor_bytes(constant.element, constant.dims);
  if (wanted && length && *length != *wanted)
    return place.fail(fmt::format("{} has {} bytes of external data where its dimensions say {}",
                                  shown(constant), *length, *wanted));
  const Result<ExternalFile> file = external_->open(location);
  if (!file) return place.fail(fmt::format("{}: {}", shown(constant), file.error().message));
  const std::optional<int64_t> size = length ? length : wanted;
  constant.data_missing = file->missing || !size || constant.element == ElementType::kString;
  if (constant.data_missing) return;
  const auto available = static_cast<int64_t>(file->bytes.size());
  if (*offset > available || *size > available - *offset)
    return place.fail(fmt::format(
        "{} needs bytes {} to {} of '{}', which has {}; the file is cut "
        "off or belongs to another model",
        shown(constant), *offset, static_cast<uint64_t>(*offset) + static_cast<uint64_t>(*size),
        location, available));
  constant.data = file->bytes.subspan(static_cast<size_t>(*offset), static_cast<size_t>(*size));
  constant.storage = file->storage;
}

// Fixed-size numbers in one piece are raw data already; all others are copied.
void TensorParser::convert(const TensorFields& fields, Constant& constant, Message& place) {
  const Encoding encoding = encoding_of(constant.element);
  const std::vector<std::string_view>& pieces = fields.numbers[encoding.field];
  if (pieces.empty()) return;
  if (encoding.fixed_size != 0 && pieces.size() == 1) {
    constant.data = std::as_bytes(std::span(pieces.front()));
    return;
  }
  auto bytes = std::make_shared<std::vector<std::byte>>();
  std::vector<int64_t> numbers;
  for (const std::string_view piece : pieces) {
    if (encoding.fixed_size != 0) {
      const auto raw = std::as_bytes(std::span(piece));
      bytes->insert(bytes->end(), raw.begin(), raw.end());
      continue;
    }
    numbers.clear();
    if (!decode_varints(piece, numbers))
      return place.fail(fmt::format("{} has a number that is cut off", shown(constant)));
    const size_t at = bytes->size();
    bytes->resize(at + numbers.size() * encoding.width);
    for (size_t i = 0; i < numbers.size(); ++i)
      std::memcpy(bytes->data() + at + i * encoding.width, &numbers[i], encoding.width);
  }
  if (element_bits(constant.element) == 6) pack_six_bits(*bytes);
  constant.data = *bytes;
  constant.storage = std::move(bytes);
}

Constant TensorParser::read_sparse(Message message) {
  TensorFields values;
  std::vector<int64_t> dims;
  bool has_values = false;
  while (message.next()) {
    if (message.field() == 1) {
      read(message.message("values"), values);
      has_values = true;
    } else if (message.field() == 2) {
      TensorFields indices;
      read(message.message("indices"), indices);
      finish(std::move(indices), message);
    } else if (message.field() == 3) {
      message.integers("dims", dims);
    }
  }
  Constant constant;
  if (!message.good()) return constant;
  constant = finish(std::move(values), message);
  if (!has_values && message.good()) message.fail_whole("a sparse tensor without values");
  constant.data = {};
  constant.storage = nullptr;
  constant.strings.clear();
  constant.data_missing = false;
  constant.is_sparse = true;
  constant.dims = std::move(dims);
  check_dims(constant, message);
  return constant;
}

}  // namespace edgesage::onnx
