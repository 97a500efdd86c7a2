// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/options/help_formatter.hpp"

#include <CLI/CLI.hpp>

namespace genv::ctl {

namespace {

// CLI11 writes "--wait{infinity}" and "--no-env-memory{false}": the value of a flag that is given
// none.
class HelpFormatter : public CLI::Formatter {
  public:
    std::string make_option_name(const CLI::Option* option, bool isPositional) const override {
        std::string name = CLI::Formatter::make_option_name(option, isPositional);
        const std::size_t value = name.find('{');
        if (value == std::string::npos)
            return name;
        name.resize(value);
        const std::string type = option->get_type_name();
        return type.empty() ? name : name + "[=" + type + "]";
    }
};

} // namespace

std::shared_ptr<CLI::FormatterBase> helpFormatter() {
    return std::make_shared<HelpFormatter>();
}

} // namespace genv::ctl
