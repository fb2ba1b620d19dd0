"""The figures of money by name: bills and caches, the audit against bills, the autopsy of a session, sensitivity.

Each is a tuple of name, unit, meaning, formula and source. Breaks are defined in ``breaks``, compactions' books in
``economics``, laws in ``audit_laws``, habits in ``habits``.
"""

from __future__ import annotations

MONEY = (
    (
        "usage",
        "tokens",
        "uncached, cache read, cache write 5 m and 1 h, output; the first four are disjoint and sum to the prompt",
        "simulated per call by the cache policy; MODELLED",
        "provider documents, named by `ullage list caches`",
    ),
    (
        "usd",
        "dollars",
        "price of all calls, context turns and summaries, storage included; MODELLED",
        "Σ tokens × rate of the tier that the call's own prompt falls into + Σ context turns + Σ summaries + storage",
        "litellm's price sheet, dated in the manifest",
    ),
    (
        "usd_split",
        "dollars",
        "the same by uncached, cache read, cache write 5 m and 1 h, output, context turns, summariser, storage",
        "per kind",
        "same",
    ),
    ("usd_label", "label", "MODELLED or OBSERVED: where the dollars come from", "see below", "this project"),
    (
        "usd_recorded",
        "dollars",
        "what the recordings themselves were billed; OBSERVED",
        "Σ recorded tokens × rate",
        "recording, price sheet",
    ),
    ("usd_priced", "traces, dollars", "how many traces have a price, and their sum", "count, Σ", "this project"),
    ("price_notes", "text", "rules that stood in for gaps in the price sheet", "listed", "this project"),
    (
        "cache_read_ratio",
        "share",
        "share of the input that was read from the cache",
        "Σ read / Σ prompt",
        "Manus; Don't Break the Cache",
    ),
    (
        "cache_breaks",
        "count",
        "calls that read less than the call before left in the cache, less what a compaction announced",
        "kept(n−1) − read(n) > 2,000 and > 5 % of kept(n−1), where kept is cut to what a compaction left whole",
        "thresholds: Claude Code's detector; reference value: this project",
    ),
    (
        "cache_alarms",
        "count",
        "falls of the read against the previous read: what a client sees; blind to a cache that stays broken",
        "read(n−1) − read(n) > 2,000 and > 5 % of read(n−1)",
        "Claude Code's own detector",
    ),
    (
        "breaks_by_cause",
        "count, tokens, dollars",
        "breaks by model change, idle past TTL, compaction, edit, prompt shrank, unexplained; dearest first",
        "Σ over breaks; dollars = tokens sent again × (rate paid − read rate), new tokens left out",
        "this project",
    ),
    (
        "build_carry",
        "dollars, calls",
        "what compactions cost once, what each later call saves, and how many had paid off before the next or the end",
        "cost = requests + tokens sent again × (rate paid − read rate); saved = Σ freed × what each later call would have paid",
        "future-os (build against carry); yoagent",
    ),
    (
        "break_even",
        "calls",
        "calls after which a compaction has paid for itself while the cache stays warm",
        "N* = (B + I (p_w − p_r)) / (q_full − q_s); never where nothing is saved",
        "future-os; yoagent",
    ),
)
AUDIT = (
    ("audit.pairs", "count", "billed calls with a billed call before them: what is predicted", "count", "this project"),
    ("audit.exact", "count", "pairs whose read is predicted to the token", "predicted = read", "format survey"),
    (
        "audit.within_1pct",
        "count",
        "pairs whose prediction is within 1 % of the billed read",
        "abs(predicted − read) ≤ 1 % of read",
        "format survey",
    ),
    (
        "audit.usd_billed",
        "dollars",
        "prompt side of the bill; OBSERVED",
        "Σ billed tokens × rate, output left out",
        "recording, price sheet",
    ),
    (
        "audit.usd_modelled",
        "dollars",
        "the same calls with the predicted split; MODELLED",
        "predicted read at the read rate, the rest of the prompt written with the lifetime of the call before",
        "this project",
    ),
    (
        "audit.usd_error",
        "share",
        "net error of the dollars: over- and underestimates cancel",
        "(modelled − billed) / billed",
        "this project",
    ),
    (
        "audit.usd_error_abs",
        "share",
        "the sessions' absolute errors together: nothing cancels",
        "Σ abs(modelled − billed) / Σ billed",
        "this project",
    ),
    (
        "audit.usd_error_median",
        "share",
        "absolute error of the median session",
        "median of abs(modelled / billed − 1)",
        "this project",
    ),
    (
        "audit.causes",
        "count",
        "why predictions were off by more than 1 %, each disagreement under one cause",
        "count",
        "this project",
    ),
    (
        "audit.floor_usd",
        "dollars",
        "modelled less billed dollars of those pairs: what nothing recorded could foretell",
        "Σ error of unforeseeable pairs",
        "this project",
    ),
    (
        "audit.usd_error_foreseeable",
        "share",
        "net error of the dollars without those pairs",
        "(modelled − billed − floor_usd) / billed",
        "this project",
    ),
    (
        "audit.floor",
        "share",
        "pairs that no rule could have foreseen: nothing recorded before the call tells",
        "(unexplained + side request + changed request + best effort + API error) / pairs",
        "format survey, 2.",
    ),
)
AUTOPSY = (
    (
        "autopsy.usd",
        "dollars",
        "the session with its sub-agents; OBSERVED",
        "Σ billed tokens × rate; placeholders of output counted from the reply, and said",
        "recording, price sheet",
    ),
    (
        "autopsy.usd_requests",
        "dollars",
        "the requests that wrote summaries: no client records them; MODELLED",
        "recorded size read from the cache if that was alive, else written; output = the recorded summary, counted",
        "format survey, consequence 3",
    ),
    (
        "autopsy.spent",
        "tokens, dollars",
        "every token under one reason: read, output, start, new, or sent again and why",
        "new = growth of the prompt; sent again = prompt − read − new; sums to the bill",
        "this project",
    ),
    ("autopsy.breaks", "count, tokens, dollars", "breaks as above, on billed usage; OBSERVED", "as cache_breaks", "this project"),
    (
        "autopsy.account",
        "dollars, calls",
        "build against carry of each recorded compaction; MODELLED",
        "as build_carry",
        "future-os",
    ),
    (
        "autopsy.lost",
        "count",
        "facts that stood before a compaction and are in neither its summary nor what was put back: an upper bound",
        "mined probes whose evidence is in no line, and whose answer is nowhere, in what was kept",
        "this project",
    ),
    ("autopsy.gone", "count", "of these, facts that no later message states again", "count", "this project"),
    ("autopsy.missed", "count", "of these, facts that later replies used", "count", "this project"),
    (
        "autopsy.looked_again",
        "count, tokens",
        "files and searches looked at before a compaction and again after it, beside the same count in as many messages before it",
        "first repeat of each target; tokens of its result",
        "aimee (rounds to resume)",
    ),
    (
        "autopsy.habits",
        "dollars",
        "what the session would have cost with one habit changed; MODELLED",
        "the bill with the touched calls split again; see below",
        "this project",
    ),
)
SENSITIVITY = (
    (
        "sensitivity.usd",
        "dollars",
        "a strategy's bill with extra turns after its first lossy decision; MODELLED",
        "before + (1 + e) × after, e = 0, 10, 20 %",
        "methodology 5.7",
    ),
    (
        "sensitivity.flips",
        "share",
        "the e at which the cheaper of two strategies becomes the dearer",
        "(cost_b − cost_a) / (after_a − after_b), up to 100 %",
        "methodology 5.7",
    ),
    (
        "sensitivity.same_order_as_run",
        "yes or no",
        "whether the order by dollars is that of the run, under another price list or another provider's cache",
        "strategies that finished every trace, cheapest to dearest",
        "this project",
    ),
)
