// The figures of the catalogue that are fitted to measured steps, because nothing else tells them. One table line each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/catalog.h"

namespace scenarios {

struct FittedParameter {
  std::string name;                ///< "kernel launch, nanotron"
  std::string kind;                ///< folder of the catalogue
  std::vector<std::string> files;  ///< all of them carry the same value
  std::string key, unit;           ///< "prices.kernel_launch", "us"; "" = no unit
  double low = 0, high = 0;        ///< 0 < low < high, in that unit
  /// What we would believe without any run: a guess weighs next to nothing beside a few rows that know better, a
  /// measurement of the part itself as much as fifteen (robust_fit.h).
  double prior = 0;
  bool measured = false;
  std::string why;  ///< why it cannot be known from first principles
};

/// All of them; docs/accuracy.md lists them in this order.
std::vector<FittedParameter> fitted_parameters();

/// In the parameter's unit. Throws InputError when a file does not hold it or the files differ.
double value_in(const Catalog& catalog, const FittedParameter& parameter);
/// Into every file of the parameter.
void set_value(Catalog& catalog, const FittedParameter& parameter, double value);

}  // namespace scenarios
