#!python
"""The command `myxtts` of a wheel that brings the program: pip puts it where commands are."""
import importlib.util
import os
import sys

package = importlib.util.find_spec("myxtts")
if not package or not package.submodule_search_locations:
    sys.exit("myxtts: this Python has no package myxtts; pip install it again")
program = os.path.join(package.submodule_search_locations[0], "bin", "myxtts")
try:
    os.execv(program, ["myxtts"] + sys.argv[1:])
except OSError as e:
    sys.exit(f"myxtts: cannot start {program}: {e.strerror}; pip install the package again")
