// Which set of kernels this process uses.
#include <stdio.h>
#include <stdlib.h>

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/kernels/kernel_table.h"
#include "core/kernels/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace sluice::kernels {
namespace {

#if defined(__x86_64__)

struct Features {
  bool avx2 = false, avx512 = false, avx512_bf16 = false, amx = false;
  bool intel = false;
};

// CPUID leaf 7: of subleaf 0 EDX bits 22 (AMX-BF16) and 24 (AMX-TILE), of subleaf 1 EAX bit 5 (AVX512-BF16).
// XCR0 bits 17 and 18: the system saves tiles. The compiler's support check knows XCR0 for AVX.
bool HasAvx512BF16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 5 & 1u) != 0;
}
bool HasAmx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d >> 22 & 1u) == 0 || (d >> 24 & 1u) == 0)
    return false;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low >> 17 & 3u) == 3u;
}

// Linux gives a process the tiles when it asks (arch_prctl(2), ARCH_REQ_XCOMP_PERM of XTILEDATA).
bool MayUseTiles() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

// A small product on the tiles and by the program that says what they compute.
bool TilesAreRight() {
  constexpr int64_t kRows = 19, kIn = 96, kOut = 40, kPanels = 3;
  std::vector<float> x(kRows * kIn), y(kRows * kOut), expected(kRows * kOut);
  std::vector<uint16_t> w(kPanels * 16 * kIn);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 64;
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<uint16_t>(0x3E80 + i * 29 % 512 + (i % 3 << 15));
  LinearPiece piece = {x.data(), kIn,  w.data(), kIn,   kOut, kIn,     nullptr,
                       y.data(), kOut, 0,        kRows, 0,    kPanels, LinearScratch()};
  avx512_bf16::LinearAmxIsa(piece);
  piece.y = expected.data();
  amx_emulated::LinearAmxIsa(piece);
  for (size_t i = 0; i < y.size(); ++i) {
    if (!(std::abs(y[i] - expected[i]) <= 1e-4f * (1 + std::abs(expected[i])))) return false;
  }
  return true;
}

Features Detect() {
  __builtin_cpu_init();
  Features f;
  f.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx");
  f.avx512 = f.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  f.avx512_bf16 = f.avx512 && HasAvx512BF16();
  f.amx = f.avx512_bf16 && HasAmx() && MayUseTiles() && TilesAreRight();
  f.intel = __builtin_cpu_is("intel") != 0;
  return f;
}

#endif

struct Path {
  KernelTable table;
  bool by_itself;  // chosen when nobody asks for a path
};

// What this machine can run, best first.
std::vector<Path> Available() {
  std::vector<Path> paths;
#if defined(__x86_64__)
  const Features has = Detect();
  if (has.avx512_bf16) {
    KernelTable table = avx512::Table();
    table.attention.forward_bf16 = avx512_bf16::AttentionDottedIsa;
    table.attention.rounds_queries = true;
    table.linear_bf16 = avx512_bf16::LinearAmxIsa;
    table.limits.multiply_bf16 = avx512_bf16::MultiplyAmxLimitIsa;
    table.panel_inputs = 32;
    table.path = "cpu-amx";
    if (has.amx) paths.push_back({table, true});
    table.linear_bf16 = avx512_bf16::LinearDottedIsa;
    table.limits.multiply_bf16 = avx512_bf16::MultiplyDottedLimitIsa;
    table.panel_inputs = 2;
    table.path = "cpu-avx512-bf16";
    // Intel's cores start one vdpbf16ps in two cycles, AMD's one or two a cycle; both start as many fused
    // multiply-adds a cycle as they have units, so on Intel's float32 is both faster and more exact.
    paths.push_back({table, !has.intel});
  }
  if (has.avx512) paths.push_back({avx512::Table(), true});
  if (has.avx2) paths.push_back({avx2::Table(), true});
#endif
  paths.push_back({generic::Table(), true});
  KernelTable emulated = generic::Table();
  emulated.linear_bf16 = amx_emulated::LinearAmxIsa;
  emulated.limits.multiply_bf16 = amx_emulated::MultiplyAmxLimitIsa;
  emulated.panel_inputs = 32;
  emulated.path = "cpu-amx-emulated";
  paths.push_back({emulated, false});
  return paths;
}

// A path that was asked for and cannot be had ends the process: another one would compute other numbers.
KernelTable Choose() {
  const std::vector<Path> paths = Available();
  const char* asked = std::getenv("SLUICE_KERNEL_PATH");
  std::vector<absl::string_view> names;
  for (const Path& path : paths) {
    if (asked == nullptr || *asked == '\0' ? path.by_itself : absl::string_view(asked) == path.table.path) {
      return path.table;
    }
    names.push_back(path.table.path);
  }
  const std::string message = absl::StrCat("SLUICE_KERNEL_PATH: this machine has no \"", asked, "\"; it has ",
                                           absl::StrJoin(names, ", "), "\n");
  fputs(message.c_str(), stderr);
  exit(2);
}

}  // namespace

const KernelTable& ActiveKernels() {
  static const KernelTable table = Choose();
  return table;
}

const std::string& KernelPath() {
  static const std::string* const path = new std::string(ActiveKernels().path);
  return *path;
}

}  // namespace sluice::kernels
