#include "executor/calibration/machine_state.h"

#include <sched.h>
#include <sys/sysinfo.h>

#include <fstream>
#include <sstream>
#include <string>

namespace executor {
namespace {

/// The text behind the colon of the first line that starts with `key`.
std::string field_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with(key) && colon != std::string::npos) {
      const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
      return begin == std::string::npos ? "" : line.substr(begin);
    }
  }
  return "";
}

/// "some avg10=97.03 ..."
double pressure_of_cores() {
  std::ifstream file("/proc/pressure/cpu");
  std::string some, average;
  if (!(file >> some >> average) || !average.starts_with("avg10=")) return -1;
  std::istringstream number(average.substr(6));
  double percent = 0;
  return number >> percent ? percent / 100 : -1;
}

/// "cpu  user nice system idle iowait irq softirq steal ..."
void read_ticks(MachineState& state) {
  std::ifstream file("/proc/stat");
  std::string cpu;
  file >> cpu;
  for (int column = 0; column < 8; ++column) {
    std::int64_t ticks = 0;
    if (!(file >> ticks)) return;
    if (column == 7) state.steal_ticks = ticks;
    if (column != 3 && column != 4) state.busy_ticks += ticks;
  }
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

}  // namespace

MachineState machine_state() {
  MachineState state;
  state.processor = field_of("/proc/cpuinfo", "model name");
  if (state.processor.empty()) state.processor = "unknown";
  state.cores = allowed_cores();
  struct sysinfo info {};
  if (sysinfo(&info) == 0) {
    state.memory_bytes = static_cast<std::int64_t>(info.totalram) * static_cast<std::int64_t>(info.mem_unit);
    state.load_average = static_cast<double>(info.loads[0]) / (1 << SI_LOAD_SHIFT);
  }
  state.pressure = pressure_of_cores();
  read_ticks(state);
  return state;
}

double stolen_share(const MachineState& before, const MachineState& after) {
  const std::int64_t busy = after.busy_ticks - before.busy_ticks;
  return busy > 0 ? static_cast<double>(after.steal_ticks - before.steal_ticks) / static_cast<double>(busy) : 0;
}

void pin_to(int core) { allow({core}); }

void allow(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace executor
