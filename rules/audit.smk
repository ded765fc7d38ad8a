# The audit of tables that somebody collected by hand: a part of the report of its own.

AUDITED = {table.name: table for table in CONFIG.audit.tables} if CONFIG.audit else {}
AUDITS = expand(f"{RESULTS}/audits/{{table}}.json", table=AUDITED)


# Findings (status 1) are a result; a table that cannot be read fails the rule with its one line.
rule audit:
    input:
        table=lambda wildcards: AUDITED[wildcards.table].path,
        modules=modules("audit_table"),
        # What is doubtful and what was assumed is written in words already.
        words=str(BASE / "report/audit.j2"),
    output:
        f"{RESULTS}/audits/{{table}}.json",
    log:
        f"{RESULTS}/logs/audit-{{table}}.log",
    wildcard_constraints:
        table="|".join(map(re.escape, AUDITED)) or NEVER,
    conda:
        ENVIRONMENT
    resources:
        machine=1,
    params:
        # What the configuration says of the table, as options of the script.
        options=lambda wildcards: [
            f"--{name}={value}"
            for name, value in AUDITED[wildcards.table]
            if name != "path" and value is not None
        ],
    message:
        "Auditing {input.table}"
    shell:
        command("audit_table") + "{input.table:q} {params.options:q} "
        "--output {output:q} > {log:q} 2>&1 || test $? -eq 1"
