"""The results: rows with the values, medians and ratios of the contestants, as a Markdown table and as JSON."""
import json
import statistics


def median(values):
    return statistics.median(values) if values else None


class Row:
    """One measured quantity, with the values of each contestant that was measured. Less is better in every unit."""

    def __init__(self, group, what, unit, values, against=None, budget=None, limit=None, note=None):
        self.group, self.what, self.unit, self.note = group, what, unit, note
        self.values = {name: list(measured) for name, measured in values.items() if measured}
        # The contestant that podfs is compared with, the maximum ratio, and podfs's maximum in `unit`.
        self.against, self.budget, self.limit = against, budget, limit

    def of(self, name):
        return median(self.values.get(name))

    @property
    def ratio(self):
        ours, theirs = self.of("podfs"), self.of(self.against)
        return ours / theirs if ours is not None and theirs else None

    @property
    def met(self):
        """Whether podfs is within the row's budget and limit, as far as they can be checked; None if neither can."""
        if self.of("podfs") is None:
            return None
        verdicts = []
        if self.budget is not None and self.ratio is not None:
            verdicts.append(self.ratio <= self.budget)
        if self.limit is not None:
            verdicts.append(self.of("podfs") <= self.limit)
        return all(verdicts) if verdicts else None

    @property
    def rivals(self):
        return [name for name in self.values if name not in ["podfs", self.against]]

    def cells(self):
        """Returns the row's cells, in the order of `Table.HEAD`."""
        budget = [f"{self.budget:.2f} ×"] if self.budget is not None else []
        budget += [f"{figure(self.limit)} {self.unit}"] if self.limit is not None else []
        verdict = {True: "", False: " ✗", None: ""}[self.met]
        theirs = self.of(self.against)
        return [
            f"{self.what}, {self.unit}", figure(self.of("podfs")),
            f"{self.against} {figure(theirs)}" if theirs is not None else "",
            ", ".join(f"{name} {figure(self.of(name))}" for name in self.rivals),
            f"{self.ratio:.2f}" if self.ratio is not None else "", ", ".join(budget) + verdict]

    def document(self):
        return {
            "group": self.group, "what": self.what, "unit": self.unit, "values": self.values,
            "medians": {name: self.of(name) for name in self.values}, "against": self.against, "ratio": self.ratio,
            "budget_ratio": self.budget, "budget": self.limit, "met": self.met, "note": self.note}


def figure(value):
    """Formats a value for the table; None becomes an empty string.

    Values from 100 have no decimals, values from 10 have one, smaller ones two. Values below 0.1,
    except 0, have two significant digits.
    """
    if value is None:
        return ""
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.2g}"


class Table:
    """The rows of a run, in the order in which they were measured."""

    HEAD = ["what (less is better)", "podfs", "beside", "others", "ratio", "budget"]

    def __init__(self):
        self.rows = []
        self.group = None

    def add(self, what, unit, values, **options):
        row = Row(self.group, what, unit, values, **options)
        self.rows.append(row)
        spread = "; ".join(
            f"{name} {figure(median(measured))} ({figure(min(measured))} to {figure(max(measured))})"
            for name, measured in row.values.items())
        ratio = f"; {row.ratio:.2f} of {row.against}'s" if row.ratio is not None else ""
        budget = row.cells()[-1]
        print(f"{what}, {unit}: {spread}{ratio}" + (f" (budget {budget})" if budget else "")
              + (f" [{row.note}]" if row.note else ""), flush=True)

    def text(self):
        """Returns the table in Markdown, with aligned columns."""
        lines = [self.HEAD, *[row.cells() for row in self.rows]]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.HEAD))]
        rows = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines]
        rows.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join(rows)

    # The marks around the measured rows in the README; the text outside them is written by hand.
    BEGIN, END = "<!-- measured rows -->", "<!-- end of measured rows -->"

    def write_readme(self, path, sentence):
        """Replaces the text between the marks `BEGIN` and `END` of the file at `path` with `sentence` and the table."""
        with open(path) as file:
            before, rest = file.read().split(self.BEGIN, 1)
            after = rest.split(self.END, 1)[1]
        with open(path, "w") as file:
            file.write(f"{before}{self.BEGIN}\n{sentence}\n\n{self.text()}\n{self.END}{after}")

    @classmethod
    def load(cls, path):
        """Loads a JSON file that `write` has written; returns the description of the machine and the table."""
        with open(path) as file:
            document = json.load(file)
        table = cls()
        for row in document["rows"]:
            table.rows.append(
                Row(row["group"], row["what"], row["unit"], row["values"], against=row["against"],
                    budget=row["budget_ratio"], limit=row["budget"], note=row["note"]))
        return document["machine"], table

    def write(self, path, machine):
        with open(path, "w") as file:
            json.dump({"machine": machine, "rows": [row.document() for row in self.rows]}, file, indent=1)
            file.write("\n")
