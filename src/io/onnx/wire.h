// The protobuf wire format, as far as a reader of known messages needs it: one Message is a walk
// over the fields of a message, the Wire is what all messages of a file share. The first fault
// stops every walk; it is kept with its byte offset and the path of fields that led to it.
//
//   Message model(wire, text, nullptr);
//   while (model.next()) switch (model.field()) { case 1: version = model.integer("ir_version"); }
//
// Fields may come in any order and repeat; a repeated number may be packed or not. Lengths are 64
// bit. Views point into the file, or (short ones of a large one, see heads.h) into copies. Groups
// (wire types 3 and 4), which ONNX never had, are a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/io/onnx/heads.h"

namespace edgesage::onnx {

class Message;

struct WireFault {
  size_t offset = 0;
  std::string path;  // "graph.node[3].attribute[0].t"; may be empty
  std::string message;
};

class Wire {
 public:
  // With an open file, `text` is its mapping.
  explicit Wire(std::string_view text, const OpenFile* file = nullptr) : heads_(text, file) {}
  [[nodiscard]] Heads& heads() { return heads_; }
  [[nodiscard]] bool good() const { return !fault_; }
  [[nodiscard]] const WireFault& fault() const { return *fault_; }
  // Keeps the first fault; `at` points into the file or a copy.
  void fail(const char* at, const Message* where, std::string message);

  // Graphs wait in a work list and have no message around them any more: where each was found.
  struct Origin {
    int32_t parent = -1;     // another origin
    const char* field = "";  // "graph"
    int64_t index = -1;      // in a repeated field
    int64_t attribute = -1;  // of `parent`: node `index`, attribute `attribute`
  };
  int32_t add_origin(Origin origin);

 private:
  [[nodiscard]] std::string path_of(const Message* where) const;

  Heads heads_;
  std::optional<WireFault> fault_;
  std::vector<Origin> origins_;
};

class Message {
 public:
  Message(Wire& wire, std::string_view bytes, const Message* parent, int32_t origin = -1)
      : wire_(&wire),
        at_(bytes.data()),
        begin_(bytes.data()),
        end_(bytes.data() + bytes.size()),
        parent_(parent),
        origin_(origin),
        far_(wire.heads().is_far(bytes)) {}

  // To the next field; what was not taken of the field before is skipped. False at the end and
  // after any fault.
  [[nodiscard]] bool next();
  [[nodiscard]] uint32_t field() const { return field_; }

  // The value of the current field, its name and (in a repeated one) its index for messages of
  // faults. After a fault: 0 or empty.
  int64_t integer(const char* name);
  float float32(const char* name);
  std::string_view bytes(const char* name, int64_t index = -1);
  Message message(const char* name, int64_t index = -1);
  // Text found further inside, taken for a message of this one.
  [[nodiscard]] Message nested(std::string_view content) const { return {*wire_, content, this}; }
  // Appends one number, or all of a packed field.
  void integers(const char* name, std::vector<int64_t>& to);
  void floats(const char* name, std::vector<double>& to);
  // Repeated numbers as they are encoded: the payload of a packed field, or one number's bytes.
  // Fixed-size numbers are `fixed_size` bytes each, 0 says varints.
  std::string_view encoded(const char* name, size_t fixed_size);

  // A fault of the current field, or (`whole`) of this message.
  void fail(std::string message);
  void fail_whole(std::string message);
  [[nodiscard]] bool good() const { return wire_->good(); }

 private:
  friend class Wire;
  enum class Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  void name_field(const char* name, int64_t index);
  bool expect(Type type);
  uint64_t varint();
  std::string_view near(std::string_view text);
  std::string_view take(uint64_t size);
  void skip();

  Wire* wire_;
  const char* at_;
  const char* begin_;
  const char* end_;
  const Message* parent_;
  int32_t origin_;
  const char* name_ = nullptr;  // of the current field
  int64_t index_ = -1;
  const char* tag_at_ = nullptr;
  uint32_t field_ = 0;
  Type type_ = Type::kVarint;
  bool pending_ = false;  // the current field's value was not taken
  bool far_ = false;      // of a mapping that is not to be touched
};

// The varints of `encoded`, which must be whole; false where they are not.
[[nodiscard]] bool decode_varints(std::string_view encoded, std::vector<int64_t>& to);

}  // namespace edgesage::onnx
