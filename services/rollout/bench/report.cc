#include "services/rollout/bench/report.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace sluice::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMiB = 1 << 20;

double Rounded(double value, double unit) { return std::round(value / unit) * unit; }
double Tenth(double value) { return std::round(value * 10) / 10; }
double MiB(int64_t bytes) { return Tenth(static_cast<double>(bytes) / kMiB); }
double Share(double value) { return std::round(value * 1000) / 1000; }

int64_t WeightBytes(const BenchSetting& setting) { return setting.cost.parameters * setting.element_bytes; }

// Null: not measured.
Json RateJson(double rate) { return rate > 0 ? Json(Tenth(rate)) : Json(nullptr); }
Json SpreadJson(const Spread& spread) { return {RateJson(spread.least), RateJson(spread.most)}; }

Json RowJson(const BenchSetting& setting, const BenchRow& row) {
  Json out = {{"batch", row.batch()}};
  if (row.group > 1) out["group"] = row.group;
  out["prefill_tps"] = Tenth(row.prefill.median);
  out["decode_tps"] = RateJson(row.decode.median);
  out["e2e_tps"] = Tenth(row.end_to_end.median);
  out["ttft_ms"] = Tenth(row.latency.first_median);
  out["ttft_max_ms"] = Tenth(row.latency.first_max);
  out["token_ms_p50"] = Rounded(row.latency.p50, 0.01);
  out["token_ms_p95"] = Rounded(row.latency.p95, 0.01);
  out["token_ms_p99"] = Rounded(row.latency.p99, 0.01);
  out["prompt_tokens_computed"] = row.prompt_tokens_computed;
  out["rss_anon_mib"] = MiB(row.anonymous_bytes);
  out["cache_mib"] = MiB(row.cache_bytes);
  out["rss_beyond_mib"] = MiB(BytesBeyond(setting, row));
  out["matrix_share"] = Share(MatrixShare(setting, row));
  out["read_share"] = row.decode.median > 0 ? Json(Share(ReadShare(setting, row))) : Json(nullptr);
  out["decode_runs"] = row.decode_runs;
  out["decode_window_seconds"] = Rounded(row.decode_seconds.median, 0.001);
  out["decode_window_share"] = Share(row.decode_share.median);
  out["spread"] = {{"prefill_tps", SpreadJson(row.prefill)},
                   {"decode_tps", SpreadJson(row.decode)},
                   {"e2e_tps", SpreadJson(row.end_to_end)}};
  return out;
}

std::string Percent(double share) { return share > 0 ? absl::StrFormat("%.0f %%", 100 * share) : "-"; }

std::string Rate(double rate) { return rate > 0 ? absl::StrFormat("%.0f", rate) : "-"; }

std::string RowText(const BenchSetting& setting, const BenchRow& row) {
  const std::string name =
      row.group > 1 ? absl::StrFormat("group %d", row.group) : absl::StrFormat("%d", row.requests);
  return absl::StrFormat("%-9s %8.0f %8s %8.0f %9.1f %8.2f %8.2f %8.2f %8s %8s %9.0f %9.0f\n", name,
                         row.prefill.median, Rate(row.decode.median), row.end_to_end.median,
                         row.latency.first_median, row.latency.p50, row.latency.p95, row.latency.p99,
                         Percent(MatrixShare(setting, row)), Percent(ReadShare(setting, row)),
                         MiB(row.anonymous_bytes), MiB(BytesBeyond(setting, row)));
}

std::string Range(const Spread& spread) {
  return spread.most > 0 ? absl::StrFormat("%.0f to %.0f", spread.least, spread.most) : "-";
}

// How far the runs are apart, and what the decode rate was measured over.
std::string SpreadText(const BenchSetting& setting, const BenchRow& row) {
  return absl::StrFormat("%-9d %18s %18s %18s   %d of %d runs, %.2f s with %.0f %% of the tokens\n",
                         row.batch(), Range(row.prefill), Range(row.decode), Range(row.end_to_end),
                         row.decode_runs, setting.runs, row.decode_seconds.median,
                         100 * row.decode_share.median);
}

}  // namespace

