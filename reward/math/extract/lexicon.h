// The words by which prose around answers is read, by what they do, in one place. Lower case; lists of single
// words are sorted. What a list leaves out is read as saying nothing: an answer is then not taken for one (a
// value that no verb leads to), or left as it stands.
#pragma once

#include <algorithm>
#include <iterator>

#include "absl/strings/string_view.h"

namespace sluice::math::lexicon {

using absl::string_view;

template <size_t n>
bool Among(string_view word, const string_view (&words)[n]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// What is named behind them is not so: "not 8", "reject 8".
inline constexpr string_view kDenying[] = {"ain't",     "avoid",      "barely",    "cannot",  "discard",
                                           "discarded", "discarding", "doubt",     "exclude", "excluding",
                                           "hardly",    "neither",    "never",     "nor",     "not",
                                           "reject",    "rejected",   "rejecting", "unlike",  "unlikely"};
// What stands behind them is given and not found, up to the next verb or comma: "after 3 days".
inline constexpr string_view kAdjuncts[] = {
    "across",  "after",  "against", "among", "at",     "before", "besides", "between", "by",
    "despite", "during", "each",    "every", "except", "for",    "from",    "in",      "into",
    "of",      "off",    "on",      "out",   "per",    "than",   "their",   "through", "until",
    "upon",    "using",  "versus",  "via",   "with",   "within", "without"};
// They open a reason or a remark, up to the next comma: "since x > 0".
inline constexpr string_view kClauses[] = {
    "although", "as",   "assuming", "because", "given",   "if",    "provided", "providing", "since", "though",
    "unless",   "when", "whenever", "where",   "whereas", "which", "while",    "who",       "whose"};
// What stands behind them is said of the subject: "costs 8".
inline constexpr string_view kVerbs[] = {
    "are",   "be",     "become",  "becomes", "been",     "contain", "contains", "cost",    "costs",
    "equal", "equals", "earn",    "earns",   "find",     "finds",   "get",      "gets",    "gives",
    "give",  "had",    "has",     "have",    "hold",     "holds",   "is",       "leaves",  "leaving",
    "made",  "make",   "makes",   "means",   "need",     "needs",   "obtain",   "obtains", "pay",
    "pays",  "remain", "remains", "require", "requires", "spend",   "spends",   "take",    "takes",
    "total", "totals", "was",     "were",    "yield",    "yields"};
// Behind them the main clause goes on: "so 8".
inline constexpr string_view kResults[] = {"altogether", "but",     "consequently", "hence",  "it's",
                                           "only",       "so",      "that",         "that's", "then",
                                           "therefore",  "there's", "thus",         "total",  "totaling"};
// A number behind them is their name: "step 2".
inline constexpr string_view kLabels[] = {"appendix", "case",   "chapter", "eq",    "equation", "example",
                                          "exercise", "figure", "formula", "lemma", "method",   "no",
                                          "option",   "page",   "part",    "phase", "problem",  "question",
                                          "section",  "step",   "steps",   "stage", "table",    "theorem"};
// A number behind "of" or "by" is what the value is related to: "a multiple of 3".
inline constexpr string_view kRelatives[] = {"divisible", "divisor", "factor", "multiple",
                                             "multiples", "power",   "powers"};
// What stands behind them is one of several: "include 7".
inline constexpr string_view kHaving[] = {"include", "includes", "including"};
// Behind "one" they make it a pronoun: "one can show".
inline constexpr string_view kModalVerbs[] = {"can",   "cannot", "could", "gets",   "has",  "may",
                                              "might", "must",   "needs", "should", "would"};
// Said to who reads about something else than the question: no value of the sentence answers it.
inline constexpr string_view kAsides[] = {
    "help desk",     "thank you",           "thanks for",     "in mind",       "have questions",
    "any questions", "like this before",    "approaches",     "ways to solve", "ways to approach",
    "be useful",     "your question",       "your questions", "stars",         "happy to help",
    "glad to help",  "years of experience", "office hours"};
// What is given, or known to all, opens with them.
inline constexpr string_view kGivens[] = {
    "we know",  "we are given", "we're given",        "given that",       "given is",  "recall",
    "remember", "it is given",  "the problem states", "the problem says", "as we know"};
// What opens with them is said of the writer or asked of who reads.
inline constexpr string_view kOfWriter[] = {
    "i'm",    "i am",      "i've",   "i can",          "i could",       "my",
    "please", "sorry for", "thanks", "great question", "good question", "thank you"};
// Said of an answer they take it back: "is extraneous".
inline constexpr string_view kBadPredicates[] = {
    "absurd",     "contradict",   "contradicted", "contradicts",  "disqualified", "excluded",
    "extraneous", "fail",         "failed",       "fails",        "false",        "flawed",
    "impossible", "inadmissible", "inconsistent", "incorrect",    "invalid",      "mistaken",
    "nonsense",   "nonsensical",  "rejected",     "unacceptable", "unreasonable", "unsatisfying",
    "untrue",     "violate",      "violated",     "violates",     "wrong"};
// Before "to" and "that" they say nothing of an answer: "it would be wrong to".
inline constexpr string_view kImpersonal[] = {"acceptable", "allowed",   "correct", "false",   "good",
                                              "impossible", "incorrect", "invalid", "mistake", "nonsense",
                                              "possible",   "right",     "valid",   "wrong"};
// Denied, they take an answer back: "does not satisfy".
inline constexpr string_view kGoodPredicates[] = {
    "acceptable", "add",        "admissible", "agree", "allowed", "answer",    "appropriate",
    "consistent", "correct",    "feasible",   "fit",   "fulfill", "good",      "hold",
    "it",         "make",       "match",      "meet",  "obey",    "pass",      "possible",
    "quite",      "reasonable", "respect",    "right", "satisfy", "satisfied", "sense",
    "solution",   "solve",      "true",       "valid", "work"};
// They leave an answer standing: "which is as expected".
inline constexpr string_view kAffirmations[] = {
    "checks",   "confirmed", "confirming", "confirms", "consistent", "correct", "desired",   "equivalent",
    "expected", "fine",      "good",       "great",    "holds",      "indeed",  "match",     "matches",
    "ok",       "okay",      "perfect",    "required", "right",      "same",    "satisfied", "satisfies",
    "stands",   "true",      "verified",   "verifies", "works",      "yes"};
// A sentence that corrects begins with them: "Wait, actually".
inline constexpr string_view kOpeners[] = {
    "actually", "ah",     "alas",  "apologies", "but",     "correction", "edit",  "edited",
    "erratum",  "hmm",    "hmmm",  "hold",      "however", "no",         "nope",  "oh",
    "oops",     "rather", "sorry", "update",    "wait",    "well",       "whoops"};
// They open a check, whose values are no answer: "Verification: 3 + 5 = 8".
inline constexpr string_view kChecks[] = {"check",        "checking",     "double-check", "explanation",
                                          "note",         "proof",        "reasoning",    "remark",
                                          "substituting", "verification", "verify",       "verifying"};
// They open what is concluded and end a check.
inline constexpr string_view kConclusions[] = {"answer", "consequently", "finally", "hence",
                                               "so",     "therefore",    "thus"};
// Work on values, which is no result yet: "subtract 9".
inline constexpr string_view kOperations[] = {
    "add",       "analyze",    "apply",  "begin",    "calculate", "check",     "compare",    "compute",
    "consider",  "convert",    "count",  "decide",   "derive",    "determine", "divide",     "estimate",
    "evaluate",  "examine",    "expand", "express",  "factor",    "figure",    "find",       "identify",
    "integrate", "know",       "look",   "minimize", "maximize",  "multiply",  "note",       "recall",
    "reduce",    "round",      "see",    "set",      "show",      "simplify",  "solve",      "start",
    "subtract",  "substitute", "sum",    "test",     "think",     "try",       "understand", "use",
    "verify",    "work",       "write"};
// Before an operation: the work is still to be done: "we need to subtract".
inline constexpr string_view kHeads[] = {
    "can", "going", "gonna",   "have",   "i'll",  "let's", "me",  "must", "need", "needs", "next",
    "now", "plan",  "remains", "should", "shall", "to",    "try", "us",   "want", "we'll", "will"};
// Who solves, or what is to be done: "we need to find". "He needs to find 9 more" is what he needs.
inline constexpr string_view kSolvers[] = {"goal", "i",       "i'll", "idea", "let", "let's", "next",
                                           "plan", "remains", "step", "task", "we",  "we'll"};
// Work that has an outcome: "subtracting 9 leaves 3".
inline constexpr string_view kOutcomes[] = {
    "are",   "equals",    "get",    "gets",     "getting", "give",   "gives",    "giving",
    "hence", "is",        "leaves", "leaving",  "makes",   "making", "obtain",   "obtaining",
    "so",    "therefore", "thus",   "totaling", "totals",  "yield",  "yielding", "yields"};
// Their subject says it: "my friend says 9".
inline constexpr string_view kSaying[] = {
    "argue",   "argued",  "argues", "believe",  "believed", "believes", "claim",     "claimed",  "claims",
    "guessed", "guesses", "insist", "insisted", "insists",  "report",   "reported",  "reports",  "said",
    "say",     "says",    "state",  "stated",   "states",   "suggest",  "suggested", "suggests", "think",
    "thinks",  "thought", "told",   "tells",    "write",    "wrote",    "writes"};
// Others who have an answer: "the key".
inline constexpr string_view kSources[] = {"chatgpt", "forum",     "google",   "internet", "key",
                                           "manual",  "reference", "textbook", "website",  "wikipedia"};
// Subjects of these verbs that are the writer or the work.
inline constexpr string_view kOwn[] = {"as",          "best",    "final", "i'd", "my",    "the",
                                       "calculation", "formula", "i",     "it",  "lemma", "rule",
                                       "that",        "theorem", "this",  "we",  "which", "work"};
// What an answer does to be something; other verbs describe it: "the answer ends in 9".
inline constexpr string_view kStating[] = {
    "exists",    "always",  "amounts", "as",      "becomes", "comes",  "computes",   "does",   "equals",
    "evaluates", "follows", "gives",   "has",     "his",     "is",     "its",        "makes",  "minus",
    "ours",      "plus",    "reads",   "reduces", "remains", "rounds", "simplifies", "stands", "this",
    "thus",      "totals",  "turns",   "us",      "was",     "works",  "yields"};
// No sentence ends with them: the text is cut off.
inline constexpr string_view kOpenEnds[] = {
    "plus", "a",    "an",    "and", "are",  "as",    "at",    "because", "but", "by",
    "for",  "from", "gives", "has", "have", "if",    "in",    "into",    "is",  "its",
    "must", "of",   "on",    "or",  "our",  "since", "so",    "that",    "the", "their",
    "then", "thus", "to",    "was", "we",   "were",  "where", "which",   "with"};
// A last line without a stop that is not cut off.
inline constexpr string_view kPartings[] = {"cheers", "checked", "correct", "done",  "end",    "hope",
                                            "ok",     "okay",    "qed",     "right", "thanks", "verified"};
// They open what is said to the reader once the work is done.
inline constexpr string_view kFarewells[] = {"references",      "feel free",         "good luck",
                                             "happy to",        "have a good",       "have a great",
                                             "have a nice",     "hope that",         "hope this",
                                             "hope it",         "i can also",        "i could also",
                                             "i hope",          "i'd be happy",      "i'm happy",
                                             "if you have any", "if you have more",  "if you have further",
                                             "if you need any", "if you need more",  "if you want me",
                                             "if you'd like",   "if you would like", "let me know",
                                             "thank you",       "thanks for",        "would you like"};
// They may stand between "no" and what there is none of: "no real solution".
inline constexpr string_view kOfNothing[] = {"integer", "positive", "rational", "real", "such", "valid"};
// A remark on a value: "8 is even".
inline constexpr string_view kProperties[] = {"also",  "close",    "composite", "divisible",
                                              "even",  "negative", "odd",       "positive",
                                              "prime", "tempting", "too"};
// Words for what is asked; no remark has them.
inline constexpr string_view kOfAnswers[] = {"answer", "best",     "correct", "one",     "only",    "result",
                                             "right",  "solution", "valid",   "maximum", "minimum", "total"};

// The writer has no answer: "I cannot determine".
inline constexpr string_view kRefusals[] = {"cannot determine",
                                            "can't determine",
                                            "cannot be determined",
                                            "can't be determined",
                                            "cannot solve",
                                            "can't solve",
                                            "cannot be solved",
                                            "can't be solved",
                                            "cannot answer",
                                            "can't answer",
                                            "cannot compute",
                                            "can't compute",
                                            "cannot find",
                                            "can't find",
                                            "cannot help",
                                            "can't help",
                                            "can't view",
                                            "can't see",
                                            "cannot see",
                                            "cannot view",
                                            "not enough information",
                                            "insufficient information",
                                            "more information",
                                            "unable to",
                                            "not able to",
                                            "don't know",
                                            "do not know",
                                            "not sure how",
                                            "no idea",
                                            "give up",
                                            "impossible to determine",
                                            "impossible to say",
                                            "not possible to determine",
                                            "no answer can",
                                            "is incomplete",
                                            "is missing",
                                            "is underdetermined"};

// What is asked for is not there. A sentence with them claims no value, and is the answer where words are
// asked for.
inline constexpr string_view kNothings[] = {"does not exist",
                                            "doesn't exist",
                                            "do not exist",
                                            "don't exist",
                                            "dne",
                                            "undefined",
                                            "not defined",
                                            "diverges",
                                            "diverge",
                                            "is divergent",
                                            "no limit",
                                            "no such",
                                            "no solution",
                                            "no solutions",
                                            "no root",
                                            "no roots",
                                            "unsolvable",
                                            "inconsistent",
                                            "cannot be determined",
                                            "not enough information"};
// Behind them, what there is none of is limited: "no solution except 5".
inline constexpr string_view kExcepting[] = {"besides", "beyond",  "but",   "except",
                                             "other",   "outside", "unless"};

// They open one case of several, which have values of their own: "If order matters".
inline constexpr string_view kCases[] = {"assuming", "else", "for", "if", "otherwise", "under", "when"};
// Names of cases, readings and tries: "Answer 2", "the second interpretation".
inline constexpr string_view kReadings[] = {"case",        "interpretation", "option",
                                            "possibility", "reading",        "scenario"};
// Between two marked answers they make the second one the outcome: "so in total".
inline constexpr string_view kSuperseding[] = {
    "altogether", "answer",  "consequently", "corrected", "correct",   "final", "finally", "exact",
    "new",        "true",    "updated",      "fixed",     "fixing",    "gives", "hence",   "overall",
    "result",     "revised", "so",           "then",      "therefore", "thus",  "total"};
// The solution is none of the equation: said of an answer, it takes it back.
inline constexpr string_view kExtraneous[] = {"discard",      "discarded", "extraneous",
                                              "inadmissible", "reject",    "rejected"};
// Behind a comma they put another value beside the one before: "8, maybe 9".
inline constexpr string_view kMaybe[] = {"maybe", "perhaps", "possibly"};
// What is said with them is not said for sure.
inline constexpr string_view kModals[] = {"could", "may", "might"};
// They join values: "4 oder 5". "o" and "ou" stand between values only.
inline constexpr string_view kOr[] = {"o", "oder", "or", "ou"};
inline constexpr string_view kAnd[] = {"and", "et", "und"};
// The heading of a list of answers has one of them: "The roots are:".
inline constexpr string_view kSeveral[] = {"answers", "are",    "elements", "numbers",   "pairs",
                                           "points",  "primes", "roots",    "solutions", "triples",
                                           "tuples",  "values", "zeros"};

}  // namespace sluice::math::lexicon
