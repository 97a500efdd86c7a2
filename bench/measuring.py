# SPDX-License-Identifier: LGPL-2.1-or-later
"""Code that the Python parts of the benchmark share: timing processes and printing figures."""

import dataclasses
import json
import os
import statistics
import time

# The command of a task that takes turns with others: it writes when it starts and ends, and lasts so
# long that the next one waits.
STAMPED = 'date +%s%N >>"$0"; sleep 0.05; date +%s%N >>"$0"'
NOWHERE = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]


@dataclasses.dataclass
class Series:
    """The times of one repeated operation, and its processor times, in seconds."""

    times: list = dataclasses.field(default_factory=list)
    processor: list = dataclasses.field(default_factory=list)

    @property
    def median(self):
        return statistics.median(self.times)

    def percentile(self, part):
        return sorted(self.times)[int(part * (len(self.times) - 1))]


def rounded(value):
    return float(f"{value:.4g}")


def print_figure(part, name, under, unit, median, reference=None, ratio=None, **others):
    """Prints a figure."""
    figure = {"part": part, "name": name, "with": under, "unit": unit, "median": rounded(median),
              **{what: rounded(value) for what, value in others.items()}}
    if reference is not None:
        figure.update(reference=reference, ratio=rounded(ratio))
    print(json.dumps(figure, ensure_ascii=False), flush=True)


def print_times(part, name, under, series, reference=None, reference_series=None):
    """Prints the time of an operation in milliseconds, relative to a reference measured in alternation with it."""
    ratio = series.median / reference_series.median if reference else None
    print_figure(part, name, under, "ms", series.median * 1000, reference, ratio,
                 p90=series.percentile(0.9) * 1000, p99=series.percentile(0.99) * 1000)


def print_processor_time(part, name, under, series, reference, reference_series):
    """Prints the processor time of an operation, in the program and in the kernel."""
    median = statistics.median(series.processor)
    print_figure(part, f"{name}, processor", under, "ms", median * 1000, reference,
                 median / statistics.median(reference_series.processor))


def gaps(stamps):
    """Returns the times between the end of a STAMPED task and the start of the next, in seconds."""
    times = sorted(int(line) for line in stamps.read_text(encoding="ascii").split())
    return [(start - end) / 1e9 for end, start in zip(times[1::2], times[2::2])]


def run_timed(series, arguments, environment=None):
    """Runs a program, which must succeed, and adds its time."""
    began = time.perf_counter()
    pid = os.posix_spawn(arguments[0], arguments, os.environ if environment is None else environment,
                         file_actions=NOWHERE)
    _, status, used = os.wait4(pid, 0)
    took = time.perf_counter() - began
    if status != 0:
        raise SystemExit(f"{' '.join(arguments)}: status {os.waitstatus_to_exitcode(status)}")
    series.times.append(took)
    series.processor.append(used.ru_utime + used.ru_stime)
