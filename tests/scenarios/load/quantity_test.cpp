#include "scenarios/load/quantity.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace scenarios {
namespace {

using enum QuantityKind;

struct GoodQuantity {
  QuantityKind kind;
  const char* text;
  double value;
};

TEST(QuantityTest, ReadsUnits) {
  const std::array good{
      GoodQuantity{kBytes, "80 GB", 80e9},
      GoodQuantity{kBytes, "80GiB", 85899345920.0},
      GoodQuantity{kBytes, "0.5 kB", 500},
      GoodQuantity{kBytes, "50 MiB", 52428800},
      GoodQuantity{kBytes, "7 B", 7},
      GoodQuantity{kBandwidth, "900 GB/s", 900e9},
      GoodQuantity{kBandwidth, "400 Gb/s", 50e9},
      GoodQuantity{kBandwidth, "400Gbps", 50e9},
      GoodQuantity{kBandwidth, "400 Gbit/s", 50e9},
      GoodQuantity{kBandwidth, "1 GiB/s", 1073741824.0},
      GoodQuantity{kBandwidth, "25 GBps", 25e9},
      GoodQuantity{kFlopRate, "989 TFLOP/s", 989e12},
      GoodQuantity{kFlopRate, "989 TFLOPS", 989e12},
      GoodQuantity{kFlopRate, "1.5 PFLOPs", 1.5e15},
      GoodQuantity{kTime, "5us", 5e-6},
      GoodQuantity{kTime, "5 \u00b5s", 5e-6},
      GoodQuantity{kTime, "6 h", 21600},
      GoodQuantity{kTime, "150 days", 12960000},
      GoodQuantity{kTime, "0 s", 0},
      GoodQuantity{kFrequency, "1830 MHz", 1.83e9},
      GoodQuantity{kPower, "10.2 kW", 10200},
      GoodQuantity{kTokens, "15T", 15e12},
      GoodQuantity{kTokens, "15T tokens", 15e12},
      GoodQuantity{kTokens, " 1e12 tokens ", 1e12},
      GoodQuantity{kTokens, "300 B", 300e9},
  };
  for (const GoodQuantity& quantity : good) {
    const ParsedQuantity parsed = parse_quantity(quantity.kind, quantity.text);
    EXPECT_EQ(parsed.error, "") << quantity.text;
    EXPECT_DOUBLE_EQ(parsed.value, quantity.value) << quantity.text;
  }
}

struct BadQuantity {
  QuantityKind kind;
  const char *text, *error, *advice;
};

TEST(QuantityTest, RefusesWhatIsNotOfTheKind) {
  const std::array bad{
      BadQuantity{kBandwidth, "900", "'900' has no unit", "write 900 GB/s"},
      BadQuantity{kBandwidth, "900 GB", "'900 GB' is an amount of bytes", "write 900 GB/s"},
      BadQuantity{kBandwidth, "400 Gb", "'400 Gb' is an amount of bits", "write 400 Gb/s"},
      BadQuantity{kBandwidth, "400 gb/s", "'400 gb/s' could be bits or bytes", "write 400 GB/s or 400 Gb/s"},
      BadQuantity{kBandwidth, "9 s", "'9 s' is a time", "write 9 GB/s"},
      BadQuantity{kBytes, "80 Gb", "'80 Gb' is an amount of bits", "write 80 GB"},
      BadQuantity{kBytes, "80 gib", "'80 gib' has an unknown unit 'gib'", "write 80 GiB"},
      BadQuantity{kBytes, "80 GB/s", "'80 GB/s' is a bandwidth", "write 80 GB"},
      BadQuantity{kBytes, "-1 GB", "'-1 GB' is negative", ""},
      BadQuantity{kBytes, "eighty", "'eighty' is not a number with a unit",
                  "write a number and a unit, such as 100 GB"},
      BadQuantity{kBytes, "inf GB", "'inf GB' is not a number with a unit",
                  "write a number and a unit, such as 100 GB"},
      BadQuantity{kBytes, "nan GB", "'nan GB' is not a number with a unit",
                  "write a number and a unit, such as 100 GB"},
      BadQuantity{kBytes, ".inf", "'.inf' is not a number with a unit", "write a number and a unit, such as 100 GB"},
      BadQuantity{kBytes, "0x10 GB", "'0x10 GB' has an unknown unit 'x10 GB'", "write 0 GB"},
      BadQuantity{kBytes, "1e400 GB", "'1e400 GB' is out of range", "write a number and a unit, such as 100 GB"},
      BadQuantity{kBytes, "1e300 PB", "'1e300 PB' is out of range", "write a number and a unit, such as 100 GB"},
      BadQuantity{kBytes, "", "'' is not a number with a unit", "write a number and a unit, such as 100 GB"},
      BadQuantity{kTime, "5", "'5' has no unit", "write 5 us, 5 ms or 5 s"},
      BadQuantity{kTime, "5 m", "'5 m' could be minutes or milliseconds", "write 5 min or 5 ms"},
      BadQuantity{kFlopRate, "989 TFLOP", "'989 TFLOP' has an unknown unit 'TFLOP'", "write 989 TFLOP/s"},
      BadQuantity{kFrequency, "1.8 ghz", "'1.8 ghz' has an unknown unit 'ghz'", "write 1.8 GHz"},
      BadQuantity{kTokens, "15", "'15' has no unit", "write 15B or 15T"},
      BadQuantity{kTokens, "15000000000", "'15000000000' has no unit", "write 15000000000 tokens"},
      BadQuantity{kTokens, "15t", "'15t' has an unknown unit 't'", "write 15 T"},
  };
  for (const BadQuantity& quantity : bad) {
    const ParsedQuantity parsed = parse_quantity(quantity.kind, quantity.text);
    EXPECT_EQ(parsed.error, quantity.error) << quantity.text;
    EXPECT_EQ(parsed.advice, quantity.advice) << quantity.text;
  }
}

TEST(QuantityTest, LongTextIsNotRepeated) {
  EXPECT_EQ(parse_quantity(kBytes, std::string(1000, '1')).error,
            "'" + std::string(40, '1') + "...' is not a number with a unit");
}

TEST(QuantityTest, PrintsWhatItReads) {
  for (const auto& [kind, text, value] : {GoodQuantity{kBytes, "80 GB", 80e9},
                                          {kBandwidth, "900 GB/s", 900e9},
                                          {kFlopRate, "989 TFLOP/s", 989e12},
                                          {kTime, "5 us", 5e-6},
                                          {kTime, "3 days", 259200},
                                          {kTime, "0 s", 0},
                                          {kFrequency, "1.83 GHz", 1.83e9},
                                          {kPower, "700 W", 700},
                                          {kTokens, "1.5e+13 tokens", 15e12}}) {
    EXPECT_EQ(print_quantity(kind, value), text);
    EXPECT_DOUBLE_EQ(parse_quantity(kind, text).value, value);
  }
}

}  // namespace
}  // namespace scenarios
