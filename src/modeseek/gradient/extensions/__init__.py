"""The paper's section 4: other penalties, ties between features, other losses."""
