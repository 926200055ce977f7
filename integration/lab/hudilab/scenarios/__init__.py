"""The scenarios, a module for each subject; imported in the order of their names."""
