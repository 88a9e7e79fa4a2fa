"""Looking at graphs, calls and installations: drawings, explanations, traces and checks."""
