// import_hf_config must return a model that can be counted, or throw InputError, whatever the bytes are.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "scenarios/load/diagnostics.h"
#include "scenarios/load/hf_config.h"
#include "strategies/model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const strategies::ModelSpec model = scenarios::import_hf_config(text, "config.json", "fuzzed");
    const strategies::ParameterCount count = strategies::count_parameters(model);
    if (count.active <= 0 || count.active > count.total) std::abort();
  } catch (const scenarios::InputError& refused) {
    if (std::string_view(refused.what()).find("error: ") == std::string_view::npos) std::abort();
  }
  return 0;
}
