"""`make fuzz`: inputs for FUZZ_SECONDS seconds from FUZZ_FIRST on; ends with 1 for a finding."""

import os
import sys

from tests.fuzz.engine import fuzz

found = fuzz(
    int(os.environ.get("FUZZ_FIRST", "0")), 10**9, float(os.environ.get("FUZZ_SECONDS", "600"))
)
for line in found.wrong:
    print(line)
print(f"{found.count} inputs of {len(found.by_input)} files, {len(found.wrong)} findings")
sys.exit(bool(found.wrong))
