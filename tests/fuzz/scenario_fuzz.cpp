// Whatever the bytes, loading a scenario ends in a Scenario or an InputError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "scenarios/catalog.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/scenario.h"

namespace {

// Reading a device may block or have effects, and the contents of these folders differ between runs.
bool names_system_file(std::string_view text) {
  for (const std::string_view folder : {"/dev", "/proc", "/sys"}) {
    if (text.find(folder) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const scenarios::Catalog catalog;
  const std::string text(data, data + size);
  if (names_system_file(text)) return 0;
  try {
    scenarios::load_scenario_text(text, "fuzz.yaml", "no-such-folder", catalog);
  } catch (const scenarios::InputError& problem) {
    if (std::string_view(problem.what()).empty()) std::abort();  // a refusal must say why
  }
  return 0;
}
