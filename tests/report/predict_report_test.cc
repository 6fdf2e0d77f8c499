#include <gtest/gtest.h>

#include "src/base/csv.h"
#include "src/base/json.h"
#include "src/report/predict.h"

namespace edgesage::report {
namespace {

Prediction example() {
  Prediction prediction;
  prediction.model = "a, \"b\".tflite";
  prediction.device = "ethos-u55-256";
  prediction.runtime = "vela";
  prediction.dtype = "int8";
  prediction.latency_ms = Interval{1.5, 1.25, 1.75, 0.9};
  prediction.latency_statistic = "estimate";
  prediction.missing["peak_ram_bytes"] = "not learnt";
  prediction.operators.resize(2);
  prediction.operators[0].kind = "CONV_2D";
  prediction.operators[0].latency_ms = 1.0;
  prediction.operators[1].kind = "CUSTOM";
  prediction.overhead_ms = 0.5;
  prediction.in_range = false;
  prediction.reasons = {"one, two", "three"};
  return prediction;
}

Answers<Prediction> answers() {
  return {{"a, \"b\".tflite", "ethos-u55-256", example()},
          {"bad.tflite", "ethos-u55-256",
           tl::unexpected(Error{ErrorCode::kBadModel, "bad.tflite", "cut at byte 8"})}};
}

Json parsed(const std::string& text) {
  auto json = parse_json(text, "report", ErrorCode::kInternal);
  EXPECT_TRUE(json.has_value());
  return json.value_or(Json());
}

TEST(PredictReport, JsonHoldsNullsWithReasonsAndErrors) {
  const Json json = parsed(predict_json(answers()));
  EXPECT_EQ(json["schema_version"], 1);
  const Json& good = json["predictions"][0];
  EXPECT_EQ(good["latency_ms"]["value"], 1.5);
  EXPECT_EQ(good["latency_ms"]["statistic"], "estimate");
  EXPECT_TRUE(good["peak_ram_bytes"].is_null());
  EXPECT_EQ(good["missing"]["peak_ram_bytes"], "not learnt");
  EXPECT_TRUE(good["energy_mj"].is_null());
  EXPECT_FALSE(good["missing"]["energy_mj"].get<std::string>().empty());
  EXPECT_TRUE(good["threads"].is_null());
  EXPECT_TRUE(good["operators"][1]["latency_ms"].is_null());
  const Json& bad = json["predictions"][1];
  EXPECT_EQ(bad["error"]["code"], 3);
  EXPECT_EQ(bad["error"]["message"], "cut at byte 8");
  EXPECT_FALSE(bad.contains("latency_ms"));
}

TEST(PredictReport, ModelledEnergyNamesItsTableOfCosts) {
  Prediction energetic = example();
  energetic.energy_mj = Interval{2, 1, 3, 0.9};
  const auto energy_of = [](const Prediction& prediction) {
    return parsed(predict_json({{"m", "d", prediction}}))["predictions"][0]["energy_mj"];
  };
  EXPECT_EQ(energy_of(energetic)["source"], "learnt from labels");
  EXPECT_TRUE(energy_of(energetic)["table"].is_null());
  energetic.energy_table = "costs <1>";
  energetic.energy_table_hash = "ab";
  EXPECT_EQ(energy_of(energetic)["source"], "modelled");
  EXPECT_EQ(energy_of(energetic)["table"], "costs <1>");
  EXPECT_EQ(energy_of(energetic)["table_hash"], "ab");
  const Answers<Prediction> answers = {{"m", "d", energetic}};
  EXPECT_NE(predict_text(answers).find("modelled, costs 'costs <1>'"), std::string::npos);
  const std::string page = predict_html(answers);
  EXPECT_NE(page.find("modelled, costs 'costs &lt;1&gt;'"), std::string::npos);
}

TEST(PredictReport, CsvRowsAreAsLongAsTheHeaderWhateverTheNames) {
  const auto table = parse_csv(predict_csv(answers()), "report", ErrorCode::kInternal);
  ASSERT_TRUE(table.has_value()) << table.error().to_string();
  ASSERT_EQ(table->rows.size(), 2u);
  const auto cell = [&](size_t row, const char* name) {
    return table->rows[row][table->column(name).value()];
  };
  EXPECT_EQ(cell(0, "model"), "a, \"b\".tflite");
  EXPECT_EQ(cell(0, "latency_ms_hi"), "1.75");
  EXPECT_EQ(cell(0, "peak_ram_bytes"), "");
  EXPECT_EQ(cell(0, "reasons"), "one, two; three");
  EXPECT_EQ(cell(0, "error_code"), "");
  EXPECT_EQ(cell(1, "latency_ms"), "");
  EXPECT_EQ(cell(1, "error_code"), "3");
}

TEST(PredictReport, TextOfOneModelShowsOperatorsAndWhyItIsOutOfRange) {
  const std::string text = predict_text({{"m", "ethos-u55-256", example()}});
  EXPECT_NE(text.find("CONV_2D"), std::string::npos);
  EXPECT_NE(text.find("overhead"), std::string::npos);
  EXPECT_NE(text.find("one, two"), std::string::npos);
  EXPECT_NE(text.find("not known: not learnt"), std::string::npos);
}

TEST(PredictReport, TextOfSeveralIsATableWithErrors) {
  const std::string text = predict_text(answers());
  EXPECT_NE(text.find("error 3"), std::string::npos);
  EXPECT_EQ(text.find("CONV_2D"), std::string::npos);
}

TEST(PredictReport, ExitCodeIsTheHighest) {
  EXPECT_EQ(exit_code(answers()), 3);
  EXPECT_EQ(exit_code(Answers<Prediction>{}), 0);
}

}  // namespace
}  // namespace edgesage::report
