#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the decisions of bench/run: which figures count, which miss their target, and what is shown of them."""

import json
import pathlib
import sys
import unittest

BENCH = pathlib.Path(__file__).resolve().parent.parent.parent / "bench"
sys.path.insert(0, str(BENCH))
sys.dont_write_bytecode = True

import document  # noqa: E402
import figures  # noqa: E402
import plots  # noqa: E402


def line(name="ListDevices", median=118.2, unit="µs", part="bus", under=None, **more):
    return json.dumps({"part": part, "name": name, "with": under or {}, "unit": unit, "median": median, **more})


def read(*lines):
    return figures.read_figures(lines)


def target(figure="bus: ListDevices", under="", holds="ratio <= 1.5", slack="10 %"):
    return figures.read_target(f"{figure} | {under} | {holds} | {slack} | the bus")


class Figures(unittest.TestCase):
    def test_a_line_is_kept_as_it_was(self):
        text = line(under={"devices": 8, "environments": 100}, p90=130.1, per_second=8100, reference="Peer.Ping", ratio=1.04)
        self.assertEqual(read(text)[0].object(), json.loads(text))

    def test_what_is_no_figure_is_refused(self):
        for text in ("genvd: hello", "[]", "3", "{}", line(unit="furlong"), line(median="much"), line(under={"devices": "all"}),
                     line(reference="Peer.Ping"), line(median=True)):
            with self.assertRaises(figures.Invalid, msg=text):
                read(text)

    def test_a_figure_that_is_told_twice_is_refused(self):
        read(line(under={"devices": 8}), line(under={"devices": 9}), line(part="core"), line())
        with self.assertRaises(figures.Invalid):
            read(line(under={"a": 1, "b": 2}), line(under={"b": 2, "a": 1}, median=3))


class Merging(unittest.TestCase):
    def whole(self, *lines, **machine):
        return {"machine": {"commit": "a1", "cpu": "x", "kernel": "6", "quick": False, "date": "today", **machine},
                "figures": [figure.object() for figure in read(*lines)]}

    def names(self, former, measured, parts):
        return [(f["part"], f["median"]) for f in figures.merged(former, measured, parts)["figures"]]

    def test_the_parts_that_were_left_out_are_kept(self):
        former = self.whole(line(part="bus", median=1), line(part="core", median=2), date="yesterday")
        measured = self.whole(line(part="core", median=3))
        self.assertEqual(self.names(former, measured, ["core"]), [("bus", 1), ("core", 3)])
        self.assertEqual(figures.merged(former, measured, ["core"])["machine"]["date"], "today")

    def test_nothing_of_a_part_that_was_measured_again_is_kept(self):
        former = self.whole(line("gone", part="core"), line(part="bus", median=1))
        self.assertEqual(self.names(former, self.whole(), ["core"]), [("bus", 1)])

    def test_figures_of_other_sources_or_another_machine_are_not_mixed_in(self):
        for other in ({"commit": "b2"}, {"cpu": "y"}, {"kernel": "7"}, {"quick": True}):
            former = self.whole(line(part="bus", median=1), **other)
            self.assertEqual(self.names(former, self.whole(line(part="core", median=3)), ["core"]), [("core", 3)])
        self.assertEqual(self.names(None, self.whole(line(part="core", median=3)), ["core"]), [("core", 3)])


