#include <charconv>

#include "src/app/annotate.h"
#include "src/report/annotate.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"
#include "tools/edgesage/worker_flags.h"

namespace edgesage::cli {
namespace {

// "0/4": the first of four.
bool parse_shard(const std::string& text, int& shard, int& shards) {
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, shard);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '/') return false;
  const auto second = std::from_chars(first.ptr + 1, end, shards);
  return second.ec == std::errc() && second.ptr == end && shard >= 0 && shard < shards;
}

std::string check_shard(const std::string& text) {
  int shard = 0, shards = 1;
  return parse_shard(text, shard, shards) ? "" : text + " is not I/N with 0 <= I < N";
}

}  // namespace

Run declare_annotate(CLI::App& command, Session& session) {
  struct Options {
    app::AnnotateRequest request;
    WorkerFlags worker;
    std::string shard = "0/1";
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  auto& request = options->request;
  command.add_option("--store", request.store, "Store for the measurements; made if needed")
      ->type_name("FILE")
      ->required();
  command
      .add_option("--space", request.spaces,
                  "Search space, or mutation: of the files of --models; repeatable")
      ->type_name("SPACE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->required();
  command.add_option("--device", request.devices, "Device; repeatable")
      ->type_name("DEVICE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->required();
  command
      .add_option("--models", request.models,
                  "Folder of the files that mutations are made of; default: models of "
                  "EDGESAGE_DATA_DIR")
      ->type_name("DIR");
  command.add_option("--count", request.count, "Networks of each space")
      ->check(CLI::Range(int64_t{1}, int64_t{100'000'000}))
      ->capture_default_str();
  command.add_option("--seed", request.seed, "Seed of the first network of each space")
      ->capture_default_str();
  command.add_option("--repeats", request.repeats, "Passes over the networks")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      .add_option("--attempts", request.attempts,
                  "Measure a series that is rejected for its noise again, up to so often in all")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command.add_option("--workers", request.workers, "Workers of a device that is not this machine")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--shard", options->shard, "Every N-th network from the I-th on, I/N")
      ->type_name("I/N")
      ->check(CLI::Validator(check_shard, ""))
      ->capture_default_str();
  command
      .add_option("--channel-multiple", request.channel_multiple,
                  "Pass over networks whose convolutions make another number of channels than a "
                  "multiple of this")
      ->check(CLI::Range(int64_t{1}, int64_t{1024}))
      ->capture_default_str();
  command.add_flag("--retry-failures", request.retry_failures, "Measure again what failed before");
  options->worker.add(command);
  add_format(command, options->format, {"text", "json"});
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Example:\n"
      "  edgesage annotate --store labels.sqlite --space keyword-sound --device ethos-u55-256 "
      "--count 200\n\n"
      "What the store holds is skipped: the same command goes on after an interruption.");
  return [options, &session] {
    app::AnnotateRequest& asked = options->request;
    parse_shard(options->shard, asked.shard, asked.shards);
    asked.options = options->worker.options();
    asked.deadline = options->worker.deadline();
    const auto summary = app::annotate_networks(session.context(), asked);
    if (!summary) return session.fail(summary.error());
    return session.write(options->format == "json" ? report::annotate_json(*summary)
                                                   : report::annotate_text(*summary),
                         summary->stopped ? kInterrupted : 0);
  };
}

}  // namespace edgesage::cli
