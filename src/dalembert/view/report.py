"""Reports: one HTML file with animation, linked plots, reactions, certificate, equations, values and the model."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.file_writing import write_file
from dalembert.importers.model_writing import model_text
from dalembert.model.model import Model
from dalembert.motion.certificate import Certificate, versions
from dalembert.motion.motion import Motion
from dalembert.motion.protocols import MotionLike
from dalembert.view.animation import Trace, scene_payload, trace_payload
from dalembert.view.channels import Group, groups_of, reactions_by_joint
from dalembert.view.frames import frames_of
from dalembert.view.overview import picture_of
from dalembert.view.page import embedded_json, fill_page
from dalembert.view.typeset import typeset

PLOTTED_DIGITS = 6  # significant ones


def write_report(motion: MotionLike, path: str | Path, *, source: str | Model = "") -> Path:
    """The path of the HTML file written; `source` is the model that it shows, which it writes as a file, or a text."""
    frames = frames_of(motion)
    parts = frames.parts
    certificate, system = motion.certificate, motion.system
    scene = replace(picture_of(motion, frames), caption="")
    groups = groups_of(parts)
    texts = {
        "TITLE": html.escape(system.name),
        "VERDICT": html.escape(certificate.verdict),
        "MOOD": "good" if certificate.ok else "bad",
        "SCENE": embedded_json(scene_payload(scene)),
        "GROUPS": embedded_json([_group_payload(group, len(scene.t)) for group in groups]),
        "REACTIONS": _reactions(motion, parts),
        "CERTIFICATE": _certificate(certificate),
        "EQUATIONS": typeset(system),
        "VALUES": _values(motion),
        "SOURCE": _source(motion, source),
        "VERSIONS": html.escape(versions()),
    }
    return write_file(path, fill_page("report.html", texts))


def _group_payload(group: Group, nt: int) -> dict[str, Any]:
    traces = [
        trace_payload(Trace(name, values, noise=group.log or name == "balance"), nt, PLOTTED_DIGITS)
        for name, values in group.columns.items()
    ]
    return {"name": group.name, "log": group.log, "shown": group.shown, "channels": traces}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table of texts; columns after the first one are numbers."""
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _certificate(certificate: Certificate) -> str:
    rows = [
        (f.level, f.name, f"{f.worst:.1e}", f"{f.t:.4g}", f"{f.allowed:.0e}", "held" if f.ok else "NOT held")
        for f in certificate.findings
    ]
    judged = table(("level", "what", "worst", "at t", "allowed", ""), rows) if rows else ""
    error = ""
    if certificate.verification is not None:
        v = certificate.verification
        errors = [(d.name, f"{d.error:.1e}", f"{d.t:.4g}") for d in (*v.coordinates, *v.speeds, *v.multipliers)]
        error = f"<h3>Estimated error, by a second run</h3><p>{html.escape(v.method)}</p>"
        error += table(("quantity", "largest difference", "at t"), errors)
    else:
        error = "<p>The error was not estimated; <code>motion.verify()</code> before the report does that.</p>"
    whole = f"<details><summary>The whole certificate</summary><pre>{html.escape(str(certificate))}</pre></details>"
    return judged + error + whole


def _reactions(motion: MotionLike, parts: tuple[Motion, ...]) -> str:
    """The largest reactions: by joint if there are joints, else by constraint."""
    rows: dict[str, tuple[str, ...]] = {}
    for part in parts:
        for name, (force, torque) in reactions_by_joint(part).items():
            f, m = np.linalg.norm(force, axis=1), np.linalg.norm(torque, axis=1)
            k, j = int(np.argmax(f)), int(np.argmax(m))
            found = (name, f"{f[k]:.5g}", f"{part.t[k]:.4g}", f"{m[j]:.5g}", f"{part.t[j]:.4g}")
            rows[name] = max(rows.get(name, found), found, key=lambda row: float(row[1]))
    if rows:
        note = "<p>On the second body of each joint, at the joint; curves are under “reactions by joint”.</p>"
        return note + table(("joint", "largest force", "at t", "largest torque", "at t"), rows.values())
    if not motion.constraint_names:
        return "<p>There are no constraints, hence no reactions.</p>"
    for part in parts:
        for name, la in zip(part.constraint_names, np.abs(part.multipliers).T, strict=True):
            most = (name, f"{la.max():.5g}", f"{part.t[la.argmax()]:.4g}")
            rows[name] = max(rows.get(name, most), most, key=lambda row: float(row[1]))
    return table(("multiplier of", "largest", "at t"), rows.values())


def _values(motion: MotionLike) -> str:
    blocks = []
    for k, part in enumerate(motion.segments):
        s, head = part.system, f"<h3>Segment {k + 1}, from t = {part.t[0]:.6g}</h3>" if len(motion.segments) > 1 else ""
        start = [*zip(s.coordinates, part.q[0], strict=True), *zip(s.speeds, part.u[0], strict=True)]
        values = table(
            ("parameter", "value"), ((n, f"{v:.10g}") for n, v in zip(s.parameters, part.parameters, strict=True))
        )
        begun = table((f"at t = {part.t[0]:g}", "value"), ((n, f"{v:.10g}") for n, v in start))
        blocks.append(f'{head}<div class="beside">{values if s.parameters else ""}{begun}</div>')
    return "".join(blocks)


def _source(motion: MotionLike, source: str | Model) -> str:
    """Text of the model, or the representation of its system."""
    note = ""
    if isinstance(source, Model):
        try:
            source = model_text(source)
        except ModelError as error:
            note, source = f"<p>No model file can hold this model: {html.escape(str(error))}</p>", ""
    return f"{note}<pre>{html.escape(source or repr(motion.system))}</pre>"