class Targets(unittest.TestCase):
    def misses(self, one, *lines):
        return figures.misses(read(*lines), [one])

    def test_a_ratio_may_be_over_by_the_slack_and_no_more(self):
        for ratio, count in ((1.0, 0), (1.5, 0), (1.65, 0), (1.66, 1)):
            self.assertEqual(len(self.misses(target(), line(reference="Peer.Ping", ratio=ratio))), count, ratio)

    def test_a_miss_is_named_with_what_was_measured(self):
        self.assertEqual(self.misses(target(under="devices=8"), line(under={"devices": 8}, reference="Peer.Ping", ratio=2)),
                         ["bus: ListDevices with devices=8: 2.00 of Peer.Ping with devices=8, expected ratio <= 1.5"])

    def test_a_value_is_compared_across_units(self):
        one = target(holds="<= 150 ms", slack="0 %")
        self.assertEqual(self.misses(one, line(median=149_000.0)), [])
        self.assertEqual(len(self.misses(one, line(median=151_000.0))), 1)
        self.assertEqual(len(self.misses(one, line(median=0.2, unit="s"))), 1)

    def test_a_bound_by_a_yardstick_moves_with_it(self):
        one = figures.read_targets("yardstick parse = 10 ms\nbus: Enforce | | <= 100 ms by parse | 0 % | /proc\n")[0]
        slow, slower = line("Enforce", 150, "ms"), line("Enforce", 201, "ms")
        twice = line("yardstick parse", 20, "ms")
        self.assertEqual(self.misses(one, slow, twice), [])
        self.assertEqual(self.misses(one, slower, twice),
                         ["bus: Enforce: 201 ms with nothing else, expected <= 100 ms by parse, here times 2.00"])
        self.assertEqual(len(self.misses(one, slow, line("yardstick parse", 10, "ms"))), 1)
        self.assertIn("<= 100 ms", figures.table(read(slow, twice), [one]))

    def test_a_yardstick_of_another_part_counts_as_not_measured(self):
        one = figures.read_targets("yardstick parse = 10 ms\nbus: Enforce | | <= 100 ms by parse | 0 % | /proc\n")[0]
        self.assertEqual(self.misses(one, line("Enforce", 1, "ms"), line("yardstick parse", 10, "ms", part="core")),
                         ["bus: Enforce: yardstick parse not measured"])

    def test_what_was_not_measured_is_a_miss(self):
        one = target(under="environments=10000")
        for lines in ((), (line("ListOthers", reference="Peer.Ping", ratio=1),),
                      (line(part="core", reference="Peer.Ping", ratio=1, under={"environments": 10000}),),
                      (line(under={"environments": 100}, reference="Peer.Ping", ratio=1),)):
            self.assertEqual(self.misses(one, *lines), ["bus: ListDevices with environments=10000: not measured"])

    def test_a_figure_without_a_ratio_misses_one(self):
        self.assertEqual(len(self.misses(target(), line())), 1)

    def test_every_figure_that_a_target_is_about_must_meet_it(self):
        one = target("bus: growth of *", "environments=10")
        good = line("growth of A", under={"environments": 10, "devices": 8}, reference="empty service", ratio=1)
        bad = line("growth of B", under={"environments": 10}, reference="empty service", ratio=9)
        self.assertEqual(self.misses(one, good), [])
        self.assertEqual(len(self.misses(one, good, bad)), 1)
        self.assertEqual(self.misses(one, good, line("growth of B", under={"environments": 11}, reference="x", ratio=9)), [])

    def test_a_target_that_cannot_be_read_is_refused(self):
        for words in ({"holds": "fast"}, {"holds": "<= 3 furlongs"}, {"holds": "<= 3 ms by parse"}, {"slack": "some"}, {"under": "devices"}, {"figure": "x"}):
            with self.assertRaises(figures.Invalid, msg=words):
                target(**words)

    def test_the_table_of_targets_can_be_read(self):
        self.assertGreater(len(figures.read_targets((BENCH / "targets").read_text(encoding="utf-8"))), 20)


class Table(unittest.TestCase):
    def test_no_line_is_longer_than_a_terminal(self):
        text = figures.table(read(line("a" * 100, median=123456789012.5, unit="bytes", reference="b" * 100, ratio=98765.4, under={"environments" * 9: 10000})),
                             [target("bus: a*", holds="ratio <= 1000.5")])
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_shows_figure_reference_ratio_and_target(self):
        text = figures.table(read(line(reference="Peer.Ping", ratio=1.04, under={"devices": 8})), [target()])
        self.assertEqual(text.splitlines()[2], "bus: devices=8")
        self.assertRegex(text, r"(?m)^ListDevices +118 µs +Peer.Ping +1.04 <= 1.5$")

    def test_shows_by_how_much_one_of_ten_is_longer(self):
        self.assertRegex(figures.table(read(line(p90=130.02)), []), r"(?m)^ListDevices +118 µs +\+10 %$")

    def test_a_long_name_is_whole_on_a_line_of_its_own(self):
        self.assertRegex(figures.table(read(line("jobs by xargs, processor time of the machine")), []),
                         r"(?m)^jobs by xargs, processor time of the machine\n +118 µs$")

    def test_a_time_has_the_unit_that_suits_it(self):
        for median, unit, shown in ((0.5, "µs", "0.50 µs"), (1430.3, "µs", "1.43 ms"), (150452, "µs", "150 ms"),
                                    (0.9161, "ms", "916 µs"), (3999.6, "ms", "4.00 s"), (8, "1", "8"), (155.2, "MiB", "155 MiB")):
            self.assertEqual(figures.value(read(line(median=median, unit=unit))[0]), shown)

    def test_a_miss_is_marked(self):
        self.assertRegex(figures.table(read(line(reference="Peer.Ping", ratio=2)), [target()]), r"2.00 <= 1.5 NO$")

    def test_the_narrower_target_is_shown(self):
        both = [target(holds="ratio <= 9"), target(under="devices=8", holds="ratio <= 2")]
        self.assertIn("<= 2", figures.table(read(line(reference="P", ratio=1, under={"devices": 8})), both))


