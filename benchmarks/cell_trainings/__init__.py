"""Which start of a recurrent layer trains best, cell by cell: `python -m benchmarks.cell_trainings`.

tanh, ReLU, GRU, LSTM and linear recurrences (`cells`) from the starts that one would think of (`starts`), on tasks where the
loss of a guess is known (`tasks`). All parameters are trained by Adam, at a rate chosen per start on other seeds (`design`).
The two best starts of a group are trained once more with the recurrent kernel frozen. One row per finished training goes
to ``results.csv``; a later run goes on where the file ends. ``--plan`` says what is left and what it costs.
"""
