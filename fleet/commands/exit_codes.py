"""What `fleet` exits with.

0, 1 for what went wrong at run time, 2 for what is wrong in the command line, the config or the author's module; by 3
and 4 `canary status` says that the next step has to wait, or the last one has to be taken back.
"""

EXIT_RUN_TIME = 1
EXIT_CONFIG = 2
EXIT_WAIT = 3
EXIT_STEP_BACK = 4
EXIT_INTERRUPTED = 130
