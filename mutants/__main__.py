"""`python -m mutants`: break the product in one place after another; a test must notice each."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from mutants.breaks import all_breaks
from mutants.copy import Copy
from mutants.trial import Outcome, Trial, attempt


def main() -> int:
    """Run the tests once on the whole product, then each break; 1 if a break was not noticed, or not tried."""
    known = {one.name: one for one in all_breaks()}
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*known, []], metavar="NAME", help="only these breaks")
    chosen = [known[name] for name in parser.parse_args().names or known]
    began = time.monotonic()
    with TemporaryDirectory(prefix="pgq-ops-mutants-") as folder:
        copy = Copy(Path(folder))
        code, output = copy.test(sorted({test for one in chosen for test in one.tests}), stop_at_first=False)
        print(f"unbroken: {output.strip().splitlines()[-1]}", flush=True)
        if code != 0:
            print(output[-4000:])
            return 1
        trials: list[Trial] = []
        for one in chosen:
            trials.append(attempt(one, copy))
            print(trials[-1].line(), flush=True)
    outcomes = Counter(trial.outcome for trial in trials)
    parts = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in Outcome)
    print(f"{len(trials)} breaks in {time.monotonic() - began:.0f} s: {parts}")
    return 0 if outcomes[Outcome.KILLED] == len(trials) else 1


if __name__ == "__main__":
    sys.exit(main())
