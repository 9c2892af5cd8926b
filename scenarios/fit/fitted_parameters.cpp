#include "scenarios/fit/fitted_parameters.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "scenarios/fit/catalog_figure.h"
#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

const std::string& text_of(const Catalog& catalog, const FittedParameter& parameter, const std::string& file) {
  const CatalogFile* found = catalog.find(parameter.kind, file);
  if (found == nullptr) throw InputError(fmt::format("error: the catalogue has no {}/{}.yaml\n", parameter.kind, file));
  return found->text;
}

}  // namespace

std::vector<FittedParameter> fitted_parameters() {
  const std::vector<std::string> nanotrons{"nanotron", "nanotron-before-pp-fix"}, core{"megatron-core"};
  const std::vector<std::string> a100_hosts{"dgx-a100",      "dgx-a100-40gb",    "hgx-a100",   "hgx-a100-4x100g",
                                            "hgx-a800",      "nd96amsr-a100-v4", "nd96asr-v4", "p4d.24xlarge",
                                            "p4de.24xlarge", "pcie-a100-8"};
  const char* python = "Python, autograd and checks around one operation; nobody publishes host traces";
  const char* power =
      "the clock under the power limit depends on silicon, cooling and operands; sweeps measure single products";
  const char* member =
      "probably torch checking collectives in debug mode, in jobs of several nodes; no figure is published";
  const char* kernels = "which kernel cuBLAS 11 picks for heads of no multiple of 8 is not documented";
  const char* ring = "what a ring step costs under load; the plugin states an unloaded figure";
  const char* host = "single-thread speed of Python and driver on that CPU";
  return {
      {"kernel launch, nanotron", "software", nanotrons, "prices.kernel_launch", "us", 4, 400, 40, false, python},
      {"collective member, nanotron",
       "software",
       {"nanotron"},
       "prices.collective_member",
       "us",
       1,
       2000,
       1,
       false,
       member},
      {"kernel launch, megatron-core", "software", core, "prices.kernel_launch", "us", 4, 400, 40, false, python},
      {"host speed, A100 hosts", "nodes", a100_hosts, "host_speed", "", 0.2, 2, 1, false, host},
      {"host speed, Grace", "nodes", {"gb200-nvl72", "gb300-nvl72"}, "host_speed", "", 0.2, 2, 1, false, host},
      {"sustained clock, A100", "gpus", {"a100-sxm-80gb"}, "sustained_clock", "", 0.5, 1, 0.985, true, power},
      {"sustained clock, H100", "gpus", {"h100-sxm-80gb"}, "sustained_clock", "", 0.5, 1, 0.936, true, power},
      {"misaligned heads, A100", "gpus", {"a100-sxm-80gb"}, "misaligned_efficiency", "", 0.05, 1, 1, false, kernels},
      {"step latency, EFA v2", "fabrics", {"efa-v2"}, "endpoint_latency", "us", 5, 2000, 75, false, ring},
  };
}

double value_in(const Catalog& catalog, const FittedParameter& parameter) {
  std::optional<double> value;
  for (const std::string& file : parameter.files) {
    const std::optional<double> read = read_figure(text_of(catalog, parameter, file), parameter.key, parameter.unit);
    if (!read) {
      throw InputError(fmt::format("error: catalog:{}/{}.yaml has no line '{}: NUMBER {}'\n", parameter.kind, file,
                                   parameter.key, parameter.unit));
    }
    if (value && *value != *read) {
      throw InputError(fmt::format("error: catalog:{}/{}.yaml has another '{}' than {}.yaml\n", parameter.kind, file,
                                   parameter.key, parameter.files.front()));
    }
    value = read;
  }
  return value.value();
}

void set_value(Catalog& catalog, const FittedParameter& parameter, double value) {
  for (const std::string& file : parameter.files) {
    catalog.replace(parameter.kind, file,
                    write_figure(text_of(catalog, parameter, file), parameter.key, parameter.unit, value));
  }
}

}  // namespace scenarios
