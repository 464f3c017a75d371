// The scorer as its users see it: rows in, judgements out, programs in the real sandbox.
#include "reward/code/code_scorer.h"

#include <thread>

#include "gmock/gmock.h"
#include "reward/code/code_test_bench.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Fields = std::map<std::string, std::string>;

ItemJudgement Judge(const CodeScorerSpec& spec, const std::string& completion, Fields fields) {
  return CodeTestBench::Get().Judge(spec, completion, std::move(fields));
}

CodeScorerSpec Spec(CodeTests tests, CodeComparison comparison = CodeComparison::kTokens) {
  CodeScorerSpec spec;
  spec.tests = tests;
  spec.comparison = comparison;
  spec.timeout_seconds = 2;
  return spec;
}

ItemJudgement Assert(const std::string& program, const std::string& asserts, const std::string& setup = "") {
  return Judge(Spec(CodeTests::kAsserts), program, {{"tests", asserts}, {"setup", setup}});
}
ItemJudgement Stdio(const std::string& program, const std::string& tests,
                    CodeComparison comparison = CodeComparison::kTokens) {
  return Judge(Spec(CodeTests::kStdio, comparison), program, {{"tests", tests}});
}
ItemJudgement Function(const std::string& program, const std::string& tests,
                       CodeComparison comparison = CodeComparison::kExact) {
  return Judge(Spec(CodeTests::kFunction, comparison), program, {{"tests", tests}});
}

TEST(CodeScorer, AssertsSeeTheFunctionOnly) {
  ItemJudgement right = Assert("def f(x): return x * x", R"(["assert f(2) == 4", "assert f(-3) == 9"])");
  EXPECT_EQ(right.kind, VerdictKind::kCorrect) << right.detail;
  EXPECT_EQ(right.outcome, "passed");
  ASSERT_EQ(right.tests.size(), 2u);
  EXPECT_GT(right.tests[0].memory_bytes, 0);
  EXPECT_GT(right.tests[0].seconds, 0);
  ItemJudgement wrong = Assert("def f(x): return x + x", R"(["assert f(2) == 4", "assert f(-3) == 9"])");
  EXPECT_EQ(wrong.kind, VerdictKind::kWrong);
  EXPECT_EQ(wrong.outcome, "wrong_answer");
  EXPECT_EQ(wrong.tests[0].outcome, "passed");
  EXPECT_THAT(wrong.detail, Not(HasSubstr("9")));
}

TEST(CodeScorer, AByteOrderMarkIsNoError) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(Assert(mark + "def f(x): return x * x", R"(["assert f(2) == 4"])").outcome, "passed");
  EXPECT_EQ(Stdio("```python\n" + mark + "print(input())\n```", R"([{"stdin": "a", "expected_stdout": "a"}])")
                .outcome,
            "passed");
}

// What a program finds around it is the same in each test, whatever it left in the one before.
TEST(CodeScorer, TestsOfACompletionSeeNothingOfEachOther) {
  constexpr char kProgram[] =
      "import os\n"
      "def state():\n"
      "  for top in ('/work', '/tmp', '/dev/shm'):\n"
      "    yield top, os.listdir(top), os.stat(top).st_mode & 0o7777, os.stat(top).st_mtime_ns == 0\n"
      "    for name in os.listdir(top): yield name\n"
      "print(list(state()))\n"
      "for top in ('/work', '/tmp', '/dev/shm'):\n"
      "  os.makedirs(top + '/a/b')\n"
      "  open(top + '/a/b/.c', 'w').write('x' * 100000)\n"
      "  os.chmod(top + '/a', 0)\n"
      "  os.mkfifo(top + '/\\xff odd')\n"
      "  os.symlink('/', top + '/link')\n"
      "  os.utime(top, ns=(0, 0))\n"
      "  os.chmod(top, 0o100)\n";
  const std::string clean =
      "[('/work', [], 448, False), ('/tmp', [], 448, False), ('/dev/shm', [], 448, False)]";
  const nlohmann::json test = {{"stdin", ""}, {"expected_stdout", clean}};
  ItemJudgement judged = Stdio(kProgram, nlohmann::json::array({test, test, test}).dump());
  EXPECT_EQ(judged.outcome, "passed") << judged.detail;
  EXPECT_EQ(judged.tests.size(), 3u);
}

