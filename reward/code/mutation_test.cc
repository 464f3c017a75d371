// Mutated solutions fail: constants, operators and returns of the data sets' solutions are changed, one place
// at a time. A mutant that behaves like the solution on the row's own tests is no error of the scorer; so
// mutants are judged twice, by the scorer and by CPython itself running solution and tests in one namespace,
// and the two agree.
#include <cstdio>

#include "gmock/gmock.h"
#include "reward/code/code_test_bench.h"
#include "reward/code/harness.h"

namespace sluice {
namespace {

constexpr int kParts = 4;
constexpr int kMutantsOfARow = 1;

// Prints the mutants of each source, and what CPython says of them with the tests, as JSON.
constexpr char kMutator[] = R"PY(
import ast, json, random, signal, sys

class Mutate(ast.NodeTransformer):
    def __init__(self, place): self.place, self.seen, self.done = place, -1, False
    def hit(self):
        self.seen += 1
        if self.seen == self.place: self.done = True
        return self.seen == self.place
    def visit_Constant(self, node):
        if type(node.value) in (int, float) and self.hit(): return ast.copy_location(ast.Constant(node.value + 1), node)
        if type(node.value) is bool and self.hit(): return ast.copy_location(ast.Constant(not node.value), node)
        return node
    SWAPS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
             ast.Mod: ast.FloorDiv, ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
             ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And, ast.In: ast.NotIn, ast.NotIn: ast.In}
    def visit_BinOp(self, node):
        self.generic_visit(node)
        if type(node.op) in self.SWAPS and self.hit(): node.op = self.SWAPS[type(node.op)]()
        return node
    def visit_BoolOp(self, node):
        self.generic_visit(node)
        if self.hit(): node.op = self.SWAPS[type(node.op)]()
        return node
    def visit_Compare(self, node):
        self.generic_visit(node)
        if type(node.ops[0]) in self.SWAPS and self.hit(): node.ops[0] = self.SWAPS[type(node.ops[0])]()
        return node
    def visit_Return(self, node):
        self.generic_visit(node)
        if node.value is not None and self.hit(): node.value = ast.Constant(None)
        return node

def passes(source, tests):
    def late(*_): raise TimeoutError
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        space = {"__name__": "program"}
        exec(source, space)
        for test in tests: exec(test, space)
        return True
    except BaseException:
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)

def work(row):
    count = Mutate(10 ** 9)
    count.visit(ast.parse(row["source"]))
    places = list(range(count.seen + 1))
    random.Random(row["source"]).shuffle(places)
    out = []
    for place in places[:row["mutants"]]:
        mutate = Mutate(place)
        tree = ast.fix_missing_locations(mutate.visit(ast.parse(row["source"])))
        source = ast.unparse(tree)
        out.append([source, passes(source, row["tests"])])
    return out

sys.setrecursionlimit(3000)
rows = json.load(open(0))
result = json.dumps([work(row) for row in rows])
print(result)
)PY";

nlohmann::json Mutants(const nlohmann::json& rows) {
  auto box = CodeTestBench::Get().sandbox().Open(absl::InfiniteFuture());
  EXPECT_TRUE(box.ok()) << box.status();
  RunRequest request;
  request.python_source = kMutator;
  request.standard_input = rows.dump();
  request.limits.wall = request.limits.cpu = absl::Seconds(100);
  request.limits.memory_bytes = int64_t{1} << 30;
  auto run = (*box)->Start(request);
  EXPECT_TRUE(run.ok()) << run.status();
  RunResult result = (*run)->Wait();
  EXPECT_EQ(result.end, RunEnd::kExited) << result.error_output << result.error;
  // What the mutants print comes before.
  std::string output = result.output.substr(0, result.output.find_last_not_of('\n') + 1);
  return nlohmann::json::parse(output.substr(output.rfind('\n') + 1));
}

struct Tally {
  int mutants = 0, changed = 0, caught = 0, false_alarms = 0;
};

void Count(Tally& tally, const nlohmann::json& mutant, const CodeScorerSpec& spec,
           std::map<std::string, std::string> row) {
  ItemJudgement judged = CodeTestBench::Get().Judge(spec, mutant[0], std::move(row));
  bool passes = mutant[1], correct = judged.kind == VerdictKind::kCorrect;
  ++tally.mutants;
  tally.changed += !passes;
  tally.caught += !passes && judged.kind == VerdictKind::kWrong;
  tally.false_alarms += passes && !correct;
  if (passes != correct)
    printf("disagreement, CPython says %d: %s\n%s\n", passes, judged.detail.c_str(),
           mutant[0].get<std::string>().c_str());
}

class Mutation : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (DataFolder().empty()) GTEST_SKIP() << "the data sets are not here; set SLUICE_DATA_DIR";
  }
  static void Check(const char* what, const Tally& tally) {
    printf("%s: %d mutants, %d change behaviour, %d of them fail; %d that do not are failed\n", what,
           tally.mutants, tally.changed, tally.caught, tally.false_alarms);
    EXPECT_GT(tally.changed, 0);
    EXPECT_GE(tally.caught, 0.99 * tally.changed);
    EXPECT_LE(tally.false_alarms, 0.01 * tally.mutants);
  }
};

TEST_P(Mutation, OfMbppReferencesFails) {
  std::vector<nlohmann::json> rows;
  nlohmann::json orders = nlohmann::json::array();
  auto all = RowsOf(DataFolder() + "/mbpp/mbpp.jsonl");
  for (size_t i = static_cast<size_t>(GetParam()); i < all.size(); i += kParts) {
    nlohmann::json tests = all[i]["tests"];
    tests.insert(tests.begin(), all[i]["setup"]);
    orders.push_back({{"source", all[i]["reference"]}, {"tests", tests}, {"mutants", kMutantsOfARow}});
    rows.push_back(all[i]);
  }
  CodeScorerSpec spec;
  spec.timeout_seconds = 1;
  Tally tally;
  nlohmann::json mutants = Mutants(orders);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const auto& mutant : mutants[i]) Count(tally, mutant, spec, FieldsOf(rows[i]));
  }
  Check("MBPP", tally);
}

TEST_P(Mutation, OfHumanEvalSolutionsFails) {
  std::vector<nlohmann::json> rows;
  nlohmann::json orders = nlohmann::json::array();
  auto all = RowsOf(DataFolder() + "/humaneval/humaneval.jsonl");
  for (size_t i = static_cast<size_t>(GetParam()); i < all.size(); i += kParts) {
    // The prompt's own functions are not the candidate's to change.
    std::string prompt = all[i]["prompt"], solution = all[i]["canonical_solution"],
                entry = all[i]["entry_point"];
    if (prompt.find("def ") != prompt.rfind("def ")) continue;
    orders.push_back({{"source", prompt + solution},
                      {"tests", {all[i]["test"], "check(" + entry + ")"}},
                      {"mutants", 3 * kMutantsOfARow}});
    rows.push_back(all[i]);
  }
  CodeScorerSpec spec;
  spec.tests = CodeTests::kHumanEval;
  spec.timeout_seconds = 1;
  Tally tally;
  nlohmann::json mutants = Mutants(orders);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const auto& mutant : mutants[i]) Count(tally, mutant, spec, FieldsOf(rows[i]));
  }
  Check("HumanEval", tally);
}

INSTANTIATE_TEST_SUITE_P(Parts, Mutation, ::testing::Range(0, kParts));

}  // namespace
}  // namespace sluice
