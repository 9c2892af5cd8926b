// Strong physical units. Every interface speaks in these; a mix-up of seconds and bytes does not compile.
#pragma once

#include <compare>
#include <cstdint>

namespace hw_models {

/// A number with a unit. Construction is explicit; only the operators physics allows exist.
template <class Tag, class Rep>
class Quantity {
 public:
  constexpr Quantity() = default;
  explicit constexpr Quantity(Rep value) : value_(value) {}
  /// The bare number in the unit's base (seconds, bytes, ...). For numeric kernels; name the variable with the unit.
  constexpr Rep value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) { return value_ += other.value_, *this; }
  constexpr Quantity& operator-=(Quantity other) { return value_ -= other.value_, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, Rep factor) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator/(Quantity a, Rep divisor) { return Quantity(a.value_ / divisor); }
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value_) / static_cast<double>(b.value_);
  }

 private:
  Rep value_{};
};

using Seconds = Quantity<struct SecondsTag, double>;
using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;  ///< floating-point operations; a multiply-add is two
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;
using Watts = Quantity<struct WattsTag, double>;

constexpr Seconds operator/(Bytes amount, BytesPerSecond rate) {
  return Seconds(static_cast<double>(amount.value()) / rate.value());
}
constexpr Seconds operator/(Flops work, FlopsPerSecond rate) { return Seconds(work.value() / rate.value()); }

}  // namespace hw_models
