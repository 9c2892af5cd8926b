#include "tests/strategies/program/random_program.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "strategies/program/text_fields.h"

namespace tests {
namespace {

using namespace strategies;  // NOLINT(google-build-using-namespace): every name here is the Program's

class Source {
 public:
  explicit Source(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  bool coin() { return below(2) == 0; }

  template <class T>
  void fill(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = coin();
    } else if constexpr (text::kCount<T> > 0) {
      value = static_cast<T>(below(text::kCount<T>));
    } else if constexpr (std::is_integral_v<T>) {
      value = integer<T>();
    } else {
      value = real();
    }
  }
  void fill(hw_models::Bytes& bytes) { bytes = hw_models::Bytes(integer<std::int64_t>()); }
  void fill(OperationId& id) { fill(id.value); }
  void fill(BufferId& id) { fill(id.value); }
  void fill(GroupId& id) { fill(id.value); }
  void fill(std::string& text) {
    // Quotes, separators, control and non-ASCII bytes included.
    static const std::string kLetters = std::string("ab \"\\=,:;x\n\t\x01\x7f\xc3\xa9") + '\0';
    text.clear();
    for (std::uint64_t i = below(6); i > 0; --i) text.push_back(kLetters[below(kLetters.size())]);
  }
  void fill(CrossDependence& d) { fill(d.steps_back), fill(d.action), fill(d.operation), fill(d.dependent); }
  void fill(Group::Span& span) { fill(span.dimension), fill(span.coordinates); }
  template <class T>
  void fill(std::vector<T>& values) {
    values.resize(below(4));
    for (T& value : values) fill(value);
  }

  template <class T>
  T fields() {
    T owner{};
    std::apply([&](const auto&... f) { (maybe_fill(owner.*f.member), ...); }, text::Description<T>::kFields);
    return owner;
  }

 private:
  /// Half of the fields keep their defaults.
  template <class T>
  void maybe_fill(T& value) {
    if (coin()) fill(value);
  }
  template <class T>
  T integer() {
    switch (below(4)) {
      case 0:
        return static_cast<T>(below(3));
      case 1:
        return std::numeric_limits<T>::max();
      case 2:
        return std::numeric_limits<T>::lowest();
      default:
        return static_cast<T>(engine_());
    }
  }
  double real() {
    static constexpr double kSpecial[] = {0, 0.1, -1.5, 1e-300, 1e300, 5e-324, 1.0 / 3, 123456789.125};
    if (coin()) return kSpecial[below(std::size(kSpecial))];
    return static_cast<double>(engine_()) / 3e9;
  }

  std::mt19937_64 engine_;
};

template <class Variant, std::size_t... I>
Variant alternative(Source& source, std::size_t index, std::index_sequence<I...>) {
  Variant result;
  ((I == index ? static_cast<void>(result = source.fields<std::variant_alternative_t<I, Variant>>()) : void()), ...);
  return result;
}

Operation random_operation(Source& source) {
  Operation operation = source.fields<Operation>();
  source.fill(operation.lane);
  operation.origin = source.fields<Origin>();
  switch (source.below(6)) {
    case 0: {
      auto collective = source.fields<Collective>();
      source.fill(collective.kind);
      operation.work = collective;
      break;
    }
    case 1:
      operation.work = source.fields<Send>();
      break;
    case 2:
      operation.work = source.fields<Receive>();
      break;
    case 3:
      operation.work = source.fields<Host>();
      break;
    case 4:
      operation.work = source.fields<Checkpoint>();
      break;
    default: {
      constexpr std::size_t kKernels = std::variant_size_v<hw_models::Kernel>;
      operation.work =
          Compute{alternative<hw_models::Kernel>(source, source.below(kKernels), std::make_index_sequence<kKernels>())};
    }
  }
  return operation;
}

Role random_role(Source& source) {
  Role role = source.fields<Role>();
  source.fill(role.name);
  for (std::uint64_t i = source.below(4); i > 0; --i) {
    Buffer& buffer = role.buffers.emplace_back(source.fields<Buffer>());
    source.fill(buffer.name);
    buffer.slice = source.fields<TensorSlice>();
  }
  for (std::uint64_t i = source.below(4); i > 0; --i) {
    Block& block = role.blocks.emplace_back(source.fields<Block>());
    source.fill(block.kind);
    for (std::uint64_t o = source.below(8); o > 0; --o) block.operations.push_back(random_operation(source));
  }
  for (std::uint64_t i = source.below(5); i > 0; --i) role.schedule.push_back(source.fields<Action>());
  return role;
}

}  // namespace

Program random_program(std::uint64_t seed) {
  Source source(seed);
  Program program = source.fields<Program>();
  source.fill(program.implementation);
  source.fill(program.stage_of_virtual);
  program.views.resize(source.below(3));
  for (Mesh& view : program.views) {
    view.dimensions.resize(source.below(4));
    for (Dimension& dimension : view.dimensions) source.fill(dimension.name), source.fill(dimension.extent);
  }
  for (std::uint64_t i = source.below(3); i > 0; --i) {
    source.fill(program.groups.emplace_back(source.fields<Group>()).name);
  }
  for (std::uint64_t i = source.below(3); i > 0; --i) program.roles.push_back(random_role(source));
  for (std::uint64_t i = source.below(4); i > 0; --i) {
    program.role_of_rank.insert(program.role_of_rank.end(), source.below(5),
                                static_cast<std::uint32_t>(source.below(3)));
  }
  return program;
}

}  // namespace tests
