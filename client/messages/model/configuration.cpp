// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/configuration.hpp"

#include "client/messages/model/mail_address.hpp"
#include "client/messages/model/webhook_url.hpp"
#include "core/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

namespace genv::messages {

namespace {

constexpr std::size_t maxCommand = 4096;

struct ChannelRow {
    Channel channel;
    std::string_view section;
    std::string_view word;
    std::string_view key; ///< of the value that a section must have
    bool names;           ///< default of Names=
};

constexpr std::array channelRows{
    ChannelRow{Channel::Mail, "Mail", "mail", "To", true},
    ChannelRow{Channel::Webhook, "Webhook", "webhook", "Url", false},
    ChannelRow{Channel::Command, "Command", "command", "Run", true},
};

constexpr std::array<std::pair<std::string_view, Format>, 4> formats{{
    {"slack", Format::Slack},
    {"discord", Format::Discord},
    {"ntfy", Format::Ntfy},
    {"json", Format::Json},
}};

const ChannelRow& rowOf(Channel channel) {
    return *std::find_if(channelRows.begin(), channelRows.end(),
                         [channel](const ChannelRow& row) { return row.channel == channel; });
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// Takes a text line by line, so that an error can name its line.
class FileReader {
  public:
    explicit FileReader(std::string file) : file_(std::move(file)) {}

    void take(std::string_view line) {
        ++line_;
        line = trimmed(line);
        if (line.empty() || line.front() == '#' || line.front() == ';')
            return;
        if (line.front() == '[')
            takeSection(line);
        else
            takeAssignment(line);
    }

    Configuration finish() {
        finishSection();
        return std::move(configuration_);
    }

  private:
    [[noreturn]] void fail(const std::string& what, std::size_t line) const {
        throw ConfigurationError(fmt::format("{}:{}: {}", file_, line, what));
    }
    [[noreturn]] void fail(const std::string& what) const { fail(what, line_); }

    void takeSection(std::string_view line) {
        finishSection();
        const auto* row =
            std::find_if(channelRows.begin(), channelRows.end(), [line](const ChannelRow& each) {
                return line == fmt::format("[{}]", each.section);
            });
        if (row == channelRows.end())
            fail(fmt::format("unknown section \"{}\": expected [Mail], [Webhook] or [Command]",
                             core::escaped(line)));
        if (configuration_.contains(row->channel))
            fail(fmt::format("[{}] is there twice: expected one", row->section));
        section_ = row;
        sectionLine_ = line_;
        keys_.clear();
        configuration_[row->channel].names = row->names;
    }

    void finishSection() const {
        if (section_ != nullptr && target().value.empty())
            fail(fmt::format("[{}] has no {}=: expected one", section_->section, section_->key),
                 sectionLine_);
        if (section_ != nullptr && section_->channel == Channel::Webhook &&
            !keys_.contains("Format"))
            fail("[Webhook] has no Format=: expected slack, discord, ntfy or json", sectionLine_);
    }

    void takeAssignment(std::string_view line) {
        const std::size_t sign = line.find('=');
        if (section_ == nullptr || sign == std::string_view::npos)
            fail("expected [Mail], [Webhook] or [Command], then lines of the form Key=value");
        const std::string key(trimmed(line.substr(0, sign)));
        const std::string_view value = trimmed(line.substr(sign + 1));
        if (!keys_.insert(key).second)
            fail(fmt::format("{}= is there twice: expected one", core::escaped(key)));
        if (key == section_->key)
            takeValue(value);
        else if (key == "Format" && section_->channel == Channel::Webhook)
            takeFormat(value);
        else if (key == "Kinds")
            takeKinds(value);
        else if (key == "Quiet")
            takeQuiet(value);
        else if (key == "Names")
            takeNames(value);
        else
            fail(fmt::format("unknown key \"{}\" in [{}]: expected {}=, {}Kinds=, Quiet= or Names=",
                             core::escaped(key), section_->section, section_->key,
                             section_->channel == Channel::Webhook ? "Format=, " : ""));
    }

    void takeValue(std::string_view value) {
        if (section_->channel == Channel::Mail && !isMailAddress(value))
            fail(fmt::format("To=: invalid address \"{}\": expected one such as alice@example.org",
                             core::escaped(value)));
        if (section_->channel == Channel::Webhook)
            if (const auto fault = faultOfUrl(value))
                fail("Url=: " + *fault);
        if (section_->channel == Channel::Command &&
            (value.empty() || value.size() > maxCommand || value.find('\0') != value.npos))
            fail("Run=: expected a command of the shell, of at most 4096 bytes");
        target().value = value;
    }

    void takeFormat(std::string_view value) {
        const auto* found = std::find_if(formats.begin(), formats.end(),
                                         [value](const auto& row) { return row.first == value; });
        if (found == formats.end())
            fail(
                fmt::format("Format=: unknown format \"{}\": expected slack, discord, ntfy or json",
                            core::escaped(value)));
        target().format = found->second;
    }

    void takeKinds(std::string_view value) {
        Kinds kinds;
        while (!value.empty()) {
            const std::size_t end = std::min(value.find_first_of(", \t"), value.size());
            if (const std::string_view word = value.substr(0, end); !word.empty()) {
                const auto kind = kindNamed(word);
                if (!kind || !allKinds().contains(*kind))
                    fail(fmt::format("Kinds=: unknown kind \"{}\": expected some of {}",
                                     core::escaped(word), namesOf(allKinds())));
                kinds.insert(*kind);
            }
            value.remove_prefix(std::min(end + 1, value.size()));
        }
        if (kinds.empty())
            fail(fmt::format("Kinds=: expected some of {}", namesOf(allKinds())));
        target().kinds = std::move(kinds);
    }

    void takeQuiet(std::string_view value) {
        target().quiet = parseQuietHours(value);
        if (!target().quiet)
            fail(fmt::format("Quiet=: invalid hours \"{}\": expected hours such as 22:00-07:00",
                             core::escaped(value)));
    }

    void takeNames(std::string_view value) {
        if (value != "yes" && value != "no")
            fail(fmt::format("Names=: invalid value \"{}\": expected yes or no",
                             core::escaped(value)));
        target().names = value == "yes";
    }

    DeliveryTarget& target() { return configuration_.at(section_->channel); }
    [[nodiscard]] const DeliveryTarget& target() const {
        return configuration_.at(section_->channel);
    }

    std::string file_;
    std::size_t line_ = 0;
    const ChannelRow* section_ = nullptr;
    std::size_t sectionLine_ = 0;
    std::set<std::string> keys_; ///< of the section
    Configuration configuration_;
};

} // namespace

std::string_view nameOf(Channel channel) {
    return rowOf(channel).section;
}

std::string_view wordOf(Channel channel) {
    return rowOf(channel).word;
}

std::string_view nameOf(Format format) {
    return std::find_if(formats.begin(), formats.end(),
                        [format](const auto& row) { return row.second == format; })
        ->first;
}

Configuration parseConfiguration(std::string_view text, const std::string& file) {
    FileReader reader(core::escaped(file, 4096));
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        reader.take(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return reader.finish();
}

} // namespace genv::messages
