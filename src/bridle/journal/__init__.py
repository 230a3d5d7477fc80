"""The one writer: record, commit, then publish; and the folds that read the record back."""
