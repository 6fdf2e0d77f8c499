#include <algorithm>
#include <cstdlib>

#include "src/app/compression.h"
#include "src/app/evaluate.h"
#include "src/app/many_spaces.h"
#include "src/app/protocol.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/report/compression.h"
#include "src/report/few_shot.h"
#include "src/report/learn.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"
#include "tools/edgesage/label_flags.h"

namespace edgesage::cli {
namespace {

void add_protocol_flags(CLI::App& command, app::ProtocolRequest& request) {
  const std::string kGroup = "Few-shot protocols";
  command
      .add_option("--protocol", request.protocol,
                  "Learn devices from few labels and judge on the rest: " +
                      join(app::protocol_names(), ", ") +
                      "; or compression: searches with and without the device; or learn many "
                      "spaces from many labels: " +
                      app::kManySpaces)
      ->type_name("NAME")
      ->group(kGroup);
  if (const char* data = std::getenv("EDGESAGE_DATA_DIR"))
    request.data = std::filesystem::path(data) / "data";
  command
      .add_option("--data", request.data,
                  "Directory of published measurements; default: data of EDGESAGE_DATA_DIR")
      ->type_name("DIR")
      ->group(kGroup);
  command
      .add_option(
          "--set", request.sets,
          "Only these sets of the protocol; of labels, families, intervals and edgedlperf: label "
          "files")
      ->type_name("NAME")
      ->group(kGroup);
  command.add_option("--board", request.boards, "Only these devices of the sets")
      ->type_name("NAME")
      ->group(kGroup);
  command.add_option("--count", request.counts, "Labels to learn from; default: the protocol's")
      ->type_name("N")
      ->group(kGroup);
  command.add_option("--seeds", request.seeds, "Draws of the labels; default: the protocol's")
      ->type_name("N")
      ->group(kGroup);
  command.add_option("--first-seed", request.first_seed, "Number of the first draw")
      ->type_name("N")
      ->group(kGroup)
      ->capture_default_str();
  command
      .add_option("--model", request.models,
                  "Beside the process: taught, brp-nas (for cells of NAS-Bench-201), and controls; "
                  "default: the protocol's")
      ->type_name("NAME")
      ->group(kGroup);
  command
      .add_option("--draw", request.draws,
                  "Networks that are learnt from: random, or chosen as 'sample' does; default: "
                  "random")
      ->check(CLI::IsMember({"random", "chosen"}))
      ->type_name("NAME")
      ->group(kGroup);
  command.add_option("--virtual-devices", request.devices, "Of the prior")
      ->type_name("N")
      ->group(kGroup)
      ->capture_default_str();
  command
      .add_option("--results", request.results,
                  "CSV of all draws; what is in it is not computed again")
      ->type_name("FILE")
      ->group(kGroup);
}

void add_compression_flags(CLI::App& command, app::CompressionRequest& request) {
  const std::string kGroup = "Protocol compression (--results DIR, --board DEVICE, --seeds)";
  command
      .add_option("--network", request.networks,
                  "reference/resnet50@96; default: three well-known ones in full size")
      ->type_name("NAME")
      ->group(kGroup);
  command
      .add_option("--arm", request.arms,
                  "hardware, estimator, macs, additive, random; default: all")
      ->type_name("NAME")
      ->group(kGroup);
  command.add_option("--evaluations", request.evaluations, "Of each search")
      ->check(CLI::Range(8, 10'000'000))
      ->type_name("N")
      ->group(kGroup)
      ->capture_default_str();
  command.add_option("--budget", request.budget, "Measurements that the estimator is learnt from")
      ->check(CLI::Range(20, 100'000))
      ->type_name("N")
      ->group(kGroup)
      ->capture_default_str();
  command.add_option("--front", request.front, "Points of a front to measure anew, at most")
      ->check(CLI::Range(1, 100'000))
      ->type_name("N")
      ->group(kGroup)
      ->capture_default_str();
  command
      .add_option(
          "--stairs", request.stairs,
          "Channel groups whose widths are measured one by one beside the estimator's steps")
      ->check(CLI::Range(0, 1000))
      ->type_name("N")
      ->group(kGroup)
      ->capture_default_str();
}

void add_many_spaces_flags(CLI::App& command, app::ManySpacesRequest& request) {
  const std::string kGroup =
      "Protocol edgedlperf (--set, --count, --model, --seeds, --results too)";
  const auto option = [&](const char* flag, auto& value, const char* what, const char* type) {
    command.add_option(flag, value, what)->type_name(type)->group(kGroup);
  };
  option("--setting", request.settings,
         "random, left-out (each space in turn), curve (over --count networks), ablation, or "
         "real-files (measured now on each --board); default: random and left-out",
         "NAME");
  option("--own", request.own, "Networks of the left-out space to learn from; default: 0 10 30 100",
         "N");
  option("--variant", request.variants, "Only these ablations", "NAME");
  option("--ablation-networks", request.ablation_networks, "Networks that ablations are trained on",
         "N");
  option("--left-out-networks", request.left_out_networks,
         "Networks of the other spaces that left-out trains on; default: all", "N");
  option("--baseline-epochs", request.baseline_epochs,
         "Of perfsage-1 and brp-nas, which run where --model names them", "N");
  if (const char* data = std::getenv("EDGESAGE_DATA_DIR"))
    request.real_models = std::filesystem::path(data) / "models";
  option("--models", request.real_models,
         "Of real-files: folder of published models with its index.csv; default: models of "
         "EDGESAGE_DATA_DIR",
         "DIR");
  option("--members", request.training.members, "Networks of the ensemble", "N");
  option("--epochs", request.training.epochs, "As of train", "N");
  option("--hidden", request.training.hidden, "Width of the layers", "N");
  option("--balance", request.training.balance, "As of train", "SHARE");
}

// What the flags of all protocols say of this one.
void take_over(const app::ProtocolRequest& from, app::ManySpacesRequest& to) {
  to.labels.assign(from.sets.begin(), from.sets.end());
  to.devices = from.boards;
  to.counts = from.counts;
  to.models = from.models;
  to.first_seed = std::max<int64_t>(1, from.first_seed);
  to.seeds = std::max<int64_t>(1, from.seeds);
  to.results = from.results;
}

int write_accuracy(const AccuracyTable& table, const std::string& format, Session& session) {
  if (format == "json") return session.write(report::evaluate_json(table));
  if (format == "csv") return session.write(report::evaluate_csv(table));
  if (format == "markdown") return session.write(report::evaluate_markdown(table));
  return session.show(report::evaluate_text(table));
}

}  // namespace

Run declare_evaluate(CLI::App& command, Session& session) {
  struct Options {
    app::EvaluateRequest request;
    app::ProtocolRequest protocol;
    app::CompressionRequest compression;
    app::ManySpacesRequest many_spaces;
    std::string predictions;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  auto& request = options->request;
  add_label_flags(command, request.labels);
  command
      .add_option("--predictor", request.predictor,
                  "Predictor file; default: the one that is installed for the device")
      ->type_name("FILE");
  command.add_flag("--bfloat16", request.bfloat16, "Weights of the predictor in bfloat16");
  command
      .add_option("--predictions", options->predictions,
                  "CSV of every network that was tested: its label, answer and interval; not of "
                  "protocols")
      ->type_name("FILE");
  add_split_flags(command, request.split);
  add_protocol_flags(command, options->protocol);
  add_compression_flags(command, options->compression);
  add_many_spaces_flags(command, options->many_spaces);
  add_format(command, options->format, {"text", "json", "csv", "markdown"});
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Examples:\n"
      "  edgesage evaluate --store labels.sqlite --device ethos-u55-256 --predictor "
      "ethos-u55-256.edgesage\n"
      "  edgesage evaluate --protocol latbench --board desktop-gpu --count 100 --seeds 1\n\n"
      "The split must be that of the training; it is by graph, so equal networks stay together.");
  return [options, &session] {
    if (options->protocol.protocol == "compression") {
      app::CompressionRequest& study = options->compression;
      study.devices = options->protocol.boards;
      study.directory = options->protocol.results;
      study.threads = options->request.labels.threads;
      study.seed += static_cast<uint64_t>(options->protocol.first_seed);
      study.seeds = std::max<int64_t>(1, options->protocol.seeds);
      // Of a study that takes days each row is there when it is known.
      study.row_done = [&](const CompressionTable& so_far) {
        (void)write_text(study.directory / "compression.csv", report::compression_csv(so_far));
      };
      const auto table = app::compression_study(session.context(), study);
      if (!table) return session.fail(table.error());
      return session.write(options->format == "json"       ? report::compression_json(*table)
                           : options->format == "csv"      ? report::compression_csv(*table)
                           : options->format == "markdown" ? report::compression_markdown(*table)
                                                           : report::compression_text(*table),
                           table->unfinished.empty() ? 0 : kInterrupted);
    }
    if (options->protocol.protocol == app::kManySpaces) {
      app::ManySpacesRequest& many = options->many_spaces;
      take_over(options->protocol, many);
      many.predictor = options->request.predictor;
      many.training.threads = options->request.labels.threads;
      many.training.split = options->request.split;
      const auto table = app::evaluate_many_spaces(session.context(), many);
      if (!table) return session.fail(table.error());
      return write_accuracy(*table, options->format, session);
    }
    if (!options->protocol.protocol.empty()) {
      app::ProtocolRequest& protocol = options->protocol;
      protocol.threads = options->request.labels.threads;
      if (app::takes_label_files(protocol.protocol))
        protocol.labels.assign(protocol.sets.begin(), protocol.sets.end());
      const auto table = app::evaluate_protocol(session.context(), protocol);
      if (!table) return session.fail(table.error());
      if (options->format == "json") return session.write(report::few_shot_json(*table));
      if (options->format == "csv") return session.write(report::few_shot_csv(*table));
      if (options->format == "text") return session.show(report::few_shot_text(*table));
      return session.write(report::few_shot_markdown(*table));
    }
    const auto table = app::evaluate(session.context(), options->request);
    if (!table) return session.fail(table.error());
    if (!options->predictions.empty())
      if (const Status written = write_text(options->predictions, report::predictions_csv(*table));
          !written)
        return session.fail(written.error());
    return write_accuracy(*table, options->format, session);
  };
}

}  // namespace edgesage::cli
