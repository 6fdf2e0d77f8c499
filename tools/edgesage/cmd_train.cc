#include "src/app/train.h"
#include "src/base/file.h"
#include "src/report/learn.h"
#include "tools/edgesage/command_line.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"
#include "tools/edgesage/label_flags.h"
#include "tools/edgesage/ranks.h"

namespace edgesage::cli {

Run declare_train(CLI::App& command, Session& session) {
  struct Options {
    app::TrainRequest request;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  auto& request = options->request;
  auto& training = request.training;
  add_label_flags(command, request.labels);
  command.add_option("-o,--output", request.output, "The predictor file")
      ->type_name("FILE")
      ->required();
  command
      .add_option("--host-description", request.host_description,
                  "What to call the machine of the labels, where they belong to one")
      ->type_name("TEXT");
  add_split_flags(command, training.split);
  const auto count = [&](const char* flag, auto& value, const char* what, int least, int most) {
    command.add_option(flag, value, what)->check(CLI::Range(least, most))->capture_default_str();
  };
  count("--members", training.members, "Networks of the ensemble", 1, 64);
  count("--epochs", training.epochs,
        "Passes over the training networks; 0: 80 of few, 12 of very many", 0, 100'000);
  count("--hidden", training.hidden, "Width of the layers", 8, 1024);
  count("--layers", training.layers, "GraphSAGE layers", 1, 16);
  count("--batch", training.batch_graphs, "Networks of a step", 1, 4096);
  count("--batch-nodes", training.batch_nodes,
        "Nodes of a step at most, in place of --batch; 0: go by networks", 0, 100'000'000);
  command.add_option("--learning-rate", training.learning_rate, "Largest step of the optimiser")
      ->check(CLI::Range(1e-6, 1.0))
      ->capture_default_str();
  command.add_option("--dropout", training.dropout, "Share of a layer's outputs that is dropped")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  command
      .add_option("--huber-delta", training.delta,
                  "Relative error from which on it counts in proportion, not squared")
      ->check(CLI::Range(1e-4, 10.0))
      ->capture_default_str();
  command
      .add_option("--balance", training.balance,
                  "How far small spaces are drawn more often: 0 not at all, 1 until all spaces are "
                  "drawn equally often")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--node-weight", training.node_weight,
                  "Weight of the operators' own labels beside the totals; 0: not used")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command.add_option("--max-train", training.max_train, "Train on at most so many; 0: all")
      ->capture_default_str();
  command.add_option("--seed", training.seed, "Seed of the parameters and their order")
      ->capture_default_str();
  command
      .add_option("--checkpoint", request.checkpoint,
                  "Keep the run in this file; the same command goes on from it after Ctrl-C or a "
                  "crash, to the same predictor")
      ->type_name("FILE");
  command
      .add_option("--checkpoint-seconds", request.checkpoint_seconds,
                  "Time between two writes of it")
      ->check(CLI::Range(0.0, 86'400.0))
      ->capture_default_str();
  command
      .add_option("--report", request.report,
                  "A page (HTML) about the training: loss by epoch, predicted against true, errors "
                  "by space, size and kind of operator; of the networks held out")
      ->type_name("FILE");
  add_format(command, options->format, {"text", "json"});
  session.add_devices(command);
  command.footer(
      "Example:\n"
      "  edgesage train --store labels.sqlite --device ethos-u55-256 -o ethos-u55-256.edgesage");
  return [options, &session] {
    options->request.training.threads = options->request.labels.threads;
    const std::unique_ptr<Ranks> ranks = join_ranks();
    options->request.ranks = ranks.get();
    options->request.command = command_line();
    const auto trained = app::train(session.context(), options->request);
    if (!trained) {
      const int code = session.fail(trained.error());
      return interrupted() ? kInterrupted : code;
    }
    if (ranks != nullptr && ranks->rank() != 0) return 0;
    if (trained->report)
      if (const Status written =
              write_text(options->request.report, report::training_html(*trained));
          !written)
        return session.fail(written.error());
    return session.write(options->format == "json" ? report::train_json(*trained)
                                                   : report::train_text(*trained));
  };
}

}  // namespace edgesage::cli
