#include "src/io/options_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "src/graph/op_registry.h"
#include "tflite_generated.h"

namespace edgesage {
namespace {

namespace fb = flatbuffers;

std::vector<OptionsTable> all_tables() {
  std::vector<OptionsTable> tables;
  for (int id = 1; id <= static_cast<int>(tflite::BuiltinOptions::MAX); ++id)
    tables.push_back({1, static_cast<uint8_t>(id)});
  for (int id = 1; id <= static_cast<int>(tflite::BuiltinOptions2::MAX); ++id)
    tables.push_back({2, static_cast<uint8_t>(id)});
  return tables;
}

// A finished table at the end of `builder`'s bytes.
const fb::Table& table_at(const fb::FlatBufferBuilder& builder, fb::Offset<void> offset) {
  return *reinterpret_cast<const fb::Table*>(builder.GetCurrentBufferPointer() +
                                             (builder.GetSize() - offset.o));
}

std::vector<Attribute> through_a_file(OptionsTable table,
                                      const std::vector<Attribute>& attributes) {
  fb::FlatBufferBuilder builder;
  const auto written = write_options(table, attributes, builder);
  EXPECT_TRUE(written) << (written ? "" : written.error().to_string());
  std::vector<Attribute> back;
  if (written) read_options(table, table_at(builder, *written), back);
  return back;
}

Attribute::Value odd_value(const OptionField& field) {
  const bool flag = field.stored == fb::ET_BOOL;
  switch (field.type) {
    case OptionField::Type::kInt:
      return flag ? 1 - field.default_int : int64_t{3};
    case OptionField::Type::kFloat:
      return 0.125;
    case OptionField::Type::kString:
      return std::string("caf\xc3\xa9");
    case OptionField::Type::kInts:
      return flag ? std::vector<int64_t>{1, 0, 1} : std::vector<int64_t>{5, 0, 7};
    case OptionField::Type::kFloats:
      return std::vector<double>{-0.5, 2.0};
  }
  return int64_t{0};
}

TEST(OptionsCodec, EveryFieldOfEveryTableSurvives) {
  size_t fields = 0;
  for (const OptionsTable table : all_tables()) {
    SCOPED_TRACE(options_table_name(table));
    std::vector<Attribute> attributes;
    for (const OptionField& field : option_fields(table))
      attributes.push_back({std::string(field.name), odd_value(field)});
    fields += attributes.size();
    EXPECT_EQ(through_a_file(table, attributes), attributes);
  }
  EXPECT_EQ(all_tables().size(), 149U);
  EXPECT_EQ(fields, 224U);
}

TEST(OptionsCodec, DefaultsAreLeftOut) {
  for (const OptionsTable table : all_tables()) {
    std::vector<Attribute> attributes;
    for (const OptionField& field : option_fields(table)) {
      if (field.type == OptionField::Type::kInt)
        attributes.push_back({std::string(field.name), field.default_int});
      if (field.type == OptionField::Type::kFloat)
        attributes.push_back({std::string(field.name), 0.0});
    }
    EXPECT_TRUE(through_a_file(table, attributes).empty()) << options_table_name(table);
  }
}

// As LiteRT's own schema bindings have them (ai-edge-litert 2.3).
TEST(OptionsCodec, ElevenDefaultsAreNotZero) {
  const std::set<std::string> ones = {
      "Conv2DOptions.dilation_w_factor",
      "Conv2DOptions.dilation_h_factor",
      "DepthwiseConv2DOptions.dilation_w_factor",
      "DepthwiseConv2DOptions.dilation_h_factor",
      "Conv3DOptions.dilation_d_factor",
      "Conv3DOptions.dilation_w_factor",
      "Conv3DOptions.dilation_h_factor",
      "AddOptions.pot_scale_int16",
      "SubOptions.pot_scale_int16",
      "BidirectionalSequenceLSTMOptions.time_major",
  };
  for (const OptionsTable table : all_tables()) {
    for (const OptionField& field : option_fields(table)) {
      const std::string name =
          std::string(options_table_name(table)) + "." + std::string(field.name);
      const int64_t expected = name == "UniqueOptions.idx_out_type" ? 2 : ones.count(name) != 0;
      EXPECT_EQ(field.default_int, expected) << name;
    }
  }
}

TEST(OptionsCodec, AbsentAndEmptyVectorsAreToldApart) {
  const OptionsTable table = options_table_of(OpKind::kReshape);
  const std::vector<Attribute> empty = {{"new_shape", std::vector<int64_t>{}}};
  EXPECT_EQ(through_a_file(table, empty), empty);
  EXPECT_TRUE(through_a_file(table, {}).empty());
}

TEST(OptionsCodec, ExtremeValuesSurvive) {
  using Limits = std::numeric_limits<int64_t>;
  const std::vector<Attribute> seeds = {{"seed", Limits::min()}, {"seed2", Limits::max()}};
  EXPECT_EQ(through_a_file(options_table_of(OpKind::kRandomUniform), seeds), seeds);
  const OptionsTable softmax = options_table_of(OpKind::kSoftmax);
  const auto minus_zero = through_a_file(softmax, {{"beta", -0.0}});
  ASSERT_EQ(minus_zero.size(), 1U);
  EXPECT_TRUE(std::signbit(std::get<double>(minus_zero[0].value)));
  const std::vector<Attribute> infinite = {{"beta", std::numeric_limits<double>::infinity()}};
  EXPECT_EQ(through_a_file(softmax, infinite), infinite);
}

TEST(OptionsCodec, WholeNumbersStandForReals) {
  const std::vector<Attribute> one = {{"beta", 1.0}};
  EXPECT_EQ(through_a_file(options_table_of(OpKind::kSoftmax), {{"beta", int64_t{1}}}), one);
}

TEST(OptionsCodec, ValuesBeyondTheFieldAreRefused) {
  fb::FlatBufferBuilder builder;
  const OptionsTable conv = options_table_of(OpKind::kConv2D);
  for (const int64_t stride : {int64_t{1} << 31, -(int64_t{1} << 31) - 1})
    EXPECT_FALSE(write_options(conv, std::vector<Attribute>{{"stride_w", stride}}, builder));
  const std::vector<Attribute> half_true = {{"keep_dims", int64_t{2}}};
  EXPECT_FALSE(write_options(options_table_of(OpKind::kMean), half_true, builder));
}

TEST(OptionsCodec, NumbersBeyondTheSchemaAreUnknown) {
  EXPECT_FALSE(is_known({1, static_cast<uint8_t>(tflite::BuiltinOptions::MAX) + 1}));
  EXPECT_FALSE(is_known({2, static_cast<uint8_t>(tflite::BuiltinOptions2::MAX) + 1}));
  EXPECT_FALSE(is_known({3, 1}));
  EXPECT_FALSE(is_known({1, 0}));
  EXPECT_EQ(options_table_of(OpKind::kUnknown), OptionsTable{});
  EXPECT_EQ(options_table_of(OpKind::kRelu), OptionsTable{});
}

TEST(OptionsCodec, EveryTableBelongsToAKind) {
  std::set<std::string_view> used;
  for (const OpInfo& info : op_table())
    used.insert(options_table_name(options_table_of(info.kind)));
  for (const OptionsTable table : all_tables())
    EXPECT_TRUE(used.count(options_table_name(table))) << options_table_name(table);
}

}  // namespace
}  // namespace edgesage
