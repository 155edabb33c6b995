"""Programs for PyTorch, as users get them, once the lists in capitals are the plan's."""
