"""Which pair to ask about next: the fewest answers that say which items are the same.

>>> import numpy as np
>>> chooser = QuestionChooser(np.repeat([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 20, axis=0))
>>> i, j = chooser.next()
>>> chooser.tell(i, j, same=i // 20 == j // 20)
>>> chooser.answers
1
"""

from likewise.querying.chooser import QuestionChooser

__all__ = ["QuestionChooser"]
