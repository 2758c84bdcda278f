"""One worker's part in the fleet: its membership, its ranges, its journal and its watchdog."""
