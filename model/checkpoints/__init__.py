"""Models from folders in Hugging Face form, run through our own blocks; must not know requests.

Reading order: files (what is there), fields and description (what ``config.json`` says), bert, gpt2
and neox (one family each), tensors (the weights), tokens, pipelines and japanese (the tokenizers),
collection (all of it as models that can be run).
"""
