"""The steps in their order, one module each."""

from covey.studio.pages import answer, hand_over, look, make, open, price, roles, shown
from covey.studio.steps import Step

STEPS: dict[str, Step] = {
    module.STEP.name: module.STEP
    for module in (open, roles, shown, price, make, look, answer, hand_over)
}
