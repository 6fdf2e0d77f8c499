// What a line of a worker means (docs/worker_protocol.md), apart from the process that wrote it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "edgesage/result.h"
#include "src/base/json.h"
#include "src/devices/worker_client.h"

namespace edgesage {

// The first line. kDeviceFailed, with what is wrong as its message, for one that is no hello or of
// another major version.
[[nodiscard]] Result<WorkerHello> parse_worker_hello(std::string_view line);

// How often the worker promised to beat; 0: nothing promised. At most an hour.
[[nodiscard]] std::chrono::milliseconds promised_beat(const WorkerHello& hello);

struct WorkerMessage {
  enum class Kind : uint8_t {
    kNothing,   // a beat, or a message of a newer minor version: wait on
    kAnswer,    // the answer to the open request
    kError,     // the worker's own error answer to it
    kNonsense,  // not of the protocol
  };
  Kind kind = Kind::kNothing;
  Json body;    // of kAnswer: an object
  Error error;  // of kError; of kNonsense: what is wrong
};

// A later line, while request `id` is open.
[[nodiscard]] WorkerMessage parse_worker_line(std::string_view line, int64_t id,
                                              const WorkerHello& hello);

// Whether a line that comes while no request is open may be passed over.
[[nodiscard]] bool is_beat(std::string_view line);

}  // namespace edgesage
