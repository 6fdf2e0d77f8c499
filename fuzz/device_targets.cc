#include <array>
#include <string>

#include "fuzz/targets.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/devices/device.h"
#include "src/devices/measure.h"
#include "src/devices/output_parser.h"
#include "src/devices/worker_messages.h"
#include "src/lower/target.h"
#include "tests/support/test_paths.h"

namespace edgesage::fuzz {

void device_toml(Bytes bytes) {
  static const test::TempDir folder;
  const std::filesystem::path path = folder.path() / "device.toml";
  if (!write_file(path, bytes)) return;
  const std::array places = {path};
  const std::vector<std::string> targets = target_names();
  const auto catalog = DeviceCatalog::load(places, targets);
  if (!catalog) return check_error(catalog.error(), {ErrorCode::kInvalidArgument});
  for (const DeviceDescription& device : catalog->devices()) {
    const auto found = catalog->find(device.name);
    must_hold(found.has_value(), "a described device is found by its name");
    (void)catalog->find(device.name + "+threads=2");
    (void)worker_command(device, {.source_dir = "/source", .worker_dir = "/workers", .python = {}});
    (void)check_device(device, {.source_dir = "/source", .worker_dir = "/workers", .python = {}});
  }
}

void worker(Bytes bytes) {
  const std::vector<std::string> lines = split(text_of(bytes), '\n');
  const auto hello = parse_worker_hello(lines.front());
  if (!hello) return check_error(hello.error(), {ErrorCode::kDeviceFailed});
  must_hold(promised_beat(*hello).count() >= 0, "a beat is not negative");
  for (size_t i = 1; i < lines.size(); ++i) {
    (void)is_beat(lines[i]);
    const WorkerMessage message = parse_worker_line(lines[i], 1, *hello);
    switch (message.kind) {
      case WorkerMessage::Kind::kNothing:
        break;
      case WorkerMessage::Kind::kAnswer: {
        const auto measurement = measurement_from_json(message.body);
        if (!measurement) check_error(measurement.error(), {ErrorCode::kBadStore});
        break;
      }
      case WorkerMessage::Kind::kError:
      case WorkerMessage::Kind::kNonsense:
        check_error(message.error,
                    {ErrorCode::kDeviceFailed, ErrorCode::kBadModel, ErrorCode::kInvalidArgument});
        break;
    }
  }
}

void device_output(Bytes bytes) {
  using Kind = OutputParser::Kind;
  const OutputParser parsers[] = {
      {.kind = Kind::kBenchmarkModel, .from_file = false, .pattern = {}, .pointer = {}, .unit = {}},
      {.kind = Kind::kRegex,
       .from_file = false,
       .pattern = R"(time: *(?<time>[0-9.e+-]+) *(?<unit>[a-z]+))",
       .pointer = {},
       .unit = {}},
      {.kind = Kind::kJson,
       .from_file = false,
       .pattern = {},
       .pointer = "/runs/0/ms",
       .unit = "us"},
      {.kind = Kind::kJson, .from_file = false, .pattern = {}, .pointer = "", .unit = "s"}};
  for (const OutputParser& parser : parsers) {
    const auto output = parse_output(parser, text_of(bytes));
    if (!output) {
      check_error(output.error(), {ErrorCode::kDeviceFailed});
      continue;
    }
    for (const double ms : output->samples_ms) must_hold(ms > 0, "times are above zero");
    if (output->benchmark) must_hold(output->benchmark->mean_ms > 0, "times are above zero");
  }
}

}  // namespace edgesage::fuzz
