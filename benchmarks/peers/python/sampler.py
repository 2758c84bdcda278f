"""A profile by sampling: where the processor's time of this process goes, by function and by line of the project.

The timer runs on CPU time, so that waiting does not count; a C function's time counts for the line that called it.
"""

import collections
import signal

EVERY_SECONDS = 0.001
SHOWN = 45


def short(code):
    """File, from its package on, and function."""
    return f"{'/'.join(code.co_filename.split('/')[-2:])}:{code.co_qualname}"


def sampled(function, path):
    """The same function; what was sampled while it ran is in the file when it returns."""
    own, whole, lines = collections.Counter(), collections.Counter(), collections.Counter()

    def take(_, frame):
        if frame is None:
            return
        own[short(frame.f_code)] += 1
        lines[f"{short(frame.f_code)}:{frame.f_lineno}"] += 1
        seen = set()
        while frame is not None:
            if frame.f_code not in seen:
                seen.add(frame.f_code)
                whole[short(frame.f_code)] += 1
            frame = frame.f_back

    def write():
        total = max(1, sum(own.values()))
        with open(path, "w", encoding="utf-8") as file:
            for title, counted in (("own time", own), ("with callees", whole), ("by line", lines)):
                file.write(f"\n{title} ({total} samples)\n")
                for name, count in counted.most_common(SHOWN):
                    file.write(f"{100 * count / total:5.1f} %  {name}\n")

    def run():
        signal.signal(signal.SIGPROF, take)
        signal.setitimer(signal.ITIMER_PROF, EVERY_SECONDS, EVERY_SECONDS)
        try:
            function()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            write()

    return run
