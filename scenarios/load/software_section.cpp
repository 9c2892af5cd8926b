#include "scenarios/load/catalog_choice.h"
#include "scenarios/load/load_catalog.h"
#include "scenarios/load/sections.h"

namespace scenarios {

std::optional<SoftwareStack> read_software(const Value& value, Reading& reading) {
  return read_choice<SoftwareStack>(value, "software", "megatron-core", &Catalog::software, load_software, reading);
}

}  // namespace scenarios
