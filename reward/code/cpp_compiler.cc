#include "reward/code/cpp_compiler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "core/base/hash.h"
#include "core/base/status.h"
#include "reward/code/outcome.h"
#include "reward/code/timed_box.h"

namespace sluice {
namespace {

constexpr char kArtefacts[] = "/artefacts/";
constexpr int64_t kMaxProgramBytes = int64_t{64} << 20, kMaxHeaderBytes = int64_t{512} << 20;

// Nothing here depends on the machine's processor.
std::vector<std::string> FixedFlags() {
  return {"-std=c++17", "-O2", "-pipe", "-w", "-fdiagnostics-color=never", "-fmax-errors=5"};
}

// The compiler only computes: what takes much longer by the clock than its processor time waits for the
// machine.
constexpr absl::Duration kCompileCpu = absl::Seconds(30), kCompileWall = absl::Minutes(3);

SandboxLimits CompileLimits() {
  SandboxLimits limits;
  limits.cpu = kCompileCpu;
  limits.wall = kCompileWall;
  limits.memory_bytes = int64_t{2} << 30;
  limits.output_bytes = int64_t{1} << 20;
  limits.file_bytes = int64_t{1} << 30;
  return limits;
}

absl::StatusOr<RunResult> RunProgram(SandboxBox& box, std::vector<std::string> arguments) {
  RunRequest request;
  request.argv = std::move(arguments);
  request.limits = CompileLimits();
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<SandboxRun> run, box.Start(request));
  RunResult result = run->Wait();
  if (LimitOf(result) == outcome::kInfrastructure) return absl::InternalError(DescribeEnd(result));
  return result;
}

// Whether boxes see an artefact of that name already.
bool IsPublished(SandboxBox& box, const std::string& name) {
  auto run = RunProgram(box, {"/usr/bin/test", "-s", absl::StrCat(kArtefacts, name)});
  return run.ok() && run->end == RunEnd::kExited && run->exit_code == 0;
}

// The first line that says what is wrong.
std::string FirstError(const RunResult& run) {
  if (!LimitOf(run).empty()) return absl::StrCat("compiling met its ", LimitOf(run));
  std::string first;
  for (absl::string_view line : absl::StrSplit(run.error_output, '\n')) {
    if (absl::StrContains(line, "error") || absl::StrContains(line, "undefined reference"))
      return std::string(line);
    if (first.empty()) first = std::string(line);
  }
  return first.empty() ? "the compiler failed" : first;
}

std::string Key(const CppSource& source, const std::vector<std::string>& flags, const std::string& version) {
  std::vector<std::string> parts = {version, absl::StrJoin(flags, "\n"), Sha256Hex(source.text)};
  for (const std::string& object : source.objects) parts.push_back(Sha256Hex(object));
  return Sha256Hex(absl::StrJoin(parts, "\n--\n"));
}

}  // namespace

bool MayPrecompile(absl::string_view source) {
  for (absl::string_view line : absl::StrSplit(source, '\n')) {
    std::string plain;
    for (char c : line) {
      if (c != ' ' && c != '\t' && c != '\r') plain.push_back(c);
    }
    if (absl::StartsWith(plain, "#include<bits/stdc++.h>")) return true;
    // The header has no main that a definition of it would change.
    bool harmless = absl::StartsWith(plain, "#include") || absl::StartsWith(plain, "#pragma") ||
                    absl::StartsWith(plain, "#definemain");
    if (absl::StartsWith(plain, "#") && !harmless) return false;
  }
  return false;
}

absl::StatusOr<RunResult> CppCompiler::RunCompiler(SandboxBox& box,
                                                   std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), compiler_);
  return RunProgram(box, std::move(arguments));
}

absl::StatusOr<std::string> CppCompiler::Version(SandboxBox& box) {
  SLUICE_ASSIGN_OR_RETURN(RunResult run, RunCompiler(box, {"--version"}));
  if (!FailureOf(run).empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(compiler_, " does not run in the sandbox: ", DescribeEnd(run)));
  }
  return Sha256Hex(run.output);
}

