// The output of nccl-tests is read or refused with InputError, whatever the bytes are; rows that were read are sane and
// can be compared with a machine.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "scenarios/catalog.h"
#include "scenarios/collectives/diagnosis.h"
#include "scenarios/collectives/nccl_tests_output.h"
#include "scenarios/load/diagnostics.h"

namespace {

void check(const scenarios::NcclTestsOutput& output) {
  std::int64_t last = 0;
  for (const scenarios::NcclTestsRow& row : output.rows) {
    if (row.bytes <= last || !(row.time_us > 0) || row.line < 1) std::abort();
    last = row.bytes;
  }
  static const scenarios::Catalog catalog;
  static const hw_models::ClusterSpec cluster{catalog.node("dgx-h100").value(), 1,
                                              catalog.fabric("infiniband-ndr").value()};
  const scenarios::CollectiveTest& test = *scenarios::find_collective_test("all_reduce");
  const scenarios::Diagnosis diagnosis = scenarios::diagnose(output, test, cluster, 8, {});
  if (diagnosis.rows.size() != output.rows.size()) std::abort();
  if (scenarios::diagnosis_text(diagnosis).empty() || scenarios::diagnosis_json(diagnosis).empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check(scenarios::parse_nccl_tests(text, "out.txt"));
  } catch (const scenarios::InputError& refused) {
    if (!std::string_view(refused.what()).starts_with("out.txt:")) std::abort();
  }
  return 0;
}
