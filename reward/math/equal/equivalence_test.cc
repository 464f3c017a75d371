#include "reward/math/equal/equivalence.h"

#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "reward/math/verifier.h"

namespace sluice::math {
namespace {

struct Case {
  const char *gold, *prediction;
  bool equal;
};

void Expect(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    Explanation e = ComparePair(c.gold, c.prediction);
    Answer wanted = c.equal ? Answer::kEqual : Answer::kDifferent;
    EXPECT_EQ(e.decision.answer, wanted)
        << c.gold << " against " << c.prediction << ": " << e.decision.rule << e.reason;
  }
}

TEST(EquivalenceTest, EquationsAreEqualUpToAFactor) {
  Expect({{"y=4x-7", "4x-y=7", true},
          {"3x+6y=12", "x+2y=4", true},
          {"y=4x-7", "y=7-4x", false},
          {"xy=1", "y=\\frac1x", true},
          {"xy=x", "y=1", false},
          {"y=2x+3", "2x+3", true},
          {"y=2x+3", "y\\ge 2x+3", false},
          {"f(x)=2x+1", "f(2)=2x+1", false},
          {"f'(x)=2x", "f(x)=2x", false},
          {"(x,y)=(2,1)", "(x,y)=(1,2)", false},
          {"x\\equiv 3\\pmod 7", "x\\equiv 10\\pmod 7", true},
          {"x\\equiv 3\\pmod 7", "x\\equiv 3\\pmod 8", false}});
}

TEST(EquivalenceTest, SolutionIsNotAnsweredByTheQuestion) {
  Expect({{"x=5", "5", true},
          {"x=5", "2x=10", true},
          {"x=5", "2x+1=11", false},
          {"x=5", "x^2=25", false},
          {"x=5", "y=5", false},
          {"5", "x=5", true},
          {"5", "2+3=5", true},
          {"5", "7=5", false},
          {"5", "2x+1=11", false},
          {"x>3", "2x+1>7", false},
          {"x>3", "(3,\\infty)", true},
          {"(3,\\infty)", "x>3", true},
          {"(3,\\infty)", "x\\in(3,\\infty)", true},
          {"(-\\infty,1)\\cup(1,\\infty)", "x\\ne 1", true},
          {"(2,5)", "5>x>2", true},
          {"[2,5)", "2\\le x\\le 5", false},
          {"[1,3]", "x^2-4x+3\\le 0", false},
          {"x\\ne 1", "(-\\infty,1)\\cup(1,\\infty)", true}});
}

TEST(EquivalenceTest, InequalitiesTurnAndScale) {
  Expect({{"x>-4", "-x<4", true},
          {"x\\ge 6", "6\\le x", true},
          {"x\\ge 6", "x>6", false},
          {"x<1", "-x<-1", false},
          {"1<x\\le 4", "4\\ge x>1", true},
          {"1<x<4", "1<x\\text{ and }x<4", true},
          {"a<b", "a-b<0", true},
          {"a<b", "a-b>0", false},
          {"x<1\\text{ or }x>5", "(-\\infty,1)\\cup(5,\\infty)", true},
          {"x<1\\text{ or }x>5", "1<x<5", false}});
}

TEST(EquivalenceTest, FamiliesAreCountedFromAnywhere) {
  Expect({{"x=\\frac{\\pi}{4}+k\\pi, k\\in\\mathbb{Z}", "x=-\\frac{3\\pi}{4}+n\\pi", true},
          {"x=\\frac{\\pi}{4}+k\\pi, k\\in\\mathbb{Z}",
           "\\left\\{\\frac{\\pi}{4}-\\pi n:n\\in\\mathbb{Z}\\right\\}", true},
          {"x=\\frac{\\pi}{4}+k\\pi, k\\in\\mathbb{Z}", "x=\\frac{\\pi}{4}+2n\\pi, n\\in\\mathbb{Z}", false},
          {"3k+1, k\\in\\mathbb{Z}", "x=1+3t\\text{ for any integer }t", true},
          {"3k+1, k\\in\\mathbb{Z}", "x\\equiv -2\\pmod{3}", true},
          {"3k+1, k\\in\\mathbb{Z}", "x\\equiv 1\\pmod{6}", false},
          {"x\\equiv 3\\pmod 7", "x=7k+3\\text{ for integer }k", true},
          {"3k+1", "3k+4", false}});
}

TEST(EquivalenceTest, OneAnswerInOtherNotation) {
  Expect({{"(\\pm 3,\\mp 2)", "(3,-2),(-3,2)", true},
          {"(\\pm 3,\\mp 2)", "(\\pm 3,\\pm 2)", false},
          {"\\frac17", "0.\\dot{1}4285\\dot{7}", true},
          {"\\frac{32}{99}", "0.\\dot3\\dot2", true},
          {"\\frac13", "\\frac{9}{27}=\\frac13", true},
          {"5", "5=5", false},
          {"25\\%", "\\frac{10}{40}=0.25=25\\%", true},
          {"\\frac23", "\\frac23\\%", false},
          {"7:32", "S_1:S_2=7:32", true},
          {"(1,2)", "\\begin{cases} y=2 \\\\ x=1 \\end{cases}", true},
          {"(3,5)", "m=5, b=3", false},
          {"n2^{n-1}", "\\frac{n 2^n}{2}", true},
          {"15\\text{ sec}", "15 seconds", true},
          {"2\\text{ hours }40\\text{ minutes}", "2 h 40 min", true},
          {"\\{1,2,3,4\\}", "\\{1,2,\\ldots,4\\}", true},
          {"\\{1,2,3\\}", "\\{x\\in\\mathbb{Z}:1\\le x<4\\}", true},
          {"\\{1,2,3\\}", "\\{x\\in\\mathbb{Z}:1\\le x\\le 4\\}", false},
          {"\\overline{AB}", "\\overline{BA}", true},
          {"\\text{Dana}>\\text{Ben}", "Dana > Ben", true},
          {"\\text{Dana}>\\text{Ben}", "Ben > Dana", false},
          {"17\\text{th}", "17th", true},
          {"-\\infty", "negative infinity", true}});
}

TEST(EquivalenceTest, HedgedAnswersAreWrong) {
  Expect({{"8", "8 or 9", false},
          {"8", "8, 9", false},
          {"8", "\\{8,9\\}", false},
          {"8", "\\pm 8", false},
          {"x=2", "x=2\\text{ or }x=3", false},
          {"\\text{(A)}", "(A) or (B)", false},
          {"x=1\\text{ or }x=2", "x=2\\text{ or }x=1", true}});
}

TEST(EquivalenceTest, CollectionsKeepTheirOrderWhereTheyHaveOne) {
  Expect({{"\\{4,7,9\\}", "\\{9,4,7\\}", true},
          {"\\{4,7\\}", "\\{4,7,7\\}", true},
          {"\\{1,2\\}", "(1,2)", false},
          {"4,6,14,15", "15,14,6,4", true},
          {"1,2,2", "1,2", false},
          {"(3,-8)", "(-8,3)", false},
          {"(1,2)", "1,2", true},
          {"(1,2)", "2,1", false},
          {"(1,2)", "[1,2]", false},
          {"a=3,b=4", "b=4,a=3", true},
          {"a=3,b=4", "a=4,b=3", false},
          {"a=3,b=4", "(3,4)", true},
          {"\\pm 3", "3,-3", true},
          {"\\frac{-1\\pm\\sqrt5}{2}", "-\\frac12\\pm\\frac{\\sqrt5}{2}", true},
          {"\\{5\\}", "5", true},
          {"\\{1,\\pm 2\\}", "\\{-2,1,2\\}", true},
          {"3:4:5", "6:8:10", true},
          {"3:4:5", "6:8:11", false}});
}

TEST(EquivalenceTest, UnionsAreSetsOfNumbers) {
  Expect({{"[1,2]\\cup[2,3]", "[1,3]", true},
          {"[1,2)\\cup(2,3]", "[1,3]", false},
          {"[1,2)\\cup[2,3]", "[1,3]", true},
          {"(-\\infty,3)\\cup(3,\\infty)", "\\mathbb{R}\\setminus\\{3\\}", true},
          {"(0,\\sqrt5)", "(0,2)\\cup[2,\\sqrt5)", true},
          {"(0,5)\\cap(3,8)", "(3,5)", true},
          {"[4,4]", "\\{4\\}", true},
          {"(3,-8)", "(5,-9)", false},
          {"[a,b]", "[a,b]", true}});
}

TEST(EquivalenceTest, MatricesAreComparedByElement) {
  Expect({{"\\begin{pmatrix}2&0\\\\1&5\\end{pmatrix}", "\\begin{bmatrix}2&0\\\\1&5\\end{bmatrix}", true},
          {"\\begin{pmatrix}2&0\\\\1&5\\end{pmatrix}", "\\begin{pmatrix}2&1\\\\0&5\\end{pmatrix}", false},
          {"\\frac15\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\begin{pmatrix}0.2\\\\0.4\\end{pmatrix}", true},
          {"\\begin{pmatrix}1\\\\2\\end{pmatrix}", "(1,2)", true},
          {"\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "(1,2,3,4)", false},
          {"\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\begin{pmatrix}1&2\\end{pmatrix}", false}});
}

TEST(EquivalenceTest, UnitsMayBeLeftOutAndConvert) {
  Expect({{"18\\text{ km}", "18", true},
          {"18\\text{ km}", "18000\\text{ m}", true},
          {"18\\text{ km}", "18\\text{ m}", false},
          {"18\\text{ km}", "18\\text{ kg}", false},
          {"2\\text{ m}^2", "20000\\text{ cm}^2", true},
          {"864\\text{ inches}^2", "864\\text{ inches}", false},
          {"\\$23", "23\\text{ cents}", false},
          {"\\$0.50", "50\\text{ cents}", true},
          {"45^\\circ", "\\frac{\\pi}{4}", true},
          {"\\frac{\\pi}{3}", "60", false},
          {"10\\text{ edges}", "10\\text{ faces}", false}});
}

TEST(EquivalenceTest, PercentSignIsAUnitOrAHundredth) {
  Expect({{"64\\%", "64", true},
          {"64\\%", "0.64", true},
          {"64\\%", "6.4", false},
          {"0.05", "5\\%", true},
          {"0.05", "5", false},
          {"20", "0.2", false},
          {"64\\%", "64\\text{ m}", false}});
}

TEST(EquivalenceTest, NamesSayWhatIsAskedFor) {
  Expect({{"xy=6", "6", false},
          {"6", "xy=6", true},
          {"|x|=2", "2", false},
          {"AB=5", "CD=5", false},
          {"AB=5", "BA=5", true},
          {"AB=5", "5", true},
          {"f(x)=x^2", "g(x)=x^2", false},
          {"f(x)=x^2", "f(t)=t^2", true},
          {"f^{-1}(x)=2x", "f(x)=2x", false},
          {"\\frac{dy}{dx}=2x", "y=2x", false},
          {"\\frac{dy}{dx}=2x", "y'=2x", true},
          {"C", "z=c", false},
          {"x=1", "1=1", false},
          {"5", "5=5", false}});
}

TEST(EquivalenceTest, ClockIsNoRatio) {
  Expect({{"3:30", "1/10", false},
          {"1/10", "3:30", false},
          {"3:30", "1:10", false},
          {"3:30", "03:30 pm", true},
          {"2:4", "1:2", true},
          {"1:2", "\\frac12", true},
          {"9:16", "18:32", true},
          {"2:3", "2 to 3", true},
          {"10 to 20", "1:2", false}});
}

TEST(EquivalenceTest, FreeNamesMayBeOthers) {
  Expect({{"x^2+C", "x^2+c", true},
          {"x^2+C", "x^2+K", true},
          {"a+b+c", "a+b+C", false},
          {"\\frac{\\pi}{4}+k\\pi, k\\in\\mathbb{Z}", "\\frac{\\pi}{4}+n\\pi", true},
          {"2k", "2n", false},
          {"a_n=2n", "a_k=2k", true}});
}

TEST(EquivalenceTest, SeparatorsOfThousandsMakeNoPair) {
  Expect({{"1,234", "234,1", false}, {"1,234", "1, 234", true}, {"1,234", "1234", true}});
}

TEST(EquivalenceTest, UnitVectorsMakeAPoint) {
  Expect({{"(1,2,3)", "\\mathbf{i}+2\\mathbf{j}+3\\mathbf{k}", true},
          {"2\\hat{i}-3\\hat{j}", "(2,-3)", true},
          {"(1,2)", "1+2i", false}});
}

TEST(EquivalenceTest, BasesAreValues) {
  Expect({{"25_6", "25_{6}", true}, {"25_6", "25", false}, {"25_6", "17", true}, {"25_6", "25_7", false}});
}

TEST(EquivalenceTest, WordsAndChoices) {
  Expect({{"\\text{Friday}", "friday", true},
          {"\\text{odd}", "\\text{not odd}", false},
          {"\\text{Yes}", "true", true},
          {"\\text{No}", "yes", false},
          {"\\text{(D)}", "D", true},
          {"\\text{(D)}", "\\text{(D) }12", true},
          {"\\text{(D)}", "(B)", false},
          {"12", "\\text{(D) }12", true},
          {"\\text{June 20}", "20 June", true}});
}

TEST(EquivalenceTest, InfinityIsNoNumber) {
  Expect({{"\\infty", "+\\infty", true},
          {"\\infty", "-\\infty", false},
          {"5", "\\infty", false},
          {"5", "x\\infty", false},
          {"(0,\\infty)", "(0,x\\infty)", false}});
}

TEST(EquivalenceTest, AuditorTakesNoLeniency) {
  EquivalenceOptions strict;
  strict.strict = true;
  const Case cases[] = {{"64\\%", "64", false}, {"64\\%", "0.64", true}, {"18\\text{ km}", "18", false},
                        {"3,5", "5,3", false},  {"x+1", "1+x", true},    {"25_6", "17", false}};
  for (const Case& c : cases) {
    EXPECT_EQ(ComparePair(c.gold, c.prediction, strict).decision.answer == Answer::kEqual, c.equal)
        << c.gold << " against " << c.prediction;
  }
}

TEST(EquivalenceTest, NoReadingsDecideNothing) {
  EXPECT_EQ(Compare({}, {}).answer, Answer::kUndecided);
  EXPECT_EQ(Compare({Reading{}}, {}).answer, Answer::kUndecided);
}

TEST(VerifierTest, ExplanationHasNormalFormsOnlyWhenAskedFor) {
  EXPECT_TRUE(ComparePair("\\frac24", "0.5").decision.gold.empty());
  Explanation e = JudgeCompletion("\\sqrt{8}", "Thus \\boxed{2\\sqrt{2}}.", {.explain = true});
  EXPECT_EQ(e.decision.gold, e.decision.prediction);
  std::string text = ToText(e);
  for (const char* part : {"\\\\sqrt{8}", "2\\\\sqrt{2}", "equal by: normal form", "boxed"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(VerifierTest, UnreadableAnswersAreUndecidedWithTheirReason) {
  std::string deep(300, '('), digits(20000, '7');
  for (const std::string& text : {deep + "1" + std::string(300, ')'), digits}) {
    Explanation e = ComparePair("7", text);
    EXPECT_EQ(e.decision.answer, Answer::kUndecided);
    EXPECT_NE(ToText(e).find(e.reason), std::string::npos);
    EXPECT_FALSE(e.reason.empty());
  }
}

}  // namespace
}  // namespace sluice::math
