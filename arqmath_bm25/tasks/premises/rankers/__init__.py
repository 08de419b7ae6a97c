"""Ways to rank premises (NLPS): a module for each, and the parts that they share.

`tfidf.py` and `bm25.py` read nothing but texts. `ridge.py` and `learned.py` learn from the training
set which premises people cite, through one `model.py`.
"""
