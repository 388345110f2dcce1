"""How may it be shown?"""

from covey.studio.session import Studio
from covey.studio.steps import NEXT, Step, heading
from covey.tables.html import Html


async def page(_: Studio) -> Html:
    """The page of the step."""
    return heading("How may it be shown?")


def state(_: Studio) -> str:
    """How far the step is."""
    return NEXT


STEP = Step("shown", "How may it be shown?", page, state)
