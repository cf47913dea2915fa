"""Two trained language models that differ in the placement of LayerNorm alone, and their recipe.

Reading order: recipe, text, batches, initial, fused, muon, scores, record, train; then export,
weights, trigrams, measures, evaluate for what came out. Nothing here knows pages or requests; a
running product imports ``weights`` alone.
"""