TEST(CodeScorer, ShareIsGraded) {
  CodeScorerSpec spec = Spec(CodeTests::kAsserts);
  spec.credit = CodeCredit::kShare;
  ItemJudgement half = Judge(spec, "def f(x): return x + x",
                             {{"tests", R"({"asserts": ["assert f(2) == 4", "assert f(3) == 9"]})"}});
  EXPECT_EQ(half.kind, VerdictKind::kGraded);
  EXPECT_EQ(half.value, 0.5);
}

TEST(CodeScorer, ClassesOfFailures) {
  const std::string one = R"(["assert f(2) == 4"])";
  EXPECT_EQ(Assert("def f(x) return x", one).outcome, "compile_error");
  EXPECT_EQ(Assert("def g(x): return 4", one).outcome, "runtime_error");
  EXPECT_EQ(Assert("def f(x): return 1 / 0", one).outcome, "runtime_error");
  EXPECT_EQ(Assert("def f(x):\n  while True: pass", one).outcome, "time_limit");
  EXPECT_EQ(Assert("while True: pass", one).outcome, "time_limit");
  EXPECT_EQ(Assert("def f(x): return len(bytearray(2 << 30))", one).outcome, "memory_limit");
  EXPECT_EQ(Assert("def f(x):\n  a = []\n  while True: a.append(bytes(1 << 20))", one).outcome,
            "memory_limit");
  EXPECT_EQ(Assert("def f(x):\n  while True: print('x' * 100000)", one).outcome, "output_limit");
  EXPECT_EQ(Assert("def f(x): return 'x' * (1 << 27)", one).outcome, "output_limit");
  EXPECT_EQ(Assert("import sys\nsys.exit(0)", one).outcome, "runtime_error");
  EXPECT_EQ(Assert("", one).outcome, "compile_error");
}

TEST(CodeScorer, HacksDoNotPay) {
  const std::string one = R"(["assert f(2) == 48611"])";
  for (const char* program : {
           "import os\nos._exit(0)",
           "def f(x):\n  import os\n  os._exit(0)",
           "def f(x):\n  raise SystemExit(0)",
           "import unittest\ndef f(x):\n  raise unittest.SkipTest('later')",
           "class E:\n  def __eq__(self, o): return True\n  def __ne__(self, o): return False\ndef f(x): "
           "return E()",
           "class E(int):\n  def __eq__(self, o): return True\n  __hash__ = None\ndef f(x): return E(3)",
           "class f:\n  def __init__(self, x): pass\n  def __eq__(self, o): return True",
           "import sys\ndef f(x):\n  i = 0\n  while True:\n    try: frame = sys._getframe(i)\n    except "
           "ValueError: return None\n"
           "    for c in frame.f_code.co_consts:\n      if isinstance(c, int) and c > 40000: return c\n    i "
           "+= 1",
           "import builtins\nbuiltins.AssertionError = KeyError\nbuiltins.abs = lambda v: 0\ndef f(x): "
           "return 5",
           "import os\nos.write(3, b'\\x09\\0\\0\\0(\\x01\\0\\0\\0u\\0\\0\\0\\0')\ndef f(x): return 5",
           "import marshal, os\nm = marshal.dumps(('end', 0, 'passed', ''), 2)\n"
           "os.write(3, len(m).to_bytes(4, 'little') + m)\ndef f(x): return 5",
           "import os\ndef f(x):\n  os.close(3)\n  return 5",
           "import sys, types\nm = types.ModuleType('sluice_harness')\nsys.modules['sluice_harness'] = "
           "m\ndef f(x): return 5",
       }) {
    ItemJudgement judged = Assert(program, one);
    EXPECT_EQ(judged.kind, VerdictKind::kWrong) << program << "\n" << judged.detail;
    EXPECT_TRUE(judged.stamps.empty()) << program;
  }
  EXPECT_EQ(Assert("def f(x): return 9.0\ndef abs(x): return 0", R"(["assert abs(f(2) - 4) < 1e-6"])").kind,
            VerdictKind::kWrong);
}

