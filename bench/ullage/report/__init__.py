"""Records → a report: one HTML page, one Markdown page and the charts as PNG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ullage.errors import UserError
from ullage.records import RunRecord


def render(
    records: Sequence[RunRecord],
    *,
    run: str = "",
    order: Sequence[str] = (),
    overhead_ms: Mapping[str, float] | None = None,
    png: bool = True,
) -> dict[str, bytes]:
    """All files of a report by name, from records alone; equal records give equal bytes.

    ``order`` is the order of the strategies; ``png`` can leave out the picture files, the page has its own.
    """
    from ullage.report.assemble import assemble  # noqa: PLC0415 - jinja2 loads only when a report is made

    if not records:
        raise UserError("report: found no record; expected at least one")
    return assemble(records, run=run, order=order, overhead_ms=overhead_ms or {}, png=png)
