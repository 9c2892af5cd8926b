#include "scenarios/report/markup.h"

#include <gtest/gtest.h>

namespace scenarios {
namespace {

TEST(Markup, EscapesWhatMarkupWouldRead) {
  EXPECT_EQ(escape_markup("a < b && \"c\" > d"), "a &lt; b &amp;&amp; &quot;c&quot; &gt; d");
  EXPECT_EQ(escape_markup(""), "");
}

}  // namespace
}  // namespace scenarios
