"""One playbook a module; its screenplay lies beside it."""
