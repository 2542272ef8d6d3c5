-- Change the parameters of {table}, and of no partition of it, by {actions}: SET (..) and RESET (..).
ALTER TABLE ONLY {table} {actions}