TEST(CodeScorer, ForgedMessagesAreData) {
  const std::string forge =
      "import marshal, os\ndef tell(*m):\n  d = marshal.dumps(m, 2)\n  os.write(3, len(d).to_bytes(4, "
      "'little') + d)\n";
  const std::string one = R"(["assert LIMIT == 48611"])";
  for (const char* lie : {
           "tell('loaded', {'LIMIT': ('from', 'unittest.mock', 'ANY')})",
           "tell('loaded', {'LIMIT': ('module', 'this')})",
           "tell('loaded', {'LIMIT': ('value',)})\ntell('value', True, (..., 'type', 'exec'), False, None)",
           "tell('loaded', {'LIMIT': 3})",
           "tell('loaded', 5)",
           "tell('loaded', {'LIMIT': ('exception', [3])})",
           "tell('loaded', {'LIMIT': ('value',)})\ntell('raise', ['\\0'], 3, None)",
           "tell('end', 0, 'passed', '')",
           "tell('loaded', {'LIMIT': ('value',)})\ntell('value', True, (..., 'iterator', 5), False, None)",
           "os.write(3, b'\\xff\\xff\\xff\\xff')",
           "os.write(3, b'\\1\\0\\0\\0c')",
       }) {
    ItemJudgement judged = Assert(forge + lie + "\n", one);
    EXPECT_EQ(judged.kind, VerdictKind::kWrong) << lie << "\n" << judged.detail;
  }
  // The process of the tests is none the worse for it.
  EXPECT_EQ(Assert("LIMIT = 48611", one).kind, VerdictKind::kCorrect);
}

TEST(CodeScorer, AssertsMayUseMoreThanPlainCalls) {
  auto passes = [](const std::string& program, const std::string& test, const std::string& setup = "") {
    ItemJudgement judged = Assert(program, nlohmann::json::array({test}).dump(), setup);
    EXPECT_EQ(judged.kind, VerdictKind::kCorrect) << program << "\n" << test << "\n" << judged.detail;
    return judged.stamps;
  };
  EXPECT_TRUE(passes("def sum(a, b): return a * b", "assert sum(2, 3) == 6").empty());
  EXPECT_TRUE(passes("def sum(a, b): return [a, b]", "assert set(sum(2, 3)) == {2, 3}").empty());
  EXPECT_TRUE(passes("def f(l): l.append([1]); l[0].clear()",
                     "a = [[5]]\nb = a[0]\nf(a)\nassert a == [[], [1]] and b is a[0]")
                  .empty());
  EXPECT_TRUE(
      passes("def f(x): raise ValueError('bad', x)",
             "try:\n  f(1)\nexcept ValueError as e:\n  assert e.args == ('bad', 1)\nelse:\n  assert False")
          .empty());
  EXPECT_TRUE(passes("class Bad(KeyError): pass\ndef f(x): raise Bad(x)",
                     "try:\n  f(1)\n  assert False\nexcept Bad as e:\n  assert isinstance(e, KeyError)")
                  .empty());
  EXPECT_TRUE(
      passes("import math\ndef f(x): return math.pi", "assert math.isclose(f(0), 3.14159, rel_tol=1e-4)")
          .empty());
  EXPECT_TRUE(passes("LIMIT = [1, 2]\ndef f(x): return x in LIMIT", "assert f(LIMIT[0])").empty());
  EXPECT_TRUE(passes("def f(n):\n  for i in range(n): yield i", "assert list(f(3)) == [0, 1, 2]").empty());
  EXPECT_TRUE(passes("import itertools\ndef f(): return itertools.count()", "assert next(f()) == 0").empty());
  EXPECT_TRUE(passes("from collections import Counter, OrderedDict, deque, namedtuple\n"
                     "P = namedtuple('P', 'x y')\ndef f(): return [Counter('aab'), OrderedDict(a=1), P(1, "
                     "2), deque([1])]",
                     "a, b, c, d = f()\nassert a == {'a': 2, 'b': 1} and b == {'a': 1} and c == (1, 2) and "
                     "list(d) == [1]")
                  .empty());
  EXPECT_TRUE(passes("import re\ndef f(s): return re.match('a', s)", "assert f('abc')").empty());
  EXPECT_TRUE(passes("def f(): return 2 ** 200, 1j, b'x', frozenset([1]), None, float('inf')",
                     "assert f() == (2 ** 200, 1j, b'x', frozenset([1]), None, float('inf'))")
                  .empty());
  EXPECT_TRUE(passes("async def f(x): return x", "import asyncio\nassert asyncio.run(f(3)) == 3").empty());
  EXPECT_TRUE(
      passes("def f(*a, k=1, **kw): return len(a) + k + len(kw)", "assert f(1, 2, k=5, z=0) == 8").empty());
}

