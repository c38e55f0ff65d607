"""The classes of LeetCode's problems, and helpers that tests of LeetCodeDataset and rLLM expect to find.

Names and meanings as in newfacade/LeetCodeDataset@182cd19 and rllm-org/rllm@9beb6e0
``rllm/rewards/code_utils/utils.py``: lists in level order with None for a missing child.
"""

from __future__ import annotations

LEETCODE_NAMES = frozenset({"ListNode", "TreeNode", "list_node", "tree_node", "is_same_list", "is_same_tree"})

LEETCODE_CLASSES = """
class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next


class TreeNode:
    def __init__(self, val=0, left=None, right=None):
        self.val = val
        self.left = left
        self.right = right


def list_node(values):
    head = None
    for value in reversed(values):
        head = ListNode(value, head)
    return head


def tree_node(values):
    nodes = [None if value is None else TreeNode(value) for value in values]
    children = iter(nodes[1:])
    for node in nodes:
        if node is not None:
            node.left, node.right = next(children, None), next(children, None)
    return nodes[0] if nodes else None


def is_same_list(one, other):
    for _ in range(1_000_000):
        if one is None or other is None:
            return one is other
        if one.val != other.val:
            return False
        one, other = one.next, other.next
    return False


def is_same_tree(one, other):
    pairs = [(one, other)]
    for _ in range(1_000_000):
        if not pairs:
            return True
        one, other = pairs.pop()
        if one is None and other is None:
            continue
        if one is None or other is None or one.val != other.val:
            return False
        pairs += [(one.left, other.left), (one.right, other.right)]
    return False
"""
