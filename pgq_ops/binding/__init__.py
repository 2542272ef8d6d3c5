"""From the config's words to the catalog's: a bound `JobTable`, or every reason why not."""
