// A line of an accuracy table, as callers get it.
#pragma once

#include "edgesage/evaluate.h"
#include "src/learn/evaluate.h"

namespace edgesage::app {

// Shares become per cent; what does not apply is absent.
[[nodiscard]] AccuracyRow to_public(const EvaluationRow& from);

}  // namespace edgesage::app
