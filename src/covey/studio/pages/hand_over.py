"""Hand over"""

from covey.studio.session import Studio
from covey.studio.steps import NEXT, Step, heading
from covey.tables.html import Html


async def page(_: Studio) -> Html:
    """The page of the step."""
    return heading("Hand over")


def state(_: Studio) -> str:
    """How far the step is."""
    return NEXT


STEP = Step("hand_over", "Hand over", page, state)
