"""Tables: the columns of CSV and Parquet files and of data frames, as features and a label."""
