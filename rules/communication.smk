# Q3: communication without the subtraction: the link alone, and compressed gradients. The arms that
# split a step are in the timed runs of N workers (scaling.smk).
# Q6: ledger of collectives, an untimed pass; it still wants the network to itself.


use rule scaling_run as link_run with:
    wildcard_constraints:
        run=only(runs_of("link")),
    priority: 15
    message:
        "Q3: all-reduces of several sizes alone, {wildcards.run}"


use rule scaling_run as compression_run with:
    wildcard_constraints:
        run=only(runs_of("compression")),
    priority: 15
    message:
        "Q3: timing compressed gradients, {wildcards.run}"


use rule scaling_run as ledger_run with:
    wildcard_constraints:
        run=only(runs_of("ledger")),
    priority: 10
    message:
        "Q6: counting the collectives of {wildcards.run}"