TEST(CodeScorer, ObjectsOfTheProgramRunTogetherAndAreStamped) {
  const std::string stack =
      "class Stack:\n  def __init__(self): self.items = []\n  def push(self, x): self.items.append(x)\n"
      "  def pop(self): return self.items.pop()\n";
  ItemJudgement right = Assert(stack, R"(["s = Stack()\ns.push(3)\nassert s.pop() == 3"])");
  EXPECT_EQ(right.kind, VerdictKind::kCorrect) << right.detail;
  EXPECT_EQ(right.stamps, std::vector<std::string>{"tests_visible"});
  EXPECT_EQ(Assert(stack, R"(["s = Stack()\ns.push(3)\nassert s.pop() == 4"])").outcome, "wrong_answer");
  EXPECT_EQ(Assert("def f(g): return g(2)", R"(["assert f(lambda x: x + 1) == 3"])").kind,
            VerdictKind::kCorrect);
  // What ends the process, skips or equals everything does not pass there either.
  const std::string test = R"(["assert f(lambda x: x + 1) == 3"])";
  for (const char* program : {
           "def f(g):\n  import os\n  os._exit(0)",
           "def f(g): raise SystemExit(0)",
           "import unittest\ndef f(g): raise unittest.SkipTest('')",
           "class E:\n  def __eq__(self, o): return True\ndef f(g): return E()",
           "import sys\ndef f(g): return next(c for c in sys._getframe(1).f_code.co_consts if c == 3)",
           "def f(g):\n  try: raise KeyError\n  except KeyError as e:\n    return next(c for c in "
           "e.__traceback__.tb_frame.f_back.f_code.co_consts if c == 3)",
           "import gc\ndef f(g): return len(gc.get_objects()) and 4",
           "import builtins\nbuiltins.AssertionError = ZeroDivisionError\nclass D(dict): pass\ndef f(g): "
           "return 4",
           "import sluice_harness as h\nh.equal = lambda a, b: True\ndef f(g): return 4",
       }) {
    ItemJudgement judged = Assert(program, test);
    EXPECT_EQ(judged.kind, VerdictKind::kWrong) << program << "\n" << judged.detail;
  }
}

TEST(CodeScorer, FunctionsAreComparedHere) {
  const std::string tests = R"({"entry_point": "f", "cases": [{"args": [2, [1]], "expected": [2, 1]},
      {"args": [3], "kwargs": {"b": []}, "expected": [3]}]})";
  EXPECT_EQ(Function("def f(a, b): return (a, *b)", tests).kind, VerdictKind::kCorrect);
  EXPECT_EQ(Function("class Solution:\n  def f(self, a, b): return [a] + b", tests).kind,
            VerdictKind::kCorrect);
  ItemJudgement wrong = Function("def f(a, b): return [a]", tests);
  EXPECT_EQ(wrong.outcome, "wrong_answer");
  EXPECT_EQ(wrong.tests[1].outcome, "passed");
  EXPECT_EQ(Function("def f(a, b): return {a, *b}", tests).kind, VerdictKind::kWrong);
  EXPECT_EQ(Function("def f(a, b): return [*b, a]", tests, CodeComparison::kUnordered).kind,
            VerdictKind::kCorrect);
  EXPECT_EQ(Function("def f(a): return a", tests).outcome, "runtime_error");
  EXPECT_EQ(Function("def g(a): return a", tests).outcome, "runtime_error");
  EXPECT_EQ(Function("def f(a, b) return a", tests).outcome, "compile_error");
  EXPECT_EQ(
      Function("class E(list):\n  def __eq__(self, o): return True\ndef f(a, b): return E()", tests).kind,
      VerdictKind::kWrong);
  EXPECT_EQ(Function("def f(n): return 2 ** n", R"({"entry_point": "f", "cases": [{"args": [100],
      "expected": 1267650600228229401496703205376}]})")
                .kind,
            VerdictKind::kCorrect);
  EXPECT_EQ(Function("def f(n): return 2 ** n + 1", R"({"entry_point": "f", "cases": [{"args": [100],
      "expected": 1267650600228229401496703205376}]})")
                .kind,
            VerdictKind::kWrong);
}