absl::Status CppCompiler::Precompile(SandboxBox& box, const std::string& name) {
  std::string header = absl::StrCat(name, ".gch");
  if (IsPublished(box, header) && IsPublished(box, name)) return absl::OkStatus();
  SLUICE_RETURN_IF_ERROR(box.WriteFile(name, "#include <bits/stdc++.h>\n"));
  std::vector<std::string> arguments = FixedFlags();
  for (const std::string& part :
       {std::string("-x"), std::string("c++-header"), name, std::string("-o"), header}) {
    arguments.push_back(part);
  }
  SLUICE_ASSIGN_OR_RETURN(RunResult run, RunCompiler(box, std::move(arguments)));
  if (!FailureOf(run).empty()) return absl::InternalError(absl::StrCat("precompiling: ", DescribeEnd(run)));
  SLUICE_ASSIGN_OR_RETURN(std::string compiled, box.ReadFile(header, kMaxHeaderBytes));
  SLUICE_RETURN_IF_ERROR(sandbox_.Publish(header, compiled));
  return sandbox_.Publish(name, "#include <bits/stdc++.h>\n");
}

absl::StatusOr<const CppCompiler::Ready*> CppCompiler::Prepare() {
  absl::MutexLock lock(&mu_);
  if (ready_ != nullptr) return ready_.get();
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<SandboxBox> box, sandbox_.Open(absl::Now() + open_timeout_));
  auto ready = std::make_unique<Ready>();
  SLUICE_ASSIGN_OR_RETURN(ready->version, Version(*box));
  std::string name =
      absl::StrCat("std-", Sha256Hex(ready->version + absl::StrJoin(FixedFlags(), " ")).substr(0, 16), ".h");
  // Without it compiling is slower and no less right.
  if (Precompile(*box, name).ok()) ready->precompiled_header = name;
  ready_ = std::move(ready);
  return ready_.get();
}

absl::StatusOr<CompiledCpp> CppCompiler::Run(const CppSource& source, const std::vector<std::string>& flags,
                                             const JudgeLimits& limits) {
  absl::Time deadline = std::min(absl::Now() + open_timeout_, limits.deadline);
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<SandboxBox> opened, sandbox_.Open(deadline));
  TimedBox timed(*opened, limits);
  SandboxBox* box = &timed;
  SLUICE_RETURN_IF_ERROR(box->WriteFile("program.cc", source.text));
  std::vector<std::string> arguments = flags;
  arguments.push_back("program.cc");
  for (const std::string& object : source.objects) {
    arguments.push_back(absl::StrCat("part", arguments.size(), ".o"));
    SLUICE_RETURN_IF_ERROR(box->WriteFile(arguments.back(), object));
  }
  arguments.push_back("-o");
  arguments.push_back("program");
  SLUICE_ASSIGN_OR_RETURN(RunResult run, RunCompiler(*box, std::move(arguments)));
  CompiledCpp out;
  out.wall = run.wall;
  out.peak_memory_bytes = run.peak_memory_bytes;
  if (!FailureOf(run).empty()) {
    out.error = FirstError(run);
    return out;
  }
  auto binary = box->ReadFile("program", kMaxProgramBytes);
  if (binary.ok()) {
    out.binary = *std::move(binary);
  } else {
    out.error = absl::StrCat("the program: ", binary.status().message());
  }
  return out;
}

absl::StatusOr<CompiledCpp> CppCompiler::Compile(const CppSource& source, const JudgeLimits& limits) {
  SLUICE_ASSIGN_OR_RETURN(const Ready* ready, Prepare());
  std::vector<std::string> flags = FixedFlags();
  if (!ready->precompiled_header.empty() && MayPrecompile(source.text)) {
    flags.insert(flags.end(), {"-include", absl::StrCat(kArtefacts, ready->precompiled_header)});
  }
  if (source.object_only) flags.push_back("-c");
  flags.insert(flags.end(), source.flags.begin(), source.flags.end());
  std::string key = Key(source, flags, ready->version);
  if (auto kept = cache_.Get(key)) return CompiledCpp{*std::move(kept)};
  SLUICE_ASSIGN_OR_RETURN(CompiledCpp compiled, Run(source, flags, limits));
  if (compiled.error.empty()) cache_.Put(key, compiled.binary);
  return compiled;
}

}  // namespace sluice
