"""The Transformer block and all that is said about its numbers; knows nothing of HTTP or pages.

Axes, in words, as they stand in comments and in the API:

=========== =====================================================================
pos         place of a token in the text, from 0
query, key  the position that attends, the position that is attended to
head        attention head, from 0
d_model     components of the residual stream
d_head      components of one head's query, key and value; d_model / n_heads
d_mlp       units of the feed-forward network
d_vocab     entries of the vocabulary
=========== =====================================================================

Reading order: config, layers, block, transformer, hooks, points, selection, run, trace.
Names of points follow TransformerLens without the word ``hook_``.
"""
