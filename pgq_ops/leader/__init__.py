"""Which of several agents acts on a job table: the one whose session holds the table's advisory lock."""
