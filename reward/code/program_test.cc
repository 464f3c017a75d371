#include "reward/code/program.h"

#include "gtest/gtest.h"
#include "reward/code/python_program.h"

namespace sluice {
namespace {

std::string Python(const std::string& completion) {
  return FindProgram(completion, CodeLanguage::kPython).source;
}

TEST(Program, IsTheLastBlock) {
  EXPECT_EQ(Python("x = 1\n"), "x = 1\n");
  EXPECT_EQ(Python("    return 1\n"), "    return 1\n");
  EXPECT_EQ(Python("a\n```python\nx = 1\n```\nb\n```py\nx = 2\n```\nc"), "x = 2\n");
  EXPECT_EQ(Python("```\nx = 1\n```"), "x = 1\n");
  EXPECT_EQ(Python("~~~ python\nx = 1\n```\n~~~"), "x = 1\n```\n");
  EXPECT_EQ(Python("````python\nx = '''\n```\n'''\n````\n"), "x = '''\n```\n'''\n");
  EXPECT_EQ(Python("```{.python .numberLines}\nx = 1\n```"), "x = 1\n");
  EXPECT_EQ(Python("```Python3\r\nx = 1\r\n```\r\n"), "x = 1\r\n");
}

TEST(Program, SurvivesACutOffEnd) {
  EXPECT_EQ(Python("text\n```python\nx = 1\ny = "), "x = 1\ny = \n");
  EXPECT_EQ(Python("```python\nx = 1\n```\n```python\nx = 2"), "x = 2\n");
}

TEST(Program, PassesOverOtherLanguages) {
  EXPECT_EQ(Python("```python\nx = 1\n```\nRun it:\n```bash\npython x.py\n```\n```text\n1\n```"), "x = 1\n");
  EXPECT_EQ(Python("```text\nx = 1\n```"), "x = 1\n");
  EXPECT_EQ(FindProgram("```python\nx\n```\n```c++\nint x;\n```", CodeLanguage::kCpp).source, "int x;\n");
}

TEST(Program, PassesOverItsOutputInABlockWithoutAName) {
  EXPECT_EQ(Python("```python\nprint(4)\n```\nOutput:\n```\n4\n```\n"), "print(4)\n");
  EXPECT_EQ(Python("```\nx = 1\n```\n```\nx = 2\n```\n"), "x = 2\n");
}

TEST(Program, NestedFencesBelongToTheProgram) {
  EXPECT_EQ(Python("```python\ndef f():\n    \"\"\"\n    ```\n    f()\n    ```\n    \"\"\"\n```"),
            "def f():\n    \"\"\"\n    ```\n    f()\n    ```\n    \"\"\"\n");
  EXPECT_EQ(Python("```python\ns = '''\n```sql\nselect\n```\n'''\n```\n"),
            "s = '''\n```sql\nselect\n```\n'''\n");
  EXPECT_EQ(Python("````markdown\ntext\n```python\nx = 1\n```\nmore\n````\n"), "x = 1\n");
  EXPECT_EQ(Python("1. Do\n   ```python\n   if x:\n       y\n   ```\n"), "if x:\n    y\n");
}

TEST(Program, IsOutsideTheReasoning) {
  EXPECT_EQ(Python("<think>```python\nx = 1\n```</think>\n```python\nx = 2\n```"), "x = 2\n");
  EXPECT_EQ(Python("```python\nx = 1\n```</think>x = 3"), "x = 3");
  EXPECT_FALSE(FindProgram("<think>```python\nx = 1\n```", CodeLanguage::kPython).missing.empty());
  EXPECT_FALSE(FindProgram("<think>a</think>  \n", CodeLanguage::kPython).missing.empty());
  EXPECT_FALSE(FindProgram("```python\n```", CodeLanguage::kPython).missing.empty());
}

TEST(Program, IsWithoutAByteOrderMark) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(Python(mark + "x = 1\n"), "x = 1\n");
  EXPECT_EQ(Python(mark + "```python\nx = 1\n```"), "x = 1\n");
  EXPECT_EQ(Python("```python\n" + mark + "x = 1\n```"), "x = 1\n");
  EXPECT_EQ(Python("   ```python\n   " + mark + "x = 1\n   ```"), "x = 1\n");
  EXPECT_EQ(Python(mark + "<think>a</think>" + mark + "x = 3"), "x = 3");
  EXPECT_FALSE(FindProgram(mark + "<think>x = 1", CodeLanguage::kPython).missing.empty());
  EXPECT_FALSE(FindProgram("```python\n" + mark + "\n```", CodeLanguage::kPython).missing.empty());
  EXPECT_EQ(Python("x = '" + mark + "'\n"), "x = '" + mark + "'\n");  // within it belongs to the program
}

TEST(Program, OfTenMegabytesIsFoundInLinearTime) {
  std::string fences;
  while (fences.size() < (size_t{10} << 20)) fences += "```python\nx = 1\n``` \n~~~\n<think>\n~~~\n";
  EXPECT_EQ(FindProgram(fences, CodeLanguage::kPython).source, "x = 1\n");
}

TEST(ContinuedSources, ReadsBodiesAndWholeFunctions) {
  const std::string head = "import math\n\ndef f(x):\n    \"\"\" doc \"\"\"\n";
  auto sources = ContinuedSources(head, "    return x\n", "f");
  EXPECT_EQ(sources[0], head + "    return x\n");
  EXPECT_EQ(ContinuedSources(head, "return x", "f")[2], head + "    return x\n");
  EXPECT_EQ(ContinuedSources(head, "    return x\n\nprint(f(", "f")[3], head + "    return x\n\n");
  EXPECT_EQ(ContinuedSources(head, "def f(x):\n    return x\n", "f")[0],
            head + "\n    pass\n\ndef f(x):\n    return x\n");
  // A call of the function or a longer name does not define it.
  EXPECT_EQ(ContinuedSources(head, "    def ff(y): return f(y)\n    return 1\n", "f")[0],
            head + "    def ff(y): return f(y)\n    return 1\n");
}

}  // namespace
}  // namespace sluice
