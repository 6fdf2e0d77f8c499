// A document written list by list has the bytes of the document written at once.
#include "src/report/json_lists.h"

#include <gtest/gtest.h>

#include <string>

namespace edgesage::report {
namespace {

// Names in models may be anything, the text of a place among them.
constexpr const char* kNasty = "\": <discarded>\n\"operators\": <discarded>\\";

Json entry(size_t i) {
  Json out = {{"index", i}, {"name", kNasty}, {"shape", {1, i}}, {"empty", Json::array()}};
  if (i % 2 == 1) out["inside"] = {{"deep", {{{"a", nullptr}}}}};
  return out;
}

Json all_entries(size_t size) {
  Json out = Json::array();
  for (size_t i = 0; i < size; ++i) out.push_back(entry(i));
  return out;
}

// One model, or several a level further in, each with two lists.
Json model(const Json& operators, const Json& rows) {
  Json out = Json::object();
  out["name"] = kNasty;
  out[kNasty] = "x\\";
  out["operators"] = operators;
  out["target"]["rows"] = rows;
  out["target"]["warnings"] = {kNasty};
  return out;
}

TEST(JsonLists, AreWrittenAsTheWholeDocumentWouldBe) {
  for (const size_t size : {0, 1, 2, 17}) {
    LongLists lists;
    const Json first = lists.add(size, entry), second = lists.add(3, entry);
    const Json one = model(first, second);
    EXPECT_EQ(lists.to_text(one), to_text(model(all_entries(size), all_entries(3)), 2));

    LongLists several;
    Json models, whole;
    models["models"] = Json::array();
    for (const size_t count : {size, size_t{0}, size_t{5}}) {
      const Json operators = several.add(count, entry), rows = several.add(size, entry);
      models["models"].push_back(model(operators, rows));
      whole["models"].push_back(model(all_entries(count), all_entries(size)));
    }
    EXPECT_EQ(several.to_text(models), to_text(whole, 2));
  }
}

TEST(JsonLists, ADocumentWithoutOneIsItself) {
  EXPECT_EQ(LongLists().to_text(entry(1)), to_text(entry(1), 2));
}

}  // namespace
}  // namespace edgesage::report