TEST(CodeScorer, ProgramsReadAndWrite) {
  const std::string tests =
      R"([{"stdin": "3 4\n", "expected_stdout": "7\n"}, {"stdin": "1 1", "expected_stdout": "2"}])";
  EXPECT_EQ(Stdio("a, b = map(int, input().split())\nprint(a + b)", tests).kind, VerdictKind::kCorrect);
  EXPECT_EQ(Stdio("import sys\nprint(sum(map(int, sys.stdin.read().split())))\nsys.exit(0)", tests).kind,
            VerdictKind::kCorrect);
  EXPECT_EQ(
      Stdio("def main():\n  print(sum(map(int, open(0).read().split())))\nif __name__ == '__main__': main()",
            tests)
          .kind,
      VerdictKind::kCorrect);
  EXPECT_EQ(Stdio("import threading\ndef main(): print(sum(map(int, "
                  "input().split())))\nthreading.Thread(target=main).start()",
                  tests)
                .kind,
            VerdictKind::kCorrect);
  EXPECT_EQ(Stdio("print(7)", tests).outcome, "wrong_answer");
  EXPECT_EQ(Stdio("print(7", tests).outcome, "compile_error");
  EXPECT_EQ(Stdio("print(sum(map(int, input().split())))\nraise KeyError(1)", tests).outcome,
            "runtime_error");
  EXPECT_EQ(Stdio("print(sum(map(int, input().split())))\nexit(3)", tests).outcome, "runtime_error");
  EXPECT_EQ(Stdio("while True: print('x' * 65536)", tests).outcome, "output_limit");
  EXPECT_EQ(Stdio("while True: pass", tests).outcome, "time_limit");
  EXPECT_EQ(
      Stdio("print('x' * 200000)",
            nlohmann::json::array({{{"stdin", ""}, {"expected_stdout", std::string(200000, 'x')}}}).dump())
          .kind,
      VerdictKind::kCorrect);
  EXPECT_EQ(Stdio("print(input())", R"({"inputs": ["a"], "outputs": ["a"]})").kind, VerdictKind::kCorrect);
}

TEST(CodeScorer, RowsOfInputOutputAreFunctionsOrPrograms) {
  auto judge = [](const std::string& program, const std::string& tests, CodeTests form = CodeTests::kStdio) {
    return Judge(Spec(form), program, {{"input_output", tests}}).kind;
  };
  const std::string calls =
      R"({"fn_name": "twoSum", "inputs": [[[2, 7, 11], 9], [[3, 3], 6]], "outputs": [[[0, 1]], [0, 1]]})";
  std::string function =
      "def twoSum(v, t):\n  return [(j, i) for i in range(len(v)) for j in range(i) if v[i] + v[j] == "
      "t][0]\n";
  std::string method =
      "class Solution:\n  def twoSum(self, v: List[int], t: int) -> List[int]:\n    return [[j, i] for i in "
      "range(len(v)) for j in range(i) if v[i] + v[j] == t][0]\n";
  for (CodeTests form : {CodeTests::kStdio, CodeTests::kFunction}) {
    EXPECT_EQ(judge(function, calls, form), VerdictKind::kCorrect);
    EXPECT_EQ(judge(method, calls, form), VerdictKind::kCorrect);
    EXPECT_EQ(judge("def twoSum(v, t): return [1, 0]\n", calls, form), VerdictKind::kWrong);
    EXPECT_EQ(judge("print(sum(map(int, input().split())))",
                    R"({"inputs": ["1 2\n", ["3 4"]], "outputs": ["3\n", ["7"]]})", form),
              VerdictKind::kCorrect);
  }
  const std::string keyed = R"({"fn_name": "f", "inputs": [[{"1": 5, "2": 6}]], "outputs": [[11]]})";
  EXPECT_EQ(judge("def f(d): return d[1] + d[2]", keyed), VerdictKind::kCorrect);
  // A list of one where a list is the value: only where the row holds it so.
  const std::string lists = R"({"fn_name": "f", "inputs": [[1]], "outputs": [[1, 2]]})";
  EXPECT_EQ(judge("def f(x): return [1, 2]", lists), VerdictKind::kCorrect);
  EXPECT_EQ(judge("def f(x): return 1", lists), VerdictKind::kWrong);
  EXPECT_EQ(judge("def f(x): return [[1, 2]]", lists), VerdictKind::kWrong);
}

