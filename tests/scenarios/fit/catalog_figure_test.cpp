#include "scenarios/fit/catalog_figure.h"

#include <gtest/gtest.h>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

const std::string kText =
    "# kernel_launch: 7 us\n"
    "host_speed: 0.6\n"
    "implementation:\n"
    "  kernel_launch: 5 us\n"
    "prices:\n"
    "  kernel_launch: 80 us  # guessed\n"
    "  collective_launch: 190 ns\n"
    "confidence: B\n"
    "  synchronize: 10 us\n"
    "source:\n"
    "  - \"host_speed: 0.9\"\n";

TEST(CatalogFigure, IsReadFromItsSection) {
  struct Case {
    const char *key, *unit;
    std::optional<double> value;
  };
  for (const Case& c : {Case{"host_speed", "", 0.6}, Case{"prices.kernel_launch", "us", 80},
                        Case{"implementation.kernel_launch", "us", 5}, Case{"prices.collective_launch", "ns", 190},
                        Case{"prices.collective_launch", "us", {}},  // another unit
                        Case{"host_speed", "us", {}}, Case{"kernel_launch", "us", {}},
                        Case{"prices.synchronize", "us", {}},  // behind the section
                        Case{"confidence", "", {}}, Case{"prices", "", {}}, Case{"", "", {}}}) {
    EXPECT_EQ(read_figure(kText, c.key, c.unit), c.value) << c.key << " " << c.unit;
  }
}

TEST(CatalogFigure, WritingChangesTheNumberAlone) {
  std::string expected = kText;
  expected.replace(expected.find("80 us"), 5, "1234.5 us");
  const std::string written = write_figure(kText, "prices.kernel_launch", "us", 1234.5);
  EXPECT_EQ(written, expected);
  EXPECT_EQ(write_figure(written, "prices.kernel_launch", "us", 80), kText);
  EXPECT_THROW(write_figure(kText, "prices.nothing", "us", 1), InputError);
}

TEST(CatalogFigure, NineDigitsSurvive) {
  const std::string written = write_figure("a: 1\n", "a", "", 0.123456789);
  EXPECT_EQ(read_figure(written, "a", ""), 0.123456789);
}

}  // namespace
}  // namespace scenarios
