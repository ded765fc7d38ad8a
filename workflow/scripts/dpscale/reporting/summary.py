"""The findings that open the report: the largest effect of each of its subjects."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dpscale.reporting import texts, words
from dpscale.reporting.answer import Answer
from dpscale.reporting.inputs import Inputs
from dpscale.reporting.question import Question
from dpscale.reporting.texts import Printed


class Highlight(NamedTuple):
    """A finding of the summary, the numbers printed in it, and the question it comes from."""

    question: str
    text: str
    printed: list[Printed]

    def dump(self) -> dict[str, object]:
        """Return the finding as summary.json holds it."""
        return self._asdict() | {"printed": [one.model_dump() for one in self.printed]}


def load_highlight(dumped: Mapping[str, Any]) -> Highlight:
    """Return a finding of summary.json."""
    printed = [Printed.model_validate(one) for one in dumped["printed"]]
    return Highlight(dumped["question"], dumped["text"], printed)


def highlights(
    questions: Mapping[str, Question], answers: Sequence[Answer], inputs: Inputs
) -> list[Highlight]:
    """Return one finding for each subject: the largest effect that its intervals decide.

    Where no effect is decided, a sentence of the subject's answers stands in; where all
    its answers are withheld, the finding says so. A subject of which the configuration plans
    nothing has no finding.
    """
    subjects: dict[str, list[Answer]] = {}
    for answer in answers:
        if subject := questions[answer.id].subject:
            subjects.setdefault(subject, []).append(answer)
    planned = {
        subject: own
        for subject, own in subjects.items()
        if not all(answer.left_out for answer in own)
    }
    return [
        _of_subject(questions, inputs, subject, own)
        for subject, own in (planned or subjects).items()
    ]


def _of_subject(
    questions: Mapping[str, Question], inputs: Inputs, subject: str, answers: Sequence[Answer]
) -> Highlight:
    given = [answer for answer in answers if not answer.missing]
    decided = [
        (effect.doublings, answer.id, effect)
        for answer in given
        if (find := questions[answer.id].effect) and (effect := find(inputs, answer.values))
    ]
    if decided:
        _, name, effect = max(decided, key=lambda one: one[:2])
        text = questions[name].finding(questions[name].found(inputs), effect)
        return Highlight(name, texts.plain(text), texts.printed(text))
    if given:
        # One that might have had an effect says most of the subject.
        first = min(given, key=lambda answer: not questions[answer.id].effect)
        return Highlight(first.id, first.sentence, first.printed[0])
    names = [answer.id for answer in answers]
    say = words.macros("summary.j2", {"subject": subject, "names": names})
    return Highlight(names[0], words.squeezed(say.lacking()), [])
