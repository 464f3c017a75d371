#include "reward/math/extract/extraction.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sluice::math {
namespace {

using R = ExtractionRule;

struct Row {
  const char* completion;
  const char* text;
  R rule;
};

void Check(const Row& row) {
  Extraction e = ExtractAnswer(row.completion);
  EXPECT_EQ(e.text, row.text) << row.completion;
  EXPECT_STREQ(ExtractionRuleName(e.rule), ExtractionRuleName(row.rule)) << row.completion;
}

TEST(ExtractAnswerTest, TakesTheLastBox) {
  const Row rows[] = {
      {R"(so \boxed{72})", "72", R::kBoxed},
      {R"(\boxed{1} no, \boxed{72} and 9)", "72", R::kBoxed},
      {R"(\boxed {72})", "72", R::kBoxed},
      {R"($\boxed{\$72}$)", R"(\$72)", R::kBoxed},
      {R"(\fbox{7} #### 8)", "7", R::kBoxed},
      {R"(\boxed{72} then \boxed{73)", "72", R::kBoxed},
      {R"(\boxed{1\boxed{72}})", "72", R::kBoxed},
      {R"(it is 5 \boxed{72)", "72", R::kBoxed},
      {R"($\boxed{(-\infty, 3\}$ so)", R"((-\infty, 3\})", R::kBoxed},
      {R"(\boxed{\frac{1}{2}} is it)", R"(\frac{1}{2})", R::kBoxed},
      {R"(\boxed 5 is it)", "5", R::kBoxed},
      {R"(\boxed\frac{1}{2} is it)", R"(\frac{1}{2})", R::kBoxed},
      {R"(\boxed{} 72)", "", R::kBoxed},
      {R"(\boxed{x = 3 + 4 = 7})", "x = 3 + 4 = 7", R::kBoxed},
      {"\\boxed{\\begin{pmatrix}1\\\\\n2\\end{pmatrix}}", "\\begin{pmatrix}1\\\\\n2\\end{pmatrix}",
       R::kBoxed},
      {"**\\boxed{5}**", "5", R::kBoxed},
      {R"(\boxedtext{5} 6 and more words)", "6", R::kLastNumber},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, JoinsBoxesThatAreOneAnswer) {
  const Row rows[] = {
      {R"(The answers are $\boxed{3}$ and $\boxed{4}$.)", "3, 4", R::kBoxed},
      {R"($x=\boxed{3}$ or $\boxed{4}$)", "3 or 4", R::kBoxed},
      {R"(\boxed{3}, \boxed{4}, and \boxed{5})", "3, 4, 5", R::kBoxed},
      {R"(\boxed{3}, not \boxed{4})", "3", R::kBoxed},
      {R"(\boxed{3}, \boxed{3})", "3", R::kBoxed},
      {R"(\boxed{3}. And so we find \boxed{4})", "4", R::kBoxed},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, PutsAnswersThatAreMarkedAlikeSideBySide) {
  const Row rows[] = {
      {R"(\boxed{3} \boxed{4})", "3 or 4", R::kBoxed},
      {"\\boxed{3}\n\\boxed{4}\n\\boxed{5}", "3 or 4 or 5", R::kBoxed},
      {"Answer 1: $\\boxed{3}$\nAnswer 2: $\\boxed{4}$", "3 or 4", R::kBoxed},
      {"With replacement: $\\boxed{3}$\n\nWithout replacement: $\\boxed{4}$", "3 or 4", R::kBoxed},
      {"The answer is 3. The answer is 4.", "3 or 4", R::kAnswerIs},
      {"#### 3\n#### 4", "3 or 4", R::kHashes},
      {"<answer>3</answer><answer>4</answer>", "3 or 4", R::kAnswerTag},
      {R"(The radius is \boxed{3}. Twice that is the diameter: \boxed{6})", "6", R::kBoxed},
      {R"(\boxed{3} Hold on, I forgot to double it: \boxed{6})", "6", R::kBoxed},
      {"Final answer: 3\n\nRevised final answer: 6", "6", R::kFinalAnswer},
      {"The answer is 3. The answer is 3.", "3", R::kAnswerIs},
      {R"(If it is even, the answer is \boxed{3}. If it is odd, the answer is \boxed{4}.)", "", R::kNone},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, EndsInFrontOfTheNextQuestion) {
  const Row rows[] = {
      {"The answer is 7.\n\nQuestion: What is 3 + 1?\nAnswer: 4", "7", R::kAnswerIs},
      {"\\boxed{7}\n\n### Problem 2\n3 + 1\n\\boxed{4}", "7", R::kBoxed},
      {"The answer is 7.\nHuman: 3 + 1?\nAssistant: The answer is 4.", "7", R::kAnswerIs},
      {" 7\n\nQ: 3 + 1?\nA: 4", "7", R::kWhole},
      {"We restate it.\nQuestion: What is 3 + 1?\nAnswer: 4", "4", R::kAnswerIs},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, ReadsListsAndObjects) {
  const Row rows[] = {
      {"The roots are:\n- x = 2\n- x = 7", "x = 2, x = 7", R::kLastNumber},
      {"The solutions are:\n1. $2$\n2. $7$", "2, 7", R::kLastNumber},
      {"Steps:\n- 2\n- 7", "7", R::kLastNumber},
      {R"({"steps": "6*7", "answer": "\\frac{1}{2}", "confidence": 0.9})", R"(\frac{1}{2})", R::kAnswerTag},
      {R"({"answer": [2, 7]})", "2, 7", R::kAnswerTag},
      {R"({"answer": 42})", "42", R::kAnswerTag},
      {"<final_answer>42</final_answer>", "42", R::kAnswerTag},
      {"<Answer>42</Answer>", "42", R::kAnswerTag},
      {"The answer is ~~81~~ **18**.", "18", R::kAnswerIs},
      {"Hence t = ln 3 \xE2\x89\x88 1.0986.", "t = ln 3", R::kLastNumber},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, TakesNothingFromOneWhoRefusesOrFindsNothing) {
  for (const char* text :
       {"I cannot determine the answer, as the figure is missing. There are 10 points in the statement.",
        "There is not enough information. We only know that he had 12.",
        "I give up. It was about 100 primes.",
        "The left limit is -1 and the right limit is 1, so the limit does not exist.",
        "$\\boxed{5}$\n\nHowever, this root is extraneous.",
        "$\\boxed{5}$\n\nActually no, 5 is extraneous, so the equation has no solution.",
        "$\\boxed{5}$\n\nActually, let me reconsider. It asks for the perimeter, so I need to",
        "A student might write $\\boxed{5}$.",
        "Under the first reading we get 6, under the second we get 9."}) {
    EXPECT_EQ(ExtractAnswer(text).rule, R::kNone) << text << " " << ExtractAnswer(text).text;
  }
  EXPECT_EQ(ExtractAnswer("$\\boxed{3}$\n\nNote: the other root, $-2$, is extraneous.").text, "3");
  EXPECT_EQ(ExtractAnswer("We don't know x, but 2x is 8.").text, "8");
  EXPECT_EQ(ExtractAnswer("$x = 3$ or $x = -2$, but $-2$ is extraneous.").text, "x = 3");
  EXPECT_EQ(ExtractAnswer("So the limit does not exist.", Asked::kWords).text, "does not exist");
}

TEST(ExtractAnswerTest, EndsWithItsTurn) {
  const Row rows[] = {
      {"The answer is 7.<|im_end|>", "7", R::kAnswerIs},
      {"#### 36<|endoftext|>", "36", R::kHashes},
      {"It is 1/6.</s></s></s>", "1/6", R::kLastNumber},
      {R"(The answer is 11.<|eot_id|><|start_header_id|>user<|end_header_id|> \boxed{4})", "11",
       R::kAnswerIs},
      {R"(Now<|im_end|> \boxed{165})", "Now", R::kWhole},
      {R"(<think>so \boxed{8}<|im_end|>\boxed{8})", "", R::kNone},
      {"<|endoftext|>\n\\boxed{8}", "8", R::kBoxed},
      {R"(<s>It is <s>8</s> \boxed{9}</s>)", "9", R::kBoxed},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, LaterExplicitAnswerTakesThePlaceOfABox) {
  const Row rows[] = {
      {"\\boxed{44} at first, but the sum was wrong.\n#### 52", "52", R::kHashes},
      {R"(So \boxed{8}. I made an arithmetic slip: x = 7. The answer is therefore 7, not 8.)", "7",
       R::kAnswerIs},
      {R"(So \boxed{8}. The answer is therefore 7.)", "7", R::kAnswerIs},
      {R"(So \boxed{8}. The answer is in minutes.)", "8", R::kBoxed},
      {R"(So \boxed{\frac{1}{3}}. The answer is about 0.333.)", R"(\frac{1}{3})", R::kBoxed},
      {"The radius is \\boxed{25} (intermediate result).\nThe diameter is 50.", "50", R::kLastNumber},
      {R"(So \boxed{8}. Please disregard my answer.)", "", R::kNone},
      {R"(So \boxed{8}. Checking: 22 and 4, so 8 is not right after all.)", "", R::kNone},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, TakesNothingThatIsLeftOpen) {
  const Row rows[] = {
      {"If order matters there are 20 ways; if not there are 10 ways.", "", R::kNone},
      {"The answer could be 74. It could also be 86. Both seem possible.", "", R::kNone},
      {"One way: \\boxed{80}\nThe other way: \\boxed{12}\nI leave it to you to choose.", "80 or 12",
       R::kBoxed},
      {"The sum is 3. But it makes the denominator vanish. So there is no solution.", "", R::kNone},
      {"Plan:\n1. Collect.\n2. Solve.\n\nThe difference is 3.", "", R::kNone},
      {"There are 10 ways. (20 would count every pair twice.)", "10", R::kLastNumber},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, TakesNoNumberThatIsForTheReader) {
  const Row rows[] = {
      {"The change is 2 dollars.\n\nHave a great day, and remember: you can retry up to 13 times.",
       "2 dollars", R::kLastNumber},
      {"It is 149 miles.\n\nI hope this helps! I can give you 7 similar exercises.", "149 miles",
       R::kLastNumber},
      {"**27**\n\nConfidence: 95%", "27", R::kLastNumber},
      {"If you need 5 eggs for one cake, you need 10 for two cakes.", "10", R::kLastNumber},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, PassesOverReasoning) {
  const Row rows[] = {
      {R"(<think>it is \boxed{5}</think> So it is \boxed{6}.)", "6", R::kBoxed},
      {R"(<think>it is \boxed{5}</think> The answer is 6.)", "6", R::kAnswerIs},
      {R"(<reasoning>\boxed{5}</reasoning><answer>6</answer>)", "6", R::kAnswerTag},
      {R"(it is \boxed{5}</think> The answer is 7.)", "7", R::kAnswerIs},
      {"<think>it is \\boxed{5}</think>\n", "", R::kNone},
      {R"(<think>hmm \boxed{5})", "", R::kNone},
      {R"(<think>a</think><think>\boxed{5})", "", R::kNone},
      {R"(The answer is 5. <think>or \boxed{6})", "5", R::kAnswerIs},
      {R"(<think>\boxed{1}</think>a<think>\boxed{2}</think> \boxed{3})", "3", R::kBoxed},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, TakesWhatIsStated) {
  const Row rows[] = {
      {"The final answer is $x = 5$. I hope it is correct.", "x = 5", R::kFinalAnswer},
      {R"(Final Answer: The final answer is $\frac{1}{2}$. I hope it is correct.)", R"(\frac{1}{2})",
       R::kFinalAnswer},
      {"**Final Answer**\n\n$$x^2+1$$", "x^2+1", R::kFinalAnswer},
      {"The final answer: **72**", "72", R::kFinalAnswer},
      {"The answer is 5. The final answer is 6.", "6", R::kFinalAnswer},
      {"The answer is (D).", "(D)", R::kAnswerIs},
      {"Answer: D", "D", R::kAnswerIs},
      {"**Answer:** 12", "12", R::kAnswerIs},
      {"So the answer is $5$ cm.", "$5$ cm", R::kAnswerIs},
      {"The answer is $5$, since we saw that 6 is too large a number.", "5", R::kAnswerIs},
      {"answer is **12 apples** because he ate 3.", "12 apples", R::kAnswerIs},
      {"The answer is $72.", "$72", R::kAnswerIs},
      {"The answer is 72, not 73", "72", R::kAnswerIs},
      {"The answer is $x=3$ and $y=4$.", "$x=3$ and $y=4$", R::kAnswerIs},
      {"The answer to the question of how many apples Jane has is 12.", "12", R::kAnswerIs},
      {"The answer would be 12.5%.", "12.5%", R::kAnswerIs},
      {"The answer is 5 p.m. on Friday.", "5 p.m. on Friday", R::kAnswerIs},
      {"<answer>3/4</answer>", "3/4", R::kAnswerTag},
      {"<answer>5</answer> no, <answer>6</answer>", "6", R::kAnswerTag},
      {"<answer>The answer is $3$</answer>", "3", R::kAnswerIs},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, TakesWhatStandsBehindHashes) {
  const Row rows[] = {
      {"1 + 1 = 2\n#### 72", "72", R::kHashes},
      {"#### 72.", "72", R::kHashes},
      {"#### 3\n3 * 24 = 72\n#### 72\nSo 9", "72", R::kHashes},
      {"####\n72", "72", R::kHashes},
      {"#### The answer is 72, not 73", "72", R::kHashes},
      {"#### $1,072 dollars\n", "$1,072 dollars", R::kHashes},
      {"#### -72", "-72", R::kHashes},
      {"#### Step 1 of the plan\nWe get 5.", "5", R::kLastNumber},
      {"it is 72 ####", "72", R::kLastNumber},
      {"####72####", "72", R::kWhole},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, TakesTheLastFormulaOrNumber) {
  const Row rows[] = {
      {"So it is 3 and then 72.", "72", R::kLastNumber},
      {"It is 73, no, 72", "72", R::kLastNumber},
      {"He has $1,234.50 left!", "$1,234.50", R::kLastNumber},
      {"equals -5.", "-5", R::kLastNumber},
      {"from 3-4", "4", R::kLastNumber},
      {"it gives 10-5", "5", R::kLastNumber},
      {"lost -$7", "-$7", R::kLastNumber},
      {"so 3/4 of it", "3/4", R::kLastNumber},
      {R"(so it is \frac{3}{4}.)", R"(\frac{3}{4})", R::kLastNumber},
      {"area is 72 cm^2.", "72", R::kLastNumber},
      {"area is 72 cm^{2}", "72", R::kLastNumber},
      {"it took 5 on the 3rd", "5", R::kLastNumber},
      {"with x_1 it is 7 and x_2", "7", R::kLastNumber},
      {R"(so 2\sqrt{3})", R"(2\sqrt{3})", R::kLastNumber},
      {R"(so the thing is 5\pi)", R"(5\pi)", R::kLastNumber},
      {"sold about 3 million", "3 million", R::kLastNumber},
      {"mix it with 5 1/2", "5 1/2", R::kLastNumber},
      {"so it is **72**", "72", R::kLastNumber},
      {"\xE7\xAD\x94"
       "72",
       "72", R::kLastNumber},
      {"so it gives 50%", "50%", R::kLastNumber},
      {"so it gives 50 percent", "50 percent", R::kLastNumber},
      {"the point we get is (1, 2).", "(1, 2)", R::kLastNumber},
      {"Thus it costs $5 and they pay $7 each", "$7", R::kLastNumber},
      {"therefore the sum equals $2+3=5$ and we are done.", "2+3=5", R::kLastFormula},
      {R"(so we are done: \[x^2+1\] as required.)", "x^2+1", R::kLastFormula},
      {R"(so it is \(x+1\) here.)", "x+1", R::kLastFormula},
      {"no number at all", "", R::kNone},
      {"sue72", "", R::kNone},
      {"", "", R::kNone},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, TakesACompletionThatIsNothingButAnAnswer) {
  const Row rows[] = {
      {"72", "72", R::kWhole},
      {" -5 1/2 ", "-5 1/2", R::kWhole},
      {"x^2 + 1", "x^2 + 1", R::kWhole},
      {"x=-5", "x=-5", R::kWhole},
      {"D", "D", R::kWhole},
      {"(B)", "(B)", R::kWhole},
      {"Friday", "Friday", R::kWhole},
      {"3 or 4", "3 or 4", R::kWhole},
      {"$x+1$", "x+1", R::kWhole},
      {"12 apples", "12 apples", R::kWhole},
      {"ten", "ten", R::kWhole},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, PassesOverWhatIsDeniedOrSupposed) {
  const Row rows[] = {
      {R"(\boxed{9}. It is not \boxed{8})", "9", R::kBoxed},
      {R"(It is not \boxed{8}.)", "", R::kNone},
      {R"(\boxed{8} is wrong.)", "", R::kNone},
      {"The answer isn't 8.", "", R::kNone},
      {"I don't think that it is 8.", "", R::kNone},
      {"The answer is not 9. It is 8.", "8", R::kLastNumber},
      {"It is 8 rather than 9.", "8", R::kLastNumber},
      {"So it is 8, as 9 fails.", "8", R::kLastNumber},
      {"Suppose the answer is 8.", "", R::kNone},
      {"Is it 8?", "", R::kNone},
      {"There is no doubt that it is 8.", "8", R::kLastNumber},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, FollowsCorrections) {
  const Row rows[] = {
      {"The answer is 8. Wait, actually it is 9.", "9", R::kLastNumber},
      {R"(\boxed{8}. Oops! That should be 9.)", "9", R::kLastNumber},
      {R"(\boxed{8}. Let me recompute: 4 + 5 = 9. So the answer is 9.)", "9", R::kAnswerIs},
      {R"(\boxed{8}. Hmm, that is wrong.)", "", R::kNone},
      {R"(\boxed{8}. I made a mistake, it is 9)", "9", R::kLastNumber},
      {R"(\boxed{8}. Wait, let me verify: 8 - 3 = 5. Correct.)", "8", R::kBoxed},
      {R"(\boxed{8}. No other value works, as 9 is odd.)", "8", R::kBoxed},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ExtractAnswerTest, NamesWhyThereIsNoAnswer) {
  EXPECT_STREQ(ExtractAnswer("<think>8").missing, "reasoning not closed");
  EXPECT_STREQ(ExtractAnswer("\\boxed{8}. That is wrong.").missing, "answer taken back");
  EXPECT_STREQ(ExtractAnswer("I do not know").missing, "no answer");
}

TEST(ExtractAnswerTest, KeepsAlternatives) {
  const std::vector<std::string> both = {"8", "9"};
  for (const char* completion : {"8 or maybe 9 of them", "The answer is 8. Or 9.", "\\boxed{8} or \\boxed{9}",
                                 "\\boxed{8} (or 9)", "So it is either $8$ or $9$.", "The answer is 8 (or 9)",
                                 "The answer is 8. Another possibility is 9."}) {
    EXPECT_EQ(ExtractAnswer(completion).alternatives, both) << completion;
  }
  EXPECT_TRUE(ExtractAnswer("\\boxed{3/7}, or about 43%").alternatives.empty());
}

TEST(ExtractAnswerTest, TakesWhatASentenceIsAbout) {
  const Row rows[] = {
      {"So Tom has 8 apples left after eating 3.", "8", R::kLastNumber},
      {"The 5 workers finish in 8 hours.", "8 hours", R::kLastNumber},
      {"So 8 of the 12 students passed.", "8", R::kLastNumber},
      {"So $n=8$ works, while $n=7$ does not.", "n=8", R::kLastFormula},
      {"The solutions are $x=2$ and $x=3$.", "$x=2$ and $x=3$", R::kLastNumber},
      {"So x = 8.\n\nCheck: 2(8) + 1 = 17.", "x = 8", R::kLastNumber},
      {"So it is 8.\n\nShall I explain step 2?", "8", R::kLastNumber},
      {"It is less than 8.", "less than 8", R::kLastNumber},
      {"So it is negative 8.", "-8", R::kLastNumber},
      {"We get 3 / 8.", "3 / 8", R::kLastNumber},
      {"The train arrives at 10:30.", "10:30", R::kLastNumber},
      {"So Tom has twenty-five apples.", "twenty-five", R::kLastNumber},
      {"So the total is 3 + 5 =", "", R::kNone},
  };
  for (const Row& row : rows) Check(row);
  EXPECT_TRUE(ExtractAnswer("So it is about 8.").approximate);
  EXPECT_FALSE(ExtractAnswer("So it is about 8.25.").approximate);
}

TEST(ExtractAnswerTest, LooksForWhatIsAsked) {
  EXPECT_EQ(ExtractAnswer("It must be B, as A and C are false.", Asked::kChoice).text, "B");
  EXPECT_EQ(ExtractAnswer("B is wrong, so C.", Asked::kChoice).text, "C");
  EXPECT_EQ(ExtractAnswer("It falls on Monday.", Asked::kWords).text, "Monday");
  EXPECT_EQ(ExtractAnswer("It does not fall on Monday.", Asked::kWords).text, "");
  EXPECT_EQ(ExtractAnswer("Yes, because 8 > 3.", Asked::kTruth).text, "Yes");
  EXPECT_EQ(AskedBy("(B)"), Asked::kChoice);
  EXPECT_EQ(AskedBy("Yes"), Asked::kTruth);
  EXPECT_EQ(AskedBy("\\text{Monday}"), Asked::kWords);
  for (const char* value : {"8", "x", "xy", "twelve", "\\frac12", "pi"})
    EXPECT_EQ(AskedBy(value), Asked::kValue);
}

TEST(ExtractAnswerTest, OffsetOfSeveralBoxesIsWithinTheCompletion) {
  const std::string completion = "\\boxed{" + std::string(80, ':') + "?}\\boxed{5}";
  EXPECT_LE(ExtractAnswer(completion).offset, completion.size());
}

TEST(ExtractAnswerTest, OffsetPointsIntoTheCompletion) {
  for (const char* completion : {"so \\boxed{ 72 }", "The answer is **72**.", "x\n#### 72", "and 72 it is",
                                 "<think>5</think> the answer: 72", "<answer> 72 </answer>", " 72"}) {
    Extraction e = ExtractAnswer(completion);
    EXPECT_EQ(e.text, "72") << completion;
    EXPECT_EQ(std::string(completion).substr(e.offset, 2), "72") << completion;
  }
}

TEST(ExtractAnswerTest, MegabytesAreSearched) {
  for (const char* piece : {"9",
                            "9 ",
                            "1/",
                            "\\boxed{",
                            "\\boxed{1}",
                            "\\boxed{1}, ",
                            "}",
                            "{",
                            "####",
                            "#### ",
                            "####1\n",
                            "(",
                            "((3)",
                            "<answer>",
                            "</answer>",
                            "<think>",
                            "</think>",
                            "$",
                            "$5 ",
                            "\\(",
                            "answer is ",
                            "answer ",
                            "Final answer: ",
                            "\\",
                            "1) ",
                            "\xE2",
                            "\xE2\x88\x92",
                            " ",
                            "\n",
                            "a",
                            "Wait, ",
                            "</s>",
                            "<s>",
                            "x<|im_end|>",
                            "<|im_end|>",
                            "not 8 or ",
                            "is * ",
                            "one ",
                            "="}) {
    std::string text;
    while (text.size() < (4u << 20)) text += piece;
    ExtractAnswer(text);
    Extraction e = ExtractAnswer(text + " \\boxed{72}");
    EXPECT_TRUE(e.text == "72" || e.rule != R::kNone || piece[0] == 'n' ||
                e.missing == std::string("reasoning not closed"))
        << piece;
  }
}

TEST(ExtractGoldTest, TakesBoxOrHashesElseTheWhole) {
  EXPECT_EQ(ExtractGold("48/2 = <<48/2=24>>24\n#### 72").text, "72");
  EXPECT_EQ(ExtractGold("so \\boxed{72}").text, "72");
  EXPECT_EQ(ExtractGold(" $x + 1$ ").text, "x + 1");
  EXPECT_EQ(ExtractGold("the answer is 5").text, "the answer is 5");
}

}  // namespace
}  // namespace sluice::math
