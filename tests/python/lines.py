"""Results of tests as tools/run_tests.sh reads them."""
import os
import sys
import unittest


class Lines(unittest.TextTestResult):
    """A line for each test."""

    def name(self, test):
        return "python_" + test.id().split(".")[-1].replace("test_", "", 1)

    def addSuccess(self, test):
        super().addSuccess(test)
        print(f"ok {self.name(test)}", flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        print(self.failures[-1][1], f"not ok {self.name(test)}", sep="\n", flush=True)

    def addError(self, test, err):
        super().addError(test, err)
        print(self.errors[-1][1], f"not ok {self.name(test)}", sep="\n", flush=True)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skip {self.name(test)} SKIPPED: {reason}", flush=True)


def main():
    """Runs the tests of the program that calls it."""
    sys.stdout.reconfigure(line_buffering=True)
    unittest.main(testRunner=unittest.TextTestRunner(resultclass=Lines, verbosity=0, stream=open(os.devnull, "w")))
