// Whether a replay came out as what was recorded, group by group and step by step. Pure.
#pragma once

#include <map>
#include <string>

#include "coordinator/records/job_view.h"
#include "coordinator/records/replay_schedule.h"
#include "core/rl/types.h"

namespace sluice {

// Adds what a group that was sampled anew says: how many samples were compared and which differ in tokens,
// log-probabilities or reward; the first that does is named. `plan` says which samples were trained on.
void CompareGroup(const RecordedGroup& plan, const Group& recorded, const Group& replayed,
                  ReplayStepView& step);

// The first learning metric, by name, that is not the same number to the last bit. Times and rates are not
// compared, nor group_ties where groups that tie were filtered: those are not in the record.
void CompareMetrics(const std::map<std::string, double>& recorded,
                    const std::map<std::string, double>& replayed, bool filtered, ReplayStepView& step);

// One line for people: what differs first; empty when all is equal.
std::string DifferenceOf(const ReplayStepView& step);

}  // namespace sluice
