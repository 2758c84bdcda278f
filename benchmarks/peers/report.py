"""Prints Markdown tables from results.jsonl: medians, spread and per-round ratios to a base peer.

python3 report.py results.jsonl [--base cr-unstructured]
"""

import argparse
import collections
import json
import statistics


def load(path):
    with open(path) as f:
        rows = [json.loads(line) for line in f]
    return [r for r in rows if "not used" not in r.get("note", "")]


def show(x):
    if x is None:
        return "-"
    return f"{x:.0f}" if x >= 1000 else f"{x:.3g}" if x < 100 else f"{x:.0f}"


def table(title, rows, group, columns, base, ratios=()):
    """One line per peer: median of each column, then each round's ratio for the chosen columns."""
    good = [r for r in rows if "error" not in r]
    for key in sorted({tuple(r.get(g) for g in group) for r in rows}, key=str):
        mine = [r for r in good if tuple(r.get(g) for g in group) == key]
        names = list(dict.fromkeys(r["peer"] for r in mine))
        print(f"\n**{title}** " + ", ".join(f"{g}={k}" for g, k in zip(group, key, strict=True)) + "\n")
        head = ["peer", "rounds", *(c for c, _ in columns), *(f"{c} ratio per round" for c in ratios), "load1"]
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        lines = []
        for name in names:
            own = [r for r in mine if r["peer"] == name]
            cells = [name, str(len(own))]
            for _, f in columns:
                values = [v for v in (f(r) for r in own) if v is not None]
                cells.append(show(statistics.median(values)) if values else "-")
            for c in ratios:
                f = dict(columns)[c]
                by = {r["round"]: f(r) for r in mine if r["peer"] == base}
                per = [f"{f(r) / by[r['round']]:.2f}" for r in own if by.get(r["round"]) and f(r) is not None]
                cells.append(" / ".join(per) or "-")
            cells.append(" to ".join(dict.fromkeys(f"{pick(r['load1'] for r in own):.1f}" for pick in (min, max))))
            lines.append(cells)
        for cells in lines:
            print("| " + " | ".join(cells) + " |")
    for r in rows:
        if "error" in r:
            print(f"\nfailed: {r['peer']} round {r['round']} n={r['n']}: {r['error']}")


def get(name, scale=1):
    return lambda r: r[name] * scale if name in r else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--base", default="cr-unstructured")
    args = parser.parse_args()
    by = collections.defaultdict(list)
    for row in load(args.path):
        by[row["phase"]].append(row)
    table(
        "sync",
        by["sync"],
        ["n"],
        [
            ("sync s", get("sync_s")),
            ("sync CPU s", get("sync_cpu_s")),
            ("CPU us/obj", lambda r: r["sync_cpu_s"] / r["n"] * 1e6),
            ("first s", get("first_s")),
            ("all s", get("all_s")),
            ("all CPU s", get("all_cpu_s")),
            ("all CPU us/obj", lambda r: r["all_cpu_s"] / r["n"] * 1e6),
            ("peak MiB", get("peak_mib")),
            ("5 s MiB", get("steady_mib")),
            ("after GC MiB", get("gc_mib")),
            ("after GC KiB/obj", lambda r: r["gc_mib"] * 1024 / r["n"]),
            ("server CPU s", get("api_cpu_s")),
        ],
        args.base,
        ["sync s", "all s", "all CPU s", "after GC MiB"],
    )
    table(
        "latency",
        by["latency"],
        ["n", "rate"],
        [
            ("p50 ms", get("p50_ms")),
            ("p90 ms", get("p90_ms")),
            ("p99 ms", get("p99_ms")),
            ("max ms", get("max_ms")),
            ("CPU ms/event", get("cpu_ms_per_event")),
            ("PATCH p50 ms", get("patch_p50_ms")),
            ("PATCH p99 ms", get("patch_p99_ms")),
            ("seen share", lambda r: r["seen"] / r["written"] if r["written"] else None),
            ("true rate", get("true_rate")),
            ("RSS MiB", get("rss_mib")),
        ],
        args.base,
        ["p50 ms", "p99 ms", "CPU ms/event"],
    )
    table(
        "work",
        by["work"],
        ["n"],
        [
            ("ready", get("ready")),
            ("all ready s", get("all_ready_s")),
            ("work s", get("work_s")),
            ("CPU s", get("cpu_s")),
            ("CPU ms/obj", lambda r: r["cpu_s"] / r["n"] * 1e3),
            ("requests", get("requests")),
            ("requests/obj", lambda r: r["requests"] / r["n"]),
            ("peak MiB", get("peak_mib")),
        ],
        args.base,
        ["all ready s", "CPU s"],
    )
    print("\n**failover** seconds until the other replica's first reconcile\n")
    print(
        "| peer | how | repeats | min | median | max | median until leading | median until all keys |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    for name, how in dict.fromkeys((r["peer"], r.get("how")) for r in by["failover"]):
        own = [r for r in by["failover"] if (r["peer"], r.get("how")) == (name, how)]
        s = [r["seconds"] for r in own if "seconds" in r]
        if s:
            middle = [
                f"{statistics.median(found):.2f}" if (found := [r[field] for r in own if field in r]) else ""
                for field in ("leading_s", "all_s")
            ]
            print(
                f"| {name} | {how} | {len(s)} | {min(s):.2f} | {statistics.median(s):.2f} | {max(s):.2f} | "
                + " | ".join(middle)
                + " |"
            )
        else:
            print(f"| {name} | failed | {own[0].get('error')} | | | | | |")
    print(
        "\n**queue** medians\n\n| peer | what | rounds | drain keys/s "
        "| keys/s per core (drain) | keys/s per core (enqueue and drain) |"
    )
    print("|---|---|---|---|---|---|")
    for name, what in dict.fromkeys((r["peer"], r.get("what")) for r in by["queue"] if "what" in r):
        own = [r for r in by["queue"] if (r["peer"], r.get("what")) == (name, what)]
        print(
            f"| {name} | {what} | {len(own)} | "
            + " | ".join(
                f"{statistics.median(r[k] for r in own):,.0f}"
                for k in ("keys_per_s", "keys_per_core_s", "keys_per_core_s_both")
            )
            + " |"
        )


main()
