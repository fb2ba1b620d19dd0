"""What several systems need: tool pairs, pins, trim points, stubs, summary requests, estimators.

The functions that the field knows by name are importable from here; they take nouns and Converse dicts alike.
"""

from ullage.strategies.shared.pins import apply_pin_first as apply_pin_first
from ullage.strategies.shared.pins import is_pinned as is_pinned
from ullage.strategies.shared.pins import partition_pinned as partition_pinned
from ullage.strategies.shared.pins import pin_message as pin_message
from ullage.strategies.shared.pins import unpin_message as unpin_message
from ullage.strategies.shared.shape import matches_message_type as matches_message_type
from ullage.strategies.shared.tool_pairs import ContextWindowOverflowException as ContextWindowOverflowException
from ullage.strategies.shared.tool_pairs import adjust_split_point_for_tool_pairs as adjust_split_point_for_tool_pairs
from ullage.strategies.shared.tool_pairs import find_valid_trim_point as find_valid_trim_point
