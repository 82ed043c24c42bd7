"""What a model's predictions are worth on some rows, said in one place for each kind of answer; tasks name theirs."""
