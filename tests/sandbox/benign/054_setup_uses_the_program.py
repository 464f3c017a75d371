# form: asserts
# tests: {"setup": "root = Node(1)\nroot.left = Node(2)\nroot.right = Node(3)\nroot.left.left = Node(4)", "asserts": ["assert height(root) == 3", "assert height(root.right) == 1", "assert height(None) == 0"]}
class Node:
    def __init__(self, value):
        self.value = value
        self.left = None
        self.right = None


def height(node):
    return 0 if node is None else 1 + max(height(node.left), height(node.right))
