// A measure or run request in, the body of its answer out.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "workers/litert/litert_session.h"

namespace worker {

using Json = nlohmann::ordered_json;

// Throws Refused; what the runtime wrote to standard error while it prepared the model is part of
// the message.
Json answer_measure(const Runtime& runtime, const Json& request, const std::string& runtime_version,
                    const std::function<void()>& beat);

// What the model computes of the inputs in a file; its outputs go to another.
Json answer_run(const Runtime& runtime, const Json& request, const std::function<void()>& beat);

}  // namespace worker
