// sluice serve: the OpenAI API on one model directory.
#include <unistd.h>

#include <iostream>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "services/cli/chat/terminal_input.h"
#include "services/cli/command.h"
#include "services/cli/exit_code.h"
#include "services/cli/rows/private_worker.h"

namespace sluice::cli {
namespace {

struct ServeOptions {
  std::string model, dtype = "bf16";
  int http_port = 8000, threads = 0;
};

absl::Status Serve(const ServeOptions& o) {
  TerminalInput input(-1);  // takes Ctrl-C over; poll ignores the descriptor
  PrivateWorkerOptions options{o.model, o.dtype, o.threads};
  options.http_port = o.http_port;
  SLUICE_ASSIGN_OR_RETURN(const PrivateWorker worker, PrivateWorker::Start(options));
  std::cout << "http://" << worker.http_address() << "/v1 serves " << o.model
            << " as \"local\"; Ctrl-C stops it" << std::endl;
  input.ReadLine();
  return absl::OkStatus();
}

}  // namespace

void AddServeCommand(CommandLine& line) {
  line.Add<ServeOptions>(
      "serve",
      "Serves a model over HTTP, as the OpenAI API has it.\n"
      "GET /health, /v1/models; POST /v1/completions, /v1/chat/completions, also with \"stream\": true. On "
      "loopback only.\n"
      "  curl -s http://127.0.0.1:8000/v1/completions -H 'Content-Type: application/json' -d '{\"prompt\": "
      "\"Once\"}'\n"
      "A policy in training is looked at the same way: `sluice up --http`; docs/serving.md lists the fields.",
      [](CLI::App& command, ServeOptions& o) {
        command.add_option("model", o.model, "Hugging Face directory")->required();
        command.add_option("--http-port", o.http_port, "Port on 127.0.0.1; 0: any free one")
            ->capture_default_str()
            ->check(CLI::Range(0, 65535));
        command.add_option("--dtype", o.dtype, "What weights are rounded to")
            ->capture_default_str()
            ->check(CLI::IsMember({"bf16", "fp32"}));
        command.add_option("--threads", o.threads, "Threads that compute (default: the machine's)")
            ->check(CLI::Range(1, 1024));
      },
      [](const ServeOptions& o) { return Report(Serve(o)); });
}

}  // namespace sluice::cli
