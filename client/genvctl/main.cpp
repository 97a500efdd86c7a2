// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/command_line.hpp"

int main(int count, char** arguments) {
    return genv::ctl::runCommandLine(count, arguments);
}
