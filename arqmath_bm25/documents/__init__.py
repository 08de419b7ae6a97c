"""What each task indexes, in which fields: documents in Anserini's JsonCollection form."""