TEST(CodeScorer, CheckersDecide) {
  const std::string tests = R"([{"stdin": "10", "expected_stdout": "3 7"}])";
  auto check = [&](const std::string& checker, const std::string& program) {
    return Judge(Spec(CodeTests::kStdio, CodeComparison::kChecker), program,
                 {{"tests", tests}, {"checker", checker}});
  };
  const std::string function =
      "def check(input, expected, actual): return sum(map(int, actual.split())) == int(input)";
  EXPECT_EQ(check(function, "print(4, 6)").kind, VerdictKind::kCorrect);
  EXPECT_EQ(check(function, "print(4, 7)").kind, VerdictKind::kWrong);
  EXPECT_EQ(check(function, "print('x')").kind, VerdictKind::kWrong);
  const std::string program =
      "import sys\nn = int(open(sys.argv[1]).read())\na = open(sys.argv[3]).read().split()\n"
      "sys.exit(0 if sum(map(int, a)) == n else 1)";
  EXPECT_EQ(check(program, "print(5, 5)").kind, VerdictKind::kCorrect);
  EXPECT_EQ(check(program, "print(5)").kind, VerdictKind::kWrong);
  // It accepts the expected output, so what it makes of another one is the program's doing.
  EXPECT_EQ(check("def check(i, e, a):\n  if a != e: raise KeyError(a)\n  return True", "print(5)").kind,
            VerdictKind::kWrong);
  // Nor does an output that ends the checker pass.
  EXPECT_EQ(check("def check(i, e, a): return a == e or eval(a) == 10", "print('exit(0)')").kind,
            VerdictKind::kWrong);
  EXPECT_EQ(check("def check(:", "print(5)").kind, VerdictKind::kUndecided);
  EXPECT_EQ(check("def check(i, e, a): raise KeyError(1)", "print(5)").kind, VerdictKind::kUndecided);
}

