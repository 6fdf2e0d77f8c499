// Predictions as text, JSON, CSV, Markdown, and in the formats of viewers.
#pragma once

#include <string>

#include "edgesage/answer.h"
#include "edgesage/predict.h"

namespace edgesage::report {

// One answer is shown with its operators; several are a table.
[[nodiscard]] std::string predict_text(const Answers<Prediction>& answers);
[[nodiscard]] std::string predict_json(const Answers<Prediction>& answers);
// One row an answer; what is not known is an empty cell.
[[nodiscard]] std::string predict_csv(const Answers<Prediction>& answers);
[[nodiscard]] std::string predict_markdown(const Answers<Prediction>& answers);

// The following need predictions with their inspections.

// A page that asks nothing of any other: figures with intervals, the graph coloured by cost, the
// operators, the arena over time. One section an answer. ASCII.
[[nodiscard]] std::string predict_html(const Answers<Prediction>& answers);

// The predicted run as a Chrome trace, for Perfetto and chrome://tracing: a process a model and
// device, a thread a placement, operators one after the other, and counters of the memory in use
// and, where energy is known, of power.
[[nodiscard]] std::string predict_trace(const Answers<Prediction>& answers);

// Node data of Model Explorer, which colours a graph's nodes by it: milliseconds by the name of
// what an operator makes. Of the first answer that has figures; empty results where none has.
[[nodiscard]] std::string predict_model_explorer(const Answers<Prediction>& answers);

}  // namespace edgesage::report
