// Times models on this computer's CPU with LiteRT; speaks the worker protocol
// (docs/worker_protocol.md).
//
//   edgesage-worker-litert --library <libLiteRt.so> --in-fd 3 --out-fd 4
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <string>

#include "workers/litert/answer.h"
#include "workers/litert/host.h"

namespace worker {
namespace {

// Lines on two descriptors.
class Channel {
 public:
  Channel(int in_fd, int out_fd) : in_(fdopen(in_fd, "r")), out_(out_fd) {}
  ~Channel() {
    if (in_ != nullptr) std::fclose(in_);
    std::free(buffer_);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  bool ok() const { return in_ != nullptr; }
  bool read_line(std::string& line) {
    const ssize_t count = getline(&buffer_, &capacity_, in_);
    if (count < 0) return false;
    line.assign(buffer_, static_cast<size_t>(count));
    return true;
  }
  // Ends the program where nobody listens any more.
  void send(const Json& message) {
    const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    for (size_t sent = 0; sent < line.size();) {
      const ssize_t count = write(out_, line.data() + sent, line.size() - sent);
      if (count < 0) std::exit(0);
      sent += static_cast<size_t>(count);
    }
  }

 private:
  std::FILE* in_;
  int out_;
  char* buffer_ = nullptr;
  size_t capacity_ = 0;
};

// <site-packages>/ai_edge_litert-2.3.0.dist-info lies beside the library's folder.
std::string version_of(const std::string& library) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path packages = fs::absolute(library, error).parent_path().parent_path();
  for (fs::directory_iterator entry(packages, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::string prefix = "ai_edge_litert-", suffix = ".dist-info";
    if (name.starts_with(prefix) && name.ends_with(suffix))
      return name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  }
  return "unknown";
}

Json error_of(const char* code, const std::string& message) {
  return {{"code", code}, {"message", message}};
}

void answer_line(Channel& channel, const Runtime& runtime, const std::string& version,
                 const std::string& line) {
  Json reply;
  reply["id"] = nullptr;
  try {
    const Json request = Json::parse(line);
    reply["id"] = request.at("id");
    const auto beat = [&] { channel.send({{"beat", {{"id", reply["id"]}}}}); };
    if (request.contains("measure")) {
      reply["answer"] = answer_measure(runtime, request["measure"], version, beat);
    } else if (request.contains("run")) {
      reply["answer"] = answer_run(runtime, request["run"], beat);
    } else {
      reply["error"] = error_of("unknown_request", "this worker knows measure and run");
    }
  } catch (const Refused& refused) {
    reply["error"] = error_of(refused.code.c_str(), refused.what());
  } catch (const Json::exception& error) {
    reply["error"] = error_of("bad_request", error.what());
  } catch (const std::exception& error) {
    reply["error"] = error_of("device_failed", error.what());
  }
  channel.send(reply);
}

int serve(const std::string& library, int in_fd, int out_fd) {
  Channel channel(in_fd, out_fd);
  if (!channel.ok()) {
    fmt::print(stderr, "descriptor {} is not open\n", in_fd);
    return 2;
  }
  const Runtime runtime(library);
  const std::string version = version_of(library);
  channel.send(
      {{"hello",
        {{"protocol", "1.3"},
         {"worker", "litert"},
         {"runtime", "litert"},
         {"runtime_version", version},
         {"quantities", {"latency_ms", "latency_wall_p50_ms", "first_latency_ms", "load_ms"}},
         {"host_fingerprint", host_fingerprint()},
         {"beat_ms", 1000},
         {"environment", host_environment()}}}});
  for (std::string line; channel.read_line(line);) answer_line(channel, runtime, version, line);
  return 0;
}

}  // namespace
}  // namespace worker

int main(int argc, char** argv) {
  std::map<std::string, std::string> arguments;
  for (int i = 1; i + 1 < argc; i += 2) arguments[argv[i]] = argv[i + 1];
  if (argc % 2 == 0 || !arguments.contains("--library") || !arguments.contains("--in-fd") ||
      !arguments.contains("--out-fd")) {
    fmt::print(stderr, "usage: {} --library <libLiteRt.so> --in-fd <n> --out-fd <n>\n", argv[0]);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  try {
    return worker::serve(arguments["--library"], std::atoi(arguments["--in-fd"].c_str()),
                         std::atoi(arguments["--out-fd"].c_str()));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 5;
  }
}
