#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/report/inspect.h"

// The page as users get it is checked by tests/cli/arena_test.py.
namespace edgesage {
namespace {

// A chain of operators, each with a result and a buffer.
Inspection chain(int32_t operators) {
  Inspection model;
  model.model = "chain.tflite";
  model.format = "tflite";
  model.dtype = "int8";
  model.subgraphs.emplace_back().operators = operators;
  ArenaPlan& plan = model.memory.litert_arena;
  plan.runtime = "LiteRT";
  plan.size.total_bytes = plan.arena_bytes = 300'000;
  plan.peak_operator = operators / 2;
  plan.peak_live_bytes = 260'000;
  for (int32_t i = 0; i < operators; ++i) {
    InspectedOperator& op = model.operators.emplace_back();
    op.index = i;
    op.kind = "DEPTHWISE_CONV_2D";
    op.macs = 12'345'678;
    op.weights_bytes = 123'456;
    op.live_bytes = 200'000;
    InspectedTensor tensor;
    tensor.index = i;
    tensor.name = fmt::format("a/name/as/long/as/converters/make/them/{}", i);
    tensor.type = "int8";
    tensor.shape = {1, 48, 48, 64};
    op.inputs = op.outputs = {tensor};
    ArenaEntry entry;
    entry.tensor = i;
    entry.name = tensor.name;
    entry.role = "activation";
    entry.memory = "arena";
    entry.type = tensor.type;
    entry.shape = tensor.shape;
    entry.bytes = 147'456;
    entry.offset = 147'456 * (i % 2);
    entry.first = i;
    entry.last = std::min(i + 1, operators - 1);
    plan.entries.push_back(entry);
    ArenaEntry scratch;
    scratch.op = scratch.first = scratch.last = i;
    scratch.name = "im2col";
    scratch.role = "scratch";
    scratch.memory = "arena";
    scratch.bytes = 1000;
    scratch.offset = 294'912;
    plan.entries.push_back(scratch);
  }
  return model;
}

std::string page(Inspection model) {
  Answers<Inspection> answers;
  answers.push_back({"chain.tflite", "", std::move(model)});
  return report::inspect_html(answers);
}

TEST(InspectPage, FiveThousandOperatorsStayUnderTwoMegabytes) {
  const std::string text = page(chain(5000));
  EXPECT_LT(text.size(), 2'000'000U);
  EXPECT_NE(text.find("4999</td>"), std::string::npos) << "all operators are there";
}

TEST(InspectPage, NamesCannotBreakOut) {
  Inspection model = chain(3);
  model.memory.litert_arena.entries[0].name = "</title><script>\"&\x01\xff";
  model.operators[0].kind = "<b>";
  const std::string text = page(std::move(model));
  EXPECT_EQ(text.find("<b>DEPTH"), std::string::npos);
  EXPECT_NE(text.find("&lt;/title&gt;&lt;script&gt;&quot;&amp;"), std::string::npos);
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c < 127); }));
}

TEST(InspectPage, WithoutAPlanItSaysWhy) {
  Inspection model = chain(2);
  model.memory.litert_arena = {};
  model.memory.litert_arena.runtime = "LiteRT";
  model.memory.litert_arena.size.reason = "LiteRT does not run ncnn files";
  EXPECT_NE(page(std::move(model)).find("No plan: LiteRT does not run ncnn files."),
            std::string::npos);
}

}  // namespace
}  // namespace edgesage
