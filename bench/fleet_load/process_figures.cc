#include "bench/fleet_load/process_figures.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace sluice::bench {

ProcessFigures FiguresOf(pid_t pid) {
  ProcessFigures out;
  const std::string folder = absl::StrCat("/proc/", pid);
  std::string line;
  std::getline(std::ifstream(folder + "/stat"), line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return out;
  std::istringstream rest(line.substr(name_end + 2));
  std::vector<std::string> fields;  // from the third on
  for (std::string field; rest >> field;) fields.push_back(field);
  if (fields.size() < 22) return out;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  out.cpu_seconds = (std::stod(fields[11]) + std::stod(fields[12])) / ticks;
  out.threads = std::stoll(fields[17]);
  out.resident_bytes = std::stoll(fields[21]) * sysconf(_SC_PAGESIZE);
  std::ifstream status(folder + "/status");
  while (std::getline(status, line)) {
    if (line.rfind("VmHWM:", 0) == 0) out.peak_resident_bytes = std::stoll(line.substr(6)) << 10;  // in KiB
  }
  std::error_code gone;
  for (auto it = std::filesystem::directory_iterator(folder + "/fd", gone);
       !gone && it != std::filesystem::directory_iterator(); it.increment(gone))
    ++out.descriptors;
  return out;
}

}  // namespace sluice::bench
