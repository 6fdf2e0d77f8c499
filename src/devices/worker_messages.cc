#include "src/devices/worker_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace edgesage {
namespace {

using std::chrono::milliseconds;

std::optional<std::pair<int, int>> version_of(std::string_view text) {
  int major = 0, minor = 0;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return std::pair(major, minor);
}

std::vector<std::string> strings_at(const Json& object, const char* key) {
  std::vector<std::string> list;
  if (object.contains(key) && object[key].is_array())
    for (const Json& value : object[key])
      if (value.is_string()) list.push_back(value.get<std::string>());
  return list;
}

ErrorCode code_of(std::string_view code) {
  if (code == "bad_model") return ErrorCode::kBadModel;
  if (code == "bad_options") return ErrorCode::kInvalidArgument;
  return ErrorCode::kDeviceFailed;
}

std::string excerpt(std::string_view line) {
  constexpr size_t kLength = 80;
  std::string text = to_text(Json(std::string(line.substr(0, kLength))));
  return line.size() > kLength ? text + "..." : text;
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

tl::unexpected<Error> refuse(std::string message) {
  return make_error(ErrorCode::kDeviceFailed, {}, std::move(message));
}
tl::unexpected<Error> nonsense(std::string_view what) {
  return refuse(fmt::format("the worker talks nonsense: {}", what));
}

Result<WorkerMessage> understand(std::string_view line, int64_t id, const WorkerHello& hello) {
  const Result<Json> message = parse_json(line, {}, ErrorCode::kDeviceFailed);
  if (!message) return nonsense(fmt::format("{} is not JSON", excerpt(line)));
  if (!message->is_object()) return nonsense(fmt::format("{} is not an object", excerpt(line)));
  WorkerMessage out;
  if (message->contains("beat")) return out;
  const bool answer = message->contains("answer"), error = message->contains("error");
  if (!answer && !error) {
    if (hello.protocol_minor > kWorkerProtocolMinor) return out;
    return nonsense(fmt::format("no known message in {}", excerpt(line)));
  }
  if (json_int(*message, "id", -1) != id)
    return nonsense(fmt::format("an answer to a request that is not open: {}", excerpt(line)));
  if (answer) {
    if (!(*message)["answer"].is_object())
      return nonsense(fmt::format("an answer without a body: {}", excerpt(line)));
    out.kind = WorkerMessage::Kind::kAnswer;
    out.body = (*message)["answer"];
    return out;
  }
  const Json& body = (*message)["error"];
  const std::string reason = json_string(body, "message");
  if (reason.empty()) return nonsense(fmt::format("an error without a message: {}", excerpt(line)));
  out.kind = WorkerMessage::Kind::kError;
  out.error = {code_of(json_string(body, "code")), hello.worker, one_line(reason)};
  return out;
}

}  // namespace

Result<WorkerHello> parse_worker_hello(std::string_view line) {
  const Result<Json> message = parse_json(line, {}, ErrorCode::kDeviceFailed);
  if (!message) return nonsense(fmt::format("its first line is {}", excerpt(line)));
  if (!message->is_object() || !message->contains("hello") || !(*message)["hello"].is_object())
    return nonsense("its first line is not a hello");
  const Json& body = (*message)["hello"];
  const std::string protocol = json_string(body, "protocol");
  const auto version = version_of(protocol);
  if (!version)
    return nonsense(fmt::format("protocol {} in its hello is not major.minor", excerpt(protocol)));
  if (version->first != kWorkerProtocolMajor)
    return refuse(fmt::format(
        "the worker speaks protocol {}; this program understands {}.x: use matching versions "
        "of both",
        protocol, kWorkerProtocolMajor));
  WorkerHello hello;
  hello.protocol_major = version->first;
  hello.protocol_minor = version->second;
  hello.worker = one_line(json_string(body, "worker"));
  hello.runtime = json_string(body, "runtime");
  hello.runtime_version = json_string(body, "runtime_version");
  hello.host_fingerprint = json_string(body, "host_fingerprint");
  hello.devices = strings_at(body, "devices");
  hello.quantities = strings_at(body, "quantities");
  hello.raw = body;
  if (hello.runtime.empty()) return nonsense("its hello names no runtime");
  return hello;
}

milliseconds promised_beat(const WorkerHello& hello) {
  return milliseconds(std::clamp<int64_t>(json_int(hello.raw, "beat_ms", 0), 0, 3'600'000));
}

WorkerMessage parse_worker_line(std::string_view line, int64_t id, const WorkerHello& hello) {
  Result<WorkerMessage> message = understand(line, id, hello);
  if (message) return *std::move(message);
  WorkerMessage out;
  out.kind = WorkerMessage::Kind::kNonsense;
  out.error = std::move(message).error();
  return out;
}

bool is_beat(std::string_view line) {
  const Result<Json> message = parse_json(line, {}, ErrorCode::kDeviceFailed);
  return message && message->is_object() && message->contains("beat");
}

}  // namespace edgesage
