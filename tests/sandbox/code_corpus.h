// The programs of benign/ and hacks/ as rows for the code scorer.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/rl/job_spec.h"
#include "core/rl/scorer.h"

namespace sluice {

struct CodeCase {
  std::string name;
  CodeScorerSpec spec;
  ScoreItem item;
};

// Every program of benign/. Its first lines, in comments, say the form, the tests as in a row (long texts
// shortened: "expected_repeat": [times, text]) and perhaps the comparison and the text around the program.
std::vector<CodeCase> BenignCases();

// A program that tries to pass without solving anything. Sections of the files of hacks/ begin with "###
// NAME", perhaps with the only outcomes that are right: "[outcome=time_limit,memory_limit]".
struct Hack {
  std::string name, source;
  std::set<std::string> outcomes;  // empty: any but passed and infrastructure
};
std::vector<Hack> ReadHacks(const std::string& file);

// The problem that all hacks are set: solve(2), solve(3) and solve(5) have values that cannot be guessed.
CodeCase HackCase(const Hack& hack, CodeLanguage language, CodeTests form);
// With asserts of many shapes that no honest value of the hacks satisfies, for credit by share.
CodeCase ManyAssertsCase(const Hack& hack);
// The same problem where the tests and the program share objects: solve(Node(2)) with the program's own
// class, and solve(lambda x: x + 1, 2) with a function of the tests.
CodeCase ObjectArgumentCase(const Hack& hack);
CodeCase FunctionArgumentCase(const Hack& hack);
// A solution of that problem, for every form of the language.
Hack Solution(CodeLanguage language, CodeTests form);

const char* FormName(CodeTests form);

}  // namespace sluice
