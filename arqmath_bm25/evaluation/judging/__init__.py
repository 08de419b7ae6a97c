"""New judgments: pooling, annotation, adjudication."""
