// SPDX-License-Identifier: LGPL-2.1-or-later
// The questions of `genvctl policy suggest`, and the usual answers for each use of a machine.
#pragma once

#include "core/settings/settings.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace genv::core {

/// The users of a machine. They decide the usual answers to all other questions.
enum class MachineUse { Lab, Class, Cluster };

/// The words for a use.
struct MachineUseWords {
    MachineUse use;
    std::string_view name;   ///< the option that answers all questions at once: "lab"
    std::string_view people; ///< a noun phrase: "a research lab, whose members know each other"
    std::string_view help;   ///< the help text of the option
};

/// Returns the words for each use, in the order of the first question.
std::span<const MachineUseWords> machineUses();
const MachineUseWords& wordsFor(MachineUse use);

/// The number of GPUs that is assumed if it is unknown.
inline constexpr std::uint32_t assumedGpus = 4;

/// What is known about a machine.
struct MachineFigures {
    std::uint32_t gpus = assumedGpus; ///< at least 1
    std::string whyAssumed;           ///< why the number is an assumption; empty if it is none
    std::string noIsolation;          ///< why the kernel cannot guard GPUs; empty if it can
};

/// The answers to the questions.
struct PolicyAnswers {
    MachineUse use = MachineUse::Lab;
    IsolationMode isolation = IsolationMode::None; ///< None for a cluster
    bool endsOutside = true;                       ///< end processes outside every environment
    std::optional<std::chrono::milliseconds> idleTimeout; ///< unset: none
    SlurmIdleAction idleAction = SlurmIdleAction::Warn;   ///< for a cluster
    std::optional<std::uint32_t> maxDevices;              ///< for each user; unset: no limit

    friend bool operator==(const PolicyAnswers&, const PolicyAnswers&) = default;
};

/// Returns the usual answers for a use of this machine.
PolicyAnswers usualAnswers(MachineUse use, const MachineFigures& figures);

/// An answer that a question offers.
struct PolicyChoice {
    std::string text;
    PolicyAnswers answers; ///< all answers, if this choice is taken
};

/// A question with its choices. The usual choice leaves the answers as they are.
struct PolicyQuestion {
    std::string text;
    std::vector<PolicyChoice> choices;
    std::size_t usual = 0; ///< an index of `choices`
};

/// The number of questions at most. Of a cluster's node, fewer are asked.
inline constexpr std::size_t policyQuestionCount = 5;

/// Returns a question, numbered from 0, about the answers so far. Returns nothing if the question
/// has no meaning for them.
std::optional<PolicyQuestion> policyQuestion(std::size_t number, const PolicyAnswers& answers,
                                             const MachineFigures& figures);

} // namespace genv::core
