# Q6: the ledger of collectives, an untimed pass; it still wants the network to itself.


use rule scaling_run as ledger_run with:
    wildcard_constraints:
        run=only(runs_of("ledger")),
    priority: 10
    message:
        "Q6: counting the collectives of {wildcards.run}"
