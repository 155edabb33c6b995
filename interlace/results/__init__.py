"""What the functions return: results of the solver that show, draw and write themselves."""
