"""From a problem to its answer: pure, without storage or HTTP."""