double MatrixShare(const BenchSetting& setting, const BenchRow& row) {
  if (setting.machine.matrix_operations <= 0 || row.prefill.median <= 0) return 0;
  const double seconds =
      static_cast<double>(row.requests * setting.prompt_tokens) / row.prefill.median;  // of the prompts
  return setting.cost.PrefillOperations(row.requests, setting.prompt_tokens) / seconds /
         setting.machine.matrix_operations;
}

double ReadShare(const BenchSetting& setting, const BenchRow& row) {
  if (setting.machine.read_bytes <= 0) return 0;
  const double steps = row.decode.median / static_cast<double>(row.batch());  // per second
  const double bytes =
      setting.cost.StepBytes(row.batch(), setting.element_bytes) + static_cast<double>(row.cache_bytes);
  return steps * bytes / setting.machine.read_bytes;
}

int64_t BytesBeyond(const BenchSetting& setting, const BenchRow& row) {
  return row.anonymous_bytes - WeightBytes(setting) - row.cache_bytes;
}

Json ReportJson(const BenchSetting& setting, const std::vector<BenchRow>& rows) {
  Json out = {{"rows", Json::array()}};
  for (const BenchRow& row : rows) out["rows"].push_back(RowJson(setting, row));
  out["model"] = setting.model;
  out["dtype"] = setting.dtype;
  out["kernel_path"] = setting.kernel_path;
  out["threads"] = setting.threads;
  out["runs"] = setting.runs;
  out["prompt"] = setting.prompt_tokens;
  out["new"] = setting.new_tokens;
  out["parameters"] = setting.cost.parameters;
  out["active_parameters"] = static_cast<int64_t>(setting.cost.ActiveParameters());
  out["weights_mib"] = MiB(WeightBytes(setting));
  out["cache_limit_mib"] = MiB(setting.cache_limit_bytes);
  out["machine"] = {{"matrix_gflops", Tenth(setting.machine.matrix_operations / 1e9)},
                    {"read_gb_per_s", Tenth(setting.machine.read_bytes / 1e9)}};
  return out;
}

std::string ReportTable(const BenchSetting& setting, const std::vector<BenchRow>& rows) {
  std::string out = absl::StrFormat(
      "%s: %.1f M parameters (%.1f M a token), %s, %s, %d threads; prompt %d, new %d; median of %d runs\n",
      setting.model, static_cast<double>(setting.cost.parameters) / 1e6,
      setting.cost.ActiveParameters() / 1e6, setting.dtype, setting.kernel_path, setting.threads,
      setting.prompt_tokens, setting.new_tokens, setting.runs);
  if (setting.machine.matrix_operations > 0) {
    absl::StrAppendFormat(&out, "this machine, in the same run: %.0f GFLOP/s, %.1f GB/s read\n",
                          setting.machine.matrix_operations / 1e9, setting.machine.read_bytes / 1e9);
  }
  absl::StrAppend(&out,
                  "          prefill   decode      e2e     first      p50      p95      p99   matrix     read"
                  "  resident    beyond\n"
                  "batch      tok/s    tok/s    tok/s        ms       ms       ms       ms     peak     peak"
                  "       MiB       MiB\n");
  for (const BenchRow& row : rows) absl::StrAppend(&out, RowText(setting, row));
  absl::StrAppendFormat(&out, "least to most, tok/s\n%-9s %18s %18s %18s   decode measured in, over\n",
                        "batch", "prefill", "decode", "e2e");
  for (const BenchRow& row : rows) absl::StrAppend(&out, SpreadText(setting, row));
  for (const BenchRow& row : rows) {
    if (row.group > 1) {
      absl::StrAppendFormat(&out, "a group of %d on one prompt of %d tokens: %d prompt tokens computed\n",
                            row.group, setting.prompt_tokens, row.prompt_tokens_computed);
    }
  }
  return out;
}

}  // namespace sluice::bench