TEST(CodeScorer, RowsThatCannotBeReadAreUndecided) {
  auto detail = [](const CodeScorerSpec& spec, Fields fields) {
    ItemJudgement judged = Judge(spec, "def f(): pass", std::move(fields));
    EXPECT_EQ(judged.kind, VerdictKind::kUndecided);
    return judged.detail;
  };
  EXPECT_THAT(detail(Spec(CodeTests::kAsserts), {}), HasSubstr("field \"tests\" is missing"));
  EXPECT_THAT(detail(Spec(CodeTests::kAsserts), {{"tests", "[1]"}}),
              HasSubstr("tests.asserts[0]: a string is expected"));
  EXPECT_THAT(detail(Spec(CodeTests::kAsserts), {{"tests", "[]"}}), HasSubstr("holds no test"));
  EXPECT_THAT(detail(Spec(CodeTests::kAsserts), {{"tests", R"(["assert ("])"}}), HasSubstr("SyntaxError"));
  EXPECT_THAT(detail(Spec(CodeTests::kStdio), {{"tests", R"([{"stdin": "a"}])"}}),
              HasSubstr("tests[0].expected_stdout"));
  EXPECT_THAT(detail(Spec(CodeTests::kFunction), {{"tests", R"({"cases": []})"}}),
              HasSubstr("tests.entry_point"));
  EXPECT_THAT(detail(Spec(CodeTests::kHumanEval), {{"test", "x"}}), HasSubstr("entry_point"));
  EXPECT_THAT(detail(Spec(CodeTests::kStdio, CodeComparison::kChecker),
                     {{"tests", R"([{"stdin":"","expected_stdout":""}])"}}),
              HasSubstr("checker"));
  CodeScorerSpec few = Spec(CodeTests::kAsserts);
  few.max_tests = 1;
  EXPECT_THAT(detail(few, {{"tests", R"(["assert 1", "assert 1"])"}}), HasSubstr("max_tests is 1"));
}

TEST(CodeScorer, ProgramsCannotChooseToBeUndecided) {
  const std::string one = R"(["assert f(2) == 4"])";
  EXPECT_EQ(Assert("def f(x): raise ImportError('no')", one, "y = f(1)").kind, VerdictKind::kWrong);
  EXPECT_EQ(Assert("import nowhere\ndef f(x): return 4", one).kind, VerdictKind::kWrong);
  EXPECT_EQ(Assert("def f(x): raise SyntaxError('bad', (1, 2, 3, 4))", one).kind, VerdictKind::kWrong);
  EXPECT_EQ(Assert("def f(x): return 4", one, "import nowhere").kind, VerdictKind::kUndecided);
  std::string deep = "def f(x):\n  a = []\n  for _ in range(100000): a = [a]\n  return a";
  EXPECT_EQ(Assert(deep, one).kind, VerdictKind::kWrong);
  EXPECT_EQ(Assert("def f(x): return list(range(3000000))", one).kind, VerdictKind::kWrong);
}

TEST(CodeScorer, HumanEvalHelpersAreThePromptsOwn) {
  const std::string prompt =
      "def poly(xs, x):\n    return sum(c * x ** i for i, c in enumerate(xs))\n\n\ndef find_zero(xs):\n    "
      "\"\"\" a zero\n    \"\"\"\n";
  Fields row = {
      {"prompt", prompt},
      {"entry_point", "find_zero"},
      {"test", "def check(candidate):\n    assert abs(poly([-2, 1], candidate([-2, 1]))) < 1e-4\n"}};
  CodeScorerSpec spec = Spec(CodeTests::kHumanEval);
  EXPECT_EQ(Judge(spec, "    return -xs[0] / xs[1]\n", row).kind, VerdictKind::kCorrect);
  EXPECT_EQ(Judge(spec, "return -xs[0] / xs[1]", row).kind, VerdictKind::kCorrect);
  EXPECT_EQ(
      Judge(spec, "```python\ndef find_zero(xs):\n    return -xs[0] / xs[1] if poly else 0\n```", row).kind,
      VerdictKind::kCorrect);
  EXPECT_EQ(Judge(spec, "    return -xs[0] / xs[1]\n\nprint(find_zero([1, 1])\n", row).kind,
            VerdictKind::kCorrect);
  EXPECT_EQ(Judge(spec, "    return 0\n\ndef poly(xs, x):\n    return 0\n", row).kind, VerdictKind::kWrong);
}

TEST(CodeScorer, GivesUpAtTheDeadlineAndWhenCancelled) {
  CodeScorerSpec spec = Spec(CodeTests::kAsserts);
  spec.timeout_seconds = 60;
  ScoreItem item{"", "def f(x):\n  while True: pass", {{"tests", R"(["assert f(1) == 1"])"}}};
  JudgeLimits soon;
  soon.deadline = absl::Now() + absl::Milliseconds(300);
  EXPECT_EQ(CodeTestBench::Get().JudgeWithin(spec, item, soon).kind, VerdictKind::kInfrastructure);
  JudgeLimits cancelled;
  std::thread canceller([&] { cancelled.cancel.Cancel(); });
  EXPECT_EQ(CodeTestBench::Get().JudgeWithin(spec, item, cancelled).kind, VerdictKind::kInfrastructure);
  canceller.join();
  EXPECT_EQ(Assert("def f(x): return x", R"(["assert f(1) == 1"])").kind, VerdictKind::kCorrect);
}

}  // namespace
}  // namespace sluice