class Document(unittest.TestCase):
    machine = {"date": "2026-01-01", "commit": "a1", "cpu": "x", "cores": 2, "kernel": "6", "bus": "dbus-daemon 1",
               "quick": False, "versions": {"GCC": "12"}}

    def test_shows_promises_with_the_worst_figure_and_what_was_not_measured(self):
        measured = read(line(reference="Peer.Ping", ratio=1.2, under={"devices": 8}),
                        line(reference="Peer.Ping", ratio=1.9, under={"devices": 9}))
        text = document.generated({"machine": self.machine}, measured, [target(), target("bus: ListQueue")], [])
        self.assertIn("| bus: ListDevices | 118 µs | 1.90 × Peer.Ping | ≤ 1.5 **missed** |", text)
        self.assertIn("| bus: ListQueue | not measured |", text)

    def test_targets_with_one_bound_share_a_row_with_the_worst_figure(self):
        measured = read(line(reference="Peer.Ping", ratio=1.2), line("ListQueue", reference="Peer.Ping", ratio=1.3))
        text = document.generated({"machine": self.machine}, measured, [target(), target("bus: ListQueue")], [])
        self.assertIn("| bus: ListDevices; ListQueue | 118 µs | 1.30 × Peer.Ping | ≤ 1.5 |", text)

    def test_costs_over_sizes_are_plotted(self):
        measured = read(*(line("attach", part="core", median=n / 10, under={"environments": n}) for n in (10, 100, 1000)))
        text = document.generated({"machine": self.machine}, measured, [], ["performance-core-environments.svg"])
        self.assertIn("## The core by itself\n\n![", text)
        self.assertIn("(performance-core-environments.svg)", text)

    def test_details_and_references_are_left_out(self):
        measured = read(*(line(name, part="processes", **more) for name, more in (("a", {"reference": "b", "ratio": 2}), ("b", {}), ("c", {"unit": "1"}), ("processor time of a", {}))),
                        line("d", part="processes", under={"in_flight": 64}),
                        *(line("growth of a", unit="1", part="processes", under={"environments": n}) for n in (10, 100, 1000)))
        text = document.generated({"machine": self.machine}, measured, [], [])
        self.assertEqual([row.split(" | ")[0] for row in text.splitlines() if row.startswith("| ")],
                         ["| figure", "| figure", "| a"])

    def test_what_all_figures_of_a_part_have_in_common_is_said_once(self):
        measured = read(line("a", part="processes", under={"devices": 8, "hosts": 1}), line("b", part="processes", under={"devices": 8, "hosts": 2}))
        text = document.generated({"machine": self.machine}, measured, [], [])
        self.assertIn("With devices=8:", text)
        self.assertIn("| figure | with | median |\n", text)
        self.assertIn("| b | hosts=2 | 118 µs |", text)

    def test_only_what_is_between_the_marks_is_replaced(self):
        page = f"before\n{document.BEGIN}\nold\n{document.END}\nafter\n"
        self.assertEqual(document.replaced(page, "new\n"), f"before\n{document.BEGIN}\nnew\n{document.END}\nafter\n")
        for damaged in ("before\n", f"{document.BEGIN}\n", f"{document.END}\n"):
            with self.assertRaises(ValueError):
                document.replaced(damaged, "new\n")


class Plots(unittest.TestCase):
    def test_a_line_needs_three_sizes_and_has_the_largest_of_the_others(self):
        measured = read(*(line("attach", median=n + d, under={"environments": n, "devices": d})
                          for n in (10, 100, 1000) for d in (8, 1024)),
                        line("two", under={"environments": 1}), line("two", under={"environments": 2}))
        self.assertEqual(plots.lines(measured, "bus", "environments"),
                         [plots.Line("attach", (("devices", 1024),), ((10, 1034), (100, 1124), (1000, 2024)))])
        self.assertEqual(plots.lines(measured, "bus", "devices"), [])

    def test_a_line_is_of_one_call_at_a_time(self):
        measured = read(*(line(median=n * f, under={"environments": n, "in_flight": f}) for n in (10, 100, 1000) for f in (64, 1)))
        self.assertEqual([each.label for each in plots.lines(measured, "bus", "environments")], ["ListDevices (1 in_flight)"])

    def test_a_panel_compares_what_was_measured_of_it_in_its_unit(self):
        measured = read(line("floor", 2.25, "ms", part="peers"), line("genvctl run", 8000, "µs", part="peers"),
                        line("hand-over", 9, "ms", part="peers"), line("floor", 1))
        self.assertEqual(plots.bars(measured), [("a command on a GPU", "ms", [("the least on the bus", 2.25), ("genvctl run", 8)])])

    def test_gnuplot_is_told_each_panel(self):
        text = plots.bar_script([("a", "ms", [("x", 2), ("y", 1.5)]), ("b", "s", [("z", 3), ("w", 4)])])
        self.assertIn("$panel0 << END\n2 2\n1 1.5\nEND", text)
        self.assertIn('set ytics ("z" 2, "w" 1)', text)
        self.assertIn("set multiplot layout 2,1", text)

    def test_gnuplot_is_told_each_line(self):
        text = plots.script([plots.Line('a "b"', (), ((1, 2.5), (10, 25)))], "environments", "t")
        self.assertIn("$line0 << END\n1 2.5\n10 25\nEND", text)
        self.assertIn("plot $line0 with linespoints", text)
        self.assertNotIn('"b"', text)


if __name__ == "__main__":
    unittest.main()
